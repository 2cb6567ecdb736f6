"""TLS for our clients, which OpenSSL does in memory (ssl(3ssl)), so that we can cut ciphertext at
any byte and know exactly what the peer sent last.

Clients that connect to a port in `SECURED` speak TLS there.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbook.servers import certificates

SECURED: dict[int, object] = {}  # by port: the server with a certificate that has it
RECORD = 1 << 14  # maximum bytes of plaintext (RFC 8446 §5.1)
GOODBYE_S = 2.0  # for close_notify to a peer that reads nothing


class Truncated(ConnectionError):
    """The peer closed without close_notify (RFC 8446 §6.1)."""


def context(*trusted: certificates.Pair, versions: Sequence[ssl.TLSVersion] = (),
            ciphers: str = "", alpn: Sequence[str] = ()) -> ssl.SSLContext:
    """Return a client's context: these versions, ciphers of TLS 1.2 and ALPN protocols. It accepts
    only servers with one of these certificates, or any server if there are none.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED if trusted else ssl.CERT_NONE
    for pair in trusted:
        made.load_verify_locations(pair.cert)
    if versions:
        made.minimum_version, made.maximum_version = versions[0], versions[-1]
    if ciphers:
        made.set_ciphers(ciphers)
    if alpn:
        made.set_alpn_protocols(list(alpn))
    return made


@cache
def usual() -> ssl.SSLContext:
    """Return the context of clients that only need an answer; it trusts `localhost`."""
    made = context(certificates.localhost(), alpn=("http/1.1",))
    made.sslsocket_class = Socket
    return made


@dataclass(frozen=True)
class Hello:
    """How a client begins: its context, the name that it asks for, the session that it resumes; and
    how its ciphertext is cut: bytes per segment, and seconds between segments.
    """

    how: ssl.SSLContext
    name: str | None = None
    session: ssl.SSLSession | None = None
    cut: int = 0
    pause_s: float = 0.0


def hello_to(port: int) -> Hello | None:
    """Return the usual Hello for the server at this port; None if that does not speak TLS."""
    return Hello(usual(), "localhost") if port in SECURED else None


class Socket(ssl.SSLSocket):
    """A TLS socket that sends close_notify when it is shut down, and whose exceptions are those of
    a plain socket.
    """

    def send(self, data: Any, flags: int = 0) -> int:
        with plain_faults():
            return super().send(data, flags)

    def recv(self, size: int = 1024, flags: int = 0) -> bytes:
        with plain_faults():
            return super().recv(size, flags)

    def shutdown(self, how: int) -> None:
        if how == socket.SHUT_WR and self._sslobj is not None:  # type: ignore[attr-defined]
            with suppress(ssl.SSLEOFError):  # the peer closed without close_notify
                self.unwrap()
        super().shutdown(how)


@contextmanager
def plain_faults() -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        raise ConnectionResetError(str(error)) from None


class Stream:
    """TLS over a non-blocking socket, used like such a socket. Data for which `send` raised
    BlockingIOError has to be passed to it again.

    After the last byte, `recv` returns b"" if the peer sent close_notify and closed; else it raises
    Truncated. An alert is raised as an ssl.SSLError.
    """

    def __init__(self, plain: socket.socket, hello: Hello) -> None:
        self.plain = plain
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = hello.how.wrap_bio(self._incoming, self._outgoing, server_hostname=hello.name,
                                      session=hello.session)
        self._unsent = memoryview(b"")
        self._owed = 0  # bytes of the caller's data that _unsent includes
        self._failure: Exception | None = None
        self.sent_close_notify = False  # whether the peer has
        self.cut, self.pause_s = hello.cut, hello.pause_s

    def handshake(self, deadline: float) -> None:
        """Do the handshake. TimeoutError at the deadline, ssl.SSLError if it fails."""
        while True:
            try:
                self.tls.do_handshake()
                self._flush_all(deadline)
                return
            except ssl.SSLWantReadError:
                self._flush_all(deadline)
                self._await(select.POLLIN, deadline)
                self._take(1 << 16)
            except ssl.SSLError:
                self._flush_all(deadline)
                raise

    def send(self, data: bytes | memoryview) -> int:
        self._flush()
        if not self._owed:
            self._owed = self.tls.write(memoryview(data)[:RECORD])
            self._flush()
        sent, self._owed = self._owed, 0
        return sent

    def recv(self, size: int) -> bytes:
        """Also raises BlockingIOError if what was received holds no data of the application's."""
        if self._failure:
            raise self._failure
        self._take(size)
        with suppress(BlockingIOError):
            self._flush()  # the answer to a KeyUpdate
        if data := self._opened():
            return data
        if self._failure:
            raise self._failure
        if self._incoming.eof:
            return b""
        raise BlockingIOError

    def sealed(self, pieces: Sequence[bytes]) -> bytes:
        """Encrypt each piece as a record of its own, and return the records."""
        for piece in pieces:
            self.tls.write(piece)
        return self._outgoing.read()

    def send_sealed(self, records: bytes, deadline: float) -> None:
        """Send bytes as they are, whether they are records or not; TimeoutError at the deadline."""
        self._unsent = memoryview(bytes(self._unsent) + records)
        self._flush_all(deadline)

    def send_close_notify(self) -> None:
        """Send close_notify. Nothing more can be sent, but data can still be received."""
        with suppress(ssl.SSLError):
            self.tls.unwrap()
        with suppress(OSError):
            self._flush_all(time.monotonic() + GOODBYE_S)

    def shutdown(self, how: int) -> None:
        self.send_close_notify()
        self.plain.shutdown(how)

    def close(self) -> None:
        with suppress(ssl.SSLError, OSError):
            self.tls.unwrap()
        with suppress(OSError):
            self._flush()
        self.drop()

    def drop(self) -> None:
        """Close without close_notify."""
        self.plain.close()

    def fileno(self) -> int:
        return self.plain.fileno()

    def setsockopt(self, *how: Any) -> None:
        self.plain.setsockopt(*how)

    def _take(self, size: int) -> None:
        data = self.plain.recv(size)
        self._incoming.write(data) if data else self._incoming.write_eof()

    def _opened(self) -> bytes:
        """Return the plaintext of all complete records; how it ended is kept for the next call."""
        parts = []
        try:
            while part := self.tls.read(RECORD):
                parts.append(part)
            self.sent_close_notify = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.sent_close_notify = True
        except ssl.SSLEOFError:
            self._failure = Truncated("closed without close_notify")
        except ssl.SSLError as error:
            self._failure = error
        return b"".join(parts)

    def _flush(self) -> None:
        """Send what is encrypted; BlockingIOError if the socket does not take all."""
        self._unsent = self._unsent or memoryview(self._outgoing.read())
        while self._unsent:
            piece = self._unsent[:self.cut or len(self._unsent)]
            self._unsent = self._unsent[self.plain.send(piece):]
            if self.pause_s:
                time.sleep(self.pause_s)
            self._unsent = self._unsent or memoryview(self._outgoing.read())

    def _flush_all(self, deadline: float) -> None:
        while True:
            try:
                return self._flush()
            except BlockingIOError:
                self._await(select.POLLOUT, deadline)

    def _await(self, event: int, deadline: float) -> None:
        poller = select.poll()
        poller.register(self.plain, event)
        if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
