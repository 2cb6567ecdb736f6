"""Judges how much memory a silent client occupies: after an answer, in the middle of a head, after
its last answer if it doesn't close, and after an answer over TLS.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from workbook.checks import budgets
from workbook.checks.model import RELEASE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.measure import crowd
from workbook.servers import certificates

BECOMES = {"resident": crowd.served, "resident-in-a-head": crowd.stopped_in_a_head,
           "resident-lingering": crowd.lingers, "resident-tls": crowd.served}
SECURED = "resident-tls"
SWEPT_S = 2.5  # two sweeps: memory used during a transfer may be freed in one of them
LINGER = ("--linger-timeout", "60")  # no time limit may close a client during the measurement


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from (_verdict(subject, check) for check in wanted)


def _verdict(subject: Subject, check: Check) -> Verdict:
    if sys.platform != "linux":
        return Verdict(check.name, "skip",
                       "only Linux separates a process's own memory from shared")
    try:
        with subject.watch.doing("looking at the memory of silent clients"):
            secured = certificates.localhost().options if check.key == SECURED else ()
            value = crowd.resident_bytes(
                subject.builds[RELEASE], crowd.MANY, *LINGER, *secured,
                becomes=BECOMES[check.key], pause_s=SWEPT_S if secured else 0.0)
    except (UserError, OSError) as error:
        return budgets.missing(check, subject.chapter, error)
    return budgets.verdict(check, subject.chapter, value,
                           f", by {crowd.MANY} of them compared with {crowd.FEW}")


CHECKS = (
    Check("cost.resident", "resident bytes", judge, unit="resident bytes", per="silent client",
          level=5),
    Check("cost.resident-in-a-head", "resident bytes", judge, unit="resident bytes",
          per="client with an incomplete head", level=5),
    Check("cost.resident-lingering", "resident bytes", judge, unit="resident bytes",
          per="lingering client", level=5),
    Check("cost.resident-tls", "resident bytes", judge, unit="resident bytes",
          per="silent client over TLS", level=15),
)
