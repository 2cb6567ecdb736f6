"""The echo that chapter 5 begins with: one loop, one thread, many clients, and no HTTP.

It's a separate program next to the server, and no longer exists once its loop has become the
worker.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from workbook.checks.behaviour import judge as behaviour
from workbook.checks.behaviour.alone import alone, connected, must_be_idle, must_end
from workbook.checks.behaviour.rows import MIB, Case, Unmet, noise
from workbook.checks.model import RELEASE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.servers.client import Client, HalfClose, Sip, Vanish
from workbook.servers.process import Server, running

PROGRAM = "echo"
LEVEL = 5  # the only level at which it exists
CLIENTS = 100
FLOOD = 64 * MIB
GROWTH = 16 * MIB  # far more than one client needs, far less than the flood
LATE = 30
AT_ONCE_S = 1.5  # waiting a fifth of a second for each of them would take much longer
QUIET_S = 0.5  # a socket that accepts nothing for this long is full
OTHER = "the other client"


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    """Judges the echo program if there is one; a chapter that has turned it into a worker has none.
    """
    program = subject.builds[RELEASE].with_name(PROGRAM)
    if not (subject.source / "echo.cpp").exists():
        yield from (Verdict(check.name, "info", "there is no echo.cpp any more")
                    for check in wanted)
    elif problem := _problem(program):
        yield from (Verdict(check.name, "fail", problem.splitlines()[0], problem)
                    for check in wanted)
    else:
        yield from behaviour.run(subject, wanted, program, level=0)


def _problem(program: Path) -> str:
    """Returns why the program can't be tested; empty if it can."""
    if not program.exists():
        return "CMakeLists.txt builds no program echo, though there is an echo.cpp"
    try:
        with running(program) as server:
            server.kill()
    except UserError as error:
        return error.message
    return ""


def cases() -> Iterator[Case]:
    yield alone("bytes-are-echoed", "RFC 862 (ours)",
                "a client sends 5 bytes, then 100 kB of any, and reads",
                "the same bytes", bytes_are_echoed)
    yield alone("two-clients-alternating", "epoll(7)",
                "two clients are connected, and send a byte each in turn",
                "each gets its own bytes, while the other stays", two_in_sequence)
    yield alone("late-reader", "send(2), EAGAIN",
                "a client sends 1 MiB and does not read, until another has had its bytes back",
                "the other is served meanwhile; then all of the 1 MiB comes back, and the server "
                "uses no processor", late_reader)
    yield alone("late-readers", "fcntl(2), O_NONBLOCK",
                f"{LATE} clients send what they can of 1 MiB each and do not read; then another "
                "sends 5 bytes",
                f"it has them back at once ({AT_ONCE_S:g} s are allowed): not even for a moment is "
                "any of the others waited for", late_readers)
    yield alone("never-reads", "tcp(7)",
                f"a client sends all that it can of {FLOOD // MIB} MiB, and reads nothing",
                f"the server takes no more than it sends on: it grows by less than {GROWTH // MIB} "
                "MiB, uses no processor while it can do nothing, and serves another client",
                never_reads)
    yield alone("half-close", "shutdown(2)",
                "a client sends 1 MiB, half-closes, and then reads slowly",
                "all bytes, then the end", half_close)
    yield alone("clients-that-reset", "signal(7), SIGPIPE",
                "clients reset their connections: at once, after up to 1 MiB of which they read "
                "nothing, and after saying that they have sent all; then another one comes",
                "the other is served, and the disconnected ones cost nothing", resets)
    yield alone("a-hundred-clients", "epoll(7)",
                f"{CLIENTS} clients are connected at once, and each sends something else",
                "each gets its own bytes, all from one thread", a_hundred)
    yield alone("idle-clients", "epoll_wait(2)",
                "of twenty clients that had their bytes back, half go and half stay silent",
                "the server uses no processor", nothing_to_do)
    for name in ("SIGTERM", "SIGINT"):
        yield alone(name.lower(), "signal(7)", f"a client has its bytes back and stays; {name}",
                    "the server ends with 0", partial(stops, name=name))


def bytes_are_echoed(server: Server) -> None:
    with connected(server, 1) as (client,):
        for sent in (b"hello", noise(100_000)):
            must_be_echoed(client, sent)


def must_be_echoed(client: Client, sent: bytes, whose: str = "a client") -> None:
    """The client must get `sent` echoed; it must have received everything it was sent before."""
    had = len(client.received().data)
    client.perform((sent,))
    client.receive_in_all(had + len(sent))
    must_be(client.received().data[had:], sent, whose)


