"""A directory without its slash: a redirect to the same host, with the query."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.paths import text
from workbook.checks.behaviour.rows import (
    BAD,
    CLOSES,
    HOST,
    HTML,
    NEXT,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    STAYS,
    USUAL,
    Case,
    get,
    not_allowed,
    post,
    refusal,
)
from workbook.checks.behaviour.rows import row as any_row

row = partial(any_row, rooted=True)


MOVED, PERMANENT = "301 Moved Permanently", "308 Permanent Redirect"


def moved(to: str, connection: str = CLOSES, status: str = MOVED) -> tuple[bytes, ...]:
    """A redirect, with or without a text body."""
    with_words = refusal(status).replace(CLOSES.encode(), b"")
    end = f"Location: {to}\r\n{connection}\r\n".encode()
    head, _, body = with_words.partition(b"\r\n\r\n")
    without = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n".encode()
    return head + b"\r\n" + end + body, without + end


def cases() -> Iterator[Case]:
    yield from directories()
    yield from methods()
    yield from to_other_hosts()


def methods() -> Iterator[Case]:
    """After a 301 a client MAY repeat a POST as a GET; after a 308 the method stays the same
    (§15.4). No method is refused before the redirect, because the target may be the application's.
    """
    reference = "RFC 9110 §15.4.9 (SHOULD), §15.4.2 (MAY)"
    for method in (b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH"):
        expect = moved("/sub/", status=PERMANENT)
        if method == b"PATCH":
            expect = (*expect, NOT_IMPLEMENTED)
        yield row(f"{method.decode().lower()}-to-a-directory",
                  method + b" /sub?x HTTP/1.1\r\n" + USUAL + b"\r\n",
                  tuple(one.replace(b"/sub/", b"/sub/?x") for one in expect), reference)
    kept = moved("/sub/", STAYS, PERMANENT)
    yield row("body-sent-to-a-directory-is-not-a-request",
              post(NEXT, b"/sub", HOST) + get(b"/sub"),
              tuple(first + last for first, last in zip(kept, moved("/sub/"), strict=True)),
              "RFC 9112 §9.3 (MUST), RFC 9110 §15.4.9 (SHOULD)")
    yield row("head-of-a-directory", b"HEAD /sub HTTP/1.1\r\n" + USUAL + b"\r\n",
              tuple(one.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" for one in moved("/sub/")),
              "RFC 9110 §9.3.2 (MUST), §15.4.2 (SHOULD)")
    yield row("post-to-where-the-redirect-leads", post(b"hello", b"/sub/"), not_allowed(),
              "RFC 9110 §9.1 (SHOULD), §15.5.6 (MUST)")
    yield row("post-to-a-directory-without-an-index", post(b"hello", b"/noindex/"), NOT_FOUND,
              "RFC 9110 §15.5.5 (ours)")


def directories() -> Iterator[Case]:
    reference = "RFC 9110 §15.4.2 (SHOULD), §10.2.2 (ours)"
    for what, target, to in [
        ("directory", b"/sub", "/sub/"),
        ("directory-deeper", b"/sub/deep", "/sub/deep/"),
        ("directory-with-a-query", b"/sub?x=1&y=%20", "/sub/?x=1&y=%20"),
        ("directory-with-a-space", b"/sp%20ace", "/sp%20ace/"),
        ("directory-with-a-question-mark", b"/what%3f", "/what%3F/"),
        ("directory-with-a-percent", b"/100%25", "/100%25/"),
        ("directory-named-like-a-picture", b"/pictures.png", "/pictures.png/"),
        ("directory-in-absolute-form", b"http://localhost/sub", "/sub/"),
        ("directory-named-like-a-host", b"/example.com", "/example.com/"),
    ]:
        lower = to.replace("%3F", "%3f")
        yield row(what, get(target), tuple(dict.fromkeys((*moved(to), *moved(lower)))), reference)
    query = "x" * 8_000
    kept, last = (moved(f"/sub/?{query}", connection) for connection in (STAYS, CLOSES))
    yield row("directory-with-long-queries-at-once",
              get(f"/sub?{query}".encode(), HOST) * 19 + get(f"/sub?{query}".encode()),
              tuple(once * 19 + end for once, end in zip(kept, last, strict=True)),
              "RFC 9112 §9.3.2 (MUST), RFC 9110 §15.4.2 (SHOULD)")


def to_other_hosts() -> Iterator[Case]:
    for what, target in [
        ("two-slashes", b"//example.com"),
        ("two-slashes-and-up", b"//example.com/sub/.."),
        ("many-slashes", b"////example.com"),
        ("dot-and-two-slashes", b"/.//example.com"),
        ("up-and-two-slashes", b"/sub/..//example.com"),
        ("encoded-slash", b"/%2fexample.com"),
        ("encoded-backslash", b"/%5cexample.com"),
    ]:
        yield row(f"no-redirect-to-another-host-{what}", get(target),
                  (*moved("/example.com/"), text(b"example.com/index.html", HTML), NOT_FOUND, BAD),
                  "RFC 3986 §4.2 (ours); CWE-601")


CHECKS = (group("redirects", "redirects to directories", cases, level=9),)
