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
    invalid = "RFC 9112 §3, §3.2 (SHOULD)"
    spaces = "RFC 9112 §3 (ours)"  # a recipient MAY accept others
    bare_cr = "RFC 9112 §2.2 (MUST)"
    no_host = "RFC 9110 §4.2.1 (MUST)"
    of_scheme = "RFC 9110 §4.2.1, §7.4 (MUST)"
    for what, line, reference in [
        ("no-version", b"GET /", invalid),
        ("no-version-trailing-space", b"GET / ", invalid),
        ("no-target", b"GET HTTP/1.1", invalid),
        ("empty-target", b"GET  HTTP/1.1", invalid),
        ("only-method", b"GET", invalid),
        ("only-spaces", b"   ", invalid),
        ("double-space-before-target", b"GET  / HTTP/1.1", spaces),
        ("double-space-before-version", b"GET /  HTTP/1.1", spaces),
        ("tab-before-target", b"GET\t/ HTTP/1.1", spaces),
        ("tab-before-version", b"GET /\tHTTP/1.1", spaces),
        ("leading-space", b" GET / HTTP/1.1", spaces),
        ("leading-tab", b"\tGET / HTTP/1.1", spaces),
        ("trailing-space", b"GET / HTTP/1.1 ", spaces),
        ("trailing-tab", b"GET / HTTP/1.1\t", spaces),
        ("word-after-version", b"GET / HTTP/1.1 x", invalid),
        ("space-in-target", b"GET /a b HTTP/1.1", invalid),
        ("fragment", b"GET /#top HTTP/1.1", invalid),
        ("connect-to-a-path", b"CONNECT / HTTP/1.1", "RFC 9110 §9.3.6 (MUST)"),
        ("connect-without-port", b"CONNECT example.com HTTP/1.1", "RFC 9110 §9.3.6 (MUST)"),
        ("connect-v6-without-port", b"CONNECT [::1] HTTP/1.1", "RFC 9110 §9.3.6 (MUST)"),
        ("connect-with-an-empty-port", b"CONNECT example.com: HTTP/1.1", "RFC 9110 §9.3.6 (MUST)"),
        ("connect-without-host", b"CONNECT :443 HTTP/1.1", "RFC 9112 §3.2.3 (ours)"),
        ("absolute-form-without-host", b"GET http:// HTTP/1.1", no_host),
        ("absolute-form-path-without-host", b"GET http:///echo HTTP/1.1", no_host),
        ("absolute-form-query-without-host", b"GET http://?x HTTP/1.1", no_host),
        ("absolute-form-with-one-slash", b"GET http:/localhost/ HTTP/1.1", of_scheme),
        ("absolute-form-of-another-scheme", b"GET httq://localhost/ HTTP/1.1",
         "RFC 9110 §7.4 (ours)"),
        ("absolute-form-of-https", b"GET https://localhost/ HTTP/1.1", "RFC 9110 §7.4 (MUST)"),
        ("scheme-alone", b"GET http: HTTP/1.1", of_scheme),
        *((f"scheme-with-{byte ^ 0x20:02x}-for-{chr(byte)}-at-{at}",
           b"GET " + flipped(b"http://", at) + b"localhost/ HTTP/1.1", invalid)
          for at, byte in enumerate(b"http://") if not chr(byte).isalpha()),
        ("target-with-nul", b"GET /\0 HTTP/1.1", invalid),
        ("target-with-control", b"GET /\x01 HTTP/1.1", invalid),
        ("target-with-delete", b"GET /\x7f HTTP/1.1", invalid),
        ("target-with-high-byte", b"GET /caf\xc3\xa9 HTTP/1.1", invalid),
        ("target-with-vertical-tab", b"GET /\x0b HTTP/1.1", spaces),
        ("target-with-bare-cr", b"GET /\r HTTP/1.1", bare_cr),
        ("target-with-bare-lf", b"GET /\n HTTP/1.1", invalid),
        ("method-with-nul", b"GE\0T / HTTP/1.1", invalid),
        ("method-with-separator", b"GE(T / HTTP/1.1", invalid),
        ("method-with-colon", b"GET: / HTTP/1.1", invalid),
        ("method-with-high-byte", b"G\xc9T / HTTP/1.1", invalid),
    ]:
        yield row(what, line + b"\r\n" + USUAL + b"\r\n", BAD, reference)


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
        yield row(what, line + b"\r\n" + USUAL + b"\r\n", BAD,
                  "RFC 9112 §2.2 (MUST)" if b"\r" in line else "RFC 9112 §2.3, §3.2 (SHOULD)")
    for what, line in [
        ("version-0.9", b"GET / HTTP/0.9"),
        ("version-2.0", b"GET / HTTP/2.0"),
        ("version-3.0", b"GET / HTTP/3.0"),
        ("version-9.9-with-unknown-method", b"BREW / HTTP/9.9"),
        ("version-2.0-preface", b"PRI * HTTP/2.0"),
    ]:
        yield row(what, line + b"\r\n" + USUAL + b"\r\n", VERSION,
                  "RFC 9110 §6.2, §15.6.6 (ours)")
    for what, line, status in [
        ("head-with-unknown-version", b"HEAD / HTTP/2.0", "505 HTTP Version Not Supported"),
        ("head-with-bad-target", b"HEAD nowhere HTTP/1.1", "400 Bad Request"),
    ]:
        yield row(what, line + b"\r\n" + USUAL + b"\r\n",
                  answer(status, TEXT, status.encode() + b"\n", send_body=False),
                  "RFC 9110 §9.3.2 (MUST)")


