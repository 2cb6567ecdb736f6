"""Judges how often threads wait for each other. They share nothing, so they never should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbook.checks import budgets
from workbook.checks.model import RELEASE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.measure import crowd

CLIENTS, ROUNDS = 32, 20


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from (_verdict(subject, check) for check in wanted)


def _verdict(subject: Subject, check: Check) -> Verdict:
    try:
        with subject.watch.doing("counting calls of futex"):
            value = crowd.futexes(subject.builds[RELEASE], CLIENTS, ROUNDS)
    except (UserError, OSError) as error:
        return budgets.missing(check, subject.chapter, error)
    return budgets.verdict(check, subject.chapter, value, f", of {CLIENTS} clients at once")


CHECKS = (
    Check("cost.futexes", "calls of futex", judge, unit="calls of futex", level=7,
          tool="strace", after="behaviour.keep-alive"),
)
