"""The cost of many simultaneous clients: counted or read from the kernel, never timed."""

from __future__ import annotations

import re
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median

import psutil

from workbook.common.errors import UserError
from workbook.common.paths import shown
from workbook.servers import client
from workbook.servers.process import Server, running

SHORT = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
POST = b"POST /sink HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Length: %d\r\n\r\n"
REFUSED = b"GET / HTTP/1.1\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + b"more" * 4_000
FEW, MANY = 100, 800


def connect(server: Server, clients: int, stack: ExitStack) -> list[socket.socket]:
    return [stack.enter_context(client.connect((server.host, server.port)))
            for _ in range(clients)]


def ask_all(connected: Sequence[socket.socket], depth: int) -> None:
    """Send `depth` requests from every client, then read all answers."""
    for each in connected:
        each.sendall(SHORT * depth)
    for each in connected:
        read_answers(each, depth)


def post_together(connected: Sequence[socket.socket], sizes: Random) -> None:
    """Send a body of 1 to 9.4 MB from each client; all start before the first one finishes."""
    for each in connected:
        size = sizes.randrange(1_000_000, 9_400_000)
        each.sendall(POST % size + b"b" * (size - 1))
    for each in connected:
        each.sendall(b"b")
        if not next(client.answers(each, 1)).startswith(b"HTTP/1.1 200 "):
            raise UserError("a body was not answered with 200", "make the behaviour checks pass")


def read_answers(connected: socket.socket, count: int) -> None:
    if not all(answer.endswith(b"</html>\n") for answer in client.answers(connected, count)):
        raise UserError("the server closed a connection that was to be kept",
                        "make the behaviour checks pass first")


def served(connected: socket.socket) -> None:
    ask_all([connected], 1)


def stopped_in_a_head(connected: socket.socket) -> None:
    served(connected)
    connected.sendall(SHORT[:20])


def lingers(connected: socket.socket) -> None:
    """Make the server linger: half of the clients are refused, the others get their last answer
    after sending extra bytes. Each reads to the end of the stream and keeps its socket open.
    """
    connected.sendall(LAST if connected.fileno() % 2 else REFUSED)
    while connected.recv(65_536):
        pass


def resident_bytes(binary: Path, many: int = MANY, *arguments: str,
                   becomes: Callable[[socket.socket], None] = served, pause_s: float = 0.0) -> int:
    """Return the server's own resident memory per idle client, in bytes: the growth from FEW
    clients to `many`, so that fixed memory is excluded. `becomes` puts a client into its idle
    state, in which it stays for `pause_s` seconds. Linux only.

    The median of three runs, because allocations are placed differently on pages from run to run.
    """
    def growth(_: int) -> int:
        return _growth(binary, many, arguments, becomes, pause_s)

    with ThreadPoolExecutor(max_workers=3 if pause_s else 1) as pool:  # they mostly wait
        return round(median(pool.map(growth, range(3))) / (many - FEW))


def _growth(binary: Path, many: int, arguments: Sequence[str],
            becomes: Callable[[socket.socket], None], pause_s: float) -> int:
    with running(binary, "--threads", "1", *arguments) as server, ExitStack() as stack:
        _in_sequence(connect(server, FEW, stack), becomes)
        time.sleep(pause_s)
        before = server.own_bytes()
        _in_sequence(connect(server, many - FEW, stack), becomes)
        time.sleep(pause_s)
        return server.own_bytes() - before


def _in_sequence(connected: Sequence[socket.socket],
                 becomes: Callable[[socket.socket], None]) -> None:
    """Prepare the clients one after another, since simultaneous requests would need more buffers.
    The first client is served last, so its answer shows that the server has handled all the others.
    """
    first, *others = connected
    for each in others:
        becomes(each)
    served(first)


def kevents(binary: Path, clients: int, rounds: int) -> float:
    """Return the calls of kevent(2), waits included, per client that connects, asks once and
    disconnects.

    Counted by callgrind over the server's whole run, because the number of waits varies and would
    make the difference of two runs noise. UserError if the server never calls kevent.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "calls")
        with running(binary, "--threads", "1", wrapper=[
                "valgrind", "--tool=callgrind", "--log-file=/dev/null", "--compress-strings=no",
                f"--callgrind-out-file={report}"]) as server:
            for _ in range(rounds):
                _connect_and_close(server, clients)
            server.stop()
        text = report.read_text(errors="replace")
    calls = [int(count) for count in re.findall(r"^cfn=kevent\ncalls=(\d+)", text, re.M)]
    if not calls:
        raise UserError(f"{shown(binary)} was not seen to call kevent",
                        "build it with the preset kqueue and without LTO")
    return sum(calls) / (rounds * clients)


def futexes(binary: Path, clients: int, rounds: int) -> float:
    """Return the calls of futex(2) per request that four threads serve, including start and stop.
    The requests of each round are sent at once. strace delays a thread at each system call, so a
    thread that makes one under a lock holds it for long, and others contend for it even on one
    core.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "calls")
        with running(binary, "--threads", "4", wrapper=[
                "strace", "-f", "-qq", "-o", str(report)]) as server, ExitStack() as stack:
            connected = connect(server, clients, stack)
            for _ in range(rounds):
                ask_all(connected, 1)
            server.stop()
        calls = re.findall(r"^\d+ +futex\(", report.read_text(errors="replace"), re.M)
    return len(calls) / (rounds * clients)


def _connect_and_close(server: Server, clients: int) -> None:
    """Suspend the server while all clients send or close, so that it sees them together."""
    process = psutil.Process(server.pid)
    with ExitStack() as stack:
        process.suspend()
        connected = connect(server, clients, stack)
        for each in connected:
            each.sendall(SHORT)
        process.resume()
        for each in connected:
            read_answers(each, 1)
        process.suspend()
    process.resume()
