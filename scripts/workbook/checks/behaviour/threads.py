"""With four threads, those that wait for a slow client must not hold up the others.

The kernel deals new connections out to the listeners by a hash of their addresses, so a few
of many always land behind the slow client; most must not.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.rows import Case, echoed, get, noise, post, row
from workbook.servers.client import Pause


def cases() -> Iterator[Case]:
    body = noise(3000)
    for what, neighbours, enough in [
        ("silent-client", [b""], 8),
        ("client-silent-in-request-line", [b"GET / HT"], 8),
        ("client-silent-in-fields", [get()[:-2]], 8),
        ("client-silent-in-body", [post(body[:-1], length=b"3000")], 8),
        ("client-that-does-not-close", [get()], 8),
        ("two-silent-clients", [b"", b"POST"], 3),
    ]:
        yield row(what, post(body), echoed(body), "socket(7), SO_REUSEPORT",
                  neighbours=tuple((sent, Pause(0.05)) for sent in neighbours), copies=24,
                  enough=enough, timeout_s=3.0)
