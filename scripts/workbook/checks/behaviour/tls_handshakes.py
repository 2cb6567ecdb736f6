"""Handshakes that are late, cut off, too many or never begun: what they may cost, and what they
leave behind; and what TLS costs while nothing happens.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.checks.behaviour.alone import TIMEOUT_S, alone, must_be_idle, must_be_plain
from workbook.checks.behaviour.deadlines import EARLY_S, Limits
from workbook.checks.behaviour.log import stop, until
from workbook.checks.behaviour.log_lines import read
from workbook.checks.behaviour.memory import CLIENTS, FIRST, MINIMUM, ROUNDS, left_over
from workbook.checks.behaviour.rows import HOST, MIB, PAGE_ANSWER, Case, Unmet, get, noise, post
from workbook.checks.behaviour.tls_clients import (
    HALF,
    VERSIONS,
    a_client,
    connection,
    hello_record,
    in_records,
    is_served,
    must_be,
    must_have,
    of,
    raw,
    secured,
)
from workbook.checks.behaviour.unchanged import GET, LAST
from workbook.servers import heads
from workbook.servers.client import Await, HalfClose, Pause, Step
from workbook.servers.process import Server

OLD = {"1.0": b"\3\1", "1.1": b"\3\2"}
# The kernel buffers the first answer, but not the second, all of whose records are then pending.
UNREAD = (50_000, 112_000)
PLAIN = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
FAILED, FEW_DESCRIPTORS = 100, 64
FLOOD = 200


def cases() -> Iterator[Case]:
    yield from handshakes()
    yield from when_idle()
    yield from leftovers()


def without_tls() -> Iterator[Case]:
    yield alone("plain-http", "RFC 9112 §9.7 (ours)", "a client sends a request without TLS",
                "400 without TLS, and the end", plain_http)
    yield alone("plain-http-date", "RFC 9110 §6.6.1 (MUST)",
                "a client sends a request without TLS, and another one does so six seconds later",
                "400 with the Date, twice", plain_http_date)
    yield alone("garbage", "RFC 8446 §5, §5.1 (MUST)", "a client sends bytes that are no record",
                "the end", garbage)


def handshakes() -> Iterator[Case]:
    for what, does, sent in [("not-started", "connects and is silent", b""),
                             ("incomplete", "stops in its first record", HALF)]:
        yield alone(f"handshake-{what}", "the chapter's page",
                    f"the head limit is a second, the others a minute; a client {does}",
                    "it is cut off when its time is over, and not before",
                    partial(half_handshake, sent=sent))
    yield alone("handshake-byte-by-byte", "the chapter's page",
                "the same; a client sends its handshake, a byte four times a second",
                "it is cut off when its time is over, and not before", handshake_byte_by_byte)
    yield alone("handshake-in-time", "the chapter's page",
                "the head limit is a second; a client completes its handshake, is silent for "
                "longer, and asks", "the page", handshake_in_time)
    yield alone("one-client-too-many", "RFC 9110 §15.6.4 (ours)",
                "the server is started with --max-clients 2; "
                "two are served, a third connects; one of the two leaves, a fourth connects",
                "the end without a byte for the third, logged without a status; "
                "the page for the fourth", one_too_many)
    yield alone("handshake-flood", "the chapter's page",
                f"while the server sleeps, {FLOOD} clients send the first of a handshake, and then "
                "an established client a request", "which is answered before half of them", flood)


def unread() -> Iterator[Case]:
    yield alone("unread-answer", "the chapter's page",
                f"the progress limit is a second; a client asks for files of {UNREAD[0]:,} and "
                f"{UNREAD[1]:,} bytes, and reads nothing", "it is cut off when its time is over",
                answer_unread)


def when_idle() -> Iterator[Case]:
    unread = (post(noise(MIB)), Await(b"200 OK"))
    for what, does, steps in [
        ("after-handshake", "has completed its handshake", ()),
        ("between-requests", "has had an answer", (GET[0], Await(GET[1]))),
        ("unread-answer", "does not read its answer, of 1 MiB", unread),
        ("unread-answer-after-close-notify", "does not read its answer, and has sent close_notify",
         (*unread, HalfClose())),
        ("answered-without-closing", "has read its last answer, and does not close",
         (get(), Await(PAGE_ANSWER))),
    ]:
        yield alone(f"idle-{what}", "time(7)", f"a client {does}; then nothing happens",
                    "the server uses no processor", partial(rests, steps=steps))
    yield alone("idle-in-a-handshake", "time(7)", "a client has stopped in its handshake",
                "the server uses no processor", rests_in_a_handshake)
    yield alone("idle-in-a-record", "time(7)", "a client has stopped in a record",
                "the server uses no processor", rests_in_a_record)


def leftovers() -> Iterator[Case]:
    yield alone("failed-handshakes-release-descriptors", "close(2); SSL_free(3)",
                f"the server may have {FEW_DESCRIPTORS} descriptors; {FAILED} handshakes fail in "
                "each of several ways, one after another", "the next client is served",
                failed_give_back)
    for what in FAILURES:
        yield alone(f"memory-after-{what}", "SSL_free(3)",
                    f"{FIRST} clients come one after another, each of which {FAILURES[what][0]}; "
                    f"then {CLIENTS} more, and if need be {CLIENTS} again",
                    f"the {CLIENTS} leave less than {MINIMUM} bytes each in the server's memory",
                    partial(memory_after, what=what))


def client_hello(version: bytes) -> bytes:
    """Returns the ClientHello of a client that supports up to this version (RFC 5246 §7.4.1.2)."""
    suites = b"\xc0\x09\xc0\x13\xc0\x0a\xc0\x14\x00\x2f\x00\x35"
    body = version + bytes(range(32)) + b"\0" + bytes([0, len(suites)]) + suites + b"\1\0"
    reported = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16" + min(version, b"\3\1") + len(reported).to_bytes(2, "big") + reported


def plain_http(server: Server) -> None:
    with secured(server) as other:
        for request in (PLAIN, PLAIN.replace(b"GET", b"HEAD"), post(b"x" * 100)):
            came = raw(other, request)
            if not came.startswith(b"HTTP/1.1 400 Bad Request\r\n"):
                raise Unmet(f"{request[:4]!r}: {came[:40]!r} came")
        connection(other, of("1.3"))


def plain_http_date(server: Server) -> None:
    with secured(server) as other:
        for pause_s in (0.0, 2 * heads.CLOCK_S):
            time.sleep(pause_s)
            since = time.time()
            if problem := heads.undated(raw(other, PLAIN), since, time.time()):
                raise Unmet(f"the answer {problem}")


def garbage(server: Server) -> None:
    with secured(server) as other:
        for sent in (noise(1000), b"\0" * 2000, b"\x80\x2e\1\3\1" + bytes(80), b"\x16\3\1\xff\xff"):
            raw(other, sent)
        connection(other, of("1.3"))


def seconds_until_cut_off(server: Server, sent: Iterator[bytes]) -> float:
    started = time.monotonic()
    with socket.create_connection((server.host, server.port), 0.25) as client:
        while time.monotonic() < started + TIMEOUT_S:
            try:
                client.sendall(next(sent, b""))
                if not client.recv(4096):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
    return time.monotonic() - started


def must_be_cut_off(server: Server, sent: Iterator[bytes]) -> None:
    lasted_s = seconds_until_cut_off(server, sent)
    if not EARLY_S <= lasted_s < TIMEOUT_S:
        raise Unmet(f"it was cut off after {lasted_s:.1f} s")


def half_handshake(server: Server, sent: bytes) -> None:
    with secured(server, *Limits(head=1).options()) as other:
        must_be_cut_off(other, iter([sent]))


def handshake_byte_by_byte(server: Server) -> None:
    with secured(server, *Limits(head=1).options()) as other:
        must_be_cut_off(other, iter([HALF[i:i + 1] for i in range(len(HALF))]))


def handshake_in_time(server: Server) -> None:
    with secured(server, *Limits(head=1).options()) as other, a_client(other) as client:
        client.perform((Pause(3.2), LAST[0]))
        must_be(client, client.finish(), LAST[1])


def one_too_many(server: Server) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "access.log")
        with secured(server, "--max-clients", "2", "--access-log", str(file)) as other:
            with a_client(other) as one, a_client(other) as two:
                for client in (one, two):
                    client.perform((GET[0], Await(GET[1])))
                must_have(raw(other, b""), b"", "what came for the third")
                two.close()
                until(lambda: is_served(other),
                      "no client was served instead of the disconnected one")
                one.perform((LAST[0],))
                must_be(one, one.finish(), GET[1] + LAST[1])
            stop(other)
            reported = {line.status for line in read(file) if line.request is None}
    must_have(reported, {None}, "the status in the lines of the rejected clients")


def answer_unread(server: Server) -> None:
    first, last = map(noise, UNREAD)
    with TemporaryDirectory() as root:
        Path(root, "first.bin").write_bytes(first)
        Path(root, "last.bin").write_bytes(last)
        with secured(server, "--root", root, *Limits(progress=1).options()) as other:
            with a_client(other, narrow=True) as client:
                client.perform((get(b"/first.bin", HOST) + get(b"/last.bin", HOST), Pause(3.2)))
                if client.finish().data.endswith(last):
                    raise Unmet("all of it came when its time was long over")


def flood(server: Server) -> None:
    """The server is suspended until all have sent, and again once the one has its answer."""
    first = hello_record()
    with secured(server, "--threads", "1") as other, a_client(other) as known, ExitStack() as stack:
        known.perform((GET[0], Await(GET[1])))
        others = [stack.enter_context(socket.create_connection((other.host, other.port)))
                  for _ in range(FLOOD)]
        connection(other, of("1.3"))  # so that all have been accepted
        os.kill(other.pid, signal.SIGSTOP)
        try:
            for one in others:
                one.sendall(first)
            known.perform((GET[0],))
            os.kill(other.pid, signal.SIGCONT)
            known.perform((Await(2 * GET[1]),))
            os.kill(other.pid, signal.SIGSTOP)
            answered = sum(has_arrived(one) for one in others)
        finally:
            os.kill(other.pid, signal.SIGCONT)
        if known.ended:
            raise Unmet("the one was not answered")
        if answered >= FLOOD / 2:
            raise Unmet(f"{answered} of {FLOOD} were answered first")
        for one in others:
            one.settimeout(TIMEOUT_S)
            if not one.recv(1):
                raise Unmet("one of them had no answer at all")


def has_arrived(client: socket.socket) -> bool:
    poller = select.poll()  # select(2) supports only the first thousand descriptors
    poller.register(client, select.POLLIN)
    return bool(poller.poll(0))


def rests(server: Server, steps: tuple[Step, ...]) -> None:
    with secured(server) as other:
        for name in VERSIONS:
            with a_client(other, of(name), narrow=True) as client:
                client.perform(steps)
                must_be_idle(other)
                if client.ended:
                    raise Unmet(f"the end was: {client.received().end}")


def rests_in_a_handshake(server: Server) -> None:
    with secured(server) as other, ExitStack() as stack:
        for sent in (b"", HALF, hello_record()):
            client = stack.enter_context(socket.create_connection((other.host, other.port)))
            client.sendall(sent)
        must_be_idle(other)


def rests_in_a_record(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        remainder = in_records(client, [GET[0], LAST[0]], keep=9)
        must_be_idle(other)
        assert client.secure
        client.secure.send_sealed(remainder, time.monotonic() + TIMEOUT_S)
        must_be(client, client.finish(), GET[1] + LAST[1])


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def answered_and_reset(client: socket.socket) -> None:
    client.recv(1)
    reset(client)


def fail(server: Server, sent: bytes, then: Callable[[socket.socket], None]) -> None:
    with socket.create_connection((server.host, server.port), TIMEOUT_S) as client:
        with suppress(ConnectionError):
            client.sendall(sent)
            then(client)


def until_the_end(client: socket.socket) -> None:
    while client.recv(4096):
        pass


Failure = tuple[str, Callable[[], bytes], Callable[[socket.socket], None]]
FAILURES: dict[str, Failure] = {
    "plain-http": ("speaks plain HTTP", lambda: PLAIN, until_the_end),
    "an-old-version": ("speaks TLS 1.0", lambda: client_hello(OLD["1.0"]), until_the_end),
    "incomplete-hello": ("leaves in its first record", lambda: HALF, lambda _: None),
    "a-reset": ("resets its connection in its first record", lambda: HALF, reset),
    "incomplete-handshake": ("resets its connection in the middle of the handshake", hello_record,
                         answered_and_reset),
}


def failed_give_back(server: Server) -> None:
    with secured(server, few_descriptors=FEW_DESCRIPTORS) as other:
        for does, sent, then in FAILURES.values():
            first = sent()
            for _ in range(FAILED):
                fail(other, first, then)
            try:
                connection(other, of("1.3"))
            except Unmet as problem:
                raise Unmet(f"after {FAILED} clients each of which {does}: {problem}") from None


def memory_after(server: Server, what: str) -> None:
    _, sent, then = FAILURES[what]
    with secured(server) as other:
        must_be_plain(other)
        first = sent()
        for _ in range(FIRST):
            fail(other, first, then)
        for _ in range(ROUNDS):
            before = other.own_bytes()
            for _ in range(CLIENTS):
                fail(other, first, then)
            left = left_over(other, before, CLIENTS * MINIMUM) / CLIENTS
            if left < MINIMUM:
                return
    raise Unmet(f"each left {left:,.0f} bytes behind")
