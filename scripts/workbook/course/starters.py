"""Starters: the previous solution plus marked stubs, kept as starter.patch.

A checkpoint's sources are held in memory as a `Tree`: file name -> content.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import BACKUP, COMMAND, shown, write_atomically
from workbook.course.chapters import Chapter, base_dir, previous
from workbook.machine import setup

Tree = dict[str, bytes]

TODO, GIVEN = "TODO", "GIVEN"  # a mark where the reader works, and one where nothing is to do
NOT_SOURCE = {"chapter.toml", "starter.patch", "validate.cpp", "bench.cpp"}  # a chapter's own data


@dataclass(frozen=True)
class Violation:
    """A hunk of a starter that is not marked as the reader's work."""

    file: str
    hunk: str

    def __str__(self) -> str:
        return f"{self.file}\n{self.hunk}"


@dataclass(frozen=True)
class Mark:
    """A comment of a starter that says what to do, and before which line of the base it stands."""

    file: str
    part: int
    line: int  # from 0; of a file that the base lacks, none
    text: bytes


def sources(directory: Path) -> Tree:
    """The source files of a checkpoint: its top-level files but for the chapter's own data."""
    if not directory.is_dir():
        return {}
    return {file.name: file.read_bytes() for file in sorted(directory.iterdir())
            if is_source(file.name) and file.is_file()}


def is_source(name: str) -> bool:
    return name not in NOT_SOURCE and not name.startswith(".") and not name.endswith("~")


def write(tree: Tree, directory: Path) -> None:
    """Make the directory's sources exactly these; its other files stay."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in sources(directory).keys() - tree.keys():
        (directory / name).unlink()
    for name, content in tree.items():
        file = directory / name
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)


def patch_file(chapter: Chapter) -> Path:
    return chapter.starter_dir / "starter.patch"


def starter(chapter: Chapter) -> Tree:
    """The starter as shipped: starter.patch on its base. UserError if it does not apply."""
    file = patch_file(chapter)
    if not file.exists():
        raise UserError(f"{chapter.name} has no starter.patch", f"git checkout -- {shown(file)}")
    try:
        return apply(sources(base_dir(chapter)), file.read_bytes())
    except ValueError as error:
        raise UserError(f"{shown(file)} does not apply to {shown(base_dir(chapter))}:\n{error}",
                        f"if you changed that solution: {COMMAND} sync; "
                        "otherwise restore both with git checkout") from None


def is_pristine(chapter: Chapter) -> bool:
    """Whether the reader's directory is still the starter."""
    return sources(chapter.starter_dir) == starter(chapter)


def reset(chapter: Chapter, tree: Tree | None = None) -> Path | None:
    """Make the reader's directory the starter, or this tree; returns the copy of what was there,
    if it differed.

    The chapter's own data stays as it is.
    """
    return replace(starter(chapter) if tree is None else tree, chapter.starter_dir, chapter.name)


def replace(tree: Tree, directory: Path, name: str) -> Path | None:
    """Make a directory's sources exactly these; returns the copy of what was there, if it differed
    and there was something. `name` is the copy's.
    """
    mine = sources(directory)
    if tree == mine:
        return None
    copy = BACKUP / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    if mine:
        write(mine, copy)
    write(tree, directory)
    return copy if mine else None


def undo_command(chapter: Chapter, copy: Path) -> str:
    """The command that makes the reader's directory what was copied."""
    here = shown(chapter.starter_dir)
    back = f"cp {shown(copy)}/* {here}/"
    more = sorted(sources(chapter.starter_dir).keys() - sources(copy).keys())
    return f"rm {' '.join(f'{here}/{name}' for name in more)}; {back}" if more else back


def make_patch(chapter: Chapter) -> bytes:
    """The patch that leads from the chapter's base to its directory as it stands."""
    return diff(sources(base_dir(chapter)), sources(chapter.starter_dir))


def write_patch(chapter: Chapter) -> bool:
    """Bring starter.patch up to date with the directory; True if it changed."""
    patch, file = make_patch(chapter), patch_file(chapter)
    if file.exists() and file.read_bytes() == patch:
        return False
    write_atomically(file, patch.decode())
    return True


def check_rule(chapter: Chapter) -> list[Violation]:
    """The starter's hunks that neither add a TODO(N) nor lie in a file that begins with one.

    TODO(N.K) is such a mark too: part K's; and so is GIVEN(N.K), where there is nothing to do.
    """
    mark = _mark(chapter, GIVEN)
    tree = starter(chapter)
    violations = []
    for name, hunks in _hunks(patch_file(chapter).read_bytes()):
        if name not in tree:
            if previous(chapter) is not None:
                violations.append(Violation(name, "the starter leaves out this whole file"))
        elif not mark.search(tree[name].split(b"\n", 1)[0]):
            violations += [Violation(name, hunk.decode(errors="replace"))
                           for hunk in hunks if not _adds(hunk, mark)]
    return violations


