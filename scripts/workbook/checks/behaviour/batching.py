"""Answers that are sent together, and servers to which the kernel refuses that."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workbook.checks.behaviour import start
from workbook.checks.behaviour.alone import alone, connected
from workbook.checks.behaviour.buffered import BUFFER, MORE_BUDGET, limited
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import Case, Unable, Unmet, noise
from workbook.checks.behaviour.unchanged import GET, Exchange, chain, echo
from workbook.machine import needs
from workbook.servers.client import Await, Client, Vanish
from workbook.servers.process import Server

CROWD = 150  # clients: more than one call of io_uring_enter(2) serves
FEW = 20
ENOUGH_S = 40.0  # for a whole case, also on a busy machine
PIECE = 32 * 1024  # bytes
PIECES = 40  # of an echo: more than the sockets of a client that doesn't read hold


def cases() -> Iterator[Case]:
    one_worker: dict[str, Any] = {"arguments": ("--threads", "1")}
    yield alone("each-its-own-answer", "send(2), io_uring_enter(2)",
                f"the server is suspended while {CROWD} clients send it different bytes, and "
                "resumed, three times", "each gets its own bytes back", each_its_own, **one_worker)
    yield alone("several-answers-each", "io_uring_enter(2); RFC 9112 §9.3.2 (MUST)",
                f"the server is suspended while {CROWD} clients pipeline different requests, and "
                "resumed", "each gets its own answers, in order", several_each, **one_worker)
    yield alone("after-clients-that-reset", "send(2), EPIPE, ECONNRESET",
                f"the server is suspended while {CROWD} clients send requests, and every second "
                "one then resets its connection", "the others get their answers, and so do new "
                "clients", after_resets, **one_worker)
    yield alone("next-to-full-sockets", "send(2), EAGAIN",
                f"{FEW} clients send {PIECES * PIECE // 1024} KiB to be echoed, and don't read; "
                f"{FEW} others send a request each time; then all read",
                "each gets all of its answers, in order", next_to_full_sockets, **one_worker)
    yield alone("in-small-buffers", "RFC 9110 §15.6.4 (ours)",
                f"the server may lend {MORE_BUDGET // BUFFER} buffers; it's suspended while {CROWD} clients send "
                "it different bytes, and resumed, three times", "each gets its own bytes back",
                each_its_own, arguments=limited(MORE_BUDGET))


def each_its_own(server: Server) -> None:
    with connected(server, CROWD, timeout_s=ENOUGH_S) as clients:
        _together(server, clients, [[GET] for _ in clients])
        received = [GET[1] for _ in clients]
        for turn in range(3):
            asked = [[echo(b"%d, %d, " % (turn, number) * (1 + number % 50))]
                     for number in range(CROWD)]
            _together(server, clients, asked, received)
            received = [before + chain(*exchanges)[1]
                        for before, exchanges in zip(received, asked, strict=True)]


def several_each(server: Server) -> None:
    with connected(server, CROWD, timeout_s=ENOUGH_S) as clients:
        _together(server, clients, [
            [GET, *(echo(b"%d" % number * count) for count in range(1, 40)), GET]
            for number in range(CROWD)])


def after_resets(server: Server) -> None:
    with connected(server, CROWD, timeout_s=ENOUGH_S) as clients:
        _together(server, clients, [[GET] for _ in clients])
        with server.held():
            for client in clients:
                client.perform((GET[0],))
            for client in clients[::2]:
                client.perform((Vanish(),))
        for client in clients[1::2]:
            _must_have(client, 2 * GET[1])
    with connected(server, FEW, timeout_s=ENOUGH_S) as clients:
        _together(server, clients, [[GET] for _ in clients])


def next_to_full_sockets(server: Server) -> None:
    """What is sent is less than the server keeps for a client that doesn't read, plus what the
    sockets hold.
    """
    bodies = [noise(PIECES * PIECE + number) for number in range(FEW)]
    with connected(server, FEW, narrow=True, timeout_s=ENOUGH_S) as slow, \
            connected(server, FEW, timeout_s=ENOUGH_S) as others:
        slow_asked = [echo(body) for body in bodies]
        left = [memoryview(sent) for sent, _ in slow_asked]
        expected = b""
        while any(left):
            with server.held():
                for number, client in enumerate(slow):
                    left[number] = left[number][client.offer(left[number][:PIECE], 0):]
                for client in others:
                    client.perform((GET[0],))
            expected += GET[1]
            for client in others:
                _must_have(client, expected)
            if len(expected) > 2 * PIECES * len(GET[1]):
                break
        for client, rest, (_, answer) in zip(slow, left, slow_asked, strict=True):
            client.perform((bytes(rest),))
            _must_have(client, answer)


def refused() -> Iterator[Case]:
    everyone = f"{FEW} clients are answered at once, and one line on stderr names the cause"
    for error in ("ENOSYS", "EPERM", "ENOMEM", "EMFILE"):
        yield alone(f"setup-fails-with-{error.lower()}", f"io_uring_setup(2), {error}",
                    f"every io_uring_setup fails with {error}", everyone,
                    partial(without_ring, inject=f"io_uring_setup:error={error}", error=error))
    yield alone("setup-fails-for-the-second-worker", "io_uring_setup(2), ENOMEM",
                "the second io_uring_setup fails with ENOMEM", everyone,
                partial(without_ring, inject="io_uring_setup:error=ENOMEM:when=2",
                        error="ENOMEM"))
    yield alone("probe-fails", "io_uring_register(2), IORING_REGISTER_PROBE",
                "every io_uring_register fails with EINVAL, as before Linux 5.6", everyone,
                partial(without_ring, inject="io_uring_register:error=EINVAL", error="ENOSYS"))
    yield alone("probe-forbidden", "io_uring_register(2), EPERM",
                "every io_uring_register fails with EPERM", everyone,
                partial(without_ring, inject="io_uring_register:error=EPERM", error="EPERM"))
    yield alone("refused-later", "io_uring_enter(2), EPERM (ours)",
                "every io_uring_enter after the first two fails with EPERM",
                f"{FEW} clients are answered at once, ten times; it is called once more, and one "
                "line on stderr names the cause", partial(refused_later, error="EPERM", when="3+"))
    yield alone("out-of-memory-for-a-while", "io_uring_enter(2), EAGAIN",
                "the first two io_uring_enter fail with EAGAIN",
                f"{FEW} clients are answered at once, ten times; io_uring_enter is called again",
                partial(refused_later, error="EAGAIN", when="1..2"))
    yield alone("interrupted", "io_uring_enter(2), EINTR; signal(7)",
                "the first two io_uring_enter fail with EINTR",
                f"{FEW} clients are answered at once, ten times; io_uring_enter is called again",
                partial(refused_later, error="EINTR", when="1..2"))


def without_ring(server: Server, inject: str, error: str) -> None:
    _must_have_io_uring(server)
    with start.traced(server, inject.partition(":")[0], "--threads", "2", log="/dev/null",
                      options=("-e", f"inject={inject}")) as other:
        _serves(other)
        lines = [line for line in other.stderr.splitlines() if "io_uring" in line]
    _must_name(lines, error)


def refused_later(server: Server, error: str, when: str) -> None:
    _must_have_io_uring(server)
    with TemporaryDirectory() as folder:
        log = Path(folder, "calls")
        with start.traced(server, "io_uring_enter", "--threads", "1", log=str(log),
                          options=("-e", f"inject=io_uring_enter:error={error}:when={when}"),
                          ) as other:
            _serves(other, turns=10)
            lines = [line for line in other.stderr.splitlines() if "io_uring" in line]
        calls = log.read_text()
    refusals = calls.count(f" = -1 {error}")
    if error == "EPERM":
        _must_name(lines, error)
        if refusals != 1:
            raise Unmet(f"io_uring_enter was refused {refusals} times")
        return
    if lines:
        raise Unmet(f"stderr has: {lines[0]}")
    if not re.search(r"io_uring_enter\(.* = [1-9]", calls.rpartition(f" = -1 {error}")[2]):
        raise Unmet(f"io_uring_enter is not called again after {error}")


def _must_name(lines: Sequence[str], error: str) -> None:
    """One line has to name the error."""
    cause = os.strerror(getattr(errno, error))
    if len(lines) != 1 or cause not in lines[0]:
        raise Unmet(f"instead of one line with “{cause}”, stderr has {len(lines)}: "
                    f"{' | '.join(lines)}")


def _must_have_io_uring(server: Server) -> None:
    if reason := needs.without_io_uring():
        raise Unable(reason)
    if b"kevent" in Path(server.command[0]).read_bytes():
        raise Unable("this server waits with kqueue, so it has no ring")


def _serves(server: Server, turns: int = 1) -> None:
    """The answers become shorter from turn to turn, so that one of an earlier turn would show."""
    with connected(server, FEW, timeout_s=ENOUGH_S) as clients:
        received = [b"" for _ in clients]
        for turn in range(1 + turns):
            asked = [[echo(b"%d, %d, " % (turn, number) * (1 + turns - turn + number))]
                     for number in range(FEW)]
            _together(server, clients, asked, received)
            received = [before + chain(*exchanges)[1]
                        for before, exchanges in zip(received, asked, strict=True)]


def _together(server: Server, clients: Sequence[Client], asked: Sequence[Sequence[Exchange]],
              received: Sequence[bytes] = ()) -> None:
    """Each client sends its requests while the server is suspended, then must have its answers
    after those that it has received.
    """
    with server.held():
        for client, exchanges in zip(clients, asked, strict=True):
            client.perform((chain(*exchanges)[0],))
    for number, (client, exchanges) in enumerate(zip(clients, asked, strict=True)):
        _must_have(client, (received[number] if received else b"") + chain(*exchanges)[1])


def _must_have(client: Client, expected: bytes) -> None:
    client.perform((Await(expected),))
    if (got := client.received().data) == expected:
        return
    if client.ended and expected.startswith(got):
        raise Unmet(f"a client got {len(got)} of {len(expected)} bytes")
    raise Unmet("a client got bytes that are not its own")


CHECKS = (
    group("batching", "answers that are sent together", cases, level=16),
    group("without-ring", "a kernel that refuses io_uring", refused, level=16),
)
