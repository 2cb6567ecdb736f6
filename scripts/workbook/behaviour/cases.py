"""The table: what is sent, what must come back, from which level on, and who says so.

Every request that is answered with 200 asks for `Connection: close`, so that the same bytes are
expected from a server that keeps connections alive. A case that is only true of servers that
never do ends with `until`.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from functools import cache

from workbook.behaviour import alone, kept
from workbook.behaviour.client import Await, HalfClose, Pause, Vanish
from workbook.behaviour.rows import (
    BAD,
    BODIES,
    CHECKS,
    CONNECTIONS,
    CONTINUE,
    CUTS,
    EXPECTATION,
    FIELDS_TOO_LARGE,
    FRAMING,
    HOST,
    LENGTH_REQUIRED,
    LIMITS,
    LONG,
    MAX_BODY,
    MAX_FIELDS,
    MAX_LINE,
    MIB,
    NEXT,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    NO_ANSWER,
    PAGE,
    PAGE_ANSWER,
    PAGE_HEAD,
    REQUESTS,
    SMUGGLING,
    TEXT,
    THREADS,
    TINY,
    TOO_LARGE,
    URI_TOO_LONG,
    USUAL,
    VERSION,
    Case,
    answer,
    bytewise,
    echoed,
    get,
    noise,
    post,
    refusal,
    row,
    sunk,
)


def requests() -> Iterator[Case]:
    """Routes, methods and versions that must be understood."""
    absolute = b"http://localhost:8080/"
    for what, sent, expect, reference in [
        ("page", get(), PAGE_ANSWER, "RFC 9110 §9.3.1"),
        ("page-head", b"HEAD / HTTP/1.1\r\n" + USUAL + b"\r\n", PAGE_HEAD, "RFC 9110 §9.3.2"),
        ("page-with-query", get(b"/?x=1&y=%20"), PAGE_ANSWER, "RFC 9112 §3.2.1"),
        ("page-with-empty-query", get(b"/?"), PAGE_ANSWER, "RFC 3986 §3.4"),
        ("page-with-odd-query", get(b"/?a=/echo?b//'\"<>[]{}|\\^`"), PAGE_ANSWER,
         "RFC 9112 §3.2.1"),
        ("page-absolute-form", get(absolute), PAGE_ANSWER, "RFC 9112 §3.2.2"),
        ("page-absolute-form-query", get(absolute + b"?x=1"), PAGE_ANSWER, "RFC 9112 §3.2.2"),
        ("page-absolute-form-other-host", get(b"http://elsewhere.example/"), PAGE_ANSWER,
         "RFC 9112 §3.2.2"),
        ("echo-absolute-form", post(b"hello", b"http://localhost/echo"), echoed(b"hello"),
         "RFC 9112 §3.2.2"),
        ("page-ignores-its-body", b"GET / HTTP/1.1\r\n" + USUAL + b"Content-Length: 5\r\n\r\nhello",
         PAGE_ANSWER, "RFC 9110 §9.3.1"),
        ("echo", post(b"hello"), echoed(b"hello"), "RFC 9110 §9.3.3"),
        ("echo-with-query", post(b"hello", b"/echo?x=1"), echoed(b"hello"), "RFC 9112 §3.2.1"),
        ("echo-without-length", b"POST /echo HTTP/1.1\r\n" + USUAL + b"\r\n", echoed(b""),
         "RFC 9112 §6.3"),
        ("sink", post(b"hello", b"/sink"), sunk(5), "RFC 9110 §9.3.3"),
        ("sink-without-length", b"POST /sink HTTP/1.1\r\n" + USUAL + b"\r\n", sunk(0),
         "RFC 9112 §6.3"),
        ("unknown-path", get(b"/nowhere"), NOT_FOUND, "RFC 9110 §15.5.5"),
        ("path-is-case-sensitive", post(b"hello", b"/Echo"), NOT_FOUND, "RFC 9110 §4.2.3"),
        ("path-longer-than-a-route", post(b"hello", b"/echo/"), NOT_FOUND, "RFC 9110 §15.5.5"),
        ("path-shorter-than-a-route", post(b"hello", b"/ech"), NOT_FOUND, "RFC 9110 §15.5.5"),
        ("path-is-not-decoded", post(b"hello", b"/%65cho"), NOT_FOUND, "RFC 9110 §15.5.5"),
        ("path-double-slash", get(b"//"), NOT_FOUND, "RFC 9110 §15.5.5"),
        ("path-of-a-method-name", get(b"/GET"), NOT_FOUND, "RFC 9112 §3"),
        ("path-of-a-version", get(b"/HTTP/1.1"), NOT_FOUND, "RFC 9112 §3"),
        ("get-echo", get(b"/echo"), NOT_FOUND, "RFC 9110 §15.5.5"),
        ("post-page", post(b"hello", b"/"), NOT_FOUND, "RFC 9110 §15.5.5"),
        ("not-found-takes-its-body", post(noise(100_000), b"/nowhere"), NOT_FOUND,
         "RFC 9112 §6.3"),
        ("head-unknown-path", b"HEAD /nowhere HTTP/1.1\r\n" + USUAL + b"\r\n",
         answer("404 Not Found", TEXT, b"404 Not Found\n", send_body=False), "RFC 9110 §9.3.2"),
        ("version-1.0", get(fields=b"", version=b"HTTP/1.0"), PAGE_ANSWER, "RFC 9112 §2.3"),
        ("version-1.0-with-host", get(fields=HOST, version=b"HTTP/1.0"), PAGE_ANSWER,
         "RFC 9112 §2.3"),
        ("version-1.0-echo", b"POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
         echoed(b"hello"), "RFC 9112 §6.3"),
    ]:
        yield row(REQUESTS, what, sent, expect, reference)
    for method in (b"PUT", b"DELETE", b"OPTIONS", b"PATCH"):
        sent = method + b" / HTTP/1.1\r\n" + USUAL + b"\r\n"
        yield row(REQUESTS, f"known-method-{method.decode().lower()}", sent, NOT_FOUND,
                  "RFC 9110 §9.1")
    for method in (b"CONNECT", b"TRACE", b"BREW", b"get", b"Get", b"GETS", b"GE", b"PROPFIND",
                   b"G!#$%&'*+-.^_`|~9", b"A" * 40):
        sent = method + b" / HTTP/1.1\r\n" + USUAL + b"\r\n"
        yield row(REQUESTS, f"unknown-method-{method.decode()}", sent, NOT_IMPLEMENTED,
                  "RFC 9110 §9.1")
    yield from accepted_fields()


def accepted_fields() -> Iterator[Case]:
    """Fields that look odd and are right."""
    for what, fields in [
        ("names-in-upper-case", b"CONTENT-LENGTH: 5\r\n"),
        ("names-in-mixed-case", b"cOnTeNt-lEnGtH: 5\r\n"),
        ("no-space-after-colon", b"Content-Length:5\r\n"),
        ("much-space-after-colon", b"Content-Length: \t  \t5\r\n"),
        ("space-after-value", b"Content-Length: 5 \t \r\n"),
        ("length-with-leading-zeros", b"Content-Length: 0005\r\n"),
        ("empty-value", b"X-Empty:\r\nContent-Length: 5\r\n"),
        ("value-of-spaces", b"X-Empty:  \t \r\nContent-Length: 5\r\n"),
        ("value-with-colons", b"X: a:b: c::\r\nContent-Length: 5\r\n"),
        ("value-with-tab", b"X: a\tb\r\nContent-Length: 5\r\n"),
        ("value-with-obs-text", b"X: caf\xc3\xa9 \x80\xff\r\nContent-Length: 5\r\n"),
        ("name-of-every-token-character",
         b"!#$%&'*+-.^_`|~09azAZ: x\r\nContent-Length: 5\r\n"),
        ("name-of-one-character", b"X: y\r\nContent-Length: 5\r\n"),
        ("repeated-unknown-field", b"X: 1\r\nX: 2\r\nX: 3\r\nContent-Length: 5\r\n"),
        ("name-that-starts-like-another", b"Content-Length-X: 9\r\nContent-Length: 5\r\n"),
        ("name-that-ends-like-another", b"X-Content-Length: 9\r\nContent-Length: 5\r\n"),
        ("value-that-looks-like-a-field", b"X: Content-Length: 9\r\nContent-Length: 5\r\n"),
        ("underscore-is-not-a-dash",
         b"Content_Length: 9\r\nTransfer_Encoding: chunked\r\nContent-Length: 5\r\n"),
        ("thirty-fields", b"".join(b"X-%d: %d\r\n" % (i, i) for i in range(30))
         + b"Content-Length: 5\r\n"),
    ]:
        sent = b"POST /echo HTTP/1.1\r\n" + USUAL + fields + b"\r\nhello"
        yield row(REQUESTS, what, sent, echoed(b"hello"), "RFC 9110 §5.1, §5.5")
    for what, host in [
        ("host-with-port", b"example.com:8080"),
        ("host-v4", b"127.0.0.1:80"),
        ("host-v6", b"[::1]:8080"),
        ("host-with-percent", b"ex%41mple.com"),
        ("host-empty", b""),
    ]:
        fields = b"host:" + host + b"\r\nConnection: close\r\n"
        yield row(REQUESTS, what, get(fields=fields), PAGE_ANSWER, "RFC 9112 §3.2")


def framing() -> Iterator[Case]:
    """What is not HTTP, or not a version or an expectation that we know."""
    for what, line in [
        ("no-version", b"GET /"),
        ("no-version-but-space", b"GET / "),
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
    ]:
        yield row(FRAMING, what, line + b"\r\n" + USUAL + b"\r\n", BAD, "RFC 9112 §3")
    for what, line in [
        ("version-0.9", b"GET / HTTP/0.9"),
        ("version-1.2", b"GET / HTTP/1.2"),
        ("version-2.0", b"GET / HTTP/2.0"),
        ("version-3.0", b"GET / HTTP/3.0"),
        ("version-9.9-of-unknown-method", b"BREW / HTTP/9.9"),
        ("version-2.0-preface", b"PRI * HTTP/2.0"),
    ]:
        yield row(FRAMING, what, line + b"\r\n" + USUAL + b"\r\n", VERSION, "RFC 9110 §15.6.6")
    yield from line_ends()
    yield from malformed_fields()
    yield from hosts()
    yield from expectations()


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
        yield row(FRAMING, what, sent, expect, "RFC 9112 §2.2")


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
        ("folded-to-nothing", b"X: a\r\n \r\n", "RFC 9112 §5.2"),
    ]:
        yield row(FRAMING, what, get(fields=USUAL + fields), BAD, reference)
        yield row(FRAMING, what + "-as-first", get(fields=fields + USUAL), BAD, reference)
    yield row(FRAMING, "space-before-first-field", get(fields=b" X: y\r\n" + USUAL), BAD,
              "RFC 9112 §2.2")
    yield row(FRAMING, "space-before-host", get(fields=b" " + USUAL), BAD, "RFC 9112 §2.2")


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
        yield row(FRAMING, what, get(fields=fields), BAD, "RFC 9112 §3.2")
    yield row(FRAMING, "host-twice-in-1.0", get(fields=HOST + HOST, version=b"HTTP/1.0"), BAD,
              "RFC 9112 §3.2")
    yield row(FRAMING, "host-missing-with-absolute-form",
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
        ("expect-something-else", get(fields=USUAL + b"Expect: a-miracle\r\n"), EXPECTATION),
        ("expect-twice", post(b"hello", fields=asks + b"Expect: 100-continue\r\n"), EXPECTATION),
        ("expect-twice-first-is-other",
         post(b"hello", fields=USUAL + b"Expect: x\r\nExpect: 100-continue\r\n"), EXPECTATION),
        ("expect-twice-last-is-other", post(b"hello", fields=asks + b"Expect: x\r\n"),
         EXPECTATION),
        ("expect-a-list", post(b"hello", fields=USUAL + b"Expect: 100-continue, x\r\n"),
         EXPECTATION),
        ("expect-empty", get(fields=USUAL + b"Expect:\r\n"), EXPECTATION),
        ("expect-refused-before-continue", post(b"", fields=asks, length=b"5x"), BAD),
        ("expect-too-much", post(b"", fields=asks, length=b"10485761"), TOO_LARGE),
    ]:
        yield row(FRAMING, what, sent, expect, reference)


def limits() -> Iterator[Case]:
    """Each limit held exactly: at it served, one byte further refused."""
    yield from line_limits()
    yield from field_limits()
    reference = "RFC 9110 §15.5.14"
    over = str(MAX_BODY + 1).encode()
    for what, length in [
        ("length-over", over),
        ("length-over-with-leading-zeros", b"000" + over),
        ("length-far-over", b"99999999999"),
        ("length-2^31", str(1 << 31).encode()),
        ("length-2^32+5", str((1 << 32) + 5).encode()),
        ("length-2^63", str(1 << 63).encode()),
        ("length-2^64+5", str((1 << 64) + 5).encode()),
        ("length-of-1000-digits", b"9" * 1000),
        ("length-of-60000-digits", b"1" + b"0" * 59_999),
    ]:
        yield row(LIMITS, what, post(b"", length=length) + b"hello", TOO_LARGE, reference)
    yield row(LIMITS, "length-of-1000-zeros", post(b"hello", length=b"0" * 1000 + b"5"),
              echoed(b"hello"), "RFC 9110 §8.6")
    yield row(LIMITS, "length-over-of-a-get",
              get(fields=USUAL + b"Content-Length: " + over + b"\r\n"), TOO_LARGE, reference)
    yield row(LIMITS, "body-of-10-MiB", post(noise(MAX_BODY), b"/sink"), sunk(MAX_BODY), reference)
    yield row(LIMITS, "body-over-already-sent",
              (post(b"", length=over) + noise(65_536), Pause(0.02)), TOO_LARGE, reference)
    many = b"X-Large-Header: " + b"h" * 60_000 + b"\r\n"
    yield row(LIMITS, "large-fields-and-large-body", post(noise(MIB), b"/sink", USUAL + many),
              sunk(MIB), "RFC 6585 §5")


def line_limits() -> Iterator[Case]:
    def line(size: int, start: bytes = b"GET /?") -> bytes:
        end = b" HTTP/1.1"
        return start + b"q" * (size - len(start) - len(end)) + end

    rest = b"\r\n" + USUAL + b"\r\n"
    reference = "RFC 9112 §3, RFC 9110 §15.5.15"
    for what, sent, expect in [
        ("request-line-at", line(MAX_LINE) + rest, PAGE_ANSWER),
        ("request-line-at-of-unknown-path", line(MAX_LINE, b"GET /p") + rest, NOT_FOUND),
        ("request-line-at-after-empty-line", b"\r\n" + line(MAX_LINE) + rest, PAGE_ANSWER),
        ("request-line-at-cut-before-crlf", (line(MAX_LINE), TINY, rest), PAGE_ANSWER),
        ("request-line-at-cut-in-crlf", (line(MAX_LINE) + rest[:1], TINY, rest[1:]), PAGE_ANSWER),
        ("request-line-over", line(MAX_LINE + 1) + rest, URI_TOO_LONG),
        ("request-line-over-after-empty-line", b"\r\n" + line(MAX_LINE + 1) + rest, URI_TOO_LONG),
        ("request-line-over-cut", (line(MAX_LINE + 1)[:-20], TINY,
                                   line(MAX_LINE + 1)[-20:] + rest), URI_TOO_LONG),
        ("request-line-over-with-bad-version", line(MAX_LINE + 1)[:-1] + b"x" + rest,
         URI_TOO_LONG),
        ("request-line-endless", b"GET /" + b"a" * 9000, URI_TOO_LONG),
        ("request-line-endless-method", b"A" * 9000, URI_TOO_LONG),
        ("request-line-of-64-KiB", line(65_536) + rest, URI_TOO_LONG),
    ]:
        yield row(LIMITS, what, sent, expect, reference)


def field_limits() -> Iterator[Case]:
    def section(size: int, name: bytes = b"X: ") -> bytes:
        return USUAL + name + b"v" * (size - len(USUAL) - len(name) - 2) + b"\r\n"

    def many(size: int, line: bytes) -> bytes:
        names = string.ascii_letters.encode()
        count, rest = divmod(size - len(USUAL), 1 + len(line))
        lines = [names[i % len(names):][:1] + line for i in range(count)]
        return USUAL + b"".join(lines[:-1]) + lines[-1][:-2] + b"v" * rest + b"\r\n"

    start = b"GET / HTTP/1.1\r\n"
    head = start + section(MAX_FIELDS) + b"\r\n"
    long_line = b"GET /?" + b"q" * (MAX_LINE - 15) + b" HTTP/1.1\r\n"
    name = b"N" * (MAX_FIELDS - len(USUAL) - 5) + b": v\r\n"
    for what, sent, expect in [
        ("fields-at", head, PAGE_ANSWER),
        ("fields-at-after-a-line-at", long_line + section(MAX_FIELDS) + b"\r\n", PAGE_ANSWER),
        ("fields-at-of-one-name", start + USUAL + name + b"\r\n", PAGE_ANSWER),
        ("fields-at-of-many-lines", start + many(MAX_FIELDS, b": v\r\n") + b"\r\n", PAGE_ANSWER),
        ("fields-at-of-shortest-lines", start + many(MAX_FIELDS, b":\r\n") + b"\r\n",
         PAGE_ANSWER),
        ("fields-at-with-a-body", b"POST /sink HTTP/1.1\r\nContent-Length: 70000\r\n"
         + section(MAX_FIELDS - len(b"Content-Length: 70000\r\n")) + b"\r\n" + noise(70_000),
         sunk(70_000)),
        *((f"fields-at-cut-{cut}-before-the-end", (head[:-cut], TINY, head[-cut:]), PAGE_ANSWER)
          for cut in range(1, 6)),
        ("fields-over", start + section(MAX_FIELDS + 1) + b"\r\n", FIELDS_TOO_LARGE),
        ("fields-over-of-many-lines", start + many(MAX_FIELDS + 1, b": v\r\n") + b"\r\n",
         FIELDS_TOO_LARGE),
        ("fields-over-cut", (start + section(MAX_FIELDS + 1)[:-9], TINY,
                             section(MAX_FIELDS + 1)[-9:] + b"\r\n"), FIELDS_TOO_LARGE),
        ("fields-endless-value", start + HOST + b"X: " + b"v" * 70_000, FIELDS_TOO_LARGE),
        ("fields-endless-lines", start + HOST + b"X: y\r\n" * 12_000, FIELDS_TOO_LARGE),
        ("fields-of-128-KiB", start + section(131_072) + b"\r\n", FIELDS_TOO_LARGE),
    ]:
        yield row(LIMITS, what, sent, expect, "RFC 6585 §5")


def smuggling() -> Iterator[Case]:
    """What two servers in a row could read in two ways: refused, and nothing after it served."""
    yield from lengths()
    yield from encodings()
    for what, fields in [
        ("both-cl-first", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        ("both-te-first", b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        ("both-te-unknown", b"Content-Length: 5\r\nTransfer-Encoding: identity\r\n"),
        ("both-te-empty", b"Content-Length: 5\r\nTransfer-Encoding:\r\n"),
        ("both-te-in-other-case", b"Content-Length: 5\r\ntRANSFER-eNCODING: chunked\r\n"),
        ("both-cl-zero", b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"),
        ("both-cl-too-large", b"Content-Length: 99999999999\r\nTransfer-Encoding: chunked\r\n"),
    ]:
        yield row(SMUGGLING, what, smuggled(fields), BAD, "RFC 9112 §6.3, §11.2")


def smuggled(fields: bytes, body: bytes = b"0\r\n\r\n") -> bytes:
    return b"POST /echo HTTP/1.1\r\n" + USUAL + fields + b"\r\n" + body + NEXT


def lengths() -> Iterator[Case]:
    """Content-Length is one row of digits, once."""
    for what, value in [
        ("empty", b""),
        ("of-spaces", b"  "),
        ("plus", b"+5"),
        ("minus", b"-5"),
        ("minus-zero", b"-0"),
        ("hexadecimal", b"0x5"),
        ("hexadecimal-digit", b"a"),
        ("octal-prefix", b"0o5"),
        ("decimal-point", b"5.0"),
        ("exponent", b"5e0"),
        ("trailing-letters", b"5abc"),
        ("trailing-semicolon", b"5;"),
        ("trailing-comma", b"5,"),
        ("leading-comma", b",5"),
        ("leading-letter", b"x5"),
        ("two-numbers", b"5 5"),
        ("inner-tab", b"5\t5"),
        ("list-of-equal", b"5, 5"),
        ("list-of-equal-no-space", b"5,5"),
        ("list-of-different", b"5, 6"),
        ("quoted", b"\"5\""),
        ("underscore", b"1_0"),
        ("inner-nul", b"5\x000"),
        ("trailing-nul", b"5\0"),
        ("vertical-tab", b"\x0b5"),
        ("form-feed", b"5\x0c"),
        ("no-break-space", b"5\xa0"),
        ("fullwidth-digit", "５".encode()),
        ("huge-then-junk", b"9" * 40 + b"x"),
        ("junk-then-huge", b"x" + b"9" * 40),
    ]:
        fields = b"Content-Length: " + value + b"\r\n"
        yield row(SMUGGLING, f"cl-{what}", smuggled(fields), BAD, "RFC 9110 §8.6, RFC 9112 §6.3")
    for what, fields in [
        ("cl-twice-equal", b"Content-Length: 5\r\nContent-Length: 5\r\n"),
        ("cl-twice-different", b"Content-Length: 5\r\nContent-Length: 6\r\n"),
        ("cl-twice-zero-first", b"Content-Length: 0\r\nContent-Length: 5\r\n"),
        ("cl-twice-in-other-case", b"Content-Length: 5\r\nCONTENT-LENGTH: 5\r\n"),
        ("cl-twice-apart", b"Content-Length: 5\r\nX: y\r\nContent-Length: 5\r\n"),
        ("cl-twice-second-empty", b"Content-Length: 5\r\nContent-Length:\r\n"),
        ("cl-name-then-space", b"Content-Length : 5\r\n"),
        ("cl-name-then-tab", b"Content-Length\t: 5\r\n"),
        ("cl-name-then-nul", b"Content-Length\0: 5\r\n"),
        ("cl-after-space", b" Content-Length: 5\r\n"),
        ("cl-folded", b"Content-Length:\r\n 5\r\n"),
        ("cl-folded-digits", b"Content-Length: 5\r\n 0\r\n"),
        ("cl-behind-bare-cr", b"X: y\rContent-Length: 5\r\n"),
        ("cl-behind-bare-lf", b"X: y\nContent-Length: 5\r\n"),
        ("cl-behind-nul", b"X: y\0Content-Length: 5\r\n"),
        ("cl-without-colon", b"Content-Length 5\r\n"),
    ]:
        yield row(SMUGGLING, what, smuggled(fields), BAD, "RFC 9112 §5.1, §6.3")


def encodings() -> Iterator[Case]:
    """Transfer-Encoding: we read no coding, so every request that has one is refused."""
    te = b"Transfer-Encoding: "
    for what, fields, expect in [
        ("te-chunked", te + b"chunked", LENGTH_REQUIRED),
        ("te-chunked-after-tab", b"Transfer-Encoding:\tchunked", LENGTH_REQUIRED),
        ("te-chunked-then-space", te + b"chunked \t ", LENGTH_REQUIRED),
        ("te-name-in-other-case", b"TRANSFER-ENCODING: chunked", LENGTH_REQUIRED),
        ("te-identity", te + b"identity", NOT_IMPLEMENTED),
        ("te-gzip-chunked", te + b"gzip, chunked", NOT_IMPLEMENTED),
        ("te-chunked-identity", te + b"chunked, identity", NOT_IMPLEMENTED),
        ("te-chunked-chunked", te + b"chunked, chunked", NOT_IMPLEMENTED),
        ("te-chunked-comma", te + b"chunked,", NOT_IMPLEMENTED),
        ("te-comma-chunked", te + b", chunked", NOT_IMPLEMENTED),
        ("te-xchunked", te + b"xchunked", NOT_IMPLEMENTED),
        ("te-chunkedx", te + b"chunkedx", NOT_IMPLEMENTED),
        ("te-quoted", te + b"\"chunked\"", NOT_IMPLEMENTED),
        ("te-chunked-with-parameter", te + b"chunked;q=1", NOT_IMPLEMENTED),
        ("te-empty", b"Transfer-Encoding:", NOT_IMPLEMENTED),
        ("te-chunked-in-other-case", te + b"Chunked", (LENGTH_REQUIRED, NOT_IMPLEMENTED)),
        ("te-twice", te + b"chunked\r\n" + te + b"chunked", (BAD, NOT_IMPLEMENTED)),
        ("te-twice-unknown-first", te + b"x\r\n" + te + b"chunked", (BAD, NOT_IMPLEMENTED)),
        ("te-twice-unknown-last", te + b"chunked\r\n" + te + b"x", (BAD, NOT_IMPLEMENTED)),
        ("te-inner-space", te + b"chunk ed", NOT_IMPLEMENTED),
        ("te-no-break-space", te + b"\xa0chunked", NOT_IMPLEMENTED),
        ("te-vertical-tab", te + b"\x0bchunked", BAD),
        ("te-form-feed", te + b"chunked\x0c", BAD),
        ("te-nul", te + b"chunked\0", BAD),
        ("te-bare-cr", te + b"\rchunked", BAD),
        ("te-name-then-space", b"Transfer-Encoding : chunked", BAD),
        ("te-name-then-tab", b"Transfer-Encoding\t: chunked", BAD),
        ("te-name-then-nul", b"Transfer-Encoding\0: chunked", BAD),
        ("te-after-space", b" Transfer-Encoding: chunked", BAD),
        ("te-folded", b"Transfer-Encoding:\r\n chunked", BAD),
        ("te-folded-value", te + b"x\r\n chunked", BAD),
        ("te-behind-bare-lf", b"X: y\nTransfer-Encoding: chunked", BAD),
        ("te-behind-bare-cr", b"X: y\rTransfer-Encoding: chunked", BAD),
    ]:
        yield row(SMUGGLING, what, smuggled(fields + b"\r\n"), expect, "RFC 9112 §6.1, §11.2")
    old = b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield row(SMUGGLING, "te-in-1.0", old, BAD, "RFC 9112 §6.1")
    yield row(SMUGGLING, "te-of-a-get", get(fields=USUAL + te + b"chunked\r\n") + NEXT,
              LENGTH_REQUIRED, "RFC 9112 §6.1")


def bodies() -> Iterator[Case]:
    """Whatever the bytes and however many, they come back as they went."""
    reference = "RFC 9112 §6.2"
    for size in (0, 1, 2, 4095, 4096, 4097, 16_384, 65_535, 65_536, 65_537, MIB):
        yield row(BODIES, f"echo-{size}", post(noise(size)), echoed(noise(size)), reference)
    for size in (0, 1, 65_537, MIB):
        yield row(BODIES, f"sink-{size}", post(noise(size), b"/sink"), sunk(size), reference)
    for what, body in [
        ("nuls", bytes(3000)),
        ("every-byte", bytes(range(256)) * 4),
        ("empty-lines", b"\r\n\r\n" * 500),
        ("a-request", get()),
        ("an-answer", PAGE_ANSWER),
        ("high-bytes", b"\xff" * 3000),
    ]:
        yield row(BODIES, f"echo-of-{what}", post(body), echoed(body), reference)
    for total in (4095, 4096, 4097):
        body = noise(total - len(post(b"", length=b"1234")))
        yield row(BODIES, f"request-of-{total}", post(body), echoed(body), reference)
    body = noise(50_000)
    pieces = [body[i:i + 1000] for i in range(0, len(body), 1000)]
    head = post(b"", length=b"50000")
    yield row(BODIES, "echo-after-its-head", (head, TINY, body), echoed(body), reference)
    yield row(BODIES, "echo-in-pieces", (head, *(s for p in pieces for s in (p, Pause(0.0005)))),
              echoed(body), reference)
    yield row(BODIES, "echo-last-byte-late", (head + body[:-1], TINY, body[-1:]), echoed(body),
              reference)
    yield row(BODIES, "echo-after-a-long-pause", (head + body[:-1], LONG, body[-1:]),
              echoed(body), reference)
    late = noise(300_000)
    yield row(BODIES, "echo-to-a-late-reader", (post(late), LONG), echoed(late), "tcp(7)",
              narrow=True)
    large = noise(MAX_BODY)  # not before level 3: one byte a system call takes ten seconds
    yield row(BODIES, "echo-10-MiB-to-a-late-reader", (post(large), LONG), echoed(large),
              "tcp(7)", level=3)


def cuts() -> Iterator[Case]:
    """A request is a request wherever the network cuts it."""
    body = b"a\r\n\r\n\0b"
    for what, sent, expect in [
        ("get", get(b"/?x=1"), PAGE_ANSWER),
        ("post", post(body, fields=USUAL + b"X-Note: y\r\n"), echoed(body)),
        ("bad", get(fields=HOST + b"Content-Length: 5x\r\n"), BAD),
        ("spaced", b"\r\n" + get(fields=b"Host:\tlocalhost \r\nConnection: close\r\n"),
         PAGE_ANSWER),
    ]:
        for at in range(1, len(sent)):
            yield row(CUTS, f"{what}-at-{at:03}", (sent[:at], TINY, sent[at:]), expect,
                      "RFC 9112 §2.1")
        yield row(CUTS, f"{what}-byte-by-byte", bytewise(sent), expect, "RFC 9112 §2.1")
    sent = get()
    yield row(CUTS, "get-after-a-long-pause", (sent[:20], LONG, sent[20:]), PAGE_ANSWER,
              "RFC 9112 §2.1")
    size = len(body) + 2
    sent = post(noise(size))
    thirds = [(sent[:a], TINY, sent[a:a + 3], TINY, sent[a + 3:])
              for a in range(sent.index(b"\r\n\r\n") - 3, sent.index(b"\r\n\r\n") + 5)]
    for number, steps in enumerate(thirds):
        yield row(CUTS, f"post-twice-around-the-end-{number}", steps, echoed(noise(size)),
                  "RFC 9112 §2.1")


def connections() -> Iterator[Case]:
    """Clients that stop half-way, say too much or go without a word."""
    big = post(noise(MIB))
    tear_down, message = "RFC 9112 §9.6", "RFC 9112 §8"
    for what, steps, expect, reference in [
        ("half-close-after-get", (get(), HalfClose()), PAGE_ANSWER, tear_down),
        ("half-close-after-post", (post(noise(5000)), HalfClose()), echoed(noise(5000)),
         tear_down),
        ("half-close-before-anything", (HalfClose(),), NO_ANSWER, message),
        ("half-close-in-request-line", (b"GET / HT", HalfClose()), NO_ANSWER, message),
        ("half-close-after-request-line", (b"GET / HTTP/1.1\r\n", HalfClose()), NO_ANSWER,
         message),
        ("half-close-in-fields", (get()[:-2], HalfClose()), NO_ANSWER, message),
        ("half-close-in-body", (post(b"hell", length=b"5"), HalfClose()), NO_ANSWER, message),
        ("half-close-before-body", (post(b"", length=b"5"), HalfClose()), NO_ANSWER, message),
        ("empty-line-then-half-close", (b"\r\n", HalfClose()), NO_ANSWER, message),
        ("one-byte-too-many", (get() + b"x", Pause(0.02)), PAGE_ANSWER, tear_down),
        ("echo-and-one-byte-too-many", (post(b"hello") + b"x", Pause(0.02)), echoed(b"hello"),
         tear_down),
        ("next-request-after-close", (get() + NEXT, Pause(0.02)), PAGE_ANSWER, "RFC 9112 §9.6"),
        ("junk-after-request", (get() + noise(65_536), Pause(0.02)), PAGE_ANSWER, tear_down),
        ("junk-in-its-own-piece", (get(), Await(PAGE), b"junk", Pause(0.01)), PAGE_ANSWER,
         tear_down),
        ("much-junk-after-request", (get() + noise(MIB), Pause(0.02)), PAGE_ANSWER, tear_down),
        ("junk-after-refusal", (get(fields=b"") + noise(65_536), Pause(0.02)), BAD, tear_down),
        ("junk-after-endless-line", (b"A" * 300_000, Pause(0.02)), URI_TOO_LONG, tear_down),
        ("body-after-refusal", (post(noise(MIB), fields=b""), Pause(0.02)), BAD, tear_down),
    ]:
        yield row(CONNECTIONS, what, steps, expect, reference)
    yield row(CONNECTIONS, "next-request-is-ignored", get(fields=HOST) + NEXT, PAGE_ANSWER,
              "RFC 9112 §9.3", until=4)
    ok = b"HTTP/1.1 200 OK"
    for what, steps in [
        ("before-anything", (Vanish(),)),
        ("in-request-line", (b"GET / HT", Vanish())),
        ("in-fields", (get()[:-2], Vanish())),
        ("in-body", (post(noise(1000), length=b"2000"), Vanish())),
        ("before-its-answer", (big, Vanish())),
        ("in-its-answer", (big, Await(ok), Vanish())),
        ("after-half-close", (big, HalfClose(), Vanish())),
        ("in-its-answer-after-half-close", (big, HalfClose(), Await(ok), Vanish())),
        ("after-request", (get(), Vanish())),
        ("waiting-for-continue", (post(b"", fields=USUAL + b"Expect: 100-continue\r\n",
                                       length=b"5"), Await(CONTINUE), Vanish())),
    ]:
        yield row(CONNECTIONS, f"another-vanishes-{what}", get(), PAGE_ANSWER, "tcp(7)",
                  neighbours=(steps,) * 3)
    yield row(CONNECTIONS, "another-closes-without-a-word", get(), PAGE_ANSWER, "tcp(7)",
              neighbours=((HalfClose(),),) * 8)
    yield row(CONNECTIONS, "forty-at-once", post(noise(3000)), echoed(noise(3000)), "listen(2)",
              copies=40, enough=40)


def threads() -> Iterator[Case]:
    """With four threads, those that wait for a slow client must not hold up the others.

    The kernel deals new connections out to the listeners by a hash of their addresses, so a few
    of many always land behind the slow client; most must not.
    """
    body = noise(3000)
    for what, neighbours, enough in [
        ("silent-client", [b""], 8),
        ("client-silent-in-request-line", [b"GET / HT"], 8),
        ("client-silent-in-fields", [get()[:-2]], 8),
        ("client-silent-in-body", [post(body[:-1], length=b"3000")], 8),
        ("client-that-does-not-close", [get()], 8),
        ("two-silent-clients", [b"", b"POST"], 3),
    ]:
        yield row(THREADS, what, post(body), echoed(body), "socket(7), SO_REUSEPORT", level=4,
                  neighbours=tuple((sent, Pause(0.05)) for sent in neighbours), copies=24,
                  enough=enough, timeout_s=3.0)


@cache
def table() -> tuple[Case, ...]:
    """Every case, in the order of CHECKS."""
    groups = (requests, framing, limits, smuggling, bodies, cuts, connections, threads, kept.cases,
              alone.cases)
    return tuple(case for group in groups for case in group())
