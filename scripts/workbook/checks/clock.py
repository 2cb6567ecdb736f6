"""Measures speed. It never fails a chapter, because a busy machine can make any server slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbook.checks.model import BASE, RELEASE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.measure import compare, speed

SECONDS = 4.0


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    yield from (_compare(subject, check) for check in wanted)


def _compare(subject: Subject, check: Check) -> Verdict:
    """Compare the build with the chapter's starting point, alternating between the two."""
    chapter = subject.chapter
    if BASE not in subject.builds:
        return Verdict(check.name, "skip", "nothing comes before this chapter to compare with")
    try:
        with subject.watch.doing("alternating with the chapter's starting point"):
            compared = compare.measure(subject.builds[BASE], subject.builds[RELEASE],
                                       seconds=SECONDS, goal=chapter.speed.get("bronze", 1.0),
                                       load_name=chapter.speed_load)
    except UserError as error:
        return Verdict(check.name, "skip", f"{error.message}; {error.fix}")
    figures = {**compared.to_json(), "medal": speed.medal(chapter, compared),
               "missed": speed.missed(chapter, compared),
               "recorded": speed.recorded(chapter)}
    return Verdict(check.name, "info", speed.reported(chapter, compared), figures=figures)


CHECKS = (
    Check("speed", "requests per second, compared with the starting point", judge,
          builds=(RELEASE, BASE), after="behaviour", because="a wrong answer is never fast",
          decides=False),
)
