"""The scheme of targets in absolute form: cases have http, and over TLS it is https."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbook.servers.client import Step

SCHEME = re.compile(rb"(?i)(?<=[a-z] )http(s?)$")  # up to "://", where a target begins
LONGEST = 7  # bytes that SCHEME looks at


def exchanged(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps with https instead of http in targets that are URIs, and the reverse.

    Over TLS the right scheme is the wrong one of before (RFC 9110 §4.2.2, §7.4). The steps may
    divide it.
    """
    sent = b"".join(step for step in steps if isinstance(step, bytes))
    ends = {end: scheme[1] for found in re.finditer(b"://", sent)
            if (scheme := SCHEME.search(sent[max(0, (end := found.start()) - LONGEST):end]))}
    return tuple(_exchanged(steps, ends)) if ends else tuple(steps)


def _exchanged(steps: Sequence[Step], ends: dict[int, bytes]) -> Iterator[Step]:
    """`ends` has where each scheme ends in all that is sent, and the "s" of https or nothing."""
    start = 0
    for step in steps:
        if isinstance(step, bytes):
            yield _piece(step, start, ends)
            start += len(step)
        else:
            yield step


def _piece(step: bytes, start: int, ends: dict[int, bytes]) -> bytes:
    parts, done = [], 0
    for end, letter in ends.items():
        if 0 <= (at := end - start - len(letter)) < len(step):
            parts += [step[done:at], b"" if letter else b"s"]
            done = at + len(letter)
    return b"".join([*parts, step[done:]])
