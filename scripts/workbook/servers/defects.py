"""Chapter 8's server with one of the published steps' defects."""

from __future__ import annotations

from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, COMMAND
from workbook.course import trees, wrong
from workbook.course.chapters import Chapter
from workbook.servers import build


def of_chapter(chapter: Chapter, name: str) -> Path:
    """The server with this defect; UserError if it is not chapter 8 that is asked for."""
    if chapter.name != wrong.CHAPTER:
        raise UserError(f"{chapter.name} has no server with a defect",
                        f"{COMMAND} run 8 --wrong {name}")
    return built(name)


def built(name: str) -> Path:
    """Chapter 8's server with this defect, in the place of the one that was asked for before: only
    what differs is compiled.
    """
    directory = BUILD / "wrong" / "solutions" / "checkpoint"
    trees.write(wrong.sources(name), directory)
    return build.isolated(directory, "measure")
