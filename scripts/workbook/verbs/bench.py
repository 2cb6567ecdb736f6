"""The main job: measure every checkpoint and show it, in the terminal and as a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from workbook.common.errors import UserError
from workbook.common.paths import ROOT, shown
from workbook.course import starters
from workbook.course.chapters import SERVER, Chapter, all_chapters
from workbook.figures import machines, report
from workbook.measure import labs, ladder, other_servers
from workbook.measure.other_servers import Rows
from workbook.servers import build
from workbook.verbs.progress_bar import ProgressBar

LAB_S = 12.0


def run_lab(chapter: Chapter, *, seconds: float = LAB_S, as_json: bool = False) -> int:
    """A lab's starter and solution side by side, and the reader's own where that is neither."""
    from rich.console import Console
    from rich.table import Table

    own = [] if starters.is_pristine(chapter) else ["yours"]
    builds = [build.build_program(chapter.directory(solution), "release", chapter.program)
              for solution in (True, False)[:1 + len(own)]]
    with Console(stderr=True).status("taking turns"):
        found = labs.next_to(labs.starter(chapter), builds, seconds)
    if as_json:
        print(json.dumps([dict(zip(("benchmark", "starter_ns", "solution", *own), [
            name, row.base_ns, *map(asdict, row.others)], strict=True))
            for name, row in found.items()], indent=2))
        return 0
    table = Table(box=None, pad_edge=False)
    for head in (chapter.name, "starter", "solution", *own):
        table.add_column(head, justify="left" if head == chapter.name else "right")
    for name, row in found.items():
        table.add_row(name, f"{row.base_ns:,.1f} ns", *(
            f"{other.ns:,.1f} ns, {other.ratio:.2f} × ({other.low:.2f} to {other.high:.2f})"
            for other in row.others))
    Console(highlight=False, soft_wrap=True).print(table)
    return 0


def run(*, chapters: Sequence[str] = (), rounds: int | None = None, mine: bool = False,
        as_json: bool = False, share: bool = False) -> int:
    """Measure, print tables, write the report and name it. `chapters` picks checkpoints; without,
    the last of them also stands beside other people's servers with files. What may be shared of it
    is shown and written besides.
    """
    results = ladder.collect(ladder.subjects(chapters, mine), rounds or ladder.ROUNDS, ProgressBar)
    files, remarks = ({}, []) if chapters else _files(rounds or ladder.ROUNDS)
    if files:
        results["files"] = files
    page = report.write(results)
    if as_json:
        print(json.dumps(results, indent=2))
    else:
        report.print_ladder(results)
        report.print_files(files, remarks)
        print(f"\nThe report is {page.relative_to(ROOT)}")
    if share:
        print("\nThis is what may be shared of it, and no more:")
        file = machines.write(results)
        print(f"\nIt is {shown(file)}. To have your machine on the ladder's page, copy it to "
              f"{shown(machines.SHARED)} and send that as a pull request.")
    return 0


def _files(rounds: int) -> tuple[Rows, list[str]]:
    """The last checkpoint's, or none and why there are none."""
    last = [chapter for chapter in all_chapters() if chapter.kind == SERVER][-1]
    try:
        return files_of(last.name, rounds)
    except UserError as error:
        return {}, [f"no figures of files: {error.message}"]


def files_of(checkpoint: str, rounds: int) -> tuple[Rows, list[str]]:
    """A checkpoint's figures and those of others that are here, and why others are not; reports on
    stderr how far it is.
    """
    return other_servers.against(checkpoint, rounds,
                                 lambda doing: print(doing, file=sys.stderr, flush=True))
