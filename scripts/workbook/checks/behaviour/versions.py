"""Files whose time does not identify a version (RFC 9110 §8.8.1).

Tools that make builds reproducible give all files the same time, and two writes within one tick of
a file system's clock leave the same time. Then two versions of one size differ in nothing that a
server looks at, and neither may be taken for the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from workbook.checks.behaviour.alone import alone
from workbook.checks.behaviour.changing_files import root_of
from workbook.checks.behaviour.dialogue import Answer, ask, must_be, must_have
from workbook.checks.behaviour.rows import Case, Unable, Unmet
from workbook.servers.process import Server

NAME = "it.txt"
FIRST, SECOND = b"first version\n", b"other version\n"
SECOND_NS = 10**9
# 0 and 1 are set by Nix and others; the last is the earliest time of the ZIP format.
UNKNOWN_S = (0, 1, 315_532_800)
BEGINNING, ONE_LATER = "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:01 GMT"
SETTLED_S = 3.2
TRIES = 100
# The longest tick of a file system's clock, and a file's minimum age when it's requested.
TICKS = (("a-tick", 10**7, 0), ("a-second", SECOND_NS, SECOND_NS // 5),
         ("two-seconds", 2 * SECOND_NS, SECOND_NS * 21 // 20))


def cases() -> Iterator[Case]:
    yield alone("times-that-mean-unknown", "RFC 9110 §8.8.1, §8.8.3 (MUST); SOURCE_DATE_EPOCH",
                f"files of the times {', '.join(map(str, UNKNOWN_S))} are asked for; "
                f"{SETTLED_S:g} s later others of the same size and time are renamed over them; "
                "after as long again they are asked for, with the first answers' validators",
                "200, the new bytes", unknown, site=_unknown_files)
    for what, tick_ns, age_ns in TICKS:
        yield alone(f"rewritten-within-{what}", "RFC 9110 §8.8.1, §8.8.3 (MUST); time(7)",
                    f"a file is made, asked for, and made again in the same size, all within "
                    f"{tick_ns // 10**6} ms, so that both have the same time; it is asked for, with "
                    "the first answer's validators", "200, the new bytes",
                    partial(rewritten, tick_ns=tick_ns, age_ns=age_ns), site=_no_file)
    yield alone("rewritten-within-a-date", "RFC 9110 §13.1.5 (MUST), §8.8.2.2 (ours)",
                "a file is made, asked for, and made again in the same size within the same "
                "second; it is asked for, with the first answer's validators",
                "200, the new bytes", partial(rewritten, tick_ns=SECOND_NS, age_ns=SECOND_NS // 5,
                                              apart_ns=SECOND_NS // 8), site=_no_file)
    yield alone("validators-come-with-age", "RFC 9110 §8.8.2.1, §8.8.3.1 (SHOULD)",
                f"a file that was made just now is asked for, and again {SETTLED_S:g} s later",
                "then it has ETag and Last-Modified", come_with_age, site=_no_file)


def without_tag() -> Iterator[Case]:
    """Conditions on tags, for a file that may have none."""
    yield alone("unknown-time", "RFC 9110 §13.1.1, §13.1.2 (MUST)",
                "a file of the time 1 is asked for with If-None-Match and If-Match, of any version "
                "and of tags that nothing has", "any version: 304, 200; another: 200, 412",
                tags_of_unknown, site=_unknown_files)


def without_date() -> Iterator[Case]:
    """Conditions on dates, for a file that may have none."""
    yield alone("unknown-time", "RFC 9110 §13.1.3, §13.1.4 (MUST)",
                "a file of the time 1 is asked for with If-Modified-Since and If-Unmodified-Since",
                "200, unless it has a Last-Modified", dates_of_unknown, site=_unknown_files)


def without_either() -> Iterator[Case]:
    """Ranges of a file that may have no validator."""
    yield alone("if-range-unknown-time", "RFC 9110 §13.1.5 (MUST), §14.2 (SHOULD)",
                "a part of a file of the time 1 is asked for, without a condition, and with that "
                "time and nothing in If-Range", "206; then 200, the whole file", ranges_of_unknown,
                site=_unknown_files)


def _unknown_files(root: Path) -> None:
    for time_s in UNKNOWN_S:
        _write(root / f"{time_s}.txt", FIRST, time_s * SECOND_NS)


def _no_file(root: Path) -> None:
    """The case creates the file itself, because the server must see it while it's new."""


def _write(file: Path, text: bytes, time_ns: int) -> None:
    """Replace the file by one with this time."""
    other = file.with_suffix(".new")
    other.write_bytes(text)
    os.utime(other, ns=(time_ns, time_ns))
    other.rename(file)


