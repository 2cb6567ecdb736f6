"""Judges how many system calls a new client costs on our own implementation of kqueue."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from workbook.checks import budgets
from workbook.checks.model import KQUEUE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.measure import crowd

AT_ONCE, ROUNDS = 64, 4


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from (_verdict(subject, check) for check in wanted)


def _verdict(subject: Subject, check: Check) -> Verdict:
    if sys.platform != "linux":
        return Verdict(check.name, "skip", "calls of kevent are counted in the library that brings "
                                           "kqueue to Linux")
    try:
        with subject.watch.doing("counting calls of kevent"):
            value = crowd.kevents(subject.builds[KQUEUE], AT_ONCE, ROUNDS)
    except (UserError, OSError) as error:
        return budgets.missing(check, subject.chapter, error)
    return budgets.verdict(check, subject.chapter, value,
                           f" when {AT_ONCE} come together, waits and all")


CHECKS = (
    Check("cost.kevents", "calls of kevent", judge, unit="calls of kevent",
          per="new client", level=6, builds=(KQUEUE,), tool="valgrind",
          after="behaviour.keep-alive"),
)
