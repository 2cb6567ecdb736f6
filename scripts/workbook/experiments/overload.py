"""The experiments of chapter 13: what bounds cost, and what they are worth under attack."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from workbook.common.paths import SCRIPTS
from workbook.experiments.tools import Finding, Rows, compiled, output_of
from workbook.measure.costs import CALLGRIND

WAYS = {"sweep": "Sweep: every client", "dense": "Dense sweep: deadlines side by side",
        "lists": "A list for each limit", "wheel": "Wheel of 64 seconds", "heap": "Heap"}
NOBODY = "nobody"
CROWDS, BUSY_SHARE = (1000, 10_000, 100_000), 10
MOST = CROWDS[-1]
REFRESHES, TURNS, SEEDS = 10_000, 5, range(1, 4)


def deadlines() -> Finding:
    """What does it cost to know who is late?"""
    with ways_of_deadlines() as program:
        for seed in SEEDS:
            output_of([str(program), "check", str(seed)])
        refreshes = {way: _instructions(program, way) for way in (NOBODY, *WAYS)}
        timed = {clients: _timed(program, clients) for clients in CROWDS}
    rows: Rows = {}
    for way, label in WAYS.items():
        among_most = timed[MOST][way]
        second_us = among_most.tick_us + among_most.refresh_us * MOST / BUSY_SHARE
        rows[way] = {
            "label": label, "instructions": round(refreshes[way] - refreshes[NOBODY]),
            **{f"us_{clients}": round(timed[clients][way].tick_us, 1) for clients in CROWDS},
            "longest_us": round(among_most.longest_us), "second_us": round(second_us),
            "core_percent": round(second_us / 10_000, 3)}
    return Finding(
        "Instructions counted by valgrind, beyond a call that does nothing; processor time beside "
        f"that of clients without deadlines, median of {TURNS} runs of a minute in turn. A tick a "
        f"second; one client of {BUSY_SHARE} is served in each. The longest tick is that of a minute "
        f"after all {MOST:,} have come at once. A second is its tick and {MOST // BUSY_SHARE:,} "
        "refreshes.",
        {"instructions": "Instructions a refresh",
         **{f"us_{clients}": f"µs a tick, {clients:,} clients" for clients in CROWDS},
         "longest_us": "Longest, µs", "second_us": "A second, µs", "core_percent": "% of a core"},
        rows)


@contextmanager
def ways_of_deadlines() -> Iterator[Path]:
    """The program that tries and times them."""
    with tempfile.TemporaryDirectory() as scratch:
        yield compiled(SCRIPTS / "deadlines" / "deadlines.cpp", Path(scratch, "deadlines"))


def _instructions(program: Path, way: str) -> float:
    """Of a client that is served."""
    totals = []
    for count in (REFRESHES, 2 * REFRESHES):
        report = program.with_name(f"{way}-{count}")
        output_of([*CALLGRIND.wrapper(report), str(program), "refresh", way, str(count)])
        totals.append(CALLGRIND.read(report.read_text(errors="replace")).total())
    return (totals[1] - totals[0]) / REFRESHES


@dataclass(frozen=True)
class Timed:
    """What keeping deadlines takes in one way, in µs: a tick, a refresh, the longest tick."""

    tick_us: float
    refresh_us: float
    longest_us: float


def _timed(program: Path, clients: int) -> dict[str, Timed]:
    """Beyond what the clients take without deadlines."""
    told: dict[str, list[list[float]]] = defaultdict(list)
    for _ in range(TURNS):
        for line in output_of([str(program), "time", str(clients)]).splitlines():
            way, *figures = line.split()
            told[way].append(list(map(float, figures)))
    found = {way: [median(column) for column in zip(*turns, strict=True)]
             for way, turns in told.items()}
    more = {way: [max(0.0, each - without) for each, without in
                  zip(found[way], found[NOBODY], strict=True)] for way in WAYS}
    return {way: Timed(tick, ns / 1000, longest) for way, (tick, ns, longest) in more.items()}
