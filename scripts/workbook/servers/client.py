"""The raw client of the checks. `Client` does exactly what a case describes, and records exactly
what it receives; `connect` and `answers` are for callers that only need an answer.
"""

from __future__ import annotations

import random
import re
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Literal

from workbook.servers import heads, tls


@dataclass(frozen=True)
class Pause:
    """Neither send nor receive for a while."""

    seconds: float


@dataclass(frozen=True)
class Await:
    """Receive until these bytes are part of the answer."""

    data: bytes


@dataclass(frozen=True)
class Sip:
    """From now on receive at most this number of bytes at a time, and pause after each."""

    size: int
    seconds: float


@dataclass(frozen=True)
class HalfClose:
    """Send the end of the stream (shutdown(2) with SHUT_WR), then keep receiving."""


@dataclass(frozen=True)
class Vanish:
    """Reset the connection: unread bytes are lost, and the peer gets a RST."""


Step = bytes | Pause | Await | Sip | HalfClose | Vanish
End = Literal["closed", "reset", "timeout", "refused", "vanished", "truncated", "alert"]


@dataclass(frozen=True)
class Received:
    """Every byte of the answer, how it ended and how long that took. `raw` is as received, `data`
    as normalised by heads.plain. `connected` is False if connecting timed out.
    """

    data: bytes
    end: End
    seconds: float
    raw: bytes = b""
    connected: bool = True


