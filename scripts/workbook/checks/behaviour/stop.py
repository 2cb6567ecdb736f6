"""A server that is asked to stop lets its clients finish, and then ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour.alone import END_S, alone, connected, have_the_page, must_end
from workbook.checks.behaviour.deadlines import Limits
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import PAGE_ANSWER, Case, Unmet, echoed, get, noise, post
from workbook.checks.behaviour.unchanged import GET
from workbook.servers.client import Await, Pause
from workbook.servers.process import Server

CUT = 20  # the position at which a request is split
IDLE = 40  # enough that every worker has some of them
READERS = 12
LATE_S = 0.9  # less than the stop limit of a second, which answered clients needn't wait for
READER_PAUSE = Pause(0.5)  # a pause of a client that reads: shorter than the time it's given


def cases() -> Iterator[Case]:
    for name in ("SIGTERM", "SIGINT"):
        yield alone(f"{name.lower()}-without-clients", "signal(7)",
                    f"no client is connected; {name}",
                    f"the server ends ({END_S:g} s are allowed), with 0",
                    partial(without_clients, name=name))
    yield alone("incomplete-first-head", "signal(7)",
                f"a client sends {CUT} bytes of a request, and "
                "no more; SIGTERM",
                f"the server ends within a second ({END_S:g} are allowed), with 0",
                in_the_first_head)
    longer = Limits(stop=4).options()  # for many clients on a busy machine
    for what, readers, level, arguments in [
        ("slow-reader", 1, 1, ()),
        (f"{READERS}-slow-readers", READERS, 5, longer),
    ]:
        yield alone(what, "signal(7)", f"{readers} clients, one after another, have sent 300 kB to "
                    "/echo and read the first bytes of the answer; SIGTERM; after "
                    f"{READER_PAUSE.seconds:g} s they read the remainder",
                    "all the bytes come; the server ends with 0",
                    partial(readers_that_pause, readers=readers), level=level,
                    arguments=arguments)
    half = f"a client has its page and sends {CUT} bytes of its next request"
    yield alone("incomplete-request", "RFC 9112 §9.6 (SHOULD)",
                f"{half}, {IDLE} others have theirs and are idle; SIGTERM; when the idle ones are "
                "closed, the first sends the remainder",
                "the idle ones are closed at once, the request is answered with Connection: close, "
                "then the end; the server ends with 0", half_a_request, level=5)
    yield alone("incomplete-request-for-ever", "signal(7)", f"{half}, and no more; SIGTERM",
                f"the server ends within a second ({END_S:g} are allowed), with 0",
                half_a_request_for_ever, level=5)


def without_clients(server: Server, name: str) -> None:
    os.kill(server.pid, signal.Signals[name])
    must_end(server, name)


def in_the_first_head(server: Server) -> None:
    with connected(server, 1) as (client,):
        client.perform((get()[:CUT], Pause(0.05)))
        server.ask_to_stop()
        must_end(server)


def readers_that_pause(server: Server, readers: int) -> None:
    body = noise(300_000)
    with connected(server, readers, narrow=True) as clients:
        for client in clients:
            client.perform((post(body), Await(b"200 OK")))
        server.ask_to_stop()
        clients[0].perform((READER_PAUSE,))
        received = [client.finish() for client in clients]
    for each in received:
        if each.data != echoed(body) or each.end != "closed":
            raise Unmet(f"{len(each.data):,} of {len(echoed(body)):,} bytes came, then the "
                        f"connection was {'still open' if each.end == 'timeout' else each.end}")
    must_end(server)


def half_a_request(server: Server) -> None:
    with connected(server, IDLE + 1) as (half, *idle):
        have_the_page((half,), GET[0] + GET[0][:CUT])
        have_the_page(idle)
        server.ask_to_stop()
        asked = time.monotonic()
        ends = [client.finish().end for client in idle]
        lasted_s = time.monotonic() - asked
        if ends != ["closed"] * IDLE:
            raise Unmet(f"{IDLE - ends.count('closed')} of the {IDLE} idle clients were not closed")
        half.receive()
        if half.ended and lasted_s >= LATE_S:
            raise Unmet(f"the {IDLE} idle clients were not closed at once, but {lasted_s:.1f} s "
                        "after SIGTERM, with the one that was sending its request")
        half.perform((GET[0][CUT:],))
        received = half.finish()
        after = received.data.removeprefix(GET[1])
        if after != PAGE_ANSWER or received.end != "closed":
            output = after.partition(b"\r\n\r\n")[0].decode("latin-1").replace("\r\n", ", ")
            raise Unmet(f"its end was sent, and {output or 'nothing'} came; then the connection "
                        f"was {'still open' if received.end == 'timeout' else received.end}")
    must_end(server)


def half_a_request_for_ever(server: Server) -> None:
    with connected(server, 1) as clients:
        have_the_page(clients, GET[0] + GET[0][:CUT])
        server.ask_to_stop()
        must_end(server)


CHECKS = (group("stop", "graceful shutdown", cases),)
