"""Bytes must arrive, and be read, at a minimum rate; how long a client may be idle is a separate
option.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from workbook.checks.behaviour import chunked
from workbook.checks.behaviour.alone import alone, connected
from workbook.checks.behaviour.deadlines import (
    BIT,
    CLOSING,
    ENOUGH_S,
    ITERATIONS,
    LEAVES_S,
    NOW_AND_THEN,
    SERVED,
    SHORT_S,
    STAYS_S,
    SUSTAINING,
    Limits,
    bit_by_bit,
    cut_off,
    limited,
    stays,
)
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    HOST,
    MIB,
    PAGE_ANSWER,
    Case,
    Unmet,
    echoed,
    get,
    noise,
    post,
    sunk,
)
from workbook.checks.behaviour.start import bad_option
from workbook.checks.behaviour.unchanged import GET, LAST, chain, echo, sink
from workbook.servers.client import Await, Pause, Step
from workbook.servers.process import Server

FAST = 8_000_000  # bytes per second
LONG_S = 60.0
FILE, FILE_BYTES = "large.bin", 16 * MIB
CUT_OFF = "it is cut off when its time is over, at the next sweep, and not before"
SILENT = (Pause(2 * ENOUGH_S), LAST[0])


def cases() -> Iterator[Case]:
    yield from bodies()
    yield from answers()
    yield from timeouts()
    yield bad_option("--min-rate")


def minimum_rate(rate: int) -> tuple[str, str]:
    return "--min-rate", str(rate)


def at_once(idle: int = 60, progress: int = 60) -> tuple[str, str]:
    """Returns the older option, which sets five time limits and doesn't change the rate."""
    return "--limits", f"{idle},60,{progress},60,1"


def bodies() -> Iterator[Case]:
    length = b"100000"
    for what, begins, drip in [
        ("body", post(b"", b"/sink", HOST, length), b"x" * 10),
        ("echo", post(b"", b"/echo", HOST, length), b"x" * 10),
        ("unwanted-body", post(b"", b"/nowhere", HOST, length), b"x" * 10),
        ("body-in-chunks", chunked.post(b"", b"/sink", HOST), b"1\r\nx\r\n"),
        ("echo-in-chunks", chunked.post(b"", b"/echo", HOST), b"1\r\nx\r\n"),
    ]:
        yield limited(f"slow-{what}", Limits(progress=SHORT_S), "a client sends a body, some bytes "
                      "four times a second", CUT_OFF,
                      partial(cut_off, begins=(begins,), drip=drip))
    options = (*minimum_rate(FAST), *at_once(progress=SHORT_S))
    yield alone("body-below-min-rate", CLOSING, f"the server is started with "
                f"{' '.join(options)}; a client sends a body, a kilobyte four times a second",
                CUT_OFF, partial(cut_off, begins=(post(b"", b"/sink", HOST, length),),
                                 drip=b"x" * 1000), arguments=options)
    half = noise(500)
    whole = half * ITERATIONS
    in_time: tuple[Step, ...] = (post(b"", b"/sink", length=b"%d" % len(whole)),
                                 *[step for _ in range(ITERATIONS) for step in (half, NOW_AND_THEN)])
    for what, does, rate, steps, expect in [
        ("body-above-min-rate", "sends a body, half a kilobyte four times a second", 1000, in_time,
         sunk(len(whole))),
        ("body-without-min-rate", "sends a body, a byte four times a second", 0, bit_by_bit(half),
         echoed(half)),
        ("last-bytes-late", "sends a body but for its last bytes, and those after a while", FAST,
         (post(noise(50_000))[:-9], Pause(1.0), noise(50_000)[-9:]), echoed(noise(50_000))),
        ("small-bodies", "sends small bodies in halves, one after another", 1000,
         *_in_halves(noise(600))),
        ("next-body-always-started", "has begun its next body whenever one is answered", 5000,
         *_always_in_a_body(noise(20))),
    ]:
        yield limited(what, Limits(progress=ENOUGH_S), f"a client {does}", SERVED,
                      partial(stays, steps=steps, expect=expect), minimum_rate(rate))


