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
    """One of the parts that a chapter is worked through in, one after the other.

    `checks` is what it turns green; `cost` holds the budgets per request of its end, where those
    are not the chapter's yet. `cases` does the same for groups of behaviour of which only some
    cases pass at its end: patterns of these cases, by the group's name. `breaks` is what held
    before it and does so again after a later one.
    `hints` tell nothing of other parts.
    """

    number: int  # from 1
    name: str
    title: str
    edit: list[str]
    checks: list[str]
    anchor: str  # of its section on the page
    cost: dict[str, float] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    cases: dict[str, list[str]] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """2-inside-out: what its files and directories are called."""
        return f"{self.number}-{self.name}"

    @property
    def judged(self) -> list[str]:
        """The checks that are green at its end and not before it, what the part is about first."""
        partial = [f"behaviour.{name}" for name in self.cases]
        costs = [f"cost.{name}" for name in self.cost]
        return list(dict.fromkeys([*partial, *self.checks, *costs]))


@dataclass(frozen=True)
class FuzzTarget:
    """Code that is fuzzed by itself, from the chapter that declares it on, until a later chapter
    declares the target again.
    """

    name: str  # what is fuzzed: parser, connection, path, …
    harness: list[str]  # files of scripts/fuzz
    sources: list[str]  # files of the checkpoint
    libraries: list[str] = field(default_factory=list)  # CMake targets to link


@dataclass(frozen=True)
class Chapter:
    """One chapter. `cost` holds budgets per request, `speed` ratios against where it begins.

    A chapter of the kind `lab` has no server: a program is measured, and what describes servers
    (level, speed) means nothing.
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
    speed_load: str = "plain"  # what the clock sends: plain requests, or large headers
    features: tuple[str, ...] = ()  # of servers from this chapter on
    # A lab's benchmarks that are counted, with the budgets of an iteration; `cost` has the sums.
    counted: dict[str, dict[str, float]] = field(default_factory=dict)
    timed: str = ""  # the one that the clock compares
    validated: tuple[str, ...] = ()  # what a lab's tests look at: of the checks called validate
    hints: list[str] = field(default_factory=list)  # none where there are parts, which have theirs
    sections: dict[str, str] = field(default_factory=dict)  # check -> anchor on the page
    case_sections: dict[str, str] = field(default_factory=dict)  # pattern of cases -> the same
    parts: tuple[Part, ...] = ()  # in order; the last ends at the solution
    fuzz: tuple[FuzzTarget, ...] = ()  # those that it declares
    solution_text: str = ""
    chapters: Path = CHAPTERS
    solutions: Path = SOLUTIONS

    @property
    def number(self) -> int | None:
        """5 for 05-event-loop; None for a lab."""
        match = re.match(r"(\d+)-", self.name)
        return int(match[1]) if match else None

    @property
    def heading(self) -> str:
        """Its title behind its number, as the book numbers chapters: `5. An event loop: …`."""
        return f"{self.number}. {self.title}" if self.number is not None else self.title

    @property
    def tag(self) -> str:
        """What stands in the brackets of a starter's TODO marks."""
        return str(self.number) if self.number is not None else self.name

    @property
    def program(self) -> str:
        """What its CMakeLists.txt builds to be judged."""
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
    """Read one chapter.toml; UserError if it is damaged or lacks a key."""
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
    """What the chapter is judged as; UserError if that is neither of the two."""
    kind = data.get("kind", SERVER)
    if kind not in (SERVER, LAB):
        raise UserError(f"{shown(file)}: no kind “{kind}” of chapter",
                        f'use kind = "{SERVER}" (or leave it out) or kind = "{LAB}"')
    return str(kind)


def _lab(table: dict[str, Any], cost: dict[str, float]) -> dict[str, Any]:
    """`counted` is one benchmark, whose budgets are in [cost], or a table of several with theirs."""
    named = table["counted"]
    counted = {named: dict(cost)} if isinstance(named, str) else {
        name: dict(budgets) for name, budgets in named.items()}
    measures = dict.fromkeys(measure for budgets in counted.values() for measure in budgets)
    sums = {measure: sum(budgets.get(measure, 0) for budgets in counted.values())
            for measure in measures}
    return {"counted": counted, "cost": sums, "timed": str(table["timed"]),
            "validated": tuple(table["validated"])}


def _parts(data: dict[str, Any], file: Path) -> tuple[Part, ...]:
    """The chapter's parts in order; UserError unless each check and budget has its place."""
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
    """With parts: what they turn green and did not break before, and what else is named."""
    broken = {check for part in parts for check in part.breaks}
    reached = [check for part in parts for check in part.checks if check not in broken]
    named = data.get("starter_fails", []) if parts else data["starter_fails"]
    return list(dict.fromkeys([*reached, *named]))


def _sections(data: dict[str, Any], parts: tuple[Part, ...]) -> dict[str, str]:
    """Where a check is explained: where its part is, unless it has a section of its own."""
    of_parts = {check: part.anchor for part in parts for check in part.checks}
    return of_parts | {s["check"]: s["anchor"] for s in data.get("section", []) if "check" in s}


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
    """What is fuzzed of a chapter: what it declares, and what those before it have declared."""
    before = previous(chapter)
    inherited = {target.name: target for target in fuzz_targets(before)} if before else {}
    return list((inherited | {target.name: target for target in chapter.fuzz}).values())


def having(feature: str) -> list[Chapter]:
    """The servers with a feature, in order: from the chapter that introduces it on. UserError if
    none does.
    """
    servers = [chapter for chapter in all_chapters() if chapter.kind == SERVER]
    for index, chapter in enumerate(servers):
        if feature in chapter.features:
            return servers[index:]
    raise UserError(f"no chapter introduces “{feature}”",
                    "add it to the features in the chapter.toml of the one that does")


def find_server(name: str) -> Chapter:
    """The chapter called so; UserError if there is none, or it is a lab and has no server."""
    chapter = find(name)
    if chapter.kind != SERVER:
        raise UsageError(f"{chapter.name} is a lab: it has no server",
                         f"{COMMAND} check {chapter.tag} judges what it has")
    return chapter


def checkpoint(name: str, solution: bool = False) -> Path:
    """The directory of a server's checkpoint: the one that is named, or for a chapter's name the
    reader's or its solution. UserError if there is no such chapter, or it has no server.
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
