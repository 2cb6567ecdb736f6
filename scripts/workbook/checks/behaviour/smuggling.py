"""Requests that two servers in a row could interpret differently are refused, and nothing after
them is served.
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

SPACE = "RFC 9112 §5.1 (MUST)"
NAME = "RFC 9110 §5.1, RFC 9112 §2.2 (SHOULD)"
FOLDED = "RFC 9112 §5.2 (MUST)"
VALUE = "RFC 9110 §5.5 (MUST)"
BARE_LF = "RFC 9112 §2.2 (ours)"  # a recipient MAY accept it as a line end


def cases() -> Iterator[Case]:
    yield from lengths()
    yield from encodings()
    both, not_final = "RFC 9112 §6.1 (MAY)", "RFC 9112 §6.3 (MUST)"
    for what, fields, reference in [
        ("both-cl-first", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", both),
        ("both-te-first", b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", both),
        ("both-te-unknown", b"Content-Length: 5\r\nTransfer-Encoding: identity\r\n", not_final),
        ("both-te-empty", b"Content-Length: 5\r\nTransfer-Encoding:\r\n", not_final),
        ("both-te-in-other-case", b"Content-Length: 5\r\ntRANSFER-eNCODING: chunked\r\n", both),
        ("both-cl-zero", b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", both),
        ("both-cl-too-large", b"Content-Length: 99999999999\r\nTransfer-Encoding: chunked\r\n",
         both),
    ]:
        yield row(what, smuggled(fields), BAD, reference)


def smuggled(fields: bytes, body: bytes = b"0\r\n\r\n") -> bytes:
    return b"POST /echo HTTP/1.1\r\n" + USUAL + fields + b"\r\n" + body + NEXT


def lengths() -> Iterator[Case]:
    """Content-Length is a single sequence of digits, and occurs once."""
    invalid = "RFC 9110 §8.6, RFC 9112 §6.3 (MUST)"
    repeated = "RFC 9110 §8.6 (MAY)"  # the same number twice, which MAY be accepted
    lists = ("trailing-comma", "leading-comma", "list-of-equal", "list-of-equal-no-space")
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
        yield row(f"cl-{what}", smuggled(fields), BAD, repeated if what in lists else invalid)
    for what, fields, reference in [
        ("cl-twice-equal", b"Content-Length: 5\r\nContent-Length: 5\r\n", repeated),
        ("cl-twice-different", b"Content-Length: 5\r\nContent-Length: 6\r\n", invalid),
        ("cl-twice-zero-first", b"Content-Length: 0\r\nContent-Length: 5\r\n", invalid),
        ("cl-twice-in-other-case", b"Content-Length: 5\r\nCONTENT-LENGTH: 5\r\n", repeated),
        ("cl-twice-apart", b"Content-Length: 5\r\nX: y\r\nContent-Length: 5\r\n", repeated),
        ("cl-twice-second-empty", b"Content-Length: 5\r\nContent-Length:\r\n", repeated),
        ("cl-name-then-space", b"Content-Length : 5\r\n", SPACE),
        ("cl-name-then-tab", b"Content-Length\t: 5\r\n", SPACE),
        ("cl-name-then-nul", b"Content-Length\0: 5\r\n", NAME),
        ("cl-after-space", b" Content-Length: 5\r\n", FOLDED),
        ("cl-folded", b"Content-Length:\r\n 5\r\n", FOLDED),
        ("cl-folded-digits", b"Content-Length: 5\r\n 0\r\n", FOLDED),
        ("cl-after-bare-cr", b"X: y\rContent-Length: 5\r\n", VALUE),
        ("cl-after-bare-lf", b"X: y\nContent-Length: 5\r\n", BARE_LF),
        ("cl-after-nul", b"X: y\0Content-Length: 5\r\n", VALUE),
        ("cl-without-colon", b"Content-Length 5\r\n", "RFC 9112 §5, §2.2 (SHOULD)"),
    ]:
        yield row(what, smuggled(fields), BAD, reference)


def encodings() -> Iterator[Case]:
    """Transfer-Encoding: we decode no coding, so every request that has one is refused."""
    te = b"Transfer-Encoding: "
    no_length = "RFC 9112 §6.3 (MAY)"
    empty = f"{no_length}, RFC 9110 §5.6.1.2 (MUST)"
    not_final = "RFC 9112 §6.3 (MUST)"
    unknown = "RFC 9112 §6.1 (SHOULD)"
    twice = "RFC 9112 §6.1 (ours)"
    for what, fields, expect, reference in [
        ("te-chunked", te + b"chunked", LENGTH_REQUIRED, no_length),
        ("te-chunked-after-tab", b"Transfer-Encoding:\tchunked", LENGTH_REQUIRED, no_length),
        ("te-chunked-then-space", te + b"chunked \t ", LENGTH_REQUIRED, no_length),
        ("te-name-in-other-case", b"TRANSFER-ENCODING: chunked", LENGTH_REQUIRED, no_length),
        ("te-identity", te + b"identity", BAD, not_final),
        ("te-gzip", te + b"gzip", BAD, not_final),
        ("te-gzip-chunked", te + b"gzip, chunked", NOT_IMPLEMENTED, unknown),
        ("te-gzip-chunked-no-space", te + b"gzip,chunked", NOT_IMPLEMENTED, unknown),
        ("te-gzip-chunked-after-tab", te + b"gzip,\tchunked", NOT_IMPLEMENTED, unknown),
        ("te-chunked-gzip", te + b"chunked, gzip", BAD, not_final),
        ("te-gzip-space-chunked", te + b"gzip chunked", BAD, not_final),
        ("te-chunked-identity", te + b"chunked, identity", BAD, not_final),
        ("te-chunked-chunked", te + b"chunked, chunked", (BAD, NOT_IMPLEMENTED), twice),
        ("te-chunked-comma", te + b"chunked,", LENGTH_REQUIRED, empty),
        ("te-comma-chunked", te + b", chunked", LENGTH_REQUIRED, empty),
        ("te-commas", te + b", ,", BAD, not_final),
        ("te-xchunked", te + b"xchunked", BAD, not_final),
        ("te-chunkedx", te + b"chunkedx", BAD, not_final),
        ("te-quoted", te + b"\"chunked\"", BAD, not_final),
        ("te-chunked-with-parameter", te + b"chunked;q=1", BAD, "RFC 9112 §7.1 (SHOULD)"),
        ("te-empty", b"Transfer-Encoding:", BAD, not_final),
        ("te-chunked-in-other-case", te + b"Chunked", LENGTH_REQUIRED, no_length),
        ("te-twice", te + b"chunked\r\n" + te + b"chunked", (BAD, NOT_IMPLEMENTED), twice),
        ("te-twice-unknown-first", te + b"x\r\n" + te + b"chunked", (BAD, NOT_IMPLEMENTED),
         unknown),
        ("te-twice-unknown-last", te + b"chunked\r\n" + te + b"x", BAD, not_final),
        ("te-inner-space", te + b"chunk ed", BAD, not_final),
        ("te-no-break-space", te + b"\xa0chunked", BAD, not_final),
        ("te-vertical-tab", te + b"\x0bchunked", BAD, not_final),
        ("te-form-feed", te + b"chunked\x0c", BAD, not_final),
        ("te-nul", te + b"chunked\0", BAD, VALUE),
        ("te-bare-cr", te + b"\rchunked", BAD, VALUE),
        ("te-name-then-space", b"Transfer-Encoding : chunked", BAD, SPACE),
        ("te-name-then-tab", b"Transfer-Encoding\t: chunked", BAD, SPACE),
        ("te-name-then-nul", b"Transfer-Encoding\0: chunked", BAD, NAME),
        ("te-after-space", b" Transfer-Encoding: chunked", BAD, FOLDED),
        ("te-folded", b"Transfer-Encoding:\r\n chunked", BAD, FOLDED),
        ("te-folded-value", te + b"x\r\n chunked", BAD, FOLDED),
        ("te-after-bare-lf", b"X: y\nTransfer-Encoding: chunked", BAD, BARE_LF),
        ("te-after-bare-cr", b"X: y\rTransfer-Encoding: chunked", BAD, VALUE),
    ]:
        yield row(what, smuggled(fields + b"\r\n"), expect, reference)  # type: ignore[arg-type]
    old = b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield row("te-in-1.0", old, BAD, "RFC 9112 §6.1 (MUST)")
    yield row("te-of-a-get", get(fields=USUAL + te + b"chunked\r\n") + NEXT,
              LENGTH_REQUIRED, no_length)


CHECKS = (group("smuggling", "ambiguous requests (request smuggling)", cases),)
