"""Judges the size of a Request, which a program built from the reader's sources prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbook.checks import budgets
from workbook.checks.behaviour.reported_fields import PROGRAM
from workbook.checks.behaviour.rows import get
from workbook.checks.model import MEASURE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.servers.client import exchange
from workbook.servers.process import running

TIMEOUT_S = 5.0


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from (_verdict(subject, check) for check in wanted)


def _verdict(subject: Subject, check: Check) -> Verdict:
    try:
        with running(subject.builds[MEASURE].with_name(PROGRAM)) as mirror:
            answer = exchange((mirror.host, mirror.port), (get(b"/sizeof(Request)"),), TIMEOUT_S)
            size = answer.data.rpartition(b"\r\n\r\n")[2]
            if not size.isdigit():
                raise UserError("the server did not print the size of its Request",
                                "make the behaviour checks pass first")
    except UserError as error:
        return budgets.missing(check, subject.chapter, error)
    return budgets.verdict(check, subject.chapter, int(size))


CHECKS = (
    Check("cost.layout", "bytes, not counting heap memory", judge, unit="bytes", per="Request",
          level=3, builds=(MEASURE,), after="behaviour.requests"),
)
