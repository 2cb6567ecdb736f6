"""Judges what a client holds in memory that was served and is silent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from workbook.checks import budgets
from workbook.checks.model import RELEASE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.measure import crowd


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from (_verdict(subject, check) for check in wanted)


def _verdict(subject: Subject, check: Check) -> Verdict:
    if sys.platform != "linux":
        return Verdict(check.name, "skip", "only Linux tells a process's own memory from shared")
    try:
        with subject.watch.doing("looking at the memory of idle clients"):
            value = crowd.resident_bytes(subject.builds[RELEASE])
    except (UserError, OSError) as error:
        return budgets.missing(check, subject.chapter, error)
    return budgets.verdict(check, subject.chapter, value,
                           f", by {crowd.MANY} of them beside {crowd.FEW}")
