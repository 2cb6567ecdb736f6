"""TLS on the one port: what is negotiated and what is refused, which certificate is presented for
which name, resumed sessions, and what a server can't be started with. over_tls checks that
everything else works over TLS as it does without.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.checks.behaviour import tls_handshakes, tls_records
from workbook.checks.behaviour.alone import alone
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.log import in_vain, until
from workbook.checks.behaviour.rows import BAD, PAGE_ANSWER, Case, Unmet, get
from workbook.checks.behaviour.tls_clients import (
    VERSIONS,
    a_client,
    connection,
    must_be,
    must_have,
    of,
    raw,
    s_client,
    secured,
)
from workbook.checks.behaviour.tls_handshakes import OLD, client_hello
from workbook.checks.behaviour.unchanged import GET, LAST
from workbook.servers import certificates, tls
from workbook.servers.certificates import Pair
from workbook.servers.client import Await
from workbook.servers.process import Server
from workbook.servers.tls import Hello

SUITES = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
CIPHERS = ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
REFERENCES = ("RFC 9325 §4.2 (SHOULD)", "RFC 9325 §4.2 (SHOULD)", "RFC 7905 §2 (ours)")  # of each
OLD_VERSIONS = {"1.0": "RFC 8996 §4, RFC 8446 §D.2 (MUST)",
                "1.1": "RFC 8996 §5, RFC 8446 §D.2 (MUST)"}
CBC = "ECDHE-ECDSA-AES128-SHA256"  # RFC 9325 §4.2: no longer recommended
PROTOCOL_VERSION = b"\2\x46"  # RFC 8446 §6.2: fatal, 70
LIFETIME_S = 2
RESUMED = 8  # connections that present the same ticket


def negotiated() -> Iterator[Case]:
    yield from agreed()
    yield from names()
    yield from schemes()
    yield from tls_handshakes.without_tls()
    yield from tls_records.records()


def sent() -> Iterator[Case]:
    yield from tls_records.echoes()
    yield from tls_handshakes.unread()


def agreed() -> Iterator[Case]:
    for name, reference in zip(CIPHERS, REFERENCES, strict=True):
        yield alone(f"1.2-{name.lower()}", reference,
                    f"a client speaks TLS 1.2 and has only ECDHE-ECDSA-{name}",
                    "the page, by that", partial(by_cipher, name=name))
    for name in SUITES:
        yield alone(f"1.3-{name.lower().replace('_', '-')}",
                    f"RFC 8446 §9.1 ({'MUST' if name == SUITES[0] else 'SHOULD'})",
                    f"a client speaks TLS 1.3 and has only {name}", "the page, by that",
                    partial(by_suite, name=name))
    yield alone("server-cipher-order", "RFC 5246 §7.4.1.3, RFC 8446 §4.1.3 (ours)",
                "clients of TLS 1.2 and 1.3 have AES-256, AES-128 and ChaCha20, in this order",
                "the page, by AES-128-GCM", server_prefers)
    yield alone("rsa", "RFC 9325 §4.1 (MUST), §4.2.1 (ours)",
                "the certificate is one of RSA; clients of TLS 1.2 and 1.3 come",
                "the page for each, by AES-128-GCM with ephemeral keys", rsa)
    yield alone("chain", "SSL_CTX_use_certificate_chain_file(3)",
                "there is another certificate after the first in --cert", "both are sent", chained)
    for name in OLD:
        yield alone(f"version-{name}", OLD_VERSIONS[name],
                    f"a client speaks TLS {name} and nothing later",
                    "the alert protocol_version, and the end", partial(old, name=name))
    yield alone("cbc", "RFC 9325 §4.2 (SHOULD), RFC 5246 §7.2.2 (MUST)",
                f"a client has only {CBC}",
                "the alert handshake_failure, and the end", cbc)
    for what, offered, agreed_on in [
        ("1.1", ["http/1.1"], "http/1.1"), ("1.0", ["http/1.0"], "http/1.0"),
        ("1.0-and-1.1", ["http/1.0", "http/1.1"], "http/1.1"),
        ("h2-and-1.1", ["h2", "http/1.1"], "http/1.1"), ("none", [], None),
    ]:
        yield alone(f"alpn-{what}", "RFC 7301 §3.2 (SHOULD)" if offered else
                    "RFC 8446 §4.2, RFC 5246 §7.4.1.4 (MUST)",
                    f"a client offers {', '.join(offered) or 'no protocol'}",
                    f"the page, by {agreed_on or 'no protocol that was named'}",
                    partial(alpn, offered=offered, agreed_on=agreed_on))
    yield alone("alpn-h2", "RFC 7301 §3.2 (MUST)", "clients of TLS 1.2 and 1.3 offer h2 alone",
                "the alert no_application_protocol, and the end", alpn_mismatch)


def names() -> Iterator[Case]:
    matched, unmatched = "RFC 9325 §3.7 (MUST), RFC 6066 §3 (MAY)", "RFC 6066 §3 (ours)"
    for what, reference, name, first in [
        ("known", matched, "other.example", False), ("wildcard", matched, "a.wild.example", False),
        ("upper-case", matched, "OTHER.Example", False),
        ("unknown", unmatched, "nowhere.example", True),
        ("none", unmatched, None, True),
        ("two-labels-for-a-wildcard", unmatched, "a.b.wild.example", True),
        ("of-the-first", matched, "localhost", True),
    ]:
        yield alone(f"name-{what}", f"{reference}; X509_check_host(3)",
                    "the server has two certificates; clients of TLS 1.2 and 1.3 "
                    + (f"ask for {name}" if name else "name no host"),
                    f"the page, and the {'first' if first else 'second'} certificate",
                    partial(named, name=name, first=first))


    yield alone("ec-and-rsa-for-one-name", "RFC 5246 §7.4.2 (MUST); SSL_CTX_use_certificate(3)",
                "the server has two certificates for localhost, of EC and of RSA; clients of TLS "
                "1.2 can verify only one, with and without asking for that name",
                "the page, and the certificate that each can verify", two_of_one_name)


def schemes() -> Iterator[Case]:
    for what, reference, target in [
        ("", "RFC 9112 §3.2.2 (MUST)", b"https://localhost/"),
        ("-in-upper-case", "RFC 9112 §3.2.2, RFC 9110 §4.2.3 (MUST)", b"HTTPS://LOCALHOST/"),
        ("-without-path", "RFC 9112 §3.2.2, RFC 9110 §4.2.3 (MUST)", b"https://localhost"),
    ]:
        yield alone(f"absolute-form-of-https{what}", reference,
                    f"a client sends GET {target.decode()}, as the first request and as the second",
                    "the page",
                    partial(absolute, target=target, expect=PAGE_ANSWER))
    yield alone("absolute-form-of-http", "RFC 9110 §7.4 (ours)",
                "a client sends GET http://localhost/ over TLS, as the first request and as the second",
                    "400, and the end",
                partial(absolute, target=b"http://localhost/", expect=BAD))


def resumed() -> Iterator[Case]:
    for name in VERSIONS:
        yield alone(f"resumed-{name}",
                    "RFC 5077 §3.1 (ours)" if name == "1.2" else "RFC 8446 §4.6.1 (MAY)",
                    f"a client of TLS {name} has the page, of a server with four threads; its "
                    f"ticket comes back on {RESUMED} connections", "all are resumed",
                    partial(resumes, name=name))
        yield alone(f"ticket-key-rotates-{name}", "RFC 9325 §3.4 (MUST), RFC 5077 §5.5 (SHOULD)",
                    f"clients of TLS {name} get tickets; the server has --ticket-lifetime 1; "
                    "more than a second later another one does",
                    "the first two tickets name one key, the third another",
                    partial(key_of_tickets, name=name))
        yield alone(f"old-ticket-{name}", "RFC 9325 §3.4 (MUST)",
                    f"the server has --ticket-lifetime {LIFETIME_S}; a client of TLS {name} comes "
                    "back after more than that, and after more than twice that",
                    "the first time it is resumed; the second it is served after a whole handshake",
                    partial(old_ticket, name=name))
    yield alone("one-ticket", "SSL_CTX_set_num_tickets(3)", "a client of TLS 1.3 has the page",
                "and one ticket", one_ticket)
    yield alone("no-early-data", "RFC 8446 §4.2.10, §8 (ours)", "a client of TLS 1.3 has a ticket",
                "which allows no early data", no_early_data)


def read_again() -> Iterator[Case]:
    yield alone("sighup", "SIGHUP; SSL_CTX_free(3), reference counts",
                "a client has the page; certificate and key are replaced; SIGHUP",
                "new clients meet the new certificate; the old one's connection is as it was", hangup)
    yield alone("sighup-second-certificate", "SIGHUP",
                "the same with the second of two certificates",
                "a client that asks for its host gets the new one", hangup_of_the_second)
    for what, does, option in [
        ("not-pem", "the certificate is overwritten with something else", "--cert"),
        ("missing", "the certificate is removed", "--cert"),
        ("expired", "the certificate is replaced by one that has expired", "--cert"),
        ("other-key", "the key is replaced by that of another certificate", "--key"),
    ]:
        yield alone(f"sighup-{what}", "SIGHUP; ERR_clear_error(3)", f"{does}; SIGHUP",
                    f"the error log names {option} and the file; old and new clients are served "
                    "with the old certificate", partial(hangup_in_vain, what=what, option=option))


def options() -> Iterator[Case]:
    for what, done, words in [
        ("cert-missing", "a --cert that is not there", ("--cert", "/nowhere/cert.pem")),
        ("cert-not-pem", "a --cert that holds something else", ("--cert", "text.pem")),
        ("cert-is-a-folder", "a folder as --cert", ("--cert",)),
        ("cert-with-empty-name", "an empty --cert", ("--cert",)),
        ("cert-expired", "a --cert that has expired", ("--cert", "expired/cert.pem", "expired")),
        ("cert-not-yet-valid", "a --cert that is not valid yet",
         ("--cert", "not-yet-valid/cert.pem", "not valid yet")),
        ("key-missing", "a --key that is not there", ("--key", "/nowhere/key.pem")),
        ("key-not-pem", "a --key that holds something else", ("--key", "text.pem")),
        ("key-with-passphrase", "a --key with a pass phrase",
         ("--key", "protected.key", "pass phrase")),
        ("key-of-another-certificate", "the --key of another certificate",
         ("--key", "other/key.pem")),
        ("fewer-keys-than-certs", "two --cert and one --key", ("--cert", "--key")),
        ("fewer-certs-than-keys", "one --cert and two --key", ("--cert", "--key")),
        ("second-cert-expired", "a second --cert that has expired", ("--cert", "expired")),
        ("second-cert-for-the-same-names", "two --cert for the same names, both with an EC key",
         ("--cert", "renewed/cert.pem", "names")),
        ("lifetime-zero", "--ticket-lifetime 0", ("--ticket-lifetime 0",)),
        ("lifetime-not-a-number", "--ticket-lifetime 1h", ("--ticket-lifetime 1h",)),
    ]:
        yield alone(what, "the chapter's page", f"the server is started with {done}, on a port that "
                    "is taken", "it names the wrong option, does not prompt, and ends with 1",
                    partial(refused, what=what, words=words))


def by_cipher(server: Server, name: str) -> None:
    with secured(server) as other:
        found = connection(other, of("1.2", ciphers=f"ECDHE-ECDSA-{name}"))
    must_have((found.version, found.cipher), ("TLSv1.2", f"ECDHE-ECDSA-{name}"), "it was")


def by_suite(server: Server, name: str) -> None:
    with secured(server) as other:
        output = s_client(other, "-tls1_3", "-ciphersuites", name, "-ign_eof")
    if f"Cipher is {name}" not in output or "<h1>Hot Path</h1>" not in output:
        raise Unmet(f"openssl s_client says: {output[-300:]}")


def server_prefers(server: Server) -> None:
    order = [f"ECDHE-ECDSA-{CIPHERS[i]}" for i in (1, 0, 2)]
    with secured(server) as other:
        must_have(connection(other, of("1.2", ciphers=":".join(order))).cipher,
                  f"ECDHE-ECDSA-{CIPHERS[0]}", "TLS 1.2")
        output = s_client(other, "-tls1_3", "-ciphersuites",
                          ":".join((SUITES[1], SUITES[0], SUITES[2])), "-ign_eof")
    if f"Cipher is {SUITES[0]}" not in output:
        raise Unmet(f"openssl s_client says: {output[-300:]}")


def two_of_one_name(server: Server) -> None:
    """In both orders. Clients that name no host get the first certificate."""
    pairs = {"ECDSA": certificates.localhost(), "RSA": certificates.rsa()}
    for order in (pairs, dict(reversed(pairs.items()))):
        with secured(server, pairs=list(order.values())) as other:
            for name in ("localhost", None):
                for key, pair in order.items():
                    how = tls.context(versions=[VERSIONS["1.2"]],
                                      ciphers=f"ECDHE-{key}-{CIPHERS[0]}")
                    must_have(connection(other, Hello(how, name)).cert, pair.der, "the certificate")


def absolute(server: Server, target: bytes, expect: bytes) -> None:
    """A connection's second request has the same scheme as the first."""
    with secured(server) as other:
        for before in ((), (GET[0], Await(GET[1]))):
            with a_client(other) as client:
                client.perform((*before, get(target)))
                must_be(client, client.finish(), (GET[1] if before else b"") + expect)


