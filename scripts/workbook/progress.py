"""How far the reader is: kept in .hotpath/progress.json, never needed to work."""

from __future__ import annotations

import json
import time
from typing import Any

from workbook import starters
from workbook.chapters import Chapter
from workbook.errors import UserError
from workbook.paths import COMMAND, STATE, shown, write_atomically

FILE = STATE / "progress.json"


def mark_passed(chapter: Chapter) -> None:
    """Remember that the reader's own code passed every check of the chapter."""
    _update(chapter, passed=time.strftime("%Y-%m-%d"))


def passed(chapter: Chapter) -> str | None:
    """The day on which the chapter was passed, or None."""
    return _load().get(chapter.name, {}).get("passed")


def hints_seen(chapter: Chapter) -> int:
    return int(_load().get(chapter.name, {}).get("hints", 0))


def mark_hint(chapter: Chapter, level: int) -> None:
    _update(chapter, hints=max(level, hints_seen(chapter)))


def status(chapter: Chapter) -> str:
    """passed, begun (the starter was edited) or to do."""
    if passed(chapter):
        return "passed"
    return "to do" if starters.is_pristine(chapter) else "begun"


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table of `hotpath list`."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    colours = {"passed": "green", "begun": "yellow", "to do": "dim"}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("chapter", no_wrap=True)
    table.add_column("title")
    table.add_column("minutes", justify="right")
    table.add_column("status", no_wrap=True)
    for row in rows:
        when = f" {row['passed']}" if row["passed"] else ""
        table.add_row(row["chapter"], row["title"], str(row["minutes"]),
                      f"[{colours[row['status']]}]{row['status']}{when}[/]")
    console = Console()
    console.print(table)
    done = sum(row["status"] == "passed" for row in rows)
    following = next((row["chapter"] for row in rows if row["status"] != "passed"), None)
    console.print(f"\n{done} of {len(rows)} passed." + (
        f" Next: [bold]{COMMAND} check {following}[/]" if following else ""))


def show_hint(chapter: Chapter, level: int | None) -> None:
    """Print one hint, by default the one after the last that was shown, and remember it."""
    from rich.console import Console
    from rich.markdown import Markdown

    if not chapter.hints:
        raise UserError(f"{chapter.name} has no hints", f"read its page: {COMMAND} book --open")
    last = len(chapter.hints)
    level = min(level or hints_seen(chapter) + 1, last)
    mark_hint(chapter, level)
    console = Console()
    console.print(f"Hint {level} of {last}, {chapter.name}", style="bold")
    console.print(Markdown(chapter.hints[level - 1]))
    more = (f"More: {COMMAND} hint {chapter.tag}" if level < last else
            f"That was the last. If it does not help: {COMMAND} solution {chapter.tag} --anyway")
    console.print(f"\n{more}", style="dim")


def _update(chapter: Chapter, **values: Any) -> None:
    data = _load()
    data.setdefault(chapter.name, {}).update(values)
    write_atomically(FILE, json.dumps(data, indent=2) + "\n")


def _load() -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(FILE.read_text(encoding="utf-8"))
        if not (isinstance(data, dict) and all(isinstance(v, dict) for v in data.values())):
            raise ValueError("not a table of chapters")
        return data
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{shown(FILE)} is damaged ({error})",
                        f"remove it and check the chapters again: rm {shown(FILE)}") from None
