"""Judges the log's lines in isolation: what they contain, and that a client can't forge one.

The work is done by a program built next to the server: see scripts/log/format_test.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from workbook.checks import unit
from workbook.checks.model import MEASURE, Check, Status, Subject, Verdict

PROGRAM = "log-format"
WORDS = {  # what each of the program's checks tests
    "combined": "a line of the combined form",
    "json": "a line of JSON",
    "escapes-in-combined": "bytes that must be escaped in the combined form",
    "escapes-in-json": "bytes that must be escaped in JSON",
    "head": "the request line and the two fields of a head",
    "long-texts": "texts that are longer than is logged of them",
    "messages": "lines of the error log",
    "addresses": "addresses as text",
}


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    status, summary, output = _ask(subject.builds[MEASURE].with_name(PROGRAM))
    note = f"{summary}\n{output}" if status == "fail" else ""
    yield from (Verdict(check.name, status, summary, note) for check in wanted)


def _ask(program: Path) -> tuple[Status, str, str]:
    """Returns the status, a one-line summary and the program's output."""
    if not program.exists():
        return "fail", "the server is built without a log_format.cpp", ""
    return unit.outcome(program, WORDS, "all lines have the form that they should have")


CHECKS = (Check("seam.log-format", "one line of the log", judge, level=14, builds=(MEASURE,)),)
