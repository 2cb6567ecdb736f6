"""Shows a chapter's changes, the reader's changes, and the solution, as diffs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, shown
from workbook.course import parts, progress, starters, trees
from workbook.course.chapters import LAB, Chapter, previous
from workbook.course.trees import Tree
from workbook.machine import setup


def show(chapter: Chapter, mine: bool, stat: bool, part: int | None = None,
         anyway: bool = False) -> None:
    """Show the step from the previous solution (or a lab's starter) to this one, or that of one
    part, or with `mine` the reader's changes. A step reveals the solution, so it's shown on the
    same condition; `stat`, which lists only files and numbers of lines, needs none.
    """
    if mine:
        _show_mine(chapter, stat, part)
        return
    if not stat:
        _require_done("diff", chapter, anyway, part)
    if part is not None:
        parts.find(chapter, part)
        before_part, after_part = ((parts.label(chapter, k), parts.tree(chapter, k))
                                   for k in (part - 1, part))
        _show(before_part, after_part, stat)
        return
    before = previous(chapter)
    if chapter.kind == LAB:
        _show(_beginning(chapter, None), (chapter.name, trees.read(chapter.solution_dir)), stat)
        return
    if before is None:
        raise UserError(f"{chapter.name} has no chapter before it to be compared with",
                        f"{COMMAND} diff {chapter.tag} --mine shows your work, "
                        f"{COMMAND} solution {chapter.tag} the solution")
    _show((before.name, trees.read(before.solution_dir)),
          (chapter.name, trees.read(chapter.solution_dir)), stat)


def _show_mine(chapter: Chapter, stat: bool, part: int | None) -> None:
    began, yours = _beginning(chapter, part), trees.read(chapter.starter_dir)
    if began[1] == yours:
        what = "the starter" if part is None else f"where part {part} begins"
        print(f"{shown(chapter.starter_dir)} is still {what}.")
    else:
        _show(began, ("yours", yours), stat, moves=False)


def show_solution(chapter: Chapter, anyway: bool, part: int | None = None) -> None:
    """Show the step from the starter to the solution, after the chapter's commentary; or from where
    a part begins to where it ends.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    _require_done("solution", chapter, anyway, part)
    if chapter.solution_text and part is None:
        Console().print(Markdown(chapter.solution_text), "")
    end = (("solution", trees.read(chapter.solution_dir)) if part is None else
           (f"after-part-{part}", parts.tree(chapter, part)))
    _show(_beginning(chapter, part), end, stat=False)


def _require_done(verb: str, chapter: Chapter, anyway: bool, part: int | None) -> None:
    """Raises UserError unless the reader has passed the chapter or part, or insists (`anyway`)."""
    what, flag, done = chapter.name, "", bool(progress.passed(chapter))
    if part is not None:
        what, flag = f"part {part} of {chapter.name}", f" --part {part}"
        done = done or progress.reached(chapter) > parts.find(chapter, part).number
    if not done and not anyway:
        raise UserError(f"you have not passed {what} yet",
                        f"{COMMAND} hint {chapter.tag}{flag}; or, if you would rather see it now: "
                        f"{COMMAND} {verb} {chapter.tag}{flag} --anyway")


def _beginning(chapter: Chapter, part: int | None) -> tuple[str, Tree]:
    if part is None:
        return "starter", starters.starter(chapter)
    return f"before-part-{part}", parts.beginning(chapter, part)


def _show(old: tuple[str, Tree], new: tuple[str, Tree], stat: bool, moves: bool = True) -> None:
    """Print the diff in git's colours, in the reader's pager if there is a terminal."""
    setup.ensure(["git"])
    if moves:  # git shows the moves that it recognises; other moved files are compared by name
        recognised = trees.moved_by_content(old[1], new[1])
        old = old[0], trees.renamed(old[1], {
            before: after for before, after in trees.moved_by_name(old[1], new[1]).items()
            if recognised.get(before) != after})
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as scratch:
        for name, tree in (old, new):
            trees.write(tree, Path(scratch, name))
        done = subprocess.run(["git", "diff", "--no-index", "--no-prefix",
                               "--find-renames" if moves else "--no-renames",
                               "--diff-algorithm=histogram", *(["--stat"] if stat else []),
                               *(["--no-color"] if os.environ.get("NO_COLOR") else []),
                               old[0], new[0]], cwd=scratch)
    if done.returncode >= 128 and done.returncode != 128 + signal.SIGPIPE:
        raise UserError(f"git diff failed with exit code {done.returncode}",
                        "see its message above, and your settings: git config --global --list")
