"""Measure the figures that the book shows, and store them in book/results."""

from __future__ import annotations

from collections.abc import Sequence

from workbook import authors
from workbook.authors import recording
from workbook.common.paths import ROOT
from workbook.figures import recorded, report
from workbook.verbs.live_ladder import LiveLadder

LADDER = "ladder"


def run(rounds: int | None = None, only: Sequence[str] = ()) -> None:
    """Record the ladder and the experiments, or only those that are named."""
    experiments = [name for name in only if name != LADDER]
    if not only or LADDER in only:
        report.print_ladder(recording.record(rounds or recording.ROUNDS, LiveLadder))
        print(f"Recorded in {recorded.LADDER.relative_to(ROOT)}; look at git diff --stat before "
              "you commit it.")
    if not only or experiments:
        authors.run(experiments)
