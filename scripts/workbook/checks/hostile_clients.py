"""Hostile clients, many at once, in a process of their own for its descriptors:

    python -m workbook.checks.hostile_clients HOST PORT CLIENTS

A third announce a body and do not send it, a third send a head byte by byte, a third ask for more
than they read. Says THERE once all have been connected, or have tried for long. Who is let go comes
again, so many a second. Ends with its standard input. Linux only (epoll, and as many loopback
addresses as one likes).
"""

from __future__ import annotations

import random
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle

from workbook.checks.behaviour.rows import HOST, MAX_BODY, post

PRESENT = "there"
ITERATION_S = 0.05
AT_FIRST, RETRY = 250, 50  # who may come in a turn: until all have come, and from then on
UNREAD = 128 * 1024  # of an answer: more than the kernel takes from a server for who does not read
SECOND = 20  # turns
TRIED_S = 30.0
DISCONNECTED = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
IP_BIND_ADDRESS_NO_PORT = 24  # linux/in.h: a port is chosen by connect(2)

Behaviour = Callable[[], Iterator[bytes]]


def announces_a_body() -> Iterator[bytes]:
    yield post(b"ten bytes!", b"/sink", HOST, b"%d" % MAX_BODY)


def drips_a_head() -> Iterator[bytes]:
    yield b"GET / HTTP/1.1\r\nX: "
    while True:
        yield b"x"


def does_not_read() -> Iterator[bytes]:
    yield post(bytes(UNREAD), b"/echo", HOST, b"%d" % MAX_BODY)


BEHAVIOURS: tuple[Behaviour, ...] = (announces_a_body, drips_a_head, does_not_read)


class Client:
    """One of them, while it is connected. Sends what comes next when what came before has gone."""

    def __init__(self, address: tuple[str, int], behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self._steps = behaviour()
        self._remainder = memoryview(next(self._steps))
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        self._socket.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        kind = 1 + BEHAVIOURS.index(behaviour)
        self._socket.bind((f"127.0.{kind}.{random.randint(1, 254)}", 0))
        with suppress(BlockingIOError):
            self._socket.connect(address)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self) -> bool:
        """What the socket takes; whether there is more of this step."""
        with suppress(OSError):
            self._remainder = self._remainder[self._socket.send(self._remainder):]
        return bool(self._remainder)

    def go_on(self) -> None:
        if not self._remainder and (step := next(self._steps, None)):
            self._remainder = memoryview(step)
            self.send()


class Crowd:
    """All of them."""

    def __init__(self, address: tuple[str, int], count: int) -> None:
        self._address = address
        kinds = cycle(BEHAVIOURS)
        self._away = deque(next(kinds) for _ in range(count))
        self._clients: dict[int, Client] = {}
        self._connecting: set[int] = set()
        self._poller = select.epoll()
        self._complete = False

    def run(self) -> None:
        input_ended = select.poll()
        input_ended.register(sys.stdin, select.POLLIN)
        iteration, timeout_ends = 0, time.monotonic() + TRIED_S
        while not input_ended.poll(0):
            begun = time.monotonic()
            self._connect(RETRY if self._complete else AT_FIRST)
            self._look()
            if not self._complete and self._have_connected(begun > timeout_ends):
                self._complete = True
                print(PRESENT, flush=True)
            self._go_on(iteration % SECOND)
            iteration += 1
            time.sleep(max(0.0, begun + ITERATION_S - time.monotonic()))

    def _connect(self, maximum: int) -> None:
        for _ in range(min(maximum, len(self._away))):
            client = Client(self._address, self._away.popleft())
            self._clients[client.fileno()] = client
            self._connecting.add(client.fileno())
            self._poller.register(client, select.EPOLLOUT | DISCONNECTED)

    def _look(self) -> None:
        for number, event in self._poller.poll(0, max(1, len(self._clients))):
            client = self._clients[number]
            if event & DISCONNECTED:
                del self._clients[number]
                self._connecting.discard(number)
                self._away.append(client.behaviour)
                client.close()
            else:
                self._connecting.discard(number)
                if not client.send():
                    self._poller.modify(number, DISCONNECTED)

    def _have_connected(self, impatient: bool) -> bool:
        return impatient or not (self._away or self._connecting)

    def _go_on(self, share: int) -> None:
        """Each has its turn once a second."""
        for number in range(share, 2 * len(self._clients) + SECOND, SECOND):
            if client := self._clients.get(number):
                client.go_on()


if __name__ == "__main__":
    host, port, count = sys.argv[1:]
    Crowd((host, int(port)), int(count)).run()
