"""Conditional requests of a client that has a version already, and their answers (RFC 9110 §13)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path

from workbook.checks.behaviour import site, versions
from workbook.checks.behaviour.alone import alone
from workbook.checks.behaviour.changing_files import root_of
from workbook.checks.behaviour.dialogue import Address, Answer, ask, ask_all, must_be, must_have
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import Case, Talk, Unable, Unmet
from workbook.checks.behaviour.rows import row as any_row
from workbook.servers.process import Server

TARGET = "/dated.txt"
TEXT = site.text_of(b"dated.txt")
SAME, LATER, EARLIER = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT",
                        "Sun, 06 Nov 1994 08:49:36 GMT")
YEAR_2300_S = int(datetime(2300, 1, 1, tzinfo=timezone.utc).timestamp())
OLD_FORM, ASCTIME_FORM = "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"
# A client that has the 200 answer has these fields already. A 304 needs only those that distinguish
# versions and forms; Last-Modified only if there is no ETag.
OF_A_BODY = ("Accept-Ranges", "Content-Encoding", "Content-Language", "Content-Range",
             "Content-Type")

# The request's condition, where {tag} is the tag of the first answer, and the expected status.
REPORTED: tuple[tuple[str, str, str, int, str], ...] = (
    ("if-none-match-same", "GET", "If-None-Match: {tag}", 304, "RFC 9110 §13.1.2 (MUST)"),
    ("if-none-match-weak", "GET", "If-None-Match: W/{tag}", 304,
     "RFC 9110 §13.1.2, §8.8.3.2 (MUST)"),
    ("if-none-match-any", "GET", "If-None-Match: *", 304, "RFC 9110 §13.1.2 (MUST)"),
    ("if-none-match-first-of-a-list", "GET", 'If-None-Match: {tag}, "x"', 304,
     "RFC 9110 §13.1.2, §5.6.1.2 (MUST)"),
    ("if-none-match-last-of-a-list", "GET", 'If-None-Match: "x" ,W/"y",\t{tag}', 304,
     "RFC 9110 §13.1.2, §5.6.1.2 (MUST)"),
    ("if-none-match-after-tag-with-a-comma", "GET", 'If-None-Match: "x,y", {tag}', 304,
     "RFC 9110 §13.1.2, §8.8.3 (MUST)"),
    ("if-none-match-in-second-line", "GET", 'If-None-Match: "x"\r\nIf-None-Match: {tag}', 304,
     "RFC 9110 §13.1.2, §5.2 (MUST)"),
    ("if-none-match-name-in-mixed-case", "GET", "iF-nOnE-mAtCh: {tag}", 304,
     "RFC 9110 §13.1.2, §5.1 (MUST)"),
    ("if-none-match-without-a-space", "GET", "If-None-Match:{tag}", 304,
     "RFC 9110 §13.1.2, RFC 9112 §5 (MUST)"),
    ("if-none-match-of-a-head", "HEAD", "If-None-Match: {tag}", 304, "RFC 9110 §13.1.2 (MUST)"),
    ("if-none-match-other", "GET", 'If-None-Match: "x"', 200, "RFC 9110 §13.1.2 (MUST)"),
    ("if-none-match-prefix", "GET", "If-None-Match: {start}", 200,
     "RFC 9110 §13.1.2, §8.8.3.2 (MUST)"),
    ("if-none-match-inside-another-tag", "GET", 'If-None-Match: "x,{bare}"', 200,
     "RFC 9110 §13.1.2, §8.8.3 (MUST)"),
    ("if-none-match-longer", "GET", "If-None-Match: {more}", 200,
     "RFC 9110 §13.1.2, §8.8.3.2 (MUST)"),
    ("if-none-match-without-quotes", "GET", "If-None-Match: {bare}", 200, "RFC 9110 §8.8.3 (ours)"),
    ("if-none-match-empty", "GET", "If-None-Match:", 200, "RFC 9110 §13.1.2 (MUST)"),
    ("if-none-match-overrides-date", "GET",
     'If-None-Match: "x"\r\nIf-Modified-Since: ' + SAME, 200, "RFC 9110 §13.1.3, §13.2.2 (MUST)"),
    ("if-none-match-overrides-older-date", "GET",
     "If-Modified-Since: " + EARLIER + "\r\nIf-None-Match: {tag}", 304,
     "RFC 9110 §13.1.3, §13.2.2 (MUST)"),
    ("if-modified-since-same", "GET", "If-Modified-Since: " + SAME, 304,
     "RFC 9110 §13.1.3 (SHOULD)"),
    ("if-modified-since-later", "GET", "If-Modified-Since: " + LATER, 304,
     "RFC 9110 §13.1.3 (SHOULD)"),
    ("if-modified-since-earlier", "GET", "If-Modified-Since: " + EARLIER, 200,
     "RFC 9110 §13.1.3 (SHOULD)"),
    ("if-modified-since-of-a-head", "HEAD", "If-Modified-Since: " + SAME, 304,
     "RFC 9110 §13.1.3 (SHOULD)"),
    ("if-modified-since-rfc-850-date", "GET", "If-Modified-Since: " + OLD_FORM, 304,
     "RFC 9110 §5.6.7 (MUST), §13.1.3 (SHOULD)"),
    ("if-modified-since-asctime-date", "GET", "If-Modified-Since: " + ASCTIME_FORM, 304,
     "RFC 9110 §5.6.7 (MUST), §13.1.3 (SHOULD)"),
    ("if-modified-since-no-date", "GET", "If-Modified-Since: yesterday", 200,
     "RFC 9110 §13.1.3 (MUST)"),
    ("if-modified-since-a-number", "GET", "If-Modified-Since: 2000000000", 200,
     "RFC 9110 §13.1.3 (MUST)"),
    ("if-modified-since-invalid-day", "GET", "If-Modified-Since: Sun, 36 Nov 2094 08:49:37 GMT",
     200,
     "RFC 9110 §13.1.3 (MUST)"),
    *((f"if-modified-since-with-{what}", "GET", f"If-Modified-Since: {date}", 200,
       "RFC 9110 §13.1.3, §5.6.7 (MUST)")
      for what, date in [("wrong-weekday", LATER.replace("Sun", "Mon")),
                         ("names-in-lower-case", LATER.lower().replace("gmt", "GMT")),
                         ("two-spaces", LATER.replace(", ", ",  "))]),
    ("if-match-same", "GET", "If-Match: {tag}", 200, "RFC 9110 §13.1.1 (MUST)"),
    ("if-match-one-of-a-list", "GET", 'If-Match: "x", {tag}', 200, "RFC 9110 §13.1.1 (MUST)"),
    ("if-match-any", "GET", "If-Match: *", 200, "RFC 9110 §13.1.1 (MUST)"),
    ("if-match-other", "GET", 'If-Match: "x"', 412, "RFC 9110 §13.1.1, §13.2.2 (MUST)"),
    ("if-match-other-of-a-head", "HEAD", 'If-Match: "x"', 412, "RFC 9110 §13.1.1, §13.2.2 (MUST)"),
    ("if-match-weak", "GET", "If-Match: W/{tag}", 412, "RFC 9110 §13.1.1, §8.8.3.2 (MUST)"),
    ("if-unmodified-since-same", "GET", "If-Unmodified-Since: " + SAME, 200,
     "RFC 9110 §13.1.4 (MUST)"),
    ("if-unmodified-since-earlier", "GET", "If-Unmodified-Since: " + EARLIER, 412,
     "RFC 9110 §13.1.4, §13.2.2 (MUST)"),
    ("if-unmodified-since-no-date", "GET", "If-Unmodified-Since: yesterday", 200,
     "RFC 9110 §13.1.4 (MUST)"),
    ("if-match-overrides-date", "GET", "If-Match: {tag}\r\nIf-Unmodified-Since: " + EARLIER, 200,
     "RFC 9110 §13.1.4, §13.2.2 (MUST)"),
    ("if-match-evaluated-first", "GET", 'If-None-Match: {tag}\r\nIf-Match: "x"', 412,
     "RFC 9110 §13.2.2 (MUST)"),
    ("if-unmodified-since-evaluated-first", "GET",
     "If-None-Match: {tag}\r\nIf-Unmodified-Since: " + EARLIER, 412, "RFC 9110 §13.2.2 (MUST)"),
    ("if-match-then-if-none-match", "GET", "If-Match: {tag}\r\nIf-None-Match: {tag}", 304,
     "RFC 9110 §13.2.2 (MUST)"),
)


def cases() -> Iterator[Case]:
    """Yields the cases of all three groups."""
    yield from tags()
    yield from tag_conditions()
    yield from date_conditions()


def tag_conditions() -> Iterator[Case]:
    yield from conditions(about_dates=False)
    yield from others()
    yield from versions.without_tag()


def date_conditions() -> Iterator[Case]:
    yield from conditions(about_dates=True)
    yield from versions.without_date()


def conditions(*, about_dates: bool) -> Iterator[Case]:
    """Yields the cases that a date decides, or those that a tag decides."""
    for what, method, fields, status, reference in REPORTED:
        if what.startswith(("if-modified", "if-unmodified")) != about_dates:
            continue
        yield talk(what, f"{method} {TARGET} for its ETag, {{tag}}, then again with {fields!r}",
                   f"the second answer is {status}", reference,
                   partial(reported, method=method, fields=fields, status=status))


def talk(what: str, done: str, expected: str, reference: str,
         perform: partial[None]) -> Case:
    return any_row(what, (), (), reference, rooted=True, timeout_s=30.0,
                   talk=Talk(done, expected, perform))


def reported(address: Address, *, method: str, fields: str, status: int) -> None:
    first = ask(address, TARGET)
    bare = first.tag.strip('"')
    lines = fields.format(tag=first.tag, bare=bare, start=f'"{bare[:-1]}"', more=f'"{bare}x"')
    answer = ask(address, TARGET, f"{lines}\r\n", method)
    must_be(answer, status)
    if status == 200:
        must_have(answer, b"" if method == "HEAD" else TEXT)
    if status in (200, 304) and answer.tag != first.tag:
        raise Unmet(f"the answer {status} has the ETag {answer.tag}, and the first {first.tag}")


def tags() -> Iterator[Case]:
    yield talk("etag", f"GET {TARGET} twice, and HEAD", "a strong ETag, three times the same",
               "RFC 9110 §8.8.3.1, §15.3.1 (SHOULD)", partial(tag_is_the_same))
    yield talk("last-modified", f"GET {TARGET}", f"Last-Modified: {SAME}",
               "RFC 9110 §8.8.2.1 (SHOULD)", partial(last_modified))
    yield talk("etags-of-other-files", "GET /0.bin and /1.bin, which are empty and of one byte",
               "another ETag", "RFC 9110 §8.8.1 (ours)", partial(other_tags))
    for what, done, change, level in [
        ("size", "it grows, and its time is set back", _grow, "MUST"),
        ("second", "its time is set a second later", partial(_touch, by_ns=10**9), "ours"),
        ("microsecond", "its time is set a microsecond later", partial(_touch, by_ns=1000), "ours"),
    ]:
        yield alone(f"etag-changes-with-{what}", f"RFC 9110 §8.8.1, §8.8.3 ({level})",
                    f"a file is asked for; {done}; it is asked for again, with the first ETag in "
                    "If-None-Match", "200, another ETag", partial(tag_changes, change=change),  # type: ignore[arg-type]
                    site=_one_file)
    yield from versions.cases()
    yield alone("last-modified-in-the-future", "RFC 9110 §8.8.2.1 (MUST)",
                "a file whose time is an hour ahead is asked for",
                "Last-Modified, if there is one, is not later than Date", from_the_future, site=_future_file)
    yield alone("last-modified-in-2300", "RFC 9110 §8.8.2.1 (MUST)",
                "the same of a file of the year 2300, which no count of nanoseconds since 1970 in 64 "
                "bits can tell; it is made a second younger", "Last-Modified, if there is one, is the Date, "
                "or a second before it; the ETag, if there is one, changes", from_2300,
                site=partial(_future_file, time_s=YEAR_2300_S))


def tag_is_the_same(address: Address) -> None:
    answers = [ask(address, TARGET), ask(address, TARGET), ask(address, TARGET, method="HEAD")]
    if len({answer.tag for answer in answers}) > 1:
        raise Unmet(f"the tags are {', '.join(answer.tag for answer in answers)}")


def last_modified(address: Address) -> None:
    if (came := ask(address, TARGET).field("Last-Modified")) != SAME:
        raise Unmet(f"Last-Modified: {came}")


def other_tags(address: Address) -> None:
    one, other = ask(address, "/0.bin").tag, ask(address, "/1.bin").tag
    if one == other:
        raise Unmet(f"an empty file and one of a byte both have {one}")


def _one_file(root: Path) -> None:
    (root / "it.txt").write_bytes(b"it")
    os.utime(root / "it.txt", ns=(site.MODIFIED_NS, site.MODIFIED_NS))


def _future_file(root: Path, time_s: int = 0) -> None:
    (root / "it.txt").write_bytes(b"it")
    ahead = time_s or datetime.now(timezone.utc).timestamp() + 3600
    os.utime(root / "it.txt", (ahead, ahead))


def _grow(file: Path) -> None:
    file.write_bytes(b"it is")
    _touch(file, 0)


def _touch(file: Path, by_ns: int) -> None:
    time_ns = site.MODIFIED_NS + by_ns
    os.utime(file, ns=(time_ns, time_ns))


def tag_changes(server: Server, change: partial[None]) -> None:
    address = (server.host, server.port)
    first = ask(address, "/it.txt")
    change(root_of(server) / "it.txt")
    second = ask(address, "/it.txt", f"If-None-Match: {first.tag}\r\n")
    must_be(second, 200)
    if first.tag == second.tag:
        raise Unmet(f"both have the ETag {first.tag}")


def from_the_future(server: Server) -> None:
    ahead = _ahead_of_the_date(_ask_for_it(server))
    if ahead and ahead > timedelta():
        raise Unmet(f"Last-Modified is {ahead} later than Date")


def from_2300(server: Server) -> None:
    if int((root_of(server) / "it.txt").stat().st_mtime) != YEAR_2300_S:
        raise Unable("the file system of temporary files knows no such times")
    answer = _ask_for_it(server)
    ahead = _ahead_of_the_date(answer)
    if ahead is not None and not -timedelta(seconds=1) <= ahead <= timedelta():
        raise Unmet(f"Last-Modified is the Date and {ahead}")
    os.utime(root_of(server) / "it.txt", (YEAR_2300_S + 1, YEAR_2300_S + 1))
    if "etag" in answer.fields and answer.tag == _ask_for_it(server).fields.get("etag"):
        raise Unmet(f"the ETag is still {answer.tag}")


def _ask_for_it(server: Server) -> Answer:
    return ask((server.host, server.port), "/it.txt")


def _ahead_of_the_date(answer: Answer) -> timedelta | None:
    """Returns by how much Last-Modified is later than Date; None if there is no Last-Modified."""
    if "last-modified" not in answer.fields:
        return None
    modified, date = (parsedate_to_datetime(answer.field(name))
                      for name in ("Last-Modified", "Date"))
    return modified - date


def others() -> Iterator[Case]:
    yield talk("not-modified-has-no-body",
               f"{TARGET} with its ETag in If-None-Match and, after it on "
               "the same connection, without", "304 with nothing after its head, then 200",
               "RFC 9110 §15.4.5, RFC 9112 §6.3 (MUST)", partial(no_body))
    yield talk("not-modified-has-etag", f"{TARGET} with its ETag in If-None-Match",
               "304 with the ETag that a 200 would have; no Content-Length but that of a 200",
               "RFC 9110 §15.4.5, §8.6 (MUST)", partial(names_the_version))
    yield talk("not-modified-describes-no-body", f"{TARGET} with its ETag in If-None-Match",
               f"304 with Date, without {', '.join(OF_A_BODY)}, and without Last-Modified next to "
               "the ETag", "RFC 9110 §6.6.1 (MUST), §15.4.5 (SHOULD)",
               partial(describes_no_body))
    yield talk("missing-file", "/nowhere.txt with If-None-Match: *", "404",
               "RFC 9110 §13.2.1 (MUST)",
               partial(asked_of, target="/nowhere.txt", fields="If-None-Match: *", status=404))
    yield talk("conditions-ignored-for-redirect", "/sub with If-None-Match: *", "301",
               "RFC 9110 §13.2.1 (MUST)",
               partial(asked_of, target="/sub", fields="If-None-Match: *", status=301))
    yield talk("index-page", "/ with its ETag", "304", "RFC 9110 §13.1.2 (MUST)",
               partial(index_page))


def no_body(address: Address) -> None:
    tag = ask(address, TARGET).tag
    start = f"GET {TARGET} HTTP/1.1\r\nHost: localhost\r\n"
    known, repeated = ask_all(address, [f"{start}If-None-Match: {tag}\r\n\r\n",
                                        f"{start}Connection: close\r\n\r\n"], ["GET", "GET"])
    must_be(known, 304)
    must_be(repeated, 200)
    must_have(repeated, TEXT)


def names_the_version(address: Address) -> None:
    whole = ask(address, TARGET)
    known = ask(address, TARGET, f"If-None-Match: {whole.tag}\r\n")
    must_be(known, 304)
    length = known.fields.get("content-length")
    if length not in (None, str(len(TEXT))):
        raise Unmet(f"the 304 has Content-Length: {length}")
    if known.tag != whole.tag:
        raise Unmet(f"the 304 has ETag: {known.tag}")


def describes_no_body(address: Address) -> None:
    tag = ask(address, TARGET).tag
    must_describe_no_body(ask(address, TARGET, f"If-None-Match: {tag}\r\n"))


def must_describe_no_body(known: Answer) -> None:
    must_be(known, 304)
    known.field("Date")
    redundant = ("Last-Modified",) if "etag" in known.fields else ()
    if found := [name for name in (*OF_A_BODY, *redundant) if name.lower() in known.fields]:
        raise Unmet(f"the 304 has {', '.join(found)}")


def asked_of(address: Address, *, target: str, fields: str, status: int) -> None:
    must_be(ask(address, target, f"{fields}\r\n"), status)


def index_page(address: Address) -> None:
    tag = ask(address, "/").tag
    must_be(ask(address, "/", f"If-None-Match: {tag}\r\n"), 304)


CHECKS = (
    group("versions", "versions of a file", tags, level=10),
    group("tag-conditions", "conditions on entity tags", tag_conditions, level=10),
    group("date-conditions", "conditions on dates", date_conditions, level=10),
)
