"""Waiting clients don't slow down the others."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import HOST, Case, noise, post, row
from workbook.checks.behaviour.unchanged import GET, LAST, chain, echo, in_sequence
from workbook.servers.client import Await, HalfClose, Vanish


def cases() -> Iterator[Case]:
    asked = in_sequence(*[GET] * 20, LAST)
    answers = chain(*[GET] * 20, LAST)[1]
    for what, steps, count in [
        ("a-thousand-silent", (), 1000),
        ("a-thousand-between-requests", (GET[0], Await(GET[1])), 1000),
        ("a-thousand-in-a-head", (GET[0][:20],), 1000),
        ("a-thousand-in-a-body", (post(b"hell", fields=HOST, length=b"5"),), 1000),
        ("a-thousand-with-unread-answers", (GET[0] * 3,), 1000),
        ("three-hundred-that-reset", (GET[0], Await(GET[1]), Vanish()), 300),
        ("three-hundred-that-half-close", (GET[0], HalfClose()), 300),
    ]:
        yield row(what, asked, answers, "epoll(7)",
                  neighbours=(steps,) * count)
    for what, exchanges, copies in [
        ("two-hundred-at-once", [GET, echo(noise(3000)), LAST], 200),
        ("forty-with-sixteen-pages", [*[GET] * 15, LAST], 40),
        ("forty-with-large-echoes", [echo(noise(200_000)), GET, LAST], 40),
    ]:
        sent, expect = chain(*exchanges)
        yield row(what, sent, expect, "epoll(7)", copies=copies,
                  enough=copies, timeout_s=10.0)


CHECKS = (group("many-clients", "a thousand idle clients", cases, level=5),)
