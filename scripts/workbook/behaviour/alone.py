"""Cases with a server of their own, which they stop, starve or watch: from level 5 on.

Patience is long, for the machine may be busy; what must come before what is seen from the order of
events, not from a clock.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from workbook.behaviour.client import Await, Client
from workbook.behaviour.kept import GET, LEVEL
from workbook.behaviour.rows import (
    BAD,
    DEADLINES,
    DESCRIPTORS,
    HOST,
    PAGE_ANSWER,
    STOP,
    Alone,
    Case,
    Unmet,
)
from workbook.servers import Server

PATIENCE_S = 8.0
END_S = 4.0  # a server that is being stopped gives its clients one second
IDLE = 40  # so many that every worker has some of them
FEW_DESCRIPTORS = 64
MUCH = 0.05  # of a processor: one that rests needs a hundredth, one that spins all it can get
CUT = 20  # where a request is cut in two


def cases() -> Iterator[Case]:
    yield from stop()
    yield from descriptors()
    yield from deadlines()


def alone(check: str, what: str, reference: str, done: str, expected: str,
          perform: Callable[[Server], None], few_descriptors: int = 0) -> Case:
    group = check.removeprefix("behaviour.")
    return Case(f"{group}/{what}", check, (), (), reference, level=LEVEL,
                alone=Alone(done, expected, perform, few_descriptors))


def stop() -> Iterator[Case]:
    half = f"a client has its page and sends {CUT} bytes of its next request"
    yield alone(STOP, "half-a-request", "RFC 9112 §9.6",
                f"{half}, {IDLE} others have theirs and are idle; SIGTERM; when the idle ones are "
                "closed, the first sends the rest",
                "the idle ones are closed at once, the rest is answered with Connection: close, "
                "then the end; the server ends with 0", half_a_request)
    yield alone(STOP, "half-a-request-for-ever", "signal(7)", f"{half}, and no more; SIGTERM",
                f"the server ends within a second ({END_S:g} are allowed), with 0",
                half_a_request_for_ever)


def descriptors() -> Iterator[Case]:
    yield alone(DESCRIPTORS, "fewer-than-clients", "accept(2), EMFILE",
                f"the server may have {FEW_DESCRIPTORS} descriptors; as many clients ask for the "
                "page and stay; when nobody else is answered, those who were leave",
                "while it can only wait it uses no processor; when the first clients have left, "
                "those who waited are answered", fewer_descriptors_than_clients, FEW_DESCRIPTORS)


def deadlines() -> Iterator[Case]:
    yield alone(DEADLINES, "a-byte-now-and-then-after-a-refusal", "RFC 9112 §9.6",
                "a client sends a bad request, reads 400 and the end, and goes on sending a byte "
                "four times a second",
                "it is cut off after two seconds, at the next sweep "
                f"({PATIENCE_S:g} s are allowed)", a_byte_now_and_then)


def half_a_request(server: Server) -> None:
    with connected(server, IDLE + 1) as (half, *idle):
        have_the_page((half,), GET[0] + GET[0][:CUT])
        have_the_page(idle)
        server.ask_to_stop()
        ends = [client.finish().end for client in idle]
        if ends != ["closed"] * IDLE:
            raise Unmet(f"{IDLE - ends.count('closed')} of the {IDLE} idle clients were not closed")
        half.perform((GET[0][CUT:],))
        received = half.finish()
        after = received.data.removeprefix(GET[1])
        if after != PAGE_ANSWER or received.end != "closed":
            said = after.partition(b"\r\n\r\n")[0].decode("latin-1").replace("\r\n", ", ")
            raise Unmet(f"the rest was sent, and {said or 'nothing'} came; then the connection "
                        f"was {'still open' if received.end == 'timeout' else received.end}")
    must_end(server)


def half_a_request_for_ever(server: Server) -> None:
    with connected(server, 1) as clients:
        have_the_page(clients, GET[0] + GET[0][:CUT])
        server.ask_to_stop()
        must_end(server)


def must_end(server: Server) -> None:
    if not server.ends(END_S):
        raise Unmet(f"the server was still running {END_S:g} s after SIGTERM")


def fewer_descriptors_than_clients(server: Server) -> None:
    with connected(server, FEW_DESCRIPTORS) as clients:
        for client in clients:
            client.perform((GET[0],))
        receive_until_quiet(clients)
        ended = sum(client.ended for client in clients)
        served = [client for client in clients if client.received().data]
        if ended or not served:
            raise Unmet(f"{len(served)} of {FEW_DESCRIPTORS} clients were answered, and {ended} "
                        "were closed")
        must_rest(server)
        for client in served:
            client.close()
        waiting = [client for client in clients if client not in served]
        for client in waiting:
            client.perform((Await(GET[1]),))
        late = sum(client.received().data != GET[1] for client in waiting)
        if late:
            raise Unmet(f"{late} of the {len(waiting)} clients that had waited were not answered")


def receive_until_quiet(clients: list[Client]) -> None:
    """Until nobody has been answered for a while: who comes first is the server's choice."""
    patience_s = PATIENCE_S
    while ready := select.select([c for c in clients if not c.ended], [], [], patience_s)[0]:
        patience_s = 0.5
        for client in ready:
            client.receive()


def must_rest(server: Server) -> None:
    """Looks twice: what it had to do may not have been done."""
    for _ in range(2):
        before, started = server.cpu_s(), time.monotonic()
        time.sleep(1.0)
        used = (server.cpu_s() - before) / (time.monotonic() - started)
        if used < MUCH:
            return
    raise Unmet(f"the server used {used:.0%} of a processor, though it could do nothing but wait")


def a_byte_now_and_then(server: Server) -> None:
    with socket.create_connection((server.host, server.port), PATIENCE_S) as client:
        client.sendall(b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n")
        answer = b""
        try:
            while data := client.recv(65_536):
                answer += data
        except OSError as error:
            raise Unmet(f"{len(answer)} bytes came, and then no end: {error}") from None
        if answer != BAD:
            raise Unmet(f"{answer[:40]!r} came")
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                client.sendall(b"x")
            except OSError:
                return
            time.sleep(0.25)
    raise Unmet(f"it could still send after {PATIENCE_S:g} s")


@contextmanager
def connected(server: Server, count: int) -> Iterator[list[Client]]:
    deadline = time.monotonic() + PATIENCE_S
    with ExitStack() as stack:
        yield [stack.enter_context(Client((server.host, server.port), deadline))
               for _ in range(count)]


def have_the_page(clients: list[Client], sent: bytes = GET[0]) -> None:
    for client in clients:
        client.perform((sent, Await(GET[1])))
        if client.ended:
            raise Unmet("a client was not answered, or closed after its first answer")
