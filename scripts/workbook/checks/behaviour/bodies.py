"""Bodies of any content and any length come back unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    FRAMED,
    LONG,
    MAX_BODY,
    MIB,
    MUCH_LONGER,
    PAGE_ANSWER,
    TINY,
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
    for size in (0, 1, 2, 4095, 4096, 4097, 16_384, 65_535, 65_536, 65_537, MIB):
        yield row(f"echo-{size}", post(noise(size)), echoed(noise(size)), FRAMED)
    for size in (0, 1, 65_537, MIB):
        yield row(f"sink-{size}", post(noise(size), b"/sink"), sunk(size), FRAMED)
    for what, body in [
        ("nuls", bytes(3000)),
        ("every-byte", bytes(range(256)) * 4),
        ("empty-lines", b"\r\n\r\n" * 500),
        ("a-request", get()),
        ("an-answer", PAGE_ANSWER),
        ("high-bytes", b"\xff" * 3000),
    ]:
        yield row(f"echo-of-{what}", post(body), echoed(body), FRAMED)
    for total in (4095, 4096, 4097):
        body = noise(total - len(post(b"", length=b"1234")))
        yield row(f"request-of-{total}", post(body), echoed(body), FRAMED)
    body = noise(50_000)
    pieces = [body[i:i + 1000] for i in range(0, len(body), 1000)]
    head = post(b"", length=b"50000")
    yield row("echo-after-its-head", (head, TINY, body), echoed(body), FRAMED)
    yield row("echo-in-pieces", (head, *(s for p in pieces for s in (p, Pause(0.0005)))),
              echoed(body), FRAMED)
    yield row("echo-last-byte-late", (head + body[:-1], TINY, body[-1:]), echoed(body),
              FRAMED)
    yield row("echo-after-a-long-pause", (head + body[:-1], LONG, body[-1:]),
              echoed(body), FRAMED)
    late = noise(300_000)
    yield row("echo-to-a-late-reader", (post(late), MUCH_LONGER), echoed(late), "tcp(7)",
              narrow=True)
    # not before level 3: reading one byte per system call takes ten seconds
    large = noise(MAX_BODY)
    yield row("echo-10-MiB-to-a-late-reader", (post(large), LONG), echoed(large),
              "tcp(7)", level=3)


CHECKS = (group("bodies", "bodies of any size", cases),)
