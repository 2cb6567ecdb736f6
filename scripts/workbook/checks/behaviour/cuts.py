"""A request is recognised wherever the network splits it."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    HOST,
    LONG,
    PAGE_ANSWER,
    TINY,
    USUAL,
    Case,
    bytewise,
    echoed,
    get,
    noise,
    post,
    row,
)

STREAM = "RFC 9112 §2.2 (MUST); tcp(7)"


def cases() -> Iterator[Case]:
    body = b"a\r\n\r\n\0b"
    for what, sent, expect in [
        ("get", get(b"/?x=1"), PAGE_ANSWER),
        ("absolute", get(b"http://localhost"), PAGE_ANSWER),
        ("absolute-query", get(b"http://localhost?x=1"), PAGE_ANSWER),
        ("post", post(body, fields=USUAL + b"X-Note: y\r\n"), echoed(body)),
        ("bad", get(fields=HOST + b"Content-Length: 5x\r\n"), BAD),
        ("spaced", b"\r\n" + get(fields=b"Host:\tlocalhost \r\nConnection: close\r\n"),
         PAGE_ANSWER),
    ]:
        for at in range(1, len(sent)):
            yield row(f"{what}-at-{at:03}", (sent[:at], TINY, sent[at:]), expect,
                      STREAM)
        yield row(f"{what}-byte-by-byte", bytewise(sent), expect, STREAM)
    sent = get()
    yield row("get-after-a-long-pause", (sent[:20], LONG, sent[20:]), PAGE_ANSWER,
              STREAM)
    size = len(body) + 2
    sent = post(noise(size))
    thirds = [(sent[:a], TINY, sent[a:a + 3], TINY, sent[a + 3:])
              for a in range(sent.index(b"\r\n\r\n") - 3, sent.index(b"\r\n\r\n") + 5)]
    for number, steps in enumerate(thirds):
        yield row(f"post-cut-twice-around-head-end-{number}", steps, echoed(noise(size)),
                  STREAM)


CHECKS = (group("cuts", "requests split at any byte", cases),)
