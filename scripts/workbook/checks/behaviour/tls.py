"""TLS on the one port: what is agreed on and what is refused, who is met under which name, sessions
that are resumed, ends that are told from cuts, and records however they come. That all else holds
over TLS as without is asked by elsewhere.over_tls.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.checks.behaviour.alone import (
    PATIENCE_S,
    alone,
    must_be_plain,
    must_rest,
)
from workbook.checks.behaviour.deadlines import EARLY_S, Limits
from workbook.checks.behaviour.kept import GET, LAST, chain
from workbook.checks.behaviour.log import in_vain, logging, stop, until
from workbook.checks.behaviour.log_lines import Line, read
from workbook.checks.behaviour.memory import CLIENTS, FIRST, LEAST, ROUNDS, left_over
from workbook.checks.behaviour.rows import (
    BAD,
    BYTES,
    HOST,
    MIB,
    PAGE_ANSWER,
    Case,
    Unable,
    Unmet,
    answer,
    echoed,
    get,
    noise,
    post,
)
from workbook.checks.behaviour.start import again
from workbook.common import children
from workbook.common.errors import UserError
from workbook.servers import certificates, tls
from workbook.servers.certificates import Pair
from workbook.servers.client import Await, Client, HalfClose, Pause, Received, Sip, Step
from workbook.servers.process import Server
from workbook.servers.tls import Hello

V2, V3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
VERSIONS = {"1.2": V2, "1.3": V3}
SUITES = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
CIPHERS = ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
CBC = "ECDHE-ECDSA-AES128-SHA256"  # RFC 9325 §4.2.1: no longer
OLD = {"1.0": b"\3\1", "1.1": b"\3\2"}
PROTOCOL_VERSION = b"\2\x46"  # RFC 8446 §6.2: fatal, 70
RESUMED = 8  # connections that bring the same ticket
SITE_FILES = {"one.bin": 1, "record.bin": 1 << 14, "more.bin": (1 << 14) + 1, "large.bin": 3 * MIB}
PLAIN = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
FAILED, FEW_DESCRIPTORS = 100, 64
FLOOD = 200
HALF = b"\x16\3\1\2\0\1\0\1\xfc\3\3" + bytes(40)  # of a ClientHello
QUIET_S = 0.3


def cases() -> Iterator[Case]:
    yield from agreed()
    yield from names()
    yield from resumed()
    yield from read_again()
    yield from records()
    yield from ends()
    yield from handshakes()
    yield from bytes_over_it()
    yield from at_rest()
    yield from left_behind()
    yield from options()


def agreed() -> Iterator[Case]:
    for name in CIPHERS:
        yield alone(f"1.2-{name.lower()}", "RFC 9325 §4.2.1; RFC 5246 §7.4.1.3",
                    f"a client speaks TLS 1.2 and has only ECDHE-ECDSA-{name}",
                    "the page, by that", partial(by_cipher, name=name))
    for name in SUITES:
        yield alone(f"1.3-{name.lower().replace('_', '-')}", "RFC 8446 §9.1, §B.4",
                    f"a client speaks TLS 1.3 and has only {name}", "the page, by that",
                    partial(by_suite, name=name))
    yield alone("server-prefers", "RFC 5246 §7.4.1.3; RFC 8446 §4.1.3",
                "clients of TLS 1.2 and 1.3 have AES-256, AES-128 and ChaCha20, in this order",
                "the page, by AES-128-GCM", server_prefers)
    yield alone("rsa", "RFC 9325 §4.2.1", "the certificate is one of RSA; clients of TLS 1.2 and "
                "1.3 come", "the page for each, by AES-128-GCM with ephemeral keys", rsa)
    yield alone("chain", "SSL_CTX_use_certificate_chain_file(3)",
                "there is another certificate behind the first in --cert", "both are sent", chained)
    for name in OLD:
        yield alone(f"version-{name}", "RFC 8996 §2; RFC 8446 §4.2.1, §6.2",
                    f"a client speaks TLS {name} and nothing later",
                    "the alert protocol_version, and the end", partial(old, name=name))
    yield alone("cbc", "RFC 9325 §4.2.1; RFC 5246 §7.2.2", f"a client has only {CBC}",
                "the alert handshake_failure, and the end", cbc)
    for what, offered, agreed_on in [
        ("1.1", ["http/1.1"], "http/1.1"), ("1.0", ["http/1.0"], "http/1.0"),
        ("1.0-and-1.1", ["http/1.0", "http/1.1"], "http/1.1"),
        ("h2-and-1.1", ["h2", "http/1.1"], "http/1.1"), ("none", [], None),
    ]:
        yield alone(f"alpn-{what}", "RFC 7301 §3.2",
                    f"a client offers {', '.join(offered) or 'no protocol'}",
                    f"the page, by {agreed_on or 'no protocol that was named'}",
                    partial(alpn, offered=offered, agreed_on=agreed_on))
    yield alone("alpn-h2", "RFC 7301 §3.2, §3.3", "clients of TLS 1.2 and 1.3 offer h2 alone",
                "the alert no_application_protocol, and the end", alpn_mismatch)


def names() -> Iterator[Case]:
    for what, name, first in [
        ("known", "other.example", False), ("wildcard", "a.wild.example", False),
        ("upper-case", "OTHER.Example", False), ("unknown", "nowhere.example", True),
        ("none", None, True), ("two-labels-for-a-wildcard", "a.b.wild.example", True),
        ("of-the-first", "localhost", True),
    ]:
        yield alone(f"name-{what}", "RFC 6066 §3; X509_check_host(3)",
                    "the server has two certificates; clients of TLS 1.2 and 1.3 "
                    + (f"ask for {name}" if name else "name no host"),
                    f"the page, and the {'first' if first else 'second'} certificate",
                    partial(named, name=name, first=first))


def resumed() -> Iterator[Case]:
    for name in VERSIONS:
        yield alone(f"resumed-{name}", "RFC 5077 §3; RFC 8446 §2.2",
                    f"a client of TLS {name} has the page, of a server with four threads; its "
                    f"ticket comes back on {RESUMED} connections", "all are resumed",
                    partial(resumes, name=name))
        yield alone(f"key-of-tickets-{name}", "RFC 5077 §4, §5.5; RFC 8446 §4.6.1",
                    f"clients of TLS {name} get tickets; the server has --ticket-lifetime 1; "
                    "more than a second later another one does",
                    "the first two tickets name one key, the third another",
                    partial(key_of_tickets, name=name))
        yield alone(f"old-ticket-{name}", "RFC 5077 §5.5; RFC 8446 §4.6.1",
                    f"the server has --ticket-lifetime 1; a client of TLS {name} comes back after "
                    "more than one second, and after more than two",
                    "the first time it is resumed; the second it is served after a whole handshake",
                    partial(old_ticket, name=name))
    yield alone("one-ticket", "SSL_CTX_set_num_tickets(3)", "a client of TLS 1.3 has the page",
                "and one ticket", one_ticket)
    yield alone("no-early-data", "RFC 8446 §4.2.10, §8", "a client of TLS 1.3 has a ticket",
                "which allows no early data", no_early_data)


def read_again() -> Iterator[Case]:
    yield alone("hangup", "SIGHUP; SSL_CTX_free(3), reference counts",
                "a client has the page; certificate and key are replaced; SIGHUP",
                "new clients meet the new certificate; the old one's connection is as it was", hangup)
    yield alone("hangup-of-the-second", "SIGHUP", "the same with the second of two certificates",
                "who asks for its host meets the new one", hangup_of_the_second)
    for what, does, option in [
        ("no-pem", "the certificate is overwritten with something else", "--cert"),
        ("gone", "the certificate is removed", "--cert"),
        ("expired", "the certificate is replaced by one that has expired", "--cert"),
        ("other-key", "the key is replaced by that of another certificate", "--key"),
    ]:
        yield alone(f"hangup-{what}", "SIGHUP; ERR_clear_error(3)", f"{does}; SIGHUP",
                    f"the error log names {option} and the file; old and new clients are served "
                    "with the old certificate", partial(hangup_in_vain, what=what, option=option))


def records() -> Iterator[Case]:
    for name in VERSIONS:
        for size in (1, 7, 1000):
            yield alone(f"cut-by-{size}-{name}", "RFC 8446 §5.1; SSL_read(3)",
                        f"all that a client of TLS {name} sends comes by {size} bytes, from the "
                        "first of the handshake on; two requests, a body among them",
                        "its answers", partial(cut, name=name, size=size))
    yield alone("records-of-one-byte", "RFC 8446 §5.1",
                "each byte of two requests has a record of its own; all come at once",
                "both answers", records_of_one_byte)
    yield alone("many-records-at-once", "RFC 8446 §5.1; SSL_has_pending(3)",
                "300 requests, each in a record of its own, come at once", "300 answers in order",
                many_records)
    yield alone("records-and-a-part", "SSL_pending(3)",
                "two requests and half of the record of a third come at once; when both answers "
                "are there, the other half", "the third answer", records_and_a_part)
    yield alone("empty-records", "RFC 8446 §5.1", "records without a byte stand among those of a "
                "request", "its answer", empty_records)
    yield alone("pipelined", "RFC 9112 §9.3.2", "100 requests in as few records as can be",
                "100 answers in order", pipelined)
    for letter, what in (("k", "its own"), ("K", "both")):
        yield alone(f"key-update-of-{what.replace(' ', '-')}", "RFC 8446 §4.6.3; openssl-s_client(1)",
                    f"a client changes {what} keys between two requests", "both answers",
                    partial(key_update, letter=letter))
    yield alone("renegotiation", "RFC 9325 §3.5; SSL_OP_NO_RENEGOTIATION",
                "a client of TLS 1.2 asks for another handshake", "it is refused", renegotiation)
    yield alone("spoilt-record", "RFC 8446 §5.2, §6.2; ERR_clear_error(3)",
                "a client has the page; on another connection a record comes that nobody sealed; "
                "the first sends a request in two pieces; all are of one worker",
                "the alert bad_record_mac for the other, an answer for the first", spoilt_record)


def ends() -> Iterator[Case]:
    tells = "close_notify, then the end"
    limits = Limits(idle=1).option()
    for what, does, arguments, steps, expect in [
        ("last-answer", "has its last answer", (), (get(),), PAGE_ANSWER),
        ("refused", "is refused", (), (get(fields=b""),), BAD),
        ("idle", "is silent for longer than it may", limits, (GET[0], Await(GET[1])), GET[1]),
        ("silent", "says nothing after the handshake", limits, (), b""),
    ]:
        yield alone(f"goodbye-{what}", "RFC 8446 §6.1", f"a client {does}", tells,
                    partial(goodbye, arguments=arguments, steps=steps, expect=expect))
    yield alone("goodbye-stop", "RFC 8446 §6.1", "a client has the page; SIGTERM", tells,
                goodbye_at_the_stop)
    yield alone("goodbye-of-a-client", "RFC 8446 §6.1; RFC 9112 §9.6",
                "a client sends three requests and close_notify, and leaves its socket open",
                f"three answers, {tells}", goodbye_of_a_client)
    yield alone("goodbye-in-a-body", "RFC 8446 §6.1", "a client says close_notify in a body",
                f"no answer, but {tells}", goodbye_in_a_body)
    yield alone("goodbye-before-reading", "RFC 8446 §6.1; RFC 9112 §9.6",
                "a client asks for an echo of 1 MiB, says close_notify, rests, and reads",
                f"all of the echo, {tells}", goodbye_before_reading)
    yield alone("truncated-in-a-head", "RFC 8446 §6.1; RFC 9112 §9.8",
                "a client closes its side in a head, without close_notify",
                "the end without a word; the log tells of no answer", truncated_in_a_head)
    yield alone("truncated-behind-requests", "RFC 8446 §6.1; RFC 9112 §9.8",
                "a client sends three whole requests and closes its side, without close_notify",
                "answers or a part of them, and the end without a word", truncated_behind_requests)


def handshakes() -> Iterator[Case]:
    yield alone("plain-http", "RFC 9112 §9.7", "a client sends a request without TLS",
                "400 without TLS, and the end", plain_http)
    yield alone("garbage", "RFC 8446 §5.1", "a client sends bytes that are no record",
                "the end", garbage)
    for what, does, sent in [("nothing", "connects and is silent", b""),
                             ("half", "stops in its first record", HALF)]:
        yield alone(f"handshake-of-{what}", "the chapter's page",
                    f"the head limit is a second, the others a minute; a client {does}",
                    "it is cut off when its time is over, and not before",
                    partial(half_handshake, sent=sent))
    yield alone("handshake-byte-by-byte", "the chapter's page",
                "the same; a client sends its handshake, a byte four times a second",
                "it is cut off when its time is over, and not before", handshake_byte_by_byte)
    yield alone("handshake-in-time", "the chapter's page",
                "the head limit is a second; a client has its handshake behind it, is silent for "
                "longer, and asks", "the page", handshake_in_time)
    yield alone("one-too-many", "RFC 9110 §15.6.4", "the server is started with --max-clients 2; "
                "two are served, a third connects; one of the two leaves, a fourth connects",
                "the end without a byte for the third, the page for the fourth", one_too_many)
    yield alone("flood", "the chapter's page",
                f"while the server sleeps, {FLOOD} clients send the first of a handshake, and then "
                "one who is known a request", "that is answered before half of them are", flood)


def bytes_over_it() -> Iterator[Case]:
    for size in (1, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 1 << 17, MIB + 1):
        yield alone(f"echo-of-{size}", "RFC 8446 §5.1", f"a client sends {size} bytes, and reads at "
                    "once", "the same bytes", partial(echo, size=size))
    yield alone("late-readers", "SSL_MODE_ENABLE_PARTIAL_WRITE; send(2), EAGAIN",
                "three clients of one worker ask for an echo of 2 MiB each, and begin to read "
                "when all have sent what their sockets take",
                "the same bytes for each", late_readers)
    yield alone("slow-reader", "send(2), EAGAIN",
                "a client asks for an echo of 1 MiB, and reads by 5000 bytes with rests",
                "the same bytes", slow_reader)
    yield alone("files", "RFC 9110 §14.2; pread(2)",
                "files about the size of a record, one of 3 MiB, and parts of them",
                "their bytes", files)
    yield alone("file-late-reader", "pread(2); send(2), EAGAIN",
                "a client asks for a file of 3 MiB twice, and reads late", "its bytes, twice",
                file_late_reader)
    yield alone("file-that-shrinks", "pread(2)", "while a client does not read, the rest of its "
                "file is cut off", "a part of the answer, and the end without a word",
                file_that_shrinks)


def at_rest() -> Iterator[Case]:
    unread = (post(noise(MIB)), Await(b"200 OK"))
    for what, does, steps in [
        ("after-the-handshake", "has its handshake behind it", ()),
        ("between-requests", "has had an answer", (GET[0], Await(GET[1]))),
        ("answer-unread", "does not read its answer, of 1 MiB", unread),
        ("answer-unread-and-goodbye", "does not read its answer, and has said close_notify",
         (*unread, HalfClose())),
        ("answered", "has read its last answer, and does not close", (get(), Await(PAGE_ANSWER))),
    ]:
        yield alone(f"rests-{what}", "time(7)", f"a client {does}; then nobody does anything",
                    "the server uses no processor", partial(rests, steps=steps))
    yield alone("rests-in-a-handshake", "time(7)", "a client has stopped in its handshake",
                "the server uses no processor", rests_in_a_handshake)
    yield alone("rests-in-a-record", "time(7)", "a client has stopped in a record",
                "the server uses no processor", rests_in_a_record)


def left_behind() -> Iterator[Case]:
    yield alone("failed-give-back", "close(2); SSL_free(3)",
                f"the server may have {FEW_DESCRIPTORS} descriptors; {FAILED} handshakes fail in "
                "each of several ways, one after another", "whoever comes after them is served",
                failed_give_back)
    for what in FAILURES:
        yield alone(f"memory-after-{what}", "SSL_free(3)",
                    f"{FIRST} clients come one after another, each of which {FAILURES[what][0]}; "
                    f"then {CLIENTS} more, and if need be {CLIENTS} again",
                    f"the {CLIENTS} leave less than {LEAST} bytes each in the server's memory",
                    partial(memory_after, what=what))


def options() -> Iterator[Case]:
    for what, done, words in [
        ("cert-nowhere", "a --cert that is not there", ("--cert", "/nowhere/cert.pem")),
        ("cert-is-no-pem", "a --cert that holds something else", ("--cert", "text.pem")),
        ("cert-is-a-folder", "a folder as --cert", ("--cert",)),
        ("cert-without-a-name", "an empty --cert", ("--cert",)),
        ("cert-expired", "a --cert that has expired", ("--cert", "expired/cert.pem", "expired")),
        ("cert-not-yet-valid", "a --cert that is not valid yet",
         ("--cert", "not-yet-valid/cert.pem", "not valid yet")),
        ("key-nowhere", "a --key that is not there", ("--key", "/nowhere/key.pem")),
        ("key-is-no-pem", "a --key that holds something else", ("--key", "text.pem")),
        ("key-has-a-pass-phrase", "a --key with a pass phrase",
         ("--key", "protected.key", "pass phrase")),
        ("key-of-another", "the --key of another certificate", ("--key", "other/key.pem")),
        ("key-too-few", "two --cert and one --key", ("--cert", "--key")),
        ("cert-too-few", "one --cert and two --key", ("--cert", "--key")),
        ("second-cert-expired", "a second --cert that has expired", ("--cert", "expired")),
        ("lifetime-of-none", "--ticket-lifetime 0", ("--ticket-lifetime 0",)),
        ("lifetime-of-no-number", "--ticket-lifetime 1h", ("--ticket-lifetime 1h",)),
    ]:
        yield alone(what, "the chapter's page", f"the server is started with {done}, on a port that "
                    "is taken", "it says which option is wrong, asks nobody, and ends with 1",
                    partial(refused, what=what, words=words))


@contextmanager
def secured(server: Server, *arguments: str, pairs: Sequence[Pair] = (),
            few_descriptors: int = 0) -> Iterator[Server]:
    """Another of the same that speaks TLS, with the certificate for localhost unless told
    otherwise.
    """
    wrapper = ("sh", "-c", f'ulimit -n {few_descriptors} && exec "$@"', "sh")
    given = [option for pair in pairs or [certificates.localhost()] for option in pair.options]
    try:
        with again(server, *given, *arguments, wrapper=wrapper if few_descriptors else ()) as other:
            yield other
    except UserError as error:
        if "without OpenSSL" in error.message:
            raise Unable("this server was built without OpenSSL") from None
        raise


@contextmanager
def a_client(server: Server, hello: Hello | None = None, narrow: bool = False,
             patience_s: float = PATIENCE_S) -> Iterator[Client]:
    address, deadline = (server.host, server.port), time.monotonic() + patience_s
    with Client(address, deadline, narrow, hello=hello) as client:
        yield client


def of(name: str, **how: object) -> Hello:
    """A client of one version."""
    return Hello(tls.context(versions=[VERSIONS[name]], **how))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Seen:
    """What a client was told in its handshake, when it had the page."""

    version: str
    cipher: str
    protocol: str | None
    cert: bytes
    resumed: bool
    session: ssl.SSLSession


def visit(server: Server, hello: Hello) -> Seen:
    """Have the page as the last answer."""
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


def s_client(server: Server, *options: str, said: Sequence[bytes | Pause] = (LAST[0],)) -> str:
    """What openssl-s_client(1) tells when it has said this and the connection has ended."""
    certificates.folder()
    process = children.start(
        ["openssl", "s_client", "-connect", f"{server.host}:{server.port}", *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdin
    try:
        for step in said:
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                continue
            with suppress(BrokenPipeError):
                process.stdin.write(step)
                process.stdin.flush()
        return process.communicate(timeout=PATIENCE_S)[0].decode("latin-1")
    except subprocess.TimeoutExpired:
        raise Unmet("its connection did not end") from None
    finally:
        process.kill()
        process.wait()


def by_cipher(server: Server, name: str) -> None:
    with secured(server) as other:
        found = visit(other, of("1.2", ciphers=f"ECDHE-ECDSA-{name}"))
    must_have((found.version, found.cipher), ("TLSv1.2", f"ECDHE-ECDSA-{name}"), "it was")


def by_suite(server: Server, name: str) -> None:
    with secured(server) as other:
        said = s_client(other, "-tls1_3", "-ciphersuites", name, "-ign_eof")
    if f"Cipher is {name}" not in said or "<h1>Hot Path</h1>" not in said:
        raise Unmet(f"openssl s_client says: {said[-300:]}")


def server_prefers(server: Server) -> None:
    order = [f"ECDHE-ECDSA-{CIPHERS[i]}" for i in (1, 0, 2)]
    with secured(server) as other:
        must_have(visit(other, of("1.2", ciphers=":".join(order))).cipher,
                  f"ECDHE-ECDSA-{CIPHERS[0]}", "TLS 1.2")
        said = s_client(other, "-tls1_3", "-ciphersuites",
                        ":".join((SUITES[1], SUITES[0], SUITES[2])), "-ign_eof")
    if f"Cipher is {SUITES[0]}" not in said:
        raise Unmet(f"openssl s_client says: {said[-300:]}")


def rsa(server: Server) -> None:
    with secured(server, pairs=[certificates.rsa()]) as other:
        found = [visit(other, of(name)) for name in VERSIONS]
    must_have([one.cipher for one in found], [f"ECDHE-RSA-{CIPHERS[0]}", SUITES[0]], "it was")
    must_have({one.cert for one in found}, {certificates.rsa().der}, "the certificate")


def chained(server: Server) -> None:
    with TemporaryDirectory() as folder:
        cert = Path(folder, "chain.pem")
        first, second = certificates.localhost(), certificates.other()
        cert.write_bytes(first.cert.read_bytes() + second.cert.read_bytes())
        with secured(server, pairs=[Pair(cert, first.key)]) as other:
            said = s_client(other, "-showcerts", "-ign_eof")
    must_have(said.count("BEGIN CERTIFICATE"), 2, "certificates that were sent")


def client_hello(version: bytes) -> bytes:
    """Of a client that has this version at the most (RFC 5246 §7.4.1.2)."""
    suites = b"\xc0\x09\xc0\x13\xc0\x0a\xc0\x14\x00\x2f\x00\x35"
    body = version + bytes(range(32)) + b"\0" + bytes([0, len(suites)]) + suites + b"\1\0"
    told = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16" + min(version, b"\3\1") + len(told).to_bytes(2, "big") + told


def raw(server: Server, sent: bytes, more: Callable[[socket.socket], None] = lambda _: None,
        ) -> bytes:
    """What comes without TLS; Unmet if there is no end."""
    with socket.create_connection((server.host, server.port), PATIENCE_S) as client:
        client.sendall(sent)
        more(client)
        try:
            return b"".join(iter(lambda: client.recv(65_536), b""))
        except TimeoutError:
            raise Unmet("the connection was still open") from None
        except ConnectionError:
            return b""


def old(server: Server, name: str) -> None:
    with secured(server) as other:
        came = raw(other, client_hello(OLD[name]))
        visit(other, of("1.3"))
    if came[:1] != b"\x15" or came[5:] != PROTOCOL_VERSION:
        raise Unmet(f"{came!r} came")


def must_be_alerted(server: Server, hello: Hello, alert: str) -> None:
    with a_client(server, hello) as client:
        client.perform((LAST[0],))
        client.finish()
    if client.alert != alert:
        raise Unmet(f"the end was: {client.received().end} {client.alert}")


def cbc(server: Server) -> None:
    with secured(server) as other:
        must_be_alerted(other, of("1.2", ciphers=CBC), "SSLV3_ALERT_HANDSHAKE_FAILURE")


def alpn(server: Server, offered: list[str], agreed_on: str | None) -> None:
    with secured(server) as other:
        for name in VERSIONS:
            must_have(visit(other, of(name, alpn=offered)).protocol, agreed_on, "the protocol")


def alpn_mismatch(server: Server) -> None:
    """Not every Python knows its name."""
    with secured(server) as other:
        for name in VERSIONS:
            with a_client(other, of(name, alpn=["h2"])) as client:
                client.perform((LAST[0],))
                client.finish()
            if "no application protocol" not in client.alert.lower().replace("_", " "):
                raise Unmet(f"TLS {name}: the end was: {client.received().end} {client.alert}")
        visit(other, of("1.3", alpn=["http/1.1"]))


def named(server: Server, name: str | None, first: bool) -> None:
    pairs = [certificates.localhost(), certificates.other()]
    with secured(server, pairs=pairs) as other:
        for version in VERSIONS.values():
            found = visit(other, Hello(tls.context(versions=[version]), name))
            which = ("first" if found.cert == pairs[0].der else
                     "second" if found.cert == pairs[1].der else "neither")
            must_have(which, "first" if first else "second", "the certificate")


def resumes(server: Server, name: str) -> None:
    hello = of(name)
    with secured(server, "--threads", "4") as other:
        first = visit(other, hello)
        for _ in range(RESUMED):
            if not visit(other, Hello(hello.how, session=first.session)).resumed:
                raise Unmet("a whole handshake was made where there was a ticket")
    if first.resumed:
        raise Unmet("the first client was resumed")


def ticket(server: Server, name: str) -> bytes:
    """The name of the key of one (RFC 5077 §4), from openssl-s_client's dump."""
    said = s_client(server, f"-tls{name.replace('.', '_')}", "-ign_eof")
    lines = said.partition("TLS session ticket:\n")[2].splitlines()
    if not lines:
        raise Unmet("there was no ticket")
    return bytes.fromhex(lines[0].partition(" - ")[2][:47].replace("-", " "))


