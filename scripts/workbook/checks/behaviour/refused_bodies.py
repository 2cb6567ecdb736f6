"""A body is skipped, refused or broken off, without a second answer inside the first, and without
any of its bytes being taken for the next request.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour import chunked
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    HOST,
    MAX_BODY,
    NEXT,
    NOT_FOUND,
    PAGE_ANSWER,
    Case,
    chunks,
    echoed_in_chunks,
    noise,
    post,
    row,
)
from workbook.checks.behaviour.streaming import NOWHERE, SKIPPED
from workbook.checks.behaviour.unchanged import LAST, not_found
from workbook.servers.client import Await, HalfClose, Pause


def cases() -> Iterator[Case]:
    yield from not_skipped()
    yield from refused_instead_of_continue()
    yield from malformed()


def not_skipped() -> Iterator[Case]:
    """A long unwanted body ends the connection."""
    reference = "RFC 9112 §9.3, §9.6 (MUST)"
    over = b"%d" % (SKIPPED + 1)
    for what, steps, expect in [
        ("over-limit", (post(b"", NOWHERE, HOST, over), Await(NOT_FOUND), HalfClose()), NOT_FOUND),
        ("though-received", (post(noise(SKIPPED + 1), NOWHERE, HOST) + NEXT,), NOT_FOUND),
        ("10-MiB", (post(noise(MAX_BODY), NOWHERE, HOST) + NEXT,), NOT_FOUND),
        ("in-chunks", (chunked.post(chunks(noise(SKIPPED + 1), 65_536), NOWHERE, HOST) + NEXT,
                       Pause(0.01)), not_found()),
        ("in-small-chunks", (chunked.post(chunks(noise(SKIPPED // 6 + 1), 1), NOWHERE, HOST) + NEXT,
                             Pause(0.01)), not_found()),  # each data byte takes six bytes
    ]:
        yield row(f"not-skipped-{what}", steps, expect, reference)


def refused_instead_of_continue() -> Iterator[Case]:
    """A client that asked for 100 Continue may send its body or not."""
    expects = "RFC 9110 §10.1.1 (MUST)"
    asks = HOST + b"Expect: 100-continue\r\n"
    yield row("refused-instead-of-continue", (post(b"", NOWHERE, asks, b"5"), Pause(0.02)),
              NOT_FOUND, expects)
    yield row("chunked-refused-instead-of-continue",
              (chunked.post(b"", NOWHERE, asks), Pause(0.02)), NOT_FOUND, expects)
    yield row("refused-and-nothing-after", (post(b"", NOWHERE, asks, b"5"), Await(NOT_FOUND), NEXT),
              NOT_FOUND, "RFC 9112 §9.6 (MUST)")
    yield row("refused-though-body-received", post(noise(5000), NOWHERE, asks) + LAST[0],
              not_found() + PAGE_ANSWER, "RFC 9112 §9.3 (MUST)")


def malformed() -> Iterator[Case]:
    """Malformed chunks are refused if no answer has begun, and otherwise cut the answer off."""
    yield row("malformed-chunks-not-skipped",
              (chunked.post(b"zz\r\n" + NEXT, NOWHERE, HOST), Pause(0.01)), not_found(),
              "RFC 9112 §9.3 (MUST)")
    yield row("malformed-first-size-of-an-echo", chunked.post(b"z\r\n", b"/echo") + NEXT, BAD,
              "RFC 9112 §7.1, §2.2 (SHOULD)")
    for what, wrong in [("size", b"z\r\n"), ("end", b"5\r\nhelloz"), ("trailer", b"0\r\nz\r\n"),
                        ("total", b"a00000\r\n")]:
        data = b"hellohello" if what == "end" else b"hello"
        yield row(f"malformed-{what}-in-an-echo",
                  chunked.post(chunked.HELLO + wrong, b"/echo") + NEXT,
                  echoed_in_chunks(data, ended=False), "RFC 9112 §8 (ours)")


CHECKS = (group("refused-bodies", "bodies refused or broken off", cases, level=12),)
