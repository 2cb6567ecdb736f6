"""With four threads, those that wait for a slow client must not hold up the others, and none may
touch what another is using.

The kernel distributes new connections over the listeners by a hash of their addresses, so a few of
many always queue after the slow client; most must not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from workbook.checks.behaviour.alone import alone, connected
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import Case, Unmet, Wrong, echoed, get, noise, post, row
from workbook.servers.client import Pause
from workbook.servers.process import Server

CLIENTS, ROUNDS = 40, 100


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
    yield alone("different-bodies-at-once", "POSIX.1-2017, XBD 4.12",
                f"{CLIENTS} clients echo a body each, of another size, and the server finds all "
                f"of them waiting; {ROUNDS} times", "each gets its own body back", different_bodies)


def different_bodies(server: Server) -> None:
    for number in range(ROUNDS):
        bodies = [noise(10 + 50 * client + number) for client in range(CLIENTS)]
        with connected(server, CLIENTS) as clients:
            with asleep(server):
                for client, body in zip(clients, bodies, strict=True):
                    client.perform((post(body),))
            answers = [client.finish().data for client in clients]
        expected = [echoed(body) for body in bodies]
        mixed = sum(not right.startswith(answer)
                    for answer, right in zip(answers, expected, strict=True))
        if mixed:
            raise Wrong(f"{mixed} of {CLIENTS} clients had another answer than their own")
        if answers != expected:
            raise Unmet("not every client had its whole answer")


@contextmanager
def asleep(server: Server) -> Iterator[None]:
    """Suspend the server: it then finds everything that arrived at once, so that every thread has
    work.
    """
    process = psutil.Process(server.pid)
    process.suspend()
    yield
    process.resume()


CHECKS = (group("threads", "slow clients next to others", cases, level=4),)
