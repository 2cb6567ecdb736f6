"""The same cases again over TLS, including those with a server of their own. Targets in absolute
form have https. `check` runs a sample, which is always the same; the project's tests run all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from zlib import crc32

from workbook.checks.behaviour import judge as behaviour
from workbook.checks.behaviour.rows import Case
from workbook.checks.model import RELEASE, Check, Status, Subject, Verdict
from workbook.common.errors import UserError
from workbook.course.chapters import SERVER
from workbook.servers import certificates
from workbook.servers.process import running

NAME = "behaviour.over-tls"
LEVEL = 15
POSITION = re.compile(r".+-at-\d+(?:-of-\d+)?@.+")
OF_POSITIONS, OF_OTHERS, OF_ALONE = 40, 4, 8  # one case out of this many is run
CUT_OFF = "the answer is cut off, and over TLS that shows: tls-ends/incomplete-answer-is-cut-off"
UNCOUNTED = "sessions are not in the budget, and idle buffers are released a second later"
OTHERWISE = {
    "buffer-bound/heads-beyond-the-bound": UNCOUNTED,
    "chunked-answers/half-close-in-an-echo": CUT_OFF,
    "descriptors/fewer-than-clients": "who is not accepted has no handshake to wait behind",
    "descriptors/limit-raised-later": "who is not accepted has no handshake to wait behind",
    "eviction/long-heads-in-bounded-memory": UNCOUNTED,
    "eviction/small-heads-in-bounded-memory": UNCOUNTED,
    "incomplete-heads/incomplete-heads-in-small-buffers": "a session is larger than that",
    "log/ipv6": "its clients speak no TLS",
    "log/long-heads-are-not-kept": "a session is larger than that",
    "log/one-client-too-many": "no answer can be sent before the handshake",
    "log-full/unread-standard-output": "its clients speak no TLS",
    "overload/rejected-clients-leave-nothing": "no answer can be sent before the handshake",
    "refused-bodies/malformed-end-in-an-echo": CUT_OFF,
    "refused-bodies/malformed-size-in-an-echo": CUT_OFF,
    "refused-bodies/malformed-total-in-an-echo": CUT_OFF,
    "refused-bodies/malformed-trailer-in-an-echo": CUT_OFF,
    "root/out-of-descriptors": "who is not accepted has no handshake to wait behind",
    "root/unreadable-root": "a server that may read nothing cannot read a key",
    "start/closed-standard-streams": "its client speaks no TLS",
    "streaming/half-close-in-an-echo": CUT_OFF,
}


def checks(groups: Sequence[Check]) -> tuple[Check, ...]:
    """Returns the check that runs a sample of these groups."""
    return (Check(NAME, "the same cases over TLS", judge, level=LEVEL, after="behaviour",
                 because="the same cases again", cases=lambda: sampled(whole(groups)),
                 program=f"{SERVER} with TLS"),)


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    program, options = subject.builds[RELEASE], certificates.localhost().options
    try:
        with running(program, *options):
            pass
    except UserError as error:
        status: Status = "skip" if "without OpenSSL" in error.message else "fail"
        yield Verdict(NAME, status, error.message.splitlines()[-1].strip(), error.message)
        return
    yield from behaviour.run(subject, wanted, program, subject.chapter.level, options)


def whole(groups: Iterable[Check]) -> Iterator[Case]:
    """Yields all cases of these groups that also hold over TLS."""
    for group in groups:
        for case in group.cases() if group.cases and group.level < LEVEL else ():
            if case.name not in OTHERWISE:
                yield replace(case, name=f"{case.name}@over-tls", check=NAME)


def sampled(cases: Iterable[Case]) -> Iterator[Case]:
    for case in cases:
        of_so_many = (OF_ALONE if case.alone else
                      OF_POSITIONS if POSITION.fullmatch(case.name) else OF_OTHERS)
        if crc32(case.name.encode()) % of_so_many == 0:
            yield case
