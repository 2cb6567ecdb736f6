"""The judge passes our servers on a machine that is busy with something else.

The cases that depend on time run next to six processes that use all they can get, with two
cores for everything. `test --long` runs them once. After a change to a case that measures time or
processor use, and before a release, all 300 rounds must pass, which takes many hours (`-k 15-tls`
runs those of one solution):

    HOTPATH_ROUNDS=300 ./scripts/hotpath test --long scripts/tests/judging/test_busy_machine.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import programs
import pytest
from fixed_subset import POSITION
from lengths import LONG

from workbook.checks.behaviour import cases, suite
from workbook.checks.behaviour.rows import Case
from workbook.servers.client import Pause, Sip

ROUNDS = int(os.environ.get("HOTPATH_ROUNDS", "1"))
BUSY_PROCESSES, CORES = 6, 2
ROUND_S = 600  # more than one round takes next to them
LAST = programs.CLIMB[-1]

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not LONG, reason="takes minutes: test --long"),
    pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs sched_setaffinity(2)"),
    pytest.mark.timeout(ROUNDS * ROUND_S),
    pytest.mark.usefixtures("no_process_left"),
]


def depends_on_time(case: Case) -> bool:
    """Whether it has a server of its own, which it watches, or a client that waits on purpose.

    All cases that measure time or processor use are among these. The many requests that are cut at
    one byte after the other are left out, because they measure neither.
    """
    if POSITION.fullmatch(case.name):
        return False
    steps = [*case.steps, *(step for neighbour in case.neighbours for step in neighbour)]
    return bool(case.alone) or any(isinstance(step, (Pause, Sip)) for step in steps)


def tried(name: str) -> list[Case]:
    """The cases that this solution is the first or the last to have."""
    level = int(name[:2])
    return [case for case in cases.select(level) if depends_on_time(case)
            and (name == LAST or level in (case.level, case.until))]


@contextmanager
def busy_machine() -> Iterator[None]:
    """Everything that is started meanwhile shares two cores with six busy processes."""
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(usual)[:CORES])
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(BUSY_PROCESSES)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
        os.sched_setaffinity(0, usual)


@pytest.mark.parametrize("name", [name for name in programs.CLIMB if tried(name)])
def test_correct_server_passes_on_a_busy_machine(name: str) -> None:
    binary, failed = programs.served(name), Counter[str]()
    with busy_machine():
        for _ in range(ROUNDS):
            result = suite.run(binary, tried(name), int(name[:2]))
            failed.update(f"{failure.case.name}: {failure.problem}" for failure in result.failures)
            failed.update(f"{check}: {group.stopped}" for check, group in result.groups.items()
                          if group.stopped)
    assert not failed, f"failures in {ROUNDS} rounds: {dict(failed)}"
