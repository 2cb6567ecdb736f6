"""A fleet on Docker Swarm: replicas behind a balancer, and load generators (docker/fleet.yaml).

A node that is in no swarm creates its own until the block ends. Then everything is removed: the
services, networks, configuration and image of this server, and the swarm. Only the image of
balancer and generator is kept, as a cache.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, ROOT, shown
from workbook.machine import probes
from workbook.measure.load import WRK_ERRORS

IMAGE = "hotpath-fleet"
STACK = ROOT / "docker" / "fleet.yaml"
BASE = "debian:trixie-slim"
BRIDGE = "docker_gwbridge"  # created with a swarm, but not removed with it
TIMEOUT_S = 120.0
LOOK_S = 0.2
WARM_UP_S = 2.0  # under load, before each event and after the last
DONE = ("Complete", "Failed", "Rejected", "Shutdown")


@dataclass(frozen=True)
class Plan:
    """What is deployed, and for how many seconds it is loaded."""

    replicas: int = 3
    generators: int = 2
    connections: int = 32  # of each generator
    seconds: int = 10
    target: str = "balancer"  # or the servers themselves
    cpus: float = 1.0  # a server's quota
    generator_cpus: float = 1.0
    stop_signal: str = "SIGTERM"
    retries: bool = True  # the balancer's
    reported: bool = True  # whether the balancer drops a server that is about to stop

    def environment(self) -> dict[str, str]:
        return {
            "HOTPATH_REPLICAS": str(self.replicas),
            "HOTPATH_CONNECTIONS": str(self.connections),
            "HOTPATH_SECONDS": str(self.seconds),
            "HOTPATH_TARGET": self.target,
            "HOTPATH_CPUS": str(self.cpus),
            "HOTPATH_GENERATOR_CPUS": str(self.generator_cpus),
            "HOTPATH_STOP_SIGNAL": self.stop_signal,
            "HOTPATH_RETRIES": "3" if self.retries else "0",
            "HOTPATH_RETRY_ON": "all-retryable-errors" if self.retries else "none",
            "HOTPATH_FORGET": "300ms" if self.reported else "1h",
        }


@dataclass(frozen=True)
class Row:
    """The results of all generators: sums, and percentiles of the merged histogram."""

    requests: int
    requests_per_second: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float
    errors: dict[str, int]
    server_us: float | None = None  # of processor time per request, over all replicas
    balancer_us: float | None = None

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


def merge(outputs: Sequence[str]) -> Row:
    """Merge the outputs of the generators. UserError if a report is missing or all are empty."""
    import numpy

    merged: Counter[int] = Counter()
    reports = []
    for output in outputs:
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if len(lines) != 2:
            raise UserError("a generator failed:\n  " + "\n  ".join(output.splitlines()[-3:]),
                            "run the command again on a quieter machine")
        merged.update(dict(lines[0]["histogram"]))
        reports.append(lines[1])
    if not merged:
        raise UserError("no request was answered", "run the command again on a quieter machine")
    p50, p90, p99, maximum = numpy.quantile(
        list(merged), [0.5, 0.9, 0.99, 1], weights=list(merged.values()), method="inverted_cdf"
    ).tolist()
    return Row(
        sum(report["requests"] for report in reports),
        sum(report["requests"] * 1e6 / report["duration_us"] for report in reports),
        p50 / 1e3, p90 / 1e3, p99 / 1e3, maximum / 1e3,
        {kind: sum(report["errors"][kind] for report in reports) for kind in WRK_ERRORS})


@dataclass(frozen=True)
class Fleet:
    """A deployed stack: its services by name."""

    name: str
    plan: Plan

    def load(self, *events: Callable[[Fleet], None]) -> Row:
        """Run the generators for the planned time, or until all `events` have happened to the
        servers. UserError if the load ends before that. Processor time is measured only without
        events.
        """
        self._scale_generators(0)
        before = self._cpu_s()
        self._scale_generators(self.plan.generators)
        if events:
            _until(lambda: self._states().count("Running") == self.plan.generators,
                   "the generators did not start")
            self._happen(events)
        _until(lambda: set(self._states()) <= set(DONE), "the generators did not end",
               self.plan.seconds + TIMEOUT_S)
        after = self._cpu_s()
        row = merge([logs(task) for task in self._tasks()])
        if events:
            return row
        server, balancer = ((after[name] - before[name]) * 1e6 / row.requests
                            for name in ("server", "balancer"))
        return replace(row, server_us=server, balancer_us=balancer)

    def _happen(self, events: Sequence[Callable[[Fleet], None]]) -> None:
        for event in events:
            time.sleep(WARM_UP_S)
            event(self)
        time.sleep(WARM_UP_S)
        if "Running" not in self._states():
            raise UserError("the load ended before what was to happen under it",
                            "give it more --seconds")
        docker("kill", "--signal", "INT", *self._containers("generator"))

    def update(self) -> None:
        """Replace every server with a new one, as the deployment of a new version does."""
        service = f"{self.name}_server"
        docker("service", "update", "--detach", "--force", service)
        _until(lambda: docker("service", "inspect", "--format", "{{.UpdateStatus.State}}", service
                              ).strip() == "completed", "the update did not end")

    def kill(self) -> None:
        """Kill one server, as a crash would, and wait for its replacement."""
        before = self._containers("server")
        docker("kill", "--signal", "KILL", before[0])
        _until(lambda: len(set(self._containers("server")) - {before[0]}) == len(before),
               "the killed server was not replaced")

    def wait_until_ready(self) -> None:
        _until(lambda: len(self._containers("server")) == self.plan.replicas,
               "the servers did not start")
        _until(lambda: len(set(re.findall(r"Server servers/(server\d+)\b.* is UP", logs(
            f"{self.name}_balancer")))) >= self.plan.replicas,
               "the balancer did not find all servers")

    def threads(self) -> list[int]:
        """Return the number of threads of each server."""
        return [int(re.findall(r"Threads:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())[0])
                for pid in self._pids("server")]

    def _scale_generators(self, count: int) -> None:
        """Set the number of generators. Only scaling to 0 lets finished ones start again."""
        docker("service", "scale", "--detach", f"{self.name}_generator={count}")
        _until(lambda: len(self._tasks()) == count, "the generators did not come or go")

    def _tasks(self) -> list[str]:
        return docker("service", "ps", "--quiet", "--no-trunc", f"{self.name}_generator").split()

    def _states(self) -> list[str]:
        lines = docker("service", "ps", "--format", "{{.CurrentState}}", f"{self.name}_generator")
        return [line.split()[0] for line in lines.splitlines()]

    def _containers(self, service: str) -> list[str]:
        return docker("ps", "--quiet", "--filter",
                      f"label=com.docker.swarm.service.name={self.name}_{service}").split()

    def _pids(self, service: str) -> list[int]:
        return [int(docker("inspect", "--format", "{{.State.Pid}}", container))
                for container in self._containers(service)]

    def _cpu_s(self) -> dict[str, float]:
        import psutil

        used = dict.fromkeys(("server", "balancer"), 0.0)
        for service in used:
            for pid in self._pids(service):
                with suppress(psutil.Error):
                    times = psutil.Process(pid).cpu_times()
                    used[service] += times.user + times.system
        return used


@contextmanager
def deployed(server: Path, plan: Plan) -> Iterator[Fleet]:
    """Deploy a fleet of these servers, ready for requests, until the block ends."""
    complain_unless_possible()
    name = f"hotpath-fleet-{uuid4().hex[:8]}"
    with ExitStack() as stack:
        stack.enter_context(_one_at_a_time())
        build_image()
        stack.enter_context(_server_image(server, name))
        stack.enter_context(_swarm())
        stack.callback(_remove, name)
        docker("stack", "deploy", "--resolve-image", "never", "--compose-file", str(STACK), name,
               environment={"HOTPATH_SERVER_IMAGE": name, **plan.environment()})
        fleet = Fleet(name, plan)
        fleet.wait_until_ready()
        yield fleet


def build_image() -> None:
    """Build the image of balancer and generator. UserError if the base image is missing."""
    base = os.environ.get("HOTPATH_BASE", BASE)
    if not _succeeds("image", "inspect", base):
        raise UserError(f"the base image {base} is not here",
                        f"docker pull {base}, or without a registry: sudo docker/make-base")
    docker("build", "--quiet", "--build-arg", f"BASE={base}", "--file",
           "docker/fleet.Dockerfile", "--tag", IMAGE, ".")


def docker(*arguments: str, **how: Any) -> str:
    """Run a docker command and return its output; UserError with its last errors if it fails."""
    return _docker(arguments, **how).stdout


def logs(of: str) -> str:
    """Return all output of a service or of one of its tasks so far."""
    done = _docker(("service", "logs", "--raw", of))
    return done.stdout + done.stderr


def _docker(arguments: Sequence[str], environment: Mapping[str, str] | None = None,
            stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run docker in a session of its own, so that Ctrl-C reaches only us, and we clean up."""
    done = subprocess.run(["docker", *arguments], cwd=ROOT, capture_output=True, text=True,
                          errors="replace", input=stdin, start_new_session=True,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        words = "\n".join(f"  {line}" for line in done.stderr.strip().splitlines()[-3:])
        raise UserError(f"docker {' '.join(arguments[:2])} failed:\n{words}",
                        "see what docker says, then run the same command again")
    return done


def _succeeds(*arguments: str) -> bool:
    with suppress(UserError):
        docker(*arguments)
        return True
    return False


def complain_unless_possible() -> None:
    if not shutil.which("docker"):
        raise UserError("there is no docker here", "install it: https://docs.docker.com/engine/")
    if not _succeeds("info", "--format", "{{.ServerVersion}}"):
        raise UserError("docker's engine does not answer, or you may not use its socket",
                        "start it, or join its group: sudo usermod -aG docker $USER")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold a lock: two fleets would disturb each other, and share a swarm that one removes."""
    with FileLock(Path(tempfile.gettempdir(), f"hotpath-fleet-{os.getuid()}.lock")):
        yield


@contextmanager
def _server_image(server: Path, name: str) -> Iterator[None]:
    """Build an image of only the server and its shared libraries; remove it when the block ends."""
    with tempfile.TemporaryDirectory() as location:
        shutil.copy(server, Path(location, "server"))
        if (linked := probes.answer(["ldd", str(server)])) is None:
            raise UserError("ldd does not list the libraries of the server",
                            f"see why with: ldd {shown(server)}")
        for library in re.findall(r"/\S+", linked):
            Path(location, library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, Path(location, library[1:]))
        docker("build", "--quiet", "--tag", name, "--file", "-", location,
               stdin="FROM scratch\nCOPY . /\nUSER 65532:65532\nENTRYPOINT [\"/server\"]\n")
    try:
        yield
    finally:
        _succeeds("image", "rm", "--force", name)


@contextmanager
def _swarm() -> Iterator[None]:
    """Use the swarm that this node manages, or create one until the block ends."""
    state = docker("info", "--format", "{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}}")
    if state.split() == ["active", "true"]:
        yield
        return
    if state.split()[0] != "inactive":
        raise UserError(f"this node is in a swarm ({state.split()[0]}) and does not manage it",
                        f"run {COMMAND} fleet on a manager, or docker swarm leave")
    had_bridge = _succeeds("network", "inspect", BRIDGE)
    try:
        docker("swarm", "init", "--advertise-addr", "127.0.0.1", "--listen-addr", "127.0.0.1:2377")
        yield
    finally:
        _succeeds("swarm", "leave", "--force")
        if not had_bridge:
            _succeeds("network", "rm", BRIDGE)


def _remove(name: str) -> None:
    """Remove the stack and wait until it is gone, because its containers end after the command."""
    mine = "label=com.docker.stack.namespace=" + name
    _succeeds("stack", "rm", name)
    for _ in range(2):
        with suppress(UserError):
            _until(lambda: not docker("ps", "--all", "--quiet", "--filter", mine)
                   and not docker("network", "ls", "--quiet", "--filter", mine), "", 30)
            return
        _succeeds("stack", "rm", name)


def _until(condition: Callable[[], Any], what: str, timeout_s: float = TIMEOUT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise UserError(f"{what} within {timeout_s:.0f} s",
                            "look at docker ps -a and docker service ls, then run it again")
        time.sleep(LOOK_S)