def flipped(text: bytes, at: int) -> bytes:
    """Returns `text` with bit 0x20, which is the case bit of letters, inverted in one byte."""
    return text[:at] + bytes([text[at] ^ 0x20]) + text[at + 1:]


def line_ends() -> Iterator[Case]:
    """Lines end with CRLF, and one empty line may come first."""
    usual = "RFC 9112 §2.2 (SHOULD)"
    bare_cr = "RFC 9112 §2.2 (MUST)"
    bare_lf = "RFC 9112 §2.2 (ours)"  # a recipient MAY accept it as a line end
    for what, sent, expect, reference in [
        ("empty-line-first", b"\r\n" + get(), PAGE_ANSWER, usual),
        ("two-empty-lines-first", b"\r\n\r\n" + get(), BAD, "RFC 9112 §2.2 (ours)"),
        ("bare-lf-first", b"\n" + get(), BAD, bare_lf),
        ("bare-cr-first", b"\r" + get(), BAD, bare_cr),
        ("lf-after-request-line", b"GET / HTTP/1.1\n" + USUAL + b"\r\n", BAD, bare_lf),
        ("cr-after-request-line", b"GET / HTTP/1.1\r" + USUAL + b"\r\n", BAD, bare_cr),
        ("lf-cr-after-request-line", b"GET / HTTP/1.1\n\r" + USUAL + b"\r\n", BAD, bare_cr),
        ("cr-cr-lf-after-request-line", b"GET / HTTP/1.1\r\r\n" + USUAL + b"\r\n", BAD, bare_cr),
        ("lf-everywhere", get().replace(b"\r\n", b"\n") + b"\r\n\r\n", BAD, bare_lf),
        ("lf-everywhere-then-waits", get().replace(b"\r\n", b"\n"), BAD, bare_lf),
        ("lf-after-fields-then-waits", b"GET / HTTP/1.1\r\nHost: localhost\n\n", BAD, bare_lf),
        ("cr-everywhere", get().replace(b"\r\n", b"\r") + b"\r\n\r\n", BAD, bare_cr),
        ("lf-after-field", get(fields=b"Host: localhost\nX: y\r\n"), BAD, bare_lf),
        ("cr-after-field", get(fields=b"Host: localhost\rX: y\r\n"), BAD, bare_cr),
        ("lf-before-the-end", get(fields=b"Host: localhost\n") + b"\r\n\r\n", BAD, bare_lf),
        ("cr-before-the-end", get(fields=b"Host: localhost\r") + b"\r\n\r\n", BAD, bare_cr),
        ("lf-lf-at-the-end", b"GET / HTTP/1.1\r\nHost: localhost\n\n\r\n\r\n", BAD, bare_lf),
        ("crlf-lf-at-the-end", b"GET / HTTP/1.1\r\nHost: localhost\r\n\n\r\n\r\n", BAD, bare_lf),
        ("cr-cr-lf-after-field", get(fields=b"Host: localhost\r\r\n") + b"\r\n\r\n", BAD, bare_cr),
        ("cr-as-a-field-line", get(fields=HOST + b"\r\r\n"), BAD, bare_cr),
        ("simple-request-of-0.9", b"GET /\r\n\r\n", BAD, usual),
    ]:
        yield row(what, sent, expect, reference)


