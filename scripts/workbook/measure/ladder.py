"""The ladder: every checkpoint's counted costs and the short stress test, beside the floor."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol, TypeVar

import psutil

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, SOLUTIONS
from workbook.course import chapters, progress
from workbook.machine import facts, needs, setup
from workbook.machine.cores import cores
from workbook.measure import costs, load, stress
from workbook.measure.load import Phase, PhaseResult
from workbook.servers import build

T = TypeVar("T")

ROUNDS = 3
COUNT_S = 6.0  # about what counting one server takes
PAUSE_S = 0.4  # about what a phase takes beside its load
MEDIANS = ("requests_per_second", "p50_ms", "p90_ms", "p99_ms", "cpu_us_per_request")


class Display(Protocol):
    """Where it is shown how far the ladder is."""

    def doing(self, what: str) -> None: ...

    def advance(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Subject:
    """One server to measure: its name in the results, what it is called, its level of behaviour."""

    name: str
    title: str
    level: int
    directory: Path | None  # None for the floor

    def build(self, preset: str) -> Path:
        return build.build_server(self.directory, preset) if self.directory else build.floor(preset)


def subjects(names: Sequence[str] = (), mine: bool = False) -> list[Subject]:
    """The floor, then the solutions that were picked, each with the reader's own after it."""
    picked = [chapters.find_server(name) for name in names] or [
        chapter for chapter in chapters.all_chapters()
        if chapter.number is not None and (SOLUTIONS / chapter.name).is_dir()]
    if not picked:
        raise UserError("there is no solution to measure", "git checkout -- chapters solutions")
    # What has passed is known to serve; what is named outright is the reader's word for it.
    own = [chapter for chapter in picked
           if mine and (names or progress.status(chapter) == "passed")]
    if mine and not own:
        raise UserError("none of your chapters has passed yet",
                        f"{COMMAND} check N, or name one: {COMMAND} bench N --mine")
    found = [Subject(build.FLOOR, "The floor", costs.KEEP_ALIVE_LEVEL, None)]
    for chapter in picked:
        found.append(Subject(chapter.name, chapter.title, chapter.level, chapter.solution_dir))
        if chapter in own:
            found.append(Subject(f"mine/{chapter.name}", f"Yours: {chapter.title}", chapter.level,
                                 chapter.starter_dir))
    return found


def collect(servers: Sequence[Subject], rounds: int,
            display: Callable[[float], AbstractContextManager[Display]]) -> dict[str, Any]:
    """Build, count and load all of them; the results as book/results/ladder.json keeps them.

    `display` gets the time that it will take, in seconds.
    """
    setup.ensure(needs.FOR_READERS)
    stress.raise_descriptor_limit()
    release = {server: server.build("release") for server in servers}
    counting = {server: server.build("measure") for server in servers}
    phases = stress.short_form()
    round_s = sum(phase.seconds + PAUSE_S for phase in phases)
    with display(len(servers) * (COUNT_S + rounds * round_s)) as shown:
        counted = {server: _count(server, counting[server], shown) for server in servers}
        before = _processor_s()
        loaded = _load(release, phases, rounds, shown)
        others_percent = _others_percent(before, _processor_s())
    return {
        "kind": "ladder",
        "machine": facts.collect(),
        "method": _method(phases, rounds, others_percent),
        "servers": {server.name: {
            "title": server.title,
            "costs": counted[server].to_json(),
            "phases": {phase.name: summary(results)
                       for phase, results in zip(phases, zip(*loaded[server]), strict=True)},
        } for server in servers},
    }


def summary(results: Sequence[PhaseResult]) -> dict[str, Any]:
    """One phase of one server over all rounds. Without a figure if any round has none."""
    reason = next((result.reason for result in results if result.reason), None)
    figures = {name: None if reason else _rounded(median(getattr(r, name) for r in results))
               for name in MEDIANS}
    return {
        **figures,
        "rounds": [_rounded(result.requests_per_second) for result in results],
        "peak_rss_mib": None if reason else _rounded(max(r.peak_rss_mib or 0 for r in results)),
        "errors": {kind: sum(result.errors[kind] for result in results)
                   for kind in load.ERROR_KINDS},
        "reason": reason,
    }


def _count(server: Subject, binary: Path, shown: Display) -> costs.Costs:
    shown.doing(f"counting {server.name}")
    counted = costs.count(binary, level=server.level)
    shown.advance(COUNT_S)
    return counted


def _load(binaries: dict[Subject, Path], phases: Sequence[Phase], rounds: int,
          shown: Display) -> dict[Subject, list[list[PhaseResult]]]:
    """Every server once a round, started anew; the results of each round by phase."""
    results: dict[Subject, list[list[PhaseResult]]] = {server: [] for server in binaries}
    for number in range(rounds):
        for server in rotated(list(binaries), number):
            doing = f"round {number + 1} of {rounds}: {server.name}"
            results[server].append(list(_one_round(binaries[server], phases, shown, doing)))
    return results


def _one_round(binary: Path, phases: Sequence[Phase], shown: Display,
               doing: str) -> Iterator[PhaseResult]:
    with load.serving(binary) as server:
        for result in stress.measure(server, phases,
                                     on_phase=lambda p: shown.doing(f"{doing}, {p.name}")):
            shown.advance(result.seconds + PAUSE_S)
            yield result


def rotated(servers: Sequence[T], by: int) -> list[T]:
    """A different one goes first in every round."""
    by %= len(servers)
    return [*servers[by:], *servers[:by]]


def _processor_s() -> tuple[float, float, float]:
    """Processor time so far, of the whole machine: in all, spent by programs, and by ours."""
    times = psutil.cpu_times()
    ours = sum(sum(resource.getrusage(owner)[:2])
               for owner in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(times[:8]), times.user + times.system + times.nice, ours


def _others_percent(before: Sequence[float], after: Sequence[float]) -> float:
    """How much of all processors programs other than ours took in between, in percent."""
    in_all, programs, ours = (late - early for early, late in zip(before, after, strict=True))
    return round(max(0.0, 100 * (programs - ours) / in_all), 1) if in_all > 0 else 0.0


def _method(phases: Sequence[Phase], rounds: int, others_percent: float) -> dict[str, Any]:
    usable = cores()
    return {
        "rounds": rounds,
        "others_percent": others_percent,
        "phases": {phase.name: asdict(phase) for phase in phases},
        "server_cores": sorted(usable.server),
        "client_cores": sorted(usable.client),
        "timeout_s": load.TIMEOUT_S,
    }


def _rounded(value: float | None) -> float | None:
    """Four digits: what comes after them is noise."""
    return None if value is None else float(f"{value:.4g}")
