"""Each limit is exact: a request at the limit is served, and one byte more is refused."""

from __future__ import annotations

import string
from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    FIELDS_TOO_LARGE,
    HOST,
    MAX_BODY,
    MAX_FIELDS,
    MAX_LINE,
    MIB,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PAGE_ANSWER,
    TINY,
    TOO_LARGE,
    URI_TOO_LONG,
    USUAL,
    Case,
    echoed,
    get,
    noise,
    post,
    row,
    sunk,
)
from workbook.servers.client import Pause


def cases() -> Iterator[Case]:
    yield from line_limits()
    yield from field_limits()
    reference = "RFC 9110 §15.5.14 (ours)"
    large = "RFC 9110 §8.6 (MUST), §15.5.14 (ours)"
    over = str(MAX_BODY + 1).encode()
    for what, length, reason in [
        ("length-over-limit", over, reference),
        ("length-over-limit-with-leading-zeros", b"000" + over, reference),
        ("length-far-over-limit", b"99999999999", large),
        ("length-2^31", str(1 << 31).encode(), large),
        ("length-2^32+5", str((1 << 32) + 5).encode(), large),
        ("length-2^63", str(1 << 63).encode(), large),
        ("length-2^64+5", str((1 << 64) + 5).encode(), large),
        ("length-of-1000-digits", b"9" * 1000, large),
        ("length-of-60000-digits", b"1" + b"0" * 59_999, large),
    ]:
        yield row(what, post(b"", length=length) + b"hello", TOO_LARGE, reason)
    yield row("length-of-1000-zeros", post(b"hello", length=b"0" * 1000 + b"5"),
              echoed(b"hello"), "RFC 9110 §8.6 (MUST)")
    yield row("length-over-limit-of-a-get",
              get(fields=USUAL + b"Content-Length: " + over + b"\r\n"), TOO_LARGE, reference)
    yield row("body-of-10-MiB", post(noise(MAX_BODY), b"/sink"), sunk(MAX_BODY), reference)
    yield row("body-over-limit-already-sent",
              (post(b"", length=over) + noise(65_536), Pause(0.02)), TOO_LARGE, reference)
    many = b"X-Large-Header: " + b"h" * 60_000 + b"\r\n"
    yield row("large-fields-and-large-body", post(noise(MIB), b"/sink", USUAL + many),
              sunk(MIB), "RFC 9110 §5.4 (ours)")


def line_limits() -> Iterator[Case]:
    def line(size: int, start: bytes = b"GET /?") -> bytes:
        end = b" HTTP/1.1"
        return start + b"q" * (size - len(start) - len(end)) + end

    remainder = b"\r\n" + USUAL + b"\r\n"
    within, over = "RFC 9112 §3 (ours)", "RFC 9112 §3 (MUST), RFC 9110 §15.5.15 (ours)"
    for what, sent, expect in [
        ("request-line-at-limit", line(MAX_LINE) + remainder, PAGE_ANSWER),
        ("request-line-at-limit-of-unknown-path", line(MAX_LINE, b"GET /p") + remainder, NOT_FOUND),
        ("request-line-at-limit-after-empty-line", b"\r\n" + line(MAX_LINE) + remainder,
         PAGE_ANSWER),
        ("request-line-at-limit-cut-before-crlf", (line(MAX_LINE), TINY, remainder), PAGE_ANSWER),
        ("request-line-at-limit-cut-in-crlf", (line(MAX_LINE) + \
         remainder[:1], TINY, remainder[1:]), PAGE_ANSWER),
        ("request-line-over-limit", line(MAX_LINE + 1) + remainder, URI_TOO_LONG),
        ("request-line-over-limit-after-empty-line", b"\r\n" + line(MAX_LINE + 1) + remainder,
         URI_TOO_LONG),
        ("request-line-over-limit-cut", (line(MAX_LINE + 1)[:-20], TINY,
                                   line(MAX_LINE + 1)[-20:] + remainder), URI_TOO_LONG),
        ("request-line-over-limit-with-bad-version", line(MAX_LINE + 1)[:-1] + b"x" + remainder,
         URI_TOO_LONG),
        ("request-line-endless", b"GET /" + b"a" * 9000, URI_TOO_LONG),
        ("request-line-endless-method", b"A" * 9000, (URI_TOO_LONG, NOT_IMPLEMENTED)),
        ("request-line-of-64-KiB", line(65_536) + remainder, URI_TOO_LONG),
    ]:
        reference = within if expect in (PAGE_ANSWER, NOT_FOUND) else over
        if isinstance(expect, tuple):
            reference = "RFC 9112 §3 (SHOULD)"
        yield row(what, sent, expect, reference)  # type: ignore[arg-type]