def malformed_fields() -> Iterator[Case]:
    line = "RFC 9112 §5, §2.2 (SHOULD)"
    space = "RFC 9112 §5.1 (MUST)"
    name = "RFC 9110 §5.1, RFC 9112 §2.2 (SHOULD)"
    token = "RFC 9110 §5.6.2, RFC 9112 §2.2 (SHOULD)"
    value = "RFC 9110 §5.5 (MUST)"
    folded = "RFC 9112 §5.2 (MUST)"
    for what, fields, reference in [
        ("field-without-colon", b"Nonsense\r\n", line),
        ("field-of-only-a-colon", b":\r\n", line),
        ("field-with-empty-name", b": value\r\n", line),
        ("field-name-then-space", b"X : y\r\n", space),
        ("field-name-then-tab", b"X\t: y\r\n", space),
        ("field-name-with-space", b"X Y: z\r\n", name),
        ("field-name-with-nul", b"X\0: y\r\n", name),
        ("field-name-with-separator", b"X(Y): z\r\n", token),
        ("field-name-with-slash", b"X/Y: z\r\n", token),
        ("field-name-with-quote", b"\"X\": y\r\n", token),
        ("field-name-with-high-byte", b"X\xe9: y\r\n", token),
        ("field-name-with-delete", b"X\x7f: y\r\n", token),
        ("value-with-nul", b"X: a\0b\r\n", value),
        ("value-with-control", b"X: a\x01b\r\n", values.OTHER_CONTROL),
        ("value-with-escape", b"X: \x1b[2J\r\n", values.OTHER_CONTROL),
        ("value-with-delete", b"X: a\x7fb\r\n", values.OTHER_CONTROL),
        ("value-with-bare-cr", b"X: a\rb\r\n", value),
        ("value-with-bare-lf", b"X: a\nb\r\n", value),
        ("value-ending-with-nul", b"X: a\0\r\n", value),
        ("folded-by-space", b"X: a\r\n b\r\n", folded),
        ("folded-by-tab", b"X: a\r\n\tb\r\n", folded),
        ("folded-to-empty-line", b"X: a\r\n \r\n", folded),
    ]:
        yield row(what, get(fields=USUAL + fields), BAD, reference)
        yield row(what + "-as-first", get(fields=fields + USUAL), BAD, reference)
    yield row("space-before-first-field", get(fields=b" X: y\r\n" + USUAL), BAD,
              "RFC 9112 §2.2 (MUST)")
    yield row("space-before-host", get(fields=b" " + USUAL), BAD, "RFC 9112 §2.2 (MUST)")


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
        yield row(what, get(fields=fields), BAD, "RFC 9112 §3.2 (MUST)")
    invalid = "RFC 9112 §3.2, RFC 3986 §3.2.2, §3.2.3"
    port_range = "RFC 3986 §3.2.3 (ours)"
    # allowed by the grammar, but refused
    valid = {"two-hosts-joined": "RFC 9110 §5.5 (ours)",
             "port-without-host": "RFC 9110 §4.2.1 (MUST)",
             "port-out-of-range": port_range,
             "port-far-out-of-range": port_range,
             "port-of-many-digits": port_range,
             "v6-with-a-port-out-of-range": port_range}
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
                  valid.get(what, f"{invalid} (MUST)"))
        yield row(f"absolute-form-{what}", get(b"http://" + host + b"/"), BAD,
                  valid.get(what, f"{invalid} (SHOULD)"))
    yield row("host-twice-in-1.0", get(fields=HOST + HOST, version=b"HTTP/1.0"), BAD,
              "RFC 9112 §3.2 (MUST)")
    yield row("host-missing-with-absolute-form",
              get(b"http://localhost/", b"Connection: close\r\n"), BAD, "RFC 9112 §3.2 (MUST)")


def expectations() -> Iterator[Case]:
    asks = USUAL + b"Expect: 100-continue\r\n"
    must, may = "RFC 9110 §10.1.1 (MUST)", "RFC 9110 §10.1.1 (MAY)"
    empty = "RFC 9110 §5.6.1.2, §10.1.1 (MUST)"
    head = post(b"", fields=asks, length=b"5")
    full = echoed(b"hello")
    for what, sent, expect, reference in [
        ("expect-waits-for-continue", (head, Await(CONTINUE), b"hello"), CONTINUE + full,
         must),
        ("expect-in-other-case", (head.replace(b"100-c", b"100-C"), Await(CONTINUE), b"hello"),
         CONTINUE + full, must),
        ("expect-with-body-at-once", post(b"hello", fields=asks), (full, CONTINUE + full), may),
        ("expect-in-1.0-is-ignored",
         (head.replace(b"HTTP/1.1", b"HTTP/1.0"), Pause(0.02), b"hello"), full, must),
        ("expect-unknown", get(fields=USUAL + b"Expect: a-miracle\r\n"), EXPECTATION, may),
        ("expect-twice", post(b"hello", fields=asks + b"Expect: 100-continue\r\n"),
         (EXPECTATION, full, CONTINUE + full), may),
        ("expect-after-an-empty-element",
         (head.replace(b"100-c", b" , 100-c"), Await(CONTINUE), b"hello"), CONTINUE + full,
         empty),
        ("expect-twice-first-is-other",
         post(b"hello", fields=USUAL + b"Expect: x\r\nExpect: 100-continue\r\n"), EXPECTATION,
         may),
        ("expect-twice-last-is-other", post(b"hello", fields=asks + b"Expect: x\r\n"),
         EXPECTATION, may),
        ("expect-a-list", post(b"hello", fields=USUAL + b"Expect: 100-continue, x\r\n"),
         EXPECTATION, may),
        ("expect-empty", get(fields=USUAL + b"Expect:\r\n"), PAGE_ANSWER, empty),
        ("expect-empty-elements", get(fields=USUAL + b"Expect: , ,\r\n"), PAGE_ANSWER, empty),
        ("expect-refused-before-continue", post(b"", fields=asks, length=b"5x"), BAD,
         "RFC 9110 §10.1.1, RFC 9112 §6.3 (MUST)"),
        ("expect-with-length-over-limit", post(b"", fields=asks, length=b"10485761"), TOO_LARGE,
         "RFC 9110 §10.1.1 (MUST), §15.5.14 (ours)"),
    ]:
        yield row(what, sent, expect, reference)  # type: ignore[arg-type]


CHECKS = (group("framing", "malformed requests", cases),)
