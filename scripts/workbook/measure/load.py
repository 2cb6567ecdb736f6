"""Put a server under load with wrk, and report figures only for runs without errors."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.machine import network, setup
from workbook.machine.cores import Cores, all_cores, cores
from workbook.measure import received
from workbook.measure.received import Received
from workbook.servers.process import Server, running

WRK_SCRIPTS = SCRIPTS / "wrk"
WRK_ERRORS = ("connect", "read", "write", "timeout", "status")
STARVED = "starved"
ERROR_KINDS = (*WRK_ERRORS, STARVED)
LOOKED_AT = 0.75  # of a phase: when we inspect its connections, which wrk closes at the end
STARVED_AFTER = 0.5  # of a phase: a client is starved if it gets no byte for this long, and for
TURNS = 3  # times as long as it takes to answer every client once
KEPT_ANSWERS = 3  # in the median, from which on we take connections to be kept
TIMEOUT_S = 30  # an answer that comes later is an error; the slowest server here takes 2 s
NOTHING_ANSWERED = "no request was answered"
OVERTIME_S = 15  # wrk ends close to its time; if it takes this much longer, it hangs
MIB = 1 << 20


@dataclass(frozen=True)
class Phase:
    """One kind of load: `connections` clients for `seconds`, sending the requests of a wrk script.
    A script without a path of its own requests `path`.
    """

    name: str
    script: str
    connections: int
    seconds: float
    threads: int = 1
    path: str = "/"


@dataclass(frozen=True)
class PhaseResult:
    """The result of one phase: either a rate (`requests_per_second`), or a `reason` for none."""

    phase: str
    requests: int = 0
    seconds: float = 0.0
    requests_per_second: float | None = None
    p50_ms: float | None = None
    p90_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    cpu_us_per_request: float | None = None
    wrk_us_per_request: float | None = None  # processor time of the load generator
    peak_rss_mib: float | None = None
    errors: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ERROR_KINDS, 0))
    reason: str | None = None
    note: str | None = None
    kernel_us_per_request: float | None = None  # the kernel's part of cpu_us_per_request
    slowest_share: float | None = None  # bytes on the slowest kept connection, over the median

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Remote:
    """A server that we did not start, usually on another machine. Its memory is unknown; `cpu_s`
    returns its user and system time so far in seconds, or None if that is unknown, too.
    """

    name: str
    address: str  # with a scheme, without a path
    host: str
    port: int
    cpu_s: Callable[[], tuple[float, float] | None] = lambda: None


def serving(binary: Path, *args: str, on: Cores | None = None) -> AbstractContextManager[Server]:
    """Run a server on its own processors and network; errors are those of `process.running`."""
    return placed(partial(running, binary, *args), on)


@contextmanager
def placed(start: Callable[..., AbstractContextManager[Server]],
           on: Cores | None = None) -> Iterator[Server]:
    """Like `serving`, for a server started by `start`, which takes the `wrapper` to prepend."""
    with ExitStack() as stack:
        with on_processors((on or cores()).server):
            server = stack.enter_context(start(wrapper=network.prefix()))
        yield server


def run_phase(server: Server | Remote, phase: Phase, on: Cores | None = None) -> PhaseResult:
    """Load a server that is otherwise idle. UserError if wrk is missing, fails or hangs."""
    setup.ensure(["wrk"])
    if isinstance(server, Remote):
        then = server.cpu_s()
        measured = _wrk(server, phase, on or all_cores(), ())
        now = server.cpu_s()
        return _result(phase, *measured, _less(now, then) if now and then else ())
    process = psutil.Process(server.pid)
    _wait_for_space()
    drops = _listen_drops(server.pid)
    with _PeakMemory(process) as memory:
        before = _cpu_s(process)
        report, connections = _wrk(server, phase, on or cores(), network.prefix())
        used = _less(_cpu_s(process), before)
    dropped = _listen_drops(server.pid) - drops
    return _result(phase, report, connections, used, memory.peak_mib, _drop_note(dropped))


def settle(server: Server | Remote, pause_s: float = 0.2, timeout_s: float = 10.0) -> bool:
    """Wait until the server has finished the work that wrk left, and return True; False if it is
    still busy after `timeout_s`. For a remote server, which we cannot observe, only pause.
    """
    if isinstance(server, Remote):
        time.sleep(pause_s)
        return True
    process = psutil.Process(server.pid)
    deadline = time.monotonic() + timeout_s
    time.sleep(pause_s)
    used = sum(_cpu_s(process))
    while time.monotonic() < deadline:
        time.sleep(0.1)
        before, used = used, sum(_cpu_s(process))
        if used - before < 0.02:
            return True
    return False


def _result(phase: Phase, report: dict[str, Any], connections: Sequence[Received],
            cpu_s: Sequence[float] = (), peak_mib: float | None = None, note: str | None = None
            ) -> PhaseResult:
    """`cpu_s` is the user and system time of the server, in seconds; empty if unknown."""
    requests, seconds = int(report["requests"]), report["duration_us"] / 1e6
    errors = {kind: int(report["errors"][kind]) for kind in WRK_ERRORS}
    turn_s = seconds * phase.connections / requests if requests else phase.seconds
    errors[STARVED] = received.starved(
        connections, 1e3 * max(STARVED_AFTER * phase.seconds, TURNS * turn_s))
    # Newer versions of wrk do not count a connection that closes before its answer is complete.
    lost = (int(report["sent"]) - 1 - phase.connections) * int(report["depth"]) - requests
    errors["read"] = max(errors["read"], lost)
    if reason := _why_no_figure(requests, errors):
        return PhaseResult(phase.name, requests, seconds, errors=errors, reason=reason, note=note)
    latency = {f"{name}_ms": us / 1e3 for name, us in report["latency_us"].items()}
    return PhaseResult(phase.name, requests, seconds, requests / seconds, **latency,
                       cpu_us_per_request=sum(cpu_s) * 1e6 / requests if cpu_s else None,
                       kernel_us_per_request=cpu_s[1] * 1e6 / requests if cpu_s else None,
                       wrk_us_per_request=report["cpu_s"] * 1e6 / requests,
                       peak_rss_mib=peak_mib,
                       errors=errors, note=note,
                       slowest_share=_slowest_share(connections, report["bytes"] / requests))


def _slowest_share(connections: Sequence[Received], answer_bytes: float) -> float | None:
    """Return None if most connections end with their answer, because those are served in turn."""
    share = received.slowest_share(connections)
    if share is None or median(each.bytes for each in connections) < KEPT_ANSWERS * answer_bytes:
        return None
    return share


def _why_no_figure(requests: int, errors: dict[str, int]) -> str | None:
    if any(errors.values()):
        names = {"timeout": f"not answered within {TIMEOUT_S} s", "status": "not 2xx",
                 STARVED: "clients never answered"}
        return ", ".join(f"{count:,} {names.get(kind, f'{kind} errors')}"
                         for kind, count in errors.items() if count)
    if network.space() < 0.02:
        return "the kernel's table of connections is full: raise net.netfilter.nf_conntrack_max"
    return None if requests else NOTHING_ANSWERED


def _drop_note(dropped: int) -> str | None:
    if dropped <= 0:
        return None
    with suppress(OSError):
        queue = Path("/proc/sys/net/core/somaxconn").read_text().strip()
        return (f"the accept queue (net.core.somaxconn = {queue}) was full: {dropped:,} attempts "
                "to connect were dropped, and repeated 1, 2, 4 s later")
    return None


def _wrk(server: Server | Remote, phase: Phase, on: Cores, prefix: Sequence[str]
         ) -> tuple[dict[str, Any], list[Received]]:
    """Run wrk after `prefix`, a command that runs another. Return the line of JSON that our scripts
    print, with wrk's processor time as `cpu_s`, and what its connections had received shortly
    before its end. UserError if wrk cannot be started, fails or hangs.
    """
    command = [*prefix, "wrk", f"-t{phase.threads}", f"-c{phase.connections}",
               f"-d{math.ceil(phase.seconds)}s", f"--timeout={TIMEOUT_S}s", "--latency",
               "-s", str(WRK_SCRIPTS / f"{phase.script}.lua"), f"{server.address}{phase.path}"]
    with on_processors(on.client):
        try:
            process = children.start(command, stdin=subprocess.DEVNULL, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise UserError(f"wrk cannot be started: {error}",
                            "install wrk, or put it in the PATH") from None
    connections: list[Received] = []
    look = threading.Timer(LOOKED_AT * phase.seconds,
                           lambda: connections.extend(received.by_connection(server.port, prefix)))
    before = _children_cpu_s()
    look.start()
    try:
        output, complaint = _wait_for(process, phase.seconds)
    finally:
        process.kill()
        process.wait()
        look.cancel()
        look.join()
    report = _parse(process.returncode, output, complaint)
    return report | {"cpu_s": _children_cpu_s() - before}, connections


def _children_cpu_s() -> float:
    """Processor time of all children that have ended (getrusage(2), RUSAGE_CHILDREN). While wrk runs
    these are wrk and, for some milliseconds, the program that looks at its connections.
    """
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _wait_for(process: subprocess.Popen[str], seconds: float) -> tuple[str, str]:
    """Return wrk's stdout and stderr; UserError if it hangs. wrk accepts only whole seconds, so it
    is interrupted after a fraction.
    """
    if not float(seconds).is_integer():
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=seconds)
        process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=seconds + OVERTIME_S)
    except subprocess.TimeoutExpired:
        raise UserError(f"wrk was to end after {seconds:g} s and hangs",
                        "run the command again; if it stays so, try wrk by hand") from None


def _parse(returncode: int, output: str, complaint: str) -> dict[str, Any]:
    lines = [line for line in output.splitlines() if line.startswith("{")]
    try:
        return json.loads(lines[-1])  # type: ignore[no-any-return]
    except (IndexError, ValueError):
        words = (complaint or output).strip().splitlines()[-3:] or [f"exit code {returncode}"]
        raise UserError("wrk failed:\n" + "\n".join(f"  {line}" for line in words),
                        "run the command again; if it stays so, try wrk by hand") from None


@contextmanager
def on_processors(processors: Set[int]) -> Iterator[None]:
    """Run what is started in the block on these processors, where sched_setaffinity(2) exists."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def _less(now: Sequence[float], then: Sequence[float]) -> tuple[float, ...]:
    return tuple(after - before for after, before in zip(now, then, strict=True))