def key_of_tickets(server: Server, name: str) -> None:
    with secured(server, "--ticket-lifetime", "1") as other:
        one, same = ticket(other, name), ticket(other, name)
        time.sleep(1.1)
        later = ticket(other, name)
    if one != same:
        raise Unmet("two tickets that were made within a second name two keys")
    if one == later:
        raise Unmet("a ticket that was made more than a second later names the same key")


def old_ticket(server: Server, name: str) -> None:
    hello = of(name)
    with secured(server, "--ticket-lifetime", "1") as other:
        first = visit(other, hello)
        for pause_s, expected in ((1.2, True), (1.2, False)):
            time.sleep(pause_s)
            found = visit(other, Hello(hello.how, session=first.session))
            if found.resumed != expected:
                raise Unmet("it was resumed" if found.resumed else "it was not resumed")


def one_ticket(server: Server) -> None:
    with secured(server) as other:
        said = s_client(other, "-tls1_3", "-msg", "-ign_eof")
    must_have(said.count(", NewSessionTicket"), 1, "tickets")


def no_early_data(server: Server) -> None:
    with secured(server) as other:
        said = s_client(other, "-tls1_3", "-ign_eof")
    must_have(said.count("Max Early Data: 0"), said.count("Max Early Data: "), "tickets without")


