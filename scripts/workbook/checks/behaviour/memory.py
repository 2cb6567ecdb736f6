"""Memory is released when clients disconnect, and is available for the next body; a client that
doesn't read gets little of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import repeat
from time import monotonic, sleep

from workbook.checks.behaviour.alone import (
    LOOK_S,
    TIMEOUT_S,
    alone,
    connected,
    have_the_page,
    must_be_plain,
)
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.pausing_clients import OF_ALL, PausingClient, connection
from workbook.checks.behaviour.rows import MIB, Case, Unable, Unmet, get
from workbook.checks.behaviour.unchanged import GET, LAST, chain, echo, sink
from workbook.servers.client import Await, Client
from workbook.servers.process import Server

FIRST = 500  # the first clients cause the permanent allocations
CLIENTS = 2000
ROUNDS = 3  # an allocator may grow once by chance, but a leak grows every time
GREEDY = 8
ROUNDS_OF_PAGES = 200  # clients, each of which ends with a numbered echo that shows the order
PAGES = 99
# bytes, for buffers in both directions; the answers to 64 KiB of requests would be more
ENOUGH = 384 * 1024
QUIET_S = 0.2  # a socket that accepts nothing for this long is full
BODY = 8 * MIB
BODIES = 16
IDLE_S = 5.0  # long enough for several sweeps, in which a worker may release memory
ITERATIONS = 20
PAGE = 4096  # the smallest page size; larger pages cause fewer faults
MINIMUM = 64  # bytes: less than the state kept for a client, more than random growth


def cases() -> Iterator[Case]:
    for what, pausing_client in zip(("answered", "refused", "disconnected", "reset"), OF_ALL,
                                    strict=True):
        yield alone(f"two-thousand-{what}", "malloc(3), free",
                    f"{FIRST} clients come one after another, each of which {pausing_client.does}; then "
                    f"{CLIENTS} more, and if need be {CLIENTS} again",
                    f"the {CLIENTS} leave less than {MINIMUM} bytes each in the server's memory",
                    partial(returns, pausing_client=pausing_client))
    yield unread_pipelined_answers(level=6)
    yield alone("burst-of-bodies", "jemalloc(3), arena.<i>.purge",
                f"{BODIES} clients get the page; then all send a body of {BODY // MIB} MiB at "
                "once, have their answers and stay",
                f"within {IDLE_S:g} s without traffic the server has no body's memory left",
                rush_of_bodies, level=8)
    yield alone("successive-bodies", "jemalloc(3), opt.dirty_decay_ms",
                f"a client sends {ITERATIONS} bodies of {BODY // MIB} MiB, one after another",
                "the server finds at least half of their pages in its memory", body_after_body,
                level=8)


def unread_pipelined_answers(level: int, until: int | None = None) -> Case:
    return alone("unread-pipelined-answers", "tcp(7); RFC 9112 §9.3.2 (MUST)",
                 f"{GREEDY} clients send {ROUNDS_OF_PAGES * (PAGES + 1):,} requests each, and read "
                 "no answer; then one of them reads",
                 f"the server holds less than {ENOUGH // 1024} KiB for each; all the answers, in "
                 "order, for the one that reads", unread, level=level, until=until)


def returns(server: Server, pausing_client: PausingClient, sources: Iterator[str] = repeat(""),
            minimum: int = MINIMUM) -> None:
    must_be_plain(server)
    connection(server, pausing_client, FIRST, sources)
    for _ in range(ROUNDS):
        before = server.own_bytes()
        connection(server, pausing_client, CLIENTS, sources)
        left = left_over(server, before, CLIENTS * minimum) / CLIENTS
        if left < minimum:
            return
    raise Unmet(f"each client that {pausing_client.does} left {left:,.0f} bytes behind")


def unread(server: Server) -> None:
    """Clients send the shortest requests, because their answers are many times as long, and don't
    read.
    """
    must_be_plain(server)
    shortest = get(fields=b"Host:a\r\n"), GET[1]
    asked, answers = chain(*(each for number in range(ROUNDS_OF_PAGES)
                             for each in (*[shortest] * PAGES, echo(b"%d" % number))), LAST)
    with connected(server, GREEDY, narrow=True) as clients:
        before = server.own_bytes()
        taken = [client.offer(asked, QUIET_S) for client in clients]
        server.sleeps(TIMEOUT_S)
        held = (server.own_bytes() - before) / GREEDY
        if held >= ENOUGH:
            raise Unmet(f"it held {held / 1024:,.0f} KiB for each")
        clients[0].perform((asked[taken[0]:],))
        received = clients[0].finish()
    if received.data != answers or received.end != "closed":
        raise Unmet(f"{len(received.data):,} bytes came of the {len(answers):,} of the answers, or "
                    f"others; then the connection was {received.end}")


def rush_of_bodies(server: Server) -> None:
    must_be_plain(server)
    sent, answer = sink(bytes(BODY))
    with connected(server, BODIES) as clients:
        have_the_page(clients)
        before = server.own_bytes()
        for client in clients:
            client.perform((sent[:-1],))
        for client in clients:
            has(client, sent[-1:], answer, after=GET[1])
        left = left_over(server, before, BODY)
    if left >= BODY:
        raise Unmet(f"it had still {left / MIB:.0f} MiB more after {IDLE_S:g} s")


def body_after_body(server: Server) -> None:
    must_be_plain(server)
    sent, answer = sink(bytes(BODY))
    before = page_faults(server)
    with connected(server, 1) as (client,):
        for iteration in range(ITERATIONS):
            has(client, sent, answer, after=iteration * answer)
    faults = (page_faults(server) - before) / ITERATIONS
    if faults > BODY / PAGE / 2:
        raise Unmet(f"each cost {faults:,.0f} page faults")


def left_over(server: Server, before: int, enough: int) -> int:
    """Returns the bytes held beyond `before`, once below `enough` or after `IDLE_S` seconds."""
    deadline = monotonic() + IDLE_S
    while (left := server.own_bytes() - before) >= enough and monotonic() < deadline:
        sleep(LOOK_S)
    return left


def has(client: Client, sent: bytes, answer: bytes, after: bytes) -> None:
    """The client sends `sent` and must get `answer` following the answers `after`."""
    client.perform((sent, Await(after + answer)))
    if client.ended:
        raise Unmet("a client was not answered, or closed after its answer")


def page_faults(server: Server) -> int:
    try:
        return server.page_faults()
    except OSError:
        raise Unable("only Linux shows how many pages a program faulted in") from None


CHECKS = (group("memory", "memory of clients that disconnect or never read", cases),)
