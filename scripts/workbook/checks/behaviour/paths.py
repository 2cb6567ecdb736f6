"""What a request's target refers to below --root, and which files it must never reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour import site
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    BYTES,
    CLOSES,
    HOST,
    HTML,
    NOT_FOUND,
    STAYS,
    TEXT,
    USUAL,
    Case,
    answer,
    get,
    post,
    refusal,
    sunk,
)
from workbook.checks.behaviour.rows import row as any_row

row = partial(any_row, rooted=True)
LONGEST_NAME = 255  # NAME_MAX


def text(name: bytes, content_type: str = TEXT) -> bytes:
    return answer("200 OK", content_type, site.text_of(name))


def moved(to: str, connection: str = CLOSES) -> tuple[bytes, ...]:
    """A redirect, with or without a text body."""
    status = "301 Moved Permanently"
    with_words = refusal(status).replace(CLOSES.encode(), b"")
    end = f"Location: {to}\r\n{connection}\r\n".encode()
    head, _, body = with_words.partition(b"\r\n\r\n")
    without = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n".encode()
    return head + b"\r\n" + end + body, without + end


def cases() -> Iterator[Case]:
    yield from normalised()
    yield from escaping()
    yield from odd_names()
    yield from controls()
    yield from hidden()
    yield from no_files()
    yield from links()
    yield from redirects()


def normalised() -> Iterator[Case]:
    reference = "RFC 3986 §5.2.4, §6.2.2"
    for what, target, name in [
        ("file", b"/a.txt", b"a.txt"),
        ("file-in-subdirectory", b"/sub/deep/c.txt", b"sub/deep/c.txt"),
        ("dot", b"/./a.txt", b"a.txt"),
        ("repeated-dots", b"/././sub/././b.txt", b"sub/b.txt"),
        ("up-and-down", b"/sub/../a.txt", b"a.txt"),
        ("up-twice", b"/sub/deep/../../a.txt", b"a.txt"),
        ("up-from-missing-directory", b"/nowhere/../a.txt", b"a.txt"),
        ("encoded-letter", b"/%61.txt", b"a.txt"),
        ("encoded-dot", b"/a%2Etxt", b"a.txt"),
        ("encoded-dot-segment", b"/%2e/a.txt", b"a.txt"),
        ("encoded-up-and-down", b"/sub/%2e%2E/a.txt", b"a.txt"),
        ("half-encoded-up-and-down", b"/sub/.%2e/a.txt", b"a.txt"),
        ("hexadecimal-in-lower-case", b"/sub/b%2etxt", b"sub/b.txt"),
        ("query", b"/a.txt?x=../../secret.txt", b"a.txt"),
        ("query-with-percent", b"/a.txt?%zz%00", b"a.txt"),
        ("absolute-form", b"http://localhost/sub/b.txt?x", b"sub/b.txt"),
    ]:
        yield row(what, get(target), text(name), reference)
    yield row("file-then-slash", get(b"/a.txt/"), NOT_FOUND, "open(2), ENOTDIR")
    yield row("file-as-a-directory", get(b"/a.txt/b.txt"), NOT_FOUND, "open(2), ENOTDIR")
    yield row("file-then-up", get(b"/a.txt/../sub/b.txt"), text(b"sub/b.txt"), reference)


def escaping() -> Iterator[Case]:
    reference = "RFC 3986 §5.2.4; CWE-22"
    for what, target in [
        ("up", b"/../secret.txt"),
        ("up-alone", b"/.."),
        ("up-with-a-slash", b"/../"),
        ("up-and-back", b"/../site/a.txt"),
        ("up-to-sibling-with-same-prefix", b"/../site-other/secret.txt"),
        ("up-after-descending", b"/sub/../../secret.txt"),
        ("up-repeatedly", b"/../../../../../../../../etc/passwd"),
        ("up-deep", b"/sub/deep/../../../secret.txt"),
        ("up-encoded", b"/%2e%2e/secret.txt"),
        ("up-encoded-in-upper-case", b"/%2E%2E/secret.txt"),
        ("up-half-encoded", b"/.%2e/secret.txt"),
        ("up-after-a-dot", b"/./../secret.txt"),
        ("up-before-an-encoded-slash", b"/..%2fsecret.txt"),
        ("all-encoded", b"/%2e%2e%2fsecret.txt"),
        ("up-after-encoded-slash", b"/sub%2f..%2f..%2fsecret.txt"),
        ("up-after-encoded-slash-within-root", b"/sub/x%2f..%2fb.txt"),
        ("up-at-the-end", b"/sub/../.."),
        ("up-in-an-absolute-form", b"http://localhost/../secret.txt"),
    ]:
        yield row(f"refused-{what}", get(target), BAD, reference)
    for what, target in [
        ("twice-encoded", b"/%252e%252e/secret.txt"),
        ("twice-encoded-slash", b"/..%252fsecret.txt"),
        ("thrice-encoded", b"/%25252e%25252e/secret.txt"),
        ("overlong-utf-8", b"/%c0%ae%c0%ae/secret.txt"),
        ("backslashes", b"/..%5csecret.txt"),
        ("twice-encoded-letter", b"/%252561.txt"),
    ]:
        yield row(f"not-found-{what}", get(target), NOT_FOUND, "RFC 3986 §2.4; CWE-174")


def odd_names() -> Iterator[Case]:
    for target, name in site.ODD_NAMES.items():
        what = "-".join(re.findall(r"[a-z0-9]+", target.lower()))
        yield row(f"name-{what}", get(b"/" + target.encode()), text(name), "RFC 3986 §2.1, §2.4")
    escaped, bare = site.NO_UTF_8[0].encode(), site.NO_UTF_8[1]
    yield row("name-that-is-not-utf-8", get(b"/" + escaped), (text(bare), NOT_FOUND),
              "path_resolution(7)")
    yield row("name-in-another-case", get(b"/A.TXT"), (NOT_FOUND, text(b"a.txt")),
              "RFC 3986 §6.2.2.1")
    for what, length, expect in [("longest-name", LONGEST_NAME, NOT_FOUND),
                                 ("name-too-long", LONGEST_NAME + 1, NOT_FOUND),
                                 ("name-much-too-long", 7000, NOT_FOUND)]:
        yield row(what, get(b"/" + b"n" * length), expect, "open(2), ENAMETOOLONG")
    yield row("path-too-long", get(b"/" + b"sub/" * 1900 + b"b.txt"), NOT_FOUND,
              "open(2), ENAMETOOLONG")
    yield row("path-too-long-before-normalisation", get(b"/" + b"sub/../" * 1000 + b"a.txt"),
              (text(b"a.txt"), NOT_FOUND), "open(2), ENAMETOOLONG")
    yield row("options-asterisk", b"OPTIONS * HTTP/1.1\r\n" + USUAL + b"\r\n",
              answer("200 OK", TEXT, b""), "RFC 9110 §9.3.7")
    yield row("sink", post(b"hello", b"/sink"), sunk(5), "RFC 9110 §9.3.3")
    yield row("echo", post(b"hello", b"/echo"), answer("200 OK", BYTES, b"hello"),
              "RFC 9110 §9.3.3")


def controls() -> Iterator[Case]:
    for what, code in [("nul", "00"), ("0x01", "01"), ("tab", "09"), ("line-feed", "0a"),
                       ("carriage-return", "0D"), ("escape", "1b"), ("0x1f", "1f"),
                       ("delete", "7F")]:
        yield row(f"refused-control-{what}", get(b"/a" + b"%" + code.encode() + b".txt"), BAD,
                  "RFC 3986 §7.3; CWE-158")
    yield row("refused-nul-before-another-extension", get(b"/a.txt%00.html"), BAD, "CWE-158")
    yield row("refused-nul-at-the-end", get(b"/a.txt%00"), BAD, "CWE-158")
    yield row("refused-field-in-a-redirect", get(b"/sub%0d%0aX-Injected:%201"), BAD, "CWE-113")
    for what, target in [("without-digits", b"/%zz"), ("with-one-digit", b"/a%2"),
                         ("at-the-end", b"/a.txt%"), ("with-sign", b"/%+1"),
                         ("with-one-digit-and-letter", b"/%2x.txt")]:
        yield row(f"refused-percent-{what}", get(target), BAD, "RFC 3986 §2.1")


def hidden() -> Iterator[Case]:
    for what, target in [
        ("file", b"/.hidden"),
        ("file-encoded", b"/%2ehidden"),
        ("directory", b"/.git"),
        ("directory-with-a-slash", b"/.git/"),
        ("in-a-hidden-directory", b"/.git/config"),
        ("in-a-directory", b"/sub/.htaccess"),
        ("in-a-directory-encoded", b"/sub/%2Ehtaccess"),
        ("name-starting-with-two-dots", b"/sub/..dir/x.txt"),
        ("name-of-three-dots", b"/..."),
        ("after-encoded-slash", b"/.git%2fconfig"),
        ("after-encoded-slash-in-a-directory", b"/sub%2f.htaccess"),
        ("after-up", b"/sub/../.hidden"),
    ]:
        yield row(f"hidden-{what}", get(target), NOT_FOUND, "RFC 8615 §4.2; CWE-538")


def no_files() -> Iterator[Case]:
    for what, target, reference in [
        ("fifo", b"/fifo", "fifo(7)"),
        ("fifo-with-an-extension", b"/fifo.txt", "fifo(7)"),
        ("socket", b"/socket", "unix(7)"),
        ("device", b"/device", "null(4)"),
        ("missing", b"/nowhere.txt", "RFC 9110 §15.5.5"),
        ("missing-in-a-directory", b"/sub/nowhere.txt", "RFC 9110 §15.5.5"),
        ("missing-in-missing-directory", b"/nowhere/nowhere.txt", "RFC 9110 §15.5.5"),
        ("directory-without-an-index", b"/noindex/", "RFC 9110 §15.5.5"),
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


def redirects() -> Iterator[Case]:
    reference = "RFC 9110 §15.4.2, §10.2.2"
    for what, target, to in [
        ("directory", b"/sub", "/sub/"),
        ("directory-deeper", b"/sub/deep", "/sub/deep/"),
        ("directory-with-a-query", b"/sub?x=1&y=%20", "/sub/?x=1&y=%20"),
        ("directory-with-a-space", b"/sp%20ace", "/sp%20ace/"),
        ("directory-with-a-question-mark", b"/what%3f", "/what%3F/"),
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
              f"{reference}; RFC 9112 §3")
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
                  "RFC 3986 §4.2; CWE-601")
    yield row("index", get(b"/"), answer("200 OK", HTML, site.INDEX), "RFC 9110 §4.2.3")
    yield row("index-with-a-query", get(b"/?x=1"), answer("200 OK", HTML, site.INDEX),
              "RFC 9110 §4.2.3")
    yield row("index-by-name", get(b"/index.html"), answer("200 OK", HTML, site.INDEX),
              "RFC 9110 §4.2.3")
    yield row("index-of-a-directory", get(b"/sub/"), text(b"sub/index.html", HTML),
              "RFC 9110 §4.2.3")
    yield row("index-without-a-path", get(b"http://localhost"),
              answer("200 OK", HTML, site.INDEX), "RFC 3986 §6.2.3")


CHECKS = (group("paths", "request paths, and what they must never reach", cases, level=9),)