def _cpu_s(process: psutil.Process) -> tuple[float, float]:
    """Return the user and system time of all threads so far, in seconds; UserError if it ended."""
    with _must_live():
        times = process.cpu_times()
        return times.user, times.system


@contextmanager
def _must_live() -> Iterator[None]:
    """Turn NoSuchProcess into a UserError, which the caller's `running` then explains."""
    try:
        yield
    except psutil.NoSuchProcess:
        raise UserError("the server is gone", "run it by hand to see why") from None


class _PeakMemory:
    """The largest resident size within a block, in MiB.

    Linux keeps it (VmHWM, reset by writing 5 to clear_refs: proc(5)); on other systems it is sampled.
    """

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._proc = Path(f"/proc/{process.pid}")
        self._over = threading.Event()
        self._sampler: threading.Thread | None = None
        self.peak_mib = 0.0

    def __enter__(self) -> _PeakMemory:
        try:
            (self._proc / "clear_refs").write_text("5")
        except OSError:
            self._sampler = threading.Thread(target=self._sample, daemon=True)
            self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._sampler:
            self._over.set()
            self._sampler.join()
            return
        with suppress(OSError, StopIteration):
            lines = (self._proc / "status").read_text().splitlines()
            peak = next(line for line in lines if line.startswith("VmHWM:"))
            self.peak_mib = int(peak.split()[1]) * 1024 / MIB

    def _sample(self) -> None:
        with suppress(psutil.Error):
            while not self._over.wait(0.05):
                self.peak_mib = max(self.peak_mib, self._process.memory_info().rss / MIB)


def _wait_for_space(timeout_s: float = 130.0) -> None:
    """Wait for space in the table of tracked connections, which keeps closed ones for 2 min."""
    deadline = time.monotonic() + timeout_s
    while network.space() < 0.25 and time.monotonic() < deadline:
        time.sleep(1)


def _listen_drops(pid: int) -> int:
    """Return the connection attempts on this process's network that a full accept queue dropped."""
    with suppress(OSError, ValueError):
        lines = Path(f"/proc/{pid}/net/netstat").read_text().splitlines()
        names, values = (line.split() for line in lines if line.startswith("TcpExt:"))
        return int(values[names.index("ListenDrops")])
    return 0