def _ask(server: Server, name: str, fields: str = "") -> Answer:
    return ask((server.host, server.port), f"/{name}", fields)


def unknown(server: Server) -> None:
    time.sleep(SETTLED_S)
    first = {time_s: _ask(server, f"{time_s}.txt") for time_s in UNKNOWN_S}
    for time_s in UNKNOWN_S:
        _write(root_of(server) / f"{time_s}.txt", SECOND, time_s * SECOND_NS)
    time.sleep(SETTLED_S)
    for time_s, answer in first.items():
        _must_be_new(server, f"{time_s}.txt", answer)


def _must_be_new(server: Server, name: str, first: Answer) -> None:
    """No validator of the first answer may match the second version."""
    must_have(first, FIRST)
    tag, date = (first.fields.get(key) for key in ("etag", "last-modified"))
    asked = ["", *(f"If-None-Match: {form}" for form in (tag, f"W/{tag}") if tag)]
    asked += [f"{field}: {date}" for field in ("If-Modified-Since",) if date]
    asked += [f"Range: bytes=0-4\r\nIf-Range: {known}" for known in (tag, date) if known]
    for fields in asked:
        answer = _ask(server, name, f"{fields}\r\n" if fields else "")
        if (answer.status, answer.body) != (200, SECOND):
            raise Unmet(f"/{name} was asked for with {fields!r}: {answer.status}, {answer.body!r}")


def rewritten(server: Server, tick_ns: int, age_ns: int, apart_ns: int = 0) -> None:
    """The times of both versions are in the same tick, `apart_ns` from each other."""
    file = root_of(server) / NAME
    for _ in range(TRIES):
        time_ns = _begin_of_tick(tick_ns, age_ns)
        _write(file, FIRST, time_ns + apart_ns // 2)
        first = _ask(server, NAME)
        if time.time_ns() - time_ns >= tick_ns:
            continue  # too late: the server may know that this is the last version of its tick
        _write(file, SECOND, time_ns + apart_ns * 3 // 2)
        return _must_be_new(server, NAME, first)
    raise Unable("this machine is too busy to ask for a file in time")


def _begin_of_tick(tick_ns: int, age_ns: int) -> int:
    """Wait until a tick is about `age_ns` old; returns the tick's beginning."""
    begin = time.time_ns() // tick_ns * tick_ns
    if time.time_ns() - begin > (age_ns + tick_ns) // 2:
        begin += tick_ns
    time.sleep(max(0.0, (begin + age_ns - time.time_ns()) / SECOND_NS))
    return begin


def come_with_age(server: Server) -> None:
    _write(root_of(server) / NAME, FIRST, time.time_ns())
    _ask(server, NAME)
    time.sleep(SETTLED_S)
    answer = _ask(server, NAME)
    answer.field("Last-Modified")
    if not answer.tag:
        raise Unmet("the tag is empty")


def tags_of_unknown(server: Server) -> None:
    time.sleep(SETTLED_S)
    for fields, status in [("If-None-Match: *", 304), ("If-Match: *", 200), ('If-Match: "x"', 412),
                           ('If-None-Match: "x"', 200), ('If-None-Match: ""', 200),
                           ("If-None-Match: ,", 200), ("If-None-Match: W/", 200),
                           ("If-Match: ,", 412)]:
        _must_answer(server, fields, status)


def _must_answer(server: Server, fields: str, status: int) -> None:
    answer = _ask(server, "1.txt", f"{fields}\r\n")
    if answer.status != status:
        raise Unmet(f"{fields!r} is answered with {answer.status} instead of {status}")


def dates_of_unknown(server: Server) -> None:
    time.sleep(SETTLED_S)
    first = _ask(server, "1.txt")
    if "last-modified" in first.fields:
        return
    for fields in (f"If-Modified-Since: {ONE_LATER}", f"If-Modified-Since: {first.field('Date')}",
                   f"If-Unmodified-Since: {BEGINNING}"):
        _must_answer(server, fields, 200)


def ranges_of_unknown(server: Server) -> None:
    time.sleep(SETTLED_S)
    part = _ask(server, "1.txt", "Range: bytes=0-4\r\n")
    must_be(part, 206)
    must_have(part, FIRST[:5])
    for value in (ONE_LATER, "", part.field("Date")):
        whole = _ask(server, "1.txt", f"Range: bytes=0-4\r\nIf-Range: {value}\r\n")
        must_be(whole, 200)
        must_have(whole, FIRST)
