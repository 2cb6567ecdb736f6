"""Requests that have already arrived are answered in order, however they arrived."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.checks.behaviour.alone import alone, connected, have_the_page, must_be_plain
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    CONTINUE,
    HOST,
    MIB,
    NEXT,
    NO_ANSWER,
    PAGE_ANSWER,
    STAYS,
    TINY,
    TOO_LARGE,
    Case,
    Unmet,
    Wrong,
    bytewise,
    echoed,
    get,
    noise,
    post,
    row,
)
from workbook.checks.behaviour.start import traced
from workbook.checks.behaviour.unchanged import (
    ASKS,
    GET,
    HEAD,
    LAST,
    LOST,
    TOO_MUCH,
    Exchange,
    chain,
    echo,
    page,
    pieces,
    sink,
)
from workbook.servers.client import Await, HalfClose, Pause
from workbook.servers.process import Server

PIPELINES = "RFC 9112 §9.3.2 (MUST)"
EMPTY_LINE = "RFC 9112 §2.2 (SHOULD)"
AFTER_CLOSE = "RFC 9112 §9.6 (MUST)"
HALF_CLOSED = "RFC 9112 §9.6 (ours)"
CLOSED = "RFC 9112 §9.5 (SHOULD)"
ENDLESS = 10 * MIB
LONG_HEAD = 10_000  # bytes: several such heads and a part of another fill any buffer
CALL = re.compile(r"^\d+ +(\w+)\((\d+)(.*)\) += (\d+)", re.M)  # in strace's format


def cases() -> Iterator[Case]:
    yield alone("endless-pipeline", "RFC 9110 §17.5 (ours)",
                f"a client sends {ENDLESS // MIB} MiB of requests of {LONG_HEAD:,} bytes without "
                "waiting, the last of them not whole, and reads the answers",
                "the server's memory grows by less than 1 MiB", without_a_pause)
    yield alone("nagle-is-off", "tcp(7), TCP_NODELAY",
                "the server is started under strace, and a client asks for the page",
                "TCP_NODELAY is set on the client's socket, or inherited from the listener, so an "
                "answer never waits until the previous one is acknowledged", nagle_is_off)
    for what, *exchanges in [
        ("two-pages", GET, LAST),
        ("sixteen-pages", *[GET] * 15, LAST),
        ("a-hundred-pages", *[GET] * 99, LAST),
        ("a-thousand-pages", *[GET] * 999, LAST),
        ("heads-and-pages", *[HEAD, GET] * 8, LAST),
        ("missing-pages", *[LOST, GET] * 8, LAST),
        ("two-echoes", echo(b"one"), echo(b"two"), LAST),
        ("sixteen-echoes", *[echo(noise(size)) for size in range(100, 1700, 100)], LAST),
        ("a-hundred-echoes", *[echo(noise(7 * size)) for size in range(100)], LAST),
        ("empty-echoes", *[echo(b"")] * 20, LAST),
        ("sinks-and-pages", *[sink(noise(3000)), GET] * 10, LAST),
        ("large-echoes", *[echo(noise(100_000 + size)) for size in range(8)], LAST),
        ("large-echoes-and-pages", *[echo(noise(MIB)), GET, GET] * 3, LAST),
        ("large-sinks", *[sink(noise(MIB)), sink(b"x")] * 3, LAST),
        ("bodies-that-look-like-requests", *[echo(NEXT * 3)] * 5, LAST),
        ("empty-lines-between-requests", *[(b"\r\n" + GET[0], GET[1])] * 16, LAST),
        ("a-hundred-different-requests", *different(100), LAST),
        ("long-lines", *[(get(b"/?" + b"q" * 8000, HOST), page())] * 20, LAST),
        ("long-heads", *[(get(fields=HOST + b"X: " + b"v" * 60_000 + b"\r\n"), page()), GET] * 4,
         LAST),
    ]:
        sent, expect = chain(*exchanges)  # type: ignore[arg-type]
        yield row(str(what), sent, expect,
                  EMPTY_LINE if what == "empty-lines-between-requests" else PIPELINES)
    for depth in (2, 16, 100):
        sent, expect = chain(*mixed(depth), LAST)
        yield row(f"mixed-{depth}", sent, expect, PIPELINES)
        for seed in (1, 2):
            yield row(f"mixed-{depth}-in-pieces-{seed}", pieces(sent, seed), expect,
                      PIPELINES)
    yield from pipelines_that_end()
    yield from cut_pipelines()


def different(count: int) -> list[Exchange]:
    """Requests that differ from their first line on, 300 kB for a hundred.

    Stale bytes that a server takes for new ones have another length, or begin in the middle of an
    element.
    """
    return [(b"POST /echo HTTP/1.1\r\nContent-Length: %d\r\n" % number + HOST
             + b"X: " + b"v" * (1000 + 37 * number) + b"\r\n\r\n" + noise(number),
             echoed(noise(number), STAYS)) for number in range(count)]


def mixed(depth: int) -> list[Exchange]:
    """Every kind of request, including bodies of many sizes."""
    rng = random.Random(depth)
    kinds: list[Callable[[], Exchange]] = [
             lambda: GET, lambda: HEAD, lambda: LOST, lambda: (b"\r\n" + GET[0], GET[1]),
             lambda: echo(noise(rng.choice([0, 1, 10, 1000, 5000, 20_000, 70_000]))),
             lambda: sink(noise(rng.choice([0, 3, 3000, 40_000])))]
    return [rng.choice(kinds)() for _ in range(depth)]


def pipelines_that_end() -> Iterator[Case]:
    three, answers = chain(GET, echo(b"hello"), GET)
    waits = post(b"", fields=ASKS, length=b"5")
    for what, reference, steps, expect in [
        ("nothing-after-close", AFTER_CLOSE, (three + LAST[0] + NEXT * 16, Pause(0.01)),
         answers + PAGE_ANSWER),
        ("nothing-after-an-error", AFTER_CLOSE,
         (three + b"GET / http/1.1\r\n\r\n" + NEXT * 16, Pause(0.01)), answers + BAD),
        ("nothing-after-too-large-body", AFTER_CLOSE,
         (three + TOO_MUCH + NEXT * 16, Pause(0.01)), answers + TOO_LARGE),
        ("large-junk-after-too-large-body", AFTER_CLOSE,
         (three + TOO_MUCH + noise(65_536) + NEXT, Pause(0.01)), answers + TOO_LARGE),
        ("half-close", HALF_CLOSED, (three, HalfClose()), answers),
        ("half-close-of-sixteen", HALF_CLOSED, (GET[0] * 16, HalfClose()), GET[1] * 16),
        ("half-close-of-a-thousand", HALF_CLOSED, (GET[0] * 1000, HalfClose()), GET[1] * 1000),
        ("half-close-with-bodies", HALF_CLOSED, (chain(*mixed(30))[0], HalfClose()),
         chain(*mixed(30))[1]),
        ("half-close-in-the-next-line", "RFC 9112 §8 (ours)",
         (three + b"GET / HT", HalfClose()), answers),
        ("half-close-in-the-next-body", "RFC 9112 §6.3 (MUST)",
         (three + post(b"hell", b"/sink", HOST, b"5"), HalfClose()), answers),
        ("half-close-after-an-answer", CLOSED, (GET[0], Await(GET[1]), HalfClose()), GET[1]),
        ("half-close-after-a-large-echo", HALF_CLOSED,
         (*chain(echo(noise(MIB)), GET)[:1], HalfClose()), chain(echo(noise(MIB)), GET)[1]),
        ("half-close-after-an-empty-line", EMPTY_LINE, (GET[0] + b"\r\n", HalfClose()), GET[1]),
        ("immediate-half-close", CLOSED, (HalfClose(),), NO_ANSWER),
        ("continue-in-the-middle", "RFC 9110 §10.1.1 (MUST)",
         (three + waits, Await(answers + CONTINUE), b"hello" + LAST[0]),
         answers + CONTINUE + echoed(b"hello", STAYS) + PAGE_ANSWER),
        ("no-continue-for-received-body", "RFC 9110 §10.1.1 (MAY)",
         three + post(b"hello", fields=ASKS) + LAST[0],
         tuple(answers + between + echoed(b"hello", STAYS) + PAGE_ANSWER
               for between in (b"", CONTINUE))),
    ]:
        yield row(what, steps, expect, reference)  # type: ignore[arg-type]


def cut_pipelines() -> Iterator[Case]:
    """Two requests remain two requests wherever the network splits them."""
    for what, exchanges in [
        ("two-gets", [(get(fields=b"Host: x\r\n"), page()), LAST]),
        ("post-and-get", [(post(b"a\r\n\r\nb", fields=b"Host: x\r\n"),
                           echoed(b"a\r\n\r\nb", STAYS)), LAST]),
        ("error-and-get", [(b"GET / HTTP/1.1\r\nA\r\n\r\n" + NEXT, BAD)]),
    ]:
        sent, expect = chain(*exchanges)
        reference = AFTER_CLOSE if what == "error-and-get" else PIPELINES
        for at in range(1, len(sent)):
            yield row(f"{what}-cut-at-{at:03}", (sent[:at], TINY, sent[at:]), expect,
                      reference)
        yield row(f"{what}-byte-by-byte", bytewise(sent), expect, reference)


def without_a_pause(server: Server) -> None:
    """A buffer that is never empty must move its bytes to the front, or it keeps growing."""
    must_be_plain(server)
    long = get(fields=HOST + b"X: " + b"x" * LONG_HEAD + b"\r\n")
    count = ENDLESS // len(long)
    with connected(server, 1) as (client,):
        before = server.own_bytes()
        client.perform((long * count + long[:1], Await(GET[1] * count)))
        if client.ended:
            raise Unmet(f"{len(client.received().data)} bytes of the {count} answers came")
        held = server.own_bytes() - before
    if held >= MIB:
        raise Unmet(f"it held {held / 1024:,.0f} KiB")


def nagle_is_off(server: Server) -> None:
    with TemporaryDirectory() as folder:
        log = Path(folder, "calls")
        with traced(server, "accept,accept4,setsockopt", "--threads", "1", log=str(log)) as other:
            with connected(other, 1) as clients:
                have_the_page(clients)
            other.stop()
        calls = log.read_text()
    if not _accepts_without_nagle(calls):
        raise Wrong("TCP_NODELAY was not set: an answer that follows another waits for the "
                    "client's acknowledgement, which takes 40 ms or more")


def _accepts_without_nagle(calls: str) -> bool:
    """Whether TCP_NODELAY is on for the client that was accepted last."""
    without_nagle: set[str] = set()
    client = ""
    for name, socket, arguments, result in CALL.findall(calls):
        if name == "setsockopt" and "TCP_NODELAY, [1]" in arguments:
            without_nagle.add(socket)
        elif name.startswith("accept"):
            client = result
            (without_nagle.add if socket in without_nagle else without_nagle.discard)(client)
    return client in without_nagle


CHECKS = (group("pipelining", "pipelined requests", cases, level=5),)
