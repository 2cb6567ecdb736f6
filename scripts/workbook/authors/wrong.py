"""A fast wrong answer: what the finished server answers, and what it answers with each defect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from workbook.authors.tools import OPTIMISED, Finding, Rows, address_of, solution
from workbook.servers import defects
from workbook.servers.client import Pause, Received, Step, exchange
from workbook.servers.process import running

HOST = b"Host: x\r\n"
PAGE = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"
LAST = b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
TIMEOUT_S = 4.0
AT_ONCE_S = 0.3  # long enough that the server receives what was sent before separately
ONE_SECOND = ("--timeout", "1", "--head-timeout", "1")


def _sink(fields: bytes, body: bytes) -> bytes:
    return b"POST /sink HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


def _length(size: int) -> bytes:
    return b"Content-Length: %d\r\n" % size


PADDING = b"X: " + b"x" * 60_000 + b"\r\n"
SHOWN: dict[str, tuple[str, Sequence[Step]]] = {
    "answers-one-buffered-request-per-read": ("two pages asked for in one packet", [PAGE + LAST]),
    "dangling-view-after-growth": (
        "a head of 60 kB, cut, and its body afterwards",
        [b"POST /sink HTTP/1.1\r\n" + HOST, Pause(AT_ONCE_S),
         PADDING + _length(20_000) + b"Connection: close\r\n\r\n", Pause(AT_ONCE_S),
         b"b" * 20_000]),
    "body-counted-in-field-limit": (
        "a head that is nearly too large, and a body behind it",
        [_sink(b"X: " + b"x" * 65_470 + b"\r\n" + _length(70_000) + b"Connection: close\r\n",
               b"b" * 70_000)]),
    "body-parsed-as-request": (
        "a body that is too large, and looks like a request",
        [_sink(_length(20_000_000), b""), Pause(AT_ONCE_S), LAST]),
    "transfer-encoding-ignored": (
        "a chunk with a request in it",
        [b"POST /echo HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
         Pause(AT_ONCE_S), b"1e\r\nGET /admin HTTP/1.1\r\n" + HOST + b"\r\n0\r\n\r\n"]),
    "length-with-trailing-junk-accepted": ("<code>Content-Length: 5abc</code>",
                 [_sink(b"Content-Length: 5abc\r\nConnection: close\r\n", b"hello")]),
    "field-names-case-sensitive": (
        "<code>content-length: 5</code>, five bytes, and the page",
        [b"POST /echo HTTP/1.1\r\n" + HOST + b"content-length: 5\r\n\r\nhello" + LAST]),
    "path-found-by-search": (
        "<code>GET T HTTP/1.1</code>",
        [b"GET T HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"]),
    "no-timeouts": ("half a head, of a server that gives it one second",
                          [b"GET / HTTP/1.1\r\nHost: "]),
    "signals-not-handled": ("SIGTERM", []),
}


def fast_wrong_answer() -> Finding:
    """Send each request to the finished server and to the one with the defect."""
    rows: Rows = {}
    ours = solution(OPTIMISED)  # what readers run
    for name, (label, steps) in SHOWN.items():
        rows[name] = {"label": label, "right": answer(ours, steps),
                      "wrong": answer(defects.built(name), steps)}
    return Finding("What the finished server says to a request, and what it says with the defect: "
                   f"the status of each answer, and how it ended within {TIMEOUT_S:g} s.",
                   {"right": "ours", "wrong": "with the defect"}, rows)


def answer(binary: Path, steps: Sequence[Step]) -> str:
    with running(binary, "--threads", "1", *ONE_SECOND) as server:
        received = exchange(address_of(server), steps, TIMEOUT_S) if steps else None
        code = server.stop().exit_code
    return reported(received) if received else f"exit status {code}"


def reported(received: Received) -> str:
    """Return the statuses and how the connection ended, as in “200, 200, closed”."""
    statuses, data = [], received.data
    while found := re.match(rb"HTTP/1\.1 (\d{3}) ", data):
        statuses.append(found[1].decode())
        head, _, remainder = data.partition(b"\r\n\r\n")
        length = re.search(rb"^Content-Length: (\d+)", head, re.M)
        data = remainder[int(length[1]) if length else 0:]
    end = {"timeout": "still open", "closed": "closed"}.get(received.end, received.end)
    return escape(", ".join([*statuses, end]))
