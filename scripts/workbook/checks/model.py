"""What a check, its subject and its verdict are: the types that all judges share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from workbook.checks.behaviour.rows import Case
from workbook.checks.behaviour.suite import Failure
from workbook.checks.builds import Builds
from workbook.checks.watch import Watch
from workbook.course.chapters import SERVER, Chapter
from workbook.measure.costs import Measure

RELEASE, MEASURE, KQUEUE = "release", "measure", "kqueue"  # presets
BASE = "base"  # not a preset: the chapter's starting point, built with `release`

Status = Literal["pass", "fail", "skip", "info"]


@dataclass
class Verdict:
    """The result of one check. Only `fail` counts against the reader.

    `figures` is for programs. A reader whose check fails sees the labelled `rows`, and `see`, the
    verb that shows more.
    """

    name: str
    status: Status
    summary: str
    note: str = ""  # details, possibly several lines
    figures: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    see: str = ""
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0  # how long its judge took since the previous verdict
    measured: str = ""  # the figure in words, if there can be a budget for it


@dataclass(frozen=True)
class Subject:
    """The source to be judged, with the builds that its checks need."""

    chapter: Chapter
    source: Path  # its directory
    builds: Mapping[str, Path]  # the program, by preset; no BASE if there is no starting point
    pattern: str = "*"  # selects the cases to run
    watch: Watch = field(default_factory=Watch)
    make: Callable[[str], Path] | None = None  # builds the program with another preset on demand
    brief: frozenset[str] = frozenset()  # checks that stop at their first failing case
    first: frozenset[str] = frozenset()  # checks that are judged and reported before others
    background: Builds | None = None  # the builds, if some are made in the background


@dataclass(frozen=True)
class Check:
    """One entry of the registry.

    `judge` is called with the selected checks that share it and are adjacent in the registry, so
    that one run can serve several of them. It yields a verdict for each, and never raises because
    of a fault in what it judges.
    """

    name: str  # family.what, or just the family
    words: str  # what it examines; for a figure, what is counted: “for each request at most 6 …”
    judge: Callable[[Subject, Sequence[Check]], Iterator[Verdict]]
    kinds: tuple[str, ...] = (SERVER,)  # the kinds of chapters that it applies to
    unit: str = ""  # of the figure and its budget
    per: str = "request"  # what the figure is counted for
    listed: bool = False  # whether only labs that name it in `validated` have it
    level: int = 1  # the first level of behaviour at which it applies
    until: int | None = None  # the last one
    builds: tuple[str, ...] = (RELEASE,)  # what it needs: presets, and BASE
    tool: str = ""  # a program without which it is skipped
    after: str = ""  # a check or a family; if that fails, this one is skipped
    because: str = ""  # why it depends on that
    decides: bool = True  # whether it can fail; the gate runs no others
    measure: Measure | None = None  # for a counted cost
    cases: Callable[[], Iterable[Case]] | None = None  # for a group of behaviour
    program: str = SERVER  # the program whose behaviour is judged

    @property
    def key(self) -> str:
        """The name of its budget in chapter.toml."""
        return self.name.partition(".")[2]

    def applies(self, chapter: Chapter) -> bool:
        return (chapter.kind in self.kinds and chapter.level >= self.level
                and (not self.listed or self.key in chapter.validated)
                and (self.until is None or chapter.level <= self.until))

    def may_run_during_a_build(self) -> bool:
        """Whether it only compares answers. Figures, and most cases with a server of their own,
        depend on what else the processors do. A check that builds something itself must wait, too.
        """
        if not (self.cases and self.builds):
            return False
        return not any(case.alone or case.talk for case in self.cases())

    def is_of(self, name: str) -> bool:
        """Whether a name refers to this check: its own name, or its family's."""
        return self.name == name or self.name.startswith(name + ".")
