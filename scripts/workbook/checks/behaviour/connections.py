"""Clients that stop half-way, send too much or disconnect without notice."""

from __future__ import annotations

from collections.abc import Iterator

import psutil

from workbook.checks.behaviour import idle_limit
from workbook.checks.behaviour.alone import alone, connected
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    CONTINUE,
    HOST,
    MIB,
    NEXT,
    NO_ANSWER,
    PAGE,
    PAGE_ANSWER,
    URI_TOO_LONG,
    USUAL,
    Case,
    Unable,
    Unmet,
    echoed,
    get,
    noise,
    post,
    row,
)
from workbook.servers.client import Await, HalfClose, Pause, Vanish
from workbook.servers.process import Server

WAITING = 24  # clients whose requests arrive while the server is suspended; more than its threads


def cases() -> Iterator[Case]:
    big = post(noise(MIB))
    ended, tear_down = "RFC 9112 §9.6 (MUST)", "RFC 9112 §9.6 (ours)"
    message, body = "RFC 9112 §8 (ours)", "RFC 9112 §6.3 (MUST), §8 (ours)"
    for what, steps, expect, reference in [
        ("half-close-after-get", (get(), HalfClose()), PAGE_ANSWER, tear_down),
        ("half-close-after-post", (post(noise(5000)), HalfClose()), echoed(noise(5000)),
         tear_down),
        ("half-close-before-any-byte", (HalfClose(),), NO_ANSWER, message),
        ("half-close-in-request-line", (b"GET / HT", HalfClose()), NO_ANSWER, message),
        ("half-close-after-request-line", (b"GET / HTTP/1.1\r\n", HalfClose()), NO_ANSWER,
         message),
        ("half-close-in-fields", (get()[:-2], HalfClose()), NO_ANSWER, message),
        ("half-close-in-body", (post(b"hell", b"/sink", length=b"5"), HalfClose()), NO_ANSWER,
         body),
        ("half-close-before-body", (post(b"", length=b"5"), HalfClose()), NO_ANSWER, body),
        ("empty-line-then-half-close", (b"\r\n", HalfClose()), NO_ANSWER, message),
        ("one-byte-too-many", (get() + b"x", Pause(0.02)), PAGE_ANSWER, ended),
        ("echo-and-one-byte-too-many", (post(b"hello") + b"x", Pause(0.02)), echoed(b"hello"),
         ended),
        ("next-request-after-close", (get() + NEXT, Pause(0.02)), PAGE_ANSWER, ended),
        ("junk-after-request", (get() + noise(65_536), Pause(0.02)), PAGE_ANSWER, tear_down),
        ("junk-after-answer", (get(), Await(PAGE), b"junk", Pause(0.01)), PAGE_ANSWER,
         ended),
        ("large-junk-after-request", (get() + noise(MIB), Pause(0.02)), PAGE_ANSWER, tear_down),
        ("junk-after-refusal", (get(fields=b"") + noise(65_536), Pause(0.02)), BAD, tear_down),
        ("junk-after-endless-line", (b"A" * 300_000, Pause(0.02)), URI_TOO_LONG, tear_down),
        ("body-after-refusal", (post(noise(MIB), fields=b""), Pause(0.02)), BAD, tear_down),
    ]:
        yield row(what, steps, expect, reference)
    yield row("next-request-is-ignored", get(fields=HOST) + NEXT, PAGE_ANSWER,
              "RFC 9112 §9.3 (MUST)", until=4)
    ok = b"HTTP/1.1 200 OK"
    for what, last_steps in [
        ("before-any-byte", (Vanish(),)),
        ("in-request-line", (b"GET / HT", Vanish())),
        ("in-fields", (get()[:-2], Vanish())),
        ("in-body", (post(noise(1000), length=b"2000"), Vanish())),
        ("before-its-answer", (big, Vanish())),
        ("in-its-answer", (big, Await(ok), Vanish())),
        ("after-half-close", (big, HalfClose(), Vanish())),
        ("in-its-answer-after-half-close", (big, HalfClose(), Await(ok), Vanish())),
        ("after-request", (get(), Vanish())),
        ("waiting-for-continue", (post(b"", fields=USUAL + b"Expect: 100-continue\r\n",
                                       length=b"5"), Await(CONTINUE), Vanish())),
    ]:
        yield row(f"another-resets-{what}", get(), PAGE_ANSWER, "tcp(7)",
                  neighbours=(last_steps,) * 3)
    yield row("another-closes-without-a-request", get(), PAGE_ANSWER, "tcp(7)",
              neighbours=((HalfClose(),),) * 8)
    yield alone("closed-without-waiting", "recv(2), MSG_DONTWAIT",
                f"{WAITING} clients ask for the page while the server is suspended, and wait for "
                "the end", "the page and the end for each; between an answer and its end the server "
                "does not wait for the client", closed_without_waiting, level=3, until=4)
    yield from idle_limit.cases()
    yield row("forty-at-once", post(noise(3000)), echoed(noise(3000)), "listen(2)",
              copies=40, enough=40)


def closed_without_waiting(server: Server) -> None:
    """The requests have already arrived, so a thread waits only after serving them all."""
    process = psutil.Process(server.pid)
    with connected(server, WAITING) as clients:
        process.suspend()
        for client in clients:
            client.perform((get(),))
        before = sum(server.waits().values())
        process.resume()
        if any(client.finish().data != PAGE_ANSWER for client in clients):
            raise Unmet("one of them did not get the page and the end")
        waits = sum(server.waits().values()) - before
    if not before:
        raise Unable("this system does not report how often a process has waited")
    if waits >= WAITING:
        raise Unmet(f"for {WAITING} requests that had arrived it waited {waits} times")


CHECKS = (group("connections", "clients that stop, send too much or disconnect", cases),)
