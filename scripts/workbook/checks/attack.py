"""A polite client beside ten thousand rude ones, at a server that has little memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from workbook.checks import hostile_clients
from workbook.checks.behaviour.rows import MIB
from workbook.checks.behaviour.unchanged import GET
from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.measure import stress
from workbook.servers import heads
from workbook.servers.client import answers, connect
from workbook.servers.process import Server

HOSTILE = 10_000
MEMORY = 256 * MIB  # of address space (getrlimit(2), RLIMIT_AS): what the kernel keeps is not in it
CAPACITY = ("--max-clients", "12000")  # for all of them, and polite ones besides
A_CONNECTION = 10  # requests on a connection
TIMEOUT_S = 20.0  # for an answer
SPARE = 100  # descriptors for everything else


@dataclass
class Polite:
    """How a client fared that asked for the page again and again: how long each answer took, and
    what came instead of how many.
    """

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    def ms(self, percentile: float) -> float | None:
        """By which time so many of 100 answers had come; None without one."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[int((len(ordered) - 1) * percentile / 100)] if ordered else None


def ask(server: Server, seconds: float = 0, minimum: int = 0) -> Polite:
    """Ask one after another for so long, and at least so often; each visit on a connection of its
    own, which is part of its first answer's time. A server that has ended is asked no more.
    """
    polite, until = Polite(), time.monotonic() + seconds
    asked = 0
    while (time.monotonic() < until or asked < minimum) and server.alive():
        asked += A_CONNECTION
        _connection(server, polite)
    return polite


def _connection(server: Server, polite: Polite) -> None:
    begun = time.monotonic()
    try:
        with connect((server.host, server.port), TIMEOUT_S) as client:
            for _ in range(A_CONNECTION):
                client.sendall(GET[0])
                [answer] = answers(client, 1)
                if heads.plain(answer) != GET[1]:
                    polite.errors[answer[9:12].decode(errors="replace") or "closed"] += 1
                    return
                polite.seconds.append(time.monotonic() - begun)
                begun = time.monotonic()
    except OSError as error:
        polite.errors[type(error).__name__] += 1


def hold_to(server: Server, size: int = MEMORY) -> None:
    """From now on its address space is no larger. Linux only."""
    resource.prlimit(server.pid, resource.RLIMIT_AS, (size, size))


@contextmanager
def attacked(server: Server, clients: int = HOSTILE) -> Iterator[None]:
    """Within the block so many rude clients are there, and come again when they are let go.
    UserError if they cannot be.
    """
    if stress.raise_descriptor_limit() < clients + SPARE:
        raise UserError(f"{clients:,} clients need as many descriptors",
                        "raise the limit: ulimit -n")
    process = children.start(
        [sys.executable, "-m", hostile_clients.__name__,
            server.host, str(server.port), str(clients)],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin and process.stdout
        if process.stdout.readline().strip() != hostile_clients.PRESENT and server.alive():
            raise UserError("the rude clients did not come", "see what they said above")
        yield
        process.stdin.close()
        process.wait(TIMEOUT_S)
    finally:
        process.kill()
        process.wait()


def descriptors(server: Server) -> int:
    """How many it has open; 0 if it has ended."""
    with suppress(OSError):
        return len(os.listdir(f"/proc/{server.pid}/fd"))
    return 0


def peak_mib(server: Server) -> float | None:
    """The most that was resident since it began (proc_pid_status(5)); None if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return None
