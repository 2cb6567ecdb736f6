"""Which file a request's path refers to below --root, and which files no link may lead to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour import site
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BYTES,
    HTML,
    NOT_FOUND,
    TEXT,
    USUAL,
    Case,
    answer,
    get,
    post,
    sunk,
)
from workbook.checks.behaviour.rows import row as any_row

row = partial(any_row, rooted=True)
LONGEST_NAME = 255  # NAME_MAX


def text(name: bytes, content_type: str = TEXT) -> bytes:
    return answer("200 OK", content_type, site.text_of(name))


def cases() -> Iterator[Case]:
    yield from normalised()
    yield from odd_names()
    yield from well_known()
    yield from no_files()
    yield from links()
    yield from index_pages()


def normalised() -> Iterator[Case]:
    served = "RFC 9110 §9.1, §9.3.1 (MUST)"
    equal = "RFC 3986 §6.2.2, RFC 9110 §4.2.3 (SHOULD)"
    for what, target, name, reference in [
        ("file", b"/a.txt", b"a.txt", served),
        ("file-in-subdirectory", b"/sub/deep/c.txt", b"sub/deep/c.txt", served),
        ("dot", b"/./a.txt", b"a.txt", equal),
        ("repeated-dots", b"/././sub/././b.txt", b"sub/b.txt", equal),
        ("up-and-down", b"/sub/../a.txt", b"a.txt", equal),
        ("up-twice", b"/sub/deep/../../a.txt", b"a.txt", equal),
        ("up-from-missing-directory", b"/nowhere/../a.txt", b"a.txt", equal),
        ("encoded-letter", b"/%61.txt", b"a.txt", equal),
        ("encoded-dot", b"/a%2Etxt", b"a.txt", equal),
        ("encoded-dot-segment", b"/%2e/a.txt", b"a.txt", equal),
        ("encoded-up-and-down", b"/sub/%2e%2E/a.txt", b"a.txt", equal),
        ("half-encoded-up-and-down", b"/sub/.%2e/a.txt", b"a.txt", equal),
        ("hexadecimal-in-lower-case", b"/sub/b%2etxt", b"sub/b.txt", equal),
        ("query", b"/a.txt?x=../../secret.txt", b"a.txt", "RFC 3986 §3.3, §3.4 (ours)"),
        ("absolute-form", b"http://localhost/sub/b.txt?x", b"sub/b.txt",
         "RFC 9112 §3.2.2 (MUST)"),
    ]:
        yield row(what, get(target), text(name), reference)
    yield row("query-with-percent", get(b"/a.txt?%zz%00"), text(b"a.txt"),
              "ours: a query isn't decoded, so that it can't be malformed")
    yield row("file-then-slash", get(b"/a.txt/"), NOT_FOUND, "open(2), ENOTDIR")
    yield row("file-as-a-directory", get(b"/a.txt/b.txt"), NOT_FOUND, "open(2), ENOTDIR")
    yield row("file-then-up", get(b"/a.txt/../sub/b.txt"), text(b"sub/b.txt"), equal)


def odd_names() -> Iterator[Case]:
    for target, name in site.ODD_NAMES.items():
        what = "-".join(re.findall(r"[a-z0-9]+", target.lower()))
        yield row(f"name-{what}", get(b"/" + target.encode()), text(name),
                  "RFC 3986 §2.4, §7.3 (MUST)")
    escaped, bare = site.NO_UTF_8[0].encode(), site.NO_UTF_8[1]
    yield row("name-that-is-not-utf-8", get(b"/" + escaped), (text(bare), NOT_FOUND),
              "path_resolution(7)")
    yield row("name-in-another-case", get(b"/A.TXT"), (NOT_FOUND, text(b"a.txt")),
              "RFC 3986 §6.2.2.1 (ours)")
    for what, length, expect in [("longest-name", LONGEST_NAME, NOT_FOUND),
                                 ("name-too-long", LONGEST_NAME + 1, NOT_FOUND),
                                 ("name-much-too-long", 7000, NOT_FOUND)]:
        yield row(what, get(b"/" + b"n" * length), expect, "open(2), ENAMETOOLONG")
    yield row("path-too-long", get(b"/" + b"sub/" * 1900 + b"b.txt"), NOT_FOUND,
              "open(2), ENAMETOOLONG")
    yield row("path-too-long-before-normalisation", get(b"/" + b"sub/../" * 1000 + b"a.txt"),
              (text(b"a.txt"), NOT_FOUND), "open(2), ENAMETOOLONG")
    yield row("options-asterisk", b"OPTIONS * HTTP/1.1\r\n" + USUAL + b"\r\n",
              answer("200 OK", TEXT, b""), "RFC 9110 §9.3.7 (ours)")
    yield row("sink", post(b"hello", b"/sink"), sunk(5), "RFC 9110 §9.3.3 (ours)")
    yield row("echo", post(b"hello", b"/echo"), answer("200 OK", BYTES, b"hello"),
              "RFC 9110 §9.3.3 (ours)")


def well_known() -> Iterator[Case]:
    """Well-known URIs begin at the top of the path. No RFC obliges a server to have any, but ACME
    servers look for their challenges there, and issue no certificate without them.
    """
    security, token = (name.encode() for name in site.WELL_KNOWN)
    challenge, reference = b"/.well-known/acme-challenge/token", "RFC 8615 §3, RFC 9116 §3 (ours)"
    yield row("well-known-acme-challenge", get(challenge), text(token, BYTES),
              "RFC 8555 §8.3, RFC 8615 §3 (ours)")
    for what, target in [
        ("well-known-file", b"/.well-known/security.txt"),
        ("well-known-encoded", b"/%2ewell%2Dknown/security.txt"),
        ("well-known-after-a-dot", b"/./.well-known/./security.txt"),
        ("well-known-after-up", b"/sub/../.well-known/security.txt"),
        ("well-known-down-and-up", b"/.well-known/acme-challenge/../security.txt"),
        ("well-known-in-absolute-form", b"http://localhost/.well-known/security.txt"),
    ]:
        yield row(what, get(target), text(security), reference)
    yield row("well-known-missing", get(b"/.well-known/nowhere"), NOT_FOUND,
              "RFC 9110 §15.5.5 (ours)")
    yield row("well-known-without-an-index", get(b"/.well-known/"), NOT_FOUND,
              "RFC 9110 §15.5.5 (ours)")


def no_files() -> Iterator[Case]:
    for what, target, reference in [
        ("fifo", b"/fifo", "fifo(7)"),
        ("fifo-with-an-extension", b"/fifo.txt", "fifo(7)"),
        ("socket", b"/socket", "unix(7)"),
        ("device", b"/device", "null(4)"),
        ("missing", b"/nowhere.txt", "RFC 9110 §15.5.5 (ours)"),
        ("missing-in-a-directory", b"/sub/nowhere.txt", "RFC 9110 §15.5.5 (ours)"),
        ("missing-in-missing-directory", b"/nowhere/nowhere.txt", "RFC 9110 §15.5.5 (ours)"),
        ("directory-without-an-index", b"/noindex/", "RFC 9110 §15.5.5 (ours)"),
    ]:
        yield row(f"not-served-{what}", get(target), NOT_FOUND, reference)


def links() -> Iterator[Case]:
    reference = "openat2(2), RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS"
    for what, target in [
        ("out", b"/out.txt"),
        ("out-of-a-directory", b"/sub/out.txt"),
        ("out-through-a-directory", b"/link-out/secret.txt"),
        ("out-after-entering-a-directory", b"/in-and-out.txt"),
        ("out-and-back-in", b"/out-and-in.txt"),
        ("out-and-back-in-through-a-directory", b"/link-out/site/a.txt"),
        ("absolute", b"/absolute.txt"),
        ("absolute-out", b"/absolute-out.txt"),
        ("magic-root", b"/magic-root/etc/passwd"),
        ("magic-root-itself", b"/magic-root"),
        ("magic-cwd", b"/magic-cwd/"),
        ("magic-program", b"/magic-exe"),
        ("magic-descriptor", b"/magic-fd"),
        ("dangling", b"/dangling.txt"),
        ("loop", b"/loop.txt"),
        ("loop-of-two", b"/pair-1.txt"),
    ]:
        yield row(f"link-{what}", get(target), NOT_FOUND, reference)
    # A server that resolves the path itself, and macOS with O_NOFOLLOW_ANY, follows no links at
    # all, which is just as safe.
    for what, target, name in [
        ("within", b"/link.txt", b"a.txt"),
        ("up-within", b"/sub/up-and-back.txt", b"a.txt"),
        ("to-a-directory", b"/link-to-sub/b.txt", b"sub/b.txt"),
        ("to-a-directory-and-deeper", b"/link-to-sub/deep/c.txt", b"sub/deep/c.txt"),
    ]:
        yield row(f"link-{what}", get(target), (text(name), NOT_FOUND),
                  "openat2(2), RESOLVE_BENEATH; openat(2), O_NOFOLLOW")


def index_pages() -> Iterator[Case]:
    yield row("index", get(b"/"), answer("200 OK", HTML, site.INDEX), "RFC 9110 §9.3.1 (ours)")
    yield row("index-with-a-query", get(b"/?x=1"), answer("200 OK", HTML, site.INDEX),
              "RFC 9110 §9.3.1 (ours)")
    yield row("index-by-name", get(b"/index.html"), answer("200 OK", HTML, site.INDEX),
              "RFC 9110 §9.3.1 (ours)")
    yield row("index-of-a-directory", get(b"/sub/"), text(b"sub/index.html", HTML),
              "RFC 9110 §9.3.1 (ours)")
    yield row("index-without-a-path", get(b"http://localhost"),
              answer("200 OK", HTML, site.INDEX),
              "RFC 9112 §3.2.2 (MUST), RFC 9110 §4.2.3 (SHOULD)")


CHECKS = (group("paths", "the files that request paths refer to", cases, level=9),)
