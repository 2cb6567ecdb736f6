"""Files for clients that other people wrote, and a crowd that reads them while they change."""

from __future__ import annotations

import random
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import programs
import psutil
import pytest
from lengths import seconds
from playwright.sync_api import sync_playwright

from workbook.checks.behaviour.rows import MIB, noise
from workbook.course.chapters import having
from workbook.machine import needs
from workbook.servers import certificates, tls
from workbook.servers.process import Server, running

PAGE = b"""<!doctype html>
<html lang="en">
<title>Pictures</title>
<link rel="stylesheet" href="style.css">
<script type="module" src="script.js"></script>
<h1>Pictures</h1>
<img src="pictures/one.svg" alt="one"><img src="pictures/two.svg" alt="two">
<iframe src="deeper"></iframe>
"""
STYLE = b"h1 { color: rgb(1, 2, 3); }\n"
SCRIPT = b"document.title = 'Ran';\n"
PICTURE = b"""<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>\n"""
LARGE = noise(3 * MIB)

READERS = 6
SOAK_S = seconds(5, 300)
SIZES = (0, 700, 40_000, MIB)
NAMES = tuple(f"/{number}.bin" for number in range(8))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("pictures", "deeper"):
        (tmp_path / name).mkdir()
    for name, text in {"index.html": PAGE, "style.css": STYLE, "script.js": SCRIPT,
                       "pictures/one.svg": PICTURE, "pictures/two.svg": PICTURE,
                       "deeper/index.html": b"<p>deeper", "favicon.ico": b"",
                       "large.bin": LARGE}.items():
        (tmp_path / name).write_bytes(text)
    return tmp_path


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    binary = programs.solution(having("files")[0].name, "measure")
    with running(binary, "--threads", "2", "--root", str(root)) as server:
        yield server


def curl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["curl", "--silent", "--show-error", "--max-time", "30", *arguments],
                          capture_output=True)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
def test_curl_receives_the_files(server: Server, tmp_path: Path) -> None:
    got = tmp_path / "got"
    done = curl("--fail", "--output", str(got), f"{server.address}/large.bin")
    assert (done.returncode, done.stderr) == (0, b"") and got.read_bytes() == LARGE
    head = curl("--head", f"{server.address}/large.bin").stdout
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nContent-Length: %d\r\n" % len(LARGE) in head
    reported = curl("--location", "--write-out", "%{num_redirects} %{url_effective}",
                    f"{server.address}/deeper?x=1").stdout.decode()
    assert reported == f"<p>deeper1 {server.address}/deeper/?x=1"
    assert curl("--fail", "--path-as-is", f"{server.address}/../{root.__name__}").returncode == 22
    several = curl(*[f"{server.address}/style.css"] * 3, "--write-out", "%{num_connects}")
    assert several.stdout == STYLE + b"1" + STYLE + b"0" + STYLE + b"0"


def test_http_client_receives_the_files(server: Server) -> None:
    client = HTTPConnection(server.host, server.port, timeout=30)
    for method, path, status, body in [
            ("GET", "/style.css", 200, STYLE), ("HEAD", "/large.bin", 200, b""),
            ("GET", "/large.bin", 200, LARGE), ("POST", "/style.css", 405, None),
            ("GET", "/nowhere", 404, None), ("HEAD", "/nowhere", 404, b""),
            ("GET", "/deeper", 301, None), ("GET", "/", 200, PAGE)]:
        client.request(method, path, body=b"hello" if method == "POST" else None)
        answer = client.getresponse()
        got = answer.read()
        assert answer.status == status and (body is None or got == body), (method, path)
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
    client.close()


