"""Chapters, as their chapter.toml describes them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from workbook.errors import UserError
from workbook.paths import CHAPTERS, SOLUTIONS, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


SPEED_LOADS = ("plain", "headers")


@dataclass(frozen=True)
class Chapter:
    """One chapter. `cost` holds budgets per request, `speed` ratios against where it begins."""

    name: str
    title: str
    minutes: int
    edit: list[str]
    page: str
    level: int
    platforms: list[str]
    starter_fails: list[str]
    cost: dict[str, float] = field(default_factory=dict)
    speed: dict[str, float] = field(default_factory=dict)
    speed_load: str = "plain"  # what the clock sends: plain requests, or large headers
    hints: list[str] = field(default_factory=list)
    sections: dict[str, str] = field(default_factory=dict)  # check -> anchor on the page
    solution_text: str = ""
    chapters: Path = CHAPTERS
    solutions: Path = SOLUTIONS

    @property
    def number(self) -> int | None:
        """5 for 05-event-loop; None for a lab."""
        match = re.match(r"(\d+)-", self.name)
        return int(match[1]) if match else None

    @property
    def tag(self) -> str:
        """What stands in the brackets of a starter's TODO marks."""
        return str(self.number) if self.number is not None else self.name

    @property
    def starter_dir(self) -> Path:
        """The directory that the reader edits."""
        return self.chapters / self.name

    @property
    def solution_dir(self) -> Path:
        return self.solutions / self.name

    def directory(self, solution: bool) -> Path:
        return self.solution_dir if solution else self.starter_dir


def load(file: Path) -> Chapter:
    """Read one chapter.toml; UserError if it is damaged or lacks a key."""
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return Chapter(
            name=file.parent.name,
            title=data["title"],
            minutes=int(data["minutes"]),
            edit=list(data["edit"]),
            page=data["page"],
            level=int(data["level"]),
            platforms=list(data["platforms"]),
            starter_fails=list(data["starter_fails"]),
            cost=dict(data.get("cost", {})),
            **_speed(data.get("speed", {}), file),
            hints=[hint["text"].strip() for hint in data.get("hint", [])],
            sections={s["check"]: s["anchor"] for s in data.get("section", [])},
            solution_text=data.get("solution", "").strip(),
            chapters=file.parent.parent,
            solutions=file.parent.parent.parent / "solutions",
        )
    except KeyError as error:
        raise UserError(f"{shown(file)} has no {error}", f"git diff {shown(file)}") from None
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{shown(file)} cannot be read: {error}",
                        f"git checkout -- {shown(file)}") from None


def _speed(table: dict[str, Any], file: Path) -> dict[str, Any]:
    """The medals of `[speed]` and the load that they are for; UserError unless they make sense."""
    if not table:
        return {}
    load, goals = table.get("load", "plain"), {k: v for k, v in table.items() if k != "load"}
    if load not in SPEED_LOADS:
        raise UserError(f"{shown(file)}: no load “{load}” for [speed]",
                        "use one of: " + ", ".join(SPEED_LOADS))
    numbers = all(isinstance(goal, int | float) for goal in goals.values())
    if (set(goals) != {"bronze", "silver"} or not numbers
            or not 1 < goals["bronze"] < goals["silver"]):
        given = ", ".join(f"{name} {goal}" for name, goal in goals.items()) or "none"
        raise UserError(f"{shown(file)}: [speed] has {given}",
                        "give bronze and silver, with 1 < bronze < silver")
    return {"speed": goals, "speed_load": load}


@cache
def all_chapters(chapters: Path = CHAPTERS) -> tuple[Chapter, ...]:
    """Every chapter: the climb in order, then the labs."""
    return tuple(load(file) for file in sorted(chapters.glob("*/chapter.toml")))


def find(name: str) -> Chapter:
    """The chapter called 5, 05, 05-event-loop or event-loop; else UserError listing them all."""
    wanted = name.strip().strip("/").rsplit("/", 1)[-1]
    number = int(wanted) if wanted.isdecimal() else None
    for chapter in all_chapters():
        short = re.sub(r"^(\d+|lab)-", "", chapter.name)
        if wanted in (chapter.name, short) or (number is not None and chapter.number == number):
            return chapter
    known = ", ".join(chapter.name for chapter in all_chapters()) or "none yet"
    raise UserError(f"there is no chapter “{name}”", f"use one of: {known}")


def checkpoint(name: str, solution: bool = False) -> Path:
    """A checkpoint's directory: the one that is named, or for a chapter's name the reader's or
    its solution.
    """
    directory = Path(name).resolve()
    if directory.parent in (CHAPTERS, SOLUTIONS) and directory.is_dir():
        return directory
    from_root = (CHAPTERS.parent / name).resolve()
    if from_root.parent in (CHAPTERS, SOLUTIONS) and from_root.is_dir():
        return from_root
    tree, _, rest = name.partition("/")
    return find(rest or tree).directory(tree == "solutions" if rest else solution)


def previous(chapter: Chapter) -> Chapter | None:
    """The chapter whose solution this one starts from; None for the first and for labs."""
    if chapter.number is None:
        return None
    before = [c for c in all_chapters(chapter.chapters)
              if c.number is not None and c.number < chapter.number]
    return before[-1] if before else None


def base_dir(chapter: Chapter) -> Path:
    """What starter.patch is applied to: the previous solution, or the chapter's own."""
    before = previous(chapter)
    return before.solution_dir if before else chapter.solution_dir
