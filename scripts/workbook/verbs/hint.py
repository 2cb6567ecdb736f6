"""Show a chapter's hints, one at a time."""

from __future__ import annotations

from rich.console import Console
from rich.markdown import Markdown

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND
from workbook.course import parts, progress
from workbook.course.chapters import Chapter, Part


def run(chapter: Chapter, level: int | None, number: int | None = None) -> None:
    """Print one hint, by default the one after the last shown, and record that.

    In a chapter with parts it is for part `number`, by default the current one. If all parts hold,
    print that instead.
    """
    count = len(chapter.parts)
    if number is None and level is None and 0 < count < progress.reached(chapter):
        print(f"All parts of {chapter.name} hold, as last judged: {COMMAND} check {chapter.tag}\n"
              f"For a hint nevertheless: {COMMAND} hint {chapter.tag} --part {count}")
        return
    part = _hinted(chapter, number)
    hints = part.hints if part else chapter.hints
    if not hints:
        raise UserError(f"{chapter.name} has no hints", f"read its page: {COMMAND} book --open")
    level = min(level or progress.hints_seen(chapter, part) + 1, len(hints))
    progress.mark_hint(chapter, part, level)
    console = Console(soft_wrap=True)
    about = f"part {part.number} of {chapter.name}: {part.title}" if part else chapter.name
    console.print(f"Hint {level} of {len(hints)}, {about}", style="bold")
    console.print(Markdown(hints[level - 1]))
    these = f"{chapter.tag} --part {part.number}" if part else chapter.tag
    more = (f"More: {COMMAND} hint {these}" if level < len(hints) else
            f"That was the last. If it does not help: {COMMAND} solution {these} --anyway")
    if level > 1:
        more += f"\nBack: {COMMAND} hint {these} --level {level - 1}"
    console.print(f"\n{more}", style="dim")


def _hinted(chapter: Chapter, number: int | None) -> Part | None:
    if number is None and not chapter.parts:
        return None
    return parts.find(chapter, number or min(progress.reached(chapter), len(chapter.parts)))
