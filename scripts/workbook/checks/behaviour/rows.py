"""The building blocks of the table's rows: requests, answers, and the row itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from workbook.servers.client import Pause, Step
from workbook.servers.process import Server

MIB = 1 << 20
MAX_BODY = 10 * MIB
MAX_LINE = 8192
MAX_FIELDS = 65536

PAGE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Hot Path</title>
<h1>Hot Path</h1>
<p>The same page, faster every chapter.</p>
</html>
"""

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"

CLOSES = "Connection: close\r\n"  # the Connection field of an answer; the alternatives follow
STAYS = ""
STAYS_IN_1_0 = "Connection: keep-alive\r\n"

HOST = b"Host: localhost\r\n"
USUAL = HOST + b"Connection: close\r\n"
CHUNKS_LEVEL = 12  # the first level at which a body may come in chunks
# cases about a body's end: §2.4 requires messages to be parsed as framing defines
FRAMED = "RFC 9112 §6.3, RFC 9110 §2.4 (MUST)"
NEXT = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
TINY = Pause(0.001)
LONG = Pause(0.3)  # longer than a server waits before it checks whether it has to stop
MUCH_LONGER = Pause(2.0)  # longer than a server that sends byte by byte needs to fill its socket
LONGER = Pause(0.7)  # longer than two such waits: it may have sent a part during the first


