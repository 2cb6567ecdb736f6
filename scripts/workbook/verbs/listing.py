"""Show the chapters, and how far the reader is in each."""

from __future__ import annotations

import json
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from workbook.common.paths import COMMAND
from workbook.course import progress
from workbook.course.chapters import all_chapters

WIDE = 100  # minimum width in columns for full titles


def run(as_json: bool = False) -> None:
    rows = [{"chapter": chapter.name, "title": chapter.title, "minutes": chapter.minutes,
             "status": progress.status(chapter), "passed": progress.passed(chapter),
             "medal": progress.medal(chapter), "kind": chapter.kind, "part": progress.part(chapter),
             "parts": len(chapter.parts)}
            for chapter in all_chapters()]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        show(rows)


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table of `hotpath list`; on a narrow terminal, titles only up to the colon."""
    console = Console()
    colours = {"passed": "green", "to do": "dim"}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("chapter", no_wrap=True)
    table.add_column("title")
    table.add_column("min.", justify="right", no_wrap=True)
    table.add_column("parts", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for before, row in zip([None, *rows], rows, strict=False):
        if before and before["kind"] != row["kind"]:
            table.add_section()
        when = f" {row['passed']}" if row["status"] == "passed" else ""
        when += f", {row['medal']}" if when and row["medal"] else ""
        status = _location(row["part"], row["parts"]) if row["part"] else row["status"]
        title = row["title"] if console.width >= WIDE else row["title"].partition(":")[0]
        table.add_row(row["chapter"], title, str(row["minutes"]), _dots(row),
                      f"[{colours.get(row['status'], 'yellow')}]{status}{when}[/]")
    console.print(table)
    done = sum(row["status"] in progress.PASSED for row in rows)
    console.print(f"\n{done} of {len(rows)} passed." + (
        f" What to do now: [bold]{COMMAND} next[/]" if done < len(rows) else ""))


def _dots(row: dict[str, Any]) -> str:
    """Returns one dot per part, filled if the part holds."""
    count = int(row["parts"])
    held = count if row["status"] in progress.PASSED else (row["part"] or 1) - 1
    return "●" * held + "○" * (count - held)


def _location(part: int, parts: int) -> str:
    return f"part {part} of {parts}" if part <= parts else f"all {parts} parts; the check is left"
