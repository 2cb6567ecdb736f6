"""Event loops among clients of every kind, for a while: no client is stuck, and nothing leaks.

A moment for the first, two for the last; `test --long` takes minutes.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import programs
import psutil
import pytest
from lengths import seconds

from workbook.checks.behaviour import pipelining, unchanged
from workbook.checks.behaviour.rows import BAD, HOST, MAX_BODY, MIB, PAGE_ANSWER, get, noise
from workbook.common.paths import SOLUTIONS
from workbook.measure.stress import raise_descriptor_limit
from workbook.servers import build
from workbook.servers.client import Await, Client, HalfClose, Pause, Sip, Step, Vanish, exchange
from workbook.servers.process import Server, running

MOMENTS = {"05-event-loop": seconds(8, 120), "08-allocator-pgo": seconds(16, 600)}
CROWD = 24  # clients at a time
WARM_ROUNDS = 200  # conversations before the memory is looked at: pools and caches are full then
MARGIN = 24 * MIB  # what an allocator may keep of bodies of 10 MiB
TIMEOUT_S = 15.0

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the descriptors are counted in /proc"),
    pytest.mark.timeout(900),
]

Conversation = tuple[tuple[Step, ...], bytes | None]  # what it does; what it must get, if it stays


def conversation(rng: random.Random) -> Conversation:
    """A client of some kind: most are good, the rest slow, rude, huge or gone."""
    kind = rng.choice(["good", "good", "deep", "slow reader", "slow writer", "huge", "rude",
                       "silent", "half", "gone", "gone", "gone in its answer"])
    few, answers = unchanged.chain(*pipelining.mixed(rng.randrange(1, 12)), unchanged.LAST)
    match kind:
        case "good":
            return (few,), answers
        case "deep":
            sent, got = unchanged.chain(*[unchanged.GET] * 300, unchanged.LAST)
            return unchanged.pieces(sent, rng.randrange(1000)), got
        case "slow reader":
            sent, got = unchanged.chain(unchanged.echo(noise(700_000)), unchanged.LAST)
            return (Sip(32_768, 0.002), sent), got
        case "slow writer":
            return (few[:7], Pause(0.05), few[7:90], Pause(0.05), few[90:]), answers
        case "huge":
            sent, got = unchanged.chain(unchanged.echo(noise(MAX_BODY)), unchanged.LAST)
            return (sent,), got
        case "rude":
            return (unchanged.GET[0] + b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n" + noise(65_536),
                    Pause(0.02)), unchanged.GET[1] + BAD
        case "silent":
            return (Pause(0.2), HalfClose()), b""
        case "half":
            return (few[:rng.randrange(len(few))], HalfClose()), None
        case "gone":
            return (few[:rng.randrange(len(few))], Vanish()), None
        case _:
            return (unchanged.echo(noise(2 * MIB))[0], Await(b"200 OK"), Vanish()), None


def converse(server: Server, seed: int) -> str:
    """One client from beginning to end; what went wrong, if anything did."""
    steps, expect = conversation(random.Random(seed))
    with Client((server.host, server.port), time.monotonic() + TIMEOUT_S,
                narrow=seed % 3 == 0) as client:
        client.perform(steps)
        received = client.finish()
    if expect is None:
        return "it was not let go" if received.end == "timeout" else ""
    if received.end == "closed" and received.data == expect:
        return ""
    return (f"client {seed}: {received.end} after {len(received.data)} of {len(expect)} bytes, "
            f"{received.seconds:.1f} s")


def soak(server: Server, seeds: Iterator[int], until: float, minimum: int) -> list[str]:
    """A crowd at a time until then, and at least so many conversations; what went wrong."""
    wrong: list[str] = []
    with ThreadPoolExecutor(CROWD) as crowd:
        while (time.monotonic() < until or minimum > 0) and not wrong:
            batch = [next(seeds) for _ in range(4 * CROWD)]
            wrong += filter(None, crowd.map(lambda seed: converse(server, seed), batch))
            minimum -= len(batch)
    return wrong


def descriptors(server: Server) -> int:
    return len(list(Path(f"/proc/{server.pid}/fd").iterdir()))


def settled(server: Server, when_idle: int) -> int:
    """Descriptors once those who lingered are gone."""
    deadline = time.monotonic() + TIMEOUT_S
    while (now := descriptors(server)) > when_idle and time.monotonic() < deadline:
        time.sleep(0.1)
    return now


@pytest.mark.parametrize("name", MOMENTS)
def test_soak_leaves_no_descriptor_or_memory(name: str) -> None:
    raise_descriptor_limit()
    binary = programs.served(name)
    seeds = iter(range(10**9))
    with running(binary, "--threads", "1" if name == "05-event-loop" else "2") as server:
        memory = psutil.Process(server.pid).memory_info
        when_idle = descriptors(server)
        assert not soak(server, seeds, time.monotonic(), WARM_ROUNDS)
        assert settled(server, when_idle) == when_idle
        before = memory().rss
        wrong = soak(server, seeds, time.monotonic() + MOMENTS[name], 0)
        assert not wrong, wrong[:5]
        assert settled(server, when_idle) == when_idle
        time.sleep(1)  # the last memory goes back with the last client
        after = memory().rss
        last = exchange((server.host, server.port), (get(),), TIMEOUT_S)
        assert (last.data, last.end) == (PAGE_ANSWER, "closed")
        ended = server.stop()
    assert ended.exit_code == 0 and not ended.killed and not ended.stderr, ended
    assert after - before < MARGIN, f"{before / MIB:.1f} MiB before, {after / MIB:.1f} MiB after"


def test_soak_under_sanitizers_leaks_nothing() -> None:
    """The same for a moment under the sanitizers, which look at the end for memory that is lost."""
    binary = build.build_server(SOLUTIONS / "08-allocator-pgo", "asan")
    with running(binary, "--threads", "2") as server:
        assert not soak(server, iter(range(10**9)), time.monotonic() + 5, 0)
        ended = server.stop()
    assert ended.exit_code == 0 and not ended.stderr, ended
