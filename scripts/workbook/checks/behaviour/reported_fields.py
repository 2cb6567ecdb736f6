"""The parts of a request that the application receives, all of which a mirror sends back.

The mirror is the checkpoint's server with another application: see scripts/mirror/app.cpp.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from workbook.checks.behaviour import judge as behaviour
from workbook.checks.behaviour.alone import TIMEOUT_S, alone, connected
from workbook.checks.behaviour.rows import (
    CHUNKS_LEVEL,
    CLOSES,
    FRAMED,
    HOST,
    STAYS,
    TEXT,
    TINY,
    USUAL,
    Case,
    Unmet,
    answer,
    chunks,
    get,
    noise,
    post,
    row,
)
from workbook.checks.behaviour.unchanged import chain, in_sequence
from workbook.checks.model import MEASURE, Check, Subject, Verdict
from workbook.servers.client import HalfClose, Pause, Sip, Step, Vanish
from workbook.servers.process import Server

PROGRAM = "mirror"
# more than the kernel buffers for a client that reads late
LETTERS = b"abcdefghijklmnopqrstuvwxyz" * 12_000
LARGE = b"X: " + b"v" * 65_000 + b"\r\n"  # more than any buffer holds before it grows


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    program = subject.builds[MEASURE].with_name(PROGRAM)
    yield from behaviour.run(subject, wanted, program, subject.chapter.level)


def cases() -> Iterator[Case]:
    origin = "RFC 9112 §3.2.1, §3.3 (ours)"
    absolute = "RFC 9112 §3.2.2 (MUST)"
    normalized = f"{absolute}, RFC 9110 §4.2.3 (SHOULD)"
    for what, target, path, query, reference in [
        ("path", b"/a/b", b"/a/b", b"", origin),
        ("query", b"/a?b=c&d", b"/a", b"b=c&d", origin),
        ("short-query", b"/?b", b"/", b"b", origin),
        ("empty-query", b"/a?", b"/a", b"", origin),
        ("query-with-question-marks", b"/a?b?c?", b"/a", b"b?c?", origin),
        ("query-with-a-uri", b"/a?http://b/c?d", b"/a", b"http://b/c?d", origin),
        ("absolute-form", b"http://localhost:80/a/b?c", b"/a/b", b"c", absolute),
        ("absolute-form-without-path", b"http://localhost", b"/", b"", normalized),
        ("absolute-form-without-path-but-query", b"http://localhost?b", b"/", b"b", normalized),
    ]:
        line = b"GET " + target + b" HTTP/1.1\r\n"
        yield reported(what, get(target), mirrored(path, query), reference)
        yield reported(f"{what}-before-large-fields", (line, TINY, LARGE, TINY, USUAL + b"\r\n"),
                       mirrored(path, query, fields=LARGE + USUAL), reference)
    spaces, syntax = "RFC 9112 §5.1, RFC 9110 §5.5 (MUST)", "RFC 9112 §5 (ours)"
    for what, fields, reference in [
        ("field-with-spaces", b"X: \t a:b  c \t \r\n", spaces),
        ("field-without-spaces", b"X:y\r\n", spaces),
        ("empty-field", b"X:\r\n", syntax),
        ("field-in-upper-case", b"X-NOTE: Y\r\n", syntax),
        ("field-with-obs-text", b"X: caf\xc3\xa9\r\n", "RFC 9110 §5.5 (SHOULD)"),
        ("fields-of-one-name", b"X: 2\r\nY: 3\r\nx: 1\r\n", syntax),
        ("many-fields", b"".join(b"X-%d: %d\r\n" % (i, i) for i in range(60)), syntax),
    ]:
        yield reported(what, get(fields=fields + USUAL), mirrored(fields=fields + USUAL), reference)
    for method, number in [(b"PUT", 4), (b"DELETE", 5), (b"OPTIONS", 6), (b"PATCH", 7)]:
        yield reported(f"method-{method.decode().lower()}", get().replace(b"GET", method),
                       mirrored(method=number), "RFC 9110 §9.1 (ours)")
    yield reported("minor-version", get(version=b"HTTP/1.2"), mirrored(),
                   "RFC 9110 §6.2 (SHOULD)")
    yield reported("version", get(version=b"HTTP/1.0", fields=HOST), mirrored(
        version=1, fields=HOST), "RFC 9112 §2.3 (ours)")
    yield reported("body", post(noise(9000), b"/a?b"), mirrored(
        b"/a", b"b", method=3, body=noise(9000), fields=USUAL + b"Content-Length: 9000\r\n"),
        FRAMED)
    yield from nothing_of_the_last()
    yield from streamed()


def nothing_of_the_last() -> Iterator[Case]:
    """Requests that arrive together: the application gets each without any data of another."""
    pairs = [(get(target, fields), whole(mirrored(path, query, fields), STAYS))
             for target, path, query, fields in [
                 (b"/a?b", b"/a", b"b", HOST + b"X: y\r\n"),
                 (b"/", b"/", b"", HOST),
                 (b"http://localhost?c", b"/", b"c", HOST + LARGE),
                 (b"/dd", b"/dd", b"", HOST)]]
    pairs.append((get(), whole(mirrored())))
    sent, expect = chain(*pairs)
    yield row("sequential-requests", in_sequence(*pairs), expect, "RFC 9112 §9.3 (SHOULD)", level=5)
    yield row("pipelined-requests", sent, expect, "RFC 9112 §9.3.2 (MUST)", level=5)


def streamed() -> Iterator[Case]:
    """An answer that begins with the body, and ends with the fields of the request."""
    framed = "RFC 9112 §6.3 (SHOULD)"
    fields = USUAL + b"Content-Length: 5\r\n"
    old = mirrored(b"/stream", method=3, version=1, fields=fields).replace(b"length 0", b"length 5")
    new = old.replace(b"version 1", b"version 2")
    begins = f"HTTP/1.1 200 OK\r\nContent-Type: {TEXT}\r\n{CLOSES}".encode()
    coded = begins + b"Transfer-Encoding: chunked\r\n\r\n"
    sent = post(b"hello", b"/stream")
    for what, asks, expect, reference in [
        ("stream-of-unknown-length", sent, coded + chunks(b"hello" + new), framed),
        ("stream-of-a-get", get(b"/stream"), coded + chunks(mirrored(b"/stream")), framed),
        ("stream-of-a-head", sent.replace(b"POST", b"HEAD", 1), coded,
         "RFC 9110 §9.3.2 (MUST)"),
        ("stream-to-1.0", sent.replace(b"HTTP/1.1", b"HTTP/1.0", 1),
         begins + b"\r\nhello" + old, "RFC 9112 §6.1 (MUST)"),
        ("body-in-chunks", b"POST /a HTTP/1.1\r\n" + USUAL + b"Transfer-Encoding: chunked\r\n\r\n"
         + chunks(b"hello", 2), whole(mirrored(
             b"/a", method=3, body=b"hello",
             fields=USUAL + b"Transfer-Encoding: chunked\r\n").replace(b"length 5", b"length 0")),
         "RFC 9112 §7.1 (MUST)"),
    ]:
        yield row(what, asks, expect, reference, level=CHUNKS_LEVEL)
    capitals = post(LETTERS, b"/capitals")
    size = b"%d" % len(LETTERS)
    reported_on = mirrored(b"/capitals", method=3, fields=USUAL + b"Content-Length: " + size + b"\r\n",
                       ).replace(b"length 0", b"length " + size)
    yield row("bytes-changed-by-a-sink", (Sip(4096, 0.001), capitals),
              coded + chunks(LETTERS.upper() + reported_on), "the chapter's page", narrow=True,
              level=CHUNKS_LEVEL)


def sinks() -> Iterator[Case]:
    """A body's sink is released however the body ends."""
    yield alone("sinks-of-answered-clients", "the chapter's page",
                "clients send bodies and are answered; another asks how many sinks there are",
                "none", sinks_of_answered_clients)
    yield alone("sinks-of-disconnected-clients", "the chapter's page",
                "clients send a part of a body, and vanish; another asks how many sinks there are",
                "none", sinks_of_disconnected_clients)


