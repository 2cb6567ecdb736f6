"""The cost of a container: the ladder in two of them, a bridge between two, and half a processor.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from workbook.authors.tools import (
    CLIMB,
    LOOP,
    NAIVE,
    OPTIMISED,
    WORKERS,
    Finding,
    Rows,
    solution,
)
from workbook.common.errors import UserError
from workbook.machine import box
from workbook.machine.box import Served
from workbook.measure import ladder, load, stress
from workbook.servers.process import READY

ROUNDS = 3
SECONDS = 2
CLIENTS = 64
QUOTA = 0.5
CGROUPS = Path("/sys/fs/cgroup")


def side_by_side() -> Finding:
    """How do the steps perform on the host, in a Linux container, and in one with kqueue?"""
    locations = {"host": "Host", "linux": "Linux", "bsd": "BSD-like"}
    rows: Rows = {}
    for name in CLIMB:
        rows[name] = {"label": name}
        for location in locations:
            phases = _stressed(name, location)
            print(f"{name}, {location}", flush=True)
            rows[name] |= {
                f"{location}_rps": _rounded(phases["baseline"]["requests_per_second"]),
                f"{location}_us": _rounded(phases["baseline"]["cpu_us_per_request"]),
                f"{location}_errors": sum(sum(f["errors"].values()) for f in phases.values())}
    whats = {"rps": "requests/s", "us": "server’s µs", "errors": "errors"}
    return Finding(
        "The short stress test, once: rates and processor time of its baseline, errors of all "
        "four phases. The host’s servers are built by its own compiler, the containers’ by Debian "
        "13’s g++, as <code>stress --in</code> does.",
        {f"{location}_{what}": f"{where}: {words}" for what, words in whats.items()
         for location, where in locations.items()}, rows)


def _stressed(name: str, location: str, tries: int = 3) -> dict[str, Any]:
    """Return the phases of a solution's stress test. UserError if one has no figure."""
    if location == "host":
        with load.serving(solution(name)) as server:
            found = list(stress.measure(server, stress.short_form()))
        phases = {result.phase: result.to_json() for result in found}
    else:
        with tempfile.TemporaryFile("w+") as output:
            if box.run(location, ["stress", name, "--solution", "--json"], output) != 0:
                raise UserError(f"stress in {location} did not end well", "see what it says above")
            output.seek(0)
            phases = json.load(output)["phases"]
    if tries > 1 and any(f["reason"] == load.NOTHING_ANSWERED for f in phases.values()):
        return _stressed(name, location, tries - 1)  # others may take all of a short phase
    if reason := next((f["reason"] for f in phases.values() if f["reason"]), None):
        raise UserError(f"{name} in {location} has no figure: {reason}", "record again")
    return phases


def pair() -> Finding:
    """What does a bridge between server and client cost?"""
    rows: Rows = {}
    for name in (NAIVE, LOOP, OPTIMISED):
        with box.serving("linux", f"solutions/{name}") as served:
            ways = {"loopback": [f"--network=container:{served.container}"],
                    "bridge": [f"--network={served.project.name}_wire"]}
            found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
            for number in range(ROUNDS):
                for way in ladder.rotated(list(ways), number):
                    found[way].append(_asked(served, ways[way], _address(served, way)))
        rows[name] = {"label": name} | {
            f"{way}_{what}": _rounded(median(run[what] for run in found[way]))
            for what in ("rps", "us", "p99") for way in ways} | {
            "errors": sum(run["errors"] for runs in found.values() for run in runs)}
    return Finding(
        f"<code>GET /</code> from {CLIENTS} clients of a load generator in a container of its own, on "
        "another processor than the server’s: beside it on its loopback, and on a network of two, "
        f"through a bridge. Median of {ROUNDS} rounds of {SECONDS} s in turn.",
        {"loopback_rps": "Loopback: requests/s", "bridge_rps": "Bridge: requests/s",
         "loopback_us": "Loopback: server’s µs", "bridge_us": "Bridge: server’s µs",
         "loopback_p99": "Loopback: p99 ms", "bridge_p99": "Bridge: p99 ms", "errors": "Errors"},
        rows)


def quota() -> Finding:
    """How slow do the slowest answers become on half a processor?"""
    rows: Rows = {}
    for key, label, name, cpus in (("whole", "08, a whole processor", OPTIMISED, 0.0),
                                   ("half", "08, half of its time", OPTIMISED, QUOTA),
                                   ("workers_half", "07, the same", WORKERS, QUOTA)):
        with box.serving("linux", f"solutions/{name}") as served:
            if cpus:
                _engine("update", f"--cpus={cpus}", served.container)
            before = _throttled(served)
            runs = [_asked(served, [f"--network=container:{served.container}"], "127.0.0.1",
                           script="header30k") for _ in range(ROUNDS)]
            after = _throttled(served)
        rows[key] = {"label": label, "throttled": after[0] - before[0],
                     "waited_ms": round(after[1] - before[1])} | {
            what: _rounded(median(run[what] for run in runs))
            for what in ("rps", "p50", "p90", "p99")} | {
            "errors": sum(run["errors"] for run in runs)}
    return Finding(
        f"<code>GET /</code> with a field of 30 kB, so that the server has the most to do, from "
        f"{CLIENTS} clients in its own network: as <code>docker run --cpus {QUOTA}</code> and "
        f"without; the server has one processor. Median of {ROUNDS} rounds of {SECONDS} s; periods "
        "in which it was stopped, and for how long, in all of them.",
        {"rps": "Requests/s", "p50": "p50 ms", "p90": "p90 ms", "p99": "p99 ms",
         "throttled": "Periods stopped", "waited_ms": "Stopped for, ms", "errors": "Errors"}, rows)


