"""Past one machine: replicas behind a balancer. Nothing beyond this machine's containers is asked."""

from __future__ import annotations

import copy
import json
import signal
import subprocess
import sys
import time

import kubernetes_validate
import programs
import pytest
import yaml
from lengths import LONG

from workbook.checks.model import RELEASE
from workbook.common.errors import UserError
from workbook.common.paths import ROOT, SCRIPTS
from workbook.measure import fleet
from workbook.measure.fleet import Fleet, Plan

LAST = "08-allocator-pgo"
GENTLE = 0.25  # of a processor for each generator: the engine, too, has something to do
LONG_S = 150
MANIFESTS = list(yaml.safe_load_all((ROOT / "docker/kubernetes.yaml").read_text()))

# Behind those who make the base image.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.xdist_group("test_docker")]


def printed(histogram: list[list[int]], seconds: float = 1.0, **errors: int) -> str:
    every = dict.fromkeys(fleet.WRK_ERRORS, 0) | errors
    report = {"requests": sum(count for _, count in histogram), "duration_us": seconds * 1e6,
              "errors": every}
    return f"wrk's own words\n{json.dumps({'histogram': histogram})}\n{json.dumps(report)}\n"


def test_percentiles_cover_all_generators() -> None:
    """Of the two p99 the mean is 50.5 ms. But only one request in 200 took so long."""
    quick, slow = [[1000, 19_800]], [[1000, 99], [100_000, 101]]
    row = fleet.merge([printed(quick), printed(slow, status=3)])
    assert (row.p50_ms, row.p90_ms, row.p99_ms, row.max_ms) == (1, 1, 1, 100)
    assert row.requests == row.requests_per_second == 20_000
    assert row.failed == row.errors["status"] == 3


def test_rates_add_up_for_unequal_durations() -> None:
    row = fleet.merge([printed([[1000, 400]]), printed([[1000, 400]], seconds=2)])
    assert row.requests_per_second == 600


@pytest.mark.parametrize("output", ["unable to connect to balancer:8080", printed([])])
def test_generator_without_a_figure_is_reported(output: str) -> None:
    with pytest.raises(UserError):
        fleet.merge([output])


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: (
    f"{one['kind']} {one['metadata']['name']}"))
def test_kubernetes_manifests_are_valid(manifest: dict) -> None:
    version = kubernetes_validate.latest_version()
    kubernetes_validate.validate(manifest, version, strict=True)
    wrong = copy.deepcopy(manifest)
    wrong["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_both_orchestrators_run_the_same() -> None:
    services = yaml.safe_load((ROOT / "docker/fleet.yaml").read_text())["services"]
    pods = {manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"]["containers"][0]
            for manifest in MANIFESTS if "template" in manifest["spec"]}
    assert set(services) == set(pods)
    assert services["server"]["command"] == pods["server"]["args"]
    assert services["balancer"]["command"][:3] == pods["balancer"]["command"][:3]
    assert ({variable["name"] for variable in pods["balancer"]["env"]}
            == set(services["balancer"]["environment"]))
    assert services["generator"]["command"][-2] == pods["generator"]["command"][-2]


def needs_engine() -> None:
    if sys.platform != "linux":
        pytest.skip("the servers here are built for this machine, and containers are Linux")
    try:
        fleet.complain_unless_possible()
        fleet.build_image()
    except UserError as error:
        pytest.skip(error.message)


def left() -> dict[str, str]:
    """What a fleet would have left behind."""
    mine = "name=hotpath-fleet-"
    return {"containers": fleet.docker("ps", "--all", "--quiet", "--filter", mine),
            "networks": fleet.docker("network", "ls", "--quiet", "--filter", mine),
            "images": fleet.docker("image", "ls", "--quiet", "hotpath-fleet-*"),
            "swarm": fleet.docker("info", "--format", "{{.Swarm.LocalNodeState}}")}


def needs_minutes() -> None:
    if not LONG:
        pytest.skip("an update of a fleet under load takes minutes: test --long")


def test_no_request_fails_during_a_rolling_update_and_a_kill() -> None:
    needs_minutes()
    needs_engine()
    before = left()
    plan = Plan(replicas=2, seconds=LONG_S, generator_cpus=GENTLE, cpus=0.5)
    with fleet.deployed(programs.solution(LAST, RELEASE), plan) as stack:
        assert stack.threads() == [1, 1]  # half a core's time, whatever cores are seen
        row = stack.load(Fleet.update, Fleet.kill)
    assert row.failed == 0, row
    assert row.requests > 1000
    assert left() == before


def test_requests_fail_without_draining_and_retries() -> None:
    needs_minutes()
    needs_engine()
    plan = Plan(replicas=2, seconds=LONG_S, generator_cpus=GENTLE, stop_signal="SIGKILL",
                retries=False, reported=False)
    with fleet.deployed(programs.solution(LAST, RELEASE), plan) as stack:
        assert stack.load(Fleet.update).failed > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_fleet_leaves_nothing(number: signal.Signals) -> None:
    needs_engine()
    before = left()
    command = subprocess.Popen([str(SCRIPTS / "hotpath"), "fleet", "8", "--solution",
                                "--seconds", str(LONG_S)], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        deadline = time.monotonic() + 120
        while not left()["containers"]:
            assert command.poll() is None and time.monotonic() < deadline, command.stdout.read()
            time.sleep(0.2)
        command.send_signal(number)
        assert command.wait(120) != 0
    finally:
        command.kill()
        command.wait()
    assert left() == before
