"""Bodies of clients that other people wrote: of a length or of chunks, with and without Expect."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection

import programs
import pytest

from workbook.checks.behaviour.rows import MIB, noise
from workbook.course.chapters import having
from workbook.servers.process import Server, running

BODY = noise(3 * MIB)

needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    binary = programs.solution(having("streaming")[0].name, "measure")
    with running(binary, "--threads", "2") as started:
        yield started


def curl(server: Server, path: str, *arguments: str, body: bytes = BODY) -> bytes:
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--max-time", "30", *arguments,
         f"{server.address}{path}"], input=body, capture_output=True, timeout=40)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_curl
@pytest.mark.parametrize("how", [
    ("--upload-file", "-"),
    ("--upload-file", "-", "--header", "Expect:"),
    ("--upload-file", "-", "--header", "Expect: 100-continue"),
    ("--data-binary", "@-"),
    ("--data-binary", "@-", "--header", "Transfer-Encoding: chunked"),
    ("--data-binary", "@-", "--http1.0"),
])
def test_curl_receives_its_echo(server: Server, how: tuple[str, ...]) -> None:
    assert curl(server, "/echo", "--request", "POST", *how) == BODY
    assert curl(server, "/sink", "--request", "POST", *how) == b"%d" % len(BODY)


@needs_curl
def test_curl_keeps_the_connection_after_an_unwanted_body(server: Server) -> None:
    url = f"{server.address}/nowhere"
    done = subprocess.run(["curl", "--silent", "--max-time", "30", "--data-binary", "@-", url,
                           "--next", "--silent", f"{server.address}/", "--write-out",
                           "%{num_connects}"], input=BODY[:5000], capture_output=True, timeout=40)
    assert done.stdout.endswith(b"</html>\n0")


def test_http_client_sends_chunks_and_reads_them(server: Server) -> None:
    client = HTTPConnection(server.host, server.port, timeout=30)
    pieces = [BODY[i:i + 70_000] for i in range(0, MIB, 70_000)]
    for path, expected in [("/sink", b"%d" % sum(map(len, pieces))), ("/echo", b"".join(pieces)),
                           ("/echo", b"".join(pieces))]:
        client.request("POST", path, body=iter(pieces), encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
        with client.getresponse() as answer:
            assert (answer.status, answer.read()) == (200, expected)
    client.request("GET", "/")
    assert client.getresponse().read().endswith(b"</html>\n")
