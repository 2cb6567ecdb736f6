"""Clients that connect one after another, each disconnecting before the next: they leave nothing
behind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

from workbook.checks.behaviour.alone import TIMEOUT_S
from workbook.checks.behaviour.rows import (
    BAD,
    HOST,
    NO_ANSWER,
    PAGE_ANSWER,
    Unmet,
    echoed,
    get,
    noise,
    post,
)
from workbook.checks.behaviour.unchanged import GET
from workbook.servers.client import Await, Client, HalfClose, Step, Vanish
from workbook.servers.process import Server

BODY = noise(200)
FEW = 10


@dataclass(frozen=True)
class PausingClient:
    """One kind of client: what it does, in words and steps, and its answer if it waits for one."""

    does: str
    steps: tuple[Step, ...]
    gets: bytes | None = None


ANSWERED = PausingClient("sends a body and has it back", (post(BODY),), echoed(BODY))
REFUSED = PausingClient("is refused", (get(fields=b""),), BAD)
LEAVES = PausingClient("leaves in its body", (post(
    BODY[:-1], b"/sink", length=b"200"), HalfClose()), NO_ANSWER)
RESETS = PausingClient("resets its connection in its body",
                       (post(BODY[:-1], length=b"200"), Vanish()))
OF_ALL = (ANSWERED, REFUSED, LEAVES, RESETS)

# Keep-alive connections have more states to disconnect in.
STAYED = (GET[0], Await(GET[1]))
OF_KEPT = (
    PausingClient("has its page, stays and resets its connection", (*STAYED, Vanish())),
    PausingClient("resets its connection in its second head", (*STAYED, GET[0][:20], Vanish())),
    PausingClient("resets its connection and has not read its answer",
                  (post(noise(300_000), fields=HOST), Await(b"200 OK"), Vanish())),
    PausingClient("is refused and resets its connection", (get(fields=b""), Await(BAD), Vanish())),
)


def connection(server: Server, pausing_client: PausingClient, count: int,
               sources: Iterator[str] = repeat("")) -> None:
    """Connect `count` clients of a kind, one after another, each from the next address."""
    for number in range(count):
        address, deadline = (server.host, server.port), time.monotonic() + TIMEOUT_S
        narrow = Vanish() in pausing_client.steps
        with Client(address, deadline, narrow, next(sources)) as client:
            client.perform(pausing_client.steps)
            if pausing_client.gets is None:
                if number % FEW == FEW - 1:  # so that the server has noticed that they disconnected
                    page_is_still_served(server, f"clients each of which {pausing_client.does}")
                continue
            received = client.finish()
        if received.data != pausing_client.gets or received.end != "closed":
            raise Unmet(f"after {number} clients of which each {pausing_client.does}, the next was not "
                        f"served: {len(received.data)} bytes came, then {received.end}")


def page_is_still_served(server: Server, after: str) -> None:
    with Client((server.host, server.port), time.monotonic() + TIMEOUT_S) as client:
        client.perform((get(),))
        if client.finish().data != PAGE_ANSWER:
            raise Unmet(f"after {after} another client was not served")
