"""A request with two faults is refused for the one that is checked first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product

from workbook.checks.behaviour.rows import (
    BAD,
    EXPECTATION,
    FIELDS_TOO_LARGE,
    LENGTH_REQUIRED,
    MAX_FIELDS,
    MAX_LINE,
    NOT_IMPLEMENTED,
    TOO_LARGE,
    URI_TOO_LONG,
    USUAL,
    VERSION,
    Case,
    row,
)

GOOD_LINE = {"method": b"GET", "target": b"/", "version": b"HTTP/1.1"}


@dataclass(frozen=True)
class Fault:
    """One invalid part of the request line, or one invalid field."""

    what: str
    verdict: bytes
    text: bytes
    word: str = ""
    must_be_bad: str = ""  # the section that requires 400, if one does


# In the order in which they are checked.
LINE_FAULTS = (
    Fault("long-line", URI_TOO_LONG, b"/" + b"q" * MAX_LINE, "target"),
    Fault("bad-method", BAD, b"G(T", "method"),
    Fault("bad-target", BAD, b"/#", "target"),
    Fault("bad-version", BAD, b"http/1.1", "version"),
    Fault("unknown-version", VERSION, b"HTTP/9.9", "version"),
    Fault("unknown-method", NOT_IMPLEMENTED, b"BREW", "method"),
)
LARGE = Fault("large-fields", FIELDS_TOO_LARGE, b"X: " + b"v" * MAX_FIELDS + b"\r\n")
FRAMINGS = (  # two of them together are a fault of another kind
    Fault("chunked", LENGTH_REQUIRED, b"Transfer-Encoding: chunked\r\n"),
    Fault("unknown-coding", NOT_IMPLEMENTED, b"Transfer-Encoding: gzip, chunked\r\n"),
    Fault("length-over-limit", TOO_LARGE, b"Content-Length: 99999999999\r\n"),
)
FIELD_FAULTS = (
    LARGE,
    Fault("bad-field", BAD, b"X : y\r\n", must_be_bad="RFC 9112 §5.1"),
    Fault("second-host", BAD, b"Host: elsewhere\r\n", must_be_bad="RFC 9112 §3.2"),
    *FRAMINGS,
    Fault("expectation", EXPECTATION, b"Expect: a-miracle\r\n"),
)


def cases() -> Iterator[Case]:
    for first, second in combinations(LINE_FAULTS, 2):
        if first.word != second.word:
            yield refused(first, second, head({first.word: first.text, second.word: second.text}))
    for first, second in product(LINE_FAULTS, FIELD_FAULTS):
        yield refused(first, second, head({first.word: first.text}, second.text))
    for pair in permutations(FIELD_FAULTS, 2):
        first, second = sorted(pair, key=FIELD_FAULTS.index)
        if pair[0] != LARGE and not {*pair} <= {*FRAMINGS}:
            position = "" if pair[0] == first else "-in-reverse-order"
            yield refused(first, second, head({}, pair[0].text + pair[1].text), position)


def refused(first: Fault, second: Fault, sent: bytes, position: str = "") -> Case:
    """The first fault decides; that order is ours. After a fault of the request line, or too many
    bytes of fields, a server need not read on; if it does, 400 may be a MUST for the second.
    """
    name = f"{first.what}-before-{second.what}{position}"
    if first in (*LINE_FAULTS, LARGE) and second.must_be_bad:
        return row(name, sent, tuple(dict.fromkeys((first.verdict, BAD))),
                   f"RFC 9110 §15.5, §15.6 (ours), {second.must_be_bad} (MUST)")
    if first.must_be_bad:
        return row(name, sent, first.verdict, f"{first.must_be_bad} (MUST)")
    return row(name, sent, first.verdict, "RFC 9110 §15.5, §15.6 (ours)")


def head(words: dict[str, bytes], fields: bytes = b"") -> bytes:
    return b" ".join((GOOD_LINE | words).values()) + b"\r\n" + USUAL + fields + b"\r\n"
