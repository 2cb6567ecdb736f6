"""How long the servers wait for clients by default, where `check` shortens the limits: sixty,
thirty, ten seconds. All clients of all solutions are watched at the same time, each by a thread.
"""

from __future__ import annotations

import math
import select
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import programs
import pytest

from workbook.checks.behaviour.rows import HOST, MAX_BODY, noise, post
from workbook.checks.behaviour.unchanged import GET
from workbook.course.chapters import Chapter, all_chapters
from workbook.servers import heads
from workbook.servers.process import Server, running

CLIMB = [chapter for chapter in all_chapters() if chapter.number is not None]
FIRST_LOOP, FIRST_WITH_A_RATE = 5, 13
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
    begin, remainder = GET[0][:5], GET[0][5:]
    client.sendall(begin)
    while True:
        client.sendall(remainder + begin)
        if not (answer := answer_of(client)):
            return
        assert answer == GET[1]
        time.sleep(0.25)
        yield


def stops_in_a_body(client: socket.socket) -> Iterator[None]:
    client.sendall(post(b"hell", b"/sink", length=b"5"))
    while not over(client):
        yield


def drips_a_body(client: socket.socket) -> Iterator[None]:
    client.sendall(post(b"", b"/sink", length=b"1000"))
    while not over(client, 3.0):
        client.sendall(b"x")
        yield


def reads_no_answer(client: socket.socket) -> Iterator[None]:
    """What it sends after its request is unread when the server closes, which resets the
    connection, so the client learns of it without reading."""
    client.settimeout(WATCHED_S)  # from chapter 12 on no more is taken than is given back
    client.sendall(post(noise(MAX_BODY), fields=HOST) + b"G")
    poller = select.poll()
    poller.register(client, 0)
    while not poller.poll(500):
        yield


def is_idle_after_an_answer(client: socket.socket) -> Iterator[None]:
    client.sendall(GET[0])
    assert answer_of(client) == GET[1]
    while not over(client):
        yield


EXPECTED: dict[Behaviour, tuple[float, float]] = {
    drips_a_head: (29, 36),
    has_always_begun_its_next_head: NEVER,
    stops_in_a_body: (9, 16),
    drips_a_body: NEVER,
    reads_no_answer: (9.5, 16),
    is_idle_after_an_answer: NEVER,
}


def answer_of(client: socket.socket) -> bytes:
    """The page, without what later chapters say besides; less if the server closes."""
    data = b""
    while len(heads.plain(data)) < len(GET[1]) and (more := client.recv(65_536)):
        data += more
    return heads.plain(data)


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


@dataclass
class Watch:
    """A client of a server, and at the end how long it was served."""

    name: str
    program: Path
    behaviour: Behaviour
    has_rate: bool
    seconds: float = 0.0

    @property
    def as_expected(self) -> bool:
        drips = self.has_rate and self.behaviour is drips_a_body
        minimum, maximum = EXPECTED[stops_in_a_body if drips else self.behaviour]
        return minimum <= self.seconds <= maximum

    def __str__(self) -> str:
        return f"{self.name}: who {self.behaviour.__name__} lasted {self.seconds:.1f} s"


def behaviours(chapter: Chapter) -> list[Behaviour]:
    """Who is watched; before the event loops only one is let go by the clock."""
    return list(EXPECTED) if (chapter.number or 0) >= FIRST_LOOP else [stops_in_a_body]


def of_solutions() -> list[Watch]:
    return [Watch(chapter.name, programs.served(chapter.name), behaviour,
                  (chapter.number or 0) >= FIRST_WITH_A_RATE)
            for chapter in CLIMB for behaviour in behaviours(chapter)]


@pytest.fixture(scope="module")
def watched() -> list[Watch]:
    """All of them at the same time."""
    together = of_solutions()
    with ExitStack() as stack, ThreadPoolExecutor(len(together)) as pool:
        servers = {program: stack.enter_context(running(program))
                   for program in {watch.program for watch in together}}
        lengths = pool.map(lambda watch: lasted(servers[watch.program], watch.behaviour), together)
        for watch, seconds in zip(together, lengths, strict=True):
            watch.seconds = seconds
    return together


pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]


def test_clients_are_disconnected_at_the_expected_time(watched: list[Watch]) -> None:
    assert not [str(watch) for watch in watched if not watch.as_expected]
