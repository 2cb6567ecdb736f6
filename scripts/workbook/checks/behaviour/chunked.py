"""A chunked body ends with its last chunk, wherever it is split; a malformed one is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    CONTINUE,
    FIELDS_TOO_LARGE,
    HOST,
    MAX_BODY,
    NEXT,
    NO_ANSWER,
    PAGE_ANSWER,
    PAGE_HEAD,
    STAYS,
    TINY,
    TOO_LARGE,
    USUAL,
    Case,
    bytewise,
    chunks,
    get,
    noise,
    row,
    sunk,
)
from workbook.checks.behaviour.unchanged import LAST, chain, not_found, page
from workbook.servers.client import Await, HalfClose

CODING = b"Transfer-Encoding: chunked\r\n"
# the limit on a body's extensions and trailers, including their line ends
EXTRAS = 8 * 1024
SYNTAX = "RFC 9112 §7.1 (MUST)"
MALFORMED = "RFC 9112 §7.1, §2.2 (SHOULD)"
BARE_CR = "RFC 9112 §2.2 (MUST)"
EXTENSIONS = "RFC 9112 §7.1.1 (MUST)"
BAD_EXTENSIONS = "RFC 9112 §7.1.1, §2.2 (SHOULD)"
LONG_EXTENSIONS = "RFC 9112 §7.1.1 (ours)"
TRAILERS = "RFC 9112 §7.1 (MUST), §7.1.2 (MAY)"
NOT_MERGED = "RFC 9110 §6.5.1, RFC 9112 §7.1.2 (MUST)"
BAD_TRAILERS = "RFC 9112 §7.1.2, §2.2 (SHOULD)"
LONG_TRAILERS = "RFC 9110 §5.4 (MUST), RFC 6585 §5 (ours)"
FRAMING = "RFC 9112 §6.1 (MUST)"
TOO_LONG = "RFC 9110 §15.5.14 (ours)"
LAST_CHUNK = b"0\r\n\r\n"
HELLO = b"5\r\nhello\r\n"


def post(body: bytes, target: bytes = b"/sink", fields: bytes = USUAL,
         coding: bytes = CODING) -> bytes:
    """A POST whose body is these chunks."""
    return b"POST " + target + b" HTTP/1.1\r\n" + fields + coding + b"\r\n" + body


def cases() -> Iterator[Case]:
    yield from sizes()
    yield from extensions()
    yield from trailers()
    yield from framings()
    yield from unwanted()
    yield from broken()
    yield from cut()


def taken(what: str, body: bytes, size: int, reference: str) -> Case:
    """The body is accepted with its length, and the bytes after it are the next request."""
    sent, expect = chain((post(body, fields=HOST), sunk(size, STAYS)), LAST)
    return row(what, sent, expect, reference)


def refused(what: str, body: bytes, reference: str, expect: bytes = BAD) -> Case:
    """The body is refused, and no request after it is served."""
    return row(what, post(body) + NEXT, expect, reference)


def sizes() -> Iterator[Case]:
    for what, body, size in [
        ("empty-body", LAST_CHUNK, 0),
        ("one-chunk", HELLO + LAST_CHUNK, 5),
        ("two-chunks", HELLO + HELLO + LAST_CHUNK, 10),
        ("one-byte-chunks", chunks(noise(300), 1), 300),
        ("size-in-lower-case", b"a\r\n0123456789\r\n" + LAST_CHUNK, 10),
        ("size-in-upper-case", b"A\r\n0123456789\r\n" + LAST_CHUNK, 10),
        ("size-of-letters-and-digits", b"1f\r\n" + b"x" * 31 + b"\r\n" + LAST_CHUNK, 31),
        ("size-after-zeros", b"0000000000000005\r\nhello\r\n" + LAST_CHUNK, 5),
        ("last-chunk-of-many-zeros", HELLO + b"00000000\r\n\r\n", 5),
        ("data-of-line-ends", b"4\r\n\r\n\r\n\r\n" + LAST_CHUNK, 4),
        ("data-that-looks-like-last-chunk", b"5\r\n0\r\n\r\n\r\n" + LAST_CHUNK, 5),
        ("data-that-looks-like-a-request", chunks(NEXT), len(NEXT)),
    ]:
        yield taken(what, body, size, SYNTAX)
    yield row("sink-10-MiB", post(chunks(noise(MAX_BODY), 65_536)), sunk(MAX_BODY),
              TOO_LONG)
    for what, digits in [
        ("without-digits", b""),
        ("invalid-digit", b"g"),
        ("minus", b"-5"),
        ("plus", b"+5"),
        ("with-prefix", b"0x5"),
        ("space-first", b" 5"),
        ("tab-first", b"\t5"),
        ("then-space", b"5 "),
        ("then-tab", b"5\t"),
        ("two-numbers", b"5 5"),
        ("comma", b"5,"),
        ("underscore", b"0_5"),
        ("point", b"5.0"),
        ("nul", b"5\0"),
        ("high-byte", b"5\xa0"),
        ("fullwidth", "５".encode()),
    ]:
        yield refused(f"size-{what}", digits + b"\r\nhello\r\n" + LAST_CHUNK, MALFORMED)
    for what, reference, digits in [
        ("of-17-digits", "RFC 9112 §7.1 (ours)", b"0" * 16 + b"5"),
        ("wraps-to-5", SYNTAX, b"1" + b"0" * 15 + b"05"),
        ("of-1000-zeros", "RFC 9112 §7.1 (ours)", b"0" * 1000 + b"5"),
    ]:
        yield refused(f"size-{what}", digits + b"\r\nhello\r\n" + LAST_CHUNK, reference)
    for what, digits in [
        ("over-limit", b"a00001"),
        ("2^31", b"80000000"),
        ("2^32+5", b"100000005"),
        ("2^63", b"8000000000000000"),
        ("2^64-1", b"ffffffffffffffff"),
    ]:
        yield refused(f"size-{what}", digits + b"\r\nhello\r\n" + LAST_CHUNK,
                      "RFC 9112 §7.1 (MUST), RFC 9110 §15.5.14 (ours)", TOO_LARGE)
    yield refused("total-size-over-limit", HELLO + b"9ffffc\r\nhello", TOO_LONG,
                  TOO_LARGE)


def extensions() -> Iterator[Case]:
    for what, extension in [
        ("a-name", b";a"),
        ("a-value", b";a=b"),
        ("a-quoted-value", b";a=\"b;c=5\""),
        ("two", b";a=b;c"),
        ("after-a-space", b" ;a"),
        ("spaces-everywhere", b" \t ; a = b"),
        ("high-bytes", b";a=\"caf\xc3\xa9\""),
        ("at-limit", b";" + b"e" * (EXTRAS - 3)),
    ]:
        yield taken(f"extension-{what}", b"5" + extension + b"\r\nhello\r\n" + LAST_CHUNK, 5,
                    EXTENSIONS)
    for what, extension in [  # an extension ends with its line, even within quotes
        ("unclosed-quote", b";a=\"b"),
        ("quote-that-ends-escaped", b";a=\"b\\\""),
        ("quote-in-a-name", b";a\"b=c"),
    ]:
        yield taken(f"extension-with-{what}", b"5" + extension + b"\r\nhello\r\n" + LAST_CHUNK, 5,
                    "RFC 9112 §7.1.1 (ours)")
    yield taken("extension-of-last-chunk", HELLO + b"0;a=b\r\n\r\n", 5, EXTENSIONS)
    for what, reference, extension in [
        ("with-bare-lf", BAD_EXTENSIONS, b";a\nb"),
        ("ends-with-bare-lf", BAD_EXTENSIONS, b";a\n5\r\n"),
        ("with-bare-cr", BARE_CR, b";a\rb"),
        ("with-nul", BAD_EXTENSIONS, b";a\0"),
        ("with-delete", BAD_EXTENSIONS, b";a\x7f"),
        ("without-semicolon", BAD_EXTENSIONS, b" a"),
        ("too-long", LONG_EXTENSIONS, b";" + b"e" * EXTRAS),
        ("of-spaces-too-long", LONG_EXTENSIONS, b" " * (EXTRAS + 2) + b";a"),
    ]:
        yield refused(f"extension-{what}", b"5" + extension + b"\r\nhello\r\n" + LAST_CHUNK,
                      reference)
    yield refused("extensions-too-long-in-total", b"1;eeeeeeee\r\nx\r\n" * (EXTRAS // 8 + 1)
                  + LAST_CHUNK, LONG_EXTENSIONS)


def trailers() -> Iterator[Case]:
    for what, reference, lines in [
        ("one", TRAILERS, b"X: y\r\n"),
        ("several", TRAILERS, b"X: y\r\nA:\r\nb: c d\te\r\n"),
        ("of-high-bytes", TRAILERS, b"X: caf\xc3\xa9\r\n"),
        ("at-limit", TRAILERS, b"X:" + b"v" * (EXTRAS - 6) + b"\r\n"),
        ("with-content-length", NOT_MERGED, b"Content-Length: 5\r\n"),
        ("with-transfer-encoding", NOT_MERGED, CODING),
        ("with-host", NOT_MERGED, b"Host: elsewhere\r\n"),
        ("with-connection-close", NOT_MERGED, b"Connection: close\r\n"),
        ("with-expect", NOT_MERGED, b"Expect: a-miracle\r\n"),
    ]:
        yield taken(f"trailers-{what}", HELLO + b"0\r\n" + lines + b"\r\n", 5, reference)
    for what, reference, lines in [
        ("without-colon", BAD_TRAILERS, b"Nonsense\r\n"),
        ("that-look-like-a-request", BAD_TRAILERS, b"GET / HTTP/1.1\r\n"),
        ("without-name", BAD_TRAILERS, b": y\r\n"),
        ("with-space-in-name", BAD_TRAILERS, b"X : y\r\n"),
        ("folded", "RFC 9112 §5.2 (MUST)", b"X: a\r\n b\r\n"),
        ("after-a-space", BAD_TRAILERS, b" X: y\r\n"),
        ("with-bare-lf", "RFC 9112 §2.2 (ours)", b"X: y\nZ: a\r\n"),
        ("with-bare-cr", BARE_CR, b"X: y\rAB: a\r\n"),
        ("with-nul", "RFC 9110 §5.5 (MUST)", b"X: a\0b\r\n"),
        ("with-nul-in-name", BAD_TRAILERS, b"X\0: a\r\n"),
    ]:
        yield refused(f"trailers-{what}", HELLO + b"0\r\n" + lines + b"\r\n", reference)
    yield refused("trailers-too-long", b"0\r\nX:" + b"v" * (EXTRAS - 5) + b"\r\n\r\n",
                  LONG_TRAILERS, FIELDS_TOO_LARGE)
    yield refused("trailers-too-many", b"0\r\n" + b"X: y\r\n" * (EXTRAS // 6 + 1) + b"\r\n",
                  LONG_TRAILERS, FIELDS_TOO_LARGE)


def framings() -> Iterator[Case]:
    """The ways in which a head can announce a chunked body."""
    for what, coding in [
        ("in-other-case", b"Transfer-Encoding: Chunked\r\n"),
        ("name-in-other-case", b"TRANSFER-ENCODING: chunked\r\n"),
        ("after-a-tab", b"Transfer-Encoding:\tchunked\r\n"),
        ("then-spaces", b"Transfer-Encoding: chunked \t \r\n"),
        ("after-an-empty-element", b"Transfer-Encoding: , chunked\r\n"),
        ("before-an-empty-element", b"Transfer-Encoding: chunked,\r\n"),
    ]:
        sent, expect = chain((post(HELLO + LAST_CHUNK, fields=HOST, coding=coding),
                              sunk(5, STAYS)), LAST)
        yield row(f"coding-{what}", sent, expect,
                  "RFC 9110 §5.6.1.2 (MUST)" if b"," in coding else FRAMING)
    body = HELLO + LAST_CHUNK
    asks = HOST + b"Expect: 100-continue\r\n"
    for what, reference, steps, expect in [
        ("of-a-get", FRAMING, get(fields=HOST + CODING) + body + LAST[0], page() + PAGE_ANSWER),
        ("of-a-head", FRAMING, get(fields=USUAL + CODING).replace(b"GET", b"HEAD", 1) + body,
         PAGE_HEAD),
        ("waits-for-continue", "RFC 9110 §10.1.1 (MUST)",
         (post(b"", fields=asks), Await(CONTINUE), body + LAST[0]),
         CONTINUE + sunk(5, STAYS) + PAGE_ANSWER),
        ("pipelined", "RFC 9112 §9.3.2 (MUST)",
         post(body, fields=HOST) + post(LAST_CHUNK, fields=HOST) + post(body),
         sunk(5, STAYS) + sunk(0, STAYS) + sunk(5)),
    ]:
        does = (steps,) if isinstance(steps, bytes) else steps
        yield row(what, does, expect, reference)  # type: ignore[arg-type]


def unwanted() -> Iterator[Case]:
    """Chunked bodies of requests that are answered without reading them."""
    body, lost = chunks(noise(5000), 700), not_found()
    for what, steps in [
        ("skipped", (post(body, b"/nowhere", HOST) + LAST[0],)),
        ("answered-first", (post(b"", b"/nowhere", HOST), Await(lost), body + LAST[0])),
    ]:
        yield row(f"unwanted-body-{what}", steps, lost + PAGE_ANSWER, "RFC 9112 §9.3 (MUST)")


def broken() -> Iterator[Case]:
    """Lines that don't end with CRLF, data shorter or longer than announced, and truncated bodies.
    """
    for what, body in [
        ("lf-after-size", b"5\nhello\r\n" + LAST_CHUNK),
        ("cr-after-size", b"5\rhello\r\n" + LAST_CHUNK),
        ("cr-cr-lf-after-size", b"5\r\r\nhello\r\n" + LAST_CHUNK),
        ("lf-cr-after-size", b"5\n\rhello\r\n" + LAST_CHUNK),
        ("lf-after-data", b"5\r\nhello\n" + LAST_CHUNK),
        ("cr-after-data", b"5\r\nhello\r" + LAST_CHUNK),
        ("x-lf-after-data", b"5\r\nhellox\n" + LAST_CHUNK),
        ("cr-x-after-data", b"5\r\nhello\rx" + LAST_CHUNK),
        ("nothing-after-data", b"5\r\nhello" + LAST_CHUNK),
        ("data-too-long", b"5\r\nhello!\r\n" + LAST_CHUNK),
        ("data-too-short", b"5\r\nhell\r\n" + LAST_CHUNK),
        ("space-after-data", b"5\r\nhello \r\n" + LAST_CHUNK),
        ("empty-line-before-size", b"\r\n" + HELLO + LAST_CHUNK),
        ("lf-after-last-size", b"0\n\r\n"),
        ("lf-at-the-end", b"0\r\n\n"),
        ("cr-x-at-the-end", b"0\r\n\rx"),
        ("body-without-chunks", b"hello"),
    ]:
        yield refused(what, body, BARE_CR if re.search(rb"\r(?!\n)", body) else MALFORMED)
    stops = "RFC 9112 §8 (ours)"
    for what, sent in [("size", b"5"), ("size-line", b"5\r"), ("data", b"5\r\nhel"),
                       ("data-end", b"5\r\nhello\r"), ("chunks", HELLO), ("last", b"0\r\n"),
                       ("trailers", b"0\r\nX: y\r\n"), ("end", b"0\r\n\r")]:
        yield row(f"half-close-in-{what}", (post(sent), HalfClose()), NO_ANSWER, stops)


def cut() -> Iterator[Case]:
    """Two requests remain two requests wherever the network splits them."""
    body = b"5;a=\"b\"\r\nhello\r\n00B\r\n01234567890\r\n0\r\nX: y\r\n\r\n"
    sent, expect = chain((post(body, fields=HOST), sunk(16, STAYS)), LAST)
    begins = len(post(b"", fields=HOST))
    for at in range(begins - 2, begins + len(body) + 2):
        yield row(f"cut-at-{at - begins:03}", (sent[:at], TINY, sent[at:]), expect, SYNTAX)
    yield row("byte-by-byte", bytewise(sent), expect, SYNTAX)


CHECKS = (group("chunked", "chunked bodies", cases, level=12),)
