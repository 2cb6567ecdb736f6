"""As many threads serve as are asked for, each on a core of its own. The kernel deals out the
clients by a hash.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

from workbook.checks.behaviour.alone import alone
from workbook.checks.behaviour.kept import LAST, chain, echo, in_turn
from workbook.checks.behaviour.rows import Case, Unable, Unmet, row
from workbook.checks.behaviour.start import again, threads_as_asked
from workbook.servers.process import Server

SETTLES_S = 0.3


def cases() -> Iterator[Case]:
    asked = [echo(b"request %d" % number) for number in range(20)]
    yield row("four-serve", in_turn(*asked, LAST), chain(*asked, LAST)[1],
              "socket(7), SO_REUSEPORT", copies=64, enough=64, workers=4,
              timeout_s=10.0)
    yield alone("as-many-as-asked", "pthreads(7)", "the server is started with --threads 2, and 5",
                "the second has 3 threads more", threads_as_asked)
    yield alone("a-core-each", "sched_setaffinity(2)", "the server is started with a thread for "
                "each core that it may use", "each of these cores is the only one of some thread",
                a_core_each)
    yield alone("allowed-cores", "taskset(1)", "the server may use one core, and is started with "
                "--threads 4", "all of its threads stay there", allowed_cores)


def a_core_each(server: Server) -> None:
    allowed = _cores()
    with again(server, "--threads", str(len(allowed))) as other:
        time.sleep(SETTLES_S)
        found = other.cores()
    if missing := [core for core in allowed if {core} not in found]:
        raise Unmet(f"core {missing[0]} has no thread of its own: {_told(found)}")


def allowed_cores(server: Server) -> None:
    core = max(_cores())
    with again(server, wrapper=("taskset", "-c", str(core))) as other:
        time.sleep(SETTLES_S)
        found = other.cores()
    if any(cores != {core} for cores in found):
        raise Unmet(f"only core {core} was allowed: {_told(found)}")


def _cores() -> set[int]:
    if sys.platform != "linux":
        raise Unable("only Linux tells the cores of a thread")
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        raise Unable("it takes two cores")
    return allowed


def _told(found: list[set[int]]) -> str:
    return "its threads may use " + ", ".join(str(sorted(cores)) for cores in found)
