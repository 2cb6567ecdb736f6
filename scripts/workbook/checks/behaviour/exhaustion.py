"""Larger bodies, and more of them, than there is memory for."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    have_the_page,
    must_end,
)
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    HOST,
    MAX_BODY,
    MIB,
    PAGE_ANSWER,
    Case,
    Unable,
    Unmet,
    Wrong,
    get,
    post,
    sunk,
)
from workbook.checks.behaviour.unchanged import GET
from workbook.servers.client import Await, Client, exchange
from workbook.servers.process import Server

HELD = 11  # the last level at which a body is held until it is complete
TOO_LITTLE = 8 * MIB  # too little for the longest body
LITTLE = 4 * MIB
SOME = 200
TEN_BYTES = post(b"x" * 10, fields=HOST, length=b"%d" % MAX_BODY)
FOR_SOME = 64 * MIB  # enough for some of the bodies, but not for all
MANY = 400
NEIGHBOURS = 40  # enough that every worker has some of them
# stops glibc from reserving 64 MiB for each thread that allocates
NO_STOCK = {"MALLOC_ARENA_MAX": "1"}
SANITIZED = 1 << 40  # bytes of address space; only a build with a sanitizer uses that much
UNAVAILABLE = b"HTTP/1.1 503 "


def cases() -> Iterator[Case]:
    body = f"{MAX_BODY // MIB} MiB"
    yield alone("one-body-too-large", "RFC 9110 §15.6.4 (ours)",
                f"{NEIGHBOURS} clients get the page; from then on the server may take "
                f"{TOO_LITTLE // MIB} MiB more than it has; one posts {body}, then another asks "
                "for the page",
                "503 and the end for the one, the page for the other", one_body_too_large,
                until=HELD, environment=NO_STOCK)
    yield alone("many-bodies", "RFC 9110 §15.6.4 (ours)",
                f"{NEIGHBOURS} clients get the page and stay; from then on the server may take "
                f"{FOR_SOME // MIB} MiB more than it has; {MANY} announce {body} and send ten "
                "bytes; the first and as many new ones ask for the page; SIGTERM",
                "503 and the end for those whose bodies there is no memory for, the page for their "
                "neighbours; the server ends with 0", many_bodies, level=5, until=HELD,
                environment=NO_STOCK)
    yield alone("bodies-without-memory", "RFC 9110 §15.6.4 (ours)",
                f"{NEIGHBOURS} clients get the page and stay; from then on the server may take "
                f"{LITTLE // MIB} MiB more than it has; {SOME} announce {body} for /echo and send "
                f"ten bytes; then one sends {body} to /sink, and another asks for the page",
                "each of them is served: what passes through needs no memory",
                bodies_without_memory, level=HELD + 1, environment=NO_STOCK)
    yield alone("memory-runs-out-in-answers", "RFC 9112 §8, §9.2 (ours)",
                f"the server may take {LITTLE // MIB} MiB more than it has; {SOME} clients have ten "
                f"bytes of their bodies back from /echo, then send more and do not read",
                "some are cut off; none of them finds another answer, such as 503, within the one "
                "that has begun; another client is served", memory_runs_out_in_answers,
                level=HELD + 1, environment=NO_STOCK)


def may_grow_by(server: Server, size: int, hard: int | None = None) -> None:
    """Limit the server's address space to its current size plus `size` bytes; permanently, unless
    `hard` sets a different hard limit.
    """
    if not hasattr(resource, "prlimit"):
        raise Unable("only Linux limits the memory of a program that runs")
    limit = server.address_space() + size
    if limit > SANITIZED:
        raise Unable("a sanitizer takes more address space than can be limited")
    resource.prlimit(server.pid, resource.RLIMIT_AS, (limit, limit if hard is None else hard))


@contextmanager
def no_more_memory(server: Server) -> Iterator[None]:
    """The server's address space cannot grow within the block."""
    if not hasattr(resource, "prlimit"):
        raise Unable("only Linux limits the memory of a program that runs")
    usual = resource.prlimit(server.pid, resource.RLIMIT_AS)
    may_grow_by(server, 0, hard=usual[1])
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_AS, usual)


def one_body_too_large(server: Server) -> None:
    address = server.host, server.port
    for _ in range(NEIGHBOURS):
        exchange(address, (get(),), TIMEOUT_S)
    may_grow_by(server, TOO_LITTLE)
    with connected(server, 2) as (large, other):
        large.perform((post(bytes(MAX_BODY)),))
        received = large.finish()
        large.close()
        if not received.data.startswith(UNAVAILABLE) or received.end != "closed":
            raise Unmet(f"the one got {received.data[:40]!r}; then the connection was "
                        f"{'still open' if received.end == 'timeout' else received.end}")
        other.perform((get(),))
        if other.finish().data != PAGE_ANSWER:
            raise Unmet("the other did not get the page")


def many_bodies(server: Server) -> None:
    with connected(server, NEIGHBOURS) as served, connected(server, MANY) as many:
        have_the_page(served)
        may_grow_by(server, FOR_SOME)
        for client in many:
            client.perform((post(bytes(10), length=b"%d" % MAX_BODY),))
        for client in served:
            client.perform((GET[0], Await(2 * GET[1])))
        with connected(server, NEIGHBOURS) as new:
            have_the_page(new)
        if late := sum(client.ended for client in served):
            raise Unmet(f"{late} of {NEIGHBOURS} clients that had been served were not any more")
        refused = sum(map(is_refused, many))
        if not refused:
            raise Unmet(f"none of the {MANY} was refused, though {FOR_SOME // MIB} MiB do not do")
        server.ask_to_stop()
        must_end(server)


def bodies_without_memory(server: Server) -> None:
    with connected(server, NEIGHBOURS) as served, connected(server, SOME) as many:
        have_the_page(served)
        have_the_page(many)
        may_grow_by(server, LITTLE)
        for client in many:
            client.perform((TEN_BYTES, Await(b"x" * 10)))
            if client.ended:
                raise Unmet("one of those that had sent ten bytes did not get them back")
        with connected(server, 2) as (large, other):
            large.perform((post(bytes(MAX_BODY), b"/sink"),))
            if large.finish().data != sunk(MAX_BODY):
                raise Unmet(f"the one that sent all of its body got {large.received().data[:40]!r}")
            have_the_page([other])


def memory_runs_out_in_answers(server: Server) -> None:
    """A client's unread answers are held, piece by piece, until memory runs out."""
    with connected(server, SOME, narrow=True) as many:
        for client in many:
            client.perform((TEN_BYTES, Await(b"x" * 10)))
        may_grow_by(server, LITTLE)
        for client in many:
            client.offer(b"x" * 4 * MIB, 0.002)
        for client in many:
            client.receive_for(0.002)
            if UNAVAILABLE in client.received().raw:
                raise Wrong("an answer that had begun has another one within")
        with connected(server, 1) as (other,):
            many[0].close()
            have_the_page([other])


def is_refused(client: Client) -> bool:
    """Returns whether the client has been refused by now; raises Unmet if it was without an answer.
    """
    client.receive()
    received = client.received().data
    if received and not received.startswith(UNAVAILABLE) or client.ended and not received:
        raise Unmet(f"one of those whose bodies were too many got {received[:40]!r}")
    return bool(received)


CHECKS = (group("exhaustion", "bodies when memory runs out", cases),)
