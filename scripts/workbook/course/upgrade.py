"""Carry a reader's work from the starter that it began from to today's, or keep it with the former.

Git merges each file three ways, and follows files that moved: the base is the starter that the
reader began from, and the sides are the reader's files and today's starter.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import BACKUP, COMMAND, ROOT, STATE, shown, write_atomically
from workbook.course import editions, history, progress, trees
from workbook.course.chapters import Chapter
from workbook.course.trees import Tree
from workbook.machine.git import git

MARKER = re.compile(rb"^<{7} ", re.M)
SIMILARITY = 40  # per cent that must match for a moved file: readers change more of it than we do


@dataclass(frozen=True)
class Work:
    """A reader's work in a chapter, and the two starters that it is compared with."""

    chapter: Chapter
    mine: Tree
    edition: int  # the edition that it began in
    commit: str  # the commit of the starter that it began from
    base: Tree
    newest: str  # the commit of today's starter
    starter: Tree

    @property
    def is_current(self) -> bool:
        return self.base == self.starter

    def edited(self) -> list[str]:
        """The chapter's files that the reader changed."""
        return trees.differing(self.base, self.mine)

    def moved(self) -> dict[str, str]:
        """The files that have another path in today's starter: old path -> new path."""
        return trees.moved(self.base, self.starter, SIMILARITY)

    def renewed(self) -> list[str]:
        """The files of today's starter that differ from the old one, wherever they are now."""
        moved = self.moved()
        before = {moved.get(name, name): text for name, text in self.base.items()}
        return trees.differing(before, self.starter)


@dataclass(frozen=True)
class Carried:
    """The result of carrying one chapter over."""

    copy: Path  # the backup of the reader's files
    conflicts: list[str]  # paths in the chapter that need a decision


def find(chapter: Chapter, revision: str | None = None, root: Path = ROOT) -> Work | None:
    """Returns the reader's work in a chapter, on disk or in a commit or stash; None without any.

    Raises UserError if the revision does not exist.
    """
    newest = history.published(root, chapter)
    starter = history.starter(root, chapter, newest) if newest else {}
    if revision is None:
        mine, commit = trees.read(chapter.starter_dir), ""
        if not starter or not mine or mine == starter:
            return None
        commit = _began(root, chapter) or history.closest(root, chapter, mine)
    else:
        mine = _stored(root, chapter, revision)
        commit = history.published(root, chapter, revision)
    base = history.starter(root, chapter, commit) if commit else {}
    if not base or not mine or mine == base:
        return None
    return Work(chapter, mine, history.edition_of(root, commit), commit, base, newest, starter)


def carry(work: Work) -> Carried:
    """Merge the reader's files into today's starter, in the chapter's folder. The reader's files
    are first copied into .hotpath/backup.

    Raises UserError if the folder has other work, or unresolved conflicts.
    """
    present = trees.read(work.chapter.starter_dir)
    _require_resolved(work.chapter, present)
    if present not in (work.mine, work.starter):
        raise UserError(f"{shown(work.chapter.starter_dir)} already has other work of yours",
                        f"look at it: {COMMAND} diff {work.chapter.tag} --mine; to begin anew, and "
                        f"keep a copy of it: {COMMAND} reset {work.chapter.tag}")
    copy = _back_up(work)
    merged, conflicts = merge(work.base, work.mine, work.starter)
    trees.write(merged, work.chapter.starter_dir)
    progress.mark_began(work.chapter, editions.current().number, work.newest)
    return Carried(copy, conflicts)


