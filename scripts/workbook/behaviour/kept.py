"""Rows about connections that stay open: from level 5 on.

An exchange is what a client sends and what must come back for it. Rows are chains of those; the
last one closes the connection, so that every row has an end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from workbook.behaviour.client import Await, HalfClose, Pause, Sip, Step, Vanish
from workbook.behaviour.rows import (
    BAD,
    CLOSES,
    CONTINUE,
    EXPECTATION,
    FIELDS_TOO_LARGE,
    HOST,
    HTML,
    KEEP_ALIVE,
    LENGTH_REQUIRED,
    LONG,
    MANY_CLIENTS,
    MAX_BODY,
    MAX_FIELDS,
    MAX_LINE,
    MIB,
    NEXT,
    NO_ANSWER,
    NOT_IMPLEMENTED,
    PAGE,
    PAGE_ANSWER,
    PIPELINING,
    SLOW_CLIENTS,
    STAYS,
    STAYS_IN_1_0,
    TEXT,
    TINY,
    TOO_LARGE,
    URI_TOO_LONG,
    VERSION,
    WORKERS,
    Case,
    answer,
    bytewise,
    echoed,
    get,
    noise,
    post,
    row,
    sunk,
)

LEVEL = 5
LEVEL_OF_WORKERS = 7
PERSISTENCE = "RFC 9112 §9.3"
PIPELINES = "RFC 9112 §9.3.2"

Exchange = tuple[bytes, bytes]


def page(connection: str = STAYS) -> bytes:
    return answer("200 OK", HTML, PAGE, connection=connection)


def head(connection: str = STAYS) -> bytes:
    return answer("200 OK", HTML, PAGE, send_body=False, connection=connection)


def not_found(send_body: bool = True) -> bytes:
    return answer("404 Not Found", TEXT, b"404 Not Found\n", send_body, STAYS)


def echo(body: bytes) -> Exchange:
    return post(body, fields=HOST), echoed(body, STAYS)


def sink(body: bytes) -> Exchange:
    return post(body, b"/sink", HOST), sunk(len(body), STAYS)


GET: Exchange = (get(fields=HOST), page())
HEAD: Exchange = (b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n", head())
LOST: Exchange = (get(b"/nowhere", HOST), not_found())
LAST: Exchange = (get(), PAGE_ANSWER)
ASKS = HOST + b"Expect: 100-continue\r\n"
TOO_MUCH = post(b"", fields=HOST, length=str(MAX_BODY + 1).encode())


def chain(*exchanges: Exchange) -> Exchange:
    """Several exchanges as one: all is sent at once, all answers come in order."""
    return b"".join(sent for sent, _ in exchanges), b"".join(got for _, got in exchanges)


def in_turn(*exchanges: Exchange) -> tuple[Step, ...]:
    """Each sent only when the answer before it is there."""
    steps: list[Step] = []
    answers = b""
    for sent, got in exchanges:
        answers += got
        steps += [sent, Await(answers)]
    return tuple(steps)


def cases() -> Iterator[Case]:
    yield from keep_alive()
    yield from pipelining()
    yield from slow_clients()
    yield from many_clients()
    yield from workers()


def kept(check: str, what: str, *exchanges: Exchange, reference: str = PERSISTENCE) -> Case:
    """These exchanges in turn, then one that closes."""
    every = (*exchanges, LAST)
    return row(check, what, in_turn(*every), chain(*every)[1], reference, level=LEVEL)


def keep_alive() -> Iterator[Case]:
    """Who stays open, who closes, and that nothing of a request reaches the next."""
    for what, *exchanges in [
        ("second-request", GET),
        ("ten-requests", *[GET] * 10),
        ("after-head", HEAD, GET),
        ("after-not-found", LOST, GET, LOST),
        ("after-head-not-found", (b"HEAD /nowhere HTTP/1.1\r\n" + HOST + b"\r\n",
                                  not_found(send_body=False)), GET),
        ("after-not-found-with-a-body", (post(noise(5000), b"/nowhere", HOST), not_found()), GET),
        ("after-put", (b"PUT / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc",
                       not_found())),
        ("after-options", (b"OPTIONS / HTTP/1.1\r\n" + HOST + b"\r\n", not_found())),
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
        ("empty-line-between", GET, (b"\r\n" + GET[0], GET[1]), (b"\r\n" + LOST[0], LOST[1])),
    ]:
        yield kept(KEEP_ALIVE, what, *exchanges)  # type: ignore[arg-type]
    yield row(KEEP_ALIVE, "after-a-long-pause", (GET[0], LONG, GET[0], LONG, LAST[0]),
              chain(GET, GET, LAST)[1], PERSISTENCE, level=LEVEL)
    yield from said()
    yield from versions()
    yield from kept_limits()
    yield from kept_expectations()
    yield from forgotten()
    yield from refused()


def said() -> Iterator[Case]:
    """What the client says about the connection, in every shape that a list has."""
    reference = "RFC 9110 §7.6.1"
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
        yield row(KEEP_ALIVE, f"says-{what}", (get(fields=HOST + fields) + NEXT, Pause(0.01)),
                  PAGE_ANSWER, reference, level=LEVEL)
    for what, fields in [
        ("keep-alive", b"Connection: keep-alive\r\n"),
        ("nothing-in-the-field", b"Connection:\r\n"),
        ("only-commas", b"Connection: , ,\r\n"),
        ("closed", b"Connection: closed\r\n"),
        ("not-close", b"Connection: xclose, close-x, clos\r\n"),
        ("close-with-a-space-within", b"Connection: clo se\r\n"),
        ("close-with-a-parameter", b"Connection: close;x=1\r\n"),
        ("close-in-quotes", b"Connection: \"close\"\r\n"),
        ("close-in-another-field", b"X-Connection: close\r\nConnection-X: close\r\n"),
        ("close-to-a-proxy", b"Proxy-Connection: close\r\n"),
        ("upgrade", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    ]:
        yield kept(KEEP_ALIVE, f"says-{what}", (get(fields=HOST + fields), page()),
                   reference=reference)


def versions() -> Iterator[Case]:
    """1.0 closes unless it is asked to stay, and then says that it does."""
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
        yield row(KEEP_ALIVE, f"1.0-says-{what}", in_turn(stays, stays, ends),
                  chain(stays, stays, ends)[1], PERSISTENCE, level=LEVEL)
    for what, fields in [
        ("nothing", b""),
        ("close", b"Connection: close\r\n"),
        ("keep-alive-and-close", b"Connection: keep-alive, close\r\n"),
        ("close-and-keep-alive", b"Connection: close\r\nConnection: keep-alive\r\n"),
        ("keep-alive-to-a-proxy", b"Proxy-Connection: keep-alive\r\n"),
        ("keep-alive-as-a-field", b"Keep-Alive: timeout=5\r\n"),
    ]:
        yield row(KEEP_ALIVE, f"1.0-says-{what}", (old(fields) + NEXT, Pause(0.01)), PAGE_ANSWER,
                  PERSISTENCE, level=LEVEL)
    asks = b"Connection: keep-alive\r\n"
    yield kept(KEEP_ALIVE, "1.0-then-1.1", (old(asks), page(STAYS_IN_1_0)), GET)
    yield row(KEEP_ALIVE, "1.1-then-1.0", (*in_turn(GET, ends), NEXT), chain(GET, ends)[1],
              PERSISTENCE, level=LEVEL)
    yield kept(KEEP_ALIVE, "1.0-not-found",
               (get(b"/nowhere", asks, b"HTTP/1.0"),
                answer("404 Not Found", TEXT, b"404 Not Found\n", connection=STAYS_IN_1_0)))


def kept_limits() -> Iterator[Case]:
    """Each request has the limits for itself, whatever came before."""
    line = b"GET /?" + b"q" * (MAX_LINE - 15) + b" HTTP/1.1\r\n"
    value = b"X: " + b"v" * (MAX_FIELDS - len(HOST) - 5) + b"\r\n"
    longest = line + HOST + value + b"\r\n", page()
    yield kept(KEEP_ALIVE, "longest-head-again-and-again", longest, GET, longest, longest,
               reference="RFC 6585 §5")
    for what, sent, expect in [
        ("line-over", b"GET /?q" + line[6:] + HOST + b"\r\n", URI_TOO_LONG),
        ("fields-over", get(fields=HOST + value.replace(b"X: ", b"X: v")), FIELDS_TOO_LARGE),
        ("line-endless", b"G" * 9000, URI_TOO_LONG),
        ("fields-endless", get(fields=HOST + b"X: y\r\n" * 12_000), FIELDS_TOO_LARGE),
    ]:
        yield row(KEEP_ALIVE, f"{what}-in-the-second", in_turn(GET, (sent, b"")),
                  GET[1] + expect, "RFC 6585 §5", level=LEVEL)
    yield kept(KEEP_ALIVE, "body-of-10-MiB-then-another", sink(noise(MAX_BODY)), echo(b"hello"),
               sink(noise(MAX_BODY)), reference="RFC 9110 §8.6")


def kept_expectations() -> Iterator[Case]:
    reference = "RFC 9110 §10.1.1"
    waits = post(b"", fields=ASKS, length=b"5")
    full = echoed(b"hello", STAYS)
    twice = (waits, Await(CONTINUE), b"hello", Await(CONTINUE + full)) + (
        waits, Await(CONTINUE + full + CONTINUE), b"hel", TINY, b"lo", LAST[0])
    for what, steps, expect in [
        ("after-continue", (waits, Await(CONTINUE), b"hello", *in_turn(GET, LAST)),
         CONTINUE + full + GET[1] + PAGE_ANSWER),
        ("continue-twice", twice, (CONTINUE + full) * 2 + PAGE_ANSWER),
        ("continue-after-a-page", (GET[0], Await(GET[1]), waits, Await(GET[1] + CONTINUE),
                                   b"hello" + LAST[0]),
         GET[1] + CONTINUE + full + PAGE_ANSWER),
        ("continue-for-an-empty-body", (post(b"", fields=ASKS), TINY, LAST[0]),
         (echoed(b"", STAYS) + PAGE_ANSWER, CONTINUE + echoed(b"", STAYS) + PAGE_ANSWER)),
        ("no-continue-for-the-next", (waits, Await(CONTINUE), b"hello",
                                      Await(CONTINUE + full), post(b"", fields=HOST, length=b"5"),
                                      Pause(0.02), b"hello", LAST[0]),
         CONTINUE + full * 2 + PAGE_ANSWER),
        ("expectation-refused-in-the-second",
         in_turn(GET, (get(fields=HOST + b"Expect: a-miracle\r\n") + NEXT, b"")),
         GET[1] + EXPECTATION),
    ]:
        yield row(KEEP_ALIVE, what, steps, expect, reference, level=LEVEL)


def forgotten() -> Iterator[Case]:
    """What one request said is not true of the next."""
    for what, first, second, expect in [
        ("host", GET, get(fields=b""), BAD),
        ("length", echo(b"hello"), b"POST /echo HTTP/1.1\r\n" + HOST + CLOSES.encode() + b"\r\n",
         echoed(b"")),
        ("length-of-a-sink", sink(noise(9000)),
         b"POST /sink HTTP/1.1\r\n" + HOST + CLOSES.encode() + b"\r\n", sunk(0)),
        ("keep-alive-of-1.0", (get(fields=b"Connection: keep-alive\r\n", version=b"HTTP/1.0"),
                               page(STAYS_IN_1_0)),
         get(fields=b"", version=b"HTTP/1.0"), PAGE_ANSWER),
        ("method", HEAD, get(), PAGE_ANSWER),
        ("method-in-a-refusal", HEAD, b"GET / HTTP/N.1\r\n" + HOST + b"\r\n", BAD),
        ("path", LOST, get(), PAGE_ANSWER),
        ("query", (get(b"/?x=1", HOST), page()), get(b"/nowhere"),
         answer("404 Not Found", TEXT, b"404 Not Found\n")),
        ("absolute-form", (get(b"http://localhost/", HOST), page()), post(b"x"), echoed(b"x")),
    ]:
        yield row(KEEP_ALIVE, f"forgets-the-{what}", in_turn(first, (second, b"")),
                  first[1] + expect, PERSISTENCE, level=LEVEL)


def refused() -> Iterator[Case]:
    """After a refusal nothing more is answered, and no body is taken for a request."""
    inner = NEXT * 20
    for what, sent, expect in [
        ("bad-line", b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", BAD),
        ("bad-field", get(fields=HOST + b"X : y\r\n"), BAD),
        ("missing-host", get(fields=b""), BAD),
        ("two-empty-lines", b"\r\n\r\n" + GET[0], BAD),
        ("bare-line-feed", b"\n" + GET[0], BAD),
        ("body-longer-than-said", b"hello" + GET[0], NOT_IMPLEMENTED),
        ("unknown-method", b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n", NOT_IMPLEMENTED),
        ("unknown-version", get(fields=HOST, version=b"HTTP/2.0"), VERSION),
        ("too-large-a-body", TOO_MUCH, TOO_LARGE),
        ("chunked-body", b"POST /echo HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
         b"5\r\nhello\r\n0\r\n\r\n", LENGTH_REQUIRED),
        ("unknown-coding", b"POST /echo HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n",
         NOT_IMPLEMENTED),
        ("length-and-coding", post(b"hello", fields=HOST + b"Transfer-Encoding: chunked\r\n"), BAD),
        ("two-lengths", post(b"hello", fields=HOST + b"Content-Length: 6\r\n"), BAD),
    ]:
        yield row(KEEP_ALIVE, f"nothing-after-{what}", (sent + inner, Pause(0.01)), expect,
                  "RFC 9112 §9.6, §11.2", level=LEVEL)
        yield row(KEEP_ALIVE, f"nothing-after-{what}-in-the-second",
                  (GET[0], Await(GET[1]), sent, Pause(0.005), inner), GET[1] + expect,
                  "RFC 9112 §9.6, §11.2", level=LEVEL)


def pipelining() -> Iterator[Case]:
    """Requests that are here already are answered, in order, however they came."""
    for what, *exchanges in [
        ("two-pages", GET, LAST),
        ("sixteen-pages", *[GET] * 15, LAST),
        ("a-hundred-pages", *[GET] * 99, LAST),
        ("a-thousand-pages", *[GET] * 999, LAST),
        ("heads-and-pages", *[HEAD, GET] * 8, LAST),
        ("pages-that-are-not-there", *[LOST, GET] * 8, LAST),
        ("two-echoes", echo(b"one"), echo(b"two"), LAST),
        ("sixteen-echoes", *[echo(noise(size)) for size in range(100, 1700, 100)], LAST),
        ("a-hundred-echoes", *[echo(noise(7 * size)) for size in range(100)], LAST),
        ("empty-echoes", *[echo(b"")] * 20, LAST),
        ("sinks-and-pages", *[sink(noise(3000)), GET] * 10, LAST),
        ("large-echoes", *[echo(noise(100_000 + size)) for size in range(8)], LAST),
        ("large-echoes-and-pages", *[echo(noise(MIB)), GET, GET] * 3, LAST),
        ("large-sinks", *[sink(noise(MIB)), sink(b"x")] * 3, LAST),
        ("bodies-of-requests", *[echo(NEXT * 3)] * 5, LAST),
        ("empty-lines-between", *[(b"\r\n" + GET[0], GET[1])] * 16, LAST),
        ("long-lines", *[(get(b"/?" + b"q" * 8000, HOST), page())] * 20, LAST),
        ("long-heads", *[(get(fields=HOST + b"X: " + b"v" * 60_000 + b"\r\n"), page()), GET] * 4,
         LAST),
    ]:
        sent, expect = chain(*exchanges)  # type: ignore[arg-type]
        yield row(PIPELINING, what, sent, expect, PIPELINES, level=LEVEL)
    for depth in (2, 16, 100):
        sent, expect = chain(*mixed(depth), LAST)
        yield row(PIPELINING, f"mixed-{depth}", sent, expect, PIPELINES, level=LEVEL)
        for seed in (1, 2):
            yield row(PIPELINING, f"mixed-{depth}-in-pieces-{seed}", pieces(sent, seed), expect,
                      PIPELINES, level=LEVEL)
    yield from pipelines_that_end()
    yield from cut_pipelines()


def mixed(depth: int) -> list[Exchange]:
    """Every kind of request, bodies of many sizes among them."""
    rng = random.Random(depth)
    kinds = [lambda: GET, lambda: HEAD, lambda: LOST, lambda: (b"\r\n" + GET[0], GET[1]),
             lambda: echo(noise(rng.choice([0, 1, 10, 1000, 5000, 20_000, 70_000]))),
             lambda: sink(noise(rng.choice([0, 3, 3000, 40_000])))]
    return [rng.choice(kinds)() for _ in range(depth)]


def pieces(sent: bytes, seed: int) -> tuple[Step, ...]:
    """Cut anywhere, with a pause now and then."""
    rng = random.Random(seed)
    steps: list[Step] = []
    while sent:
        size = rng.choice([1, 2, 3, 7, 100, 5000, 70_000])
        steps.append(sent[:size])
        sent = sent[size:]
        if rng.random() < 0.05:
            steps.append(TINY)
    return tuple(steps)


def pipelines_that_end() -> Iterator[Case]:
    three, answers = chain(GET, echo(b"hello"), GET)
    waits = post(b"", fields=ASKS, length=b"5")
    for what, steps, expect in [
        ("nothing-after-close", (three + LAST[0] + NEXT * 16, Pause(0.01)), answers + PAGE_ANSWER),
        ("nothing-after-an-error", (three + b"GET / http/1.1\r\n\r\n" + NEXT * 16, Pause(0.01)),
         answers + BAD),
        ("nothing-after-too-large-a-body", (three + TOO_MUCH + NEXT * 16, Pause(0.01)),
         answers + TOO_LARGE),
        ("much-after-too-large-a-body", (three + TOO_MUCH + noise(65_536) + NEXT, Pause(0.01)),
         answers + TOO_LARGE),
        ("half-close", (three, HalfClose()), answers),
        ("half-close-of-sixteen", (GET[0] * 16, HalfClose()), GET[1] * 16),
        ("half-close-of-a-thousand", (GET[0] * 1000, HalfClose()), GET[1] * 1000),
        ("half-close-with-bodies", (chain(*mixed(30))[0], HalfClose()), chain(*mixed(30))[1]),
        ("half-close-in-the-next-line", (three + b"GET / HT", HalfClose()), answers),
        ("half-close-in-the-next-body", (three + post(b"hell", fields=HOST, length=b"5"),
                                         HalfClose()), answers),
        ("half-close-after-an-answer", (GET[0], Await(GET[1]), HalfClose()), GET[1]),
        ("half-close-after-a-large-echo", (*chain(echo(noise(MIB)), GET)[:1], HalfClose()),
         chain(echo(noise(MIB)), GET)[1]),
        ("half-close-after-an-empty-line", (GET[0] + b"\r\n", HalfClose()), GET[1]),
        ("half-close-at-once", (HalfClose(),), NO_ANSWER),
        ("continue-in-the-middle", (three + waits, Await(answers + CONTINUE), b"hello" + LAST[0]),
         answers + CONTINUE + echoed(b"hello", STAYS) + PAGE_ANSWER),
        ("no-continue-for-a-body-that-came", three + post(b"hello", fields=ASKS) + LAST[0],
         tuple(answers + between + echoed(b"hello", STAYS) + PAGE_ANSWER
               for between in (b"", CONTINUE))),
    ]:
        yield row(PIPELINING, what, steps, expect, PIPELINES, level=LEVEL)


def cut_pipelines() -> Iterator[Case]:
    """Two requests are two requests wherever the network cuts them."""
    for what, exchanges in [
        ("two-gets", [(get(fields=b"Host: x\r\n"), page()), LAST]),
        ("post-and-get", [(post(b"a\r\n\r\nb", fields=b"Host: x\r\n"),
                           echoed(b"a\r\n\r\nb", STAYS)), LAST]),
        ("error-and-get", [(b"GET / HTTP/1.1\r\nA\r\n\r\n" + NEXT, BAD)]),
    ]:
        sent, expect = chain(*exchanges)
        for at in range(1, len(sent)):
            yield row(PIPELINING, f"{what}-cut-at-{at:03}", (sent[:at], TINY, sent[at:]), expect,
                      PIPELINES, level=LEVEL)
        yield row(PIPELINING, f"{what}-byte-by-byte", bytewise(sent), expect, PIPELINES,
                  level=LEVEL)


def slow_clients() -> Iterator[Case]:
    """Whoever is slow is served to the end, and holds up nobody."""
    tcp = "tcp(7), epoll(7)"
    sent, expect = chain(echo(noise(300)), GET, LAST)
    pages, answers = chain(*[GET] * 999, LAST)
    large, large_answers = chain(*[echo(noise(MIB))] * 4, *[GET] * 50, LAST)
    everything, all_of_it = chain(echo(noise(MAX_BODY)), GET, LAST)
    waits = post(b"", fields=ASKS, length=b"300")
    halves = [chain(echo(noise(700_000)), GET), chain(*[sink(noise(200_000))] * 5)]
    for what, steps, got in [
        ("writes-byte-by-byte", bytewise(sent), expect),
        ("writes-a-kept-request-byte-by-byte", (GET[0], Await(GET[1]), *bytewise(sent)),
         GET[1] + expect),
        ("writes-a-body-byte-by-byte-after-continue",
         (waits, Await(CONTINUE), *bytewise(noise(300)), LAST[0]),
         CONTINUE + echoed(noise(300), STAYS) + PAGE_ANSWER),
        ("pauses-everywhere", (sent[:9], LONG, sent[9:200], LONG, sent[200:-9], LONG, sent[-9:]),
         expect),
        ("reads-late", (pages, LONG), answers),
        ("reads-slowly", (Sip(4096, 0.0005), pages), answers),
        ("reads-large-echoes-late", (large, LONG), large_answers),
        ("reads-large-echoes-slowly", (Sip(65_536, 0.001), large), large_answers),
        ("reads-10-MiB-late", (everything, LONG), all_of_it),
        ("reads-late-after-half-close", (halves[0][0], HalfClose(), LONG), halves[0][1]),
        ("reads-slowly-after-half-close", (Sip(16_384, 0.0005), halves[0][0], HalfClose()),
         halves[0][1]),
        ("writes-large-sinks-in-pieces", (*pieces(halves[1][0], 3), LAST[0]),
         halves[1][1] + PAGE_ANSWER),
    ]:
        yield row(SLOW_CLIENTS, what, steps, got, tcp, level=LEVEL, narrow="reads" in what,
                  timeout_s=10.0 if "reads" in what else 5.0)
    refusal_late = large.removesuffix(LAST[0]) + TOO_MUCH + NEXT
    yield row(SLOW_CLIENTS, "reads-a-refusal-late", (refusal_late, LONG),
              large_answers.removesuffix(PAGE_ANSWER) + TOO_LARGE, tcp, level=LEVEL, narrow=True)
    for what, steps in [
        ("does-not-read-pages", (GET[0] * 2000, Pause(0.02))),
        ("does-not-read-an-echo", (echo(noise(8 * MIB))[0], Pause(0.02))),
        ("stops-in-a-head", (GET[0], Await(GET[1]), GET[0][:20])),
        ("stops-in-a-body", (GET[0], Await(GET[1]), echo(b"hello")[0][:-2])),
        ("waits-for-continue", (waits, Await(CONTINUE))),
        ("does-not-close", (LAST[0], Await(PAGE_ANSWER))),
        ("vanishes-between-requests", (GET[0], Await(GET[1]), Vanish())),
        ("vanishes-in-the-second", (GET[0], Await(GET[1]), GET[0][:20], Vanish())),
        ("vanishes-in-a-large-answer", (large, Await(b"200 OK"), Vanish())),
        ("vanishes-with-answers-unread", (GET[0] * 2000, Pause(0.02), Vanish())),
        ("vanishes-after-half-close", (large, HalfClose(), Await(b"200 OK"), Vanish())),
        ("vanishes-in-its-body", (post(noise(MIB), fields=HOST, length=b"2000000"), Vanish())),
    ]:
        yield row(SLOW_CLIENTS, f"another-{what}", in_turn(GET, echo(noise(3000)), LAST),
                  chain(GET, echo(noise(3000)), LAST)[1], tcp, level=LEVEL,
                  neighbours=(steps,) * 6)


def many_clients() -> Iterator[Case]:
    """Clients that wait cost the others nothing."""
    asked = in_turn(*[GET] * 20, LAST)
    answers = chain(*[GET] * 20, LAST)[1]
    for what, steps, count in [
        ("a-thousand-silent", (), 1000),
        ("a-thousand-between-requests", (GET[0], Await(GET[1])), 1000),
        ("a-thousand-in-a-head", (GET[0][:20],), 1000),
        ("a-thousand-in-a-body", (post(b"hell", fields=HOST, length=b"5"),), 1000),
        ("a-thousand-with-unread-answers", (GET[0] * 3,), 1000),
        ("three-hundred-that-vanish", (GET[0], Await(GET[1]), Vanish()), 300),
        ("three-hundred-that-half-close", (GET[0], HalfClose()), 300),
    ]:
        yield row(MANY_CLIENTS, what, asked, answers, "epoll(7)", level=LEVEL,
                  neighbours=(steps,) * count)
    for what, exchanges, copies in [
        ("two-hundred-at-once", [GET, echo(noise(3000)), LAST], 200),
        ("forty-with-sixteen-pages", [*[GET] * 15, LAST], 40),
        ("forty-with-large-echoes", [echo(noise(200_000)), GET, LAST], 40),
    ]:
        sent, expect = chain(*exchanges)
        yield row(MANY_CLIENTS, what, sent, expect, "epoll(7)", level=LEVEL, copies=copies,
                  enough=copies, timeout_s=10.0)


def workers() -> Iterator[Case]:
    """With --threads 4 four threads serve. The kernel deals out the clients by a hash."""
    asked = [echo(b"request %d" % number) for number in range(20)]
    yield row(WORKERS, "four-serve", in_turn(*asked, LAST), chain(*asked, LAST)[1],
              "socket(7), SO_REUSEPORT", level=LEVEL_OF_WORKERS, copies=64, enough=64, workers=4,
              timeout_s=10.0)
