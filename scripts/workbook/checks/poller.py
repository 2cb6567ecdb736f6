"""Judges the poller on kqueue, alone: what it owes its worker when changes wait for the next call.

A program asks it, which is built beside the server: see scripts/poller/poller_test.cpp.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbook.checks.model import KQUEUE, Check, Status, Subject, Verdict
from workbook.common.paths import shown

PROGRAM = "poller"
SECONDS = 30  # it needs a fraction of one
WORDS = {  # what the program's checks are about
    "one-call": "the changes of one iteration are submitted with the wait",
    "full-list": "more than 256 changes before one wait()",
    "unwatched": "a descriptor that cannot be watched is reported after the wait",
    "unwatched-all": "more such descriptors than fit into one call",
    "closed": "a change of a descriptor that was closed meanwhile",
    "number-used-again": "a change of a descriptor number that has been reused",
    "removed": "no event for a removed descriptor",
}


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    if sys.platform == "linux":
        status, summary, output = _ask(subject.builds[KQUEUE].with_name(PROGRAM))
    else:
        status, output = "skip", ""
        summary = "it is tested on Linux, where kqueue is our own library"
    note = f"{summary}\n{output}" if status == "fail" else ""
    yield from (Verdict(check.name, status, summary, note) for check in wanted)


def _ask(program: Path) -> tuple[Status, str, str]:
    """How it went, in a line, and what the program said."""
    try:
        done = subprocess.run([program], capture_output=True, text=True, errors="replace",
                              timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "fail", f"a wait did not end within {SECONDS} s", f"again: {shown(program)}"
    if done.returncode == 0:
        return "pass", "changes that wait for the next call are neither lost nor misdirected", ""
    failed = re.findall(rf"^FAILED ({'|'.join(WORDS)}):", done.stderr, re.M)
    summary = ("; ".join(f"{name}: {WORDS[name]}" for name in failed)
               or f"it ended with {done.returncode}")
    return "fail", summary, f"{done.stderr}again: {shown(program)}"


CHECKS = (Check("seam.poller", "changes queued for the next call of kevent", judge, level=6,
                builds=(KQUEUE,)),)
