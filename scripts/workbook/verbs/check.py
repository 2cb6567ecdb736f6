"""Judges a chapter, prints what was found, and remembers who has passed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from workbook.checks import check, registry, stages
from workbook.checks.behaviour import cases
from workbook.checks.stages import Stage
from workbook.checks.watch import Watch
from workbook.common.paths import COMMAND
from workbook.course import progress
from workbook.course.chapters import Chapter
from workbook.verbs import verdicts


def run(chapter: Chapter, *, solution: bool = False, case: str | None = None,
        as_json: bool = False, only: Iterable[str] = (), part: int | None = None) -> int:
    """Build, judge, print; the exit code. `case` picks cases of the behaviour table by name or
    pattern; `only` picks checks, `cost` standing for all that begin with `cost.`; `part` those
    that must hold at the end of a part.
    """
    started = time.monotonic()
    names = check.wanted(chapter, only, with_cases=case is not None)
    if part is not None:
        names = stages.names(chapter, part, names)
    if case is not None:
        names = [*{found.check: None for found in cases.select(chapter.level, names, case)}]
    console = Console(highlight=False, soft_wrap=True)
    watch = Watch(None if as_json else console if console.is_terminal else Console(stderr=True))
    subject = check.built(chapter, solution, names, case or "*", watch)
    telling = verdicts.Telling(Console(quiet=True) if as_json else console, chapter, part)
    for verdict in check.judge(subject, names):
        telling.add(verdict)
    judged = telling.stages()
    whole = case is None and not list(only)
    nothing = whole and stages.undecided(judged)
    passed = not nothing and not stages.unmet(judged)
    if not solution:
        progress.record(chapter, _outcome(chapter, judged, None if nothing else passed, whole,
                                          part))
    if as_json:
        print(json.dumps(verdicts.report(chapter, solution, passed, judged), indent=2))
    else:
        verdicts.show_remainder(console, chapter, solution, judged, whole,
                                time.monotonic() - started, part)
    return 0 if passed else 1


def list_cases(chapter: Chapter, pattern: str, only: Iterable[str]) -> None:
    """Print what is looked at, in words; with the cases, and where they come from, if some checks
    or cases are named, for all of them fill a hundred screens. UserError if the pattern names none.
    Cases that several checks ask are listed once.
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
             part: int | None) -> progress.Outcome:
    """What the reader's own code has reached; `passed` is None if nothing was decided."""
    unmet = [verdict.name for stage in judged for verdict in stage.failed]
    if passed is None:
        return progress.Outcome(unmet)
    unfinished = stages.current(judged)
    reached = None if not whole or not chapter.parts else (
        unfinished.number if unfinished else
        max((part or len(chapter.parts)) + 1, progress.reached(chapter)))
    clock = next((verdict.figures for stage in judged for verdict in stage.verdicts
                  if "medal" in verdict.figures), {})
    of_the_chapter = (whole and part is None) or not passed
    return progress.Outcome(unmet, passed if of_the_chapter else None, reached,
                            clock.get("medal"), clock.get("missed", ()))
