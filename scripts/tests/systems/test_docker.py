"""The container judges a chapter: what a reader without strace and valgrind is told to run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import pytest
import yaml

from workbook.common.paths import ROOT
from workbook.machine import setup

DOCKER = ROOT / "docker"
COMPOSE_FILE = DOCKER / "compose.yaml"
PATIENCE_S = 240.0  # for all that a cold machine downloads and builds

pytestmark = pytest.mark.timeout(PATIENCE_S + 120)


def test_the_compose_file_says_what_it_should() -> None:
    services = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))["services"]
    assert set(services) == {"check", "trace", "stress", "stress-kqueue"}
    for service in services.values():
        assert "SYS_PTRACE" in service["cap_add"]
        assert (DOCKER / service["build"]["context"]).resolve() == ROOT
        assert (ROOT / service["build"]["dockerfile"]).exists()
        for volume in service["volumes"]:
            assert (DOCKER / volume.split(":")[0]).exists()


@pytest.mark.parametrize("verb", ["check 2", "trace 2"])
def test_what_a_reader_is_told_to_run_is_there(verb: str) -> None:
    services = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))["services"]
    command = setup.in_container(verb)
    assert command == f"docker compose -f {COMPOSE_FILE.relative_to(ROOT)} run --rm {verb}"
    assert services[verb.split()[0]]["entrypoint"] == ["./scripts/hotpath", verb.split()[0]]


@pytest.fixture(scope="module")
def compose(request: pytest.FixtureRequest) -> list[str]:
    """Docker's compose command, with the image built; skips where that cannot be or takes long."""
    if os.environ.get("CI") and not os.environ.get("HOTPATH_DOCKER"):
        pytest.skip("set HOTPATH_DOCKER=1 to build the image in CI too")
    command = [*compose_command(), "-f", str(COMPOSE_FILE)]
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print("\nbuilding the image: minutes the first time, seconds later", flush=True)
    deadline = time.monotonic() + PATIENCE_S
    make_base(deadline)
    built = within(deadline, [*command, "build", "check"])
    assert built.returncode == 0, built.stdout[-4000:]
    return command


def compose_command() -> list[str]:
    """The plugin, or the program that it replaced."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and succeeds([*command, "version"]):
            if succeeds(["docker", "info"]):
                return command
    pytest.skip("there is no docker with compose here, or its daemon does not answer")


def make_base(deadline: float) -> None:
    """Have the base image: from before, from a registry, or made of Debian's packages."""
    image = os.environ.get("HOTPATH_BASE", "debian:trixie-slim")
    if succeeds(["docker", "image", "inspect", image]) or within(
            deadline, ["docker", "pull", image]).returncode == 0:
        return
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("no image registry can be reached, and docker/make-base needs root and "
                    "debootstrap")
    made = within(deadline, [str(DOCKER / "make-base")])
    assert made.returncode == 0, made.stdout[-4000:]


def succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


def within(deadline: float, command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        pytest.skip(f"`{' '.join(command[:4])} …` took more than {PATIENCE_S:.0f} s; "
                    "what is done is kept for the next time")


@pytest.mark.parametrize("name", ["02-fewer-syscalls", "07-workers"])
def test_the_container_counts(compose: list[str], name: str) -> None:
    told = in_container(compose, "check", name, "--solution", "--only", "cost")
    assert told.returncode == 0, told.stdout + told.stderr
    assert f"{name} (solution): " in told.stdout and "PASS" in told.stdout
    assert "skip" not in told.stdout


def test_gcc_takes_a_profile(compose: list[str]) -> None:
    """The compiler of the image is g++, which has one round of counting. A profile that it does not
    find ends the build. What it saves is not asked: that is sometimes nothing.
    """
    told = in_container(compose, "--entrypoint", "./scripts/hotpath", "check",
                        "pgo", "8", "--solution", "--json")
    assert told.returncode == 0, told.stdout + told.stderr
    gain = json.loads(told.stdout)
    assert gain["rounds"] == ["GENERATE"]
    assert gain["before"] and gain["after"]


def test_the_container_has_kqueue(compose: list[str]) -> None:
    told = in_container(compose, "stress-kqueue", "--phase", "warm-up")
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("(kqueue) under load") == len(list(ROOT.glob(
        "solutions/*/poller_kqueue.cpp")))
    assert "no figure" not in told.stdout


def in_container(compose: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*compose, "run", "--rm", *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
