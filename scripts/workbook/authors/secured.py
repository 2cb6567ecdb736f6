"""Servers that speak TLS, ours and third-party ones, all with the same certificate and cipher; and
variants of ours that handle TLS differently.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from pathlib import Path

from workbook.authors import rivals
from workbook.authors.rivals import (
    NGINX_PAGE,
)
from workbook.authors.tools import TLS, edited, solution
from workbook.checks.behaviour.rows import PAGE, noise
from workbook.common.errors import UserError
from workbook.common.paths import BUILD
from workbook.machine import setup
from workbook.machine.probes import first_line
from workbook.measure.costs import AGED_S
from workbook.measure.other_servers import NGINX_FILES, Start
from workbook.servers import certificates, tls
from workbook.servers.certificates import Pair
from workbook.servers.process import Server, running, running_other

DIRECTORY = BUILD / "rivals-tls"
LARGE, LARGE_BYTES = "large.bin", 128 << 10

NGINX_TLS = """\
 ssl;
        ssl_certificate {cert};
        ssl_certificate_key {key};
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_ciphers ECDHE+AES128+AESGCM;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_prefer_server_ciphers on;
        ssl_session_tickets on"""
H2O = """\
{user}num-threads: 1
max-connections: 4096
error-log: /dev/null
crash-handler: /nonexistent
listen:
  host: 127.0.0.1
  port: {port}{tls}
hosts: {{default: {{paths: {{/: {{file.dir: {site}}}}}}}}}
{log}"""
H2O_TLS = """
  ssl:
    certificate-file: {cert}
    key-file: {key}
    minimum-version: TLSv1.2
    cipher-suite: ECDHE+AES128+AESGCM
    cipher-preference: server
    ocsp-update-interval: 0
    neverbleed: OFF
