"""Starters: the previous solution plus marked stubs, stored as starter.patch."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from unidiff.patch import Hunk, PatchSet

from workbook.common.errors import UserError
from workbook.common.paths import BACKUP, COMMAND, shown, write_atomically
from workbook.course import trees
from workbook.course.chapters import Chapter, base_dir, previous
from workbook.course.trees import Tree

LISTS = "CMakeLists.txt"
TODO, GIVEN = "TODO", "GIVEN"  # marks: the reader works here, or has nothing to do here


@dataclass(frozen=True)
class Violation:
    """A hunk of a starter that is not marked as the reader's work."""

    file: str
    hunk: str

    def __str__(self) -> str:
        return f"{self.file}\n{self.hunk}"


@dataclass(frozen=True)
class Mark:
    """A comment of a starter that says what to do, and the line of the base that it precedes."""

    file: str
    part: int
    line: int  # from 0; 0 for a file that the base lacks
    text: bytes


def patch_file(chapter: Chapter) -> Path:
    return chapter.starter_dir / "starter.patch"


def starter(chapter: Chapter) -> Tree:
    """Returns the published starter: starter.patch on its base. Raises UserError if that fails."""
    file = patch_file(chapter)
    if not file.exists():
        raise UserError(f"{chapter.name} has no starter.patch", f"git checkout -- {shown(file)}")
    try:
        return trees.apply(trees.read(base_dir(chapter)), file.read_bytes())
    except ValueError as error:
        raise UserError(f"{shown(file)} does not apply to {shown(base_dir(chapter))}:\n{error}",
                        f"if you changed that solution: {COMMAND} sync; "
                        "otherwise restore both with git checkout") from None


def is_pristine(chapter: Chapter) -> bool:
    """Whether the reader's directory still equals the starter."""
    return trees.read(chapter.starter_dir) == starter(chapter)


def reset(chapter: Chapter, tree: Tree | None = None) -> Path | None:
    """Replace the reader's sources by the starter, or by `tree`; returns the copy of what was
    there, if it differed.

    The chapter's own data is not changed.
    """
    return replace(starter(chapter) if tree is None else tree, chapter.starter_dir, chapter.name)


def replace(tree: Tree, directory: Path, name: str) -> Path | None:
    """Make a directory's sources exactly these; returns the copy, called `name`, of what was there,
    if it differed and there was something.
    """
    mine = trees.read(directory)
    if tree == mine:
        return None
    copy = BACKUP / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    if mine:
        trees.write(mine, copy)
    trees.write(tree, directory)
    return copy if mine else None


def undo_command(chapter: Chapter, copy: Path) -> str:
    """Returns the command that restores the copy to the reader's directory."""
    here = shown(chapter.starter_dir)
    mine = trees.paths(copy)
    back = f"cp {'-R ' if any('/' in path for path in mine) else ''}{shown(copy)}/* {here}/"
    more = sorted(set(trees.paths(chapter.starter_dir)) - set(mine))
    return f"rm {' '.join(f'{here}/{name}' for name in more)}; {back}" if more else back


def make_patch(chapter: Chapter) -> bytes:
    """Returns the patch from the chapter's base to its directory as it is now."""
    return trees.patch(trees.read(base_dir(chapter)), trees.read(chapter.starter_dir))


def write_patch(chapter: Chapter) -> bool:
    """Update starter.patch from the directory; returns True if it changed."""
    patch, file = make_patch(chapter), patch_file(chapter)
    if file.exists() and file.read_bytes() == patch:
        return False
    write_atomically(file, patch.decode())
    return True


def check_rule(chapter: Chapter) -> list[Violation]:
    """Returns the starter's hunks that neither add a TODO(N) nor are in a file that begins with
    one.

    TODO(N.K), for part K, counts, too; so does GIVEN(N.K), where nothing is to be done. A file that
    only moved needs no mark.
    """
    mark = _mark(chapter, GIVEN)
    tree = starter(chapter)
    violations = []
    for file in _changes(chapter):
        if file.path not in tree:
            if previous(chapter) is not None:
                violations.append(Violation(file.path, "the starter leaves out this whole file"))
        elif not mark.search(tree[file.path].split(b"\n", 1)[0]):
            violations += [Violation(file.path, str(hunk)) for hunk in file
                           if not any(line.is_added and mark.search(line.value.encode())
                                      for line in hunk)]
    return violations


def added(chapter: Chapter, number: int) -> Tree:
    """Returns the files that the starter adds for this part or a later one."""
    found = {}
    for file in _changes(chapter):
        whole = "".join(line.value for hunk in file for line in hunk if line.is_added).encode()
        if file.is_added_file and max((_part(chapter, mark) for mark in
                                       _mark(chapter, GIVEN).finditer(whole)), default=0) >= number:
            found[file.path] = whole
    return found


def given(chapter: Chapter) -> set[str]:
    """Returns the files that the starter adds and that need no work."""
    return {name for name, whole in added(chapter, 0).items()
            if whole.split(b"\n", 1)[0].find(f"{GIVEN}({chapter.tag}".encode()) >= 0}


def base(chapter: Chapter) -> Tree:
    """Returns what the starter changes: the previous solution, or the chapter's own, with files
    that the starter moved at their new place, and so named in CMakeLists.txt.
    """
    before, tree = trees.read(base_dir(chapter)), starter(chapter)
    if not before.keys() - tree.keys():
        return before
    moved = trees.moved(before, tree)
    base = {moved.get(path, path): content for path, content in before.items()}
    if LISTS in base:
        base[LISTS] = _with_new_paths(base[LISTS].decode(), moved).encode()
    return base


def _with_new_paths(lists: str, moved: Mapping[str, str]) -> str:
    """Returns a CMakeLists.txt after these moves; a source's name may contain variables."""
    def path(match: re.Match[str]) -> str:
        name = re.compile(r"\w+".join(map(re.escape, re.split(r"\$\{\w+\}", match[0]))))
        found = {new.removesuffix(old) for old, new in moved.items() if name.fullmatch(old)}
        return found.pop() + match[0] if len(found) == 1 else match[0]
    return re.sub(r"(?<![\w./$}])(?:\w|\$\{\w+\})+\.cpp\b", path, lists)


def _changes(chapter: Chapter) -> PatchSet:
    """Returns the starter's changes by file, without moves."""
    kept = PatchSet(patch_file(chapter).read_bytes().decode())
    if not any(file.is_removed_file or file.is_rename for file in kept):
        return kept
    return PatchSet(trees.diff(base(chapter), starter(chapter)).decode())


def marks(chapter: Chapter, number: int) -> list[Mark]:
    """Returns the starter's TODO comments about this part or a later one."""
    return [mark for file in _changes(chapter) for hunk in file
            for mark in _marks(chapter, file.path, hunk) if mark.part >= number]


def _marks(chapter: Chapter, name: str, hunk: Hunk) -> Iterator[Mark]:
    line, part, text = hunk.source_start - 1, 0, b""
    for row in [*(str(row).encode() for row in hunk), b" "]:
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
    """Returns `new` with marks whose places are given in `old`; at the top if a place is gone."""
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
    """Returns the number of the part that a mark belongs to: without a number, the last part."""
    return int(mark[1][1:]) if mark[1] else len(chapter.parts)


def _mark(chapter: Chapter, or_else: str = TODO) -> re.Pattern[bytes]:
    return re.compile(rf"\b(?:{TODO}|{or_else})\({re.escape(chapter.tag)}(\.\d+)?\)".encode())
