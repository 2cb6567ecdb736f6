"""Chapters, as their chapter.toml describes them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from workbook.common import toml
from workbook.common.errors import UsageError, UserError
from workbook.common.paths import CHAPTERS, COMMAND, SOLUTIONS, shown
from workbook.common.suggestions import nearest_first, shortened

SERVER, LAB = "server", "lab"  # the kinds of chapters
SPEED_LOADS = ("plain", "headers")


@dataclass(frozen=True)
class Part:
    """One of the parts into which a chapter is divided.

    `checks` are those that this part turns green. `cost` has the budgets per request at its end
    that aren't the chapter's final ones. `cases` has the cases that pass at its end, as patterns by
    the group's name, if a group doesn't pass completely. `breaks` are checks that held before the
    part, and hold again after a later one. `hints` reveal nothing about other parts.
    """

    number: int  # from 1 on
    name: str
    title: str
    edit: list[str]
    checks: list[str]
    anchor: str  # of its section in the page
    cost: dict[str, float] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    cases: dict[str, list[str]] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of its files and directories, such as 2-inside-out."""
        return f"{self.number}-{self.name}"

    @property
    def judged(self) -> list[str]:
        """The checks that are green at its end and not before it, the part's main ones first."""
        partial = [f"behaviour.{name}" for name in self.cases]
        costs = [f"cost.{name}" for name in self.cost]
        return list(dict.fromkeys([*partial, *self.checks, *costs]))


@dataclass(frozen=True)
class FuzzTarget:
    """Code that is fuzzed in isolation, from the chapter that declares it until a later chapter
    declares a target of the same name.
    """

    name: str  # what is fuzzed: parser, connection, path, …
    harness: list[str]  # files of scripts/fuzz
    sources: list[str]  # files of the checkpoint
    libraries: list[str] = field(default_factory=list)  # CMake targets to link


@dataclass(frozen=True)
class Chapter:
    """One chapter. `cost` has budgets per request, `speed` ratios to its starting point.

    A chapter of the kind `lab` has no server: a program is measured, and what describes servers
    (level, speed) doesn't apply.
    """

    name: str
    title: str
    minutes: int
    edit: list[str]
    page: str
    level: int
    platforms: list[str]
    starter_fails: list[str]
    kind: str = SERVER
    cost: dict[str, float] = field(default_factory=dict)
    speed: dict[str, float] = field(default_factory=dict)
    speed_load: str = "plain"  # the load for `speed`: plain requests, or large headers
    features: tuple[str, ...] = ()  # those that servers have from this chapter on
    # A lab's counted benchmarks, with their budgets per iteration; `cost` has the sums.
    counted: dict[str, dict[str, float]] = field(default_factory=dict)
    timed: str = ""  # the benchmark whose speed is compared
    validated: tuple[str, ...] = ()  # which of the `validate` checks a lab has
    hints: list[str] = field(default_factory=list)  # empty if there are parts, which have their own
    sections: dict[str, str] = field(default_factory=dict)  # check -> anchor on the page
    case_sections: dict[str, str] = field(default_factory=dict)  # pattern of cases -> anchor
    parts: tuple[Part, ...] = ()  # in order; the last ends at the solution
    fuzz: tuple[FuzzTarget, ...] = ()  # those that this chapter declares
    solution_text: str = ""
    chapters: Path = CHAPTERS
    solutions: Path = SOLUTIONS

    @property
    def number(self) -> int | None:
        """The number in its name, such as 5 for 05-event-loop; None for a lab."""
        match = re.match(r"(\d+)-", self.name)
        return int(match[1]) if match else None

    @property
    def heading(self) -> str:
        """Its title after its number, as the book numbers chapters: `5. An event loop: …`."""
        return f"{self.number}. {self.title}" if self.number is not None else self.title

    @property
    def tag(self) -> str:
        """What its starter's TODO marks have in parentheses."""
        return str(self.number) if self.number is not None else self.name

    @property
    def program(self) -> str:
        """The CMake target to be judged."""
        return {SERVER: "server", LAB: "bench"}[self.kind]

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
    """Read one chapter.toml; raises UserError if it's damaged or lacks a key."""
    try:
        data: dict[str, Any] = toml.loads(file.read_text(encoding="utf-8"))
        parts, kind = _parts(data, file), _kind(data, file)
        return Chapter(
            name=file.parent.name,
            title=data["title"],
            minutes=int(data["minutes"]),
            edit=list(data["edit"]),
            page=data["page"],
            level=int(data["level"] if kind == SERVER else data.get("level", 1)),
            platforms=list(data["platforms"]),
            starter_fails=_starter_fails(data, parts),
            kind=kind,
            features=tuple(data.get("features", ())),
            **_speed(data.get("speed", {}), file),
            **(_lab(data["lab"], data.get("cost", {})) if kind == LAB
               else {"cost": dict(data.get("cost", {}))}),
            hints=_hints(data),
            sections=_sections(data, parts),
            case_sections={pattern: found["anchor"] for found in data.get("section", [])
                           for pattern in found.get("cases", [])},
            parts=parts,
            fuzz=tuple(FuzzTarget(found["target"], list(found["harness"]), list(found["sources"]),
                                  list(found.get("libraries", ())))
                       for found in data.get("fuzz", ())),
            solution_text=data.get("solution", "").strip(),
            chapters=file.parent.parent,
            solutions=file.parent.parent.parent / "solutions",
        )
    except KeyError as error:
        raise UserError(f"{shown(file)} has no {error}", f"git diff {shown(file)}") from None
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{shown(file)} cannot be read: {error}",
                        f"git checkout -- {shown(file)}") from None


