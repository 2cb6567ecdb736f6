"""Input that is not HTTP, or has a version or an expectation that we don't know."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour import orders, values
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    CONTINUE,
    EXPECTATION,
    HOST,
    PAGE_ANSWER,
    TEXT,
    TOO_LARGE,
    USUAL,
    VERSION,
    Case,
    answer,
    echoed,
    get,
    post,
    row,
)
from workbook.servers.client import Await, Pause


def cases() -> Iterator[Case]:
    yield from request_lines()
    yield from versions()
    yield from line_ends()
    yield from malformed_fields()
    yield from hosts()
    yield from expectations()
    yield from orders.cases()
    yield from values.cases()


def request_lines() -> Iterator[Case]:
    for what, line in [
        ("no-version", b"GET /"),
        ("no-version-trailing-space", b"GET / "),
        ("no-target", b"GET HTTP/1.1"),
        ("empty-target", b"GET  HTTP/1.1"),
        ("only-method", b"GET"),
        ("only-spaces", b"   "),
        ("double-space-before-target", b"GET  / HTTP/1.1"),
        ("double-space-before-version", b"GET /  HTTP/1.1"),
        ("tab-before-target", b"GET\t/ HTTP/1.1"),
        ("tab-before-version", b"GET /\tHTTP/1.1"),
        ("leading-space", b" GET / HTTP/1.1"),
        ("leading-tab", b"\tGET / HTTP/1.1"),
        ("trailing-space", b"GET / HTTP/1.1 "),
        ("trailing-tab", b"GET / HTTP/1.1\t"),
        ("word-after-version", b"GET / HTTP/1.1 x"),
        ("space-in-target", b"GET /a b HTTP/1.1"),
        ("fragment", b"GET /#top HTTP/1.1"),
        ("connect-to-a-path", b"CONNECT / HTTP/1.1"),
        ("connect-without-port", b"CONNECT example.com HTTP/1.1"),
        ("connect-v6-without-port", b"CONNECT [::1] HTTP/1.1"),
        ("connect-without-host", b"CONNECT :443 HTTP/1.1"),
        ("absolute-form-without-host", b"GET http:// HTTP/1.1"),
        ("absolute-form-path-without-host", b"GET http:///echo HTTP/1.1"),
        ("absolute-form-query-without-host", b"GET http://?x HTTP/1.1"),
        ("absolute-form-with-one-slash", b"GET http:/localhost/ HTTP/1.1"),
        ("absolute-form-of-another-scheme", b"GET httq://localhost/ HTTP/1.1"),
        ("absolute-form-of-https", b"GET https://localhost/ HTTP/1.1"),
        ("scheme-alone", b"GET http: HTTP/1.1"),
        *((f"scheme-with-{byte ^ 0x20:02x}-for-{chr(byte)}-at-{at}",
           b"GET " + flipped(b"http://", at) + b"localhost/ HTTP/1.1")
          for at, byte in enumerate(b"http://") if not chr(byte).isalpha()),
        ("target-with-nul", b"GET /\0 HTTP/1.1"),
        ("target-with-control", b"GET /\x01 HTTP/1.1"),
        ("target-with-delete", b"GET /\x7f HTTP/1.1"),
        ("target-with-high-byte", b"GET /caf\xc3\xa9 HTTP/1.1"),
        ("target-with-vertical-tab", b"GET /\x0b HTTP/1.1"),
        ("target-with-bare-cr", b"GET /\r HTTP/1.1"),
        ("target-with-bare-lf", b"GET /\n HTTP/1.1"),
        ("method-with-nul", b"GE\0T / HTTP/1.1"),
        ("method-with-separator", b"GE(T / HTTP/1.1"),
        ("method-with-colon", b"GET: / HTTP/1.1"),
        ("method-with-high-byte", b"G\xc9T / HTTP/1.1"),
    ]:
        without_host = what.startswith("absolute-form-") and what.endswith("-without-host")
        yield row(what, line + b"\r\n" + USUAL + b"\r\n", BAD,
                  "RFC 9110 §4.2.1 (MUST)" if without_host else "RFC 9112 §3")


def versions() -> Iterator[Case]:
    for what, line in [
        ("version-lower-case", b"GET / http/1.1"),
        ("version-mixed-case", b"GET / Http/1.1"),
        ("version-of-three-digits", b"GET / HTTP/1.10"),
        ("version-with-leading-zero", b"GET / HTTP/01.1"),
        ("version-without-minor", b"GET / HTTP/1"),
        ("version-with-empty-minor", b"GET / HTTP/1."),
        ("version-with-empty-major", b"GET / HTTP/.1"),
        ("version-with-comma", b"GET / HTTP/1,1"),
        ("version-without-slash", b"GET / HTTP1.1"),
        ("version-with-sign", b"GET / HTTP/+1.1"),
        ("version-of-letters", b"GET / HTTP/a.b"),
        ("version-alone", b"GET / 1.1"),
        ("version-of-https", b"GET / HTTPS/1.1"),
        ("version-with-nul", b"GET / HTTP/1.1\0"),
        ("version-with-bare-cr", b"GET / HTTP/1.1\r"),
        ("version-empty", b"GET / HTTP/"),
        *((f"version-with-another-case-bit-at-{at}", b"GET / " + flipped(b"HTTP/1.1", at))
          for at in range(8)),
    ]:
        yield row(what, line + b"\r\n" + USUAL + b"\r\n", BAD, "RFC 9112 §2.3")
    for what, line in [
        ("version-0.9", b"GET / HTTP/0.9"),
        ("version-2.0", b"GET / HTTP/2.0"),
        ("version-3.0", b"GET / HTTP/3.0"),
        ("version-9.9-with-unknown-method", b"BREW / HTTP/9.9"),
        ("version-2.0-preface", b"PRI * HTTP/2.0"),
    ]:
        yield row(what, line + b"\r\n" + USUAL + b"\r\n", VERSION, "RFC 9110 §15.6.6")
    for what, line, status in [
        ("head-with-unknown-version", b"HEAD / HTTP/2.0", "505 HTTP Version Not Supported"),
        ("head-with-bad-target", b"HEAD nowhere HTTP/1.1", "400 Bad Request"),
    ]:
        yield row(what, line + b"\r\n" + USUAL + b"\r\n",
                  answer(status, TEXT, status.encode() + b"\n", send_body=False),
                  "RFC 9110 §9.3.2")


def flipped(text: bytes, at: int) -> bytes:
    """Returns `text` with bit 0x20, which is the case bit of letters, inverted in one byte."""
    return text[:at] + bytes([text[at] ^ 0x20]) + text[at + 1:]


def line_ends() -> Iterator[Case]:
    """Lines end with CRLF, and one empty line may come first."""
    for what, sent, expect in [
        ("empty-line-first", b"\r\n" + get(), PAGE_ANSWER),
        ("two-empty-lines-first", b"\r\n\r\n" + get(), BAD),
        ("bare-lf-first", b"\n" + get(), BAD),
        ("bare-cr-first", b"\r" + get(), BAD),
        ("lf-after-request-line", b"GET / HTTP/1.1\n" + USUAL + b"\r\n", BAD),
        ("cr-after-request-line", b"GET / HTTP/1.1\r" + USUAL + b"\r\n", BAD),
        ("lf-cr-after-request-line", b"GET / HTTP/1.1\n\r" + USUAL + b"\r\n", BAD),
        ("cr-cr-lf-after-request-line", b"GET / HTTP/1.1\r\r\n" + USUAL + b"\r\n", BAD),
        ("lf-everywhere", get().replace(b"\r\n", b"\n") + b"\r\n\r\n", BAD),
        ("lf-everywhere-then-waits", get().replace(b"\r\n", b"\n"), BAD),
        ("lf-after-fields-then-waits", b"GET / HTTP/1.1\r\nHost: localhost\n\n", BAD),
        ("cr-everywhere", get().replace(b"\r\n", b"\r") + b"\r\n\r\n", BAD),
        ("lf-after-field", get(fields=b"Host: localhost\nX: y\r\n"), BAD),
        ("cr-after-field", get(fields=b"Host: localhost\rX: y\r\n"), BAD),
        ("lf-before-the-end", get(fields=b"Host: localhost\n") + b"\r\n\r\n", BAD),
        ("cr-before-the-end", get(fields=b"Host: localhost\r") + b"\r\n\r\n", BAD),
        ("lf-lf-at-the-end", b"GET / HTTP/1.1\r\nHost: localhost\n\n\r\n\r\n", BAD),
        ("crlf-lf-at-the-end", b"GET / HTTP/1.1\r\nHost: localhost\r\n\n\r\n\r\n", BAD),
        ("cr-cr-lf-after-field", get(fields=b"Host: localhost\r\r\n") + b"\r\n\r\n", BAD),
        ("cr-as-a-field-line", get(fields=HOST + b"\r\r\n"), BAD),
        ("simple-request-of-0.9", b"GET /\r\n\r\n", BAD),
    ]:
        yield row(what, sent, expect, "RFC 9112 §2.2")


def malformed_fields() -> Iterator[Case]:
    for what, fields, reference in [
        ("field-without-colon", b"Nonsense\r\n", "RFC 9112 §5"),
        ("field-of-only-a-colon", b":\r\n", "RFC 9112 §5"),
        ("field-with-empty-name", b": value\r\n", "RFC 9112 §5"),
        ("field-name-then-space", b"X : y\r\n", "RFC 9112 §5.1"),
        ("field-name-then-tab", b"X\t: y\r\n", "RFC 9112 §5.1"),
        ("field-name-with-space", b"X Y: z\r\n", "RFC 9110 §5.1"),
        ("field-name-with-nul", b"X\0: y\r\n", "RFC 9110 §5.1"),
        ("field-name-with-separator", b"X(Y): z\r\n", "RFC 9110 §5.6.2"),
        ("field-name-with-slash", b"X/Y: z\r\n", "RFC 9110 §5.6.2"),
        ("field-name-with-quote", b"\"X\": y\r\n", "RFC 9110 §5.6.2"),
        ("field-name-with-high-byte", b"X\xe9: y\r\n", "RFC 9110 §5.6.2"),
        ("field-name-with-delete", b"X\x7f: y\r\n", "RFC 9110 §5.6.2"),
        ("value-with-nul", b"X: a\0b\r\n", "RFC 9110 §5.5"),
        ("value-with-control", b"X: a\x01b\r\n", "RFC 9110 §5.5"),
        ("value-with-escape", b"X: \x1b[2J\r\n", "RFC 9110 §5.5"),
        ("value-with-delete", b"X: a\x7fb\r\n", "RFC 9110 §5.5"),
        ("value-with-bare-cr", b"X: a\rb\r\n", "RFC 9110 §5.5"),
        ("value-with-bare-lf", b"X: a\nb\r\n", "RFC 9110 §5.5"),
        ("value-ending-with-nul", b"X: a\0\r\n", "RFC 9110 §5.5"),
        ("folded-by-space", b"X: a\r\n b\r\n", "RFC 9112 §5.2"),
        ("folded-by-tab", b"X: a\r\n\tb\r\n", "RFC 9112 §5.2"),
        ("folded-to-empty-line", b"X: a\r\n \r\n", "RFC 9112 §5.2"),
    ]:
        yield row(what, get(fields=USUAL + fields), BAD, reference)
        yield row(what + "-as-first", get(fields=fields + USUAL), BAD, reference)
    yield row("space-before-first-field", get(fields=b" X: y\r\n" + USUAL), BAD,
              "RFC 9112 §2.2")
    yield row("space-before-host", get(fields=b" " + USUAL), BAD, "RFC 9112 §2.2")


def hosts() -> Iterator[Case]:
    for what, fields in [
        ("host-missing", b"Connection: close\r\n"),
        ("host-twice", USUAL + b"Host: elsewhere\r\n"),
        ("host-twice-equal", USUAL + HOST),
        ("host-twice-in-other-case", USUAL + b"hOST: localhost\r\n"),
        ("host-with-space", b"Host: local host\r\n"),
        ("host-with-tab", b"Host: local\thost\r\n"),
        ("host-with-slash", b"Host: localhost/x\r\n"),
        ("host-with-question-mark", b"Host: localhost?x\r\n"),
        ("host-with-hash", b"Host: localhost#x\r\n"),
        ("host-with-user", b"Host: user@localhost\r\n"),
        ("host-with-high-byte", b"Host: caf\xc3\xa9\r\n"),
        ("host-with-quote", b"Host: \"localhost\"\r\n"),
        ("host-with-angle", b"Host: <localhost>\r\n"),
        ("host-with-backslash", b"Host: local\\host\r\n"),
    ]:
        yield row(what, get(fields=fields), BAD, "RFC 9112 §3.2")
    for what, host in [
        ("two-hosts-joined", b"a,b"),
        ("port-without-host", b":80"),
        ("port-out-of-range", b"x:65536"),
        ("port-far-out-of-range", b"x:99999"),
        ("port-of-many-digits", b"x:18446744073709551696"),
        ("port-with-a-letter", b"x:8o"),
        ("port-with-a-sign", b"x:+80"),
        ("two-ports", b"x:1:2"),
        ("two-colons", b"x::80"),
        ("v6-not-closed", b"[::1"),
        ("v6-not-opened", b"::1]"),
        ("v6-without-brackets", b"::1"),
        ("v6-empty", b"[]"),
        ("v6-with-invalid-letter", b"[::g]"),
        ("v6-in-two-brackets", b"[[::1]]"),
        ("v6-then-a-name", b"[::1]x"),
        ("v6-with-a-port-out-of-range", b"[::1]:65536"),
        ("brackets-in-a-name", b"x[::1]"),
    ]:
        yield row(f"host-{what}", get(fields=b"Host: " + host + b"\r\n"), BAD,
                  "RFC 9110 §7.2, RFC 3986 §3.2.2, §3.2.3")
        yield row(f"absolute-form-{what}", get(b"http://" + host + b"/"), BAD,
                  "RFC 9110 §4.2.1, RFC 3986 §3.2.2, §3.2.3")
    yield row("host-twice-in-1.0", get(fields=HOST + HOST, version=b"HTTP/1.0"), BAD,
              "RFC 9112 §3.2")
    yield row("host-missing-with-absolute-form",
              get(b"http://localhost/", b"Connection: close\r\n"), BAD, "RFC 9112 §3.2")


def expectations() -> Iterator[Case]:
    asks = USUAL + b"Expect: 100-continue\r\n"
    reference = "RFC 9110 §10.1.1"
    head = post(b"", fields=asks, length=b"5")
    full = echoed(b"hello")
    for what, sent, expect in [
        ("expect-waits-for-continue", (head, Await(CONTINUE), b"hello"), CONTINUE + full),
        ("expect-in-other-case", (head.replace(b"100-c", b"100-C"), Await(CONTINUE), b"hello"),
         CONTINUE + full),
        ("expect-with-body-at-once", post(b"hello", fields=asks), (full, CONTINUE + full)),
        ("expect-in-1.0-is-ignored",
         (head.replace(b"HTTP/1.1", b"HTTP/1.0"), Pause(0.02), b"hello"), full),
        ("expect-unknown", get(fields=USUAL + b"Expect: a-miracle\r\n"), EXPECTATION),
        ("expect-twice", post(b"hello", fields=asks + b"Expect: 100-continue\r\n"),
         (EXPECTATION, full, CONTINUE + full)),
        ("expect-after-an-empty-element",
         (head.replace(b"100-c", b" , 100-c"), Await(CONTINUE), b"hello"), CONTINUE + full),
        ("expect-twice-first-is-other",
         post(b"hello", fields=USUAL + b"Expect: x\r\nExpect: 100-continue\r\n"), EXPECTATION),
        ("expect-twice-last-is-other", post(b"hello", fields=asks + b"Expect: x\r\n"),
         EXPECTATION),
        ("expect-a-list", post(b"hello", fields=USUAL + b"Expect: 100-continue, x\r\n"),
         EXPECTATION),
        ("expect-empty", get(fields=USUAL + b"Expect:\r\n"), PAGE_ANSWER),
        ("expect-empty-elements", get(fields=USUAL + b"Expect: , ,\r\n"), PAGE_ANSWER),
        ("expect-refused-before-continue", post(b"", fields=asks, length=b"5x"), BAD),
        ("expect-with-length-over-limit", post(b"", fields=asks, length=b"10485761"), TOO_LARGE),
    ]:
        yield row(what, sent, expect, reference)  # type: ignore[arg-type]


CHECKS = (group("framing", "malformed requests", cases),)
