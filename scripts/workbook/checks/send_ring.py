"""Judges the ring of sends in isolation: which bytes it sends, and what it reports about them.

The work is done by a program built next to the server: see scripts/ring/ring_test.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbook.checks import unit
from workbook.checks.model import MEASURE, Check, Status, Subject, Verdict
from workbook.machine import needs

PROGRAM = "ring"
WORDS = {  # what each of the program's checks tests
    "one": "one socket gets its bytes",
    "each-its-own": "64 sockets get their own bytes, more often than the ring has entries for",
    "full-socket": "a full socket takes nothing, and the next one is served",
    "short-send": "a socket that takes a part of the bytes",
    "closed-peer": "a socket whose peer has closed",
    "bytes-released": "the bytes are not used after the call",
    "descriptors-released": "a destroyed ring closes its descriptor",
}


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    status, summary, output = _ask(subject)
    note = f"{summary}\n{output}" if status == "fail" else ""
    yield from (Verdict(check.name, status, summary, note) for check in wanted)


def _ask(subject: Subject) -> tuple[Status, str, str]:
    """Returns the status, a one-line summary and the program's output."""
    if reason := needs.without_io_uring():
        return "skip", reason, ""
    program = subject.builds[MEASURE].with_name(PROGRAM)
    if not program.exists():
        return "fail", "the server is built without a send_ring_linux.cpp", ""
    return unit.outcome(program, WORDS, "each socket gets its own bytes, and only those")


CHECKS = (Check("seam.ring", "a ring of sends in isolation", judge, level=16, builds=(MEASURE,)),)
