"""The same cases again, run against the same sources in another build: under the sanitizers, and on
the kernel interface that this machine doesn't have. Cases with a server of their own are left out,
because most of them measure its resources, which differ there.

The thread sanitizer detects unordered accesses by two threads even if they don't happen at the same
time. So it's enough to run some cases of each kind, not every position of a split.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbook.checks.behaviour import judge as behaviour
from workbook.checks.behaviour.rows import Case
from workbook.checks.model import KQUEUE, Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.course.chapters import SERVER

TSAN = "tsan"  # a CMake preset
AFTER = "behaviour"  # a failure that also occurs there is reported only once
BECAUSE = "the same cases again"
THREADED = ("requests", "bodies", "connections", "threads", "keep-alive", "slow-clients",
            "many-clients", "workers")
ONE_THREAD = (5, 6)  # the levels at which a single thread serves


def checks(groups: Sequence[Check]) -> tuple[Check, ...]:
    """All of these groups under sanitizers; those that involve several threads under the thread
    sanitizer; and all on kqueue, on Linux, too, where our own library provides it.
    """
    threaded = [group for group in groups if group.key in THREADED]
    return (
        _check("sanitizers", "the same cases under the address and undefined-behaviour sanitizers",
               "asan", groups, tool="sanitizers"),
        replace(_check("races", "cases under the thread sanitizer", TSAN, threaded,
                       tool="thread sanitizer"), level=4),
        replace(_check("kqueue", "the same cases on kqueue", KQUEUE, groups), level=5),
    )


def _check(what: str, words: str, preset: str, groups: Sequence[Check], tool: str = "") -> Check:
    name = f"behaviour.{what}"

    def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
        if preset == KQUEUE and sys.platform != "linux":
            yield Verdict(name, "skip", "this system's own kqueue was tested already")
            return
        if preset == TSAN and subject.chapter.level in ONE_THREAD:
            yield Verdict(name, "skip", "a single thread serves here")
            return
        try:
            with subject.watch.doing(f"building {preset}"):
                assert subject.make
                program = subject.make(preset)
        except UserError as error:
            yield Verdict(name, "fail", error.message.splitlines()[0], error.message)
            return
        yield from behaviour.run(subject, wanted, program, subject.chapter.level)

    def cases() -> Iterator[Case]:
        for group in groups:
            for case in group.cases() if group.cases else ():
                if not case.alone:
                    yield replace(case, name=f"{case.name}@{what}", check=name)

    return Check(name, words, judge, builds=(), tool=tool, after=AFTER, because=BECAUSE,
                 cases=cases, program=f"{SERVER} by {preset}")
