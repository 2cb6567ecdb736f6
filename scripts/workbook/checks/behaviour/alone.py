"""Cases that each get a server of their own, which they stop, starve or watch.

Timeouts are long because the machine may be busy. What must happen first is determined from the
order of events, not from a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from workbook.checks.behaviour.rows import Alone, Case, Unable, Unmet
from workbook.checks.behaviour.unchanged import GET
from workbook.servers.client import Await, Client
from workbook.servers.process import Server

TIMEOUT_S = 8.0
END_S = 4.0  # a server that is being stopped gives its clients one second
SANITIZED = 1 << 40  # bytes of address space
LOOK_S = 0.5
# of a processor: an idle server uses about a hundredth, one that spins uses all it can get
MUCH = 0.1


def alone(what: str, reference: str, done: str, expected: str,
          perform: Callable[[Server], None], few_descriptors: int = 0,
          arguments: tuple[str, ...] = (), environment: Mapping[str, str] | None = None,
          site: Callable[[Path], None] | None = None, only_waits: bool = False,
          **remainder: Any) -> Case:
    """A row with a server of its own: what is done to it, what is expected, and the function that
    does it.
    """
    return Case(what, (), (), reference, **remainder, alone=Alone(
        done, expected, perform, few_descriptors, arguments, environment or {}, site, only_waits))


@contextmanager
def connected(server: Server, count: int, narrow: bool = False, source: str = "",
              timeout_s: float = TIMEOUT_S) -> Iterator[list[Client]]:
    deadline = time.monotonic() + timeout_s
    with ExitStack() as stack:
        yield [stack.enter_context(Client((server.host, server.port), deadline, narrow, source))
               for _ in range(count)]


def have_the_page(clients: Sequence[Client], sent: bytes = GET[0], times: int = 1) -> None:
    """Each client requests the page and must receive it; `times` is how often it has then received
    it in total.
    """
    for client in clients:
        client.perform((sent, Await(times * GET[1])))
        if client.ended:
            raise Unmet("a client was not answered, or closed after its answer")


def must_be_plain(server: Server) -> None:
    """The server must not be built with a sanitizer, which retains freed memory and maps terabytes.
    """
    if server.address_space() > SANITIZED:
        raise Unable("a sanitizer uses memory of its own")


def must_end(server: Server, signal_name: str = "SIGTERM") -> None:
    if not server.ends(END_S):
        raise Unmet(f"the server was still running {END_S:g} s after {signal_name}")


def must_be_idle(server: Server) -> None:
    """The server must be idle. It's checked twice, because it may still have had work to finish."""
    for _ in range(2):
        before, started = server.cpu_s(), time.monotonic()
        time.sleep(LOOK_S)
        used = (server.cpu_s() - before) / (time.monotonic() - started)
        if used < MUCH:
            return
    raise Unmet(f"the server used {used:.0%} of a processor, though it could do nothing but wait")
