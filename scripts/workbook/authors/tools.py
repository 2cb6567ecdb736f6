"""What the experiments share: servers of all kinds, and ways to count, load and time them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SOLUTIONS, shown
from workbook.course import parts, trees
from workbook.course.chapters import Chapter
from workbook.machine import needs
from workbook.machine.cores import Cores, cores
from workbook.measure import costs, load, sequence, stress
from workbook.measure.costs import SYSCALLS, Measure
from workbook.measure.load import Phase, PhaseResult
from workbook.measure.sequence import Key, Way
from workbook.servers import build
from workbook.servers.process import Server

NAIVE, CHUNKS, LAYOUT, THREADS = (
    "01-naive", "02-fewer-syscalls", "03-data-layout", "04-threads")
LOOP, HOT, WORKERS, OPTIMISED = (
    "05-event-loop", "06-hot-path", "07-workers", "08-allocator-pgo")
FILES, TLS, BATCHING = "09-files", "15-tls", "16-batching"
CLIMB = (NAIVE, CHUNKS, LAYOUT, THREADS, LOOP, HOT, WORKERS, OPTIMISED)
USUAL = b"Host: localhost\r\nConnection: close\r\n"
GET = b"GET / HTTP/1.1\r\n" + USUAL + b"\r\n"
PAUSE_S = 2
PLAINLY = {"HOTPATH_LTO": "OFF", "HOTPATH_PGO": "OFF"}  # how 08 is built to be counted
Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Finding:
    """A table: `columns` are headings by key; a row has a `label`, and a number or a text of HTML
    for each key. Further keys of a row are for charts. `marks` are sizes that explain where a curve
    bends, such as a buffer's, in the unit of the rows' keys.
    """

    what: str
    columns: dict[str, str]
    rows: Rows
    marks: dict[str, float] = field(default_factory=dict)


def in_sequence(ways: Mapping[Key, Way], rounds: int) -> dict[Key, list[PhaseResult]]:
    """Measure each of the ways once a round, reporting progress on stderr."""
    return sequence.in_sequence(ways, rounds, lambda doing: print(doing, file=sys.stderr,
                                                                  flush=True))


def cpu_us(found: Mapping[Key, Sequence[PhaseResult]]) -> dict[Key, list[float]]:
    """Return the server's own processor time per request in µs, round by round."""
    return {key: [result.cpu_us_per_request or 0 for result in results]
            for key, results in found.items()}


def ratios(these: Sequence[float], those: Sequence[float]) -> list[float]:
    """Return the ratios of values in the same round."""
    return [a / b for a, b in zip(these, those, strict=True)]


@dataclass(frozen=True)
class Rush:
    """One worker after some phases: µs per request of the last, MiB at each one's peak, and MiB
    that it still holds PAUSE_S seconds later.
    """

    us: float
    peaks_mib: tuple[float, ...]
    after_mib: float


def rush(binary: Path, phases: Sequence[Phase]) -> Rush:
    """Load a worker with one phase after another. UserError if one has no figure."""
    with one_worker(binary)() as server:
        results = list(stress.measure(server, phases))
        if reason := next((result.reason for result in results if result.reason), None):
            raise UserError(f"{shown(binary)} has no figure: {reason}", "try again")
        time.sleep(PAUSE_S)
        return Rush(results[-1].cpu_us_per_request or 0,
                    tuple(result.peak_rss_mib or 0 for result in results),
                    psutil.Process(server.pid).memory_info().rss / load.MIB)


def one_worker(binary: Path, *options: str) -> Callable[[], AbstractContextManager[Server]]:
    """Return how to start a server with one worker, on the server's processors."""
    return partial(load.serving, binary, "--threads", "1", *options)


@contextmanager
def variant(checkpoint: str, file: str, old: str | None, new: str, preset: str = "release",
            settings: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Build the server of a solution with `old` replaced by `new` in a file, or the whole file if
    `old` is None. The binary exists until the block ends. UserError unless `old` occurs exactly
    once.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, checkpoint)
        shutil.copytree(SOLUTIONS / checkpoint, copy)
        file = trees.find(trees.paths(copy), file)
        text = (copy / file).read_text(encoding="utf-8")
        if old is not None and text.count(old) != 1:
            raise UserError(f"{shown(SOLUTIONS / checkpoint / file)} is not what an experiment "
                            f"expects: it should have once\n{old}", "fix the experiment")
        (copy / file).write_text(new if old is None else text.replace(old, new), encoding="utf-8")
        yield build.isolated(copy, preset, Path(scratch, "build"), settings)


