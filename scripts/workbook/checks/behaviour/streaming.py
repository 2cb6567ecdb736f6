"""Bodies are streamed: an answer may begin before its request has ended, no body is held, and an
unwanted body is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    have_the_page,
    must_be_idle,
    must_be_plain,
)
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BYTES,
    CONTINUE,
    HOST,
    MAX_BODY,
    MIB,
    NEXT,
    PAGE_ANSWER,
    STAYS,
    USUAL,
    Case,
    Talk,
    Unmet,
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
    LAST,
    chain,
    echo,
    not_found,
    sink,
)
from workbook.servers.client import (
    Await,
    Client,
    HalfClose,
    Pause,
    Sip,
    Step,
    Vanish,
    exchange,
)
from workbook.servers.process import Server

NOWHERE = b"/nowhere"
SKIPPED = 256 * 1024  # bytes of an unwanted body that are read to keep the connection
UPLOADS = 100
BEGUN = 300_000  # bytes that each client sends first
FINISHED = 4
FLAT = 4 * MIB  # the allowed growth of the server due to all of them
GREEDY = 8
ENOUGH = 384 * 1024  # bytes, for buffers in both directions
QUIET_S = 0.2
OTHERS = 24


def cases() -> Iterator[Case]:
    yield from before_the_end()
    yield from unwanted()
    yield from in_a_row()
    yield from slowly()
    yield alone("uploads-in-constant-memory", "RFC 9112 §2.2 (ours)",
                f"{UPLOADS} clients send the first {BEGUN // 1000} kB of bodies of 1 to 9 MB to "
                f"/sink; then {FINISHED} of them the remainder",
                f"the server grows by less than {FLAT // MIB} MiB in all", uploads)
    yield alone("unread-echoes", "tcp(7)",
                f"{GREEDY} clients send what they can of 10 MiB to /echo, and read nothing",
                f"the server holds less than {ENOUGH // 1024} KiB for each and uses no processor",
                echoes_unread)
    yield alone("reset-in-its-echo", "RFC 9112 §9.5 (SHOULD)",
                "sixty clients send half a body to /echo, have some of it back and reset their "
                "connections, in a server with 64 descriptors",
                "another one is served, and the server has nothing to do", disconnected_in_its_echo,
                few_descriptors=64)


def before_the_end() -> Iterator[Case]:
    """A client that waits for the answer's first bytes before it sends its last ones must get them.
    """
    reference = "RFC 9110 §7.5 (ours)"
    body = noise(30)
    begun = echoed(body)[:-20]
    steps: list[Step] = [post(body[:10], length=b"30"), Await(begun), body[10:20],
                         Await(begun + body[10:20]), body[20:]]
    yield row("echo-before-body-ends", steps, echoed(body), reference)
    large = noise(500_000)
    yield row("large-echo-before-body-ends", (
        post(large[:400_000], length=b"500000"), Await(large[300_000:400_000]), large[400_000:]),
        echoed(large), reference)
    whole = answer("200 OK", BYTES, bytes(1000), send_body=False)
    yield row("half-close-in-an-echo", (post(b"x" * 10, length=b"1000"), HalfClose()),
              whole + b"x" * 10, "RFC 9112 §6.3 (MUST)")
    yield row("continue-before-echo", (post(b"", fields=ASKS, length=b"5"), Await(CONTINUE),
                                           b"hello" + LAST[0]),
              CONTINUE + echoed(b"hello", STAYS) + PAGE_ANSWER, "RFC 9110 §10.1.1 (MUST)")


def unwanted() -> Iterator[Case]:
    """Bodies of requests that are answered without reading them."""
    reference = "RFC 9112 §9.3 (MUST)"
    lost = not_found()
    small, much = noise(5000), noise(SKIPPED)
    for what, steps, expect in [
        ("answered-before-body", (post(b"", NOWHERE, HOST, b"5000"), Await(lost),
                                      small + LAST[0]), lost + PAGE_ANSWER),
        ("unwanted-body-skipped", post(small, NOWHERE, HOST) + LAST[0], lost + PAGE_ANSWER),
        ("skipped-body-that-looks-like-requests", post(NEXT * 20, NOWHERE, HOST) + LAST[0],
         lost + PAGE_ANSWER),
        ("skipped-up-to-limit", post(much, NOWHERE, HOST) + LAST[0], lost + PAGE_ANSWER),
        ("body-of-a-get", post(small, b"/", HOST).replace(b"POST", b"GET", 1) + LAST[0],
         GET[1] + PAGE_ANSWER),
        ("body-of-a-head", post(small, b"/", HOST).replace(b"POST", b"HEAD", 1) + LAST[0],
         GET[1].partition(b"\r\n\r\n")[0] + b"\r\n\r\n" + PAGE_ANSWER),
        ("body-of-a-head-to-echo", post(small, fields=HOST).replace(b"POST", b"HEAD", 1)
         + LAST[0], not_allowed("POST", STAYS, send_body=False) + PAGE_ANSWER),
    ]:
        yield row(what, (steps,) if isinstance(steps, bytes) else steps, expect, reference)  # type: ignore[arg-type]


def in_a_row() -> Iterator[Case]:
    """Each answer must be framed correctly, otherwise the next one is misread."""
    reference = "RFC 9112 §9.3.2 (MUST)"
    body = noise(20_000)
    for what, exchanges in [
        ("mixed-requests", [echo(body), sink(body), GET, echo(b"")]),
        ("small-echoes", [echo(b"%d" % i) for i in range(300)]),
        ("large-echoes", [echo(noise(200_000 + i)) for i in range(5)]),
        ("skipped-between-requests",
         [GET, (post(body, NOWHERE, HOST), not_found()), echo(body), GET]),
    ]:
        sent, expect = chain(*exchanges, LAST)
        yield row(what, sent, expect, reference)
    # All pieces arrive in one segment of loopback. With the last one, the answers exceed the limit
    # of unsent bytes, so the end has to wait for them although nothing is left to receive, but not
    # until a deadline.
    filling = noise(16_300)
    sent, expect = chain(*[GET] * 190, (post(filling), echoed(filling)))
    yield row("body-ends-when-output-is-full", sent, expect, reference, timeout_s=TIMEOUT_S)
    closing = post(body, fields=USUAL)
    yield row("echo-with-connection-close", closing + NEXT, echoed(body), "RFC 9112 §9.6 (MUST)")
    old = closing.replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    yield row("echo-of-1.0", old, echoed(body), "RFC 9112 §6.1 (MUST)")


def slowly() -> Iterator[Case]:
    """The server stops receiving while it can't send: nothing is lost, and nothing accumulates."""
    large = noise(4 * MIB)
    yield row("echo-read-slowly", (Sip(65_536, 0.001), post(large)), echoed(large), "tcp(7)",
              narrow=True)
    yield Case("clients-get-only-their-own-bytes", (), (), "tcp(7)", talk=Talk(
        f"a client sends what it can of 1 MiB to /echo and does not read; then {OTHERS} others "
        "have bodies of their own back; then it reads",
        "its own bytes, and none of theirs", anothers_bytes))
    yield row("another-does-not-read-an-echo", get(), PAGE_ANSWER, "tcp(7)", neighbours=(
        (post(large, fields=HOST)[:300_000], Pause(0.02)),) * 6)


