"""Speed goals: the medals of a chapter, and what our own solution was recorded with.

A goal is a ratio against the chapter's starting point, the solution before it; never a number of
requests. A third of our recorded gain is bronze and two thirds are silver, as ratios go (the cube
root of our ratio, and that squared), rounded down: the same step gains less on another machine,
and a goal should be in reach on all of them. A step that hardly moves our clock has no goal.
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
TOO_WIDE = 4.0  # from one end of an interval to the other: it says nothing
LOADS = {"plain": "", "headers": " with large headers"}


def recorded(chapter: Chapter, ladder: Path = LADDER) -> float | None:
    """How many times as fast as its starting point our solution was when the ladder was recorded;
    None if that says nothing of it.
    """
    before = chapters.previous(chapter)
    try:
        servers = json.loads(ladder.read_text(encoding="utf-8"))["servers"]
        old, new = (servers[c.name]["phases"][PHASES[chapter.speed_load]]["requests_per_second"]
                    for c in (before, chapter) if c)
        return float(new / old)
    except (OSError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def medal(chapter: Chapter, compared: Comparison) -> str | None:
    """The best medal whose goal the whole interval reaches."""
    if compared.verdict != stats.PASS:
        return None
    reached = [name for name, goal in chapter.speed.items() if compared.low >= goal]
    return max(reached, key=lambda name: chapter.speed[name], default=None)


def missed(chapter: Chapter, compared: Comparison) -> list[str]:
    """The medals whose goals the whole interval lies below."""
    if compared.verdict == stats.INCONCLUSIVE:
        return []
    return [name for name, goal in chapter.speed.items() if compared.high < goal]


def reported(chapter: Chapter, compared: Comparison) -> str:
    """The clock's word in a line."""
    solution = ours(chapter, recorded(chapter))
    if compared.high > TOO_WIDE * compared.low:
        return f"this machine is too busy to compare with the starting point; {solution}"
    return (f"{compared.ratio:.2f} × the starting point{LOADS[chapter.speed_load]} "
            f"({compared.low:.2f} to {compared.high:.2f}): {_verdict(chapter, compared)}; "
            + solution)


def ours(chapter: Chapter, ratio: float | None) -> str:
    """What our solution did, and why there is no medal if there is none."""
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
