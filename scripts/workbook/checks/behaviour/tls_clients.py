"""Building blocks of rows about TLS: a server with TLS, and clients of every kind."""

from __future__ import annotations

import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from workbook.checks.behaviour.alone import TIMEOUT_S
from workbook.checks.behaviour.rows import PAGE_ANSWER, Unable, Unmet
from workbook.checks.behaviour.start import repeated
from workbook.checks.behaviour.unchanged import LAST
from workbook.common import children
from workbook.common.errors import UserError
from workbook.servers import certificates, tls
from workbook.servers.certificates import Pair
from workbook.servers.client import Client, Pause, Received
from workbook.servers.process import Server
from workbook.servers.tls import Hello

V2, V3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
VERSIONS = {"1.2": V2, "1.3": V3}
HALF = b"\x16\3\1\2\0\1\0\1\xfc\3\3" + bytes(40)  # of a ClientHello
QUIET_S = 0.3


@contextmanager
def secured(server: Server, *arguments: str, pairs: Sequence[Pair] = (),
            few_descriptors: int = 0) -> Iterator[Server]:
    """Start another such server with TLS, with the certificate for localhost unless `pairs` are
    given. Raises Unable if it was built without OpenSSL.
    """
    wrapper = ("sh", "-c", f'ulimit -n {few_descriptors} && exec "$@"', "sh")
    given = [option for pair in pairs or [certificates.localhost()] for option in pair.options]
    try:
        with repeated(server, *given, *arguments, wrapper=wrapper if few_descriptors else ()) as other:
            yield other
    except UserError as error:
        if "without OpenSSL" in error.message:
            raise Unable("this server was built without OpenSSL") from None
        raise


@contextmanager
def a_client(server: Server, hello: Hello | None = None, narrow: bool = False,
             timeout_s: float = TIMEOUT_S) -> Iterator[Client]:
    address, deadline = (server.host, server.port), time.monotonic() + timeout_s
    with Client(address, deadline, narrow, hello=hello) as client:
        try:
            yield client
        except ssl.SSLError as error:
            raise Unmet(f"its TLS connection failed: {error}") from None


def of(name: str, **how: object) -> Hello:
    """Returns the settings of a client that supports only one version."""
    return Hello(tls.context(versions=[VERSIONS[name]], **how))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Seen:
    """What a client learned in its handshake."""

    version: str
    cipher: str
    protocol: str | None
    cert: bytes
    resumed: bool
    session: ssl.SSLSession


def connection(server: Server, hello: Hello) -> Seen:
    """Request the page as the last answer, and return what the handshake negotiated."""
    with a_client(server, hello) as client:
        client.perform((LAST[0],))
        must_be(client, client.finish(), PAGE_ANSWER)
        assert client.secure
        return seen(client.secure.tls)


def seen(session: ssl.SSLObject) -> Seen:
    cipher, version, _ = session.cipher() or ("", "", 0)
    cert = session.getpeercert(binary_form=True) or b""
    assert session.session
    return Seen(session.version() or version, cipher, session.selected_alpn_protocol(), cert,
                bool(session.session_reused), session.session)


def must_be(client: Client, received: Received, expect: bytes, end: str = "closed") -> None:
    if received.data != expect or received.end != end:
        raise Unmet(f"{len(received.data):,} bytes came of {len(expect):,}, "
                    f"{received.data[-60:]!r}, and then the end was: {received.end}"
                    + (f" ({client.alert})" if client.alert else ""))


def must_have(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise Unmet(f"{what}: {found} instead of {expected}")


def s_client(server: Server, *options: str, output: Sequence[bytes | Pause] = (LAST[0],)) -> str:
    """Returns what openssl-s_client(1) prints, sending `output`, until the connection has ended."""
    certificates.folder()
    process = children.start(
        ["openssl", "s_client", "-connect", f"{server.host}:{server.port}", *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdin
    try:
        for step in output:
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                continue
            with suppress(BrokenPipeError):
                process.stdin.write(step)
                process.stdin.flush()
        return process.communicate(timeout=TIMEOUT_S)[0].decode(  # type: ignore[no-any-return]
            "latin-1")
    except subprocess.TimeoutExpired:
        raise Unmet("its connection did not end") from None
    finally:
        process.kill()
        process.wait()


def raw(server: Server, sent: bytes, more: Callable[[socket.socket], None] = lambda _: None,
        ) -> bytes:
    """Returns what the server sends to a client without TLS; raises Unmet if it doesn't close."""
    with socket.create_connection((server.host, server.port), TIMEOUT_S) as client:
        client.sendall(sent)
        more(client)
        try:
            return b"".join(iter(lambda: client.recv(65_536), b""))
        except TimeoutError:
            raise Unmet("the connection was still open") from None
        except ConnectionError:
            return b""


def in_records(client: Client, pieces: Sequence[bytes], keep: int = 0) -> bytes:
    """Send each piece in a record of its own, all at once, except for the last `keep` bytes of
    ciphertext, which are returned.
    """
    assert client.secure
    if client.ended:
        raise Unmet("the connection ended before it was secured")
    sealed = client.secure.sealed(pieces)
    try:
        client.secure.send_sealed(sealed[:len(sealed) - keep], time.monotonic() + TIMEOUT_S)
    except OSError as error:
        raise Unmet(f"its records could not be sent: {error}") from None
    return sealed[len(sealed) - keep:]


def is_served(server: Server) -> bool:
    with suppress(Unmet):
        connection(server, of("1.3"))
        return True
    return False


def hello_record() -> bytes:
    """Returns a client's first record."""
    came, continues = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        tls.context().wrap_bio(came, continues).do_handshake()
    return continues.read()
