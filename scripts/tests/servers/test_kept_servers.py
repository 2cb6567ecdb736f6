"""Servers to keep, among clients of every kind, while their files change, their log rotates and
memory is short: each client gets what it asked for, or a 503, or is dropped; and what was held is
given back. The last one has all of it over TLS, and reads its certificate
again with every rotation. That one is asked for a moment; `test --long` asks all, for minutes.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import programs
import psutil
import pytest
from lengths import LONG, seconds
from test_files import NAMES, SIZES, body_of, change, read_files
from test_soak import (
    CROWD,
    MARGIN,
    TIMEOUT_S,
    Conversation,
    conversation,
    descriptors,
    settled,
)

from workbook.checks.behaviour import chunked, log_lines, unchanged
from workbook.checks.behaviour.rows import (
    HOST,
    MIB,
    NO_SLOT,
    PAGE_ANSWER,
    chunks,
    echoed_in_chunks,
    get,
    noise,
    sunk,
)
from workbook.course.chapters import having
from workbook.measure.stress import raise_descriptor_limit
from workbook.servers import certificates
from workbook.servers.client import Client, Pause, Vanish, exchange
from workbook.servers.process import Server, running

SOAK_S = seconds(5, 300)
READERS = 2  # of files, beside the crowd
BOUNDED = ("--max-clients", str(CROWD), "--max-buffered", str(4 * MIB))
WITH_BOUNDS, LOGGING, ENCRYPTED = ({chapter.name for chapter in having(feature)}
                                   for feature in ("bounds", "log", "tls"))
SERVERS = {chapter.name: BOUNDED if chapter.name in WITH_BOUNDS else ()
           for chapter in having("streaming")}
TRIED = SERVERS if LONG else list(SERVERS)[-1:]  # the last has what all before it have
LOG_SIZE = 100_000
CAPACITY_KB = 48 * 1024  # of addresses beside what it has at rest
MINIMUM = 0.5  # of the clients that stay have all of their answers
REPORTED = re.compile(r"\S+ warn: no descriptor or no memory for a client: others wait")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors are in /proc"),
    pytest.mark.timeout(900),
]


def with_bodies(rng: random.Random) -> Conversation:
    """A client that sends a body, whole or not, by its length or in chunks."""
    size = rng.choice([0, 100, 50_000, 3 * MIB])
    body = noise(size)
    match rng.choice(["upload", "chunks", "echo in chunks", "gone in a chunk", "bad chunk"]):
        case "upload":
            sent, got = unchanged.chain(unchanged.sink(body), unchanged.LAST)
            return (sent,), got
        case "chunks":
            return (chunked.post(chunks(body, 10_000)),), sunk(size)
        case "echo in chunks":
            return (chunked.post(chunks(body, 70_000), b"/echo"),), echoed_in_chunks(body)
        case "gone in a chunk":
            return (chunked.post(b"fffff\r\n" + body[:50_000], b"/echo", HOST), Pause(0.02),
                    Vanish()), None
        case _:
            return (chunked.post(b"5\r\nhello\r\nx\r\n"), Pause(0.02)), None


def converse(server: Server, seed: int) -> str:
    """One client from beginning to end: `right`, `cut` as it may be, `gone` by its own will, or
    what was wrong.
    """
    rng = random.Random(seed)
    steps, expect = rng.choice([conversation, with_bodies])(rng)
    with Client((server.host, server.port), time.monotonic() + TIMEOUT_S,
                narrow=seed % 3 == 0) as client:
        client.perform(steps)
        received = client.finish()
    if received.end == "timeout":
        return f"client {seed}: it was not let go"
    if expect is None:
        return "gone"
    if received.end == "closed" and received.data == expect:
        return "right"
    if expect.startswith(received.data.removesuffix(NO_SLOT)):
        return "cut"
    return f"client {seed}: {len(received.data)} bytes that are no part of its answers"


def crowd(server: Server, seeds: Iterator[int], until: float) -> Counter[str]:
    """How its clients fared. At least one batch comes."""
    fared: Counter[str] = Counter()
    with ThreadPoolExecutor(CROWD) as clients:
        while not fared or (time.monotonic() < until and not fared.keys() - FATES):
            batch = [next(seeds) for _ in range(2 * CROWD)]
            fared += Counter(clients.map(lambda seed: converse(server, seed), batch))
    return fared


FATES = {"right", "cut", "gone"}


@contextmanager
def next_to(*deeds: Callable[[], None], pause_s: float) -> Iterator[None]:
    """Done again and again meanwhile."""
    ended = threading.Event()

    def repeated(deed: Callable[[], None]) -> None:
        while not ended.wait(pause_s):
            deed()

    threads = [threading.Thread(target=repeated, args=(deed,)) for deed in deeds]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def soak(server: Server, root: Path, log: Path, seeds: Iterator[int], seconds_: float) -> None:
    """Everything at once."""
    rng, wrong, until = random.Random(9), [], time.monotonic() + seconds_

    def rename_log() -> None:
        log.rename(log.with_name(f"renamed-{time.monotonic_ns()}"))
        os.kill(server.pid, signal.SIGHUP)
        while not log.exists() and time.monotonic() < until + TIMEOUT_S:
            time.sleep(0.05)

    deeds = [lambda: change(root, rng), *[rename_log] * log.exists()]
    readers = [threading.Thread(target=read_files, args=(server, seed, until, wrong))
               for seed in range(READERS)]
    with next_to(*deeds, pause_s=0.2):
        for reader in readers:
            reader.start()
        fared = crowd(server, seeds, until)
        for reader in readers:
            reader.join()
    assert not fared.keys() - FATES, fared
    assert fared["right"] >= MINIMUM * (fared["right"] + fared["cut"]), fared
    assert not [one for one in wrong if "503" not in one and "refused" not in one], wrong[:5]


def short_of_memory(binary: Path, arguments: Sequence[str]) -> tuple[str, ...]:
    """A wrapper by which a server has little more than it has at rest."""
    with running(binary, *arguments) as server:
        space = server.address_space() // 1024 + CAPACITY_KB
    return "sh", "-c", f'ulimit -v {space}; exec "$@"', "sh"


@pytest.mark.parametrize("name", TRIED)
def test_mixed_load_leaks_nothing(name: str, tmp_path: Path) -> None:
    raise_descriptor_limit()
    root, log, rng = tmp_path / "site", tmp_path / "logs" / "access.log", random.Random(7)
    root.mkdir()
    log.parent.mkdir()
    for path in NAMES:
        (root / path[1:]).write_bytes(body_of(rng.choice(SIZES), 97))
    binary, seeds = programs.served(name), iter(range(10**9))
    arguments = ["--threads", "2", "--root", str(root), *SERVERS[name]]
    if name in LOGGING:
        arguments += ["--access-log", str(log), "--log-size", str(LOG_SIZE)]
    if name in ENCRYPTED:
        arguments += certificates.localhost().options
    wrapper = short_of_memory(binary, arguments)
    with running(binary, *arguments, wrapper=wrapper) as server:
        memory = psutil.Process(server.pid).memory_info
        when_idle = descriptors(server)
        soak(server, root, log, seeds, SOAK_S / 3)
        assert settled(server, when_idle) == when_idle
        before = memory().rss
        soak(server, root, log, seeds, SOAK_S)
        for path in NAMES:
            (root / path[1:]).unlink(missing_ok=True)
        time.sleep(3)  # what is kept of them goes, and the last memory with it
        assert settled(server, when_idle) <= when_idle
        after = memory().rss
        last = exchange((server.host, server.port), (get(),), TIMEOUT_S)
        assert (last.data, last.end) == (PAGE_ANSWER, "closed")
        ended = server.stop()
    assert ended.exit_code == 0 and not ended.killed, ended
    assert all(REPORTED.fullmatch(line) for line in ended.stderr.splitlines()), ended.stderr
    assert after - before < MARGIN, f"{before / MIB:.1f} MiB before, {after / MIB:.1f} MiB after"
    if name in LOGGING:
        assert log_lines.read(sorted(log.parent.iterdir()))
        assert all(file.stat().st_size <= LOG_SIZE for file in log.parent.iterdir())
