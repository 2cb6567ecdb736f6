"""Memory comes back when clients have gone, and who does not read gets little of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour.alone import alone, connected, must_be_plain
from workbook.checks.behaviour.rows import MIB, Case, Unmet, get
from workbook.checks.behaviour.visitors import OF_ALL, Visitor, visit
from workbook.servers.process import Server

FIRST = 500  # who take what is there for good
CLIENTS = 2000
GREEDY = 8
ASKED = 10 * MIB  # more than kernels keep for a connection
ENOUGH = 384 * 1024  # bytes: for buffers in both directions; the answers to 64 KiB would be more
QUIET_S = 0.2  # a socket that takes nothing for so long is full
LEAST = 64  # bytes: less than what is kept of a client, more than chance adds


def cases() -> Iterator[Case]:
    for what, visitor in zip(("answered", "refused", "left", "reset"), OF_ALL, strict=True):
        yield alone(f"two-thousand-{what}", "malloc(3), free",
                    f"{FIRST} clients come one after another, each of which {visitor.does}; then "
                    f"{CLIENTS} more",
                    f"the {CLIENTS} leave less than {LEAST} bytes each in the server's memory",
                    partial(comes_back, visitor=visitor))
    yield alone("pipelines-unread", "tcp(7)",
                f"{GREEDY} clients send all the requests that they can, and read no answer",
                f"the server holds less than {ENOUGH // 1024} KiB for each", unread, level=6)


def comes_back(server: Server, visitor: Visitor) -> None:
    must_be_plain(server)
    visit(server, visitor, FIRST)
    before = server.own_bytes()
    visit(server, visitor, CLIENTS)
    left = (server.own_bytes() - before) / CLIENTS
    if left >= LEAST:
        raise Unmet(f"each client that {visitor.does} left {left:,.0f} bytes behind")


def unread(server: Server) -> None:
    """The shortest requests, for their answers are many times as long."""
    requests = get(fields=b"Host:a\r\n")
    requests *= ASKED // len(requests)
    with connected(server, GREEDY, narrow=True) as clients:
        before = server.own_bytes()
        for client in clients:
            client.offer(requests, QUIET_S)
        held = (server.own_bytes() - before) / GREEDY
    if held >= ENOUGH:
        raise Unmet(f"it held {held / 1024:,.0f} KiB for each")
