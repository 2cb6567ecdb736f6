"""Files that change while they are sent, and whether many such requests leave anything behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import psutil

from workbook.checks.behaviour import start
from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    must_be_plain,
    must_end,
)
from workbook.checks.behaviour.deadlines import Limits
from workbook.checks.behaviour.exhaustion import (
    LITTLE,
    NEIGHBOURS,
    NO_STOCK,
    UNAVAILABLE,
    may_grow_by,
)
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BYTES,
    CLOSES,
    HOST,
    MIB,
    NOT_FOUND,
    STAYS,
    Case,
    Unmet,
    Wrong,
    answer,
    get,
    noise,
)
from workbook.servers.client import Await, Client, HalfClose, Vanish
from workbook.servers.process import Server

LARGE = 2 * MIB  # more than the socket accepts of a client with a small receive buffer
OLD, NEW = noise(LARGE), b"new " * 5000
SMALL = b"small\n"
ASKS, LEAVES = get(b"/large.bin", HOST), get(b"/large.bin")
ASKS_SMALL = get(b"/small.bin", HOST)
SMALL_ANSWER = answer("200 OK", BYTES, SMALL, connection=STAYS)
TIMES, ROUND = 1000, 50
READERS = 64
STARVED = 200  # clients, which together need more memory than the server may use
REQUESTS = 200  # requests of each: the unparsed ones need a buffer while the first is answered
MORE = 8 * MIB  # allowed growth over all requests: four of their files
MARGIN = 2 * MIB


def make(root: Path) -> None:
    (root / "large.bin").write_bytes(OLD)
    (root / "other.bin").write_bytes(OLD)
    (root / "small.bin").write_bytes(SMALL)
    (root / "empty.bin").write_bytes(b"")


def root_of(server: Server) -> Path:
    return Path(server.command[list(server.command).index("--root") + 1])


def cases() -> Iterator[Case]:
    begun = f"a client reads the first bytes of a file of {LARGE // MIB} MiB"
    for what, reference, done, expected, perform in [
        ("truncated", "sendfile(2); RFC 9112 §8 (ours)",
         f"{begun}, as another does with another file; the first file is truncated to nothing",
         "the first connection is closed, after bytes that were in the file and fewer of them; the "
         "other has its file, and the next client is answered", truncated),
        ("truncated-without-sendfile", "sendfile(2), NOTES; RFC 9112 §8 (ours)",
         "the same, while every sendfile fails with EINVAL", "the same", truncated_while_copied),
        ("replaced", "rename(2)", f"{begun}, then another file is renamed over it",
         "the old bytes to their end; the next request on the same connection gets the new ones",
         partial(replaced, change=_replace, then=answer("200 OK", BYTES, NEW))),
        ("removed", "unlink(2)", f"{begun}, then it is removed",
         "the old bytes to their end; the next request on the same connection gets 404",
         partial(replaced, change=os.unlink, then=NOT_FOUND)),
        ("grown", "RFC 9110 §8.6 (MUST)", f"{begun}, then it grows",
         "as many bytes as announced; the next request on the same connection gets all of "
         "them", partial(replaced, change=_grow, then=answer("200 OK", BYTES, OLD + NEW))),
        ("stopped", "signal(7)", f"{begun}; SIGTERM; it reads the rest",
         "all of the file; the server ends with 0", stopped),
        ("descriptors-released", "close(2)",
         f"{TIMES} files, of all fates: sent, asked for by HEAD, missing, a directory, given up "
         "half-way", "as many descriptors are open as before", descriptors_come_back),
        ("descriptors-of-open-clients", "close(2)",
         "a client asks for a file, for one by HEAD, for an empty one, for one with POST, for one "
         "that is not there, and stays", "after each answer as many descriptors are open as after "
         "the first", descriptors_of_open_clients),
        ("memory-of-readers", "sendfile(2)",
         f"{READERS} clients read the first bytes of {LARGE // MIB} MiB each",
         f"the server's own memory grows by no more than {MORE // MIB} MiB", memory_of_readers),
        ("memory-of-requests", "malloc(3)",
         f"{TIMES} files, of all fates, and the same again", "the server's own memory grows by no "
         f"more than {MARGIN // MIB} MiB the second time", memory_of_requests),
    ]:
        arguments = Limits(stop=20).options() if what == "stopped" else ()
        yield alone(what, reference, done, expected, perform, arguments=arguments, site=make)  # type: ignore[arg-type]

    yield alone("descriptors-released-without-memory", "close(2); RFC 9110 §15.6.4 (ours)",
                f"the server may take {LITTLE // MIB} MiB more than it has; {STARVED} clients ask "
                f"{REQUESTS} times for a file of {LARGE // MIB} MiB, read nothing, and disconnect",
                "some get 503, or are cut off; then as many descriptors are open as before, and "
                "another client has its file", descriptors_without_memory,
                environment=NO_STOCK, site=make)


def _begin(client: Client, sent: bytes) -> None:
    client.perform((sent, Await(b"Content-Length: ")))
    if client.ended:
        raise Unmet("the file was not answered with, or ended before it was read")


def truncated(server: Server) -> None:
    with connected(server, 2, narrow=True) as (first, other), connected(server, 1) as (third,):
        _begin(first, ASKS)
        _begin(other, LEAVES.replace(b"large", b"other"))
        os.truncate(root_of(server) / "large.bin", 0)
        first.receive_in_all(LARGE)
        received = first.received()
        body = received.data.partition(b"\r\n\r\n")[2]
        if len(received.raw) >= LARGE or not OLD.startswith(body):
            raise Wrong(f"{len(body):,} bytes came, which the file did not have any more, or never")
        if received.end == "timeout":
            raise Unmet(f"the connection was still open {TIMEOUT_S:g} s later, after "
                        f"{len(body):,} bytes of the file")
        must_have(other, answer("200 OK", BYTES, OLD), "the client that read another file")
        third.perform((ASKS_SMALL, Await(SMALL_ANSWER), get(b"/large.bin")))
        must_have(third, SMALL_ANSWER + answer("200 OK", BYTES, b""), "the client that came later")


def truncated_while_copied(server: Server) -> None:
    with start.failing(server, "sendfile", "EINVAL") as other:
        truncated(other)


def must_have(client: Client, expected: bytes, owner: str) -> None:
    received = client.finish()
    if received.data != expected or received.end != "closed":
        end = "still open" if received.end == "timeout" else received.end
        raise Unmet(f"{owner} got {len(received.data):,} of {len(expected):,} bytes, or others; then "
                    f"the connection was {end}")


def replaced(server: Server, change: Callable[[Path], None], then: bytes) -> None:
    with connected(server, 1, narrow=True) as (client,):
        _begin(client, ASKS)
        change(root_of(server) / "large.bin")
        client.receive_in_all(LARGE)
        client.perform((LEAVES,))
        must_have(client, answer("200 OK", BYTES, OLD, connection=STAYS) + then, "the client")


def _replace(file: Path) -> None:
    other = file.with_suffix(".new")
    other.write_bytes(NEW)
    other.rename(file)


def _grow(file: Path) -> None:
    with file.open("ab") as more:
        more.write(NEW)


def stopped(server: Server) -> None:
    with connected(server, 1, narrow=True) as (client,):
        _begin(client, ASKS)
        server.ask_to_stop()
        received = client.finish()
        for connection in (STAYS, CLOSES):
            if received.data == answer("200 OK", BYTES, OLD, connection=connection):
                break
        else:
            raise Unmet(f"{len(received.data):,} bytes came, not all of the answer")
    must_end(server)


def descriptors_come_back(server: Server) -> None:
    ask_for_all_fates(server, ROUND)
    before = settled(server, 0)
    ask_for_all_fates(server, TIMES)
    after = settled(server, before)
    if after > before:
        raise Unmet(f"{before} descriptors were open before, and {after} after")


def descriptors_of_open_clients(server: Server) -> None:
    before = 0
    with connected(server, 1) as (client,):
        for method, name in [("GET", "small"), ("HEAD", "large"), ("GET", "empty"),
                             ("POST", "small"), ("GET", "nowhere"), ("HEAD", "empty")]:
            request = f"{method} /{name}.bin HTTP/1.1\r\nHost: localhost\r\n"
            size = len(client.received().raw)
            client.perform((f"{request}Content-Length: 0\r\n\r\n".encode(),))
            client.receive_in_all(size + 1)
            server.sleeps(TIMEOUT_S)
            now = psutil.Process(server.pid).num_fds()
            before = before or now
            if now != before or client.ended:
                raise Unmet(f"{before} descriptors were open after the first answer, {now} after "
                            f"{method} /{name}.bin")


def descriptors_without_memory(server: Server) -> None:
    """When no buffer is left for an answer's head, its file has already been opened."""
    with connected(server, NEIGHBOURS) as clients:  # so that each worker has an arena of jemalloc's
        for client in clients:
            client.perform((ASKS_SMALL, Await(SMALL_ANSWER)))
    before = settled(server, 0)
    may_grow_by(server, LITTLE)
    with connected(server, STARVED, narrow=True) as clients:
        for client in clients:
            client.perform((ASKS * REQUESTS,))
        server.sleeps(TIMEOUT_S)
        for client in clients:
            client.receive()
        starved = sum(client.ended or client.received().data.startswith(UNAVAILABLE)
                      for client in clients)
    if not starved:
        raise Unmet(f"{LITTLE // MIB} MiB were enough for all of the {STARVED}")
    after = settled(server, before)
    if after > before:
        raise Unmet(f"{before} descriptors were open before, and {after} after")
    with connected(server, 1) as (client,):
        client.perform((get(b"/small.bin"),))
        must_have(client, answer("200 OK", BYTES, SMALL), "the client that came later")