def added(chapter: Chapter, number: int) -> Tree:
    """The files that the starter adds for a part or for one after it."""
    found = {}
    for name, hunks in _hunks(patch_file(chapter).read_bytes()):
        whole = hunks[0].startswith(b"@@ -0,0") and b"".join(
            line[1:] for line in hunks[0].splitlines(keepends=True)[1:])
        if whole and max((_part(chapter, mark) for mark in _mark(chapter, GIVEN).finditer(whole)),
                         default=0) >= number:
            found[name] = whole
    return found


def given(chapter: Chapter) -> set[str]:
    """The files that the starter adds and in which nothing is to do."""
    return {name for name, whole in added(chapter, 0).items()
            if whole.split(b"\n", 1)[0].find(f"{GIVEN}({chapter.tag}".encode()) >= 0}


def marks(chapter: Chapter, number: int) -> list[Mark]:
    """What of the starter says what to do in a part or in one after it, and is not compiled."""
    return [mark for name, hunks in _hunks(patch_file(chapter).read_bytes()) for hunk in hunks
            for mark in _marks(chapter, name, hunk) if mark.part >= number]


def _marks(chapter: Chapter, name: str, hunk: bytes) -> Iterator[Mark]:
    header, *rows = hunk.splitlines(keepends=True)
    line, part, text = int(re.findall(rb"\d+", header)[0]) - 1, 0, b""
    for row in [*rows, b" "]:
        comment = re.match(rb"\+ *(//(?!/)|# )", row)
        begins = _mark(chapter).search(row) if comment else None
        if text and (begins or not comment):
            yield Mark(name, part, max(line, 0), text)
            text = b""
        if begins:
            part = _part(chapter, begins)
        if text or begins:
            text += row[1:]
        if not row.startswith(b"+"):
            line += 1


def placed(found: Iterable[Mark], old: bytes, new: bytes) -> bytes:
    """A file with marks that stood in another state of it; at the top, if their place is gone."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    where = {len(before): len(after)}
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        where |= {block.a + i: block.b + i for i in range(block.size)}
    texts = [b""] * (len(after) + 1)
    for mark in found:
        at = where.get(mark.line, 0)
        is_there = at > 0 and where.get(mark.line - 1) == at - 1
        texts[at if is_there else 0] += (mark.text if is_there else
                                         re.sub(rb"^ +", b"", mark.text, flags=re.M))
    return b"".join(text + line for text, line in zip(texts, [*after, b""], strict=True))


def _part(chapter: Chapter, mark: re.Match[bytes]) -> int:
    """Whose it is: without a number the last part's."""
    return int(mark[1][1:]) if mark[1] else len(chapter.parts)


def _mark(chapter: Chapter, or_else: str = TODO) -> re.Pattern[bytes]:
    return re.compile(rf"\b(?:{TODO}|{or_else})\({re.escape(chapter.tag)}(\.\d+)?\)".encode())


def _adds(hunk: bytes, mark: re.Pattern[bytes]) -> bool:
    return any(line.startswith(b"+") and mark.search(line) for line in hunk.splitlines())


def _hunks(patch: bytes) -> list[tuple[str, list[bytes]]]:
    """A git diff as (file, hunks)."""
    return [(head.split(b"\n", 1)[0].rsplit(b"/", 1)[1].decode(), hunks)
            for head, hunks in _files(patch)]


def _files(patch: bytes) -> list[tuple[bytes, list[bytes]]]:
    """A git diff as (what it says of a file, hunks)."""
    files = re.split(rb"^(?=diff --git )", patch, flags=re.M)[1:]
    return [(head, hunks) for head, *hunks in (re.split(rb"^(?=@@ )", file, flags=re.M)
                                               for file in files)]


def diff(old: Tree, new: Tree, *options: str) -> bytes:
    """What `git diff` says from old to new, with file names relative to the checkpoint.

    Without the blobs' names, which would change with every edit of a file.
    """
    with tempfile.TemporaryDirectory() as scratch:
        write(old, Path(scratch, "a"))
        write(new, Path(scratch, "b"))
        done = git("diff", "--no-index", "--no-prefix", "--no-renames", "--no-color",
                   "--diff-algorithm=histogram", *options, "a", "b", cwd=Path(scratch))
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.decode(errors="replace"))
        return re.sub(rb"^index [0-9a-f]+\.\.[0-9a-f]+.*\n", b"", done.stdout, flags=re.M)


def apply(tree: Tree, patch: bytes, *options: str) -> Tree:
    """The tree with a git diff applied, or with -R undone; ValueError if it does not fit."""
    if not patch.strip():
        return dict(tree)
    with tempfile.TemporaryDirectory() as scratch:
        write(tree, Path(scratch))
        done = git("apply", "--whitespace=nowarn", "-p1", *options, "-", cwd=Path(scratch),
                   stdin=patch)
        if done.returncode != 0:
            raise ValueError(done.stderr.decode(errors="replace").strip())
        return sources(Path(scratch))


def git(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git untouched by anyone's configuration or by a repository around the directory."""
    setup.ensure(["git"])
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
                   "GIT_CEILING_DIRECTORIES": str(cwd.parent), "LC_ALL": "C"}
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF"):
        environment.pop(variable, None)
    return subprocess.run(["git", *arguments], cwd=cwd, input=stdin, capture_output=True,
                          env=environment)