def must_be(came: bytes, sent: bytes, whose: str = "a client") -> None:
    if came == sent:
        return
    if len(came) < len(sent) and sent.startswith(came):
        raise Unmet(f"{len(came):,} of the {len(sent):,} bytes of {whose} came back")
    same = next((i for i, (a, b) in enumerate(zip(came, sent, strict=False)) if a != b),
                min(len(came), len(sent)))
    raise Unmet(f"{len(sent):,} bytes of {whose} were sent, and what came back differs from byte "
                f"{same:,} on")


def two_in_sequence(server: Server) -> None:
    with connected(server, 2) as (one, other):
        for byte in range(20):
            must_be_echoed(one, bytes([byte]), "the first client")
            must_be_echoed(other, bytes([255 - byte]), "the second client")


def late_reader(server: Server) -> None:
    sent = noise(MIB)
    with connected(server, 1, narrow=True) as (late,), connected(server, 1) as (other,):
        taken = late.offer(sent, QUIET_S)
        must_be_echoed(other, noise(50_000), OTHER)
        late.perform((sent[taken:],))
        late.receive_in_all(len(sent))
        must_be(late.received().data, sent)
        must_be_idle(server)


def late_readers(server: Server) -> None:
    with connected(server, LATE, narrow=True) as clients, connected(server, 1) as (other,):
        for client in clients:
            client.offer(noise(MIB), 0.01)
        time.sleep(0.2)  # by then it is working for all of them
        started = time.monotonic()
        must_be_echoed(other, b"hello", OTHER)
        waited_s = time.monotonic() - started
    if waited_s > AT_ONCE_S:
        raise Unmet(f"{OTHER} had to wait {waited_s:.1f} s for its bytes")


def never_reads(server: Server) -> None:
    with connected(server, 2) as (greedy, other):
        must_be_echoed(other, b"hello", OTHER)
        before = server.resident_bytes()
        taken = greedy.offer(bytes(FLOOD), QUIET_S)
        grown = server.resident_bytes() - before
        if grown > GROWTH:
            raise Unmet(f"it took {taken // MIB} MiB from a client that reads nothing, and grew by "
                        f"{grown // MIB} MiB")
        must_be_idle(server)
        must_be_echoed(other, b"hello", OTHER)


def half_close(server: Server) -> None:
    sent = noise(MIB)
    with connected(server, 1, narrow=True) as (client,):
        client.perform((sent, HalfClose(), Sip(4096, 0.001)))
        received = client.finish()
        must_be(received.data, sent)
        if received.end != "closed":
            raise Unmet("all bytes came back, and then no end: the connection was "
                        + ("still open" if received.end == "timeout" else received.end))


def resets(server: Server) -> None:
    """Sending after a reset is an error, and raises SIGPIPE, too, if the client had sent
    everything.
    """
    # One of these sizes is more than a single read returns.
    sizes = (0, *(30_000 * n for n in range(1, 12)), MIB)
    for size, before in product(sizes * 6, ((), (HalfClose(),))):
        with connected(server, 1, narrow=True) as (client,):
            client.offer(noise(size), 0.02)
            client.perform((*before, Vanish()))
    with connected(server, 1) as (other,):
        must_be_echoed(other, b"hello", OTHER)
        must_be_idle(server)


def a_hundred(server: Server) -> None:
    with connected(server, CLIENTS) as clients:
        output = [b"client %d" % number for number in range(CLIENTS)]
        for client, text in zip(clients, output, strict=True):
            client.perform((text,))
        for client, text in zip(clients, output, strict=True):
            client.receive_in_all(len(text))
            must_be(client.received().data, text)
        if (threads := server.threads()) != 1:
            raise Unmet(f"all were served, by {threads} threads")


def nothing_to_do(server: Server) -> None:
    with connected(server, 20) as clients:
        for client in clients:
            must_be_echoed(client, b"hello")
        for client in clients[:10]:
            client.close()
        must_be_idle(server)


def stops(server: Server, name: str) -> None:
    with connected(server, 1) as (client,):
        must_be_echoed(client, b"hello")
        os.kill(server.pid, signal.Signals[name])
        must_end(server, name)


CHECKS = (replace(behaviour.group("echo", "an event loop that only echoes", cases, level=LEVEL),
                  judge=judge, until=LEVEL, program=PROGRAM),)
