"""A part of a file (RFC 9110 §14)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour import site, versions
from workbook.checks.behaviour.dialogue import Address, Answer, ask, ask_all, must_be, must_have
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import MIB, Case, Unmet, noise
from workbook.checks.behaviour.validators import EARLIER, LATER, SAME, talk

SIZE = 1500
FILE = site.sized(SIZE)
HUGE = "99999999999999999999999"  # does not fit into 64 bits

# A Range field's value, and the first and last byte of the answer.
PARTS: tuple[tuple[str, str, tuple[int, int], str], ...] = (
    ("first-bytes", "bytes=0-99", (0, 99), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("one-byte", "bytes=7-7", (7, 7), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("last-byte", "bytes=1499-1499", (1499, 1499), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("middle", "bytes=500-999", (500, 999), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("to-the-end", "bytes=1400-", (1400, 1499), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("entire-file", "bytes=0-", (0, 1499), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("ends-beyond-the-end", "bytes=1400-1500", (1400, 1499), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("ends-far-beyond-the-end", f"bytes=1400-{HUGE}", (1400, 1499),
     "RFC 9110 §14.1.2 (MUST), §14.2 (SHOULD)"),
    ("suffix", "bytes=-100", (1400, 1499), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("suffix-longer-than-file", "bytes=-1501", (0, 1499), "RFC 9110 §14.1.2, §14.2 (SHOULD)"),
    ("suffix-of-huge-length", f"bytes=-{HUGE}", (0, 1499),
     "RFC 9110 §14.1.2 (MUST), §14.2 (SHOULD)"),
    ("unit-in-upper-case", "BYTES=0-99", (0, 99), "RFC 9110 §14.1, §14.2 (SHOULD)"),
    ("leading-zeros", "bytes=000-0099", (0, 99), "RFC 9110 §14.1.1, §14.2 (SHOULD)"),
)
AFTER_THE_END = (
    ("begins-at-the-end", "bytes=1500-", "RFC 9110 §14.1.2, §14.2, §15.5.17 (SHOULD)"),
    ("begins-far-beyond-the-end", f"bytes={HUGE}-", "RFC 9110 §14.1.2 (MUST), §14.2 (SHOULD)"),
    ("begins-and-ends-beyond-the-end", "bytes=1500-1600",
     "RFC 9110 §14.1.2, §14.2, §15.5.17 (SHOULD)"),
    ("suffix-of-zero", "bytes=-0", "RFC 9110 §14.1.2, §14.2, §15.5.17 (SHOULD)"),
)
IGNORED = (  # ranges that RFC 9110 §14.2 requires or allows a server to ignore
    ("another-unit", "lines=0-99", "MUST"),
    ("no-unit", "0-99", "MAY"),
    ("empty-range", "bytes=", "MAY"),
    ("dash-only", "bytes=-", "MAY"),
    ("ends-before-it-begins", "bytes=99-0", "MAY"),
    ("letters", "bytes=a-z", "MAY"),
    ("sign", "bytes=+0-99", "MAY"),
    ("two-dashes", "bytes=0--99", "MAY"),
    ("three-numbers", "bytes=0-9-19", "MAY"),
    ("hexadecimal", "bytes=0x0-0x9", "MAY"),
    ("inner-space", "bytes=0 -99", "MAY"),
    ("empty", "", "MAY"),
)


def cases() -> Iterator[Case]:
    for what, value, (first, last), reference in PARTS:
        yield talk(what, f"GET /{FILE}, of {SIZE} bytes, with Range: {value}",
                   f"206 with Content-Range: bytes {first}-{last}/{SIZE}, and these bytes", reference,
                   partial(part, value=value, first=first, last=last))
    for what, value, reference in AFTER_THE_END:
        yield talk(what, f"GET /{FILE}, of {SIZE} bytes, with Range: {value}",
                   f"416 with Content-Range: bytes */{SIZE}", reference,
                   partial(unsatisfiable, value=value))
    for what, value, level in IGNORED:
        refused = level == "MAY"
        yield talk(f"ignored-{what}", f"GET /{FILE} with Range: {value}",
                   "200, the whole file" + (", or 400 or 416" if refused else ""),
                   f"RFC 9110 §14.2 ({level})", partial(ignored, value=value, refused=refused))
    yield from companions()
    yield from conditions()


def part(address: Address, *, value: str, first: int, last: int) -> None:
    answer = ask(address, f"/{FILE}", f"Range: {value}\r\n")
    must_be_part(answer, noise(SIZE), first, last)


def must_be_part(answer: Answer, of: bytes, first: int, last: int) -> None:
    must_be(answer, 206)
    if (came := answer.field("Content-Range")) != f"bytes {first}-{last}/{len(of)}":
        raise Unmet(f"Content-Range: {came}")
    must_have(answer, of[first:last + 1])
    assert answer.tag


def unsatisfiable(address: Address, *, value: str) -> None:
    answer = ask(address, f"/{FILE}", f"Range: {value}\r\n")
    must_be(answer, 416)
    if (came := answer.field("Content-Range")) != f"bytes */{SIZE}":
        raise Unmet(f"Content-Range: {came}")


def ignored(address: Address, *, value: str, refused: bool) -> None:
    """The answer must be the whole file, or 400 or 416 if it may be `refused`."""
    answer = ask(address, f"/{FILE}", f"Range: {value}\r\n")
    if refused and answer.status in (400, 416):
        return
    must_be(answer, 200)
    must_have(answer, noise(SIZE))
    if "content-range" in answer.fields:
        raise Unmet(f"a whole answer has Content-Range: {answer.fields['content-range']}")


def companions() -> Iterator[Case]:
    """Ranges of other files, with other methods, and combined with other fields."""
    yield talk("accept-ranges-sent", f"GET and HEAD /{FILE}", "Accept-Ranges: bytes",
               "RFC 9110 §14.3 (ours)",
               partial(offered))
    yield talk("of-a-head", f"HEAD /{FILE} with Range: bytes=0-99",
               f"200 with Content-Length: {SIZE}", "RFC 9110 §14.2 (MUST)",
               partial(of_a_head))
    yield talk("multiple-ranges", f"GET /{FILE} with Range: bytes=0-9,20-29",
               "200 and the whole file, or 206 and one or both parts",
               "RFC 9110 §14.2 (MAY), §15.3.7.2 (MUST)", partial(several))
    yield talk("of-a-large-file", "GET of a file of 3 MiB, from the second MiB into the third",
               "206 and these bytes", "RFC 9110 §14.2 (SHOULD)", partial(of_a_large_file))
    yield talk("of-empty-file", "GET /0.bin, which is empty, with Range: bytes=0-",
               "416, or 200 and nothing", "RFC 9110 §14.2 (MAY)", partial(of_nothing))
    yield talk("suffix-of-empty-file", "GET /0.bin, which is empty, with Range: bytes=-5",
               "200 or 416: no Content-Range can express it",
               "RFC 9110 §14.2 (MAY), §14.4 (ours)", partial(last_of_nothing))
    yield talk("of-missing-file", "GET /nowhere.txt with Range: bytes=0-9", "404",
               "RFC 9110 §14.2, §2.4 (MUST)", partial(of_what_is_missing))
    yield talk("pipelined-ranges",
               "two parts and the whole file, asked for at once on one connection",
               "206, 206, 200, each with its bytes", "RFC 9112 §9.3.2 (MUST)", partial(in_a_row))


def offered(address: Address) -> None:
    for method in ("GET", "HEAD"):
        if (came := ask(address, f"/{FILE}", method=method).field("Accept-Ranges")) != "bytes":
            raise Unmet(f"Accept-Ranges: {came}")


def of_a_head(address: Address) -> None:
    answer = ask(address, f"/{FILE}", "Range: bytes=0-99\r\n", "HEAD")
    must_be(answer, 200)
    if answer.field("Content-Length") != str(SIZE):
        raise Unmet(f"Content-Length: {answer.field('Content-Length')}")


def several(address: Address) -> None:
    answer = ask(address, f"/{FILE}", "Range: bytes=0-9,20-29\r\n")
    if answer.fields.get("content-type", "").startswith("multipart/byteranges"):
        must_be(answer, 206)
    elif answer.status == 206:
        first = answer.body == noise(SIZE)[:10]
        must_be_part(answer, noise(SIZE), *((0, 9) if first else (20, 29)))
    else:
        must_be(answer, 200)
        must_have(answer, noise(SIZE))


def of_a_large_file(address: Address) -> None:
    answer = ask(address, f"/{site.sized(site.LARGE)}", f"Range: bytes={MIB - 5}-{2 * MIB + 5}\r\n")
    must_be_part(answer, noise(site.LARGE), MIB - 5, 2 * MIB + 5)


def of_nothing(address: Address) -> None:
    answer = ask(address, "/0.bin", "Range: bytes=0-\r\n")
    must_be(answer, 416 if answer.status == 416 else 200)


def last_of_nothing(address: Address) -> None:
    answer = ask(address, "/0.bin", "Range: bytes=-5\r\n")
    must_be(answer, 416 if answer.status == 416 else 200)


def of_what_is_missing(address: Address) -> None:
    must_be(ask(address, "/nowhere.txt", "Range: bytes=0-9\r\n"), 404)


def in_a_row(address: Address) -> None:
    start = f"GET /{FILE} HTTP/1.1\r\nHost: localhost\r\n"
    answers = ask_all(address, [f"{start}Range: bytes=0-9\r\n\r\n", f"{start}Range: bytes=-9\r\n\r\n",
                                f"{start}Connection: close\r\n\r\n"], ["GET"] * 3)
    must_be_part(answers[0], noise(SIZE), 0, 9)
    must_be_part(answers[1], noise(SIZE), SIZE - 9, SIZE - 1)
    must_be(answers[2], 200)
    must_have(answers[2], noise(SIZE))


# A condition sent for /dated.bin with Range: bytes=0-3, and the status expected.
CONDITIONS: tuple[tuple[str, str, int, str], ...] = (
    ("if-range-same-tag", "If-Range: {tag}", 206, "RFC 9110 §13.1.5 (SHOULD)"),
    ("if-range-other-tag", 'If-Range: "x"', 200, "RFC 9110 §13.1.5 (MUST)"),
    ("if-range-weak-tag", "If-Range: W/{tag}", 200, "RFC 9110 §13.1.5 (MUST)"),
    ("if-range-same-date", f"If-Range: {SAME}", 206, "RFC 9110 §13.1.5 (SHOULD)"),
    ("if-range-earlier-date", f"If-Range: {EARLIER}", 200, "RFC 9110 §13.1.5 (MUST)"),
    ("if-range-later-date", f"If-Range: {LATER}", 200, "RFC 9110 §13.1.5 (MUST)"),
    ("if-range-no-date", "If-Range: yesterday", 200, "RFC 9110 §13.1.5 (MUST)"),
    ("if-none-match-same", "If-None-Match: {tag}", 304, "RFC 9110 §13.2.2, step 3 (MUST)"),
    ("if-match-other", 'If-Match: "x"', 412, "RFC 9110 §13.2.2, step 1 (MUST)"),
    ("if-match-same", "If-Match: {tag}", 206, "RFC 9110 §13.2.2 (MUST), §14.2 (SHOULD)"),
    ("if-modified-since-earlier", f"If-Modified-Since: {EARLIER}", 206,
     "RFC 9110 §13.1.3, §14.2 (SHOULD)"),
)


def conditions() -> Iterator[Case]:
    for what, fields, status, reference in CONDITIONS:
        yield talk(what, f"GET /dated.bin for its ETag, {{tag}}, then again with Range: bytes=0-3 and "
                   f"{fields}", f"the second answer is {status}", reference,
                   partial(conditional, fields=fields, status=status))
    yield talk("if-range-without-range", "GET /dated.bin with If-Range, and no Range", "200",
               "RFC 9110 §13.1.5 (MUST)", partial(without_range))
    yield from versions.without_either()


def conditional(address: Address, *, fields: str, status: int) -> None:
    first = ask(address, "/dated.bin")
    answer = ask(address, "/dated.bin", f"Range: bytes=0-3\r\n{fields.format(tag=first.tag)}\r\n")
    must_be(answer, status)
    if status == 206:
        must_be_part(answer, first.body, 0, 3)
    if status == 200:
        must_have(answer, first.body)


def without_range(address: Address) -> None:
    first = ask(address, "/dated.bin")
    answer = ask(address, "/dated.bin", f"If-Range: {first.tag}\r\n")
    must_be(answer, 200)
    must_have(answer, first.body)


CHECKS = (group("ranges", "range requests", cases, level=10),)
