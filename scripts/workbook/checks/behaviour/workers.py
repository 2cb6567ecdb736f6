"""The requested number of threads serve, each on a core of its own if there are enough. The kernel
distributes clients by a hash.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

from workbook.checks.behaviour.alone import TIMEOUT_S, alone
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import Case, Unable, Unmet, row
from workbook.checks.behaviour.start import repeated, threads_as_asked
from workbook.checks.behaviour.unchanged import LAST, chain, echo, in_sequence
from workbook.machine.doctor import cpu_limit
from workbook.servers.process import Server, running

SETTLES_S = 0.3
PERIOD_US = 100_000


def cases() -> Iterator[Case]:
    asked = [echo(b"request %d" % number) for number in range(20)]
    yield row("four-workers-serve", in_sequence(*asked, LAST), chain(*asked, LAST)[1],
              "socket(7), SO_REUSEPORT", copies=64, enough=64, workers=4,
              timeout_s=10.0)
    yield alone("threads-as-requested", "pthreads(7)",
                "the server is started with --threads 2, and 5",
                "the second has 3 threads more", threads_as_asked)


def on_cores() -> Iterator[Case]:
    """Threads are bound to cores only if there are exactly as many as cores that may be used."""
    yield alone("one-core-per-worker", "sched_setaffinity(2)",
                "the server is started with a thread for "
                "each core that it may use", "each of these cores is the only one of some thread",
                a_core_each)
    for what, threads in (("fewer", 1), ("more", 3)):
        yield alone(f"{what}-workers-than-cores", "sched_setaffinity(2); ours",
                    f"the server may use two cores, and is started with --threads {threads}",
                    "each of its threads may use both", partial(unbound, threads=threads))
    for what, cores, below in (("", 0.5, ""), ("-of-a-fraction", 1.5, ""), ("-above", 1.5, "below")):
        yield alone(f"quota{what}-and-cores", "cgroups(7); ours",
                    "the server may use two cores, and is started with --threads 2 in a control "
                    + ("group below one with " if below else "group with ")
                    + f"{cores} of a core's time", "each of its threads may use both",
                    partial(unbound, threads=2, cores=cores, below=below))
    for threads in (1, 4):
        yield alone("allowed-cores" if threads == 4 else "allowed-core-of-one-worker", "taskset(1)",
                    f"the server may use one core, and is started with --threads {threads}",
                    "all of its threads stay there", partial(allowed_cores, threads=threads))
    yield alone("default-threads-match-affinity", "taskset(1)",
                "the server may use one core, and is started "
                "without --threads", "it has as many threads as with --threads 1",
                threads_of_the_allowed)
    yield alone("cgroup-quota", "cgroups(7)",
                "the server may use two cores, and is started in a control "
                "group with half a core's time, in one with one and a half, and in one below a "
                "group with half a core", "without --threads it has 1 thread, 2, and 1", quota)


def a_core_each(server: Server) -> None:
    allowed = _cores()
    if (limit := cpu_limit()) and limit < len(allowed):
        raise Unable(f"this control group has the time of {limit:g} cores, and may use "
                     f"{len(allowed)}")
    with repeated(server, "--threads", str(len(allowed))) as other:
        time.sleep(SETTLES_S)
        found = other.cores()
    if missing := [core for core in allowed if {core} not in found]:
        raise Unmet(f"core {missing[0]} has no thread of its own: {_reported(found)}")


def unbound(server: Server, threads: int, cores: float = 0, below: str = "") -> None:
    allowed = set(sorted(_cores())[:2])
    with control_group(cores, below) if cores else nullcontext(()) as enter, \
            _repeated(server, enter, ",".join(map(str, allowed)), "--threads", str(threads)) as other:
        time.sleep(SETTLES_S)
        found = other.cores()
    if any(one != allowed for one in found):
        raise Unmet(f"it may use {sorted(allowed)}, and {_reported(found)}")


def allowed_cores(server: Server, threads: int) -> None:
    core = max(_cores())
    with _repeated(server, (), str(core), "--threads", str(threads)) as other:
        time.sleep(SETTLES_S)
        found = other.cores()
    if any(cores != {core} for cores in found):
        raise Unmet(f"only core {core} was allowed: {_reported(found)}")


def threads_of_the_allowed(server: Server) -> None:
    core = str(max(_cores()))
    with _repeated(server, (), core) as other, _repeated(server, (), core, "--threads", "1") as asked:
        found, expected = _settled(other, asked)
    if found != expected:
        raise Unmet(f"it had {found} threads, and {expected} with --threads 1")


def quota(server: Server) -> None:
    two = ",".join(map(str, sorted(_cores())[:2]))
    for cores, below, threads in ((0.5, "", 1), (1.5, "", 2), (0.5, "below", 1)):
        with control_group(cores, below) as enter, _repeated(server, enter, two) as other, \
                _repeated(server, (), two, "--threads", str(threads)) as asked:
            found, expected = _settled(other, asked)
        if found != expected:
            where = "in a group below one with" if below else "in a group with"
            raise Unmet(f"{where} {cores} of a core's time it had {found} threads, and {expected} "
                        f"with --threads {threads}")


def _repeated(server: Server, enter: Sequence[str], cores: str, *arguments: str,
           ) -> AbstractContextManager[Server]:
    return running(Path(server.command[0]), *arguments, wrapper=("taskset", "-c", cores, *enter))


def _settled(one: Server, other: Server) -> tuple[int, int]:
    """Returns both thread counts once they agree or time is over: some threads start late."""
    deadline = time.monotonic() + TIMEOUT_S
    same = 0
    while True:
        time.sleep(SETTLES_S)
        found = one.threads(), other.threads()
        same = same + 1 if found[0] == found[1] else 0
        if same == 2 or time.monotonic() > deadline:
            return found


@contextmanager
def control_group(cores: float, below: str) -> Iterator[tuple[str, ...]]:
    """Yields a command prefix for a control group with a limit of `cores`, or one below it."""
    version_1 = Path("/sys/fs/cgroup/cpu")
    outer = (version_1 if version_1.exists() else version_1.parent) / f"hotpath-{uuid4().hex}"
    inner = outer / below
    try:
        try:
            inner.mkdir(parents=True)
            _limit(outer, cores)
        except OSError as error:
            raise Unable(f"no control group can be made here ({error.strerror})") from None
        yield "sh", "-c", f'echo $$ > {inner}/cgroup.procs && exec "$@"', "sh"
    finally:
        for group in dict.fromkeys((inner, outer)):
            _remove(group)


def _limit(group: Path, cores: float) -> None:
    quota_us = str(int(cores * PERIOD_US))
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(quota_us)


def _remove(group: Path) -> None:
    """The kernel may still count a process for a moment after its end."""
    deadline = time.monotonic() + TIMEOUT_S
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.01)


def _cores() -> set[int]:
    if sys.platform != "linux":
        raise Unable("only Linux shows the cores of a thread")
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        raise Unable("it takes two cores")
    return allowed


def _reported(found: list[set[int]]) -> str:
    return "its threads may use " + ", ".join(str(sorted(cores)) for cores in found)


CHECKS = (
    group("workers", "clients distributed over workers", cases, level=7),
    group("cores", "a core for each worker", on_cores, level=7),
)
