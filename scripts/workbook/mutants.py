"""Planted mistakes: patches of a solution, each named after the check that must catch it.

`mutants/behaviour.bodies.dropped-byte.patch` is to be caught by `behaviour.bodies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbook import starters
from workbook.chapters import Chapter
from workbook.errors import UserError
from workbook.paths import COMMAND, shown


@dataclass(frozen=True)
class Mutant:
    """One mistake: `check` is who must notice, `what` is what was done."""

    chapter: Chapter
    check: str
    what: str
    patch: Path

    @property
    def name(self) -> str:
        return f"{self.chapter.name}: {self.check}, {self.what}"


def of(chapter: Chapter) -> list[Mutant]:
    """The chapter's mutants; UserError if a file is not named check.what.patch."""
    mutants = []
    for patch in sorted((chapter.starter_dir / "mutants").glob("*.patch")):
        check, _, what = patch.stem.rpartition(".")
        if not check or not what:
            raise UserError(f"{shown(patch)} names no check",
                            "call it after the check that must catch it: "
                            "behaviour.bodies.dropped-byte.patch")
        mutants.append(Mutant(chapter, check, what, patch))
    return mutants


def sources(mutant: Mutant) -> starters.Tree:
    """The solution with the mistake in it; UserError if the patch does not apply."""
    try:
        return starters.apply(starters.sources(mutant.chapter.solution_dir),
                              mutant.patch.read_bytes())
    except ValueError as error:
        raise UserError(f"{shown(mutant.patch)} does not apply:\n{error}",
                        "plant the mistake again in a copy of "
                        f"{shown(mutant.chapter.solution_dir)}, and see {COMMAND} sync") from None
