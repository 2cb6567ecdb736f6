"""More clients than there are descriptors, at once or in turn, and more than can be watched."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    have_the_page,
    must_be_idle,
)
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.pausing_clients import (
    OF_ALL,
    OF_KEPT,
    PausingClient,
    connection,
    page_is_still_served,
)
from workbook.checks.behaviour.rows import PAGE_ANSWER, Case, Unable, Unmet, get
from workbook.checks.behaviour.unchanged import GET
from workbook.common import children
from workbook.machine import needs
from workbook.servers.client import Await, Client, readable
from workbook.servers.process import Server

FEW_DESCRIPTORS = 64
MORE_CLIENTS = 70
QUIET_S = 0.5
ACCEPT_S = 1.0  # longer than one accept(2) blocks: Linux reserves the descriptor before it waits


def cases() -> Iterator[Case]:
    for what, pausing_clients, level in [("released-after-close", OF_ALL, 1),
                                         ("released-after-reset", OF_KEPT, 5)]:
        yield alone(what, "close(2)",
                    f"the server may have {FEW_DESCRIPTORS} descriptors; one after another come "
                    + "; ".join(f"{MORE_CLIENTS} clients each of which {pausing_client.does}"
                                for pausing_client in pausing_clients),
                    "the next client is served", partial(
                        in_sequence, pausing_clients=pausing_clients),
                    FEW_DESCRIPTORS, level=level)
    yield alone("fewer-than-clients", "accept(2), EMFILE",
                f"the server may have {FEW_DESCRIPTORS} descriptors; as many clients ask for the "
                "page and stay; when no more are answered, those that were disconnect",
                "while it can only wait it uses no processor; when the first clients have left, "
                "the waiting ones are answered", fewer_descriptors_than_clients, FEW_DESCRIPTORS,
                level=5)
    yield alone("limit-raised-later", "accept(2), EMFILE; prlimit(2)",
                "the server may have no more descriptors; a client asks for the page; then the "
                "server may have more again; none disconnects",
                "it waits while the server uses no processor time, and is then answered",
                more_later)
    yield alone("epoll-ctl-fails", "epoll_ctl(2), ENOSPC",
                "every epoll_ctl fails with ENOSPC, and a client asks for the page; then none fails, "
                "and another does", "the end for the one, the page for the other",
                cannot_be_watched, level=5)


def in_sequence(server: Server, pausing_clients: Sequence[PausingClient]) -> None:
    for pausing_client in pausing_clients:
        connection(server, pausing_client, MORE_CLIENTS)
        page_is_still_served(server, f"{MORE_CLIENTS} clients each of which {pausing_client.does}")


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
        must_be_idle(server)
        for client in served:
            client.close()
        waiting = [client for client in clients if client not in served]
        for client in waiting:
            client.perform((Await(GET[1]),))
        late = sum(client.received().data != GET[1] for client in waiting)
        if late:
            raise Unmet(f"{late} of the {len(waiting)} clients that had waited were not answered")


def more_later(server: Server) -> None:
    if sys.platform != "linux":
        raise Unable("only Linux limits another process")
    maximum = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    used = max(int(file.name) for file in Path(f"/proc/{server.pid}/fd").iterdir()) + 1
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used, maximum[1]))
    time.sleep(ACCEPT_S)
    with connected(server, 1) as (client,):
        client.perform((get(),))
        if readable([client], QUIET_S):
            raise Unmet("it was answered, or closed, before there was a descriptor for it")
        must_be_idle(server)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, maximum)
        if client.finish().data != PAGE_ANSWER:
            raise Unmet("it was not answered when there was one")


def receive_until_quiet(clients: list[Client]) -> None:
    """Receive until no client has got an answer for a while: the server chooses the order."""
    timeout_s = TIMEOUT_S
    while ready := readable([c for c in clients if not c.ended], timeout_s):
        timeout_s = 0.5
        for client in ready:
            client.receive()


def cannot_be_watched(server: Server) -> None:
    with failing_epoll_ctl(server), connected(server, 1) as (client,):
        client.perform((get(),))
        received = client.finish()
    if received.data or received.end == "timeout":
        raise Unmet(f"it got {len(received.data)} bytes, and then its connection was "
                    f"{'still open' if received.end == 'timeout' else received.end}")
    with connected(server, 1) as (client,):
        have_the_page([client])


@contextmanager
def failing_epoll_ctl(server: Server) -> Iterator[None]:
    """Make all of the server's epoll_ctl calls fail within the block, without effect."""
    if lacking := needs.lacking("strace"):
        raise Unable(lacking)
    if b"kqueue" in Path(server.command[0]).read_bytes():
        raise Unable("a kqueue in front of epoll takes that for a queue that was closed")
    tracer = children.start(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(server.pid), "-e", "trace=epoll_ctl",
         "-e", "inject=epoll_ctl:error=ENOSPC"], stderr=subprocess.PIPE, text=True)
    try:
        while not _is_traced(server.pid):
            if tracer.poll() is not None:
                raise Unable("this system forbids tracing a process that runs")
            time.sleep(0.01)
        yield
    finally:
        tracer.terminate()
        tracer.communicate()


def _is_traced(pid: int) -> bool:
    """Returns whether all threads of the process are being traced."""
    return all(re.search(r"^TracerPid:\s+[1-9]", status.read_text(), re.M)
               for status in Path(f"/proc/{pid}/task").glob("*/status"))


CHECKS = (group("descriptors", "descriptors: released after use, and exhausted", cases),)
