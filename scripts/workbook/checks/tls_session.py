"""Judges the TLS session in isolation: that it converts between records and plain bytes in memory.

The work is done by a program built next to the server: see scripts/tls/session_test.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from workbook.checks import unit
from workbook.checks.model import MEASURE, Check, Status, Subject, Verdict

PROGRAM = "session"
WORDS = {  # what each of the program's checks tests
    "empty-read": "a BIO without input says “try again”",
    "capacity": "a full BIO refuses more bytes, and takes all that fit",
    "handshake": "a handshake of TLS 1.2 and one of 1.3",
    "pieces": "records that are received in pieces",
    "many-records": "all complete records are read at once",
    "needs-receive": "part of a record is neither an end nor a failure",
    "write": "the records that the session makes",
    "peer-ends": "close_notify from the client, and the bytes before it",
    "close": "close_notify from the session",
    "failed-client": "the failure of one client leaves the next alone",
    "plain-http": "a client that speaks plain HTTP",
}


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    status, summary, output = _ask(subject.builds[MEASURE].with_name(PROGRAM))
    note = f"{summary}\n{output}" if status == "fail" else ""
    yield from (Verdict(check.name, status, summary, note) for check in wanted)


def _ask(program: Path) -> tuple[Status, str, str]:
    """Returns the status, a one-line summary and the program's output."""
    if not program.exists():
        if list(program.parent.glob("CMakeFiles/*-server.dir/**/tls_none.cpp.o")):
            return "skip", "this server was built without OpenSSL", ""
        return "fail", "the server is built without a tls_session.cpp", ""
    return unit.outcome(program, WORDS, "the session converts between records and plain bytes")


CHECKS = (Check("seam.tls", "a TLS session in memory", judge, level=15, builds=(MEASURE,)),)
