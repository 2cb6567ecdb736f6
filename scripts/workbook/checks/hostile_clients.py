"""Many hostile clients, in a process of their own because they need many descriptors:

    python -m workbook.checks.hostile_clients HOST PORT CLIENTS

A third announce a body and don't send it, a third send a head byte by byte, a third request more
than they read. Prints `there` once all have connected, or after TRIED_S seconds. Disconnected
clients connect again, at a limited rate. Exits when its standard input is closed. Linux only: it
needs epoll, and many loopback addresses.
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
AT_FIRST, RETRY = 250, 50  # connects per iteration: until all are connected, and later
UNREAD = 128 * 1024  # bytes: more than the kernel buffers for a client that doesn't read
SECOND = 20  # iterations
TRIED_S = 30.0
DISCONNECTED = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
IP_BIND_ADDRESS_NO_PORT = 24  # linux/in.h: connect(2) chooses the port

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
    """One hostile client while connected. It sends its next step once the last one is sent."""

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
        """Send what the socket accepts; returns whether part of this step is still unsent."""
        with suppress(OSError):
            self._remainder = self._remainder[self._socket.send(self._remainder):]
        return bool(self._remainder)

    def go_on(self) -> None:
        if not self._remainder and (step := next(self._steps, None)):
            self._remainder = memoryview(step)
            self.send()


class Crowd:
    """All the hostile clients. Those that the server disconnects connect again."""

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
        """Let one client in `SECOND` continue, so that each gets its turn once a second."""
        for number in range(share, 2 * len(self._clients) + SECOND, SECOND):
            if client := self._clients.get(number):
                client.go_on()


if __name__ == "__main__":
    host, port, count = sys.argv[1:]
    Crowd((host, int(port)), int(count)).run()
