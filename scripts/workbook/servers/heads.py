"""Compares answers from chapter 9 on with those of the earlier chapters.

The table of cases lists every answer byte by byte. From chapter 9 on, `Date` differs each second,
an error is a small page, and fields may appear in any order. `plain` normalises an answer, so that
one row is valid for all chapters, and `lacking` reports what was missing before.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import NamedTuple

WORDING = "compared without Date and X-Content-Type-Options, an error as text"
START = b"HTTP/1.1 "
HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) ([^\r\n]*)\r\n((?:[^\r\n]+\r\n)*)\r\n")
DATE = re.compile(rb"^Date: (\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT)\r\n", re.M)
NOSNIFF = b"X-Content-Type-Options: nosniff\r\n"
IMF_FIXDATE = "%a, %d %b %Y %H:%M:%S GMT"  # RFC 9110 §5.6.7
USUAL_ORDER = (b"allow", b"content-type", b"content-length", b"location", b"connection")
PAGE_TYPE, TEXT_TYPE = b"text/html; charset=utf-8", b"text/plain; charset=utf-8"
MAX_PAGE = 1024
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SIZE = re.compile(rb"([0-9a-f]+)\r\n", re.I)
# The fields that may describe the file in an answer, from chapter 10 on.
OF_A_FILE = re.compile(rb"^(?:Last-Modified|ETag|Accept-Ranges|Vary): [^\r\n]*\r\n", re.M)
CLOCK_S = 3.0  # how far a date may be off: it is formatted once a second, later on a busy machine


class Head(NamedTuple):
    """The head of one answer as received, and its position in the stream."""

    start: int
    status: int
    reason: bytes
    fields: bytes
    end: int


def plain(data: bytes) -> bytes:
    """Returns these answers without Date, X-Content-Type-Options and the fields that describe a
    file, with errors as text and a chunked body as one chunk and its end. Anything unexpected stays
    as it is.
    """
    if NOSNIFF not in data:
        return data
    parts, done = [], 0
    for head in _heads(data):
        if head.start < done:
            continue
        parts.append(data[done:head.start])
        reported, done = _reported(data, head)
        parts.append(reported)
    return b"".join([*parts, data[done:]])


def lacking(data: bytes, since: float, until: float) -> str:
    """Returns what the first incomplete answer lacks, or an empty string. The answers were received
    between these times of time.time().
    """
    done = 0
    for head in _heads(data):
        if head.status < 200 or head.start < done:  # within a body that looks like an answer
            continue
        if what := _lacks(head, since, until) or _no_page(data, head):
            return f"the answer {head.status} {what}"
        done = head.end + _length(head)
        if CHUNKED in head.fields:
            done = _joined(data, head.end)[1]
    return ""


def _heads(data: bytes) -> Iterator[Head]:
    at = data.find(START)
    while at >= 0:
        if found := HEAD.match(data, at):
            yield Head(at, int(found[1]), found[2], found[3], found.end())
        at = data.find(START, found.end() if found else at + 1)


def _reported(data: bytes, head: Head) -> tuple[bytes, int]:
    """Returns the normalised head of an answer, with the body if that is normalised, too, and the
    position after them in the stream.
    """
    fields, dates = DATE.subn(b"", head.fields, count=1)
    if not dates or NOSNIFF not in fields:
        return data[head.start:head.end], head.end
    fields = OF_A_FILE.sub(b"", fields.replace(NOSNIFF, b"", 1))
    body, end = b"", head.end
    if page := _error_page(data, head):
        text = b"%d %s\n" % (head.status, head.reason)
        fields = fields.replace(PAGE_TYPE, TEXT_TYPE).replace(
            b"Content-Length: %d\r\n" % page, b"Content-Length: %d\r\n" % len(text))
        if _is_page(data[end:end + page]):
            body, end = text, end + page
    elif CHUNKED in fields:
        body, end = _joined(data, end)
    lines = sorted(fields.splitlines(keepends=True), key=_location)
    return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (
        head.status, head.reason, b"".join(lines), body), end


def _joined(data: bytes, at: int) -> tuple[bytes, int]:
    """Returns the chunks from this position on as one, and the last chunk if it has arrived (RFC
    9112 §7.1); and the position after them.
    """
    parts, begin = list[bytes](), at
    while found := SIZE.match(data, at):
        size, start = int(found[1], 16), found.end()
        part = data[start:start + size]
        parts.append(part)
        end = data[start + size:start + size + 2]
        if end != b"\r\n":
            at = start + len(part)
            if not b"\r\n".startswith(end):  # and not merely incomplete
                return data[begin:at], at
            break
        at = start + size + 2
        if size == 0:
            return _one(b"".join(parts)) + b"0\r\n\r\n", at
    return _one(b"".join(parts)), at


def _one(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body) if body else b""


def _location(line: bytes) -> int:
    """Fields with different names may appear in any order (RFC 9110 §5.3)."""
    name = line.partition(b":")[0].lower()
    return USUAL_ORDER.index(name) if name in USUAL_ORDER else len(USUAL_ORDER)


def _error_page(data: bytes, head: Head) -> int:
    """Returns the length of the page that explains an error; 0 if it is missing or incomplete."""
    size = _length(head)
    if head.status < 300 or b"Content-Type: " + PAGE_TYPE not in head.fields:
        return 0
    remainder = data[head.end:head.end + size]
    of_head = not remainder or remainder.startswith(START)
    whole = _is_page(remainder) and len(remainder) == size and b"%d %s" % (
        head.status, head.reason) in remainder
    return size if size <= MAX_PAGE and (whole or of_head) else 0


def _length(head: Head) -> int:
    """Returns the Content-Length; 0 if there is none."""
    found = re.search(rb"^Content-Length: (\d+)\r\n", head.fields, re.M)
    return int(found[1]) if found else 0


def _is_page(text: bytes) -> bool:
    return text[:15].lower() == b"<!doctype html>"


def _lacks(head: Head, since: float, until: float) -> str:
    if head.fields.count(NOSNIFF) != 1:
        return "does not say X-Content-Type-Options: nosniff, once"
    return undated(head.fields, since, until)


def undated(fields: bytes, since: float, until: float) -> str:
    """Returns what is wrong with the Date of an answer that was received between these times of
    time.time(), or an empty string.
    """
    dates = DATE.findall(fields)
    if len(dates) != 1:
        return "has no Date, or more than one, or not as an IMF-fixdate (RFC 9110 §5.6.7)"
    try:
        then = datetime.strptime(dates[0].decode(), IMF_FIXDATE).replace(tzinfo=timezone.utc)
    except ValueError:
        return f"has a Date that is none: {dates[0].decode()}"
    if then.strftime(IMF_FIXDATE).encode() != dates[0]:
        return f"has a Date whose day of the week is another: {dates[0].decode()}"
    if not since - CLOCK_S <= then.timestamp() <= until + 1:
        now = time.strftime(IMF_FIXDATE, time.gmtime(until))
        return f"has the Date {dates[0].decode()}, when it was {now}"
    return ""


def _no_page(data: bytes, head: Head) -> str:
    """Returns what is wrong with an error's page, or an empty string."""
    if head.status < 400 or _error_page(data, head):
        return ""
    if b"Content-Type: " + PAGE_TYPE not in head.fields:
        return f"is no small HTML page: it is not Content-Type: {PAGE_TYPE.decode()}"
    if _length(head) > MAX_PAGE:
        return f"is no small HTML page: it has more than {MAX_PAGE} bytes"
    return ("is no page that begins with <!doctype html>, says "
            f"{head.status} {head.reason.decode('latin-1')}, and is as long as its Content-Length")
