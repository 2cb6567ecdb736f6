"""With --threads 4 four threads serve. The kernel deals out the clients by a hash."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.kept import LAST, chain, echo, in_turn
from workbook.checks.behaviour.rows import Case, row


def cases() -> Iterator[Case]:
    asked = [echo(b"request %d" % number) for number in range(20)]
    yield row("four-serve", in_turn(*asked, LAST), chain(*asked, LAST)[1],
              "socket(7), SO_REUSEPORT", copies=64, enough=64, workers=4,
              timeout_s=10.0)
