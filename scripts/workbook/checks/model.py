"""What a check is, what it is asked about, and what it says: the words that all judges share."""

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
BASE = "base"  # no preset: the chapter's starting point, as `release` builds it

Status = Literal["pass", "fail", "skip", "info"]


@dataclass
class Verdict:
    """What one check says. Only `fail` counts against the reader.

    `figures` is for machines; a person who failed is shown the labelled `rows`, and the verb `see`
    to see more with.
    """

    name: str
    status: Status
    summary: str
    note: str = ""  # more about it, in lines
    figures: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    see: str = ""
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0  # that its judge took since the verdict before
    measured: str = ""  # the figure in words, where there can be a budget for it


@dataclass(frozen=True)
class Subject:
    """What is judged: one source, built in the ways that its checks need."""

    chapter: Chapter
    source: Path  # its directory
    builds: Mapping[str, Path]  # the program, by preset; BASE is absent where nothing comes before
    pattern: str = "*"  # of the cases that are run
    watch: Watch = field(default_factory=Watch)
    make: Callable[[str], Path] | None = None  # builds it by another preset, for who asks for it
    brief: frozenset[str] = frozenset()  # the checks that stop at their first failed case
    first: frozenset[str] = frozenset()  # the checks that are judged and reported before others
    background: Builds | None = None  # the builds, if some of them are made meanwhile


@dataclass(frozen=True)
class Check:
    """One entry of the registry.

    `judge` gives a verdict on each of the checks that it is handed: those that are wanted of its
    own which stand together in the registry, so that one run can serve several. It never raises
    for a fault of what it judges.
    """

    name: str  # family.what, or just the family
    words: str  # what is looked at; of a figure what it counts: “for each request at most 6 …”
    judge: Callable[[Subject, Sequence[Check]], Iterator[Verdict]]
    kinds: tuple[str, ...] = (SERVER,)  # of chapters that it is for
    unit: str = ""  # of a figure, and of its budget
    per: str = "request"  # what that is counted for
    listed: bool = False  # whether it is only for labs that name it in `validated`
    level: int = 1  # of behaviour, from which it holds
    until: int | None = None  # the last level at which it does
    builds: tuple[str, ...] = (RELEASE,)  # that it needs: presets, and BASE
    tool: str = ""  # a program without which it is skipped
    after: str = ""  # a check or a family; if that fails, this one is skipped
    because: str = ""  # why it waits for that
    decides: bool = True  # whether it can fail; the gate asks nothing else
    measure: Measure | None = None  # for a counted cost
    cases: Callable[[], Iterable[Case]] | None = None  # for a group of behaviour
    program: str = SERVER  # whose behaviour that is

    @property
    def key(self) -> str:
        """What its budget is called in chapter.toml."""
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
        """Whether a name means this check: its own, or its family's."""
        return self.name == name or self.name.startswith(name + ".")
