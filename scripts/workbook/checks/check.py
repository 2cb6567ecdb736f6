"""Judges a chapter: builds what the selected checks need, and runs them.

Behaviour and counted costs decide; timings only inform. `verbs.verdicts` prints the verdicts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import groupby, takewhile
from pathlib import Path

from workbook.checks import registry
from workbook.checks.builds import Builds
from workbook.checks.model import BASE, RELEASE, Check, Subject, Verdict
from workbook.checks.watch import Watch
from workbook.common import children
from workbook.common.errors import UsageError, UserError
from workbook.common.suggestions import nearest_first, shortened
from workbook.course import chapters
from workbook.course.chapters import Chapter
from workbook.machine import needs, network
from workbook.servers import build


def wanted(chapter: Chapter, only: Iterable[str], with_cases: bool = False) -> list[str]:
    """Returns the checks selected by name or family, by default all; `with_cases` only those with
    cases.

    Raises UsageError, listing the chapter's checks, if a name matches none.
    """
    only = list(only)
    choice = [check for check in registry.CHECKS if check.cases or not with_cases]
    names = [check.name for check in choice]
    for name in only:
        if not any(check.is_of(name) for check in choice):
            kind = "check with cases" if with_cases else "check"
            fitting = [check.name for check in choice if check.applies(chapter)]
            raise UsageError(f"{chapter.name} has no {kind} “{shortened(name)}”",
                             "use one of: " + ", ".join(nearest_first(name, fitting)))
    return [check.name for check in choice if any(map(check.is_of, only))] or names


def built(chapter: Chapter, solution: bool, names: Iterable[str], pattern: str = "*",
          watch: Watch | None = None) -> Subject:
    """Returns the reader's source, or the solution, with the builds that these checks need. The
    first build is complete on return; the others continue in the background.

    Raises UserError if the first build fails, or if none of the checks applies to the chapter.
    """
    source, watch = chapter.directory(solution), watch or Watch()
    checks = registry.of(chapter, names)
    if not checks:
        raise _nothing_to_judge(chapter, names)
    make = partial(_make, chapter, source)
    first, *others = [*dict.fromkeys(preset for check in checks for preset in check.builds
                                     if preset != BASE or chapters.previous(chapter))] or [""]
    builds = Builds({first: make(first)} if first else {},
                    {preset: partial(_make_unseen, make, preset, watch) for preset in others})
    return Subject(chapter, source, builds, pattern, watch, make, background=builds)


def _make(chapter: Chapter, source: Path, preset: str, show: build.Show | None = None) -> Path:
    before = chapters.previous(chapter)
    if preset == BASE and before:
        return build.build_program(before.solution_dir, RELEASE, before.program, show)
    return build.build_program(source, preset, chapter.program, show)


def _make_unseen(make: Callable[..., Path], preset: str, watch: Watch) -> Path:
    """Build in the background, showing one progress line among those of the running checks."""
    with watch.doing(f"building {'the starting point' if preset == BASE else preset}"):
        return make(preset, lambda _: None)


def _nothing_to_judge(chapter: Chapter, names: Iterable[str]) -> UserError:
    fix = f"its page explains what to look at: book/src/{chapter.page}"
    if fitting := [check.name for check in registry.of(chapter)]:
        names = list(names)
        return UsageError(f"{chapter.name} is not judged by {', '.join(names)}",
                          "use one of: " + ", ".join(nearest_first(names[0], fitting)))
    return UserError(f"{chapter.name} cannot be judged: no check is for a {chapter.kind}", fix)


def judge(subject: Subject, names: Iterable[str] = registry.NAMES) -> Iterator[Verdict]:
    """Run the given checks that apply to the chapter, and yield each verdict as soon as it is
    known: first those in the subject's `first`, then the others in the registry's order. Checks run
    concurrently, except those that need a quiet machine.

    Raises UserError if a background build fails. In that case, and after Ctrl-C, everything that is
    still running is stopped.
    """
    groups = [list(together) for _, together in groupby(
        registry.of(subject.chapter, names), lambda check: check.judge)]
    board = _Board([check for together in groups for check in together], subject.first)
    with network.own(), subject.watch.on(), ThreadPoolExecutor(len(groups) or 1) as pool:
        try:
            for together in groups:
                pool.submit(_fill, board, subject, together).add_done_callback(
                    partial(board.done, together))
            yield from board.coming()
            if subject.background:
                subject.background.wait()
        except (KeyboardInterrupt, SystemExit):
            children.stop()
            raise
        except UserError:
            if subject.background:  # one of its builds failed, so the command ends
                children.stop()
            raise


class _Board:
    """The verdicts so far, shared by the judging threads. A check may finish without a verdict."""

    def __init__(self, checks: Sequence[Check], first: Collection[str]) -> None:
        self.checks = checks
        self._first = first
        self._found: dict[str, Verdict | None] = {}
        self._broken: BaseException | None = None
        self._changed = threading.Condition()

    def add(self, verdict: Verdict) -> None:
        with self._changed:
            self._found[verdict.name] = verdict
            self._changed.notify_all()

    def done(self, together: Sequence[Check], future: Future[None]) -> None:
        with self._changed:
            self._broken = self._broken or future.exception()
            self._found = {**{check.name: None for check in together}, **self._found}
            self._changed.notify_all()

    def coming(self) -> Iterator[Verdict]:
        """Yields each verdict once it is known, in the order of the checks. Those in `first` don't
        wait for others.
        """
        left = list(self.checks)
        while left:
            following = self._next(left)
            if verdict := self.known(following.name):
                yield verdict
            left.remove(following)

    def _next(self, left: Sequence[Check]) -> Check:
        """Returns the check to report next; waits for its verdict, unless a judge has failed."""
        def ready() -> list[Check]:
            return [check for check in left if check.name in self._found
                    and (check is left[0] or check.name in self._first)]

        with self._changed:
            self._changed.wait_for(lambda: self._broken or ready())
            return next(iter(ready()), left[0])

    def known(self, name: str) -> Verdict | None:
        """Waits for a verdict. An exception in any judge is raised in every waiting thread."""
        with self._changed:
            self._changed.wait_for(lambda: self._broken or name in self._found)
            if self._broken:
                raise self._broken
            return self._found[name]


def _fill(board: _Board, subject: Subject, together: Sequence[Check]) -> None:
    """Run those checks of one judge that can be run, after the checks that they depend on."""
    reasons = {check.name: _reason(board, check) for check in together}
    for check in together:
        if reason := reasons[check.name]:
            board.add(Verdict(check.name, "skip", reason))
    able = [check for check in together if not reasons[check.name]]
    for batch in _batches(subject, able):
        before = time.monotonic()
        for verdict in batch[0].judge(subject, batch):
            verdict.seconds, before = time.monotonic() - before, time.monotonic()
            board.add(verdict)


def _batches(subject: Subject, able: Sequence[Check]) -> Iterator[Sequence[Check]]:
    """Yields the checks in groups that are judged together. While builds are running, the first
    group contains the checks that don't need a quiet machine, once their own builds are complete.
    """
    builds = subject.background
    early: list[Check] = []
    if builds and builds.running:
        early = [check for check in able if check.may_run_during_a_build()]
        for preset in {preset for check in early for preset in check.builds}:
            builds[preset]
    yield from _first_apart(subject, early)
    late = [check for check in able if check not in early]
    if late and builds:
        builds.wait()
    yield from _first_apart(subject, late)


def _first_apart(subject: Subject, checks: Sequence[Check]) -> Iterator[Sequence[Check]]:
    """Splits off the checks that come first, if they consist of cases. Measuring one figure takes
    as long as measuring several, so figures stay together.
    """
    first = [check for check in checks if check.name in subject.first and check.cases]
    others = [check for check in checks if check not in first]
    yield from (half for half in (first, others) if half)


def _reason(board: _Board, check: Check) -> str:
    """Returns why a check can't be run, with what would help; empty if it can. May wait for checks
    that precede it.
    """
    before = [other.name for other in takewhile(lambda other: other != check, board.checks)
              if check.after and other.is_of(check.after) or not check.decides and other.decides]
    judged = [verdict for name in before if (verdict := board.known(name))]
    if any(registry.named(verdict.name).is_of(check.after) and _unmet(verdict)
           for verdict in judged):
        because = f"{check.because}: " if check.because else ""
        return f"{because}waits until {check.after} passes"
    return needs.lacking(check.tool) if check.tool else ""


def _unmet(verdict: Verdict) -> bool:
    """True also if a check's cases were not run because the server kept dying."""
    return verdict.status == "fail" or (
        verdict.status == "skip" and "cases" in verdict.figures)
