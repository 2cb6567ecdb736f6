"""While nothing moves the server uses no processor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour.alone import alone, connected, must_be_idle
from workbook.checks.behaviour.rows import BAD, MIB, PAGE_ANSWER, Case, Unmet, get, noise, post
from workbook.checks.behaviour.unchanged import GET
from workbook.servers.client import Await, HalfClose, Step
from workbook.servers.process import Server


def cases() -> Iterator[Case]:
    unread = (post(noise(MIB)), Await(b"200 OK"))
    for what, does, steps, level in [
        ("connected", "connects and is silent", (), 1),
        ("in-a-head", "sends a part of a head", (get()[:20],), 1),
        ("in-a-body", "sends a part of a body", (post(noise(5000), length=b"5001"),), 1),
        ("answer-unread", "does not read its answer, of 1 MiB", unread, 1),
        ("answer-unread-and-no-more-said", "does not read its answer, of 1 MiB, and has said that "
         "it will send no more", (*unread, HalfClose()), 1),
        ("refused", "has read that it was refused, and does not close",
         (get(fields=b""), Await(BAD)), 1),
        ("answered", "has read its last answer, and does not close",
         (get(), Await(PAGE_ANSWER)), 1),
        ("answered-and-no-more-said", "has said that it will send no more and read its answer, and "
         "does not close", (get(), HalfClose(), Await(PAGE_ANSWER)), 1),
        ("between-requests", "has had an answer", (GET[0], Await(GET[1])), 5),
    ]:
        yield alone(what, "time(7)", f"a client {does}; then nobody does anything",
                    "the server uses no processor", partial(rests, steps=steps), level=level)


def rests(server: Server, steps: tuple[Step, ...]) -> None:
    with connected(server, 1, narrow=True) as (client,):
        client.perform(steps)
        if client.received().end == "reset":
            raise Unmet("the connection was reset")
        must_be_idle(server)