def _kind(data: dict[str, Any], file: Path) -> str:
    """Returns the kind of the chapter; raises UserError if there is no such kind."""
    kind = data.get("kind", SERVER)
    if kind not in (SERVER, LAB):
        raise UserError(f"{shown(file)}: no kind “{kind}” of chapter",
                        f'use kind = "{SERVER}" (or leave it out) or kind = "{LAB}"')
    return str(kind)


def _lab(table: dict[str, Any], cost: dict[str, float]) -> dict[str, Any]:
    """`counted` is one benchmark, whose budgets are in [cost], or a table with budgets for each."""
    named = table["counted"]
    counted = {named: dict(cost)} if isinstance(named, str) else {
        name: dict(budgets) for name, budgets in named.items()}
    measures = dict.fromkeys(measure for budgets in counted.values() for measure in budgets)
    sums = {measure: sum(budgets.get(measure, 0) for budgets in counted.values())
            for measure in measures}
    return {"counted": counted, "cost": sums, "timed": str(table["timed"]),
            "validated": tuple(table["validated"])}


def _parts(data: dict[str, Any], file: Path) -> tuple[Part, ...]:
    """Returns the chapter's parts in order; raises UserError if they are inconsistent."""
    parts = tuple(Part(number, part["name"], part["title"], list(part["edit"]),
                       list(part["checks"]), part["anchor"], dict(part.get("cost", {})),
                       list(part.get("breaks", [])), _hints(part), dict(part.get("cases", {})))
                  for number, part in enumerate(data.get("part", []), 1))
    reached = [check for part in parts for check in part.checks]
    budgets = {f"cost.{name}" for part in parts for name in part.cost}
    groups = {f"behaviour.{name}" for part in parts for name in part.cases}
    if odd := [part.name for part in parts if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", part.name)]:
        raise UserError(f"{shown(file)}: no part can be called “{odd[0]}”",
                        "use small letters, digits and hyphens")
    if twice := {check for check in reached if reached.count(check) > 1}:
        raise UserError(f"{shown(file)}: more than one part turns {min(twice)} green",
                        "name it once; a budget that falls from part to part goes in [part.cost]")
    counted = {check for check in {*reached, *budgets} if check.startswith("cost.")}
    if unknown := {c for c in counted if c.removeprefix("cost.") not in data.get("cost", {})}:
        raise UserError(f"{shown(file)}: [cost] has no budget for {min(unknown)}",
                        "give the one that holds at the end of the chapter")
    if open_end := budgets - set(reached):
        raise UserError(f"{shown(file)}: no part reaches the chapter's own {min(open_end)}",
                        f"name {min(open_end)} in the checks of the part that does")
    if in_part := groups - set(reached):
        raise UserError(f"{shown(file)}: no part turns all cases of {min(in_part)} green",
                        f"name {min(in_part)} in the checks of the part that does")
    if parts and _hints(data):
        raise UserError(f"{shown(file)}: a hint belongs to no part", "use [[part.hint]]")
    _require_mended(parts, file)
    return parts


def _hints(table: dict[str, Any]) -> list[str]:
    return [hint["text"].strip() for hint in table.get("hint", [])]


def _require_mended(parts: tuple[Part, ...], file: Path) -> None:
    for part in parts:
        later = {check for other in parts[part.number:] for check in other.checks}
        if for_good := set(part.breaks) - later:
            raise UserError(f"{shown(file)}: part {part.number} breaks {min(for_good)}, and no "
                            "later one turns it green", "name it in the checks of the one that does")


def _starter_fails(data: dict[str, Any], parts: tuple[Part, ...]) -> list[str]:
    """With parts: the checks that they turn green and none of them breaks, plus those listed."""
    broken = {check for part in parts for check in part.breaks}
    reached = [check for part in parts for check in part.checks if check not in broken]
    named = data.get("starter_fails", []) if parts else data["starter_fails"]
    return list(dict.fromkeys([*reached, *named]))


def _sections(data: dict[str, Any], parts: tuple[Part, ...]) -> dict[str, str]:
    """Maps checks to the section that explains them: by default the section of their part."""
    of_parts = {check: part.anchor for part in parts for check in part.checks}
    return of_parts | {s["check"]: s["anchor"] for s in data.get("section", []) if "check" in s}


def _speed(table: dict[str, Any], file: Path) -> dict[str, Any]:
    """Returns the medals of `[speed]` and their load; raises UserError if they are invalid."""
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
    """Returns every chapter: the numbered ones in order, then the labs."""
    return tuple(load(file) for file in sorted(chapters.glob("*/chapter.toml")))


def find(name: str) -> Chapter:
    """Returns the chapter called 5, 05, 05-event-loop or event-loop, or raises UserError."""
    wanted = name.strip().strip("/").rsplit("/", 1)[-1]
    number = int(wanted) if wanted.isdecimal() and len(wanted) < 10 else None
    for chapter in all_chapters():
        short = re.sub(r"^(\d+|lab)-", "", chapter.name)
        if wanted in (chapter.name, short) or (number is not None and chapter.number == number):
            return chapter
    if number == 0:
        raise UsageError("chapter 0 is to be read and typed along: there is nothing to check",
                         "read book/src/part1/00-sockets.md, then chapter 1")
    known = nearest_first(wanted, (chapter.name for chapter in all_chapters()))
    raise UsageError(f"there is no chapter “{shortened(name)}”",
                     f"use one of: {', '.join(known) or 'none yet'}")


def fuzz_targets(chapter: Chapter) -> list[FuzzTarget]:
    """Returns a chapter's fuzz targets: those that it or an earlier chapter declares."""
    before = previous(chapter)
    inherited = {target.name: target for target in fuzz_targets(before)} if before else {}
    return list((inherited | {target.name: target for target in chapter.fuzz}).values())


def having(feature: str) -> list[Chapter]:
    """Returns the servers with a feature in order, from the chapter that introduces it on. Raises
    UserError if there are none.
    """
    servers = [chapter for chapter in all_chapters() if chapter.kind == SERVER]
    for index, chapter in enumerate(servers):
        if feature in chapter.features:
            return servers[index:]
    raise UserError(f"no chapter introduces “{feature}”",
                    "add it to the features in the chapter.toml of the one that does")


def find_server(name: str) -> Chapter:
    """Returns the chapter with this name; raises UserError if there is none, or it is a lab."""
    chapter = find(name)
    if chapter.kind != SERVER:
        raise UsageError(f"{chapter.name} is a lab: it has no server",
                         f"{COMMAND} check {chapter.tag} judges what it has")
    return chapter


def checkpoint(name: str, solution: bool = False) -> Path:
    """Returns the directory of a server's checkpoint: the named one, or for a chapter's name the
    reader's or the solution. Raises UserError if there is no such chapter, or it has no server.
    """
    directory = _checkpoint(name, solution)
    if any(directory.name == chapter.name for chapter in all_chapters()):
        find_server(directory.name)
    return directory


def _checkpoint(name: str, solution: bool) -> Path:
    directory = Path(name).resolve()
    if directory.parent in (CHAPTERS, SOLUTIONS) and directory.is_dir():
        return directory
    from_root = (CHAPTERS.parent / name).resolve()
    if from_root.parent in (CHAPTERS, SOLUTIONS) and from_root.is_dir():
        return from_root
    tree, _, remainder = name.partition("/")
    return find(remainder or tree).directory(tree == "solutions" if remainder else solution)


def previous(chapter: Chapter) -> Chapter | None:
    """Returns the chapter whose solution this one starts from; None for the first and for labs."""
    if chapter.number is None:
        return None
    before = [c for c in all_chapters(chapter.chapters)
              if c.number is not None and c.number < chapter.number]
    return before[-1] if before else None


def base_dir(chapter: Chapter) -> Path:
    """Returns what starter.patch applies to: the previous solution, or else the chapter's own."""
    before = previous(chapter)
    return before.solution_dir if before else chapter.solution_dir