def keep(work: Work, root: Path = ROOT) -> Path:
    """Check out the commit that the work began from below .hotpath/editions, with the reader's
    files in its chapter. The chapter's own folder becomes today's starter. Returns the new folder.
    """
    present = trees.read(work.chapter.starter_dir)
    _require_resolved(work.chapter, present)
    folder = root / STATE.relative_to(ROOT) / "editions" / f"{work.edition}-{work.commit[:7]}"
    if not (folder / ".git").exists():
        done = git("worktree", "add", "--detach", "--force", str(folder), work.commit, cwd=root)
        if done.returncode != 0:
            raise UserError(f"git cannot check out edition {work.edition}: "
                            + done.stderr.decode(errors="replace").strip(), "git worktree prune")
    old = next(name for name in editions.former_names(work.chapter.name)
               if (folder / "chapters" / name).is_dir())
    target = folder / "chapters" / old
    if trees.read(target) not in (work.base, work.mine):
        raise UserError(f"{shown(target)} already has other work of yours",
                        "go on there, or remove that folder")
    _back_up(work)
    trees.write(work.mine, target)
    _keep_progress(folder / STATE.relative_to(ROOT) / progress.FILE.name, old,
                   progress.entry(work.chapter))
    if present == work.mine:
        trees.write(work.starter, work.chapter.starter_dir)
    progress.mark_began(work.chapter, editions.current().number, work.newest)
    return folder


def stashes(root: Path = ROOT) -> list[str]:
    """Returns the names of git's stashes that contain files of chapters."""
    names = git("stash", "list", "--format=%gd", cwd=root).stdout.decode().split()
    return [name for name in names
            if git("diff", "--quiet", f"{name}^1", name, "--", "chapters", cwd=root).returncode]


def unresolved(chapter: Chapter) -> list[str]:
    """Returns the chapter's files that still have conflict markers."""
    return _marked(trees.read(chapter.starter_dir))


def merge(base: Tree, mine: Tree, new: Tree) -> tuple[Tree, list[str]]:
    """Returns both changes of `base` in one tree, and the paths in which they conflict.

    If one side changed what the other removed, the changed file is kept.
    """
    try:
        merged = trees.merge(base, mine, new, ("your work", f"edition {editions.current().number}"),
                             SIMILARITY)
    except ValueError as error:
        raise UserError(f"git cannot merge: {error}",
                        f"keep the edition that you began in: {COMMAND} upgrade --keep") from None
    return merged.tree, merged.conflicts


def _stored(root: Path, chapter: Chapter, revision: str) -> Tree:
    """Returns the chapter's files in a commit or a stash, including a stash's untracked ones."""
    if git("cat-file", "-e", f"{revision}^{{commit}}", cwd=root).returncode != 0:
        raise UserError(f"there is no commit or stash “{revision}”", "git stash list; git log")
    files = history.starter(root, chapter, revision)
    return files | history.starter(root, chapter, f"{revision}^3")  # a stash's untracked files


def _began(root: Path, chapter: Chapter) -> str:
    """Returns the commit that progress.json names; empty if the history lacks it."""
    commit = progress.began(chapter)
    exists = commit and git("cat-file", "-e", f"{commit}^{{commit}}", cwd=root).returncode == 0
    return commit if exists else ""


def _require_resolved(chapter: Chapter, files: Tree) -> None:
    if marked := _marked(files):
        named = ", ".join(shown(chapter.starter_dir / name) for name in marked)
        raise UserError(f"there are conflict markers in {named}",
                        f"resolve them, then: {COMMAND} check {chapter.tag}")


def _marked(files: Tree) -> list[str]:
    return [name for name, text in files.items() if MARKER.search(text)]


def _back_up(work: Work) -> Path:
    """Copy the reader's files into a new backup folder; returns it."""
    name = f"{work.chapter.name}-edition-{work.edition}-{time.strftime('%Y%m%d-%H%M%S')}"
    copy, count = BACKUP / name, 1
    while copy.exists():
        count += 1
        copy = BACKUP / f"{name}-{count}"
    trees.write(work.mine, copy)
    return copy


def _keep_progress(file: Path, name: str, entry: editions.Entry) -> None:
    """Add what is stored about a chapter to the progress file of a checked-out older edition."""
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    table = known.get("chapters", known) if editions.VERSION in known else known
    table[name] = {key: value for key, value in entry.items() if key != "began"}
    write_atomically(file, json.dumps(known, indent=2) + "\n")
