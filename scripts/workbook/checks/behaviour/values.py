"""Bytes that a field value may and may not contain, at every position.

Code that examines several bytes at once treats the last ones differently from the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from workbook.checks.behaviour.rows import BAD, PAGE_ANSWER, USUAL, Case, get, row

REFERENCE = "RFC 9110 §5.5 (SHOULD)"
NUL = "RFC 9110 §5.5 (MUST)"
OTHER_CONTROL = "RFC 9110 §5.5, RFC 9112 §2.2 (SHOULD)"
CONTROLS = bytes({*range(0x20), 0x7f} - {*b"\t\r\n"})
ALLOWED = bytes({*range(0x100), *b"\t"} - {*CONTROLS, *b"\r\n"})
SHORT = range(1, 41)
LONG = (41, 48, 63, 64, 65, 100, 128, 1000, 8000)


def cases() -> Iterator[Case]:
    yield row("values-of-1-to-40-bytes", asked(*map(value, SHORT)), PAGE_ANSWER, REFERENCE)
    yield row("values-of-41-to-8000-bytes", asked(*map(value, LONG)), PAGE_ANSWER, REFERENCE)
    yield row("values-of-every-byte", asked(ALLOWED, ALLOWED[::-1]), PAGE_ANSWER, REFERENCE)
    locations = [(size, at) for size in SHORT for at in range(size)]
    for number, (size, at) in enumerate(locations):
        yield with_control(size, at, CONTROLS[number % len(CONTROLS)])
    for size in LONG:
        for at, control in zip(middle(size), CONTROLS, strict=False):
            yield with_control(size, at, control)


def value(size: int) -> bytes:
    """Returns a value of random allowed bytes. It has no spaces at its ends: they don't count."""
    text = random.Random(size).choices(ALLOWED, k=size)
    return bytes([ord("v"), *text[1:-1], ord("v")][:size])


def middle(size: int) -> range:
    """Sixteen adjacent positions: every offset within a group of up to sixteen bytes."""
    return range(size // 2 - 8, size // 2 + 8)


def with_control(size: int, at: int, control: int) -> Case:
    bad = bytearray(value(size))
    bad[at] = control
    return row(f"control-in-a-value-at-{at}-of-{size}", asked(bytes(bad)), BAD,
               OTHER_CONTROL if control else NUL)


def asked(*values: bytes) -> bytes:
    return get(fields=USUAL + b"".join(b"X: " + each + b"\r\n" for each in values))
