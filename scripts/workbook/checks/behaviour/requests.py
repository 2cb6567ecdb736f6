"""Routes, methods and versions that must be understood."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    FRAMED,
    HOST,
    MAX_FIELDS,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PAGE_ANSWER,
    PAGE_HEAD,
    TEXT,
    USUAL,
    Case,
    answer,
    echoed,
    get,
    noise,
    not_allowed,
    post,
    row,
    sunk,
)


def cases() -> Iterator[Case]:
    absolute = b"http://localhost:8080/"
    absolute_form = "RFC 9112 §3.2.2 (MUST)"
    normalized = f"{absolute_form}, RFC 9110 §4.2.3 (SHOULD)"
    for what, sent, expect, reference in [
        ("page", get(), PAGE_ANSWER, "RFC 9110 §9.1 (MUST)"),
        ("page-head", b"HEAD / HTTP/1.1\r\n" + USUAL + b"\r\n", PAGE_HEAD,
         "RFC 9110 §9.3.2 (MUST)"),
        ("page-with-query", get(b"/?x=1&y=%20"), PAGE_ANSWER, "RFC 9112 §3.2.1 (ours)"),
        ("page-with-empty-query", get(b"/?"), PAGE_ANSWER, "RFC 3986 §3.4 (ours)"),
        ("page-with-odd-query", get(b"/?a=/echo?b//:@!$&'()*+,;=-._~%7C"), PAGE_ANSWER,
         "RFC 3986 §3.4 (ours)"),
        ("page-with-bytes-in-its-query-that-no-url-has", get(b"/?\"<>[]{}|\\^`"), PAGE_ANSWER,
         "RFC 9112 §3.2, RFC 3986 §3.4 (ours)"),
        ("page-absolute-form", get(absolute), PAGE_ANSWER, absolute_form),
        ("page-absolute-form-query", get(absolute + b"?x=1"), PAGE_ANSWER, absolute_form),
        ("page-absolute-form-without-path", get(b"http://localhost"), PAGE_ANSWER,
         normalized),
        ("page-absolute-form-without-path-but-query", get(b"http://localhost?x=1"), PAGE_ANSWER,
         normalized),
        ("page-absolute-form-in-upper-case", get(b"HTTP://LOCALHOST/"), PAGE_ANSWER,
         normalized),
        ("page-absolute-form-other-host", get(b"http://elsewhere.example/"), PAGE_ANSWER,
         f"{absolute_form}, RFC 9110 §7.4 (ours)"),
        ("page-absolute-form-v6", get(b"http://[::1]:80/"), PAGE_ANSWER,
         "RFC 9112 §3.2.2, RFC 3986 §3.2.2 (MUST)"),
        ("page-absolute-form-empty-port", get(b"http://localhost:/"), PAGE_ANSWER,
         "RFC 9112 §3.2.2, RFC 3986 §3.2.3 (MUST)"),
        ("options-asterisk", b"OPTIONS * HTTP/1.1\r\n" + USUAL + b"\r\n",
         answer("200 OK", TEXT, b""), "RFC 9110 §9.3.7 (ours)"),
        ("echo-absolute-form", post(b"hello", b"http://localhost/echo"), echoed(b"hello"),
         absolute_form),
        ("page-ignores-its-body", b"GET / HTTP/1.1\r\n" + USUAL + b"Content-Length: 5\r\n\r\nhello",
         PAGE_ANSWER, "RFC 9110 §9.3.1 (ours)"),
        ("echo", post(b"hello"), echoed(b"hello"), "RFC 9110 §9.3.3 (ours)"),
        ("echo-with-query", post(b"hello", b"/echo?x=1"), echoed(b"hello"),
         "RFC 9112 §3.2.1 (ours)"),
        ("echo-without-length", b"POST /echo HTTP/1.1\r\n" + USUAL + b"\r\n", echoed(b""),
         FRAMED),
        ("sink", post(b"hello", b"/sink"), sunk(5), "RFC 9110 §9.3.3 (ours)"),
        ("sink-without-length", b"POST /sink HTTP/1.1\r\n" + USUAL + b"\r\n", sunk(0),
         FRAMED),
    ]:
        yield row(what, sent, expect, reference)
    yield from unknown_paths()
    yield from versions()
    yield from methods()
    yield from refused_heads()
    yield from accepted_fields()


def unknown_paths() -> Iterator[Case]:
    """Targets that no route has."""
    not_found = "RFC 9110 §15.5.5 (ours)"
    for what, sent, expect, reference in [
        ("unknown-path", get(b"/nowhere"), NOT_FOUND, not_found),
        ("path-is-case-sensitive", post(b"hello", b"/Echo"), NOT_FOUND, "RFC 9110 §4.2.3 (ours)"),
        ("path-longer-than-a-route", post(b"hello", b"/echo/"), NOT_FOUND, not_found),
        ("path-shorter-than-a-route", post(b"hello", b"/ech"), NOT_FOUND, not_found),
        ("path-double-slash", get(b"//"), NOT_FOUND, not_found),
        ("path-of-a-method-name", get(b"/GET"), NOT_FOUND, not_found),
        ("path-of-a-version", get(b"/HTTP/1.1"), NOT_FOUND, not_found),
        ("not-found-reads-its-body", post(noise(100_000), b"/nowhere"), NOT_FOUND,
         "RFC 9112 §9.3 (MUST)"),
        ("head-unknown-path", b"HEAD /nowhere HTTP/1.1\r\n" + USUAL + b"\r\n",
         answer("404 Not Found", TEXT, b"404 Not Found\n", send_body=False),
         "RFC 9110 §9.3.2 (MUST)"),
    ]:
        yield row(what, sent, expect, reference)


def versions() -> Iterator[Case]:
    for what, sent, expect, reference in [
        ("version-1.2", get(version=b"HTTP/1.2"), PAGE_ANSWER, "RFC 9110 §6.2 (SHOULD)"),
        ("version-1.9-echo", post(b"hello").replace(b"HTTP/1.1", b"HTTP/1.9"), echoed(b"hello"),
         "RFC 9110 §6.2 (SHOULD)"),
        ("version-1.0", get(fields=b"", version=b"HTTP/1.0"), PAGE_ANSWER,
         "RFC 9110 §6.2 (SHOULD)"),
        ("version-1.0-with-host", get(fields=HOST, version=b"HTTP/1.0"), PAGE_ANSWER,
         "RFC 9110 §6.2 (SHOULD)"),
        ("version-1.0-echo", b"POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
         echoed(b"hello"), FRAMED),
    ]:
        yield row(what, sent, expect, reference)


def methods() -> Iterator[Case]:
    yield from not_allowed_methods()
    for what, target in (("name", b"example.com:443"), ("v6", b"[::1]:443")):
        yield row(f"connect-{what}", b"CONNECT " + target + b" HTTP/1.1\r\n" + USUAL + b"\r\n",
                  NOT_IMPLEMENTED, "RFC 9110 §9.1 (SHOULD)")
    for method in (b"TRACE", b"BREW", b"get", b"Get", b"PROPFIND",
                   b"G!#$%&'*+-.^_`|~9", b"A" * 40, *nearly_known()):
        sent = method + b" / HTTP/1.1\r\n" + USUAL + b"\r\n"
        yield row(f"unknown-method-{method.decode()}", sent, NOT_IMPLEMENTED,
                  "RFC 9110 §9.1 (SHOULD)")


def not_allowed_methods() -> Iterator[Case]:
    """Known methods that a route doesn't have, including OPTIONS, except for "*": the answer lists
    the methods, which is all that OPTIONS could report.
    """
    reference = "RFC 9110 §9.1 (SHOULD), §15.5.6 (MUST)"
    for method in (b"PUT", b"DELETE", b"OPTIONS", b"PATCH"):
        what = method.decode().lower()
        for name, target, allow in (("", b"/", "GET, HEAD"), ("-to-echo", b"/echo", "POST")):
            yield row(f"known-method-{what}{name}",
                      method + b" " + target + b" HTTP/1.1\r\n" + USUAL + b"\r\n",
                      not_allowed(allow), reference)
    for what, sent, allow in [
        ("get-echo", get(b"/echo"), "POST"),
        ("get-echo-with-query", get(b"/echo?x=1"), "POST"),
        ("get-sink", get(b"/sink"), "POST"),
        ("post-page", post(b"hello", b"/"), "GET, HEAD"),
        ("not-allowed-reads-its-body", post(noise(100_000), b"/"), "GET, HEAD"),
    ]:
        yield row(what, sent, not_allowed(allow), reference)
    yield row("head-echo", b"HEAD /echo HTTP/1.1\r\n" + USUAL + b"\r\n",
              not_allowed("POST", send_body=False), reference)


def nearly_known() -> Iterator[bytes]:
    """Yields every known method with one byte changed, missing or added."""
    for known in (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH"):
        for at in range(len(known)):
            yield known[:at] + b"X" + known[at + 1:]
            yield known[:at] + known[at + 1:]
        for at in range(len(known) + 1):
            yield known[:at] + b"X" + known[at:]


def refused_heads() -> Iterator[Case]:
    """An answer to HEAD has no body, even if its fields announce one."""
    for what, fields, status in [
        ("bad-field", b"X : y\r\n", "400 Bad Request"),
        ("second-host", HOST, "400 Bad Request"),
        ("chunked-body", b"Transfer-Encoding: chunked\r\n", "411 Length Required"),
        ("length-over-limit", b"Content-Length: 99999999999\r\n", "413 Content Too Large"),
        ("expectation", b"Expect: a-miracle\r\n", "417 Expectation Failed"),
        ("large-fields", b"X: " + b"v" * MAX_FIELDS + b"\r\n",
         "431 Request Header Fields Too Large"),
        ("unknown-coding", b"Transfer-Encoding: gzip, chunked\r\n", "501 Not Implemented"),
    ]:
        yield row(f"head-refused-for-{what}", b"HEAD / HTTP/1.1\r\n" + USUAL + fields + b"\r\n",
                  answer(status, TEXT, status.encode() + b"\n", send_body=False),
                  "RFC 9110 §9.3.2 (MUST)")


def accepted_fields() -> Iterator[Case]:
    """Fields that look odd but are valid."""
    names = "RFC 9110 §5.1, §2.4 (MUST)"
    spaces = "RFC 9112 §5.1, RFC 9110 §5.5 (MUST)"
    unknown = "RFC 9110 §5.1 (SHOULD)"
    for what, fields, reference in [
        ("names-in-upper-case", b"CONTENT-LENGTH: 5\r\n", names),
        ("names-in-mixed-case", b"cOnTeNt-lEnGtH: 5\r\n", names),
        ("no-space-after-colon", b"Content-Length:5\r\n", spaces),
        ("much-space-after-colon", b"Content-Length: \t  \t5\r\n", spaces),
        ("space-after-value", b"Content-Length: 5 \t \r\n", spaces),
        ("length-with-leading-zeros", b"Content-Length: 0005\r\n", "RFC 9110 §8.6, §2.4 (MUST)"),
        ("empty-value", b"X-Empty:\r\nContent-Length: 5\r\n", unknown),
        ("value-of-spaces", b"X-Empty:  \t \r\nContent-Length: 5\r\n", unknown),
        ("value-with-colons", b"X: a:b: c::\r\nContent-Length: 5\r\n", unknown),
        ("value-with-tab", b"X: a\tb\r\nContent-Length: 5\r\n", unknown),
        ("value-with-obs-text", b"X: caf\xc3\xa9 \x80\xff\r\nContent-Length: 5\r\n",
         "RFC 9110 §5.5 (SHOULD)"),
        ("name-of-every-token-character",
         b"!#$%&'*+-.^_`|~09azAZ: x\r\nContent-Length: 5\r\n", unknown),
        ("name-of-one-character", b"X: y\r\nContent-Length: 5\r\n", unknown),
        ("repeated-unknown-field", b"X: 1\r\nX: 2\r\nX: 3\r\nContent-Length: 5\r\n", unknown),
        ("name-that-starts-like-another", b"Content-Length-X: 9\r\nContent-Length: 5\r\n",
         unknown),
        ("names-that-start-like-host",
         b"Hosts: x\r\nHost-X: <>\r\nContent-Length: 5\r\n", unknown),
        ("name-that-ends-like-another", b"X-Content-Length: 9\r\nContent-Length: 5\r\n", unknown),
        ("value-that-looks-like-a-field", b"X: Content-Length: 9\r\nContent-Length: 5\r\n",
         unknown),
        ("underscore-is-not-a-dash",
         b"Content_Length: 9\r\nTransfer_Encoding: chunked\r\nContent-Length: 5\r\n", unknown),
        ("thirty-fields", b"".join(b"X-%d: %d\r\n" % (i, i) for i in range(30))
         + b"Content-Length: 5\r\n", unknown),
    ]:
        sent = b"POST /echo HTTP/1.1\r\n" + USUAL + fields + b"\r\nhello"
        yield row(what, sent, echoed(b"hello"), reference)
    valid = "RFC 9110 §7.2, RFC 3986 §3.2.2, §3.2.3 (ours)"
    for what, host in [
        ("host-with-port", b"example.com:8080"),
        ("host-v4", b"127.0.0.1:80"),
        ("host-with-empty-port", b"localhost:"),
        ("host-with-last-port", b"localhost:65535"),
        ("host-port-with-leading-zeros", b"localhost:0000080"),
        ("host-with-all-punctuation", b"a-._~!$&'()*+;=z"),
        ("host-v6", b"[::1]:8080"),
        ("host-v6-without-port", b"[::1]"),
        ("host-v6-with-empty-port", b"[::1]:"),
        ("host-v6-mapped-v4", b"[::ffff:127.0.0.1]:80"),
        ("host-with-percent", b"ex%41mple.com"),
        ("host-empty", b""),
    ]:
        fields = b"host:" + host + b"\r\nConnection: close\r\n"
        yield row(what, get(fields=fields), PAGE_ANSWER, valid if host else "RFC 9112 §3.3 (ours)")


CHECKS = (group("requests", "routes, methods and versions", cases),)
