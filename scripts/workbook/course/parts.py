"""The trees between two solutions: one after each part of a chapter.

The tree after part K is stored as `parts/K-name.patch` next to the chapter's data, as a git diff
from the tree after part K-1, or from the previous solution. The last part has no patch, because it
ends at the chapter's solution.

The first chapter has no previous solution. Its parts begin at its starter, and each of their
patches applies to the chapter's own solution, as starter.patch does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbook.common.errors import UsageError, UserError
from workbook.common.paths import COMMAND, shown, write_atomically
from workbook.course import starters, trees
from workbook.course.chapters import Chapter, Part, base_dir, previous
from workbook.course.trees import Tree


def find(chapter: Chapter, number: int) -> Part:
    """Returns the chapter's part; raises UserError listing all parts if there is none."""
    if not chapter.parts:
        raise UsageError(f"{chapter.name} has no parts", f"leave --part {number} out")
    if not 1 <= number <= len(chapter.parts):
        known = "; ".join(f"{part.number}, {part.title}" for part in chapter.parts)
        raise UsageError(f"{chapter.name} has no part {number}", f"use one of: {known}")
    return chapter.parts[number - 1]


def kept(chapter: Chapter) -> tuple[Part, ...]:
    """Returns the parts whose end is stored as a patch: all but the last."""
    return chapter.parts[:-1]


def patch_file(chapter: Chapter, part: Part) -> Path:
    return chapter.starter_dir / "parts" / f"{part.slug}.patch"


def tree(chapter: Chapter, number: int) -> Tree:
    """Returns the tree after a part, 0 for the chapter's beginning; UserError if a patch fails."""
    if number == 0:
        return trees.read(base_dir(chapter)) if previous(chapter) else starters.starter(chapter)
    if find(chapter, number) is chapter.parts[-1]:
        return trees.read(chapter.solution_dir)
    through = patches(chapter, chapter.parts[:number])
    try:
        return ends(chapter, trees.read(base_dir(chapter)), through)[-1]
    except ValueError as error:
        raise UserError(f"the parts of {chapter.name} do not fit {shown(base_dir(chapter))}:\n{error}",
                        f"if you changed that solution: {COMMAND} sync; "
                        "otherwise restore both with git checkout") from None


def patches(chapter: Chapter, of: Sequence[Part]) -> list[bytes]:
    """Returns the stored patches of these parts; raises UserError if one is missing."""
    files = [patch_file(chapter, part) for part in of]
    if missing := [file for file in files if not file.exists()]:
        raise UserError(f"there is no {shown(missing[0])}",
                        f"git checkout -- {shown(missing[0])}; an author writes it with "
                        f"{COMMAND} sync {chapter.tag} --patches")
    return [file.read_bytes() for file in files]


def beginning(chapter: Chapter, number: int) -> Tree:
    """Returns the tree where a reader begins a part: the one after the previous part, with the
    starter's marks for this part and later ones.

    Only marks that aren't compiled are added: comments, and files that the tree doesn't have.
    """
    find(chapter, number)
    if number == 1:
        return starters.starter(chapter)
    if previous(chapter) is None:  # each tree before the solution already has the marks
        return tree(chapter, number - 1)
    start, here = starters.base(chapter), tree(chapter, number - 1)
    marks = starters.marks(chapter, number)
    for name in here.keys() & {mark.file for mark in marks}:
        here[name] = starters.placed([mark for mark in marks if mark.file == name],
                                     start.get(name, b""), here[name])
    return starters.added(chapter, number) | here


def label(chapter: Chapter, number: int) -> str:
    """Returns a tree's label in a diff: 04-threads, 1-echo, …, 05-event-loop."""
    if number == 0:
        return base_dir(chapter).name if previous(chapter) else "starter"
    part = find(chapter, number)
    return chapter.name if part is chapter.parts[-1] else part.slug


def ends(chapter: Chapter, start: Tree, patches: Sequence[bytes]) -> list[Tree]:
    """Returns the tree after each of the first parts; raises ValueError if a patch fails."""
    if previous(chapter) is None:
        return [trees.apply(start, patch) for patch in patches]
    chained = [start]
    for patch in patches:
        chained.append(trees.apply(chained[-1], patch))
    return chained[1:]


def workplace(chapter: Chapter, part: Part) -> Path:
    """Returns where an author edits the tree after a part: build/parts/05-event-loop/2-name."""
    return chapter.chapters.parent / "build" / "parts" / chapter.name / part.slug


def lay_out(chapter: Chapter, number: int) -> Path | None:
    """Write the tree after a part where an author can edit it. Returns the copy of what was there
    before, if that differed.
    """
    part = find(chapter, number)
    return starters.replace(tree(chapter, number), workplace(chapter, part),
                            f"{chapter.name}-{part.slug}")


def write_patch(chapter: Chapter, part: Part, before: Tree, after: Tree) -> bool:
    """Update a part's patch; returns True if it changed."""
    patch, file = trees.patch(before, after), patch_file(chapter, part)
    if file.exists() and file.read_bytes() == patch:
        return False
    write_atomically(file, patch.decode())
    return True


def write_patches(chapter: Chapter) -> list[Path]:
    """Rewrite all patches from the trees in build/parts; returns those that changed.

    Nothing is merged, so use this for new parts. Patches of removed parts are deleted.
    """
    find(chapter, 1)
    after = [taken(chapter, part) for part in kept(chapter)]
    start = trees.read(base_dir(chapter))
    before = [start, *after] if previous(chapter) else [start] * len(after)
    written = [patch_file(chapter, part)
               for part, old, new in zip(kept(chapter), before, after, strict=False)
               if write_patch(chapter, part, old, new)]
    known = {patch_file(chapter, part) for part in kept(chapter)}
    for file in set((chapter.starter_dir / "parts").glob("*.patch")) - known:
        file.unlink()
    return written


def taken(chapter: Chapter, part: Part) -> Tree:
    """Returns the tree in a part's workplace; raises UserError if there is none."""
    directory = workplace(chapter, part)
    tree = trees.read(directory)
    if not tree:
        raise UserError(f"there is no tree in {shown(directory)}",
                        f"put the sources there as they are after part {part.number}; if it is "
                        f"kept already: {COMMAND} sync {chapter.tag} --edit {part.number}")
    return tree
