"""TLS is judged rightly: what the client tells of an end, the certificates that it brings along, and
all that held before over TLS.
"""

from __future__ import annotations

import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import programs
import pytest
from scheduling import judging

from workbook.checks import registry
from workbook.checks.behaviour import over_tls, schemes, suite
from workbook.checks.behaviour.rows import Case
from workbook.common.paths import SOLUTIONS
from workbook.course import trees
from workbook.servers import certificates, tls
from workbook.servers.client import Client, Pause, Received, Step

SECURED = [name for name in sorted(path.name for path in SOLUTIONS.glob("[0-9]*"))
           if trees.source(SOLUTIONS / name, "tls.h").exists()]
AT_A_TIME = 12  # cases with a server of their own, whose clients all are Python's

pytestmark = [pytest.mark.usefixtures("no_process_left"), pytest.mark.timeout(1800)]


@contextmanager
def peer(does: Callable[[ssl.SSLSocket], None]) -> Iterator[tuple[str, int]]:
    """Python's own TLS, for one client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = certificates.localhost()
    context.load_cert_chain(pair.cert, pair.key)
    context.set_alpn_protocols(["http/1.1"])

    def serve() -> None:
        with suppress(OSError), listener.accept()[0] as plain:
            with context.wrap_socket(plain, server_side=True) as secured:
                does(secured)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            thread.join()


def received(address: tuple[str, int], hello: tls.Hello) -> Received:
    with Client(address, time.monotonic() + 5, hello=hello) as client:
        client.perform((b"hello",))
        return client.finish()


def answers(client: ssl.SSLSocket) -> None:
    client.sendall(client.recv(100) * 10_000)


def sends_close_notify(client: ssl.SSLSocket) -> None:
    answers(client)
    client.settimeout(0.1)  # the other waits for the end before it says anything
    with suppress(OSError):
        client.unwrap()


@pytest.mark.parametrize("does, end", [(sends_close_notify, "closed"), (answers, "truncated")])
@pytest.mark.parametrize("cut", [0, 1, 100])
def test_close_notify_is_distinguished_from_truncation(does: Callable[[ssl.SSLSocket], None],
                                                       end: str,
                                                       cut: int) -> None:
    with peer(does) as address:
        came = received(address, tls.Hello(tls.usual(), "localhost", cut=cut))
    assert (came.data, came.end) == (b"hello" * 10_000, end)


def test_received_alert_is_reported() -> None:
    with peer(answers) as address:
        old = tls.context(versions=[ssl.TLSVersion.TLSv1_2], ciphers="ECDHE-RSA-AES128-GCM-SHA256")
        with Client(address, time.monotonic() + 5, hello=tls.Hello(old)) as client:
            assert client.finish().end == "alert"
            assert "HANDSHAKE_FAILURE" in client.alert


def test_server_with_another_certificate_is_rejected() -> None:
    with peer(answers) as address:
        came = received(address, tls.Hello(tls.context(certificates.renewed())))
    assert (came.data, came.end) == (b"", "alert")


@pytest.mark.parametrize("pair, words", [
    (certificates.expired, "Certificate will expire"),
    (certificates.localhost, "Certificate will not expire"),
])
def test_certificates_have_the_intended_validity(pair: Callable[[], certificates.Pair],
                                                 words: str) -> None:
    reported = subprocess.run(["openssl", "x509", "-in", pair().cert, "-noout", "-checkend", "0"],
                              capture_output=True, text=True)
    assert words in reported.stdout


def test_excluded_cases_exist() -> None:
    names = {case.name for group in registry.GROUPS if group.cases for case in group.cases()}
    assert set(over_tls.OTHERWISE) <= names


def test_sample_has_cases_of_each_kind() -> None:
    sample = list(over_tls.sampled(over_tls.whole(registry.GROUPS)))
    assert {case.name.partition("/")[0] for case in sample} >= {
        group.key for group in registry.GROUPS if group.level < over_tls.LEVEL
        and len(list(group.cases() if group.cases else ())) > 20}


@pytest.mark.parametrize("given, expected", [
    ((b"GET http://a/ HTTP/1.1\r\n",), (b"GET https://a/ HTTP/1.1\r\n",)),
    ((b"GET HTTPS://a/ HTTP/1.1\r\n",), (b"GET HTTP://a/ HTTP/1.1\r\n",)),
    ((b"GET h", Pause(1), b"ttp", b"://a?b", b"=c\r\n"),
     (b"GET h", Pause(1), b"ttp", b"s://a?b", b"=c\r\n")),
    ((b"GET https", b"://a http://b PUT https://c"), (b"GET http", b"://a https://b PUT http://c")),
    ((b"GET /?http://a HTTP/1.1\r\nReferer: http://a\r\n",),
     (b"GET /?http://a HTTP/1.1\r\nReferer: http://a\r\n",)),
    ((b"GET HTTP/1.1\r\n", b"http://"), (b"GET HTTP/1.1\r\n", b"http://")),
])
def test_targets_have_the_other_scheme(given: tuple[Step, ...],
                                       expected: tuple[Step, ...]) -> None:
    assert schemes.exchanged(given) == expected


@pytest.mark.parametrize("preset", ["asan", pytest.param("tsan", marks=[
    pytest.mark.late, pytest.mark.xdist_group("late over TLS")]), "kqueue"])
@pytest.mark.parametrize("name", SECURED)
def test_tls_cases_pass_in_other_builds(name: str, preset: str) -> None:
    """What is asked of TLS, and the sample over it: no other check asks them so."""
    level = int(name.partition("-")[0])
    sample = [case for case in over_tls.sampled(over_tls.whole(registry.GROUPS))
              if case.holds_at(level) and not case.alone]
    own = [case for check in registry.GROUPS if check.level == over_tls.LEVEL and check.cases
           for case in check.cases()]
    must_hold(programs.solution(name, preset), [*sample, *own], level)


@pytest.mark.parametrize("name", SECURED)
def test_all_earlier_cases_pass_over_tls(name: str) -> None:
    level = int(name.partition("-")[0])
    every = [case for case in over_tls.whole(registry.GROUPS) if case.holds_at(level)]
    must_hold(programs.solution(name, "measure"), every, level)


def must_hold(server: Path, cases: Sequence[Case], level: int) -> None:
    """Those with a server of their own a few at a time, for their clients are Python's."""
    alone = [case for case in cases if case.alone]
    parts = [alone[i:i + AT_A_TIME] for i in range(0, len(alone), AT_A_TIME)]
    with judging():
        for part in ([case for case in cases if not case.alone], *parts):
            options = certificates.localhost().options if part[0].check == over_tls.NAME else ()
            result = suite.run(server, part, level, options)
            assert result.ok, [(failure.case.name, failure.problem)
                               for failure in result.failures] or result
