"""Measure every checkpoint, and show the results in the terminal and as a page."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from workbook.common.errors import UserError
from workbook.common.paths import shown
from workbook.course import starters
from workbook.course.chapters import SERVER, Chapter, all_chapters
from workbook.figures import machines, report
from workbook.machine import needs, setup
from workbook.measure import labs, ladder, other_servers
from workbook.measure.other_servers import Rows
from workbook.servers import build
from workbook.verbs.live_ladder import LiveLadder

LAB_S = 12.0
FILE_ROUNDS = 3
MINUTES = 10.0
INTERRUPTED = 130


def run_lab(chapter: Chapter, *, seconds: float = LAB_S, as_json: bool = False) -> int:
    """Compare a lab's starter, its solution and the reader's code, if edited; print the times."""
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


def run(*, chapters: Sequence[str] = (), every: bool = False, mine: bool = False,
        minutes: float = MINUTES, quick: bool = False, as_json: bool = False,
        share: bool = False) -> int:
    """Measure for `minutes`, or one round if `quick`; write the report after each round, and print
    tables at the end. Returns the exit code.

    `chapters` selects checkpoints; by default the climb and the last one, or `every` one. With
    `every`, the last is also compared with other servers in serving files. With `share`, what may
    be shared is also written and shown. Ctrl-C leaves a report of what has been measured.
    """
    setup.ensure(needs.FOR_BENCH)
    servers = ladder.subjects(chapters, mine, every=every or share)
    with LiveLadder(servers) as display:
        measured = ladder.Run(servers, display)
        stopped = _measure(measured, display, 0 if quick else 60 * minutes)
    if not measured.has_results:
        print("Stopped; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    results = measured.results()
    files, remarks = _files() if every and not (chapters or stopped) else ({}, [])
    if files:
        results["files"] = files
    page = report.write(results)
    if as_json:
        print(json.dumps(results, indent=2))
    else:
        report.print_ladder(results)
        if files or remarks:
            report.print_files(files, remarks)
        print(f"\nThe report is {shown(page)}")
    if stopped:
        print("Stopped; the report shows what is missing.", file=sys.stderr)
        return INTERRUPTED
    if share:
        _share(results)
    return 0


def _measure(run: ladder.Run, display: LiveLadder, seconds: float) -> bool:
    """Count costs, then measure rounds for `seconds`, at least one. Returns whether interrupted."""
    started = time.monotonic()
    try:
        run.count()
        while True:
            before = time.monotonic()
            run.load()
            now = time.monotonic()
            if now + (now - before) / 2 > started + seconds:
                return False
            page = report.write(run.results())
            display.remark(f"There is a report: {shown(page)}. Further rounds refine it until "
                           f"{seconds / 60:g} min have passed; Ctrl-C ends it earlier.")
    except KeyboardInterrupt:
        return True


def _share(results: dict[str, Any]) -> None:
    print("\nThis is what may be shared of it, and no more:")
    file = machines.write(results)
    print(f"\nIt is {shown(file)}. To have your machine on the ladder's page, copy it to "
          f"{shown(machines.SHARED)} and send that as a pull request.")


def _files() -> tuple[Rows, list[str]]:
    """Returns the last checkpoint's figures for files, or none and the reason."""
    last = [chapter for chapter in all_chapters() if chapter.kind == SERVER][-1]
    try:
        return files_of(last.name, FILE_ROUNDS)
    except UserError as error:
        return {}, [f"no figures of files: {error.message}"]


def files_of(checkpoint: str, rounds: int) -> tuple[Rows, list[str]]:
    """Returns a checkpoint's figures and those of other servers installed here, and why others are
    missing. Progress goes to stderr.
    """
    return other_servers.against(checkpoint, rounds,
                                 lambda doing: print(doing, file=sys.stderr, flush=True))
