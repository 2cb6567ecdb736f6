"""Whom the event loops wait for, and how long: sixty, thirty, ten seconds are too long for a
reader's check. So all clients of all solutions are watched at the same time, each by a thread.
"""

from __future__ import annotations

import math
import select
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from workbook import build
from workbook.behaviour.kept import GET
from workbook.behaviour.rows import HOST, MAX_BODY, noise, post
from workbook.chapters import all_chapters
from workbook.servers import Server, running

LOOPS = [chapter for chapter in all_chapters() if (chapter.number or 0) >= 5]
WATCHED_S = 37.0  # a head has thirty, and the sweep comes once a second
NEVER = (math.inf, math.inf)

# What a client does: it is asked for the next thing to do until the connection is over.
Behaviour = Callable[[socket.socket], Iterator[None]]


def drips_a_head(client: socket.socket) -> Iterator[None]:
    client.sendall(b"GET / HTTP/1.1\r\nX: ")
    while not over(client):
        client.sendall(b"x")
        yield


def has_always_begun_its_next_head(client: socket.socket) -> Iterator[None]:
    begin, rest = GET[0][:5], GET[0][5:]
    client.sendall(begin)
    while True:
        client.sendall(rest + begin)
        answer = b""
        while len(answer) < len(GET[1]):
            data = client.recv(len(GET[1]) - len(answer))
            if not data:
                return
            answer += data
        assert answer == GET[1]
        time.sleep(0.25)
        yield


def stops_in_a_body(client: socket.socket) -> Iterator[None]:
    client.sendall(post(b"hell", length=b"5"))
    while not over(client):
        yield


def drips_a_body(client: socket.socket) -> Iterator[None]:
    client.sendall(post(b"", length=b"1000"))
    while not over(client, 3.0):
        client.sendall(b"x")
        yield


def reads_no_answer(client: socket.socket) -> Iterator[None]:
    """What it sends after its request is unread when it is closed, which resets it: it is told
    without having read."""
    client.sendall(post(noise(MAX_BODY), fields=HOST) + b"G")
    poller = select.poll()
    poller.register(client, 0)
    while not poller.poll(500):
        yield


def is_idle_after_an_answer(client: socket.socket) -> Iterator[None]:
    client.sendall(GET[0])
    assert client.recv(65_536) == GET[1]
    while not over(client):
        yield


EXPECTED: dict[Behaviour, tuple[float, float]] = {
    drips_a_head: (29, 36),
    has_always_begun_its_next_head: NEVER,
    stops_in_a_body: (9.5, 16),
    drips_a_body: NEVER,
    reads_no_answer: (9.5, 16),
    is_idle_after_an_answer: NEVER,
}


def over(client: socket.socket, seconds: float = 0.5) -> bool:
    """Whether the connection ends within this time. Nothing else is to come."""
    client.settimeout(seconds)
    try:
        assert client.recv(1) == b""
    except TimeoutError:
        return False
    return True


def lasted(server: Server, behaviour: Behaviour) -> float:
    """How long this client was served, at most as long as it was watched."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(10)
        client.connect((server.host, server.port))
        started = time.monotonic()
        with suppress(ConnectionError):
            for _ in behaviour(client):
                if time.monotonic() - started > WATCHED_S:
                    return math.inf
        return time.monotonic() - started


@pytest.mark.timeout(600)
def test_whom_an_event_loop_waits_for() -> None:
    servers = [build.build_server(chapter.solution_dir) for chapter in LOOPS]
    with ExitStack() as stack, ThreadPoolExecutor(len(servers) * len(EXPECTED)) as pool:
        watched = {(server.name, behaviour): pool.submit(lasted, server, behaviour)
                   for server in [stack.enter_context(running(binary)) for binary in servers]
                   for behaviour in EXPECTED}
        found = {key: future.result() for key, future in watched.items()}
    wrong = [f"{server}: who {behaviour.__name__} lasted {seconds:.1f} s"
             for (server, behaviour), seconds in found.items()
             if not EXPECTED[behaviour][0] <= seconds <= EXPECTED[behaviour][1]]
    assert not wrong, "\n".join(wrong)