def answer(status: str, content_type: str, body: bytes, send_body: bool = True,
           connection: str = CLOSES) -> bytes:
    """A complete answer, byte by byte as it must appear on the wire."""
    head = (f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n{connection}\r\n")
    return head.encode() + (body if send_body else b"")


def refusal(status: str) -> bytes:
    return answer(status, TEXT, status.encode() + b"\n")


def not_allowed(allow: str = "GET, HEAD", connection: str = CLOSES, send_body: bool = True
                ) -> bytes:
    """A 405 answer, which names the methods that the resource has (RFC 9110 §15.5.6)."""
    status = "405 Method Not Allowed"
    without = answer(status, TEXT, status.encode() + b"\n", send_body, connection)
    line = f"HTTP/1.1 {status}\r\n".encode()
    return line + f"Allow: {allow}\r\n".encode() + without.removeprefix(line)


PAGE_ANSWER = answer("200 OK", HTML, PAGE)
PAGE_HEAD = answer("200 OK", HTML, PAGE, send_body=False)
NO_ANSWER = b""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
BAD = refusal("400 Bad Request")
NOT_FOUND = refusal("404 Not Found")
LENGTH_REQUIRED = refusal("411 Length Required")
TOO_LARGE = refusal("413 Content Too Large")
URI_TOO_LONG = refusal("414 URI Too Long")
EXPECTATION = refusal("417 Expectation Failed")
FIELDS_TOO_LARGE = refusal("431 Request Header Fields Too Large")
NOT_IMPLEMENTED = refusal("501 Not Implemented")
VERSION = refusal("505 HTTP Version Not Supported")
NO_SLOT = (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
           b"Connection: close\r\n\r\n")  # formatted once, from chapter 13 on


class Unmet(Exception):
    """Raised with what was received or observed instead of what was expected."""


class Wrong(Unmet):
    """An Unmet that a busy machine can't explain, so the case is not retried."""


class Unable(Exception):
    """Raised with what this machine lacks to run a case."""


@dataclass(frozen=True)
class Alone:
    """An action on a server that serves only this case, in words and as a function that raises
    Unmet or Unable.
    """

    done: str
    expected: str
    perform: Callable[[Server], None]
    few_descriptors: int = 0  # limit on the server's descriptors; 0: the usual limit
    arguments: tuple[str, ...] = ()  # additional arguments of the server
    # additional environment variables of the server
    environment: Mapping[str, str] = field(default_factory=dict)
    # creates the folder that the server serves with --root
    site: Callable[[Path], None] | None = None
    # almost all of its time is spent waiting for a limit, so it runs in parallel with others
    only_waits: bool = False


@dataclass(frozen=True)
class Talk:
    """Requests that depend on the answers to earlier ones, sent to a shared server: in words, and
    as a function of its address that raises Unmet.
    """

    done: str
    expected: str
    perform: Callable[[tuple[str, int]], None]


@dataclass(frozen=True)
class Case:
    """One row. `expect` lists every correct answer, almost always one. `reference` is its source: a
    man page, or a section of an RFC with its requirement level, (MUST), (SHOULD) or (MAY), or
    (ours) where the RFC leaves the choice to the server.

    A module of cases leaves `check` empty and sets only the name of the row: see `belonging`.
    """

    name: str
    steps: tuple[Step, ...]
    expect: tuple[bytes, ...]
    reference: str
    check: str = ""
    level: int = 1
    until: int | None = None
    # the steps of clients that connect before this one and stay until the case ends
    neighbours: tuple[tuple[Step, ...], ...] = ()
    copies: int = 1  # number of clients that do this at once
    enough: int = 1  # number of them that must be answered in time
    workers: int = 0  # number of the server's threads that must each have served some of them
    narrow: bool = False  # see Client
    rooted: bool = False  # run against a server that serves the folder of site.py
    timeout_s: float = 15.0
    alone: Alone | None = None  # instead of steps and answers
    talk: Talk | None = None  # the same

    def holds_at(self, level: int) -> bool:
        return self.level <= level and (self.until is None or level <= self.until)


def get(target: bytes = b"/", fields: bytes = USUAL, version: bytes = b"HTTP/1.1") -> bytes:
    return b"GET " + target + b" " + version + b"\r\n" + fields + b"\r\n"


def post(body: bytes, target: bytes = b"/echo", fields: bytes = USUAL,
         length: bytes | None = None) -> bytes:
    """A POST of `body`; `length` replaces the text of its Content-Length."""
    text = str(len(body)).encode() if length is None else length
    return (b"POST " + target + b" HTTP/1.1\r\n" + fields
            + b"Content-Length: " + text + b"\r\n\r\n" + body)


@cache
def noise(size: int) -> bytes:
    """The same random bytes every time, including some that may confuse a parser."""
    body = bytearray(random.Random(size).randbytes(size))
    trap = b"\r\n\r\n\0GET / HTTP/1.1\r\n\r\n"
    if size > 2 * len(trap):
        body[size // 2:size // 2 + len(trap)] = trap
    return bytes(body)


def echoed(body: bytes, connection: str = CLOSES) -> bytes:
    return answer("200 OK", BYTES, body, connection=connection)


def chunks(body: bytes, size: int = 0, ended: bool = True) -> bytes:
    """A body in chunks of `size`, by default in one. Unless `ended`, the last chunk is missing."""
    size = size or max(1, len(body))
    parts = [body[i:i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + (
        b"0\r\n\r\n" if ended else b"")


def echoed_in_chunks(body: bytes, connection: str = CLOSES, ended: bool = True) -> bytes:
    """The echo in the form of heads.plain, which ignores how the answer is divided into chunks."""
    head = (f"HTTP/1.1 200 OK\r\nContent-Type: {BYTES}\r\n{connection}"
            "Transfer-Encoding: chunked\r\n\r\n")
    return head.encode() + chunks(body, ended=ended)


def sunk(size: int, connection: str = CLOSES) -> bytes:
    return answer("200 OK", TEXT, str(size).encode(), connection=connection)


def bytewise(data: bytes, pause: Step = Pause(0.0002)) -> tuple[Step, ...]:
    return tuple(step for byte in data for step in (bytes([byte]), pause))


def row(what: str, sent: bytes | Iterable[Step], expect: bytes | tuple[bytes, ...],
        reference: str, **remainder: object) -> Case:
    """A case of its module's check. `sent` is one piece, or the steps to take.

    A case that expects a missing length to be refused holds only below the level at which chunked
    bodies are read.
    """
    steps = (sent,) if isinstance(sent, bytes) else tuple(sent)
    answers = expect if isinstance(expect, tuple) else (expect,)
    if any(b"HTTP/1.1 411 " in answer for answer in answers[:1]):
        remainder = {"until": CHUNKS_LEVEL - 1, **remainder}
    return Case(what, steps, answers, reference, **remainder)  # type: ignore


def belonging(check: str, level: int, cases: Iterable[Case]) -> Iterator[Case]:
    """Yields the cases as rows of the check, named `group/what`, each holding from `level` on at
    the earliest.
    """
    group = check.removeprefix("behaviour.")
    for case in cases:
        yield replace(case, name=f"{group}/{case.name}", check=check,
                      level=max(level, case.level))
