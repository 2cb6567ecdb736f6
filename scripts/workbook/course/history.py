"""Starters in git's history: the one that a reader's work began from, and today's.

A commit that touches a chapter's starter.patch or a solution was made by the project, not by the
reader, so its `chapters/N` is the starter as published at that time.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND
from workbook.course import editions, trees
from workbook.course.chapters import Chapter
from workbook.course.trees import Tree
from workbook.machine.git import git


def head(root: Path) -> str:
    """Returns the commit that is checked out; empty without git, or if this is no clone."""
    if not shutil.which("git"):
        return ""
    return git("rev-parse", "--verify", "HEAD", cwd=root).stdout.decode().strip()


def require(root: Path) -> None:
    """Raises UserError unless the history goes back to the first edition."""
    if git("rev-parse", "--git-dir", cwd=root).returncode != 0:
        raise UserError("this folder is no clone: without git's history it is not known where your "
                        "work began", "clone the project, copy your chapters/N into the clone's, "
                        f"and there: {COMMAND} upgrade")
    shallow = git("rev-parse", "--is-shallow-repository", cwd=root).stdout.strip() == b"true"
    known = all(git("cat-file", "-e", f"{edition.last_commit}^{{commit}}", cwd=root).returncode == 0
                for edition in editions.editions() if edition.last_commit)
    if shallow or not known:
        raise UserError("this clone lacks the history before this edition, in which your work began",
                        "git fetch --unshallow" if shallow else "git fetch origin")
    if git("ls-files", "--unmerged", cwd=root).stdout:
        raise UserError("git is in the middle of a merge",
                        "finish it (git status shows how) or undo it: git merge --abort")


def published(root: Path, chapter: Chapter, revision: str = "HEAD") -> str:
    """Returns the project's newest commit up to `revision` that could change the chapter's starter;
    empty if there is none.
    """
    return next(iter(_log(root, chapter, revision, "-1")), "")


def starter(root: Path, chapter: Chapter, commit: str) -> Tree:
    """Returns the chapter's starter as published by a commit, whatever its name was then."""
    for name in editions.former_names(chapter.name):
        if found := trees.read_commit(root, commit, f"chapters/{name}"):
            return found
    return {}


def begins_here(root: Path, chapter: Chapter) -> str:
    """Returns the commit of today's starter if the reader's files differ less from it than from the
    last starter of each earlier edition; otherwise, or without git's history, empty.
    """
    if not (commit := published(root, chapter)):
        return ""
    mine = trees.read(chapter.starter_dir)
    here = distance(starter(root, chapter, commit), mine)
    ends = (edition.last_commit for edition in editions.editions() if edition.last_commit)
    return commit if all(here <= distance(starter(root, chapter, end), mine)
                         for end in ends) else ""


def closest(root: Path, chapter: Chapter, mine: Tree) -> str:
    """Returns the newest of the commits whose starter differs least from the reader's files."""
    commits = _log(root, chapter, "HEAD")
    names = editions.former_names(chapter.name)
    asked = "".join(f"{commit}:chapters/{name}\n" for commit in commits for name in names)
    answers = git("cat-file", "--batch-check=%(objectname)", cwd=root, stdin=asked.encode())
    folders: dict[str, str] = {}  # hash of the folder's tree -> the newest commit with it
    for line, answer in zip(asked.splitlines(), answers.stdout.decode().splitlines(), strict=True):
        if not answer.endswith("missing"):
            folders.setdefault(answer, line.partition(":")[0])
    return min(folders.values(), default="", key=lambda commit: distance(
        starter(root, chapter, commit), mine))


def distance(old: Tree, new: Tree) -> int:
    """Returns the number of different lines that only one of the two trees contains."""
    return len(_lines(old) ^ _lines(new))


def edition_of(root: Path, commit: str) -> int:
    """Returns the number of the edition that a commit belongs to."""
    for edition in editions.editions():
        if edition.last_commit and git("merge-base", "--is-ancestor", commit, edition.last_commit,
                                       cwd=root).returncode == 0:
            return edition.number
    return editions.current().number


def _log(root: Path, chapter: Chapter, revision: str, *options: str) -> list[str]:
    patches = [f"chapters/{name}/starter.patch" for name in editions.former_names(chapter.name)]
    done = git("log", "--format=%H", *options, revision, "--", "solutions", *patches, cwd=root)
    return done.stdout.decode().split()


def _lines(files: Tree) -> set[bytes]:
    return {line.strip() for content in files.values() for line in content.splitlines()}
