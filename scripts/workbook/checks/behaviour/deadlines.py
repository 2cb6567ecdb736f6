"""Clients that are disconnected in time, and those that are not.

Each case shortens the limits that it tests, so that it doesn't take a minute.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

from workbook.checks.behaviour.alone import TIMEOUT_S, alone, connected
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    MAX_BODY,
    MIB,
    PAGE_ANSWER,
    Case,
    Unmet,
    echoed,
    get,
    noise,
    post,
)
from workbook.checks.behaviour.unchanged import GET
from workbook.servers import heads
from workbook.servers.client import Await, Pause, Received, Step, connect, exchange
from workbook.servers.process import Server

SHORT_S = 1
ENOUGH_S = 2  # for a client that does something four times a second
STAYS_S = 4.0  # how long a client stays if it isn't disconnected
NOW_AND_THEN = Pause(0.25)
ITERATIONS = int(STAYS_S / NOW_AND_THEN.seconds)
EARLY_S = 0.9
BIT = 400_000  # bytes that a full socket must have free before it accepts more
SERVED = "it is served to the end"
CLOSING, SUSTAINING = "RFC 9112 §9.5 (MAY)", "RFC 9112 §9.5 (SHOULD)"
RATE_LEVEL = 13  # the first level that enforces a minimum rate of bytes
TIMEOUTS = {"--timeout": 60, "--head-timeout": 30, "--progress-timeout": 10,
            "--linger-timeout": 2, "--stop-timeout": 1}  # with their defaults
LEAVES_S = 3.5  # the limit, up to a second until the next sweep, and time for a busy machine


@dataclass(frozen=True)
class Limits:
    """Time limits in seconds; the defaults are too long to expire in a check."""

    idle: int = 60
    head: int = 60
    progress: int = 60
    linger: int = 60
    stop: int = 1

    def options(self) -> tuple[str, ...]:
        return tuple(word for option, seconds in zip(TIMEOUTS, astuple(self), strict=True)
                     for word in (option, str(seconds)))


def cases() -> Iterator[Case]:
    body = noise(1000)
    late = "it is cut off when its time is over, at the next sweep, and not before"
    for what, limits, does, begins, drip in [
        ("silent-after-connect", Limits(idle=SHORT_S), "connects and is silent", (), b""),
        ("silent-after-an-answer", Limits(idle=SHORT_S), "has its page and is silent",
         (GET[0], Await(GET[1])), b""),
        ("head-byte-by-byte", Limits(head=SHORT_S), "sends a head, a byte four times a second",
         (b"GET / HTTP/1.1\r\nX: ",), b"x"),
        ("stops-in-a-body", Limits(progress=SHORT_S), "stops in a body",
         (post(body[:-1], length=b"1000"),), b""),
    ]:
        yield limited(what, limits, f"a client {does}", late,
                      partial(cut_off, begins=begins, drip=drip))
    yield limited("lingers-byte-by-byte", Limits(linger=SHORT_S), "a client sends a bad request, "
                  "reads 400 and the end, and goes on sending a byte four times a second", late,
                  lingers)
    yield limited("never-reads", Limits(progress=SHORT_S), "a client does not read its answer, "
                  f"of 1 MiB, for {LEAVES_S:g} s", "it is cut off, and has a part of the answer",
                  does_not_read)
    yield limited("body-byte-by-byte", Limits(progress=ENOUGH_S), "a client sends a body, a byte "
                  f"four times a second, for {STAYS_S:g} s", SERVED,
                  partial(stays, steps=bit_by_bit(body), expect=echoed(body)),
                  until=RATE_LEVEL - 1)
    yield limited("next-head-always-started", Limits(head=ENOUGH_S), "a client has begun its next "
                  f"request whenever it is answered, for {STAYS_S:g} s", SERVED,
                  partial(stays, steps=_always_in_a_head(ITERATIONS),
                          expect=GET[1] * ITERATIONS + PAGE_ANSWER))
    yield limited("answer-read-in-pieces", Limits(progress=ENOUGH_S),
                  "a client reads an answer of 10 "
                  f"MiB, {BIT // 1000} kB four times a second, for {STAYS_S:g} s", SERVED,
                  reads_bit_by_bit)
    yield alone("in-the-help", "getopt_long(3)", "the server is started with --help",
                "it lists an option for each of its time limits, with its default: "
                + ", ".join(f"{option} {seconds}" for option, seconds in TIMEOUTS.items()),
                in_the_help)


def limited(what: str, limits: Limits, done: str, expected: str,
            perform: Callable[[Server], None], arguments: tuple[str, ...] = (),
            **remainder: Any) -> Case:
    options = (*limits.options(), *arguments)
    return alone(what, SUSTAINING if expected == SERVED else CLOSING,
                 f"the server is started with {' '.join(options)}; {done}",
                 expected, perform, arguments=options, **remainder)


def bit_by_bit(body: bytes) -> tuple[Step, ...]:
    """Steps that send `body` to /echo slowly, one byte at a time, and finally all the rest at once.
    """
    drips = tuple(step for byte in body[:ITERATIONS] for step in (bytes([byte]), NOW_AND_THEN))
    return post(b"", length=b"%d" % len(body)), *drips, body[ITERATIONS:]


def _always_in_a_head(iterations: int) -> tuple[Step, ...]:
    sent, got = GET
    steps: list[Step] = [sent[:5]]
    for iteration in range(1, iterations + 1):
        steps += [sent[5:] + sent[:5], Await(got * iteration), NOW_AND_THEN]
    return (*steps, get()[5:])


def in_the_help(server: Server) -> None:
    """The help must list each option with its default, before the next line with an option."""
    done = subprocess.run([server.command[0], "--help"], capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    described = dict(re.findall(r"^ *(--[a-z-]+)(.*?)(?=^ *--|\Z)", done.stdout, re.M | re.S))
    for option, seconds in TIMEOUTS.items():
        if option not in described:
            raise Unmet(f"it does not list {option}")
        if str(seconds) not in re.findall(r"\d+", described[option]):
            raise Unmet(f"it says of {option}: {' '.join(described[option].split())}")


def cut_off(server: Server, begins: tuple[Step, ...], drip: bytes) -> None:
    # no limit starts earlier, so a disconnection that is too early is wrong even on a busy machine
    started = time.monotonic()
    with connected(server, 1) as (client,):
        client.perform(begins)
        while not client.ended and time.monotonic() < started + TIMEOUT_S:
            client.perform((drip, NOW_AND_THEN))
            client.receive()
    _must_be_in_time(time.monotonic() - started)


def lingers(server: Server) -> None:
    """The server's end of stream only means that no answer will follow.

    Whether it has closed the connection shows only when the client sends something.
    """
    started = time.monotonic()
    with connect((server.host, server.port), TIMEOUT_S) as client, suppress(ConnectionError):
        client.sendall(get(fields=b""))
        with client.makefile("rb") as answer:
            if (came := heads.plain(answer.read())) != BAD:
                raise Unmet(f"{came[:40]!r} came")
        while time.monotonic() < started + TIMEOUT_S:
            client.sendall(b"x")
            time.sleep(NOW_AND_THEN.seconds)
    _must_be_in_time(time.monotonic() - started)


def _must_be_in_time(lasted_s: float) -> None:
    if lasted_s < EARLY_S:
        raise Unmet(f"it was cut off after {lasted_s:.1f} s")
    if lasted_s >= TIMEOUT_S:
        raise Unmet(f"it was not cut off within {TIMEOUT_S:g} s")


def does_not_read(server: Server) -> None:
    with connected(server, 1, narrow=True) as (client,):
        client.perform((post(noise(MIB)), Pause(LEAVES_S)))
        if client.finish().data == echoed(noise(MIB)):
            raise Unmet("the whole answer came")


def stays(server: Server, steps: tuple[Step, ...], expect: bytes) -> None:
    address, seconds = (server.host, server.port), STAYS_S + TIMEOUT_S
    _must_be_whole(exchange(address, steps, seconds), expect)


def reads_bit_by_bit(server: Server) -> None:
    body = noise(MAX_BODY)
    with connected(server, 1, narrow=True) as (client,):
        client.perform((post(body),))
        had = len(client.received().data)  # a server may answer while it's still receiving
        for number in range(1, ITERATIONS + 1):
            client.receive_in_all(had + number * BIT)
            client.perform((NOW_AND_THEN,))
        _must_be_whole(client.finish(), echoed(body))


def _must_be_whole(received: Received, expect: bytes) -> None:
    if received.data != expect:
        raise Unmet(f"after {received.seconds:.1f} s {len(received.data):,} of {len(expect):,} "
                    f"bytes had come, and the connection was {received.end}")


CHECKS = (group("deadlines", "time limits for slow and idle clients", cases, level=5),)
