"""The experiments of chapter 11: what caching files for a second saves, and which files to evict.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from workbook.authors import sending_files
from workbook.authors.sending_files import DOWNLOADS, OF_RIVALS
from workbook.authors.tools import (
    Finding,
    Rows,
    compiled,
    cpu_us,
    in_sequence,
    output_of,
    ratios,
    solution,
    variant,
)
from workbook.common.paths import SCRIPTS, SOLUTIONS
from workbook.course import trees
from workbook.measure.load import MIB
from workbook.measure.other_servers import (
    CLIENTS,
    FEW_CLIENTS,
    ROUNDS,
    SIZES,
    Rival,
    asks_for,
    our_server,
    way_of,
)

OPENING, KEEPING = "10-validators", "11-hot-files"
IN_MEMORY, EVERYTHING = "max_in_memory = 64 * 1024;", "max_in_memory = 16 * 1024 * 1024;"
IN_PIECES, IN_ONE = "file_piece = 1024 * 1024;", "file_piece = 1024 * 1024 * 1024;"
LARGE_ROUNDS = 9  # few large files complete within a round, so rounds vary more
SMALL, LARGE = ([size for size in OF_RIVALS if (size >= MIB) is large] for large in (False, True))
RIVALS = ("nginx-cache", "h2o", "lighttpd")
POLICIES = {"fifo": "first come, first gone (FIFO)", "lru": "least recently asked for (LRU)",
            "sieve": "SIEVE, the server’s own", "s3-fifo": "S3-FIFO"}


def cache_policies() -> Finding:
    """Which file should be evicted when the cache is full?"""
    with tempfile.TemporaryDirectory() as scratch:
        program = compiled(SCRIPTS / "cache" / "policies.cpp", Path(scratch, "policies"),
                           *(f"-I{folder}" for folder in trees.folders(SOLUTIONS / KEEPING)))
        output = output_of([str(program)])
    rows: Rows = {}
    for line in output.splitlines():
        key, people, crawlers = line.split()
        rows[key] = {"label": POLICIES[key], "people": float(people), "crawlers": float(crawlers)}
    return Finding(
        "Hits of 100 requests, of two million for 10,000 files of which 100 have room; the n-th file is "
        "asked for n<sup>−0.9</sup> times as often as the first. With crawlers, one request of three is "
        "of somebody who asks for every file in turn. Counted, not timed.",
        {"people": "Hits, %", "crawlers": "With crawlers, %"}, rows)


def file_cache() -> Finding:
    """What does a file cost that is requested again and again?"""
    known = sending_files.rivals()
    with ExitStack() as stack:
        ways = {
            "opening": Rival("10", *[our_server(solution(OPENING))] * 2),
            "ours": Rival("11", *[our_server(solution(KEEPING))] * 2),
            "open": Rival("11, descriptors only", *[our_server(stack.enter_context(variant(
                KEEPING, "file_cache.h", IN_MEMORY, "max_in_memory = 0;")))] * 2),
            "memory": Rival("11, everything in memory", *[our_server(stack.enter_context(variant(
                KEEPING, "file_cache.h", IN_MEMORY, EVERYTHING)))] * 2),
            "whole": Rival("11, a file in one call", *[our_server(stack.enter_context(variant(
                KEEPING, "worker.cpp", IN_PIECES, IN_ONE)))] * 2),
            **{key: known[key] for key in RIVALS},
        }
        found: dict[tuple[str, int], Any] = {}
        for sizes, rounds in ((SMALL, ROUNDS), (LARGE, LARGE_ROUNDS)):
            found |= in_sequence({(key, size): way_of(f"{way.label}, {SIZES[size]}", way.timed,
                                                          asks_for(size))
                                  for size in sizes for key, way in ways.items()}, rounds)
    us = cpu_us(found)
    rows: Rows = {key: {"label": way.label} | {
        f"{size}_us": round(median(us[key, size]), 2) for size in OF_RIVALS}
        for key, way in ways.items()}
    for key in ("nginx-cache", "lighttpd"):
        row = rows[f"to-{key}"] = {"label": f"11 ÷ {ways[key].label}"}
        for size in OF_RIVALS:
            to = ratios(us["ours", size], us[key, size])
            row |= {f"{size}_us": round(median(to), 2), f"{size}_least": round(min(to), 2),
                    f"{size}_most": round(max(to), 2)}
    return Finding(
        f"The same files from all, {CLIENTS} clients on kept connections, {FEW_CLIENTS} from 1 MiB on, "
        f"one thread on one processor and wrk on another, median of {ROUNDS} rounds in turn, "
        f"{LARGE_ROUNDS} from 1 MiB on; ratios are those of the same round. Settings as in <em>An "
        "answer may be a file</em>, nginx with open_file_cache.",
        {f"{size}_us": f"{SIZES[size]}: server’s µs a file" for size in OF_RIVALS}, rows)


def hot_neighbours() -> Finding:
    """How long do small requests wait during large downloads?"""
    rows: Rows = {}
    with (variant(KEEPING, "file_cache.h", IN_MEMORY, EVERYTHING) as memory,
          variant(KEEPING, "worker.cpp", IN_PIECES, IN_ONE) as whole):
        for key, label, binary in [("opening", "10", solution(OPENING)),
                                   ("ours", "11", solution(KEEPING)),
                                   ("whole", "11, a file in one call", whole),
                                   ("memory", "11, everything in memory", memory)]:
            small, large = zip(*[sending_files.during_downloads(binary) for _ in range(ROUNDS)],
                               strict=True)
            rows[key] = {
                "label": label, "rps": round(median(r.requests_per_second or 0 for r in small)),
                **{name: round(median(getattr(r, name) or 0 for r in small), 2)
                   for name in ("p50_ms", "p99_ms", "max_ms")},
                "large_mib_s": round(10 * median(r.requests_per_second or 0 for r in large))}
    return Finding(
        f"One client that asks for 1 KiB again and again, while {DOWNLOADS} others download 10 MiB "
        f"each; one loop, wrk on other processors, median of {ROUNDS} rounds.",
        {"rps": "Small requests/s", "p50_ms": "Wait: median, ms", "p99_ms": "99 %",
         "max_ms": "Longest", "large_mib_s": "Downloads, MiB/s"}, rows)