@contextmanager
def replaceable(server: Server, *arguments: str, before: Sequence[Pair] = (),
                ) -> Iterator[tuple[Server, Pair]]:
    """A server whose last certificate stands in files that may be changed."""
    with TemporaryDirectory() as folder:
        pair = Pair(Path(folder, "cert.pem"), Path(folder, "key.pem"))
        put(certificates.other() if before else certificates.localhost(), pair)
        with secured(server, *arguments, pairs=[*before, pair]) as other:
            yield other, pair


def put(pair: Pair, place: Pair) -> None:
    shutil.copy(pair.cert, place.cert)
    shutil.copy(pair.key, place.key)


def meets(server: Server, pair: Pair, name: str = "localhost") -> bool:
    return visit(server, Hello(tls.context(), name)).cert == pair.der


def hangup(server: Server) -> None:
    renewed = certificates.renewed()
    with replaceable(server) as (other, place), a_client(other) as client:
        client.perform((GET[0], Await(GET[1])))
        put(renewed, place)
        os.kill(other.pid, signal.SIGHUP)
        until(lambda: meets(other, renewed), "new clients met the old certificate")
        client.perform((LAST[0],))
        must_be(client, client.finish(), GET[1] + PAGE_ANSWER)


def hangup_of_the_second(server: Server) -> None:
    new = certificates.other_renewed()
    with replaceable(server, before=[certificates.localhost()]) as (other, place):
        put(new, place)
        os.kill(other.pid, signal.SIGHUP)
        until(lambda: meets(other, new, "other.example"), "its clients met the old certificate")
        must_have(meets(other, certificates.localhost()), True, "the first is as it was")