def anothers_bytes(address: tuple[str, int]) -> None:
    """Between the parts of a request come enough other clients that each worker serves some."""
    body, theirs = noise(MIB), b"\xff" * 100_000
    sent = post(body)
    with Client(address, monotonic() + TIMEOUT_S, narrow=True) as client:
        taken = client.offer(sent, QUIET_S)
        for _ in range(OTHERS):
            if exchange(address, (post(theirs),), TIMEOUT_S).data != echoed(theirs):
                raise Unmet("another did not have its body back")
        client.perform((sent[taken:],))
        if client.finish().data != echoed(body):
            raise Unmet("other bytes came back than were sent")


def uploads(server: Server) -> None:
    must_stay_small(
        server, lambda number: post(bytes(upload_size(number)), b"/sink", HOST))


def upload_size(number: int) -> int:
    return 1_000_000 + 8_000_000 * number // UPLOADS


def must_stay_small(server: Server, upload: Callable[[int], bytes]) -> None:
    must_be_plain(server)
    with connected(server, UPLOADS) as clients:
        have_the_page(clients)
        before = maximum = server.own_bytes()
        rests = []
        for number, client in enumerate(clients):
            whole = upload(number)
            client.perform((whole[:BEGUN],))
            maximum = max(maximum, server.own_bytes())
            rests.append((whole[BEGUN:], sunk(upload_size(number), STAYS)))
        for client, (remainder, got) in list(zip(clients, rests, strict=True))[:FINISHED]:
            client.perform((remainder, Await(GET[1] + got)))
            if client.ended:
                raise Unmet("a client was not answered, or closed after its answer")
            maximum = max(maximum, server.own_bytes())
    if maximum - before >= FLAT:
        raise Unmet(f"it grew by {(maximum - before) / MIB:.1f} MiB")


def echoes_unread(server: Server) -> None:
    must_be_plain(server)
    sent = post(noise(MAX_BODY), fields=HOST)
    with connected(server, GREEDY, narrow=True) as clients:
        have_the_page(clients)
        before = server.own_bytes()
        for client in clients:
            client.offer(sent, QUIET_S)
        held = (server.own_bytes() - before) / GREEDY
        if held >= ENOUGH:
            raise Unmet(f"it held {held / 1024:,.0f} KiB for each")
        must_be_idle(server)


def disconnected_in_its_echo(server: Server) -> None:
    must_survive_resets(server, post(bytes(100_000), fields=HOST))


def must_survive_resets(server: Server, sent: bytes) -> None:
    """Each client sends 50,000 bytes of `sent`, a request for a longer echo, and resets."""
    for _ in range(60):
        with connected(server, 1) as (client,):
            client.perform((sent[:50_000], Await(b"200 OK"), Vanish()))
    with connected(server, 1) as (other,):
        have_the_page([other])
    must_be_idle(server)


CHECKS = (group("streaming", "streamed bodies", cases, level=12),)