def test_a_browser_shows_a_page_with_pictures_and_styles(server: Server) -> None:
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needs.chromium(), args=[
            "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"])
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda output: faults.append(
            output.text) if output.type == "error" else None)
        page.on("response", lambda answer: None if answer.ok or answer.status == 301
                else faults.append(f"{answer.status} {answer.url}"))
        page.goto(server.address, wait_until="load")
        page.wait_for_function("document.title == 'Ran'")
        colour = "getComputedStyle(document.querySelector('h1')).color"
        assert page.evaluate(colour) == "rgb(1, 2, 3)"
        widths = "[...document.images].map(image => image.naturalWidth)"
        assert page.evaluate(widths) == [40, 40]
        assert page.frames[1].url == f"{server.address}/deeper/"
        browser.close()
    assert not faults


def body_of(size: int, letter: int) -> bytes:
    """Of what a reader sees he can tell whether it is of one file, and how long that was."""
    return bytes([letter]) * size


def change(root: Path, rng: random.Random) -> None:
    """One file is replaced, or truncated, or removed."""
    file = root / rng.choice(NAMES)[1:]
    fate = rng.choice(["replaced", "replaced", "replaced", "truncated", "removed"])
    if fate == "replaced":
        new = file.with_suffix(".new")
        new.write_bytes(body_of(rng.choice(SIZES), rng.randrange(97, 123)))
        new.rename(file)
    elif fate == "removed":
        file.unlink(missing_ok=True)
    elif file.exists():
        with file.open("r+b") as known:
            known.truncate(0)


def caller(server: Server) -> HTTPConnection:
    """Python's, over TLS where the server speaks it."""
    if not server.address.startswith("https"):
        return HTTPConnection(server.host, server.port, timeout=30)
    return HTTPSConnection(server.host, server.port, timeout=30,
                           context=tls.context(certificates.localhost()))


def read_files(server: Server, seed: int, until: float, wrong: list[str]) -> None:
    """Answers are whole, or cut off because their file was: never mixed, never too long."""
    rng = random.Random(seed)
    client = caller(server)
    while time.monotonic() < until and not wrong:
        method, name = rng.choice(["GET", "GET", "HEAD"]), rng.choice(NAMES)
        try:
            client.request(method, name)
            answer = client.getresponse()
            wanted = int(answer.headers["Content-Length"])
            got, whole = b"", method == "HEAD"
            while not whole and (more := answer.read(rng.choice([1000, 50_000, MIB]))):
                got += more
            if answer.status == 200 and len(set(got)) > 1:
                wrong.append(f"{name} is mixed of {len(set(got))} files")
            if answer.status not in (200, 404):
                wrong.append(f"{name} was answered with {answer.status}")
            if method == "HEAD":
                answer.read()
            elif len(got) < wanted:
                client.close()  # it was cut off, and so is the connection
        except (ConnectionError, OSError) as error:
            client.close()
            if not isinstance(error, (ConnectionError, ssl.SSLEOFError)):  # as TLS calls it
                wrong.append(f"{name}: {error!r}")
    client.close()


@pytest.mark.parametrize("name, pause_s", [
    (having("files")[0].name, 0.002),
    # So that some are kept: those that have been the same for a while.
    (having("file-cache")[0].name, 0.4),
])
def test_many_clients_are_served_while_files_change(name: str, pause_s: float,
                                                    tmp_path: Path) -> None:
    binary, rng = programs.solution(name, "asan"), random.Random(9)
    for path in NAMES:
        (tmp_path / path[1:]).write_bytes(body_of(rng.choice(SIZES), 97))
    wrong: list[str] = []
    with running(binary, "--threads", "2", "--root", str(tmp_path)) as server:
        process = psutil.Process(server.pid)
        before = process.num_fds()
        until = time.monotonic() + SOAK_S
        readers = [threading.Thread(target=read_files, args=(server, seed, until, wrong))
                   for seed in range(READERS)]
        for reader in readers:
            reader.start()
        while time.monotonic() < until:
            change(tmp_path, rng)
            time.sleep(pause_s)
        for reader in readers:
            reader.join()
        assert not wrong, wrong[:5]
        deadline = time.monotonic() + 30
        while process.num_fds() > before and time.monotonic() < deadline:
            time.sleep(0.1)
        assert process.num_fds() == before
        ended = server.stop()
    assert ended.exit_code == 0 and not ended.stderr, ended
