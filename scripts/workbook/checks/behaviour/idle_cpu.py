"""While there is nothing to do, the server uses no processor time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from workbook.checks.behaviour.alone import TIMEOUT_S, alone, connected, must_be_idle
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import BAD, MIB, PAGE_ANSWER, Case, Unmet, get, noise, post
from workbook.checks.behaviour.unchanged import GET
from workbook.servers.client import Await, Client, HalfClose, Step
from workbook.servers.process import Server

SETTLED_S = 0.3  # longer than a busy machine lets a server wait for a processor


def cases() -> Iterator[Case]:
    unread = (post(noise(MIB)), Await(b"200 OK"))
    for what, does, steps, level in [
        ("connected", "connects and is silent", (), 1),
        ("in-a-head", "sends a part of a head", (get()[:20],), 1),
        ("in-a-body", "sends a part of a body", (post(noise(5000), length=b"5001"),), 1),
        ("unread-answer", "does not read its answer, of 1 MiB", unread, 1),
        ("unread-answer-after-half-close",
         "does not read its answer, of 1 MiB, and has half-closed "
         "its connection", (*unread, HalfClose()), 1),
        ("refused-without-closing", "has read that it was refused, and does not close",
         (get(fields=b""), Await(BAD)), 1),
        ("answered-without-closing", "has read its last answer, and does not close",
         (get(), Await(PAGE_ANSWER)), 1),
        ("answered-after-half-close", "has half-closed its connection and read its answer, and "
         "does not close", (get(), HalfClose(), Await(PAGE_ANSWER)), 1),
        ("between-requests", "has had an answer", (GET[0], Await(GET[1])), 5),
    ]:
        yield alone(what, "time(7)", f"a client {does}; then nothing happens",
                    "the server uses no processor", partial(rests, steps=steps), level=level)


def rests(server: Server, steps: tuple[Step, ...]) -> None:
    with connected(server, 1, narrow=True) as (client,):
        client.perform(steps)
        if client.received().end == "reset":
            raise Unmet("the connection was reset")
        wait_until_sent(client)
        must_be_idle(server)


def wait_until_sent(client: Client) -> None:
    """Wait until the server has filled the socket's buffer, at most TIMEOUT_S and only on Linux. A
    server that sends one byte per call takes a while, and is not idle until then.
    """
    before, deadline = -1, time.monotonic() + TIMEOUT_S
    while (queued := unsent(client.local_port)) != before and time.monotonic() < deadline:
        before = queued
        time.sleep(SETTLED_S)


def unsent(port: int) -> int:
    """Returns the bytes in the send queue of the socket connected to this local port (proc_net_tcp
    in the kernel's documentation); 0 if there is no such socket or table.
    """
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, _, remote, _, queues, *_ = line.split()
            if int(remote.rpartition(":")[2], 16) == port:
                return int(queues.partition(":")[0], 16)
    return 0


CHECKS = (group("idle-cpu", "processor time of an idle server", cases),)