def edited(name: str, checkpoint: str, edits: Sequence[tuple[str, str, str]],
           settings: Mapping[str, str] | None = None, more: Mapping[str, Path] | None = None,
           preset: str = "measure") -> Path:
    """Build a solution's server, by default for counting, with these edits (file, old, new) and
    with the files of `more` added. UserError unless each old text occurs exactly once.
    """
    tree = trees.read(SOLUTIONS / checkpoint)
    for edited_file, old, new in edits:
        file = trees.find(tree, edited_file)
        if tree[file].count(old.encode()) != 1:
            raise UserError(f"{shown(SOLUTIONS / checkpoint / file)} is not what an experiment "
                            f"expects: it should have once\n{old}", "fix the experiment")
        tree[file] = tree[file].replace(old.encode(), new.encode())
    tree |= {added: file.read_bytes() for added, file in (more or {}).items()}
    directory = BUILD / "experiments" / name
    trees.write(tree, directory)
    return build.isolated(directory, preset, settings=settings)


def solution(checkpoint: str, preset: str = "release") -> Path:
    return build.build_server(SOLUTIONS / checkpoint, preset)


def after_part(chapter: Chapter, number: int, preset: str = "measure") -> Path:
    """Build the server after a part, by default for counting; 0 is the start of the chapter."""
    directory = BUILD / "experiments" / f"{chapter.name}-{number}"
    trees.write(parts.tree(chapter, number), directory)
    return build.isolated(directory, preset)


def compiled(source: Path, program: Path, *options: str) -> Path:
    """Compile a program from a single source; UserError if that fails."""
    output_of([str(needs.compiler()), "-std=c++23", "-O2", *options, str(source),
               "-o", str(program)])
    return program


def output_of(command: Sequence[str]) -> str:
    """Run a program to its end and return its output; UserError if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{command[0]} failed:\n{done.stderr.strip()[-500:]}",
                        "fix what the lines above report, then run this again")
    return done.stdout


def address_of(server: Server) -> tuple[str, int]:
    return server.host, server.port


def optimised(name: str, settings: dict[str, str]) -> Path:
    """Build 08 for counting, without LTO and profile unless `settings` change that."""
    return build.isolated(SOLUTIONS / OPTIMISED, "measure", BUILD / "experiments" / name,
                          PLAINLY | settings)


def costs_of(checkpoint: str, request: bytes, *measures: Measure) -> costs.Costs:
    return count(solution(checkpoint, "measure"), checkpoint, request, *measures)


def count(binary: Path, checkpoint: str, request: bytes, *measures: Measure) -> costs.Costs:
    counted = costs.count(binary, level=int(checkpoint[:2]), measures=measures, request=request)
    for measure, reason in counted.skipped.items():
        raise UserError(f"{measure} cannot be counted: {reason}", "record where they can be")
    return counted


def kept_costs(checkpoint: str, request: bytes | None = None,
               measure: Measure = SYSCALLS) -> costs.Costs:
    """Count what a request costs on a connection that stays open."""
    return costs.count(solution(checkpoint, "measure"), level=costs.KEEP_ALIVE_LEVEL,
                       measures=[measure], request=request)


def sweep(checkpoint: str, counts: Sequence[int], rounds: int) -> Finding:
    """Measure requests per second and processor time by number of threads, with wrk on other
    processors and on the same ones.
    """
    phase = Phase("plain", "plain", connections=64, seconds=1.0)
    binary, usable = solution(checkpoint), cores()
    every = usable.server | usable.client
    locations = {"apart": usable, "shared": Cores(every, every)}
    found = in_sequence({(location, threads): Way(
        f"{threads} threads, {location}",
        partial(load.serving, binary, "--threads", str(threads), on=where), phase, where)
        for location, where in locations.items() for threads in counts}, rounds)
    rows: Rows = {}
    for threads in counts:
        rows[str(threads)] = {"label": f"{threads} thread{'s' * (threads > 1)}"}
        for location in locations:
            results = found[location, threads]
            for unit, digits, values in (
                    ("rps", 0, [r.requests_per_second or 0 for r in results]),
                    ("us", 1, [r.cpu_us_per_request or 0 for r in results])):
                name = f"{location}_{unit}"
                rows[str(threads)] |= {name: round(median(values), digits or None),
                                       f"{name}_least": round(min(values), digits or None),
                                       f"{name}_most": round(max(values), digits or None)}
    share = f"{len(usable.server)} for the server, {len(usable.client)} for wrk"
    return Finding(
        f"<code>GET /</code> from {phase.connections} clients, median of {rounds} rounds. Apart: "
        f"processors split, {share}. Shared: both on all {len(every)}.",
        {"apart_rps": "Apart: requests/s", "apart_us": "Apart: server’s µs a request",
         "shared_rps": "Shared: requests/s", "shared_us": "Shared: server’s µs a request"}, rows)