def sinks_of_answered_clients(server: Server) -> None:
    with connected(server, 3) as clients:
        for client in clients:
            client.perform((post(noise(100), b"/a"),))
            if not client.finish().data.startswith(b"HTTP/1.1 200 "):
                raise Unmet("a client was not answered")
    must_have_released(server)


def sinks_of_disconnected_clients(server: Server) -> None:
    for vanish in (Vanish(), HalfClose()):
        with connected(server, 3) as clients:
            for client in clients:
                client.perform((post(noise(100), b"/a")[:-50], Pause(0.05), vanish))
    must_have_released(server)


def must_have_released(server: Server) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while (living := _living(server)) != b"0":
        if time.monotonic() > deadline:
            raise Unmet(f"{living.decode()} are left")
        time.sleep(0.05)


def _living(server: Server) -> bytes:
    with connected(server, 1) as (client,):
        client.perform((get(b"/living"),))
        return client.finish().data.rpartition(b"\r\n\r\n")[2]


def reported(what: str, sent: bytes | Iterable[Step], expect: bytes, reference: str) -> Case:
    return row(what, sent, whole(expect), reference)


def whole(text: bytes, connection: str = CLOSES) -> bytes:
    return answer("200 OK", TEXT, text, connection=connection)


def mirrored(path: bytes = b"/", query: bytes = b"", fields: bytes = USUAL, method: int = 1,
             version: int = 2, body: bytes = b"") -> bytes:
    """The mirrored request in the format of scripts/mirror/app.cpp."""
    lines = []
    for field in fields.split(b"\r\n")[:-1]:
        name, _, value = field.partition(b":")
        lines.append(name.lower() + b": " + value.strip(b" \t") + b"\n")
    return b"%d path %s query %s version %d length %d body %s\n" % (
        method, path, query, version, len(body), body) + b"".join(sorted(lines))


GROUPS = (
    behaviour.group("reported-fields", "request fields passed to the application", cases),
    behaviour.group("sinks", "sinks of bodies", sinks, level=CHUNKS_LEVEL),
)
CHECKS = tuple(replace(group, judge=judge, builds=(MEASURE,), program=PROGRAM) for group in GROUPS)