def memory_of_requests(server: Server) -> None:
    must_be_plain(server)
    ask_for_all_fates(server, TIMES)
    before = server.own_bytes()
    ask_for_all_fates(server, TIMES)
    grown = server.own_bytes() - before
    if grown > MARGIN:
        raise Unmet(f"it grew by {grown / MIB:.1f} MiB")


def memory_of_readers(server: Server) -> None:
    must_be_plain(server)
    with connected(server, READERS, narrow=True) as clients:
        for client in clients:
            client.perform((ASKS_SMALL, Await(SMALL_ANSWER)))
        before = server.own_bytes()
        for client in clients:
            client.perform((ASKS, Await(SMALL_ANSWER + b"HTTP/1.1 200 OK\r\n")))
        grown = server.own_bytes() - before
        if any(client.ended for client in clients):
            raise Unmet("not every client was answered with the file")
    if grown > MORE:
        raise Unmet(f"it grew by {grown / MIB:.1f} MiB")


def ask_for_all_fates(server: Server, times: int) -> None:
    """Request files `times` times, one client after another, with a few requests at once."""
    few = (ASKS_SMALL, b"HEAD" + ASKS_SMALL[3:], get(b"/nowhere.bin", HOST),
           ASKS_SMALL.replace(b"GET", b"POST"), get(b"/small.bin/", HOST))
    for _ in range(times // ROUND):
        with connected(server, 2, narrow=True) as (patient, other):
            patient.perform((b"".join(few) * (ROUND // len(few)), HalfClose()))
            if patient.finish().end != "closed":
                raise Unmet("some of many requests for files were not answered")
            other.perform((ASKS, Await(b"\r\n\r\n")))
            if not other.received().data.startswith(b"HTTP/1.1 200 "):
                raise Unmet("a file was not answered with")
            other.perform((Vanish(),))


def settled(server: Server, wanted: int) -> int:
    """Returns the number of open descriptors once it is `wanted` or has been stable for a while."""
    deadline, seen = time.monotonic() + TIMEOUT_S, [-1, -2, -3]
    while time.monotonic() < deadline:
        seen = [*seen[1:], psutil.Process(server.pid).num_fds()]
        if seen[-1] <= wanted or _same(seen):
            break
        time.sleep(0.4)
    return seen[-1]


def _same(seen: Sequence[int]) -> bool:
    return len(set(seen)) == 1


CHECKS = (group("changing-files", "files that change while they are sent", cases, level=9),)