def field_limits() -> Iterator[Case]:
    def section(size: int, name: bytes = b"X: ") -> bytes:
        return USUAL + name + b"v" * (size - len(USUAL) - len(name) - 2) + b"\r\n"

    def many(size: int, line: bytes) -> bytes:
        names = string.ascii_letters.encode()
        count, remainder = divmod(size - len(USUAL), 1 + len(line))
        lines = [names[i % len(names):][:1] + line for i in range(count)]
        return USUAL + b"".join(lines[:-1]) + lines[-1][:-2] + b"v" * remainder + b"\r\n"

    start = b"GET / HTTP/1.1\r\n"
    head = start + section(MAX_FIELDS) + b"\r\n"
    long_line = b"GET /?" + b"q" * (MAX_LINE - 15) + b" HTTP/1.1\r\n"
    name = b"N" * (MAX_FIELDS - len(USUAL) - 5) + b": v\r\n"
    over = "RFC 9110 §5.4 (MUST), RFC 6585 §5 (ours)"
    for what, sent, expect in [
        ("fields-at-limit", head, PAGE_ANSWER),
        ("fields-at-limit-after-line-at-limit", long_line + section(MAX_FIELDS) + b"\r\n",
         PAGE_ANSWER),
        ("fields-at-limit-with-long-name", start + USUAL + name + b"\r\n", PAGE_ANSWER),
        ("fields-at-limit-in-many-lines", start + many(MAX_FIELDS, b": v\r\n") + b"\r\n",
         PAGE_ANSWER),
        ("fields-at-limit-in-shortest-lines", start + many(MAX_FIELDS, b":\r\n") + b"\r\n",
         PAGE_ANSWER),
        ("fields-at-limit-with-a-body", b"POST /sink HTTP/1.1\r\nContent-Length: 70000\r\n"
         + section(MAX_FIELDS - len(b"Content-Length: 70000\r\n")) + b"\r\n" + noise(70_000),
         sunk(70_000)),
        *((f"fields-at-limit-cut-{cut}-before-the-end", (head[:-cut], TINY, head[-cut:]),
           PAGE_ANSWER)
          for cut in range(1, 6)),
        *((f"fields-of-{size // 1024}-KiB-after-{what}",
           (b"GET " + target + b" HTTP/1.1\r\n", TINY, section(size) + b"\r\n"), PAGE_ANSWER)
          for size in (4096, 8192, 16_384, 32_768, 65_536)
          for what, target in [("an-absolute-target", b"http://localhost"),
                               ("an-absolute-target-and-query", b"http://localhost?x=1")]),
        ("fields-over-limit", start + section(MAX_FIELDS + 1) + b"\r\n", FIELDS_TOO_LARGE),
        ("fields-over-limit-in-many-lines", start + many(MAX_FIELDS + 1, b": v\r\n") + b"\r\n",
         FIELDS_TOO_LARGE),
        ("fields-over-limit-cut", (start + section(MAX_FIELDS + 1)[:-9], TINY,
                             section(MAX_FIELDS + 1)[-9:] + b"\r\n"), FIELDS_TOO_LARGE),
        ("fields-endless-value", start + HOST + b"X: " + b"v" * 70_000, FIELDS_TOO_LARGE),
        ("fields-endless-lines", start + HOST + b"X: y\r\n" * 12_000, FIELDS_TOO_LARGE),
        ("fields-of-128-KiB", start + section(131_072) + b"\r\n", FIELDS_TOO_LARGE),
    ]:
        reference = over if expect == FIELDS_TOO_LARGE else "RFC 9110 §5.4 (ours)"
        yield row(what, sent, expect, reference)  # type: ignore[arg-type]


CHECKS = (group("limits", "limits of lines, fields and bodies", cases),)
