"""The ladder: the counted costs and the short stress test of the checkpoints and of the floor.

Each program is counted as soon as it is built, because a busy machine doesn't disturb counting. The
rounds under load begin after the last build.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol, TypeVar

import psutil

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, SOLUTIONS
from workbook.course import chapters, progress
from workbook.course.chapters import Chapter
from workbook.machine import facts, needs, setup
from workbook.machine.cores import cores
from workbook.measure import costs, load, stress
from workbook.measure.load import Phase, PhaseResult
from workbook.servers import build

T = TypeVar("T")

LAST_OF_CLIMB = 8
MEDIANS = ("requests_per_second", "p50_ms", "p90_ms", "p99_ms", "cpu_us_per_request",
           "wrk_us_per_request")
WITH_RANGE = ("p99_ms", "cpu_us_per_request")  # the range of the rate is that of its `rounds`
NOT_MEASURED = "the run was stopped before"


@dataclass(frozen=True)
class Subject:
    """One server to measure: its name in the results, its title, its level of behaviour."""

    name: str
    title: str
    level: int
    directory: Path | None  # None for the floor

    def build(self, preset: str, show: build.Show) -> Path:
        return (build.server_alone(self.directory, preset, show) if self.directory
                else build.floor(preset, show))


class Display(Protocol):
    """Shows the progress of a run. `building` is called from another thread."""

    def building(self, what: str) -> None: ...

    def doing(self, what: str) -> None: ...

    def counted(self, server: Subject, counted: costs.Costs) -> None: ...

    def loaded(self, server: Subject, round_number: int, result: PhaseResult) -> None: ...


def subjects(names: Sequence[str] = (), mine: bool = False, every: bool = True) -> list[Subject]:
    """Return the floor, then the selected solutions, each followed by the reader's own if `mine`.

    Without names, `every` solution is selected, or only those of the climb and the last one.
    UserError if there is nothing to measure.
    """
    picked = [chapters.find_server(name) for name in names] or _solutions(every)
    if not picked:
        raise UserError("there is no solution to measure", "git checkout -- chapters solutions")
    # A chapter that has passed is known to work; for one that is named, we trust the reader.
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


def _solutions(every: bool) -> list[Chapter]:
    found = [chapter for chapter in chapters.all_chapters()
             if chapter.number is not None and (SOLUTIONS / chapter.name).is_dir()]
    return found if every else [chapter for chapter in found
                                if (chapter.number or 0) <= LAST_OF_CLIMB or chapter is found[-1]]


class Run:
    """One measurement of the ladder. It has results from the first count on.

    Raises UserError if a program cannot be built, or fails while it is measured.
    """

    def __init__(self, servers: Sequence[Subject], display: Display) -> None:
        self._servers = list(servers)
        self._display = display
        self._phases = stress.short_form()
        self._counted: dict[Subject, costs.Costs] = {}
        self._binaries: dict[Subject, Path] = {}
        self._rounds: dict[Subject, list[list[PhaseResult]]] = {one: [] for one in servers}
        self._processor_before: tuple[float, float, float] | None = None
        stress.raise_descriptor_limit()

    @property
    def has_results(self) -> bool:
        return bool(self._counted)

    def count(self) -> None:
        """Build all programs in the background, and count each as soon as it is built."""
        order = sorted(self._servers, key=lambda server: server.directory is None)
        with _in_background() as background:
            builds = {(server, preset): background.submit(server.build, preset,
                                                          self._display.building)
                      for preset in ("measure", "release") for server in order}
            for server in order:
                binary = self._built(builds[server, "measure"], server)
                self._display.doing(f"counting {server.name}")
                self._counted[server] = costs.count(binary, level=server.level)
                self._display.counted(server, self._counted[server])
            for server in order:
                self._binaries[server] = self._built(builds[server, "release"], server)
        self._display.building("")

    def _built(self, binary: Future[Path], server: Subject) -> Path:
        if not binary.done():
            self._display.doing(f"waiting for the build of {server.name}")
        return binary.result()

    def load(self) -> None:
        """Run one more round of the stress test: every server is restarted and goes through all
        phases. The order of the servers rotates from round to round.
        """
        self._processor_before = self._processor_before or _processor_s()
        number = min(map(len, self._rounds.values()))
        for server in rotated(self._servers, number):
            self._rounds[server].append([*self._one_round(server, number + 1)])

    def _one_round(self, server: Subject, number: int) -> Iterator[PhaseResult]:
        with load.serving(self._binaries[server]) as running:
            for result in stress.measure(running, self._phases, on_phase=lambda phase: (
                    self._display.doing(f"round {number}: {server.name}, {phase.name}"))):
                self._display.loaded(server, number, result)
                yield result

    def results(self) -> dict[str, Any]:
        """Return what has been measured so far, in the format of book/results/ladder.json. An
        unfinished round counts only if it is the first.
        """
        complete = min(map(len, self._rounds.values()))
        others_percent = (_others_percent(self._processor_before, _processor_s())
                          if self._processor_before else 0.0)
        return {
            "kind": "ladder",
            "machine": facts.collect(),
            "method": _method(self._phases, complete, others_percent),
            "servers": {server.name: {
                "title": server.title,
                "costs": self._counted.get(server, _not_counted()).to_json(),
                "phases": dict(self._by_phase(self._rounds[server][:max(complete, 1)])),
            } for server in self._servers},
        }

    def _by_phase(self, rounds: Sequence[Sequence[PhaseResult]]
                  ) -> Iterator[tuple[str, dict[str, Any]]]:
        for index, phase in enumerate(self._phases):
            yield phase.name, summary([results[index] for results in rounds] or
                                      [PhaseResult(phase.name, reason=NOT_MEASURED)])


def _not_counted() -> costs.Costs:
    return costs.Costs(skipped={measure.name: NOT_MEASURED for measure in costs.ALONE})


@contextmanager
def _in_background() -> Iterator[ThreadPoolExecutor]:
    """Yield a pool with one thread for builds. On an exception, all child processes are killed."""
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill_all()
            raise


def collect(servers: Sequence[Subject], rounds: int, display: Display) -> dict[str, Any]:
    """Build, count and load all servers; returns results as in book/results/ladder.json."""
    setup.ensure(needs.FOR_BENCH)
    run = Run(servers, display)
    run.count()
    for _ in range(rounds):
        run.load()
    return run.results()


def summary(results: Sequence[PhaseResult]) -> dict[str, Any]:
    """Summarise one phase of one server over all rounds; without figures if a round has none."""
    reason = next((result.reason for result in results if result.reason), None)
    figures = {name: None if reason else _rounded(median(getattr(r, name) for r in results))
               for name in MEDIANS}
    ranges = {f"{name}_{bound}": None if reason else
              _rounded(choose(getattr(r, name) for r in results))
              for name in WITH_RANGE for bound, choose in (("least", min), ("most", max))}
    return {
        **figures,
        **ranges,
        "rounds": [_rounded(result.requests_per_second) for result in results],
        "peak_rss_mib": None if reason else _rounded(max(r.peak_rss_mib or 0 for r in results)),
        "errors": {kind: sum(result.errors.get(kind, 0) for result in results)
                   for kind in load.ERROR_KINDS},
        "reason": reason,
    }


def rotated(servers: Sequence[T], by: int) -> list[T]:
    """Return the list rotated by `by` places, so that each round begins with a different server."""
    by %= len(servers)
    return [*servers[by:], *servers[:by]]


def _processor_s() -> tuple[float, float, float]:
    """Return seconds of processor time: the machine's, idle included; all programs'; ours."""
    times = psutil.cpu_times()
    ours = sum(sum(resource.getrusage(owner)[:2])
               for owner in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(times[:8]), times.user + times.system + times.nice, ours


def _others_percent(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the percentage of all processors that other programs used in between."""
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
    """Round to four significant digits; more would be noise."""
    return None if value is None else float(f"{value:.4g}")
