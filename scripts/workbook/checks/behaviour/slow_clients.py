"""A slow client is served to the end, and doesn't hold up the others."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.memory import unread_pipelined_answers
from workbook.checks.behaviour.rows import (
    CONTINUE,
    HOST,
    LONG,
    MAX_BODY,
    MIB,
    NEXT,
    PAGE_ANSWER,
    STAYS,
    TOO_LARGE,
    Case,
    bytewise,
    echoed,
    noise,
    post,
    row,
)
from workbook.checks.behaviour.unchanged import (
    ASKS,
    GET,
    LAST,
    TOO_MUCH,
    chain,
    echo,
    in_sequence,
    pieces,
    sink,
)
from workbook.servers.client import Await, HalfClose, Pause, Sip, Vanish


def cases() -> Iterator[Case]:
    # Chapter 5 introduces pipelines, and this group with it; later chapters have it in `memory`.
    yield unread_pipelined_answers(level=5, until=5)
    tcp = "tcp(7), epoll(7)"
    sent, expect = chain(echo(noise(300)), GET, LAST)
    pages, answers = chain(*[GET] * 999, LAST)
    large, large_answers = chain(*[echo(noise(MIB))] * 4, *[GET] * 50, LAST)
    everything, all_of_it = chain(echo(noise(MAX_BODY)), GET, LAST)
    waits = post(b"", fields=ASKS, length=b"300")
    halves = [chain(echo(noise(700_000)), GET), chain(*[sink(noise(200_000))] * 5)]
    for what, steps, got in [
        ("writes-byte-by-byte", bytewise(sent), expect),
        ("writes-second-request-byte-by-byte", (GET[0], Await(GET[1]), *bytewise(sent)),
         GET[1] + expect),
        ("writes-a-body-byte-by-byte-after-continue",
         (waits, Await(CONTINUE), *bytewise(noise(300)), LAST[0]),
         CONTINUE + echoed(noise(300), STAYS) + PAGE_ANSWER),
        ("pauses-everywhere", (sent[:9], LONG, sent[9:200], LONG, sent[200:-9], LONG, sent[-9:]),
         expect),
        ("reads-late", (pages, LONG), answers),
        ("reads-slowly", (Sip(4096, 0.0005), pages), answers),
        ("reads-large-echoes-late", (large, LONG), large_answers),
        ("reads-large-echoes-slowly", (Sip(65_536, 0.001), large), large_answers),
        ("reads-10-MiB-late", (everything, LONG), all_of_it),
        ("reads-10-MiB-late-then-closes", (post(noise(MAX_BODY)), LONG),
         echoed(noise(MAX_BODY))),
        ("reads-late-after-half-close", (halves[0][0], HalfClose(), LONG), halves[0][1]),
        ("reads-slowly-after-half-close", (Sip(16_384, 0.0005), halves[0][0], HalfClose()),
         halves[0][1]),
        ("writes-large-sinks-in-pieces", (*pieces(halves[1][0], 3), LAST[0]),
         halves[1][1] + PAGE_ANSWER),
    ]:
        yield row(what, steps, got, tcp, narrow="reads" in what,
                  timeout_s=10.0 if "reads" in what else 5.0)
    refusal_late = large.removesuffix(LAST[0]) + TOO_MUCH + NEXT
    yield row("reads-a-refusal-late", (refusal_late, LONG),
              large_answers.removesuffix(PAGE_ANSWER) + TOO_LARGE, tcp, narrow=True)
    for what, steps in [
        ("does-not-read-pages", (GET[0] * 2000, Pause(0.02))),
        ("does-not-read-an-echo", (echo(noise(8 * MIB))[0], Pause(0.02))),
        ("stops-in-a-head", (GET[0], Await(GET[1]), GET[0][:20])),
        ("stops-in-a-body", (GET[0], Await(GET[1]), echo(b"hello")[0][:-2])),
        ("waits-for-continue", (waits, Await(CONTINUE))),
        ("does-not-close", (LAST[0], Await(PAGE_ANSWER))),
        ("resets-between-requests", (GET[0], Await(GET[1]), Vanish())),
        ("resets-in-second-request", (GET[0], Await(GET[1]), GET[0][:20], Vanish())),
        ("resets-in-a-large-answer", (large, Await(b"200 OK"), Vanish())),
        ("resets-with-unread-answers", (GET[0] * 2000, Pause(0.02), Vanish())),
        ("resets-after-half-close", (large, HalfClose(), Await(b"200 OK"), Vanish())),
        ("resets-in-its-body", (post(noise(MIB), fields=HOST, length=b"2000000"), Vanish())),
    ]:
        yield row(f"another-{what}", in_sequence(GET, echo(noise(3000)), LAST),
                  chain(GET, echo(noise(3000)), LAST)[1], tcp,
                  neighbours=(steps,) * 6)


CHECKS = (group("slow-clients", "slow readers and writers", cases, level=5),)
