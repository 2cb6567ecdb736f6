"""Planted mistakes: patches of a solution, each named after the check that must catch it.

`mutants/behaviour.bodies.dropped-byte.patch` is to be caught by `behaviour.bodies`. A patch of the
tree after a part is in a folder that is called like it: `mutants/1-echo/behaviour.echo.….patch`.
Which case of its check catches a mutant is remembered in `mutants/caught-by.toml`, so that it can
be tried first.

The defects of the published steps, which the book shows and `run --wrong` serves, are in
`mutants/published`, with a caught-by.toml in the order of the book's page.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbook.common import toml
from workbook.common.errors import UserError
from workbook.common.leftovers import is_leftover
from workbook.common.paths import COMMAND, shown
from workbook.course import parts, trees
from workbook.course.chapters import Chapter, Part
from workbook.course.trees import Tree

CAUGHT_BY = "caught-by.toml"
PUBLISHED = "published"


@dataclass(frozen=True)
class Mutant:
    """One planted mistake: `check` must catch it, `what` describes it, and `case` is the case known
    to catch it, if there is one.
    """

    chapter: Chapter
    check: str
    what: str
    patch: Path
    part: Part | None = None  # the mistake is in the tree after this part, or in the solution
    case: str = ""

    @property
    def is_published(self) -> bool:
        return self.patch.parent.name == PUBLISHED

    @property
    def name(self) -> str:
        return f"{self.chapter.name}: {self.check}, {self.what}"


def of(chapter: Chapter) -> list[Mutant]:
    """Returns the chapter's mutants. Raises UserError if a file isn't named check.what.patch, or if
    its folder isn't named after a part.
    """
    folder = chapter.starter_dir / "mutants"
    after_part = {part.slug: part for part in chapter.parts}
    cases = remembered(chapter) | {f"{PUBLISHED}/{name}": case for name, case in
                                   remembered(chapter, PUBLISHED).items()}
    found = []
    for patch in sorted([*folder.glob("*.patch"), *folder.glob("*/*.patch")]):
        if is_leftover(patch.name):
            continue
        check, _, what = patch.stem.rpartition(".")
        if not check or not what:
            raise UserError(f"{shown(patch)} names no check",
                            "call it after the check that must catch it: "
                            "behaviour.bodies.dropped-byte.patch")
        if patch.parent.name not in (folder.name, PUBLISHED, *after_part):
            raise UserError(f"{chapter.name} has no part for {shown(patch)}",
                            f"use one of: {', '.join(after_part) or 'none'}")
        name = str(patch.relative_to(folder).with_suffix(""))
        found.append(Mutant(chapter, check, what, patch, after_part.get(patch.parent.name),
                            cases.get(name, "")))
    return found


def published(chapter: Chapter) -> dict[str, Mutant]:
    """Returns the published steps' defects planted in a chapter, by name, in the book's order."""
    known = {mutant.patch.stem: mutant for mutant in of(chapter) if mutant.is_published}
    return {known[name].what: known[name] for name in remembered(chapter, PUBLISHED)}


def remembered(chapter: Chapter, folder: str = "") -> dict[str, str]:
    """Returns the case known to catch each mutant of a folder, by the mutant's name; raises
    UserError if the file is damaged.
    """
    file = chapter.starter_dir / "mutants" / folder / CAUGHT_BY
    try:
        return toml.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except ValueError as error:
        raise UserError(f"{shown(file)} cannot be read: {error}",
                        f"git checkout -- {shown(file)}") from None


def sources(mutant: Mutant) -> Tree:
    """Returns the solution, or the tree after a part, with the mistake applied; raises UserError if
    the patch doesn't apply.
    """
    chapter, part = mutant.chapter, mutant.part
    tree = parts.tree(chapter, part.number) if part else trees.read(chapter.solution_dir)
    try:
        return trees.apply(tree, mutant.patch.read_bytes())
    except ValueError as error:
        what = f"the tree after part {part.number}" if part else shown(chapter.solution_dir)
        raise UserError(f"{shown(mutant.patch)} does not apply:\n{error}",
                        f"plant the mistake again in a copy of {what}, and see {COMMAND} sync"
                        ) from None