def rsa(server: Server) -> None:
    with secured(server, pairs=[certificates.rsa()]) as other:
        found = [connection(other, of(name)) for name in VERSIONS]
    must_have([one.cipher for one in found], [f"ECDHE-RSA-{CIPHERS[0]}", SUITES[0]], "it was")
    must_have({one.cert for one in found}, {certificates.rsa().der}, "the certificate")


def chained(server: Server) -> None:
    with TemporaryDirectory() as folder:
        cert = Path(folder, "chain.pem")
        first, second = certificates.localhost(), certificates.other()
        cert.write_bytes(first.cert.read_bytes() + second.cert.read_bytes())
        with secured(server, pairs=[Pair(cert, first.key)]) as other:
            output = s_client(other, "-showcerts", "-ign_eof")
    must_have(output.count("BEGIN CERTIFICATE"), 2, "certificates that were sent")


def old(server: Server, name: str) -> None:
    with secured(server) as other:
        came = raw(other, client_hello(OLD[name]))
        connection(other, of("1.3"))
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
            must_have(connection(other, of(name, alpn=offered)).protocol, agreed_on, "the protocol")


def alpn_mismatch(server: Server) -> None:
    """Not every Python has a name for this alert."""
    with secured(server) as other:
        for name in VERSIONS:
            with a_client(other, of(name, alpn=["h2"])) as client:
                client.perform((LAST[0],))
                client.finish()
            if "no application protocol" not in client.alert.lower().replace("_", " "):
                raise Unmet(f"TLS {name}: the end was: {client.received().end} {client.alert}")
        connection(other, of("1.3", alpn=["http/1.1"]))


