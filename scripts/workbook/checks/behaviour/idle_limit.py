"""Servers that serve one client after another disconnect one that is idle for ten seconds, but not
one that is only slow. These limits have no option, so the cases run for their full time, in
parallel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise

import psutil

from workbook.checks.behaviour.alone import TIMEOUT_S, alone, connected
from workbook.checks.behaviour.deadlines import CLOSING, SUSTAINING, lingers
from workbook.checks.behaviour.idle_cpu import wait_until_sent
from workbook.checks.behaviour.rows import MAX_BODY, MIB, Case, Unmet, Wrong, echoed, noise, post
from workbook.servers.client import Client, Pause, Received, Step, exchange
from workbook.servers.process import Server

LIMIT_S = 10
LINGER_S = 2
# A server counts waits of 200 ms, each of which takes longer while other programs use the
# processor. At a load of 23, 18 s in total were not enough.
BUSY_S = 25.0
EARLY_S = 9.0  # an earlier disconnection has another cause
PAUSE = Pause(3.9)
PAUSES = 3  # together longer than the limit
SLACK_S = LIMIT_S - PAUSE.seconds - 1  # how much longer the pauses may take in total
TOTAL_S = PAUSES * PAUSE.seconds
# A full socket accepts more when a third of what it holds has been sent; on Linux it holds up to 4
# MiB (tcp_wmem in tcp(7)). Three bursts plus that are less than the largest body.
BURST = 1_800_000
LONG_S = 8.0  # after such a gap a correct server may have met its limit on a busy machine
RECEIVED = 1 << 18  # bytes of receive buffer, which would otherwise grow while the client reads
FAST_LEVEL = 3  # the first level whose starter sends more than a byte per call
POLL_S = 0.2
ACCEPT_S = 20.0  # the server does nothing else, so only a busy machine delays it
LAST_LEVEL = 4  # the last level at which a thread serves one client at a time


def cases() -> Iterator[Case]:
    body = noise(1000)
    pauses = f"{PAUSES} times, {PAUSE.seconds:g} s apart"
    slow: list[tuple[str, str, Callable[[Server], None], int]] = [
        ("head-in-slow-pieces", f"sends a byte of its head {pauses}, then the rest",
         partial(stays, steps=slowly(post(body)), expect=echoed(body)), 1),
        ("body-in-slow-pieces", f"sends a byte of its body {pauses}, then the rest",
         partial(stays, steps=(post(b"", length=b"1000"), *slowly(body)), expect=echoed(body)), 1),
        ("answer-read-in-bursts", f"reads {BURST / 1e6:g} MB of its answer, of {MAX_BODY // MIB} "
         f"MiB, {pauses}, then the rest", reads_in_bursts, FAST_LEVEL),
    ]
    for what, does, perform, level in slow:
        yield _waiting(what, SUSTAINING, does, "the answer: each wait is shorter than the limit of "
                       f"{LIMIT_S} s", perform, level)
    for what, does, steps in [
        ("silent-after-connect", "connects and is silent", ()),
        ("silent-in-a-body", "stops in its body", (post(body[:-1], length=b"1000"),)),
        ("answer-never-read", "does not read its answer, of 1 MiB", (post(noise(MIB)),)),
    ]:
        yield _waiting(what, CLOSING, does, f"it is cut off when it has been idle for {LIMIT_S} s, "
                       f"at most {BUSY_S:g} s later", partial(cut_off, steps=steps))
    yield _waiting("lingers-byte-by-byte", CLOSING, "sends a bad request, reads 400 and the end, "
                   "and goes on sending a byte four times a second",
                   f"it is cut off after {LINGER_S} s, at most {TIMEOUT_S - LINGER_S:g} s later",
                   lingers)


def _waiting(what: str, reference: str, does: str, expected: str,
             perform: Callable[[Server], None], level: int = 1) -> Case:
    return alone(what, reference, f"a client {does}", expected, perform, only_waits=True,
                 level=level, until=LAST_LEVEL)


def slowly(data: bytes) -> tuple[Step, ...]:
    """Send the first bytes of `data` singly with a pause after each, then the rest at once."""
    drips = tuple(step for byte in data[:PAUSES] for step in (bytes([byte]), PAUSE))
    return *drips, data[PAUSES:]


def stays(server: Server, steps: tuple[Step, ...], expect: bytes) -> None:
    address, timeout_s = (server.host, server.port), TOTAL_S + TIMEOUT_S
    _must_be_whole(exchange(address, steps, timeout_s), expect)


def reads_in_bursts(server: Server) -> None:
    body = noise(MAX_BODY)
    with connected(server, 1, timeout_s=TOTAL_S + 2 * BUSY_S) as (client,):
        client.hold_at_most(RECEIVED)
        client.perform((post(body),))
        wait_until_sent(client)
        moments = [time.monotonic()]
        for number in range(1, PAUSES + 1):
            client.perform((PAUSE,))
            client.receive_in_all(number * BURST)
            moments.append(time.monotonic())
        received = client.finish()
    if received.data != echoed(body):
        longest = max(end - begin for begin, end in pairwise(moments))
        problem = f"{_incomplete(received, echoed(body))}; it read after {longest:.1f} s at most"
        raise Unmet(problem) if longest > LONG_S or received.end == "timeout" else Wrong(problem)


def _must_be_whole(received: Received, expect: bytes) -> None:
    if received.data == expect:
        return
    problem = _incomplete(received, expect)
    # On a busy machine a pause may have exceeded the limit; the server was right to disconnect.
    if LIMIT_S <= received.seconds < TOTAL_S + SLACK_S and received.end != "timeout":
        raise Wrong(f"{problem}, though no pause was longer than the limit of {LIMIT_S} s")
    raise Unmet(problem)


def _incomplete(received: Received, expect: bytes) -> str:
    end = "still open" if received.end == "timeout" else received.end
    return (f"{len(received.data):,} of {len(expect):,} bytes had come after "
            f"{received.seconds:.1f} s, and the connection was {end}")


def cut_off(server: Server, steps: tuple[Step, ...]) -> None:
    """Measures when the server closes; a client that does not read notices that later."""
    # No limit starts before this, so an early disconnection is wrong on any machine.
    started = time.monotonic()
    with connected(server, 1, narrow=True, timeout_s=LIMIT_S + 3 * BUSY_S) as (client,):
        _wait_until_accepted(server, client)
        client.perform(steps)
        wait_until_sent(client)
        settled = time.monotonic()
        while _serves(server, client):
            time.sleep(POLL_S)
            if time.monotonic() > settled + LIMIT_S + BUSY_S:
                raise Wrong(f"it was not cut off within {LIMIT_S + BUSY_S:g} s")
        lasted_s = time.monotonic() - started
    if lasted_s < EARLY_S:
        raise Wrong(f"it was cut off after {lasted_s:.1f} s")


def _wait_until_accepted(server: Server, client: Client) -> None:
    deadline = time.monotonic() + ACCEPT_S
    while not _serves(server, client):
        if time.monotonic() > deadline:
            raise Unmet(f"it was not accepted within {ACCEPT_S:g} s, or cut off at once")
        time.sleep(POLL_S)


def _serves(server: Server, client: Client) -> bool:
    """Returns whether the server's end of the client's connection is open."""
    with suppress(psutil.Error):
        return any(end.raddr and end.raddr.port == client.local_port
                   for end in psutil.Process(server.pid).net_connections("tcp"))
    return False