def spoil(what: str, place: Pair) -> None:
    match what:
        case "no-pem":
            place.cert.write_text("no certificate\n")
        case "gone":
            place.cert.unlink()
        case "expired":
            put(certificates.expired(), place)
        case "other-key":
            shutil.copy(certificates.other().key, place.key)


def hangup_in_vain(server: Server, what: str, option: str) -> None:
    """One worker, so that it is who was in vain that serves both."""
    with replaceable(server, "--threads", "1") as (other, place):
        with a_client(other, Hello(tls.context(), cut=20)) as client:
            client.perform((GET[0], Await(GET[1])))
            spoil(what, place)
            os.kill(other.pid, signal.SIGHUP)
            file = place.cert if option == "--cert" else place.key
            until(lambda: f"{option} {file}: " in other.stderr, "the error log did not say so")
            client.perform((LAST[0],))
            must_be(client, client.finish(), GET[1] + PAGE_ANSWER)
        must_have(meets(other, certificates.localhost()), True, "the old certificate is used")


def cut(server: Server, name: str, size: int) -> None:
    body = noise(3000)
    sent, expect = chain((post(body, fields=HOST), echoed(body, "")), LAST)
    how = tls.context(versions=[VERSIONS[name]])
    with secured(server) as other:
        with a_client(other, Hello(how, cut=size, rest_s=0.0002 if size > 1 else 0)) as client:
            client.perform((sent,))
            must_be(client, client.finish(), expect)


