"""The main job: measure every checkpoint and show it, in the terminal and as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence

from workbook.common.paths import ROOT
from workbook.figures import report
from workbook.measure import ladder


def run(*, chapters: Sequence[str] = (), rounds: int | None = None, mine: bool = False,
        as_json: bool = False) -> int:
    """Measure, print two tables, write the report and name it. `chapters` picks checkpoints."""
    results = ladder.collect(ladder.subjects(chapters, mine), rounds or ladder.ROUNDS)
    page = report.write(results)
    if as_json:
        print(json.dumps(results, indent=2))
    else:
        report.print_ladder(results)
        print(f"\nThe report is {page.relative_to(ROOT)}")
    return 0
