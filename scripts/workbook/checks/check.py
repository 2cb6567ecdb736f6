"""Judges a chapter: builds what the wanted checks need, and asks each of them.

Behaviour and costs decide; the clock only reports. What is printed of it is `verbs.verdicts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from workbook.checks import registry
from workbook.checks.model import BASE, RELEASE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.course import chapters
from workbook.course.chapters import Chapter
from workbook.machine import setup
from workbook.servers import build


def wanted(only: Iterable[str], with_cases: bool = False) -> list[str]:
    """The checks that were asked for by name or family, all if none was; with cases if asked.

    UserError if a name means none of them.
    """
    only = list(only)
    choice = [check for check in registry.CHECKS if check.cases or not with_cases]
    names = [check.name for check in choice]
    for name in only:
        if not any(check.is_of(name) for check in choice):
            kind = "check with cases" if with_cases else "check"
            raise UserError(f"there is no {kind} “{name}”", "use one of: " + ", ".join(names))
    return [check.name for check in choice if any(map(check.is_of, only))] or names


def built(chapter: Chapter, solution: bool, names: Iterable[str], pattern: str = "*",
          quiet: bool = True) -> Subject:
    """The reader's source, or the solution, built in the ways that these checks need.

    UserError if a build fails, or if none of them is for the chapter: then nothing would be judged.
    """
    source = chapter.directory(solution)
    checks = registry.of(chapter, names)
    if not checks:
        raise _nothing_to_judge(chapter, names)
    needed = dict.fromkeys(build for check in checks for build in check.builds)
    before = chapters.previous(chapter)
    builds = {preset: build.build_program(source, preset, chapter.program)
              for preset in needed if preset != BASE}
    if before and BASE in needed:
        builds[BASE] = build.build_server(before.solution_dir, RELEASE)
    return Subject(chapter, source, builds, pattern, quiet)


def _nothing_to_judge(chapter: Chapter, names: Iterable[str]) -> UserError:
    fix = f"its page tells what to look at: book/src/{chapter.page}"
    if fitting := [check.name for check in registry.of(chapter)]:
        return UserError(f"{chapter.name} is not judged by {', '.join(names)}",
                         "use one of: " + ", ".join(fitting))
    return UserError(f"{chapter.name} cannot be judged: no check is for a {chapter.kind}", fix)


def judge(subject: Subject, names: Iterable[str] = registry.NAMES) -> Iterator[Verdict]:
    """Run these checks, as far as they are for the chapter, yielding each verdict when known."""
    failed: set[str] = set()
    for _, together in groupby(registry.of(subject.chapter, names), lambda check: check.judge):
        for verdict in _together(subject, list(together), failed):
            failed |= {verdict.name} if verdict.status == "fail" else set()
            yield verdict


def _together(subject: Subject, checks: Sequence[Check], failed: set[str]) -> Iterator[Verdict]:
    """Checks with one judge; in the registry's order, whichever of them can be judged."""
    reasons = {check.name: reason for check in checks if (reason := _reason(check, failed))}
    able = [check for check in checks if check.name not in reasons]
    found = {verdict.name: verdict for verdict in able[0].judge(subject, able)} if able else {}
    for check in checks:
        if check.name in reasons:
            yield Verdict(check.name, "skip", reasons[check.name])
        elif check.name in found:
            yield found[check.name]


def _reason(check: Check, failed: Iterable[str]) -> str:
    """Why a check cannot be judged, with what would help; empty if it can."""
    if check.after and any(registry.named(name).is_of(check.after) for name in failed):
        because = f"{check.because}: " if check.because else ""
        return f"{because}waits until {check.after} passes"
    return setup.lacking(check.tool) if check.tool else ""
