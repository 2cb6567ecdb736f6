"""Judges the kqueue poller in isolation: what it guarantees while changes wait for the next call.

The work is done by a program built next to the server: see scripts/poller/poller_test.cpp.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from workbook.checks import unit
from workbook.checks.model import KQUEUE, Check, Subject, Verdict

PROGRAM = "poller"
WORDS = {  # what each of the program's checks tests
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
        status, summary, output = unit.outcome(
            subject.builds[KQUEUE].with_name(PROGRAM), WORDS,
            "changes that wait for the next call are neither lost nor misdirected")
    else:
        status, output = "skip", ""
        summary = "it is tested on Linux, where kqueue is our own library"
    note = f"{summary}\n{output}" if status == "fail" else ""
    yield from (Verdict(check.name, status, summary, note) for check in wanted)


CHECKS = (Check("seam.poller", "changes queued for the next call of kevent", judge, level=6,
                builds=(KQUEUE,)),)
