"""TLS for clients that other people wrote: curl, openssl s_client, Python's http.client, a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path

import programs
import pytest
from playwright.sync_api import sync_playwright

from workbook.checks.behaviour.rows import MIB, noise
from workbook.course.chapters import having
from workbook.machine import needs
from workbook.servers import certificates, tls
from workbook.servers.process import Server, running

needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")

PAGE = b"""<!doctype html>
<html lang="en">
<title>Sealed</title>
<link rel="stylesheet" href="style.css">
<script type="module" src="script.js"></script>
<h1>Sealed</h1>
"""
STYLE = b"h1 { color: rgb(1, 2, 3); }\n"
SCRIPT = b"document.title = 'Ran';\n"
LARGE = noise(3 * MIB)

# Options of s_client, and what it must report: version, cipher, and the name of that cipher.
AGREED = [
    (("-tls1_3",), "TLSv1.3", "TLS_AES_128_GCM_SHA256"),
    (("-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"), "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    (("-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"), "TLSv1.3",
     "TLS_CHACHA20_POLY1305_SHA256"),
    (("-tls1_2",), "TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (("-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384"), "TLSv1.2",
     "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (("-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"), "TLSv1.2",
     "ECDHE-ECDSA-CHACHA20-POLY1305"),
]
# And what it is refused with.
REFUSED = [
    (("-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"), "protocol version"),
    (("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"), "handshake failure"),
    (("-tls1_2", "-cipher", "AES128-GCM-SHA256"), "handshake failure"),
    (("-alpn", "h2"), "no application protocol"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {"index.html": PAGE, "style.css": STYLE, "script.js": SCRIPT,
                       "favicon.ico": b"", "large.bin": LARGE}.items():
        (tmp_path / name).write_bytes(text)
    return tmp_path


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    binary = programs.solution(having("tls")[0].name, "measure")
    with running(binary, "--threads", "2", "--root", str(root),
                 *certificates.localhost().options) as server:
        yield server


def curl(server: Server, path: str, *arguments: str, body: bytes = b"") -> bytes:
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--max-time", "30", "--cacert",
         certificates.localhost().cert, *arguments, f"{server.address}{path}"],
        capture_output=True, input=body)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def s_client(server: Server, *arguments: str, output: bytes = b"") -> tuple[int, str]:
    """How it ended, and all that it told."""
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"{server.host}:{server.port}", "-CAfile",
         certificates.localhost().cert, *arguments],
        input=output, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
    return done.returncode, done.stdout.decode(errors="replace")


@needs_curl
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_curl_receives_files_and_resumes_ranges(server: Server, version: str) -> None:
    how = ("--tlsv1.2", "--tls-max", version)
    assert curl(server, "/large.bin", *how) == LARGE
    assert curl(server, "/large.bin", *how, "--range", "1000000-1999999") == LARGE[10**6:2 * 10**6]
    assert curl(server, "/echo", *how, "--data-binary", "@-", body=LARGE) == LARGE
    assert curl(server, "/echo", *how, "--request", "POST", "-T", "-", body=LARGE) == LARGE
    kept = curl(server, "/style.css", *how, f"{server.address}/style.css",
                "--write-out", "%{num_connects}")
    assert kept == STYLE + b"1" + STYLE + b"0"


@needs_curl
def test_curl_negotiates_http_1_1(server: Server) -> None:
    reported = curl(server, "/style.css", "--http2", "--write-out", " %{http_version}")
    assert reported == STYLE + b" 1.1"


def test_http_client_receives_the_files(server: Server) -> None:
    client = HTTPSConnection(server.host, server.port, timeout=30,
                             context=tls.context(certificates.localhost()))
    for method, path, status, body in [
            ("GET", "/style.css", 200, STYLE), ("HEAD", "/large.bin", 200, b""),
            ("GET", "/large.bin", 200, LARGE), ("POST", "/echo", 200, LARGE),
            ("GET", "/nowhere", 404, None), ("GET", "/", 200, PAGE)]:
        client.request(method, path, body=LARGE if method == "POST" else None)
        answer = client.getresponse()
        got = answer.read()
        assert answer.status == status and (body is None or got == body), (method, path)
    client.close()


@pytest.mark.parametrize("arguments, version, cipher", AGREED)
def test_s_client_negotiates_version_and_cipher(server: Server, arguments: tuple[str, ...],
                                                version: str,
                                                cipher: str) -> None:
    code, reported = s_client(server, *arguments, "-alpn", "h2,http/1.1")
    assert code == 0 and f"New, TLSv1.{3 if version == 'TLSv1.3' else 2}, Cipher is {cipher}" in reported
    assert "Verify return code: 0 (ok)" in reported and "ALPN protocol: http/1.1" in reported


@pytest.mark.parametrize("arguments, why", REFUSED)
def test_s_client_is_refused(server: Server, arguments: tuple[str, ...], why: str) -> None:
    code, reported = s_client(server, *arguments)
    assert code != 0 and re.search(rf"alert {why}", reported), reported


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_s_client_resumes(server: Server, version: str, tmp_path: Path) -> None:
    """A session that it writes down is opened by whichever worker it meets."""
    kept = str(tmp_path / "session.pem")
    ask = b"GET /style.css HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert s_client(server, version, "-sess_out", kept, "-ign_eof", output=ask)[0] == 0
    for _ in range(4):
        code, reported = s_client(server, version, "-sess_in", kept, "-ign_eof", output=ask)
        assert code == 0 and "\nReused, TLSv1." in reported and STYLE.decode() in reported


def test_a_browser_shows_a_page(server: Server) -> None:
    """It trusts no certificate of ours, and has the option to go on nevertheless."""
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needs.chromium(), args=[
            "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"])
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(120_000)
        page.on("response", lambda answer: None if answer.ok
                else faults.append(f"{answer.status} {answer.url}"))
        answer = page.goto(server.address, wait_until="load")
        page.wait_for_function("document.title == 'Ran'")
        colour = "getComputedStyle(document.querySelector('h1')).color"
        assert page.evaluate(colour) == "rgb(1, 2, 3)"
        assert answer and (answer.security_details() or {}).get("protocol") == "TLS 1.3"
        browser.close()
    assert not faults
