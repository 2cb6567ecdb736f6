"""Speed goals: the medals of a chapter, and the recorded ratio of our own solution.

A goal is a ratio to the chapter's starting point, which is the solution before it; never a number
of requests. Bronze is a third of our recorded gain and silver two thirds, on a logarithmic scale
(the cube root of our ratio, and its square), rounded down. Goals are this low because the same step
gains less on some machines, and every reader should be able to reach them. A step without a clearly
measurable gain has no goal.
"""

from __future__ import annotations

import json
from pathlib import Path

from workbook.common import stats
from workbook.common.paths import RESULTS
from workbook.course import chapters
from workbook.course.chapters import Chapter
from workbook.measure.compare import Comparison

LADDER = RESULTS / "ladder.json"
PHASES = {"plain": "baseline", "headers": "headers"}  # the recorded phase with this load
TOO_WIDE = 4.0  # ratio of an interval's ends beyond which it is meaningless
LOADS = {"plain": "", "headers": " with large headers"}


def recorded(chapter: Chapter, ladder: Path = LADDER) -> float | None:
    """Return our solution's recorded speed relative to its starting point; None if unknown."""
    before = chapters.previous(chapter)
    try:
        servers = json.loads(ladder.read_text(encoding="utf-8"))["servers"]
        old, new = (servers[c.name]["phases"][PHASES[chapter.speed_load]]["requests_per_second"]
                    for c in (before, chapter) if c)
        return float(new / old)
    except (OSError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def medal(chapter: Chapter, compared: Comparison) -> str | None:
    """Return the best medal whose goal the interval's lower end reaches; None if there is none."""
    if compared.verdict != stats.PASS:
        return None
    reached = [name for name, goal in chapter.speed.items() if compared.low >= goal]
    return max(reached, key=lambda name: chapter.speed[name], default=None)


def missed(chapter: Chapter, compared: Comparison) -> list[str]:
    """Return the medals whose goals are above the whole interval."""
    if compared.verdict == stats.INCONCLUSIVE:
        return []
    return [name for name, goal in chapter.speed.items() if compared.high < goal]


def reported(chapter: Chapter, compared: Comparison) -> str:
    """Return the result of the comparison as a line of text."""
    solution = ours(chapter, recorded(chapter))
    if compared.high > TOO_WIDE * compared.low:
        return f"this machine is too busy to compare with the starting point; {solution}"
    return (f"{compared.ratio:.2f} × the starting point{LOADS[chapter.speed_load]} "
            f"({compared.low:.2f} to {compared.high:.2f}): {_verdict(chapter, compared)}; "
            + solution)


def ours(chapter: Chapter, ratio: float | None) -> str:
    """Return our solution's recorded ratio as text, and the reason if the chapter has no medals."""
    solution = (f"our solution was recorded at {ratio:.2f} ×" if ratio is not None else
                "our solution has no recorded figure")
    return solution if chapter.speed else f"{solution}, so the clock gives no medal here"


def _verdict(chapter: Chapter, compared: Comparison) -> str:
    if won := medal(chapter, compared):
        return f"{won} (from {chapter.speed[won]:g})"
    if chapter.speed:
        return f"{compared.verdict}, bronze begins at {chapter.speed['bronze']:g}"
    return {stats.PASS: "faster", stats.NOT_YET: "no faster"}.get(
        compared.verdict, f"{compared.verdict}, this machine is too busy to say which is faster")
