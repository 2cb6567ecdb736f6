"""Starters: the previous solution plus marked stubs, kept as starter.patch."""

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
TODO, GIVEN = "TODO", "GIVEN"  # a mark where the reader works, and one where nothing is to do


@dataclass(frozen=True)
class Violation:
    """A hunk of a starter that is not marked as the reader's work."""

    file: str
    hunk: str

    def __str__(self) -> str:
        return f"{self.file}\n{self.hunk}"


@dataclass(frozen=True)
class Mark:
    """A comment of a starter that says what to do, and before which line of the base it is."""

    file: str
    part: int
    line: int  # from 0; of a file that the base lacks, none
    text: bytes


def patch_file(chapter: Chapter) -> Path:
    return chapter.starter_dir / "starter.patch"


def starter(chapter: Chapter) -> Tree:
    """The starter as shipped: starter.patch on its base. UserError if it does not apply."""
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
    """Whether the reader's directory is still the starter."""
    return trees.read(chapter.starter_dir) == starter(chapter)


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
    mine = trees.read(directory)
    if tree == mine:
        return None
    copy = BACKUP / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    if mine:
        trees.write(mine, copy)
    trees.write(tree, directory)
    return copy if mine else None


def undo_command(chapter: Chapter, copy: Path) -> str:
    """The command that makes the reader's directory what was copied."""
    here = shown(chapter.starter_dir)
    mine = trees.paths(copy)
    back = f"cp {'-R ' if any('/' in path for path in mine) else ''}{shown(copy)}/* {here}/"
    more = sorted(set(trees.paths(chapter.starter_dir)) - set(mine))
    return f"rm {' '.join(f'{here}/{name}' for name in more)}; {back}" if more else back


def make_patch(chapter: Chapter) -> bytes:
    """The patch that leads from the chapter's base to its directory as it stands."""
    return trees.patch(trees.read(base_dir(chapter)), trees.read(chapter.starter_dir))


def write_patch(chapter: Chapter) -> bool:
    """Bring starter.patch up to date with the directory; True if it changed."""
    patch, file = make_patch(chapter), patch_file(chapter)
    if file.exists() and file.read_bytes() == patch:
        return False
    write_atomically(file, patch.decode())
    return True


def check_rule(chapter: Chapter) -> list[Violation]:
    """The starter's hunks that neither add a TODO(N) nor lie in a file that begins with one.

    TODO(N.K) is such a mark too: part K's; and so is GIVEN(N.K), where there is nothing to do. A
    file that only moved needs no mark.
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
    """The files that the starter adds for a part or for one after it."""
    found = {}
    for file in _changes(chapter):
        whole = "".join(line.value for hunk in file for line in hunk if line.is_added).encode()
        if file.is_added_file and max((_part(chapter, mark) for mark in
                                       _mark(chapter, GIVEN).finditer(whole)), default=0) >= number:
            found[file.path] = whole
    return found


def given(chapter: Chapter) -> set[str]:
    """The files that the starter adds and in which nothing is to do."""
    return {name for name, whole in added(chapter, 0).items()
            if whole.split(b"\n", 1)[0].find(f"{GIVEN}({chapter.tag}".encode()) >= 0}


def base(chapter: Chapter) -> Tree:
    """What the starter changes: the previous solution, or the chapter's own, with each file where
    the starter has it, and so named in CMakeLists.txt.
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
    """A CMakeLists.txt after these moves; a source's name may contain variables."""
    def path(match: re.Match[str]) -> str:
        name = re.compile(r"\w+".join(map(re.escape, re.split(r"\$\{\w+\}", match[0]))))
        found = {new.removesuffix(old) for old, new in moved.items() if name.fullmatch(old)}
        return found.pop() + match[0] if len(found) == 1 else match[0]
    return re.sub(r"(?<![\w./$}])(?:\w|\$\{\w+\})+\.cpp\b", path, lists)


def _changes(chapter: Chapter) -> PatchSet:
    """What the starter changes, by file, apart from moves."""
    kept = PatchSet(patch_file(chapter).read_bytes().decode())
    if not any(file.is_removed_file or file.is_rename for file in kept):
        return kept
    return PatchSet(trees.diff(base(chapter), starter(chapter)).decode())


def marks(chapter: Chapter, number: int) -> list[Mark]:
    """What of the starter says what to do in a part or in one after it, and is not compiled."""
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
