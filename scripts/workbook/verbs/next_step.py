"""Show what to do now: which part of which chapter, its check, the file to edit, the page."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from workbook.checks import registry
from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, shown
from workbook.course import parts, progress
from workbook.course.chapters import Chapter
from workbook.verbs import verdicts

MAX_FILES = MAX_NAMES = 4


def run(as_json: bool = False) -> None:
    step = found(chapter())
    if as_json:
        print(json.dumps(step, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    title = f"{step['chapter']}, {step['title']}"
    if step["part"]:
        title += f": part {step['part']} of {step['parts']}, {step['part_title']}"
    elif step["parts"]:
        title += f": all {step['parts']} parts hold, and the check of the chapter is left"
    console.print(Text(title, style="bold"))
    for name, text in _rows(step):
        console.print(Text(f"  {name:<12}", style="dim"), Text(text))


def chapter() -> Chapter:
    """Returns the chapter to continue with; raises UserError if all are passed."""
    if open_one := progress.current():
        return open_one
    raise UserError("every chapter is passed: there is nothing left to do",
                    f"{COMMAND} list shows them, {COMMAND} bench --mine measures yours")


def part_of(open_one: Chapter) -> int | None:
    """Returns the current part's number; None if the chapter has no parts, or all hold."""
    reached = progress.reached(open_one)
    return reached if reached <= len(open_one.parts) else None


def found(open_one: Chapter) -> dict[str, Any]:
    """Returns what to do in this chapter, for `--json` and for the table."""
    number = part_of(open_one)
    part = parts.find(open_one, number) if number else None
    later = {name for after in open_one.parts[number or 0:] for name in after.judged} - set(
        part.judged if part else ())
    failed = [name for name in progress.unmet(open_one) if name not in later]
    wanted = part.judged if part else [] if open_one.parts else open_one.starter_fails
    tag = open_one.tag + (f" --part {number}" if number else "")
    anchor = part.anchor if part else ""
    return {
        "chapter": open_one.name, "title": open_one.title, "status": progress.status(open_one),
        "part": number, "parts": len(open_one.parts), "part_title": part.title if part else None,
        "failed": failed, "checks": wanted,
        "files": _marked(open_one, part.edit if part else open_one.edit, number),
        "page": verdicts.page(open_one, anchor), "command": f"{COMMAND} check {tag}",
        "hint": f"{COMMAND} hint {tag}"}


def _rows(step: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if names := step["failed"] or step["checks"]:
        others = [*names[1:MAX_NAMES], *(["…"] if names[MAX_NAMES:] else [])]
        more = f" (and {', '.join(others)})" if others else ""
        words = registry.named(names[0]).words if names[0] in registry.NAMES else ""
        rows.append(("failed last" if step["failed"] else "turn green",
                     f"{names[0]}: {words}{more}" if words else f"{names[0]}{more}"))
    files = step["files"]
    rows += [("edit", ", ".join(files[:MAX_FILES]) + (" …" if files[MAX_FILES:] else "")),
             ("read", step["page"]), ("then", step["command"]), ("if stuck", step["hint"])]
    return rows


def _marked(open_one: Chapter, edited: list[str], part: int | None) -> list[str]:
    """Returns a part's files that still have a mark, with its line; if there are none, all."""
    mark = f"TODO({open_one.tag}.{part})" if part else f"TODO({open_one.tag})"
    marked = []
    for name in edited:
        file = open_one.starter_dir / name
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if (
            file.is_file()) else []
        if number := next((at for at, line in enumerate(lines, 1) if mark in line), 0):
            marked.append(f"{shown(file)}:{number}")
    return marked or [shown(open_one.starter_dir / name) for name in edited]
