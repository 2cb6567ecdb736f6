"""Judges how a file is sent: in pieces so small that other clients needn't wait long, and a small
file in the same segment as its head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbook.checks import budgets
from workbook.checks.model import RELEASE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.measure import sending

FIGURES = {"file-piece": sending.largest_piece, "file-segments": sending.segments}


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from (_verdict(subject, check) for check in wanted)


def _verdict(subject: Subject, check: Check) -> Verdict:
    try:
        with subject.watch.doing("looking at how files are sent"):
            value = FIGURES[check.key](subject.builds[RELEASE])
    except (UserError, OSError) as error:
        return budgets.missing(check, subject.chapter, error)
    return budgets.verdict(check, subject.chapter, value)


CHECKS = (
    Check("cost.file-piece", "bytes requested before the next wait", judge,
          unit="bytes requested before the next wait", per="large file", level=9, tool="strace",
          after="behaviour.files"),
    Check("cost.file-segments", "segments", judge, unit="segments", per="small file",
          level=9, after="behaviour.files"),
)
