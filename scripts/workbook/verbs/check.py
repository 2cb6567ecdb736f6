"""Judges a chapter, prints the verdicts, and records progress."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from workbook.checks import check, registry, stages
from workbook.checks.behaviour import cases
from workbook.checks.model import Subject
from workbook.checks.stages import Stage
from workbook.checks.watch import Watch
from workbook.common import children
from workbook.common.heartbeat import heartbeat
from workbook.common.paths import COMMAND
from workbook.course import parts, progress, trees
from workbook.course.chapters import Chapter
from workbook.verbs import verdicts


def run(chapter: Chapter, *, solution: bool = False, case: str | None = None,
        as_json: bool = False, only: Iterable[str] = (), part: int | None = None,
        go_on: bool = False, timing: bool = False) -> int:
    """Build, judge, print; returns the exit code. `case` selects cases of the behaviour table by
    name or pattern; `only` selects checks by name or family; `part` those that must hold at the end
    of a part. What failed last is judged first. With `part`, so are the checks that the part is
    about, and the others run only if these pass, or with `go_on`.
    """
    started = time.monotonic()
    names = check.wanted(chapter, only, with_cases=case is not None)
    if part is not None:
        names = stages.names(chapter, part, names)
    if case is not None:
        names = [*{found.check: None for found in cases.select(chapter.level, names, case)}]
    whole = case is None and not list(only)
    rounds = [names]
    failed = progress.unmet(chapter) if whole and not solution else []
    first = _here(chapter, failed) if failed else []
    if part is not None and whole and not go_on:
        rounds = stages.rounds(parts.find(chapter, part), names, failed)
    console = Console(highlight=False, soft_wrap=True)
    watch = Watch(None if as_json else console if console.is_terminal else Console(stderr=True))
    printer = verdicts.Printer(Console(quiet=True) if as_json else console, chapter, part, first,
                               whole)
    times = Times()
    source = trees.read(chapter.directory(solution))

    def built(these: list[str]) -> Subject:
        subject = check.built(chapter, solution, these, case or "*", watch)
        return replace(subject, first=frozenset(first))

    left = _judge(rounds, built, printer, times)
    judged = printer.stages()
    nothing = whole and stages.undecided(judged)
    saved = _differing(source, trees.read(chapter.directory(solution)))
    passed = not nothing and not stages.unmet(judged) and not left and not saved
    if not solution and not saved:
        progress.record(chapter, _outcome(chapter, judged, None if nothing else passed, whole,
                                          part, left))
    if as_json:
        print(json.dumps(verdicts.report(chapter, solution, passed, judged)
                         | {"not_run": left, "saved_meanwhile": saved}, indent=2))
    elif saved:
        verdicts.show_saved(console, chapter, solution, part, saved)
    else:
        verdicts.show_remainder(console, chapter, solution, judged, whole,
                                time.monotonic() - started, part)
        if left:
            verdicts.show_left(console, chapter, solution, part, len(left))
        if timing:
            times.show(console, judged, time.monotonic() - started)
    return 0 if passed else 1


def _differing(source: trees.Tree, now: trees.Tree) -> list[str]:
    """Returns the files that differ."""
    return sorted(name for name in {*source, *now} if source.get(name) != now.get(name))


def _here(chapter: Chapter, failed: Iterable[str]) -> list[str]:
    """Returns the failed checks that don't belong to a part after the reader's current one."""
    later = {name for part in chapter.parts[progress.reached(chapter):] for name in part.judged}
    return [name for name in failed if name not in later]


class Times:
    """How long the builds took, including those in the background. Verdicts have their own times.
    """

    def __init__(self) -> None:
        self.building = 0.0

    def show(self, console: Console, judged: list[Stage], seconds: float) -> None:
        """Print the times, the longest first."""
        rows = {verdict.name: verdict.seconds for stage in judged for verdict in stage.verdicts}
        rows = {"building": self.building, **rows}
        console.print(Text(f"\nwhere {seconds:.1f} s went (checks run side by side):"))
        for name, taken in sorted(rows.items(), key=lambda row: -row[1]):
            console.print(Text(f"{taken:7.1f} s  {name}"))


def _judge(rounds: Sequence[Sequence[str]], built: Callable[[list[str]], Subject],
           printer: verdicts.Printer, times: Times) -> list[str]:
    """Judge round after round until a check fails; returns the checks that were left out."""
    for at, names in enumerate(rounds):
        before = time.monotonic()
        failed = False
        known: list[str] = []
        with _ending_together():
            subject = built(list(names))
            times.building += time.monotonic() - before
            judging = check.judge(subject, names)  # kept open: closing it waits for checks
            with heartbeat(lambda: _doing(subject, known)):  # noqa: B023
                for verdict in judging:
                    printer.add(verdict)
                    failed |= printer.fails(verdict)
                    known.append(verdict.name)
        times.building += subject.background.seconds if subject.background else 0.0
        if failed:
            return [name for names in rounds[at + 1:] for name in names]
    return []


def _doing(subject: Subject, known: Sequence[str]) -> str:
    building = "building and " if subject.background and subject.background.running else ""
    return f"{building}judging: {len(known)} checks are known"


@contextmanager
def _ending_together() -> Iterator[None]:
    """Stop the builds and checks in other threads after Ctrl-C, or if output can't be written."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, OSError):
        children.stop()
        raise


def list_cases(chapter: Chapter, pattern: str, only: Iterable[str]) -> None:
    """Print the checks in words, and if some checks or cases are named, their cases with
    references. Cases that several checks share are listed once. Raises UserError if the pattern
    matches none.
    """
    console = Console(highlight=False, soft_wrap=True)
    only = list(only)
    names, whole = check.wanted(chapter, only), pattern == "*" and not only
    found = cases.select(chapter.level, names, pattern)
    for entry in registry.of(chapter, names):
        mine = [case for case in found if case.check == entry.name and "@" not in case.name]
        if mine or pattern == "*":
            console.print(Text(entry.name, style="bold"), Text(entry.words))
        for case in () if whole else mine:
            console.print(Text(f"  {case.name}"), Text(case.reference, style="dim"))
    if whole:
        console.print()
        console.print(Text(f"The cases of one: {COMMAND} check {chapter.tag} --list --only CHECK"))


def _outcome(chapter: Chapter, judged: list[Stage], passed: bool | None, whole: bool,
             part: int | None, left: Sequence[str] = ()) -> progress.Outcome:
    """Returns the outcome for the reader's progress. `passed` is None if nothing was decided;
    checks in `left` keep their previous result.
    """
    unmet = [verdict.name for stage in judged for verdict in stage.failed]
    unmet += [name for name in progress.unmet(chapter) if name in left]
    if passed is None:
        return progress.Outcome(unmet)
    unfinished = stages.current(judged)
    reached = None if not whole or not chapter.parts else (
        unfinished.number if unfinished else
        max((part or len(chapter.parts)) + 1, progress.reached(chapter)))
    if left and reached is not None:
        reached = min(reached, progress.reached(chapter))
    clock = next((verdict.figures for stage in judged for verdict in stage.verdicts
                  if "medal" in verdict.figures), {})
    of_the_chapter = (whole and part is None) or not passed
    return progress.Outcome(unmet, passed if of_the_chapter else None, reached,
                            clock.get("medal"), clock.get("missed", ()))