def walls() -> Finding:
    """Which of a container's layers of isolation make a request slower?"""
    rows: Rows = {}
    with box.serving("linux", f"solutions/{OPTIMISED}") as served:
        image = served.project.environment["HOTPATH_SERVER_TAG"]
    ways = {"none": ("none: the host’s network, no seccomp",
                     ["--network=host", "--security-opt=seccomp=unconfined"]),
            "namespace": ("a network namespace", ["--network=none",
                                                  "--security-opt=seccomp=unconfined"]),
            "seccomp": ("and the seccomp filter", ["--network=none"])}
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for number in range(ROUNDS):
        for way in ladder.rotated(list(ways), number):
            found[way].append(_after(f"hotpath-linux-server:{image}", ways[way][1]))
    for way, (label, _) in ways.items():
        rows[way] = {"label": label} | {
            what: _rounded(median(run[what] for run in found[way])) for what in ("rps", "us", "p99")}
        rows[way]["errors"] = sum(run["errors"] for run in found[way])
    return Finding(
        f"08, one image behind more and more walls. <code>GET /</code> from {CLIENTS} clients on the "
        f"same loopback, another processor. Median of {ROUNDS} rounds of {SECONDS} s in turn.",
        {"rps": "Requests/s", "us": "Server’s µs a request", "p99": "p99 ms", "errors": "Errors"},
        rows)


def _after(image: str, walls: list[str]) -> dict[str, float]:
    """Start a server with these options of docker run, load it, and return its figures."""
    container = _engine("run", "-d", "--rm", "--cpuset-cpus=0", "--cap-drop=ALL", "--read-only",
                        *walls, image, "--port", "0")
    try:
        pid = box._inspected(container, ".State")["Pid"]
        port = _listening(container)
        served = Served(box.Project("linux"), container, pid, port)
        return _asked(served, [f"--network=container:{container}"], "127.0.0.1", port)
    finally:
        _engine("stop", container)


def _listening(container: str) -> int:
    """Return the port that the server in a container reports; UserError if it reports none."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := READY.search(_engine("logs", container).encode()):
            return int(found[2])
        time.sleep(0.1)
    raise UserError("a server in a container did not begin", f"docker logs {container}")


def _asked(served: Served, network: list[str], address: str, port: int = 8080,
           script: str = "plain") -> dict[str, float]:
    """Run wrk once in a container on this network; returns rates, latencies and server time."""
    server = psutil.Process(served.pid)
    before = server.cpu_times()
    reported = _engine(
        "run", "--rm", "--cpuset-cpus=1", "--cap-drop=ALL", "--read-only", *network,
        f"--volume={load.WRK_SCRIPTS}:/hotpath/scripts/wrk:ro", "--entrypoint=wrk",
        f"hotpath-linux:{box.tag()}", "-t1", f"-c{CLIENTS}", f"-d{SECONDS}s",
        f"--timeout={load.TIMEOUT_S}s", "--latency", "-s", f"scripts/wrk/{script}.lua",
        f"http://{address}:{port}/")
    after = server.cpu_times()
    report = load._parse(0, reported, "")
    spent_s = after.user + after.system - before.user - before.system
    return {"rps": report["requests"] / (report["duration_us"] / 1e6),
            "us": spent_s * 1e6 / report["requests"],
            "errors": sum(int(report["errors"][kind]) for kind in load.WRK_ERRORS),
            **{name: us / 1e3 for name, us in report["latency_us"].items()}}


def _address(served: Served, way: str) -> str:
    return "127.0.0.1" if way == "loopback" else "server"


def _throttled(served: Served) -> tuple[int, float]:
    """Return how often, and for how many ms, the container was throttled: cpu.stat of its cgroup,
    whose path differs by version (cgroups(7)) and engine. UserError if there is none.
    """
    paths = [line.split(":", 2) for line in Path(
        f"/proc/{served.pid}/cgroup").read_text().splitlines()]
    for _, controllers, path in paths:
        if "cpu" in controllers.split(",") or not controllers:
            for root in (CGROUPS / "cpu", CGROUPS):
                file = Path(f"{root}{path}", "cpu.stat")
                if file.exists():
                    stat = dict(line.split() for line in file.read_text().splitlines())
                    waited_ms = (int(stat["throttled_time"]) / 1e6 if "throttled_time" in stat
                                 else int(stat["throttled_usec"]) / 1e3)
                    return int(stat["nr_throttled"]), waited_ms
    raise UserError("the container's cgroup cannot be found", "record where it can be")


def _engine(*arguments: str) -> str:
    reported = box._engine(*arguments)
    if reported.returncode != 0:
        raise box.explained(reported.stderr, f"docker {arguments[0]} failed")
    return reported.stdout.strip()


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
