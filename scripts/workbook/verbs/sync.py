"""Carry changes through the chapters, update starters and parts, and print the files written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, shown
from workbook.course import parts, starters
from workbook.course.chapters import Chapter, find
from workbook.course.sync import Sync, require_rule


def run(name: str | None, go_on: bool = False, starter: bool = False, patches: bool = False,
        edit: int | None = None, part: int | None = None) -> None:
    needing = {"--starter": starter, "--patches": patches, f"--edit {edit}": edit is not None,
               f"--part {part}": part is not None}
    if name is None and (flags := [flag for flag, given in needing.items() if given]):
        raise UserError(f"{flags[0]} needs a chapter", f"{COMMAND} sync 2 {flags[0]}")
    chapter = find(name) if name else None
    if chapter and starter:
        return _take_starter(chapter)
    if chapter and patches:
        return _take_patches(chapter)
    if chapter and edit is not None:
        return _lay_out(chapter, edit)
    sync = Sync()
    if chapter and part is not None:
        return _report(sync.run_part(chapter, part))
    _report(sync.resume() if go_on else sync.run(chapter))


def _take_starter(chapter: Chapter) -> None:
    """Make the chapter's current directory its starter; raises UserError if it breaks the rule."""
    changed = starters.write_patch(chapter)
    print(f"{shown(starters.patch_file(chapter))} is {'written' if changed else 'up to date'}")
    require_rule(chapter)


def _take_patches(chapter: Chapter) -> None:
    """Store the trees in build/parts as the chapter's parts."""
    written = parts.write_patches(chapter)
    _list(written)
    print(f"{len(written)} of {len(parts.kept(chapter))} patches written")


def _lay_out(chapter: Chapter, number: int) -> None:
    """Write the tree after a part where an author can edit it."""
    directory = parts.workplace(chapter, parts.find(chapter, number))
    if copy := parts.lay_out(chapter, number):
        print(f"What was in {shown(directory)} is in {shown(copy)}.")
    print(f"The tree after part {number} is in {shown(directory)}. When it is as you want it:\n"
          f"{COMMAND} sync {chapter.tag} --part {number}")


def _report(written: list[Path]) -> None:
    _list(written)
    print(f"{len(written)} files written; look at them with git diff" if written
          else "Nothing to carry: all later chapters have it.")


def _list(files: Iterable[Path]) -> None:
    for file in files:
        print(f"  {shown(file)}")
