"""Judges behaviour: runs the cases of the groups that are wanted, all in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from workbook.checks.behaviour import suite
from workbook.checks.behaviour.rows import Case, belonging
from workbook.checks.model import RELEASE, Check, Subject, Verdict


def group(what: str, words: str, cases: Callable[[], Iterator[Case]], level: int = 1) -> Check:
    """The registry's entry for a group of cases, of which none holds below its level."""
    name = f"behaviour.{what}"
    return Check(name, words, judge, level=level,
                 cases=lambda: belonging(name, level, cases()))


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from run(subject, wanted, subject.builds[RELEASE], subject.chapter.level)


def run(subject: Subject, wanted: Sequence[Check], program: Path, level: int) -> Iterator[Verdict]:
    """The cases of these checks, with a program that is started as one of that level is."""
    rows = [case for check in wanted if check.cases for case in check.cases()]
    cases = suite.matching(rows, subject.chapter.level, subject.pattern)
    with _progress(len(cases), subject.quiet) as on_case:
        result = suite.run(program, cases, level, on_case)
    yield from map(_verdict, result.groups.values())


def _verdict(group: suite.Group) -> Verdict:
    summary = f"{group.passed} of {group.cases} cases"
    if group.stopped:
        summary += f"; {group.stopped.splitlines()[0]}"
    return Verdict(group.check, "pass" if group.ok else "fail", summary, group.stopped,
                   {"cases": group.cases, "passed": group.passed}, failures=group.failures)


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Callable[[Case], None]]:
    """A bar that goes away, for those who watch."""
    with Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"),
                  console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task("behaviour", total=total)

        def on_case(case: Case) -> None:
            bar.update(task, advance=1, description=case.check)

        yield on_case