def in_records(client: Client, pieces: Sequence[bytes], keep: int = 0) -> bytes:
    """Each piece in a record of its own, all in one go, but for the last `keep` bytes of
    ciphertext, which are returned.
    """
    assert client.secure
    sealed = client.secure.sealed(pieces)
    client.secure.send_sealed(sealed[:len(sealed) - keep], time.monotonic() + PATIENCE_S)
    return sealed[len(sealed) - keep:]


def records_of_one_byte(server: Server) -> None:
    sent, expect = chain(GET, LAST)
    with secured(server) as other, a_client(other) as client:
        in_records(client, [bytes([byte]) for byte in sent])
        must_be(client, client.finish(), expect)


def many_records(server: Server) -> None:
    count = 300
    with secured(server) as other, a_client(other) as client:
        in_records(client, [*[GET[0]] * (count - 1), LAST[0]])
        must_be(client, client.finish(), GET[1] * (count - 1) + LAST[1])


def records_and_a_part(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        rest = in_records(client, [GET[0], GET[0], LAST[0]], keep=30)
        client.perform((Await(2 * GET[1]),))
        assert client.secure
        client.secure.send_sealed(rest, time.monotonic() + PATIENCE_S)
        must_be(client, client.finish(), 2 * GET[1] + LAST[1])


def empty_records(server: Server) -> None:
    """openssl-s_client cannot make them, nor can Python: this is TLS 1.2, sealed by hand."""
    with secured(server) as other, a_client(other) as client:
        half = len(LAST[0]) // 2
        in_records(client, [LAST[0][:half], b"", LAST[0][half:]])
        must_be(client, client.finish(), LAST[1])


def pipelined(server: Server) -> None:
    sent, expect = chain(*[GET] * 99, LAST)
    with secured(server) as other, a_client(other) as client:
        client.perform((sent,))
        must_be(client, client.finish(), expect)


def key_update(server: Server, letter: str) -> None:
    step = f"{letter}\n".encode()
    pause = Pause(QUIET_S)
    with secured(server) as other:
        said = s_client(other, "-tls1_3", said=(pause, GET[0], pause, step, pause, GET[0], pause,
                                                step, pause, LAST[0], Pause(2 * QUIET_S)))
    must_have(said.count("KEYUPDATE"), 2, "updates that the client made")
    must_have(said.count("<h1>Hot Path</h1>"), 3, "pages")


def renegotiation(server: Server) -> None:
    with secured(server) as other:
        said = s_client(other, "-tls1_2", said=(Pause(QUIET_S), b"R\n", Pause(QUIET_S), LAST[0],
                                                Pause(QUIET_S)))
        visit(other, of("1.2"))
    if "RENEGOTIATING" not in said:
        raise Unable("this openssl does not renegotiate")
    if "no renegotiation" not in said or "<h1>Hot Path</h1>" in said:
        raise Unmet(f"openssl s_client says: {said[-300:]}")


def spoilt_record(server: Server) -> None:
    with secured(server, "--threads", "1") as other:
        with a_client(other, Hello(tls.context(), cut=20, rest_s=0.002)) as first:
            for turn in range(1, 4):
                with a_client(other, of("1.2")) as second:
                    second.perform((GET[0], Await(GET[1])))
                    assert second.secure
                    second.secure.send_sealed(b"\x17\3\3\0\x40" + bytes(64),
                                              time.monotonic() + PATIENCE_S)
                    second.finish()
                must_have(second.alert, "SSLV3_ALERT_BAD_RECORD_MAC", "the alert")
                first.perform((GET[0], Await(turn * GET[1])))
            first.perform((LAST[0],))
            must_be(first, first.finish(), 3 * GET[1] + LAST[1])


def goodbye(server: Server, arguments: tuple[str, ...], steps: tuple[Step, ...],
            expect: bytes) -> None:
    with secured(server, *arguments) as other:
        for name in VERSIONS:
            with a_client(other, of(name)) as client:
                client.perform(steps)
                must_be(client, client.finish(), expect)


def goodbye_at_the_stop(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        client.perform((GET[0], Await(GET[1])))
        other.ask_to_stop()
        must_be(client, client.finish(), GET[1])
        client.close()
        stop(other)


def goodbye_of_a_client(server: Server) -> None:
    """Without FIN: TLS alone says that it has ended."""
    with secured(server) as other, a_client(other) as client:
        client.perform((GET[0] * 3,))
        assert client.secure
        client.secure.say_goodbye()
        must_be(client, client.finish(), GET[1] * 3)


def goodbye_in_a_body(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        client.perform((post(b"x" * 10, b"/sink", length=b"20"), Pause(0.1)))
        assert client.secure
        client.secure.say_goodbye()
        must_be(client, client.finish(), b"")


def goodbye_before_reading(server: Server) -> None:
    body = noise(MIB)
    with secured(server) as other, a_client(other, narrow=True) as client:
        client.perform((post(body, fields=HOST),))
        assert client.secure
        client.secure.say_goodbye()
        client.perform((Pause(QUIET_S),))
        must_be(client, client.finish(), echoed(body, ""))


def cut_off(client: Client) -> None:
    """FIN, and nothing before it."""
    assert client.secure
    client.secure.plain.shutdown(socket.SHUT_WR)


def truncated_in_a_head(server: Server) -> None:
    pair = certificates.localhost()
    with logging(server, *pair.options) as (other, file):
        with a_client(other) as client:
            client.perform((GET[0], Await(GET[1]), get(b"/half")[:-2], Pause(0.1)))
            cut_off(client)
            received = client.finish()
        stop(other)
        lines = read(file)
    if received.data != GET[1] or received.end not in ("truncated", "reset"):
        raise Unmet(f"{received.data.removeprefix(GET[1])!r} came, and the end was: {received.end}")
    must_have([line.status for line in lines], [200, None], "the log's lines")
    must_have(lines[1], Line(b"GET /half HTTP/1.1", None), "the second line")


def truncated_behind_requests(server: Server) -> None:
    """What came before may be answered before it is known."""
    with secured(server) as other, a_client(other) as client:
        client.perform((GET[0] * 3,))
        cut_off(client)
        received = client.finish()
    whole = (GET[1] * 3).startswith(received.data)
    if received.end not in ("truncated", "reset") or not whole:
        raise Unmet(f"{len(received.data):,} bytes came, and the end was: {received.end}")


def plain_http(server: Server) -> None:
    with secured(server) as other:
        for request in (PLAIN, PLAIN.replace(b"GET", b"HEAD"), post(b"x" * 100)):
            came = raw(other, request)
            if not came.startswith(b"HTTP/1.1 400 Bad Request\r\n"):
                raise Unmet(f"{request[:4]!r}: {came[:40]!r} came")
        visit(other, of("1.3"))


def garbage(server: Server) -> None:
    with secured(server) as other:
        for sent in (noise(1000), b"\0" * 2000, b"\x80\x2e\1\3\1" + bytes(80), b"\x16\3\1\xff\xff"):
            raw(other, sent)
        visit(other, of("1.3"))


def seconds_until_cut_off(server: Server, sent: Iterator[bytes]) -> float:
    started = time.monotonic()
    with socket.create_connection((server.host, server.port), 0.25) as client:
        while time.monotonic() < started + PATIENCE_S:
            try:
                client.sendall(next(sent, b""))
                if not client.recv(4096):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
    return time.monotonic() - started


def must_be_cut_off(server: Server, sent: Iterator[bytes]) -> None:
    lasted_s = seconds_until_cut_off(server, sent)
    if not EARLY_S <= lasted_s < PATIENCE_S:
        raise Unmet(f"it was cut off after {lasted_s:.1f} s")


def half_handshake(server: Server, sent: bytes) -> None:
    with secured(server, *Limits(head=1).option()) as other:
        must_be_cut_off(other, iter([sent]))


def handshake_byte_by_byte(server: Server) -> None:
    with secured(server, *Limits(head=1).option()) as other:
        must_be_cut_off(other, iter([HALF[i:i + 1] for i in range(len(HALF))]))


def handshake_in_time(server: Server) -> None:
    with secured(server, *Limits(head=1).option()) as other, a_client(other) as client:
        client.perform((Pause(3.2), LAST[0]))
        must_be(client, client.finish(), LAST[1])


def one_too_many(server: Server) -> None:
    with secured(server, "--max-clients", "2") as other:
        with a_client(other) as one, a_client(other) as two:
            for client in (one, two):
                client.perform((GET[0], Await(GET[1])))
            must_have(raw(other, b""), b"", "what came for the third")
            two.close()
            until(lambda: is_served(other), "nobody was served in the place of the one who left")
            one.perform((LAST[0],))
            must_be(one, one.finish(), GET[1] + LAST[1])


def is_served(server: Server) -> bool:
    with suppress(Unmet):
        visit(server, of("1.3"))
        return True
    return False


def hello_record() -> bytes:
    """The first that a client sends."""
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        tls.context().wrap_bio(came, goes).do_handshake()
    return goes.read()


def flood(server: Server) -> None:
    """It sleeps until all is there, and again as soon as the one has its answer."""
    first = hello_record()
    with secured(server, "--threads", "1") as other, a_client(other) as known, ExitStack() as stack:
        known.perform((GET[0], Await(GET[1])))
        others = [stack.enter_context(socket.create_connection((other.host, other.port)))
                  for _ in range(FLOOD)]
        visit(other, of("1.3"))  # so that all have been accepted
        os.kill(other.pid, signal.SIGSTOP)
        try:
            for one in others:
                one.sendall(first)
            known.perform((GET[0],))
            os.kill(other.pid, signal.SIGCONT)
            known.perform((Await(2 * GET[1]),))
            os.kill(other.pid, signal.SIGSTOP)
            answered = sum(has_come(one) for one in others)
        finally:
            os.kill(other.pid, signal.SIGCONT)
        if known.ended:
            raise Unmet("the one was not answered")
        if answered >= FLOOD / 2:
            raise Unmet(f"{answered} of {FLOOD} were answered first")
        for one in others:
            one.settimeout(PATIENCE_S)
            if not one.recv(1):
                raise Unmet("one of them had no answer at all")


def has_come(client: socket.socket) -> bool:
    poller = select.poll()  # select(2) knows only the first thousand descriptors
    poller.register(client, select.POLLIN)
    return bool(poller.poll(0))


def echo(server: Server, size: int) -> None:
    body = noise(size)
    with secured(server) as other:
        for name in VERSIONS:
            with a_client(other, of(name)) as client:
                client.perform((post(body),))
                must_be(client, client.finish(), echoed(body))


def late_readers(server: Server) -> None:
    bodies = [noise(2 * MIB + number) for number in range(3)]
    with secured(server, "--threads", "1") as other, ExitStack() as stack:
        clients = [stack.enter_context(a_client(other, narrow=True)) for _ in bodies]
        left = [memoryview(post(body)) for body in bodies]
        left = [rest[client.offer(rest, QUIET_S):]
                for client, rest in zip(clients, left, strict=True)]
        for client, rest, body in zip(clients, left, bodies, strict=True):
            client.perform((bytes(rest),))
            must_be(client, client.finish(), echoed(body))


def slow_reader(server: Server) -> None:
    body = noise(MIB)
    with secured(server) as other, a_client(other, narrow=True) as client:
        client.perform((Sip(5000, 0.001), post(body)))
        must_be(client, client.finish(), echoed(body))


def make_files(root: Path) -> None:
    for name, size in SITE_FILES.items():
        (root / name).write_bytes(noise(size))


@contextmanager
def serving_files(server: Server) -> Iterator[tuple[Server, Path]]:
    with TemporaryDirectory() as folder:
        make_files(Path(folder))
        with secured(server, "--root", folder, "--threads", "1") as other:
            yield other, Path(folder)


def file_of(size: int) -> bytes:
    return answer("200 OK", BYTES, noise(size))


def files(server: Server) -> None:
    with serving_files(server) as (other, _):
        for name, size in SITE_FILES.items():
            for first, last in ((0, size - 1), (size // 3, size - 1), (size // 2, size // 2)):
                with a_client(other) as client:
                    client.perform((get(f"/{name}".encode(), ranged(first, last)),))
                    received = client.finish()
                body = received.raw.partition(b"\r\n\r\n")[2]
                if body != noise(size)[first:last + 1] or received.end != "closed":
                    raise Unmet(f"of {name}, bytes {first} to {last}, {len(body):,} came, other "
                                f"ones among them, or the end was not: {received.end}")


def ranged(first: int, last: int) -> bytes:
    return HOST + b"Connection: close\r\nRange: bytes=%d-%d\r\n" % (first, last)


def file_late_reader(server: Server) -> None:
    with serving_files(server) as (other, _), a_client(other, narrow=True) as client:
        client.perform((get(b"/large.bin", HOST) + get(b"/large.bin"), Pause(QUIET_S)))
        size = SITE_FILES["large.bin"]
        expect = file_of(size).replace(b"Connection: close\r\n", b"") + file_of(size)
        must_be(client, client.finish(), expect)


def file_that_shrinks(server: Server) -> None:
    size = SITE_FILES["large.bin"]
    with serving_files(server) as (other, root), a_client(other, narrow=True) as client:
        client.perform((get(b"/large.bin"), Await(b"200 OK"), Pause(QUIET_S)))
        os.truncate(root / "large.bin", size // 2)
        received = client.finish()
    if received.end not in ("truncated", "reset"):
        raise Unmet(f"{len(received.data):,} bytes came, and the end was: {received.end}")
    if not file_of(size).startswith(received.data):
        raise Unmet("other bytes came")


def rests(server: Server, steps: tuple[Step, ...]) -> None:
    with secured(server) as other:
        for name in VERSIONS:
            with a_client(other, of(name), narrow=True) as client:
                client.perform(steps)
                must_rest(other)
                if client.ended:
                    raise Unmet(f"the end was: {client.received().end}")


def rests_in_a_handshake(server: Server) -> None:
    with secured(server) as other, ExitStack() as stack:
        for sent in (b"", HALF, hello_record()):
            client = stack.enter_context(socket.create_connection((other.host, other.port)))
            client.sendall(sent)
        must_rest(other)


def rests_in_a_record(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        rest = in_records(client, [GET[0], LAST[0]], keep=9)
        must_rest(other)
        assert client.secure
        client.secure.send_sealed(rest, time.monotonic() + PATIENCE_S)
        must_be(client, client.finish(), GET[1] + LAST[1])


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def answered_and_reset(client: socket.socket) -> None:
    client.recv(1)
    reset(client)


def fail(server: Server, sent: bytes, then: Callable[[socket.socket], None]) -> None:
    with socket.create_connection((server.host, server.port), PATIENCE_S) as client:
        with suppress(ConnectionError):
            client.sendall(sent)
            then(client)


def until_the_end(client: socket.socket) -> None:
    while client.recv(4096):
        pass


Failure = tuple[str, Callable[[], bytes], Callable[[socket.socket], None]]
FAILURES: dict[str, Failure] = {
    "plain-http": ("speaks plain HTTP", lambda: PLAIN, until_the_end),
    "an-old-version": ("speaks TLS 1.0", lambda: client_hello(OLD["1.0"]), until_the_end),
    "half-a-hello": ("leaves in its first record", lambda: HALF, lambda _: None),
    "a-reset": ("resets its connection in its first record", lambda: HALF, reset),
    "half-a-handshake": ("resets its connection in the middle of the handshake", hello_record,
                         answered_and_reset),
}


def failed_give_back(server: Server) -> None:
    with secured(server, few_descriptors=FEW_DESCRIPTORS) as other:
        for does, sent, then in FAILURES.values():
            first = sent()
            for _ in range(FAILED):
                fail(other, first, then)
            try:
                visit(other, of("1.3"))
            except Unmet as problem:
                raise Unmet(f"after {FAILED} clients each of which {does}: {problem}") from None


def memory_after(server: Server, what: str) -> None:
    _, sent, then = FAILURES[what]
    with secured(server) as other:
        must_be_plain(other)
        first = sent()
        for _ in range(FIRST):
            fail(other, first, then)
        for _ in range(ROUNDS):
            before = other.own_bytes()
            for _ in range(CLIENTS):
                fail(other, first, then)
            left = left_over(other, before, CLIENTS * LEAST) / CLIENTS
            if left < LEAST:
                return
    raise Unmet(f"each left {left:,.0f} bytes behind")


def refused(server: Server, what: str, words: tuple[str, ...]) -> None:
    """With a terminal of its own it would ask there."""
    secured_at_all(server)
    with TemporaryDirectory() as folder:
        text = Path(folder, "text.pem")
        text.write_text("no certificate\n")
        in_vain(server, arguments_of(what, text), words)


def secured_at_all(server: Server) -> None:
    with secured(server):
        pass


def arguments_of(what: str, text: Path) -> tuple[str, ...]:
    good = certificates.localhost()
    cert, key = str(good.cert), str(good.key)
    return {
        "cert-nowhere": ("--cert", "/nowhere/cert.pem", "--key", key),
        "cert-is-no-pem": ("--cert", str(text), "--key", key),
        "cert-is-a-folder": ("--cert", str(text.parent), "--key", key),
        "cert-without-a-name": ("--cert", "", "--key", key),
        "cert-expired": certificates.expired().options,
        "cert-not-yet-valid": certificates.not_yet_valid().options,
        "key-nowhere": ("--cert", cert, "--key", "/nowhere/key.pem"),
        "key-is-no-pem": ("--cert", cert, "--key", str(text)),
        "key-has-a-pass-phrase": certificates.protected().options,
        "key-of-another": certificates.mismatched().options,
        "key-too-few": (*good.options, "--cert", str(certificates.other().cert)),
        "cert-too-few": (*good.options, "--key", str(certificates.other().key)),
        "second-cert-expired": (*good.options, *certificates.expired().options),
        "lifetime-of-none": (*good.options, "--ticket-lifetime", "0"),
        "lifetime-of-no-number": (*good.options, "--ticket-lifetime", "1h"),
    }[what]
