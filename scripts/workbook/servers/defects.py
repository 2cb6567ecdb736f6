"""The finished server of a part of the book with one of the defects of the published steps."""

from __future__ import annotations

from pathlib import Path

from workbook.common.errors import UsageError
from workbook.common.paths import BUILD, COMMAND
from workbook.course import mutants, trees
from workbook.course.chapters import Chapter, all_chapters
from workbook.course.mutants import Mutant
from workbook.servers import build


def known() -> dict[str, Mutant]:
    """The defects by their names, in the order of the book's page."""
    return {name: mutant for chapter in all_chapters()
            for name, mutant in mutants.published(chapter).items()}


def find(name: str) -> Mutant:
    """Return the defect with this name; UsageError that lists them all if there is none."""
    if name not in known():
        raise UsageError(f"there is no defect “{name}”", "use one of: " + ", ".join(known()))
    return known()[name]


def of_chapter(chapter: Chapter, name: str) -> Path:
    """Build the chapter's server with this defect; UsageError if the chapter has none."""
    if not mutants.published(chapter):
        typed = name if name in known() else "NAME"
        having = [f"{COMMAND} run {defect.chapter.tag} --wrong {typed}"
                  for defect in known().values()]
        raise UsageError(f"{chapter.name} has no server with a defect",
                         having[0] if having else "leave --wrong out")
    return built(name)


def built(name: str) -> Path:
    """Build the server with this defect in the same directory as the previous one, so that only
    what differs is compiled.
    """
    directory = BUILD / "wrong" / "solutions" / "checkpoint"
    trees.write(mutants.sources(find(name)), directory)
    return build.isolated(directory, "measure")