ssl-session-resumption:
  mode: ticket
  ticket-store: internal"""
# Settings of OpenSSL that a server has no option for: openssl-config(5), SSL_CONF_cmd(3).
OPENSSL = """\
openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = settings
[settings]
{settings}
"""
AES_128, AT_MOST_12 = "Ciphersuites = TLS_AES_128_GCM_SHA256", "MaxProtocol = TLSv1.2"
CIPHERS = {"TLSv1.3": "TLS_AES_128_GCM_SHA256", "TLSv1.2": "ECDHE-ECDSA-AES128-GCM-SHA256"}

_READ_AHEAD = "SSL_CTX_set_read_ahead(context.get(), 1);"
# OpenSSL reads from and writes to the socket itself, a record in each call.
BY_ITSELF = (
    ("span_bio.h", "    bio_st* bio() const { return bio_; }\n",
     "    bio_st* bio() const { return bio_; }\n    int socket = -1;  // of who is new\n"),
    ("client_stream.cpp", "    : socket_(std::move(socket)), tls_(context.make_tls_stream()),",
     "    : socket_(std::move(socket)),\n"
     "      tls_((context.span_bio_ ? void(context.span_bio_->socket = fd()) : void(),\n"
     "            context.make_tls_stream())),"),
    ("tls_session.cpp", "    SSL_set_bio(ssl_, span_bio.bio(), span_bio.bio());\n", """\
    SSL_set_fd(ssl_, span_bio.socket);
    SSL_set_mode(ssl_, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
"""),
    ("tls_session.cpp", "    while (span_bio_.has_input() || SSL_has_pending(ssl_) == 1) {\n",
     "    for (bool more = true; more; more = SSL_has_pending(ssl_) == 1) {\n"),
    ("tls_stream.cpp", """\
    const auto got =
        web::receive(socket, span_bio_.receive_buffer(into.size() - SpanBio::max_record));
    if (got == 0) session_->fail();
    if (!got || *got == 0) return std::unexpected(got ? IoError::failed : got.error());
    idle_buffers_released_ = false;
    span_bio_.received(*got);
""", "    idle_buffers_released_ = false;\n"),
    ("tls_stream.cpp", """\
    if (!has_unsent() && !encrypt({bytes, file})) return fail(socket);
    const auto sent = flush(socket);
    if (!sent) return sent;
    if (!has_unsent()) return std::exchange(unreported_, 0);
    const std::size_t reported = unreported_ > 0 ? std::min(*sent, unreported_ - 1) : 0;
    unreported_ -= reported;
    return reported;
""", """\
    if (encrypt({bytes, file}) || unreported_ > 0) return std::exchange(unreported_, 0);
    return errno == EAGAIN ? std::unexpected(IoError::needs_send) : fail(socket);
"""),
    ("tls_stream.cpp", "#include <algorithm>\n", "#include <algorithm>\n#include <cerrno>\n"),
)
NO_READ_AHEAD = (("certificates.cpp", _READ_AHEAD, ""),)
KEPT_BUFFERS = (("tls_session.cpp", "    SSL_free_buffers(ssl_);\n", ""),)
RELEASED_BUFFERS = KEPT_BUFFERS + (
    ("certificates.cpp", _READ_AHEAD,
     f"{_READ_AHEAD}\n    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);"),)
UNBOUNDED = (("client_stream.h", "handshakes_per_iteration = 8;",
             "handshakes_per_iteration = 1'000'000;"),)
# Checks for TLS before the loop that sends, instead of inside it.
REQUESTED_BEFORE = (
    ("worker.cpp", "    while (connection.has_output()) {\n",
     "    TlsStream* const tls = client.stream.tls();\n    while (connection.has_output()) {\n"),
    ("worker.cpp", "        const auto took = client.stream.send(connection.output());\n", """\
        const Output output = connection.output();
        const auto took = tls ? tls->send(client.stream.socket(), output.bytes, output.file)
                              : client.stream.send(output);
"""),
    ("client_stream.h", "    int fd() const {", """\
    TlsStream* tls() const { return tls_.get(); }
    const Fd& socket() const { return socket_; }
    int fd() const {"""),
)
FORMS = {"set-fd": BY_ITSELF + NO_READ_AHEAD, "set-fd-ahead": BY_ITSELF, "kept": KEPT_BUFFERS,
         "released": RELEASED_BUFFERS, "unbounded": UNBOUNDED, "asked-before": REQUESTED_BEFORE}
EDITS = tuple((TLS, file, old) for edits in FORMS.values() for file, old, _ in edits)


def form(name: str) -> Path:
    """Return the server of 15, or the edited variant of this name."""
    if name not in FORMS:
        return solution(TLS)
    return edited(f"tls-{name}", TLS, FORMS[name], preset="release")


@cache
def site(*more: str) -> Path:
    """Create a folder with a file of 128 KiB that is old enough to be cached, and with the page as
    a file of each name in `more`, for servers that cannot serve it otherwise.
    """
    folder = DIRECTORY / "-".join(("site", *more))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {LARGE: noise(LARGE_BYTES), **dict.fromkeys(more, PAGE)}.items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (AGED_S, AGED_S))
    for each in (DIRECTORY, folder):
        each.chmod(0o755)
    return folder


@cache
def openssl_conf(what: str) -> Path:
    """Write a file for OPENSSL_CONF with this setting; returns its path."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    file = DIRECTORY / f"{what.partition(' ')[0]}.cnf"
    file.write_text(OPENSSL.format(settings=what))
    return file


def ours(binary: Path, pair: Pair | None = None, at_most_12: bool = False,
         rooted: bool = True) -> Start:
    """Return how to start a server of ours: with one thread, with TLS if it has a certificate, and
    with files if `rooted`, else with its page only.
    """
    secured = pair.options if pair else ()
    files = ("--root", str(site())) if rooted else ()

    def start(*arguments: str, wrapper: Sequence[str] = ()) -> AbstractContextManager[Server]:
        held = ("env", f"OPENSSL_CONF={openssl_conf(AT_MOST_12)}") if at_most_12 else ()
        return running(binary, "--threads", "1", *files, *secured, *arguments,
                       wrapper=[*held, *wrapper])

    return start


def nginx(pair: Pair | None = None, log: str = "off") -> Start:
    """Return how to start nginx; `log` is the value of its access_log."""
    return partial(_other, partial(_nginx, log), pair)


def h2o(pair: Pair | None = None, log: Path | None = None) -> Start:
    return partial(_other, partial(_h2o, log), pair)


def versions() -> dict[str, str]:
    """Return names and versions of the third-party servers, by key."""
    setup.ensure(["nginx", "h2o"])
    return {"nginx": "nginx " + first_line(["nginx", "-v"]).rpartition("/")[2],
            "h2o": "h2o " + first_line(["h2o", "--version"]).rpartition(" ")[2]}


@contextmanager
def _other(command: Callable[[int, Pair | None], list[str]], pair: Pair | None,
           wrapper: Sequence[str] = ()) -> Iterator[Server]:
    """Run a third-party server; with a certificate, our clients are to speak TLS to it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = ("env", f"OPENSSL_CONF={openssl_conf(AES_128)}")
    with running_other(command(port, pair), port, wrapper=[*wrapper, *environment]) as server:
        tls.SECURED.pop(port, None)
        if pair:
            tls.SECURED[port] = server
        yield server


def _files(pair: Pair) -> dict[str, Path]:
    return {"cert": pair.cert, "key": pair.key}


def _nginx(log: str, port: int, pair: Pair | None) -> list[str]:
    return rivals.nginx(DIRECTORY, port, page=NGINX_PAGE, files=NGINX_FILES.format(root=site()),
                        log=log, tls=NGINX_TLS.format(**_files(pair)) if pair else "")


def _h2o(log: Path | None, port: int, pair: Pair | None) -> list[str]:
    """Write h2o's configuration; returns the command. As root it must be told to stay root."""
    file = DIRECTORY / f"h2o-{port}.conf"
    file.write_text(H2O.format(user="user: root\n" if os.geteuid() == 0 else "", port=port,
                               site=site("index.html"), log=f"access-log: {log}\n" if log else "",
                               tls=H2O_TLS.format(**_files(pair)) if pair else ""))
    return ["h2o", "-c", str(file)]


def must_speak(start: Start, version: str) -> None:
    """Raise UserError unless the server speaks this version with the common cipher, and sends the
    common page and file.
    """
    with start() as server:
        for path, body in (("/", PAGE), (f"/{LARGE}", noise(LARGE_BYTES))):
            with socket.create_connection((server.host, server.port), 5) as plain, \
                    tls.context(certificates.localhost()).wrap_socket(plain) as client:
                spoken = client.version(), (client.cipher() or ("none",))[0]
                received = _answer(client, path)
            if spoken != (version, CIPHERS[version]) or not received.endswith(b"\r\n\r\n" + body):
                raise UserError(f"{server.name} speaks {' '.join(map(str, spoken))} and answers "
                                f"{received[:20]!r} to {path}", "fix its configuration")
        server.kill()  # h2o may hang on a signal so soon after its start


def _answer(client: ssl.SSLSocket, path: str) -> bytes:
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return b"".join(iter(lambda: client.recv(65_536), b""))
