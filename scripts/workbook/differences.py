"""What a chapter changes, what the reader changed, and the solution, as diffs to read."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from workbook import progress, setup, starters
from workbook.chapters import Chapter, previous
from workbook.errors import UserError
from workbook.paths import COMMAND, shown
from workbook.starters import Tree


def show(chapter: Chapter, mine: bool, stat: bool) -> None:
    """The step from the last solution to this one, or the reader's own changes."""
    if mine:
        if starters.is_pristine(chapter):
            print(f"{shown(chapter.starter_dir)} is still the starter.")
            return
        _show(("starter", starters.starter(chapter)),
              ("yours", starters.sources(chapter.starter_dir)), stat)
        return
    before = previous(chapter)
    if before is None:
        raise UserError(f"{chapter.name} has no chapter before it to be compared with",
                        f"{COMMAND} diff {chapter.tag} --mine shows your work, "
                        f"{COMMAND} solution {chapter.tag} the solution")
    _show((before.name, starters.sources(before.solution_dir)),
          (chapter.name, starters.sources(chapter.solution_dir)), stat)


def show_solution(chapter: Chapter, anyway: bool) -> None:
    """The way from the starter to the solution, with the chapter's commentary before it."""
    from rich.console import Console
    from rich.markdown import Markdown

    if not anyway and not progress.passed(chapter):
        raise UserError(f"you have not passed {chapter.name} yet",
                        f"{COMMAND} hint {chapter.tag}; or, if you would rather see it now: "
                        f"{COMMAND} solution {chapter.tag} --anyway")
    if chapter.solution_text:
        Console().print(Markdown(chapter.solution_text), "")
    _show(("starter", starters.starter(chapter)),
          ("solution", starters.sources(chapter.solution_dir)), stat=False)


def _show(old: tuple[str, Tree], new: tuple[str, Tree], stat: bool) -> None:
    """Print the diff in git's colours, through the reader's pager where there is a terminal."""
    setup.ensure(["git"])
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as scratch:
        for name, tree in (old, new):
            starters.write(tree, Path(scratch, name))
        subprocess.run(["git", "diff", "--no-index", "--no-prefix", "--no-renames",
                        "--diff-algorithm=histogram", *(["--stat"] if stat else []),
                        old[0], new[0]], cwd=scratch)
