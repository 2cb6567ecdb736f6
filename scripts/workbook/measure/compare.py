"""Is B faster than A? Alternating runs, A against itself as control, a ratio with its interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from workbook.common import stats
from workbook.common.errors import UserError
from workbook.common.paths import CHAPTERS, COMMAND, SOLUTIONS, shown
from workbook.common.stats import Round
from workbook.measure import load
from workbook.measure.load import Phase
from workbook.servers.process import Server

SECONDS = 15.0
LONGER = 2  # an inconclusive comparison continues up to this multiple of its time
SLICE = Phase("plain", "plain", connections=16, seconds=0.4)
PAUSE_S = 0.03


@dataclass(frozen=True)
class Comparison:
    """B's speed relative to A's, with its interval; `aa` is A relative to itself, the control."""

    a: str
    b: str
    ratio: float
    low: float
    high: float
    aa_ratio: float
    aa_low: float
    aa_high: float
    goal: float
    verdict: str
    why: str
    a_requests_per_second: float
    b_requests_per_second: float
    rounds: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(a: Path, b: Path, *, seconds: float = SECONDS, goal: float = 1.0,
            load_name: str = SLICE.script,
            on_round: Callable[[str], None] = lambda _: None) -> Comparison:
    """Compare two servers for `seconds`, or twice that if the verdict would be INCONCLUSIVE.

    The verdict is computed at these two times only, because stopping after an arbitrary round would
    make it possible to pick a favourable result. Raises UserError if a server fails or answers with
    an error.
    """
    started = time.monotonic()
    rounds: list[Round] = []
    with _all_three(a, b, replace(SLICE, script=load_name)) as measured:
        for until in (seconds, LONGER * seconds):
            while len(rounds) < stats.MIN_ROUNDS or time.monotonic() - started < until:
                rounds.append(next(measured))
                on_round(f"round {len(rounds)}, {time.monotonic() - started:.0f} of {until:.0f} s")
            judgement = stats.judge(rounds, goal)
            if judgement.verdict != stats.INCONCLUSIVE:
                break
    return _comparison(_name(shown(a)), _name(shown(b)), rounds, goal, judgement,
                       time.monotonic() - started)


@contextmanager
def own_work_named(a: Path, b: Path) -> Iterator[None]:
    """If a reader's own server fails, report that, and suggest our solution instead."""
    try:
        yield
    except UserError as error:
        own = [side for side in (a, b) if side.parent == CHAPTERS and shown(side) in error.message]
        if not own:
            raise
        sides = [shown(SOLUTIONS / side.name if side in own else side) for side in (a, b)]
        raise UserError(f"{shown(own[0])} has not passed: {error.message}", "to compare with our "
                        f"solution: {COMMAND} compare {' '.join(sides)}") from None


@contextmanager
def _all_three(a: Path, b: Path, piece: Phase) -> Iterator[Iterator[Round]]:
    """Start A, B and a second process of A, and yield an endless iterator of rounds."""
    with load.serving(a) as first, load.serving(b) as other, load.serving(a) as second:
        for server in (first, other, second):
            _rate(server, piece)
        yield _rounds(first, other, second, piece)


def _rounds(a: Server, b: Server, control: Server, piece: Phase) -> Iterator[Round]:
    """Measure in the order A B A', then A' B A, so that neither process of A is always first."""
    while True:
        yield Round(*(_rate(server, piece) for server in (a, b, control)))
        third, second, first = (_rate(server, piece) for server in (control, b, a))
        yield Round(first, second, third)


def _rate(server: Server, piece: Phase) -> float:
    """Return the requests per second over one slice; UserError if there is no valid figure."""
    result = load.run_phase(server, piece)
    if result.requests_per_second is None:
        name = _name(server.name)
        raise UserError(f"{name} has no figure to compare: {result.reason}",
                        f"see what is wrong: {COMMAND} check {name.rpartition('/')[2]}")
    load.settle(server, PAUSE_S)
    return result.requests_per_second


def _comparison(a: str, b: str, rounds: list[Round], goal: float, judgement: stats.Judgement,
                seconds: float) -> Comparison:
    control = stats.control(rounds)
    return Comparison(
        a, b, judgement.interval.ratio, judgement.interval.low, judgement.interval.high,
        control.ratio, control.low, control.high, goal, judgement.verdict, judgement.why,
        median(rate for r in rounds for rate in (r.a, r.control)), median(r.b for r in rounds),
        len(rounds), round(seconds, 1))


def _name(binary: str) -> str:
    """Return solutions/02-fewer-syscalls for build/PRESET/solutions/02-fewer-syscalls/server."""
    return "/".join(binary.split("/")[2:-1]) if binary.startswith("build/") else binary
