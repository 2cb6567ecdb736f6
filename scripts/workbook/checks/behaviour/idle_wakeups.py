"""While nothing happens and no deadline is near, the server sleeps: it makes no system call."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour.alone import alone, connected, have_the_page, must_be_plain
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import Case, Unable, Unmet, get
from workbook.servers.client import Step
from workbook.servers.process import Server

LEVEL = 5  # the first chapter with an event loop
SETTLED_S = 2.2  # a loop may check its deadlines and write its log once more, a second later
LOOK_S = 2.0
ATTEMPTS = 2  # a thread may also sleep within a page fault, on a busy machine


def cases() -> Iterator[Case]:
    for what, done, steps in [
        ("no-client", "no client is connected", None),
        ("silent-client", "a client is connected and silent", ()),
        ("silent-in-a-head", "a client has sent a part of a head and is silent", (get()[:20],)),
        ("between-requests", "a client has had an answer and is silent", None),
    ]:
        asks_first = what == "between-requests"
        yield alone(what, "epoll_wait(2), kqueue(2)", done,
                    f"no thread of the server wakes up within {LOOK_S:g} s",
                    partial(sleeps, steps=steps, asks_first=asks_first), level=LEVEL)


def sleeps(server: Server, steps: tuple[Step, ...] | None, asks_first: bool) -> None:
    must_be_plain(server)  # the thread sanitizer has a thread of its own, which wakes up
    if steps is None and not asks_first:
        return must_not_wake_up(server)
    with connected(server, 1) as clients:
        if asks_first:
            have_the_page(clients)
        clients[0].perform(steps or ())
        must_not_wake_up(server)


def must_not_wake_up(server: Server) -> None:
    """Raises Unable without /proc, which has the number of waits."""
    time.sleep(SETTLED_S)
    for _ in range(ATTEMPTS):
        before = server.waits()
        if not before:
            raise Unable("only Linux counts how often a thread waited (proc_pid_status(5))")
        time.sleep(LOOK_S)
        wakeups = sum(server.waits().values()) - sum(before.values())
        if wakeups == 0:
            return
    raise Unmet(f"its threads woke up {wakeups} times in {LOOK_S:g} s")


CHECKS = (group("idle-wakeups", "no wake-ups while nothing happens", cases, level=LEVEL),)
