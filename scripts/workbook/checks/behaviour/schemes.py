"""The scheme of targets in absolute form: http in the cases, and https over TLS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbook.servers.client import Step

SCHEME = re.compile(rb"(?i)(?<=[a-z] )http(s?)$")  # what precedes "://" in a target
LONGEST = 7  # the maximum number of bytes that SCHEME examines


def exchanged(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns the same steps with http and https exchanged in targets in absolute form.

    Over TLS the correct scheme is the one that was wrong before (RFC 9110 §4.2.2, §7.4). A scheme
    may be split between steps.
    """
    sent = b"".join(step for step in steps if isinstance(step, bytes))
    ends = {end: scheme[1] for found in re.finditer(b"://", sent)
            if (scheme := SCHEME.search(sent[max(0, (end := found.start()) - LONGEST):end]))}
    return tuple(_exchanged(steps, ends)) if ends else tuple(steps)


def _exchanged(steps: Sequence[Step], ends: dict[int, bytes]) -> Iterator[Step]:
    """`ends` maps the position of each scheme's end in what is sent to the "s" of https or ""."""
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
