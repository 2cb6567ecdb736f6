"""A server that is told to stop lets its clients finish, and then ends."""

from __future__ import annotations

from collections.abc import Iterator

from workbook.checks.behaviour.alone import END_S, alone, connected, have_the_page, must_end
from workbook.checks.behaviour.kept import GET
from workbook.checks.behaviour.rows import PAGE_ANSWER, Case, Unmet
from workbook.servers.process import Server

CUT = 20  # where a request is cut in two
IDLE = 40  # so many that every worker has some of them


def cases() -> Iterator[Case]:
    half = f"a client has its page and sends {CUT} bytes of its next request"
    yield alone("half-a-request", "RFC 9112 §9.6",
                f"{half}, {IDLE} others have theirs and are idle; SIGTERM; when the idle ones are "
                "closed, the first sends the rest",
                "the idle ones are closed at once, the rest is answered with Connection: close, "
                "then the end; the server ends with 0", half_a_request)
    yield alone("half-a-request-for-ever", "signal(7)", f"{half}, and no more; SIGTERM",
                f"the server ends within a second ({END_S:g} are allowed), with 0",
                half_a_request_for_ever)


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