def named(server: Server, name: str | None, first: bool) -> None:
    pairs = [certificates.localhost(), certificates.other()]
    with secured(server, pairs=pairs) as other:
        for version in VERSIONS.values():
            found = connection(other, Hello(tls.context(versions=[version]), name))
            which = ("first" if found.cert == pairs[0].der else
                     "second" if found.cert == pairs[1].der else "neither")
            must_have(which, "first" if first else "second", "the certificate")


def resumes(server: Server, name: str) -> None:
    hello = of(name)
    with secured(server, "--threads", "4") as other:
        first = connection(other, hello)
        for _ in range(RESUMED):
            if not connection(other, Hello(hello.how, session=first.session)).resumed:
                raise Unmet("a whole handshake was made where there was a ticket")
    if first.resumed:
        raise Unmet("the first client was resumed")


def ticket(server: Server, name: str) -> bytes:
    """Returns the name of a ticket's key (RFC 5077 §4), from the dump of openssl-s_client."""
    output = s_client(server, f"-tls{name.replace('.', '_')}", "-ign_eof")
    lines = output.partition("TLS session ticket:\n")[2].splitlines()
    if not lines:
        raise Unmet("there was no ticket")
    return bytes.fromhex(lines[0].partition(" - ")[2][:47].replace("-", " "))


