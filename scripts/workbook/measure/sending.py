"""How a file is sent: in pieces of which size, and in how many TCP segments."""

from __future__ import annotations

import re
import socket
import struct
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from workbook.common.errors import UserError
from workbook.servers.client import answers, connect
from workbook.servers.process import running

LARGE = 8 << 20
SMALL, TIMES = 1500, 40
DATA_SEGMENTS_IN = 152  # offset of tcpi_data_segs_in in struct tcp_info (linux/tcp.h)
CALL = re.compile(r"^(\d+) +(\w+)\((.*?)(?:\) += .*| <unfinished \.\.\.>)$", re.M)


def largest_piece(binary: Path) -> int:
    """Return the most bytes of a file that the server passes to sendfile(2) or splice(2) before it
    waits for its clients again; 0 if it uses neither.
    """
    with tempfile.TemporaryDirectory() as scratch:
        root, report = _site(Path(scratch), LARGE), Path(scratch, "calls")
        with running(binary, "--threads", "1", "--root", str(root), wrapper=[
                "strace", "-f", "-qq", "-e", "trace=sendfile,splice,epoll_wait,epoll_pwait",
                "-o", str(report)]) as server:
            with connect((server.host, server.port)) as client:
                _get(client)
            server.stop()
        return _max_between_waits(report.read_text(errors="replace"))


def _max_between_waits(report: str) -> int:
    """Return the most bytes that any thread asked the kernel to send between two waits."""
    asked: dict[str, int] = defaultdict(int)
    maximum = 0
    for thread, name, arguments in CALL.findall(report):
        if name.startswith("epoll"):
            asked[thread] = 0
            continue
        numbers = re.findall(r"\b\d+\b", arguments)
        asked[thread] += int(numbers[-1] if name == "sendfile" else numbers[-2])
        maximum = max(maximum, asked[thread])
    return maximum


def segments(binary: Path) -> float:
    """Return the average number of data segments per small file that a client receives."""
    if sys.platform != "linux":
        raise UserError("only Linux tells the segments of a connection", "ask on Linux")
    with tempfile.TemporaryDirectory() as scratch:
        root = _site(Path(scratch), SMALL)
        with running(binary, "--threads", "1", "--root", str(root)) as server:
            with connect((server.host, server.port)) as client:
                for _ in range(TIMES):
                    _get(client)
                return _data_segments(client) / TIMES


def _site(folder: Path, size: int) -> Path:
    root = folder / "site"
    root.mkdir()
    (root / "file.bin").write_bytes(bytes(size))
    return root


def _get(client: socket.socket) -> None:
    client.sendall(b"GET /file.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
    [received] = answers(client, 1)
    if not received.startswith(b"HTTP/1.1 200 "):
        raise UserError("a file was not answered with", "make the behaviour checks pass first")


def _data_segments(client: socket.socket) -> int:
    known = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, DATA_SEGMENTS_IN + 4)
    if len(known) < DATA_SEGMENTS_IN + 4:
        raise UserError("this kernel does not count segments", "it has to be Linux 4.6 or newer")
    return int(struct.unpack_from("=I", known, DATA_SEGMENTS_IN)[0])
