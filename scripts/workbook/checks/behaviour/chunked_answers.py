"""An answer whose length is unknown when it begins is sent in chunks, of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbook.checks.behaviour import chunked
from workbook.checks.behaviour.alone import alone
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    CONTINUE,
    HOST,
    LONG,
    MIB,
    NEXT,
    PAGE_ANSWER,
    STAYS,
    TINY,
    Case,
    bytewise,
    chunks,
    echoed_in_chunks,
    noise,
    post,
    row,
)
from workbook.checks.behaviour.streaming import (
    BEGUN,
    FINISHED,
    FLAT,
    UPLOADS,
    must_stay_small,
    must_survive_resets,
    upload_size,
)
from workbook.checks.behaviour.unchanged import ASKS, GET, LAST, chain, echo, sink
from workbook.servers.client import Await, HalfClose, Sip, Step
from workbook.servers.process import Server


def cases() -> Iterator[Case]:
    yield from whole_bodies()
    yield from before_the_end()
    yield from in_a_row()
    yield from slowly()
    yield alone("uploads-in-constant-memory", "RFC 9112 §2.2 (ours)",
                f"{UPLOADS} clients send the first {BEGUN // 1000} kB of bodies of 1 to 9 MB to "
                f"/sink, every second in chunks; then {FINISHED} of them the remainder",
                f"the server grows by less than {FLAT // MIB} MiB in all", uploads)
    yield alone("reset-in-its-echo", "RFC 9112 §9.5 (SHOULD)",
                "sixty clients send half a body to /echo, in chunks, have some of it back and "
                "reset their connections, in a server with 64 descriptors",
                "another one is served, and the server has nothing to do", disconnected_in_its_echo,
                few_descriptors=64)


def request(body: bytes, size: int, fields: bytes = HOST) -> bytes:
    """A request for an echo of this body, sent in chunks of this size."""
    return chunked.post(chunks(body, size), b"/echo", fields)


def whole_bodies() -> Iterator[Case]:
    """The same bytes come back in chunks, whatever chunks they were sent in."""
    for size, each in [(0, 1), (1, 1), (5, 2), (300, 1), (4096, 4096), (16_384, 16_384),
                       (16_385, 16_385), (65_537, 1000), (300_000, 131_072), (MIB, 16_384),
                       (MIB, MIB), (MIB, 99_999)]:
        yield row(f"echo-{size}-by-{each}", chunked.post(chunks(noise(size), each), b"/echo"),
                  echoed_in_chunks(noise(size)), chunked.SYNTAX)
    sent, expect = chain((request(noise(70_000), 7000), echoed_in_chunks(noise(70_000), STAYS)),
                         GET, (chunked.post(chunked.LAST_CHUNK, b"/echo", HOST),
                               echoed_in_chunks(b"", STAYS)), LAST)
    yield row("pipelined-echoes", sent, expect, chunked.SYNTAX)
    body = b"5;a=\"b\"\r\nhello\r\n00B\r\n01234567890\r\n0\r\nX: y\r\n\r\n"
    steps: tuple[Step, ...] = bytewise(chunked.post(body, b"/echo"))
    yield row("echo-byte-by-byte", steps, echoed_in_chunks(b"hello01234567890"), chunked.SYNTAX)
    yield row("echo-in-pieces", _pieces(chunked.post(chunks(noise(50_000), 777), b"/echo"), 1000),
              echoed_in_chunks(noise(50_000)), chunked.SYNTAX)


def _pieces(sent: bytes, size: int) -> Iterable[Step]:
    return tuple(step for i in range(0, len(sent), size) for step in (sent[i:i + size], TINY))


def before_the_end() -> Iterator[Case]:
    """An answer begins before its request has ended; its last chunk shows that it's complete."""
    body = noise(30)
    yield row("echo-before-body-ends", (
        chunked.post(chunks(body[:10], ended=False), b"/echo"),
        Await(echoed_in_chunks(body[:10], ended=False)), chunks(body[10:20], ended=False),
        Await(echoed_in_chunks(body[:20], ended=False)), chunks(body[20:])),
        echoed_in_chunks(body), "RFC 9110 §7.5 (ours)")
    yield row("continue-before-echo", (
        chunked.post(b"", b"/echo", ASKS), Await(CONTINUE), chunks(b"hello") + LAST[0]),
        CONTINUE + echoed_in_chunks(b"hello", STAYS) + PAGE_ANSWER, "RFC 9110 §10.1.1 (MUST)")
    yield row("half-close-in-an-echo", (chunked.post(chunked.HELLO, b"/echo"), HalfClose()),
              echoed_in_chunks(b"hello", ended=False), "RFC 9112 §8 (ours)")


def in_a_row() -> Iterator[Case]:
    """Each answer must be framed correctly, otherwise the next one is misread."""
    body = noise(20_000)
    small, large = ((request(body, size), echoed_in_chunks(body, STAYS)) for size in (999, 20_000))
    sent, expect = chain(echo(body), small, sink(body), GET, large, echo(b""), LAST)
    yield row("mixed-requests", sent, expect, "RFC 9112 §9.3.2 (MUST)")
    yield row("echo-with-connection-close", chunked.post(chunks(body), b"/echo") + NEXT,
              echoed_in_chunks(body), "RFC 9112 §9.6 (MUST)")


def slowly() -> Iterator[Case]:
    """The server stops receiving while it can't send: nothing is lost, and nothing accumulates."""
    large = noise(4 * MIB)
    whole, expect = chain((request(large, 100_000), echoed_in_chunks(large, STAYS)), GET, LAST)
    for what, steps in [("late", (whole, LONG)), ("slowly", (Sip(65_536, 0.001), whole))]:
        yield row(f"chunks-read-{what}", steps, expect, "tcp(7)", narrow=True)  # type: ignore[arg-type]


def uploads(server: Server) -> None:
    def upload(number: int) -> bytes:
        body = bytes(upload_size(number))
        return (chunked.post(chunks(body, 100_000), fields=HOST) if number % 2
                else post(body, b"/sink", HOST))

    must_stay_small(server, upload)


def disconnected_in_its_echo(server: Server) -> None:
    must_survive_resets(server, request(bytes(100_000), 9000))


CHECKS = (group("chunked-answers", "answers in chunks", cases, level=12),)