def key_of_tickets(server: Server, name: str) -> None:
    for lifetime_s in (1, 5, 20):  # a longer one if two connections take longer than that
        began = time.monotonic()
        with secured(server, "--ticket-lifetime", str(lifetime_s)) as other:
            one, same = ticket(other, name), ticket(other, name)
            if time.monotonic() - began > lifetime_s and lifetime_s < 20:
                continue
            time.sleep(lifetime_s + 0.1)
            later = ticket(other, name)
            break
    if one != same:
        raise Unmet("two tickets that were made within the lifetime of a key name two")
    if one == later:
        raise Unmet("a ticket that was made after the lifetime of a key names the same key")


def old_ticket(server: Server, name: str) -> None:
    """If a busy machine takes too long, a ticket that should be valid may have expired; that is
    ignored.
    """
    hello, started = of(name), time.monotonic()
    with secured(server, "--ticket-lifetime", str(LIFETIME_S)) as other:
        first = connection(other, hello)
        for pause_s, expected in ((1.2 * LIFETIME_S, True), (LIFETIME_S, False)):
            time.sleep(pause_s)
            found = connection(other, Hello(hello.how, session=first.session))
            late = time.monotonic() > started + 2 * LIFETIME_S
            if found.resumed != expected and not (expected and late):
                raise Unmet("it was resumed" if found.resumed else "it was not resumed")


def one_ticket(server: Server) -> None:
    with secured(server) as other:
        output = s_client(other, "-tls1_3", "-msg", "-ign_eof")
    must_have(output.count(", NewSessionTicket"), 1, "tickets")


def no_early_data(server: Server) -> None:
    with secured(server) as other:
        output = s_client(other, "-tls1_3", "-ign_eof")
    must_have(
    output.count("Max Early Data: 0"),
    output.count("Max Early Data: "),
     "tickets without")