class Client:
    """One connection, for one thread. Every wait ends at `deadline` (time.monotonic).

    A `narrow` client makes the kernel buffer little for it (about 100 kB on Linux), so that a
    server that sends more while we do not read finds its socket full. With a `source`, it connects
    from that address; OSError if this machine does not have it. It uses TLS if it has a `hello` or
    the port is known to speak TLS; then `secure` is the TLS connection.
    """

    def __init__(self, address: tuple[str, int], deadline: float, narrow: bool = False,
                 source: str = "", hello: tls.Hello | None = None) -> None:
        self._started = time.monotonic()
        self._deadline = deadline
        self._data = bytearray()
        self._end: End | None = None
        self._sip = Sip(1 << 18, 0)
        host, port = address[0].strip("[]"), address[1]
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._plain = socket.socket(family, socket.SOCK_STREAM)
        self._socket: socket.socket | tls.Stream = self._plain
        self._socket.settimeout(max(0.001, deadline - self._started))
        if narrow:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self._connect_from_another_address()
        if source:
            self._connect_from(source)
        try:
            self._socket.connect((host, port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            self._end = "timeout" if isinstance(error, TimeoutError) else "refused"
        self._connected = self._end != "timeout"
        self._socket.setblocking(False)
        self.secure: tls.Stream | None = None
        self.alert = ""  # the reason of a TLS error
        if self._end is None and (hello := hello or tls.hello_to(port)):
            self._shake_hands(hello)

    @property
    def local_port(self) -> int:
        """The port that it connects from."""
        return int(self._plain.getsockname()[1])

    def _connect_from_another_address(self) -> None:
        """Connect from a loopback address that has not been used before.

        Linux remembers the metrics of an address (ip-tcp_metrics(8)) and gives its next connection
        a larger send buffer, in which everything would fit, so that the socket would never be full.
        """
        suffix = ".".join(str(random.randint(1, 254)) for _ in range(3))
        with suppress(OSError):  # macOS has one loopback address, and no such metrics
            self._plain.bind((f"127.{suffix}", 0))

    def _connect_from(self, source: str) -> None:
        try:
            self._plain.bind((source, 0))
        except OSError:
            self.close()
            raise

    def _shake_hands(self, hello: tls.Hello) -> None:
        self.secure = tls.Stream(self._plain, hello)
        try:
            self.secure.handshake(self._deadline)
        except OSError as error:
            self._failed(error)
        self._socket = self.secure

    def _failed(self, error: OSError) -> None:
        """Record how the connection ended."""
        match error:
            case TimeoutError():
                self._end = "timeout"
            case tls.Truncated():
                self._end = "truncated"
            case ssl.SSLEOFError():  # in the handshake
                self._end = "closed"
            case ssl.SSLError():
                self._end, self.alert = "alert", error.reason or str(error)
            case _:
                self._end = "reset"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def perform(self, steps: Iterable[Step]) -> None:
        """Take the steps in order; those after the connection's end are skipped."""
        for step in steps:
            if self._end is not None:
                return
            self._take(step)

    def finish(self) -> Received:
        """Receive until the peer closes or the deadline has passed, and return the result."""
        while self._end is None:
            self._wait(write=False)
        return self.received()

    def offer(self, data: bytes | memoryview, quiet_s: float) -> int:
        """Send without receiving, until the socket has accepted nothing for `quiet_s`; returns the
        number of bytes that it accepted.
        """
        taken, writable = 0, select.poll()
        writable.register(self._socket, select.POLLOUT)
        while taken < len(data) and self._end is None and time.monotonic() < self._deadline:
            try:
                taken += self._socket.send(memoryview(data)[taken:taken + (1 << 18)])
            except BlockingIOError:
                if not writable.poll(quiet_s * 1000):
                    break
            except OSError:
                self._was_reset()
        return taken

    def hold_at_most(self, size: int) -> None:
        """From now on limit the receive buffer to about this size (SO_RCVBUF in socket(7)); the
        kernel no longer grows it when we read.
        """
        self._plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)

    def receive_in_all(self, size: int) -> None:
        """Receive until `size` bytes have arrived in total, or the connection has ended."""
        while self._end is None and len(self._data) < size:
            self._wait(write=False)

    def receive_for(self, quiet_s: float) -> None:
        """Receive until nothing has arrived for `quiet_s`, or the connection has ended."""
        while self._end is None and readable((self,), quiet_s):
            self.receive()

    @property
    def ended(self) -> bool:
        return self._end is not None

    @property
    def answered(self) -> bool:
        """Whether it received something before its end, which a rejected client did not."""
        return self.ended and bool(self._data)

    def received(self) -> Received:
        """Return the result so far; a connection that has not ended counts as timed out."""
        seconds = time.monotonic() - self._started
        raw = bytes(self._data)
        return Received(heads.plain(raw), self._end or "timeout", seconds, raw, self._connected)

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> None:
        """Receive what is available, without waiting."""
        try:
            data = self._socket.recv(self._sip.size)
        except BlockingIOError:
            return
        except OSError as error:
            self._failed(error)
            return
        self._data += data
        if not data:
            self._end = "closed"
        elif self._sip.seconds:
            time.sleep(self._sip.seconds)

    def _take(self, step: Step) -> None:
        match step:
            case bytes():
                self._send(step)
            case Pause(seconds):
                time.sleep(min(seconds, max(0.0, self._deadline - time.monotonic())))
            case Await(data):
                while self._end is None and not self._has(data):
                    self._wait(write=False)
            case Sip():
                self._sip = step
            case HalfClose():
                self._shut_down()
            case Vanish():
                self._vanish()

    def _has(self, data: bytes) -> bool:
        """Whether these bytes arrived. heads.plain never returns more bytes than it gets."""
        return len(self._data) >= len(data) and data in heads.plain(bytes(self._data))

    def _send(self, data: bytes) -> None:
        """Send all of it, receiving only while the socket is full, so that nothing is read too
        early. Stops if the connection ends.
        """
        remainder = memoryview(data)
        while remainder and self._end is None:
            try:
                remainder = remainder[self._socket.send(remainder):]
            except BlockingIOError:
                self._wait(write=True)
            except BrokenPipeError:  # the peer closed in order, so its answer can still be read
                self.finish()
            except OSError:
                self._was_reset()

    def _wait(self, write: bool) -> None:
        """Wait until the socket is readable, or writable if `write`; receive what is available."""
        left = self._deadline - time.monotonic()
        poller = select.poll()
        poller.register(self._socket, select.POLLIN | (select.POLLOUT if write else 0))
        events = poller.poll(max(0.0, left) * 1000)
        if not events:
            self._end = "timeout"
        elif events[0][1] & ~select.POLLOUT:
            self.receive()

    def _was_reset(self) -> None:
        """Keep what arrived before the reset, because it shows how far the server got."""
        while self._end is None:
            self.receive()
        self._end = "reset"

    def _shut_down(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._was_reset()

    def _vanish(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.secure.drop() if self.secure else self._socket.close()
        self._end = "vanished"


def readable(clients: Iterable[Client], timeout_s: float) -> list[Client]:
    """Wait until clients have something to receive, and return these; empty after `timeout_s`. Uses
    poll(2), because select(2) is limited to the first thousand descriptors.
    """
    poller, known = select.poll(), {client.fileno(): client for client in clients}
    for number in known:
        poller.register(number, select.POLLIN)
    return [known[number] for number, _ in poller.poll(timeout_s * 1000)]


def connect(address: tuple[str, int], timeout_s: float = 5.0) -> socket.socket:
    """Return a connection, with TLS if the port is known to speak it. Failures are OSErrors."""
    client = socket.create_connection(address, timeout=timeout_s)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hello = tls.hello_to(address[1])
    return hello.how.wrap_socket(client, server_hostname=hello.name) if hello else client


def answers(client: socket.socket, count: int) -> Iterator[bytes]:
    """Yield `count` answers of a kept connection, each as long as its head states.

    If the peer closes first, the last item is the beginning of the next answer, or empty.
    """
    received = b""
    for _ in range(count):
        while not (size := _first_answer(received)):
            try:
                more = client.recv(65_536)
            except ConnectionError:  # a reset counts as closed
                more = b""
            if not more:
                yield received
                return
            received += more
        yield received[:size]
        received = received[size:]


def _first_answer(received: bytes) -> int:
    """Return the size of the first answer in bytes; 0 until it is complete."""
    head, end, body = received.partition(b"\r\n\r\n")
    if end and head.startswith(b"HTTP/1.1 304 "):  # RFC 9110 §15.4.5: it has no body
        return len(head) + len(end)
    length = re.search(rb"\r\nContent-Length: *(\d+)", head, re.I)
    if not end or not length or len(body) < int(length[1]):
        return 0
    return len(head) + len(end) + int(length[1])


def exchange(address: tuple[str, int], steps: Iterable[Step], timeout_s: float,
             narrow: bool = False) -> Received:
    """Connect, perform the steps, and receive the whole answer."""
    with Client(address, time.monotonic() + timeout_s, narrow) as client:
        client.perform(steps)
        return client.finish()


def exchange_many(address: tuple[str, int], steps: Sequence[Step], timeout_s: float,
                  copies: int, enough: int) -> list[Received]:
    """Send from this many clients at once, until `enough` have their whole answer or time is up."""
    deadline = time.monotonic() + timeout_s
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(address, deadline)) for _ in range(copies)]
        for client in clients:
            client.perform(steps)
        waiting = clients
        while (waiting and sum(client.answered for client in clients) < enough
               and time.monotonic() < deadline):
            left_s = max(0.0, deadline - time.monotonic())
            for client in readable(waiting, left_s):
                client.receive()
                if client.ended:
                    client.close()
            waiting = [client for client in clients if not client.ended]
        return [client.received() for client in clients]
