"""The floor: it parses nothing, but it must count requests right however their bytes arrive."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from workbook.common.paths import BUILD, SOLUTIONS
from workbook.servers import build
from workbook.servers.process import Server, running

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
BLANK = b"\r\n\r\n"


@pytest.fixture(scope="module")
def binary() -> Path:
    build.build_target("floor")
    return BUILD / "release/scripts/floor/floor"


@pytest.fixture(scope="module")
def floor(binary: Path) -> Iterator[Server]:
    with running(binary) as server:
        yield server


@pytest.fixture(scope="module")
def answer(floor: Server) -> bytes:
    with connect(floor) as client:
        client.sendall(GET)
        received = client.recv(65_536)
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    return received


def connect(server: Server) -> socket.socket:
    client = socket.create_connection((server.host, server.port), timeout=60)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def all_of(client: socket.socket) -> bytes:
    """What comes until the other side ends, after ours has."""
    client.shutdown(socket.SHUT_WR)
    return b"".join(iter(lambda: client.recv(1 << 20), b""))


def post(length: int, name: bytes = b"Content-Length", filler: int = 0) -> bytes:
    fields = b"X-Large-Header: " + b"x" * filler + b"\r\n" if filler else b""
    return (b"POST /sink HTTP/1.1\r\n" + fields + name + b": " + str(length).encode() + BLANK
            + b"b" * length)


def test_floor_answers_like_the_checkpoint(answer: bytes) -> None:
    with running(build.build_server(SOLUTIONS / "01-naive")) as server, connect(server) as client:
        client.sendall(GET)
        theirs = all_of(client)
    assert answer == theirs.replace(b"Connection: close\r\n", b"")


def test_dated_floor_answers_like_the_last_checkpoint(binary: Path) -> None:
    """But for the date, which is of a day long gone."""
    last = sorted(SOLUTIONS.glob("[0-9]*"))[-1]
    answers = []
    for program, *arguments in ((build.build_server(last),), (binary, "--dated")):
        with running(program, *arguments) as server, connect(server) as client:
            client.sendall(GET)
            answers.append(re.sub(rb"(?<=\nDate: ).{29}(?=\r)", b"", all_of(client)))
    assert answers[0] == answers[1] and b"\nDate: \r\n" in answers[0]


@pytest.mark.parametrize("request_", [GET, post(7), post(3, b"content-LENGTH"), GET + post(5)])
def test_request_cut_at_any_byte_is_answered(floor: Server, answer: bytes, request_: bytes) -> None:
    expected = answer * (2 if request_.startswith(GET) and request_ != GET else 1)
    for cut in range(1, len(request_)):
        with connect(floor) as client:
            client.sendall(request_[:cut])
            time.sleep(0.002)
            client.sendall(request_[cut:])
            assert all_of(client) == expected, f"cut after {cut} bytes"


def test_request_in_single_bytes_is_answered(floor: Server, answer: bytes) -> None:
    with connect(floor) as client:
        for byte in post(11) + GET:
            client.sendall(bytes([byte]))
            time.sleep(0.0005)
        assert all_of(client) == answer * 2


@pytest.mark.parametrize("request_", [
    GET.replace(b"\r\n\r\n", b"\r\nX-Large-Header: " + b"x" * 65_000 + BLANK),
    post(9_400_000, filler=40_000),
    post(1_000_000, b"CONTENT-LENGTH"),
    b"GET / HTTP/1.1\r\nX: Content-Length: 5" + BLANK,
    b"POST / HTTP/1.1\r\nContent-Length: 0" + BLANK,
    b"POST / HTTP/1.1\r\nContent-Length:\t 4" + BLANK + BLANK,
], ids=["64 kB header", "9.4 MB body", "1 MB body", "not a field", "no body", "a body of blanks"])
def test_stress_requests_are_answered(floor: Server, answer: bytes, request_: bytes) -> None:
    """Each with a plain request behind it, in the same stream."""
    with connect(floor) as client:
        client.sendall(request_ + GET)
        assert all_of(client) == answer * 2


def test_many_requests_at_once_are_answered(floor: Server, answer: bytes) -> None:
    """More answers than one send covers, to a client that does not read until it has asked all."""
    count = 20_000
    with connect(floor) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(GET) * count * 2)
        client.setblocking(True)
        client.sendall(GET * count)
        time.sleep(0.2)
        assert all_of(client) == answer * count


def test_endless_head_is_disconnected(floor: Server, answer: bytes) -> None:
    with connect(floor) as client, pytest.raises(ConnectionError):
        for _ in range(100):
            client.sendall(b"x" * 65_536)
            time.sleep(0.01)
    with connect(floor) as client:
        client.sendall(GET)
        assert all_of(client) == answer


def test_reset_clients_do_not_affect_others(floor: Server, answer: bytes) -> None:
    with connect(floor) as witness:
        for _ in range(50):
            client = connect(floor)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(GET * 1000)
            client.close()
        witness.sendall(GET)
        assert all_of(witness) == answer


@pytest.mark.alone
def test_new_clients_wait_without_descriptors(binary: Path, answer: bytes) -> None:
    """New clients wait; nothing spins; the first place that is free is taken."""
    limited = ["sh", "-c", 'ulimit -n 20; exec "$@"', "sh"]
    with running(binary, wrapper=limited) as server:
        clients = [connect(server) for _ in range(40)]
        used = sum(psutil.Process(server.pid).cpu_times()[:2])
        time.sleep(0.5)
        assert sum(psutil.Process(server.pid).cpu_times()[:2]) - used < 0.1
        for client in clients:
            client.sendall(GET)
            assert all_of(client) == answer
            client.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_floor_cleanly(binary: Path, number: int) -> None:
    with running(binary) as server:
        psutil.Process(server.pid).send_signal(number)
        time.sleep(0.2)
        assert not server.alive()
        assert server.stop().exit_code == 0


def test_invalid_floor_options_are_reported(binary: Path, floor: Server) -> None:
    for arguments, words in ((["--port", str(floor.port)], "in use"), (["--port", "no"], "--port"),
                             (["--host", "nowhere"], "--host"), (["--colour"], "--help")):
        reported = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=60)
        assert reported.returncode == 1
        assert words in reported.stderr


def test_stopped_and_continued_floor_still_serves(floor: Server, answer: bytes) -> None:
    process = psutil.Process(floor.pid)
    process.suspend()
    process.resume()
    with connect(floor) as client:
        client.sendall(GET)
        assert all_of(client) == answer
