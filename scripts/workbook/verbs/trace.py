"""Show the system calls of one request."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table

from workbook.common.paths import shown
from workbook.course.chapters import Chapter
from workbook.machine import setup
from workbook.measure import trace
from workbook.measure.trace import Call
from workbook.servers import build

BAR_WIDTH = 30


def run(chapter: Chapter, name: str, *, solution: bool = False, as_json: bool = False) -> None:
    """Build, trace one GET /, and print its calls. `name` is the chapter's name in the output."""
    setup.ensure(["strace"])
    trace.require_strace(f"trace {name}")
    directory = chapter.directory(solution)
    calls = trace.trace(build.build_server(directory))
    if as_json:
        print(json.dumps(trace.as_json(calls), indent=2))
    else:
        _show(calls, f"{shown(directory)}: one GET /")


def _show(calls: list[Call], title: str) -> None:
    """Print the timeline."""
    runs = trace.collapse(calls)
    span = max((run.at_us + run.took_us for run in runs), default=1.0)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading in ("at µs", "took µs"):
        table.add_column(heading, justify="right", style="dim")
    table.add_column("call", style="bold", no_wrap=True)
    table.add_column("", width=BAR_WIDTH, style="cyan", no_wrap=True)
    table.add_column("result", no_wrap=True, overflow="ellipsis")
    for run in runs:
        times = f" × {run.count}" if run.count > 1 else ""
        table.add_row(f"{run.at_us:.0f}", f"{run.took_us:.0f}", run.name + times,
                      _bar(run, span), trace.result_of(run))
    console = Console()
    console.print(table)
    console.print(f"\n{len(calls)} system calls for one GET /. strace slows each of them; "
                  "compare the counts, not the times.", style="dim")


def _bar(run: Call, span: float) -> str:
    begin = int(run.at_us / span * BAR_WIDTH)
    length = max(1, round(run.took_us / span * BAR_WIDTH))
    return " " * min(begin, BAR_WIDTH - 1) + "━" * min(length, BAR_WIDTH - begin or 1)
