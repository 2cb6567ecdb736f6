"""The total memory that clients can make a server hold is bounded.

The client that has made no progress for longest is evicted; a client that sends requests and reads
answers is served. A connection that only waits holds little memory, and later continues normally.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from time import monotonic, sleep

import psutil

from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    have_the_page,
    must_be_plain,
    must_end,
)
from workbook.checks.behaviour.exhaustion import LITTLE, NO_STOCK, may_grow_by, no_more_memory
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    FIELDS_TOO_LARGE,
    HOST,
    MAX_BODY,
    MIB,
    NO_SLOT,
    PAGE_ANSWER,
    STAYS,
    URI_TOO_LONG,
    Case,
    Talk,
    Unmet,
    bytewise,
    echoed,
    get,
    noise,
    post,
    row,
)
from workbook.checks.behaviour.start import bad_option
from workbook.checks.behaviour.unchanged import GET, LAST, chain, echo
from workbook.servers.client import Await, Client, Pause, Sip, Step, exchange, readable
from workbook.servers.process import Server

STATUS = "RFC 9110 §15.6.4 (MAY)"
BOUNDED = "RFC 9110 §17.5 (ours)"
EVICTING, SUSTAINING = "RFC 9112 §9.5 (MAY)", "RFC 9112 §9.5 (SHOULD)"
KIB = 1024
BUFFER = 128 * KIB
HOLD_MORE = BUFFER // 2  # bytes of a head, which can fill the whole buffer
GREEDY = 60
BUDGET = 8 * BUFFER
BOUND = 2.25  # times the budget: allows for other memory and the allocator's overhead
# more than the sockets buffer, so that the server has to hold the remainder
EACH_SENDS = 8 * MIB
LONG_S = 60.0
FEW = 20
STALE, MAX_NEW = 6, 24
LOOK_S = 0.05
READS = 2 * MIB  # enough that the server's socket can send more
MORE_BUDGET = 16 * BUFFER
LARGE_BUDGET = 128 * BUFFER
TAKE_ALL = 80  # clients: more than the server's existing memory suffices for
NEED_MOST = 100  # clients: no evictions while seven eighths of the buffers are lent
LONG_HEADS = 240
HALVES = 400
HALF = 1000
ENOUGH_EACH = 8 * KIB
FLOOD = 1000
LAST_FEW = 5
RUSH = 60
AT_ONCE = 10  # clients in one iteration of the loop: more than there are spare buffers
IDLE = 50
MANY_THREADS = 130  # their default buffers would not fit into 64 MiB
HAS_SEEN_IT = Pause(0.01)
SMALL = 4 * KIB  # pending data may be held in a buffer of this size


def limited(budget: int, threads: int = 1) -> tuple[str, ...]:
    return "--threads", str(threads), "--max-buffered", str(budget)


def bounds() -> Iterator[Case]:
    yield alone("heads-beyond-the-bound", BOUNDED,
                f"the server may lend {MORE_BUDGET // BUFFER} buffers; {LONG_HEADS} clients send "
                f"{HOLD_MORE // KIB} KiB of a head, and close; then another asks",
                f"the server grows by less than {BOUND:g} times what it may lend; the other is "
                "served", beyond_the_bound, arguments=limited(MORE_BUDGET))
    yield alone("no-memory-for-heads", STATUS,
                f"the server may take {LITTLE // MIB} MiB more than it has; {LONG_HEADS} clients "
                f"send {HOLD_MORE // KIB} KiB of a head", "some have 503, with Retry-After, and "
                "the end; after they disconnected, another is served", no_memory_for_heads,
                environment=NO_STOCK)
    yield alone("no-memory-to-enlarge-buffers", BOUNDED,
                f"the server may lend {LARGE_BUDGET // BUFFER} buffers; {FLOOD} clients send {HALF} "
                f"bytes of a head; from then on it may take no more memory than it has; "
                f"{TAKE_ALL} others send {2 * SMALL} bytes of a head, and so do the first; when "
                f"all have disconnected, and it may take memory again, {NEED_MOST} send two thirds "
                "of a long head, and then the remainder", "each of the last is served",
                no_memory_to_enlarge, arguments=limited(LARGE_BUDGET), environment=NO_STOCK)
    yield alone("default-buffers-with-many-threads", "the chapter's page",
                f"the server is started with --threads {MANY_THREADS}, and nothing about buffers",
                "the page", very_many_threads, arguments=("--threads", str(MANY_THREADS)))
    yield bad_option("--max-buffered", "0", "1", "524287", "1048575")


def halves() -> Iterator[Case]:
    """Heads that arrive in two halves; the server may move the first one in memory meanwhile."""
    reference = "RFC 9112 §2.2 (MUST)"
    body = noise(1234)
    answers = echoed(body, STAYS) + GET[1] + PAGE_ANSWER
    for size in (1, 100, SMALL - 1, SMALL, SMALL + 1, 2 * SMALL, 30_000, 59_990):
        sent = length_around(size, body) + GET[0] + LAST[0]
        yield row(f"cut-after-{size}", (sent[:size], HAS_SEEN_IT, sent[size:]), answers, reference)
    sent = length_around(SMALL, body) + GET[0] + LAST[0]
    yield row("byte-by-byte-around-4-KiB", (
        sent[:SMALL - 20], HAS_SEEN_IT, *bytewise(sent[SMALL - 20:SMALL + 20]),
        sent[SMALL + 20:]), answers, reference)
    locations = (90, 2000, SMALL, SMALL + 90, 9000)
    for what, cuts in [("parts", locations), ("small-parts", range(7, 9000, 97))]:
        yield row(f"many-{what}", cut(sent, cuts), answers, reference)
    sent, got = chain(GET, echo(noise(300)), LAST)
    start = len(GET[0])
    for what, at in kinds_of_positions(sent, start):
        yield row(f"second-request-cut-in-{what}",
                  (sent[:at], Await(GET[1]), HAS_SEEN_IT, sent[at:]), got, reference)
    yield row("cut-then-fields-over-limit", (long_head(60_000)[:SMALL], HAS_SEEN_IT, b"v" * 70_000),
              FIELDS_TOO_LARGE, "RFC 9110 §5.4 (MUST), RFC 6585 §5 (ours)")
    yield row("cut-then-line-over-limit", (b"GET /" + b"a" * 3000, HAS_SEEN_IT, b"a" * 9000),
              URI_TOO_LONG, "RFC 9112 §3 (MUST)")
    pages, answers = chain(*[GET] * 3000, LAST)
    for size in (700, SMALL, 50_000):
        yield row(f"pages-read-in-{size}-byte-steps", (Sip(size, 0.0001), pages), answers, "tcp(7)",
                  narrow=True)
    yield Case("clients-get-only-their-own-heads", (), (), reference, talk=Talk(
        f"{IDLE} clients send half of the head of a body of their own, one after another; then, in "
        "the reverse order, the remaining half", "each has its own body back", anothers_half))
    yield alone("incomplete-heads-in-small-buffers", BOUNDED,
                f"the server may lend {MORE_BUDGET // BUFFER} buffers; {HALVES} clients send "
                f"{HALF} bytes of a head, and later the remainder",
                f"each makes the server grow by less than {ENOUGH_EACH // KIB} KiB, and is served",
                half_heads, arguments=limited(MORE_BUDGET))


def long_head(size: int) -> bytes:
    """The head of a GET that is `size` bytes long."""
    remainder = get(fields=HOST + b"X-Long: \r\n")
    return remainder[:-4] + b"v" * (size - len(remainder)) + remainder[-4:]


def length_around(location: int, body: bytes) -> bytes:
    """A POST to /echo whose four-digit Content-Length is at about `location` in the head.

    Losing a byte there changes the answer.
    """
    sent = post(body, fields=HOST + b"X-Long: \r\n")
    more = b"v" * (location - sent.index(b"Length: ") - len(b"Length: 12"))
    return sent.replace(b"X-Long: ", b"X-Long: " + more, 1)


def kinds_of_positions(sent: bytes, start: int) -> Iterator[tuple[str, int]]:
    """Yields one position in each kind of element of the head that begins at or after `start`."""
    for what, text, more in [
        ("method", b"POST", 2), ("target", b"/echo", 3), ("version", b"HTTP/1.1", 4),
        ("line-end", b"\r\n", 1), ("name", b"Content-Length", 6), ("colon", b"Length:", 7),
        ("value", b": 300", 3), ("field-end", b"300\r\n", 4), ("head-end", b"300\r\n\r\n", 6),
        ("body", b"\r\n\r\n", 100),
    ]:
        yield what, sent.index(text, start) + more


def cut(sent: bytes, locations: Sequence[int]) -> tuple[Step, ...]:
    ends = (*locations, len(sent))
    return tuple(step for begin, end in zip((0, *locations), ends, strict=True)
                 for step in (sent[begin:end], HAS_SEEN_IT))


def anothers_half(address: tuple[str, int]) -> None:
    bodies = [b"%d of %d" % (number, IDLE) * (number + 1) for number in range(IDLE)]
    deadline = monotonic() + TIMEOUT_S
    clients = [Client(address, deadline) for _ in bodies]
    try:
        asked = [(client, post(body), body) for client, body in zip(clients, bodies, strict=True)]
        for client, sent, _ in asked:
            client.perform((sent[:40], HAS_SEEN_IT))
        for client, sent, body in reversed(asked):
            client.perform((sent[40:],))
            if client.finish().data != echoed(body):
                raise Unmet(f"{client.received().data[-40:]!r} came, and not its own")
    finally:
        for client in clients:
            client.close()


def evictions() -> Iterator[Case]:
    eight, sixteen = (f"the server may lend {n // BUFFER} buffers" for n in (BUDGET, MORE_BUDGET))
    unread = f"what they can of {EACH_SENDS // MIB} MiB to /echo, and read nothing"
    grows = f"the server grows by less than {BOUND:g} times what it may lend"
    for threads in (1, 2):
        yield alone(f"echoes-in-bounded-memory-with-threads-{threads}", EVICTING,
                    f"{eight}, and has --threads {threads}; {GREEDY} clients send {unread}; then "
                    "others ask, and read", f"{grows}; a client that reads is served",
                    echoes_in_bounded_memory, arguments=limited(BUDGET, threads))
    yield alone("long-heads-in-bounded-memory", EVICTING,
                f"{sixteen}; {LONG_HEADS} clients send {HOLD_MORE // KIB} KiB of a head; then "
                "another asks", f"{grows}; the other is served, and so is the last one waiting",
                partial(heads_in_bounded_memory, number=LONG_HEADS, size=HOLD_MORE - KIB),
                arguments=limited(MORE_BUDGET))
    yield alone("small-heads-in-bounded-memory", EVICTING,
                f"{sixteen}; {FLOOD} clients send {SMALL} bytes of a head; then another asks",
                f"{grows}; the other is served, and the last of those who wait",
                partial(heads_in_bounded_memory, number=FLOOD, size=SMALL),
                arguments=limited(MORE_BUDGET))
    for lent in (4, 8):
        yield alone(f"served-next-to-unread-echoes-with-{lent}-buffers", EVICTING,
                    f"the server may lend {lent} buffers; one after another come {FEW} clients "
                    f"that send {unread}; after each, another asks, and reads",
                    "each of the others is served", served_next_to,
                    arguments=limited(lent * BUFFER))
    yield alone("incomplete-heads-next-to-unread-echoes", EVICTING,
                f"the server may lend 4 buffers; one after another come {FEW} clients that send "
                f"{unread}; after each two of them, another sends a head in two halves",
                "each of the others is served", half_heads_next_to, arguments=limited(4 * BUFFER))
    yield alone("stalled-clients-evicted-first", EVICTING,
                f"{sixteen}; {STALE + 1} clients, one after another, send {unread}; the first then "
                "reads some; more come, until some are cut off",
                "the clients stalled for longest are evicted first, and the first has all of "
                "its echo", those_without_progress, arguments=limited(MORE_BUDGET))
    yield alone("idle-clients-are-kept", SUSTAINING,
                f"{eight}; {IDLE} clients have the page and are idle; {FEW} send {unread}",
                "the idle clients are still served", idle_ones_stay, arguments=limited(BUDGET))
    yield alone("burst-of-long-heads", STATUS,
                f"{eight}; {RUSH} clients send two thirds of a long head while the server is suspended; "
                "then one after another the remainder",
                "each is served, or closed without a word, or has 503, with Retry-After; some are "
                "served", rush_of_long_heads, arguments=limited(BUDGET))
    yield alone("several-clients-at-once", EVICTING,
                f"{sixteen}; {FEW} clients send {unread}; {AT_ONCE} others send two thirds of a "
                "long head while the server is suspended, and then the remainder",
                "each of the others is served", several_at_once, arguments=limited(MORE_BUDGET))
    yield alone("slot-released-after-eviction", EVICTING,
                f"{eight}, and accepts {FEW} clients, which send {unread}; when some were cut "
                "off, another comes", "it is served", slot_released,
                arguments=(*limited(BUDGET), "--max-clients", str(FEW)))
    yield alone("stops-while-buffers-are-short", "signal(7)",
                f"{eight}; {FEW} clients send {unread}; SIGTERM",
                "the server ends within a second, with 0", stops_while_short,
                arguments=limited(BUDGET))


def press(clients: Sequence[Client], sent: bytes) -> None:
    """Send what all clients' sockets accept without reading, until none accepts more."""
    left = dict.fromkeys(clients, memoryview(sent))
    deadline = monotonic() + TIMEOUT_S
    while any([_offers(client, left) for client in clients]) and monotonic() < deadline:
        sleep(LOOK_S)


