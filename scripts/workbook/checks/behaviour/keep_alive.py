"""Which connections stay open and which close, and that no request affects the next one."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BAD,
    CLOSES,
    CONTINUE,
    EXPECTATION,
    FIELDS_TOO_LARGE,
    HOST,
    LENGTH_REQUIRED,
    LONG,
    MAX_BODY,
    MAX_FIELDS,
    MAX_LINE,
    MIB,
    NEXT,
    NOT_IMPLEMENTED,
    PAGE_ANSWER,
    STAYS,
    STAYS_IN_1_0,
    TEXT,
    TINY,
    TOO_LARGE,
    URI_TOO_LONG,
    VERSION,
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
from workbook.checks.behaviour.unchanged import (
    ASKS,
    GET,
    HEAD,
    LAST,
    LOST,
    PERSISTENCE,
    TOO_MUCH,
    chain,
    echo,
    in_sequence,
    kept,
    not_found,
    page,
    sink,
)
from workbook.servers.client import Await, Pause

WHOLE_BODY = "RFC 9112 §9.3 (MUST)"
ASKED_TO_CLOSE = "RFC 9112 §9.6 (MUST)"
LIST = "RFC 9110 §5.6.1.2 (MUST)"
IN_1_0 = "RFC 9112 §9.3 (ours)"
CLOSES_IN_1_0 = "RFC 9112 §9.3, RFC 9110 §2.4 (MUST)"
LONG_LINE = "RFC 9112 §3 (MUST)"
LONG_FIELDS = "RFC 9110 §5.4 (MUST), RFC 6585 §5 (ours)"
REFERENCES = {  # connections that stay open for another reason than HTTP/1.1's default
    "body-of-a-get-is-not-a-request": WHOLE_BODY,
    "body-is-not-a-request": WHOLE_BODY,
    "empty-line-between-requests": "RFC 9112 §2.2 (SHOULD)",
}


def cases() -> Iterator[Case]:
    for what, *exchanges in [
        ("second-request", GET),
        ("ten-requests", *[GET] * 10),
        ("after-head", HEAD, GET),
        ("after-not-found", LOST, GET, LOST),
        ("after-head-not-found", (b"HEAD /nowhere HTTP/1.1\r\n" + HOST + b"\r\n",
                                  not_found(send_body=False)), GET),
        ("after-not-found-with-a-body", (post(noise(5000), b"/nowhere", HOST), not_found()), GET),
        ("after-put", (b"PUT / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc",
                       not_allowed(connection=STAYS))),
        ("after-options", (b"OPTIONS / HTTP/1.1\r\n" + HOST + b"\r\n",
                           not_allowed(connection=STAYS)), GET),
        ("after-echo", echo(b"hello"), echo(b""), echo(noise(5000)), GET),
        ("after-echo-without-length", (b"POST /echo HTTP/1.1\r\n" + HOST + b"\r\n",
                                       echoed(b"", STAYS)), GET),
        ("after-sink", sink(b"hello"), sink(noise(70_000)), sink(b""), GET),
        ("after-large-echo", echo(noise(MIB)), echo(b"hello"), echo(noise(MIB))),
        ("after-absolute-form", (get(b"http://localhost/?x=1", HOST), page()), LOST, GET),
        ("body-of-a-get-is-not-a-request",
         (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(NEXT) + NEXT, page()),
         GET),
        ("body-is-not-a-request", echo(NEXT), (post(NEXT, b"/nowhere", HOST), not_found()), GET),
        ("longer-then-shorter", (get(b"/?" + b"q" * 3000, HOST + b"X: " + b"v" * 3000 + b"\r\n"),
                                 page()), GET, echo(b"x")),
        ("empty-line-between-requests", GET, (b"\r\n" + GET[0], GET[1]),
         (b"\r\n" + LOST[0], LOST[1])),
    ]:
        yield kept(what, *exchanges,  # type: ignore[arg-type]
                   reference=REFERENCES.get(str(what), PERSISTENCE))
    yield row("after-a-long-pause", (GET[0], LONG, GET[0], LONG, LAST[0]),
              chain(GET, GET, LAST)[1], PERSISTENCE)
    yield from output()
    yield from versions()
    yield from kept_limits()
    yield from kept_expectations()
    yield from forgotten()
    yield from refused()


def output() -> Iterator[Case]:
    """The client's Connection field in every form that a list can have."""
    for what, fields in [
        ("close", b"Connection: close\r\n"),
        ("close-in-upper-case", b"CONNECTION: CLOSE\r\n"),
        ("close-in-mixed-case", b"cOnNeCtIoN: cLoSe\r\n"),
        ("close-first-in-a-list", b"Connection: close, x-other\r\n"),
        ("close-last-in-a-list", b"Connection: x-other, close\r\n"),
        ("close-within-a-list", b"Connection: a , Close\t,b\r\n"),
        ("close-without-spaces", b"Connection: a,close,b\r\n"),
        ("close-among-empty-elements", b"Connection: ,, ,close,,\r\n"),
        ("close-in-the-second-field", b"Connection: x-other\r\nConnection: close\r\n"),
        ("close-in-the-first-field", b"Connection: close\r\nX: y\r\nConnection: x-other\r\n"),
        ("close-and-keep-alive", b"Connection: close, keep-alive\r\n"),
        ("keep-alive-and-close", b"Connection: keep-alive, close\r\n"),
        ("keep-alive-and-close-in-two-fields",
         b"Connection: keep-alive\r\nConnection: close\r\n"),
        ("close-after-tabs", b"Connection:\t\tclose\t\r\n"),
    ]:
        yield row(f"connection-{what}", (get(fields=HOST + fields) + NEXT, Pause(0.01)),
                  PAGE_ANSWER, "RFC 9110 §7.6.1, RFC 9112 §9.6 (MUST)")
    no_list = "RFC 9110 §7.6.1 (ours)"
    for what, reference, fields in [
        ("keep-alive", PERSISTENCE, b"Connection: keep-alive\r\n"),
        ("empty", PERSISTENCE, b"Connection:\r\n"),
        ("only-commas", LIST, b"Connection: , ,\r\n"),
        ("closed-is-not-close", PERSISTENCE, b"Connection: closed\r\n"),
        ("similar-to-close", PERSISTENCE, b"Connection: xclose, close-x, clos\r\n"),
        ("close-with-a-space-within", no_list, b"Connection: clo se\r\n"),
        ("close-with-a-parameter", no_list, b"Connection: close;x=1\r\n"),
        ("close-in-quotes", no_list, b"Connection: \"close\"\r\n"),
        ("close-in-another-field", PERSISTENCE,
         b"X-Connection: close\r\nConnection-X: close\r\n"),
        ("close-in-proxy-connection", PERSISTENCE, b"Proxy-Connection: close\r\n"),
        ("upgrade", "RFC 9110 §7.8 (MAY)", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    ]:
        yield kept(f"connection-{what}", (get(fields=HOST + fields), page()),
                   reference=reference)


def versions() -> Iterator[Case]:
    """HTTP/1.0 closes unless the client asks for keep-alive, and then the answer confirms it."""
    def old(fields: bytes) -> bytes:
        return get(fields=fields, version=b"HTTP/1.0")

    ends = old(b""), PAGE_ANSWER
    for what, fields in [
        ("keep-alive", b"Connection: keep-alive\r\n"),
        ("keep-alive-capitalised", b"Connection: Keep-Alive\r\n"),
        ("keep-alive-in-upper-case", b"CONNECTION: KEEP-ALIVE\r\n"),
        ("keep-alive-in-a-list", b"Connection: x-other,keep-alive\r\n"),
        ("keep-alive-in-the-second-field", b"Connection: x\r\nConnection: keep-alive\r\n"),
    ]:
        stays = old(fields), page(STAYS_IN_1_0)
        yield row(f"1.0-connection-{what}", in_sequence(stays, stays, ends),
                  chain(stays, stays, ends)[1], IN_1_0)
    for what, reference, fields in [
        ("absent", CLOSES_IN_1_0, b""),
        ("close", ASKED_TO_CLOSE, b"Connection: close\r\n"),
        ("keep-alive-and-close", ASKED_TO_CLOSE, b"Connection: keep-alive, close\r\n"),
        ("close-and-keep-alive", ASKED_TO_CLOSE,
         b"Connection: close\r\nConnection: keep-alive\r\n"),
        ("keep-alive-in-proxy-connection", CLOSES_IN_1_0, b"Proxy-Connection: keep-alive\r\n"),
        ("absent-despite-keep-alive-field", CLOSES_IN_1_0, b"Keep-Alive: timeout=5\r\n"),
    ]:
        yield row(f"1.0-connection-{what}", (old(fields) + NEXT, Pause(0.01)), PAGE_ANSWER,
                  reference)
    asks = b"Connection: keep-alive\r\n"
    yield kept("1.0-then-1.1", (old(asks), page(STAYS_IN_1_0)), GET, reference=IN_1_0)
    yield row("1.1-then-1.0", (*in_sequence(GET, ends), NEXT), chain(GET, ends)[1],
              CLOSES_IN_1_0)
    yield kept("1.0-not-found",
               (get(b"/nowhere", asks, b"HTTP/1.0"),
                answer("404 Not Found", TEXT, b"404 Not Found\n", connection=STAYS_IN_1_0)),
               reference=IN_1_0)


def kept_limits() -> Iterator[Case]:
    """The limits apply to each request separately, whatever came before."""
    line = b"GET /?" + b"q" * (MAX_LINE - 15) + b" HTTP/1.1\r\n"
    value = b"X: " + b"v" * (MAX_FIELDS - len(HOST) - 5) + b"\r\n"
    longest = line + HOST + value + b"\r\n", page()
    yield kept("longest-head-repeated", longest, GET, longest, longest,
               reference="RFC 9112 §3 (SHOULD), RFC 9110 §5.4 (ours)")
    for what, reference, sent, expect in [
        ("line-over-limit", LONG_LINE, b"GET /?q" + line[6:] + HOST + b"\r\n", URI_TOO_LONG),
        ("fields-over-limit", LONG_FIELDS, get(fields=HOST + value.replace(b"X: ", b"X: v")),
         FIELDS_TOO_LARGE),
        ("line-endless", "RFC 9112 §3 (ours)", b"G" * 9000, URI_TOO_LONG),
        ("fields-endless", LONG_FIELDS, get(fields=HOST + b"X: y\r\n" * 12_000),
         FIELDS_TOO_LARGE),
    ]:
        yield row(f"{what}-in-second-request", in_sequence(GET, (sent, b"")),
                  GET[1] + expect, reference)
    yield kept("body-of-10-MiB-then-another", sink(noise(MAX_BODY)), echo(b"hello"),
               sink(noise(MAX_BODY)), reference="RFC 9110 §15.5.14 (ours)")


def kept_expectations() -> Iterator[Case]:
    must, may = "RFC 9110 §10.1.1 (MUST)", "RFC 9110 §10.1.1 (MAY)"
    waits = post(b"", fields=ASKS, length=b"5")
    full = echoed(b"hello", STAYS)
    twice = (waits, Await(CONTINUE), b"hello", Await(CONTINUE + full)) + (
        waits, Await(CONTINUE + full + CONTINUE), b"hel", TINY, b"lo", LAST[0])
    for what, reference, steps, expect in [
        ("after-continue", must, (waits, Await(CONTINUE), b"hello", *in_sequence(GET, LAST)),
         CONTINUE + full + GET[1] + PAGE_ANSWER),
        ("continue-twice", must, twice, (CONTINUE + full) * 2 + PAGE_ANSWER),
        ("continue-after-a-page", must, (GET[0], Await(GET[1]), waits, Await(GET[1] + CONTINUE),
                                         b"hello" + LAST[0]),
         GET[1] + CONTINUE + full + PAGE_ANSWER),
        ("continue-for-an-empty-body", may, (post(b"", fields=ASKS), TINY, LAST[0]),
         (echoed(b"", STAYS) + PAGE_ANSWER, CONTINUE + echoed(b"", STAYS) + PAGE_ANSWER)),
        ("no-continue-for-next-request", "RFC 9110 §10.1.1 (ours)",
         (waits, Await(CONTINUE), b"hello", Await(CONTINUE + full),
          post(b"", fields=HOST, length=b"5"), Pause(0.02), b"hello", LAST[0]),
         CONTINUE + full * 2 + PAGE_ANSWER),
        ("expectation-refused-in-second-request", may,
         in_sequence(GET, (get(fields=HOST + b"Expect: a-miracle\r\n") + NEXT, b"")),
         GET[1] + EXPECTATION),
    ]:
        yield row(what, steps, expect, reference)  # type: ignore[arg-type]


def forgotten() -> Iterator[Case]:
    """What one request specified doesn't apply to the next."""
    alone, length = "RFC 9110 §3.3, §2.4 (MUST)", "RFC 9112 §6.3, RFC 9110 §2.4 (MUST)"
    for what, reference, first, second, expect in [
        ("host", "RFC 9112 §3.2 (MUST)", GET, get(fields=b""), BAD),
        ("length", length, echo(b"hello"),
         b"POST /echo HTTP/1.1\r\n" + HOST + CLOSES.encode() + b"\r\n", echoed(b"")),
        ("length-of-a-sink", length, sink(noise(9000)),
         b"POST /sink HTTP/1.1\r\n" + HOST + CLOSES.encode() + b"\r\n", sunk(0)),
        ("keep-alive-of-1.0", CLOSES_IN_1_0,
         (get(fields=b"Connection: keep-alive\r\n", version=b"HTTP/1.0"), page(STAYS_IN_1_0)),
         get(fields=b"", version=b"HTTP/1.0"), PAGE_ANSWER),
        ("method", alone, HEAD, get(), PAGE_ANSWER),
        ("method-in-refusal", alone, HEAD, b"GET /\r\n\r\n", BAD),
        ("path", alone, LOST, get(), PAGE_ANSWER),
        ("query", alone, (get(b"/?x=1", HOST), page()), get(b"/nowhere"),
         answer("404 Not Found", TEXT, b"404 Not Found\n")),
        ("absolute-form", alone, (get(b"http://localhost/", HOST), page()), post(b"x"),
         echoed(b"x")),
    ]:
        yield row(f"{what}-not-inherited", in_sequence(first, (second, b"")),
                  first[1] + expect, reference)


def refused() -> Iterator[Case]:
    """After a refusal nothing more is answered, and no body is interpreted as a request."""
    inner = NEXT * 20
    for what, sent, expect in [
        ("bad-line", b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", BAD),
        ("bad-field", get(fields=HOST + b"X : y\r\n"), BAD),
        ("missing-host", get(fields=b""), BAD),
        ("two-empty-lines", b"\r\n\r\n" + GET[0], BAD),
        ("bare-line-feed", b"\n" + GET[0], BAD),
        ("body-longer-than-content-length", b"hello" + GET[0], NOT_IMPLEMENTED),
        ("unknown-method", b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n", NOT_IMPLEMENTED),
        ("unknown-version", get(fields=HOST, version=b"HTTP/2.0"), VERSION),
        ("too-large-body", TOO_MUCH, TOO_LARGE),
        ("chunked-body", b"POST /echo HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
         b"5\r\nhello\r\n0\r\n\r\n", LENGTH_REQUIRED),
        ("unknown-coding", b"POST /echo HTTP/1.1\r\n" + HOST
         + b"Transfer-Encoding: gzip, chunked\r\n\r\n", NOT_IMPLEMENTED),
        ("length-and-coding", post(b"hello", fields=HOST + b"Transfer-Encoding: chunked\r\n"), BAD),
        ("two-lengths", post(b"hello", fields=HOST + b"Content-Length: 6\r\n"), BAD),
    ]:
        yield row(f"nothing-after-{what}", (sent + inner, Pause(0.01)), expect,
                  ASKED_TO_CLOSE)
        yield row(f"nothing-after-{what}-in-second-request",
                  (GET[0], Await(GET[1]), sent, Pause(0.005), inner), GET[1] + expect,
                  ASKED_TO_CLOSE)


CHECKS = (group("keep-alive", "persistent connections", cases, level=5),)
