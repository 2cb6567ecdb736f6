"""Requests that two servers in a row could interpret differently: refused, with nothing after them
served.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    LENGTH_REQUIRED,
    NEXT,
    NOT_IMPLEMENTED,
    USUAL,
    Case,
    get,
    row,
)


def cases() -> Iterator[Case]:
    yield from lengths()
    yield from encodings()
    for what, fields in [
        ("both-cl-first", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        ("both-te-first", b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        ("both-te-unknown", b"Content-Length: 5\r\nTransfer-Encoding: identity\r\n"),
        ("both-te-empty", b"Content-Length: 5\r\nTransfer-Encoding:\r\n"),
        ("both-te-in-other-case", b"Content-Length: 5\r\ntRANSFER-eNCODING: chunked\r\n"),
        ("both-cl-zero", b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"),
        ("both-cl-too-large", b"Content-Length: 99999999999\r\nTransfer-Encoding: chunked\r\n"),
    ]:
        yield row(what, smuggled(fields), BAD, "RFC 9112 §6.3, §11.2")


def smuggled(fields: bytes, body: bytes = b"0\r\n\r\n") -> bytes:
    return b"POST /echo HTTP/1.1\r\n" + USUAL + fields + b"\r\n" + body + NEXT


def lengths() -> Iterator[Case]:
    """Content-Length is a single sequence of digits, and occurs once."""
    for what, value in [
        ("empty", b""),
        ("of-spaces", b"  "),
        ("plus", b"+5"),
        ("minus", b"-5"),
        ("minus-zero", b"-0"),
        ("hexadecimal", b"0x5"),
        ("hexadecimal-digit", b"a"),
        ("octal-prefix", b"0o5"),
        ("decimal-point", b"5.0"),
        ("exponent", b"5e0"),
        ("trailing-letters", b"5abc"),
        ("trailing-semicolon", b"5;"),
        ("trailing-comma", b"5,"),
        ("leading-comma", b",5"),
        ("leading-letter", b"x5"),
        ("two-numbers", b"5 5"),
        ("inner-tab", b"5\t5"),
        ("list-of-equal", b"5, 5"),
        ("list-of-equal-no-space", b"5,5"),
        ("list-of-different", b"5, 6"),
        ("quoted", b"\"5\""),
        ("underscore", b"1_0"),
        ("inner-nul", b"5\x000"),
        ("trailing-nul", b"5\0"),
        ("vertical-tab", b"\x0b5"),
        ("form-feed", b"5\x0c"),
        ("no-break-space", b"5\xa0"),
        ("fullwidth-digit", "５".encode()),
        ("huge-then-junk", b"9" * 40 + b"x"),
        ("junk-then-huge", b"x" + b"9" * 40),
    ]:
        fields = b"Content-Length: " + value + b"\r\n"
        yield row(f"cl-{what}", smuggled(fields), BAD, "RFC 9110 §8.6, RFC 9112 §6.3")
    for what, fields in [
        ("cl-twice-equal", b"Content-Length: 5\r\nContent-Length: 5\r\n"),
        ("cl-twice-different", b"Content-Length: 5\r\nContent-Length: 6\r\n"),
        ("cl-twice-zero-first", b"Content-Length: 0\r\nContent-Length: 5\r\n"),
        ("cl-twice-in-other-case", b"Content-Length: 5\r\nCONTENT-LENGTH: 5\r\n"),
        ("cl-twice-apart", b"Content-Length: 5\r\nX: y\r\nContent-Length: 5\r\n"),
        ("cl-twice-second-empty", b"Content-Length: 5\r\nContent-Length:\r\n"),
        ("cl-name-then-space", b"Content-Length : 5\r\n"),
        ("cl-name-then-tab", b"Content-Length\t: 5\r\n"),
        ("cl-name-then-nul", b"Content-Length\0: 5\r\n"),
        ("cl-after-space", b" Content-Length: 5\r\n"),
        ("cl-folded", b"Content-Length:\r\n 5\r\n"),
        ("cl-folded-digits", b"Content-Length: 5\r\n 0\r\n"),
        ("cl-after-bare-cr", b"X: y\rContent-Length: 5\r\n"),
        ("cl-after-bare-lf", b"X: y\nContent-Length: 5\r\n"),
        ("cl-after-nul", b"X: y\0Content-Length: 5\r\n"),
        ("cl-without-colon", b"Content-Length 5\r\n"),
    ]:
        yield row(what, smuggled(fields), BAD, "RFC 9112 §5.1, §6.3")


def encodings() -> Iterator[Case]:
    """Transfer-Encoding: we decode no coding, so every request that has one is refused."""
    te = b"Transfer-Encoding: "
    for what, fields, expect in [
        ("te-chunked", te + b"chunked", LENGTH_REQUIRED),
        ("te-chunked-after-tab", b"Transfer-Encoding:\tchunked", LENGTH_REQUIRED),
        ("te-chunked-then-space", te + b"chunked \t ", LENGTH_REQUIRED),
        ("te-name-in-other-case", b"TRANSFER-ENCODING: chunked", LENGTH_REQUIRED),
        ("te-identity", te + b"identity", BAD),
        ("te-gzip", te + b"gzip", BAD),
        ("te-gzip-chunked", te + b"gzip, chunked", NOT_IMPLEMENTED),
        ("te-gzip-chunked-no-space", te + b"gzip,chunked", NOT_IMPLEMENTED),
        ("te-gzip-chunked-after-tab", te + b"gzip,\tchunked", NOT_IMPLEMENTED),
        ("te-chunked-gzip", te + b"chunked, gzip", BAD),
        ("te-gzip-space-chunked", te + b"gzip chunked", BAD),
        ("te-chunked-identity", te + b"chunked, identity", BAD),
        ("te-chunked-chunked", te + b"chunked, chunked", (BAD, NOT_IMPLEMENTED)),
        ("te-chunked-comma", te + b"chunked,", LENGTH_REQUIRED),
        ("te-comma-chunked", te + b", chunked", LENGTH_REQUIRED),
        ("te-commas", te + b", ,", BAD),
        ("te-xchunked", te + b"xchunked", BAD),
        ("te-chunkedx", te + b"chunkedx", BAD),
        ("te-quoted", te + b"\"chunked\"", BAD),
        ("te-chunked-with-parameter", te + b"chunked;q=1", BAD),
        ("te-empty", b"Transfer-Encoding:", BAD),
        ("te-chunked-in-other-case", te + b"Chunked", LENGTH_REQUIRED),
        ("te-twice", te + b"chunked\r\n" + te + b"chunked", (BAD, NOT_IMPLEMENTED)),
        ("te-twice-unknown-first", te + b"x\r\n" + te + b"chunked", (BAD, NOT_IMPLEMENTED)),
        ("te-twice-unknown-last", te + b"chunked\r\n" + te + b"x", BAD),
        ("te-inner-space", te + b"chunk ed", BAD),
        ("te-no-break-space", te + b"\xa0chunked", BAD),
        ("te-vertical-tab", te + b"\x0bchunked", BAD),
        ("te-form-feed", te + b"chunked\x0c", BAD),
        ("te-nul", te + b"chunked\0", BAD),
        ("te-bare-cr", te + b"\rchunked", BAD),
        ("te-name-then-space", b"Transfer-Encoding : chunked", BAD),
        ("te-name-then-tab", b"Transfer-Encoding\t: chunked", BAD),
        ("te-name-then-nul", b"Transfer-Encoding\0: chunked", BAD),
        ("te-after-space", b" Transfer-Encoding: chunked", BAD),
        ("te-folded", b"Transfer-Encoding:\r\n chunked", BAD),
        ("te-folded-value", te + b"x\r\n chunked", BAD),
        ("te-after-bare-lf", b"X: y\nTransfer-Encoding: chunked", BAD),
        ("te-after-bare-cr", b"X: y\rTransfer-Encoding: chunked", BAD),
    ]:
        yield row(what, smuggled(fields + b"\r\n"), expect, "RFC 9112 §6.1, §6.3, §11.2, RFC 9110 §5.6.1.2")  # type: ignore[arg-type]
    old = b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield row("te-in-1.0", old, BAD, "RFC 9112 §6.1")
    yield row("te-of-a-get", get(fields=USUAL + te + b"chunked\r\n") + NEXT,
              LENGTH_REQUIRED, "RFC 9112 §6.1")


CHECKS = (group("smuggling", "ambiguous requests (request smuggling)", cases),)