def _in_halves(body: bytes) -> tuple[tuple[Step, ...], bytes]:
    steps: list[Step] = []
    sent, got = sink(body)
    for number in range(1, 4):
        steps += [sent[:-300], Pause(1.0), sent[-300:], Await(got * number)]
    return (*steps, LAST[0]), got * 3 + PAGE_ANSWER


def _always_in_a_body(body: bytes) -> tuple[tuple[Step, ...], bytes]:
    sent, got = echo(body)
    steps: list[Step] = [sent[:-1]]
    for _ in range(ITERATIONS):
        steps += [sent[-1:] + sent[:-1], NOW_AND_THEN]
    return (*steps, sent[-1:] + LAST[0]), got * (ITERATIONS + 1) + PAGE_ANSWER


def answers() -> Iterator[Case]:
    reads = f"a client reads a file of {FILE_BYTES // MIB} MiB, {BIT // 1000} kB at a time,"
    for what, limits, rate, expected, perform in [
        ("answer-below-min-rate", Limits(progress=SHORT_S), FAST,
         "it is cut off, and has a part of the answer", reads_too_slowly),
        ("answer-above-min-rate", Limits(progress=ENOUGH_S), 100_000, SERVED, reads_fast_enough),
        ("answer-without-min-rate", Limits(progress=ENOUGH_S), 0, SERVED, reads_fast_enough),
    ]:
        yield limited(what, limits, f"{reads} for {STAYS_S:g} s", expected, perform,
                      minimum_rate(rate), site=large_file)


def large_file(folder: Path) -> None:
    with (folder / FILE).open("wb") as file:
        file.truncate(FILE_BYTES)


def reads_too_slowly(server: Server) -> None:
    if _read_slowly(server, LEAVES_S) > FILE_BYTES:
        raise Unmet("the whole answer came")


def reads_fast_enough(server: Server) -> None:
    if (came := _read_slowly(server, STAYS_S)) < FILE_BYTES:
        raise Unmet(f"{came:,} bytes came")


def _read_slowly(server: Server, seconds: float) -> int:
    """Returns how many bytes arrived when the client read slowly for `seconds`, then everything."""
    with connected(server, 1, narrow=True, timeout_s=LONG_S) as (client,):
        client.perform((get(b"/" + FILE.encode()),))
        for number in range(1, int(seconds / NOW_AND_THEN.seconds) + 1):
            client.receive_in_all(number * BIT)
            client.perform((NOW_AND_THEN,))
        return len(client.finish().raw)


def timeouts() -> Iterator[Case]:
    soon, late = ("--timeout", str(SHORT_S)), ("--timeout", "60")
    for what, options, begins in [
        ("silent-after-connect", soon, ()),
        ("silent-after-an-answer", soon, (GET[0], Await(GET[1]))),
        ("overridden-by-shorter-later-limits", (*late, *at_once(idle=SHORT_S)), ()),
    ]:
        yield _timed(f"timeout-{what}", options, "a client is silent"
                     + (" after an answer" if begins else ""), CUT_OFF,
                     partial(cut_off, begins=begins, drip=b""))
    drips = tuple(step for _ in range(ITERATIONS) for step in (b"x", NOW_AND_THEN))
    sent, got = chain(GET, LAST)
    slow_head: tuple[Step, ...] = (sent[:-2] + b"X: ", *drips, b"\r\n\r\n")
    for what, options, does, steps, expect in [
        ("does-not-apply-to-heads", soon, "sends a head, a byte four times a second,", slow_head,
         got),
        ("overrides-earlier-limits", (*at_once(idle=SHORT_S), *late), "is silent", SILENT,
         PAGE_ANSWER),
        ("overridden-by-longer-later-limits", (*soon, *at_once()), "is silent", SILENT,
         PAGE_ANSWER),
    ]:
        yield _timed(f"timeout-{what}", options, f"a client {does} for {STAYS_S:g} s, and asks",
                     SERVED, partial(stays, steps=steps, expect=expect))


def _timed(what: str, options: tuple[str, ...], done: str, expected: str,
           perform: partial[None]) -> Case:
    return alone(what, SUSTAINING if expected == SERVED else CLOSING,
                 f"the server is started with {' '.join(options)}; {done}",
                 expected, perform, arguments=options)


CHECKS = (group("min-rate", "bodies and answers that are too slow", cases, level=13),)