def _offers(client: Client, left: dict[Client, memoryview]) -> bool:
    taken = client.offer(left[client], 0)
    left[client] = left[client][taken:]
    return taken > 0


UNREAD = post(noise(MAX_BODY), fields=HOST)[:EACH_SENDS]


def echoes_in_bounded_memory(server: Server) -> None:
    must_be_plain(server)
    with connected(server, 1, timeout_s=LONG_S) as before, \
            connected(server, GREEDY, narrow=True, timeout_s=LONG_S) as clients:
        have_the_page(before)
        had = server.own_bytes()
        for some in range(0, GREEDY, GREEDY // 4):
            press(clients[some:some + GREEDY // 4], UNREAD)
            must_not_grow(server, had, BUDGET)
        asks_and_reads(server)
        have_the_page(before, times=2)
        must_not_grow(server, had, BUDGET)


def must_not_grow(server: Server, had: int, budget: int) -> None:
    if (grown := server.own_bytes() - had) >= BOUND * budget:
        raise Unmet(f"it grew by {grown / MIB:.1f} MiB")


def asks_and_reads(server: Server) -> None:
    sent, got = chain(GET, echo(noise(MIB)), LAST)
    received = exchange((server.host, server.port), (sent,), TIMEOUT_S)
    if received.data != got:
        raise Unmet(f"one that asked and read had {len(received.data):,} of {len(got):,} bytes, "
                    f"and its connection was {received.end}")


def served_next_to(server: Server) -> None:
    with connected(server, FEW, narrow=True, timeout_s=LONG_S) as clients:
        for client in clients:
            client.offer(UNREAD, LOOK_S)
            asks_and_reads(server)


def half_heads_next_to(server: Server) -> None:
    """Large idle buffers use up the memory budget while half a head needs a small one."""
    half = len(LAST[0]) // 2
    with connected(server, FEW, narrow=True, timeout_s=LONG_S) as clients:
        for number, client in enumerate(clients):
            client.offer(UNREAD, LOOK_S)
            if number % 2 == 0:
                continue
            received = exchange((server.host, server.port),
                                (LAST[0][:half], HAS_SEEN_IT, LAST[0][half:]), TIMEOUT_S)
            if received.data != LAST[1]:
                raise Unmet(f"one had {received.data[:40]!r}, and its connection was "
                            f"{received.end}")


def those_without_progress(server: Server) -> None:
    with connected(server, STALE + 1, narrow=True, timeout_s=LONG_S) as (first, *stale), \
            connected(server, MAX_NEW, narrow=True, timeout_s=LONG_S) as others:
        left = {client: memoryview(UNREAD) for client in (first, *stale)}
        for client in left:
            left[client] = left[client][client.offer(left[client], LOOK_S):]
            server.sleeps(TIMEOUT_S)
        first.receive_in_all(READS)
        left[first] = left[first][first.offer(left[first], LOOK_S):]
        for other in others:
            other.offer(UNREAD, LOOK_S)
            server.sleeps(TIMEOUT_S)  # by then the client to be evicted has been
            for client in stale:
                _offers(client, left)
            if any(client.ended for client in stale):
                break
        here = [not client.ended for client in stale]
        if all(here) or here != sorted(here):
            raise Unmet("of those who came one after another these were still there: "
                        + (", ".join(str(n) for n, stays in enumerate(here, 1) if stays) or "none"))
        first.perform((bytes(left[first]),))
        first.receive_in_all(len(UNREAD))
        if first.ended:
            raise Unmet("the one that had read was cut off")


def idle_ones_stay(server: Server) -> None:
    with connected(server, IDLE, timeout_s=LONG_S) as idle, \
            connected(server, FEW, narrow=True, timeout_s=LONG_S) as clients:
        have_the_page(idle)
        press(clients, UNREAD)
        have_the_page(idle, times=2)


def half_heads(server: Server) -> None:
    must_be_plain(server)
    sent = long_head(2 * HALF)
    with connected(server, HALVES, timeout_s=LONG_S) as clients:
        have_the_page(clients[:1])
        had = server.own_bytes()
        for client in clients[1:]:
            client.perform((sent[:HALF],))
        have_the_page(clients[:1], times=2)
        each = (server.own_bytes() - had) / HALVES
        for client in clients[1:]:
            client.perform((sent[HALF:],))
        for client in clients[1:]:
            client.perform((Await(GET[1]),))
        if disconnected := sum(client.ended for client in clients):
            raise Unmet(f"{disconnected} of {HALVES} were not served")
    if each >= ENOUGH_EACH:
        raise Unmet(f"each made it grow by {each / KIB:.1f} KiB")


def beyond_the_bound(server: Server) -> None:
    must_be_plain(server)
    sent = long_head(HOLD_MORE)[:-HALF]
    with connected(server, LONG_HEADS, timeout_s=LONG_S) as clients:
        had = server.own_bytes()
        for client in clients:
            client.perform((sent,))
        server.sleeps(TIMEOUT_S)
        must_not_grow(server, had, MORE_BUDGET)
    server.sleeps(TIMEOUT_S)
    asks_and_reads(server)


def no_memory_to_enlarge(server: Server) -> None:
    """A failed allocation must not change how much can be lent later."""
    sent = long_head(3 * SMALL)
    with connected(server, FLOOD, timeout_s=LONG_S) as clients, \
            connected(server, TAKE_ALL, timeout_s=LONG_S) as others:
        have_the_page([*clients[:1], *others])
        for client in clients[1:]:
            client.perform((sent[:HALF],))
        server.sleeps(TIMEOUT_S)
        with no_more_memory(server):
            for other in others:
                other.perform((sent[:2 * SMALL],))
            server.sleeps(TIMEOUT_S)
            for client in clients[1:]:
                client.perform((sent[HALF:2 * SMALL],))
            server.sleeps(TIMEOUT_S)
    server.sleeps(TIMEOUT_S)
    with connected(server, NEED_MOST, timeout_s=LONG_S) as clients:
        are_served_in_two_steps(clients, sent)


def are_served_in_two_steps(clients: Sequence[Client], sent: bytes) -> None:
    """All clients send two thirds of a long head, and then each sends the remainder."""
    for client in clients:
        client.perform((sent[:2 * SMALL],))
    served = 0
    for client in clients:
        client.perform((sent[2 * SMALL:], Await(GET[1])))
        served += was_served(client, b"")
    if served < len(clients):
        raise Unmet(f"{len(clients) - served} of {len(clients)} were not served")


def very_many_threads(server: Server) -> None:
    with connected(server, 1) as clients:
        have_the_page(clients)


def heads_in_bounded_memory(server: Server, number: int, size: int) -> None:
    must_be_plain(server)
    sent = long_head(size + HALF)
    with connected(server, number, timeout_s=LONG_S) as clients:
        had = server.own_bytes()
        for client in clients:
            client.perform((sent[:size],))
        asks_and_reads(server)
        must_not_grow(server, had, MORE_BUDGET)
        for client in clients[-LAST_FEW:]:
            client.perform((sent[size:], Await(GET[1])))
        if disconnected := sum(client.ended for client in clients[-LAST_FEW:]):
            raise Unmet(f"{disconnected} of the last {LAST_FEW} were not served")


def rush_of_long_heads(server: Server) -> None:
    sent = long_head(3 * SMALL)
    with connected(server, RUSH) as clients:
        have_the_page(clients)
        send_at_once(server, clients, sent[:2 * SMALL])
        asks_and_reads(server)
        served = 0
        for client in clients:
            client.perform((sent[2 * SMALL:], Await(2 * GET[1])))
            served += was_served(client, GET[1])
        if not served:
            raise Unmet("none of them was served")


def send_at_once(server: Server, clients: Sequence[Client], sent: bytes) -> None:
    """Send from all clients while the server is suspended, so that one wait reports them all."""
    process = psutil.Process(server.pid)
    process.suspend()
    for client in clients:
        client.perform((sent,))
    process.resume()


def several_at_once(server: Server) -> None:
    sent = long_head(3 * SMALL)
    with connected(server, AT_ONCE, timeout_s=LONG_S) as others, \
            connected(server, FEW, narrow=True, timeout_s=LONG_S) as clients:
        have_the_page(others)
        press(clients, UNREAD)
        server.sleeps(TIMEOUT_S)
        send_at_once(server, others, sent[:2 * SMALL])
        served = 0
        for other in others:
            other.perform((sent[2 * SMALL:], Await(2 * GET[1])))
            served += was_served(other, GET[1])
    if served < AT_ONCE:
        raise Unmet(f"{AT_ONCE - served} of {AT_ONCE} were not served")


def was_served(client: Client, before: bytes) -> bool:
    """Returns whether the client got the page after `before`. Raises Unmet if it got anything other
    than the page, the 503 answer or nothing.
    """
    had = client.received()
    after = had.data.removeprefix(before)
    if had.end == "timeout" and client.ended or after not in (b"", GET[1], NO_SLOT):
        raise Unmet(f"one of them got {after[:40]!r}, and its connection was {had.end}")
    return after == GET[1]


def slot_released(server: Server) -> None:
    with connected(server, FEW, narrow=True, timeout_s=LONG_S) as clients:
        press(clients, UNREAD)
        if not any(client.ended for client in clients):
            raise Unmet(f"none of {FEW} was cut off")
        asks_and_reads(server)


def stops_while_short(server: Server) -> None:
    with connected(server, FEW, narrow=True, timeout_s=LONG_S) as clients:
        press(clients, UNREAD)
        server.ask_to_stop()
        must_end(server)


def no_memory_for_heads(server: Server) -> None:
    sent = long_head(HOLD_MORE)
    with connected(server, FEW, timeout_s=LONG_S) as served, \
            connected(server, LONG_HEADS, timeout_s=LONG_S) as clients:
        have_the_page([*served, *clients])
        may_grow_by(server, LITTLE)
        for client in clients:
            client.perform((sent[:-HALF],))
        if not readable(clients, TIMEOUT_S):
            raise Unmet(f"none of {LONG_HEADS} was refused")
        for client in clients:
            client.receive_for(0.001)
            was_served(client, GET[1])
            client.close()
        have_the_page(served, times=2)


CHECKS = (
    group("buffer-bound", "all buffers together take no more memory than the bound", bounds,
          level=13),
    group("incomplete-heads", "half heads wait in little memory, and lose no byte", halves,
          level=13),
    group("eviction", "clients that hold memory and stall make way for others", evictions,
          level=13),
)
