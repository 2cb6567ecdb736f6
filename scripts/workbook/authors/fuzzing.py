"""Build fuzz targets, as the chapters' chapter.toml declare them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SCRIPTS, SOLUTIONS, write_atomically
from workbook.course import trees
from workbook.course.chapters import Chapter, FuzzTarget, all_chapters, fuzz_targets
from workbook.servers import build

FUZZ = SCRIPTS / "fuzz"
PARSER = "parser"
LIST = "targets.cmake"

Target = tuple[Chapter, FuzzTarget]


def targets() -> dict[str, Target]:
    """Every target of every chapter by its name: path-09-files; 09-files for a chapter's parser."""
    return {name(chapter, target): (chapter, target)
            for chapter in all_chapters() for target in fuzz_targets(chapter)}


def name(chapter: Chapter, target: FuzzTarget) -> str:
    return chapter.name if target.name == PARSER else f"{target.name}-{chapter.name}"


def built(names: Iterable[str], source: Path = FUZZ, directory: Path = BUILD / "fuzz"
          ) -> dict[str, Path]:
    """Build these targets under the address sanitizer; returns the programs by name. `source` is
    scripts/fuzz, or a copy of it in a tree with solutions of its own.

    UserError if there is no such target, or the compiler cannot build it.
    """
    known = targets()
    wanted = list(names)
    if unknown := [each for each in wanted if each not in known]:
        raise UserError(f"there is no fuzz target “{unknown[0]}”", "use one of: " + ", ".join(known))
    directory.mkdir(parents=True, exist_ok=True)
    solutions = source.parents[1] / SOLUTIONS.name
    listed = "".join(_in_cmake(each, *known[each], solutions) for each in wanted)
    if not (directory / LIST).exists() or (directory / LIST).read_text(encoding="utf-8") != listed:
        write_atomically(directory / LIST, listed)
    build.isolated(source, "asan", directory, {"HOTPATH_FUZZ_TARGETS": str(directory / LIST)})
    return {each: directory / f"fuzz-{each}" for each in wanted}


def sources(chapter: Chapter, target: FuzzTarget, solutions: Path = SOLUTIONS) -> list[str]:
    """Return the paths of a target's sources, which may have moved since they were declared."""
    known = trees.paths(solutions / chapter.name)
    return [trees.find(known, source) for source in target.sources]


def _in_cmake(name: str, chapter: Chapter, target: FuzzTarget, solutions: Path) -> str:
    return (f"hotpath_fuzz_target(fuzz-{name} {chapter.name}\n"
            f"    HARNESS {' '.join(target.harness)}\n"
            f"    SOURCES {' '.join(sources(chapter, target, solutions))}\n"
            f"    LIBRARIES {' '.join(target.libraries)}\n)\n")
