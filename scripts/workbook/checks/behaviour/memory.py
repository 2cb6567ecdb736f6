"""Memory comes back when clients have gone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour.alone import alone
from workbook.checks.behaviour.rows import Case, Unmet
from workbook.checks.behaviour.visitors import OF_ALL, Visitor, visit
from workbook.servers.process import Server

FIRST = 500  # who take what is there for good
CLIENTS = 2000
LEAST = 64  # bytes: less than what is kept of a client, more than chance adds


def cases() -> Iterator[Case]:
    for what, visitor in zip(("answered", "refused", "left", "reset"), OF_ALL, strict=True):
        yield alone(f"two-thousand-{what}", "malloc(3), free",
                    f"{FIRST} clients come one after another, each of which {visitor.does}; then "
                    f"{CLIENTS} more",
                    f"the {CLIENTS} leave less than {LEAST} bytes each in the server's memory",
                    partial(comes_back, visitor=visitor))


def comes_back(server: Server, visitor: Visitor) -> None:
    visit(server, visitor, FIRST)
    before = server.own_bytes()
    visit(server, visitor, CLIENTS)
    left = (server.own_bytes() - before) / CLIENTS
    if left >= LEAST:
        raise Unmet(f"each client that {visitor.does} left {left:,.0f} bytes behind")
