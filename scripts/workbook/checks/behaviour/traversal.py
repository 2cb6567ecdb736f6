"""Paths that must be refused or not found: those that lead out of --root, those with control
characters, and those of hidden files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import BAD, NOT_FOUND, Case, get
from workbook.checks.behaviour.rows import row as any_row

row = partial(any_row, rooted=True)


def cases() -> Iterator[Case]:
    yield from escaping()
    yield from controls()
    yield from hidden()


def escaping() -> Iterator[Case]:
    reference = "RFC 3986 §5.2.4, RFC 9110 §17.3 (ours); CWE-22"
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
    decoded_twice = "RFC 3986 §2.4 (MUST); CWE-174"
    for what, target, reference in [
        ("twice-encoded", b"/%252e%252e/secret.txt", decoded_twice),
        ("twice-encoded-slash", b"/..%252fsecret.txt", decoded_twice),
        ("thrice-encoded", b"/%25252e%25252e/secret.txt", decoded_twice),
        ("overlong-utf-8", b"/%c0%ae%c0%ae/secret.txt", "RFC 3629 §3 (MUST); CWE-176"),
        ("backslashes", b"/..%5csecret.txt", "RFC 9110 §17.3 (ours); CWE-22"),
        ("twice-encoded-letter", b"/%252561.txt", decoded_twice),
    ]:
        yield row(f"not-found-{what}", get(target), NOT_FOUND, reference)


def controls() -> Iterator[Case]:
    for what, code in [("nul", "00"), ("0x01", "01"), ("tab", "09"), ("line-feed", "0a"),
                       ("carriage-return", "0D"), ("escape", "1b"), ("0x1f", "1f"),
                       ("delete", "7F")]:
        yield row(f"refused-control-{what}", get(b"/a" + b"%" + code.encode() + b".txt"), BAD,
                  "RFC 3986 §7.3 (SHOULD); CWE-158" if what == "nul"
                  else "RFC 3986 §7.3 (ours); CWE-150")
    yield row("refused-nul-before-another-extension", get(b"/a.txt%00.html"), BAD, "CWE-158")
    yield row("refused-nul-at-the-end", get(b"/a.txt%00"), BAD, "CWE-158")
    yield row("refused-field-in-a-redirect", get(b"/sub%0d%0aX-Injected:%201"), BAD, "CWE-113")
    for what, target in [("without-digits", b"/%zz"), ("with-one-digit", b"/a%2"),
                         ("at-the-end", b"/a.txt%"), ("with-sign", b"/%+1"),
                         ("with-one-digit-and-letter", b"/%2x.txt")]:
        yield row(f"refused-percent-{what}", get(target), BAD,
                  "RFC 3986 §2.1, RFC 9112 §3.2 (SHOULD)")


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
        yield row(f"hidden-{what}", get(target), NOT_FOUND, "RFC 9110 §15.5.5 (ours); CWE-538")
    for what, target in [
        ("well-known-as-a-prefix", b"/.well-known-secret/x.txt"),
        ("well-known-with-an-extension", b"/.well-known.txt"),
        ("well-known-in-another-case", b"/.Well-Known/y.txt"),
        ("well-known-in-a-directory", b"/sub/.well-known/x.txt"),
        ("well-known-in-itself", b"/.well-known/.well-known/security.txt"),
        ("well-known-after-encoded-slash", b"/.well-known%2fsecurity.txt"),
        ("file-in-well-known", b"/.well-known/.secret"),
        ("directory-in-well-known", b"/.well-known/acme-challenge/.old/x.txt"),
        ("after-well-known-and-up", b"/.well-known/../.git/config"),
        ("before-well-known-and-up", b"/.git/../.well-known/security.txt"),
    ]:
        yield row(f"hidden-{what}", get(target), NOT_FOUND,
                  "RFC 9110 §15.5.5, RFC 8615 §3 (ours); CWE-538")


CHECKS = (group("traversal", "request paths that must be refused", cases, level=9),)
