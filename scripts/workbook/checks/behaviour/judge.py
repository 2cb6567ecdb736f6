"""Judges behaviour: runs the cases of the selected groups, all in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from workbook.checks.behaviour import suite
from workbook.checks.behaviour.rows import Case, belonging
from workbook.checks.model import RELEASE, Check, Subject, Verdict


def group(what: str, words: str, cases: Callable[[], Iterator[Case]], level: int = 1) -> Check:
    """The registry's entry for a group of cases, none of which holds below `level`.

    The cases are created once, so that runs against other builds share their bytes, which take
    hundreds of megabytes.
    """
    name = f"behaviour.{what}"

    @cache
    def made() -> tuple[Case, ...]:
        return tuple(belonging(name, level, cases()))

    return Check(name, words, judge, level=level, cases=made)


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from run(subject, wanted, subject.builds[RELEASE], subject.chapter.level)


def run(subject: Subject, wanted: Sequence[Check], program: Path, level: int,
        arguments: Sequence[str] = ()) -> Iterator[Verdict]:
    """Run the cases of these checks against `program`, started like a server of that level with
    these additional arguments.
    """
    rows = [case for check in wanted if check.cases for case in check.cases()]
    cases = suite.matching(rows, subject.chapter.level, subject.pattern)
    with subject.watch.doing("behaviour", len(cases)) as advance:
        yield from map(_verdict, suite.as_known(program, cases, level, lambda _: advance(),
                                                arguments=arguments, brief=subject.brief))


def _verdict(group: suite.Group) -> Verdict:
    summary = f"{group.passed} of {group.cases} cases"
    if reason := group.stopped or group.unasked:
        summary += f"; {reason.splitlines()[0]}"
    summary += "".join(f"; {case} was skipped: {why}" for case, why in group.skipped.items())
    return Verdict(group.check, "pass" if group.ok else "fail" if group.failed else "skip", summary,
                   group.stopped, {"cases": group.cases, "passed": group.passed},
                   failures=group.failures)
