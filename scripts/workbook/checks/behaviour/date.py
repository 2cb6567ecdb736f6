"""The date of an answer, which has to be the current time as long as the server runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path

from workbook.checks.behaviour.alone import TIMEOUT_S, alone
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import Case, Unmet, get
from workbook.servers.client import exchange
from workbook.servers.process import Server

DATE_CHANGES_S = 3.2  # by then a clock that is updated once a second has changed


def make(root: Path) -> None:
    (root / "small.bin").write_bytes(b"small\n")


def cases() -> Iterator[Case]:
    yield alone("changes", "RFC 9110 §6.6.1, §5.6.7 (MUST)",
                f"requests, then {DATE_CHANGES_S:g} s later the same requests",
                "each answer's Date is the time, as an IMF-fixdate", changes, site=make)


def changes(server: Server) -> None:
    for pause_s in (0, DATE_CHANGES_S):
        time.sleep(pause_s)
        for request in (get(), get(b"/small.bin"), get(b"/nowhere")):
            before = time.time()
            received = exchange((server.host, server.port), (request,), TIMEOUT_S)
            head = received.raw.partition(b"\r\n\r\n")[0].decode("latin-1")
            output = [line[6:] for line in head.splitlines() if line.startswith("Date: ")]
            if len(output) != 1:
                raise Unmet(f"the answer has {len(output)} Date fields")
            after_s = before - parsedate_to_datetime(output[0]).timestamp()
            if not before - time.time() - 1 <= after_s < DATE_CHANGES_S - 0.2:
                raise Unmet(f"it was {after_s:.1f} s late: {output[0]}")


CHECKS = (group("date", "the date of every answer", cases, level=9),)