@contextmanager
def replaceable(server: Server, *arguments: str, before: Sequence[Pair] = (),
                ) -> Iterator[tuple[Server, Pair]]:
    """Yields a server whose last certificate is in files that may be changed, and these files."""
    with TemporaryDirectory() as folder:
        pair = Pair(Path(folder, "cert.pem"), Path(folder, "key.pem"))
        put(certificates.other() if before else certificates.localhost(), pair)
        with secured(server, *arguments, pairs=[*before, pair]) as other:
            yield other, pair


def put(pair: Pair, location: Pair) -> None:
    shutil.copy(pair.cert, location.cert)
    shutil.copy(pair.key, location.key)


def meets(server: Server, pair: Pair, name: str = "localhost") -> bool:
    return connection(server, Hello(tls.context(), name)).cert == pair.der


def hangup(server: Server) -> None:
    renewed = certificates.renewed()
    with replaceable(server) as (other, location), a_client(other) as client:
        client.perform((GET[0], Await(GET[1])))
        put(renewed, location)
        os.kill(other.pid, signal.SIGHUP)
        until(lambda: meets(other, renewed), "new clients met the old certificate")
        client.perform((LAST[0],))
        must_be(client, client.finish(), GET[1] + PAGE_ANSWER)


def hangup_of_the_second(server: Server) -> None:
    new = certificates.other_renewed()
    with replaceable(server, before=[certificates.localhost()]) as (other, location):
        put(new, location)
        os.kill(other.pid, signal.SIGHUP)
        until(lambda: meets(other, new, "other.example"), "its clients met the old certificate")
        must_have(meets(other, certificates.localhost()), True, "the first is as it was")


def spoil(what: str, location: Pair) -> None:
    match what:
        case "not-pem":
            location.cert.write_text("no certificate\n")
        case "missing":
            location.cert.unlink()
        case "expired":
            put(certificates.expired(), location)
        case "other-key":
            shutil.copy(certificates.other().key, location.key)


def hangup_in_vain(server: Server, what: str, option: str) -> None:
    """The server has one worker, so that the worker whose reload failed serves both clients."""
    with replaceable(server, "--threads", "1") as (other, location):
        with a_client(other, Hello(tls.context(), cut=20)) as client:
            client.perform((GET[0], Await(GET[1])))
            spoil(what, location)
            os.kill(other.pid, signal.SIGHUP)
            file = location.cert if option == "--cert" else location.key
            until(lambda: f"{option} {file}: " in other.stderr, "the error log did not report it")
            client.perform((LAST[0],))
            must_be(client, client.finish(), GET[1] + PAGE_ANSWER)
        must_have(meets(other, certificates.localhost()), True, "the old certificate is used")


def refused(server: Server, what: str, words: tuple[str, ...]) -> None:
    """A server that asked for a passphrase on its terminal would hang here."""
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
        "cert-missing": ("--cert", "/nowhere/cert.pem", "--key", key),
        "cert-not-pem": ("--cert", str(text), "--key", key),
        "cert-is-a-folder": ("--cert", str(text.parent), "--key", key),
        "cert-with-empty-name": ("--cert", "", "--key", key),
        "cert-expired": certificates.expired().options,
        "cert-not-yet-valid": certificates.not_yet_valid().options,
        "key-missing": ("--cert", cert, "--key", "/nowhere/key.pem"),
        "key-not-pem": ("--cert", cert, "--key", str(text)),
        "key-with-passphrase": certificates.protected().options,
        "key-of-another-certificate": certificates.mismatched().options,
        "fewer-keys-than-certs": (*good.options, "--cert", str(certificates.other().cert)),
        "fewer-certs-than-keys": (*good.options, "--key", str(certificates.other().key)),
        "second-cert-for-the-same-names": (*good.options, *certificates.renewed().options),
        "second-cert-expired": (*good.options, *certificates.expired().options),
        "lifetime-zero": (*good.options, "--ticket-lifetime", "0"),
        "lifetime-not-a-number": (*good.options, "--ticket-lifetime", "1h"),
    }[what]


CHECKS = (
    group("tls-options", "certificates, keys and options of TLS", options, level=15),
    group("tls", "what TLS agrees on, and records however they come", negotiated, level=15),
    group("tls-sending", "answers in records to clients that read late", sent, level=15),
    group("tls-files", "files over TLS", tls_records.files_over_it, level=15),
    group("tls-ends", "the ends of TLS connections", tls_records.ends, level=15),
    group("tls-limits", "handshakes that are late, too many or broken", tls_handshakes.cases,
          level=15),
    group("tls-tickets", "session tickets", resumed, level=15),
    group("tls-reload", "certificates that are replaced", read_again, level=15),
)
