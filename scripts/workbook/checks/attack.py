"""A polite client next to ten thousand hostile ones, at a server that has little memory."""

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
# of address space (getrlimit(2), RLIMIT_AS), which excludes the kernel's own memory
MEMORY = 256 * MIB
CAPACITY = ("--max-clients", "12000")  # enough for all hostile clients and the polite ones
REQUESTS_PER_CONNECTION = 10  # requests per connection
TIMEOUT_S = 20.0  # the maximum wait for an answer
SPARE = 100  # descriptors for everything other than clients


@dataclass
class Polite:
    """The results of a client that requested the page repeatedly: how long each answer took, and
    how often each other outcome occurred.
    """

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    def ms(self, percentile: float) -> float | None:
        """Returns the given percentile of the answer times in milliseconds; None without any
        answer.
        """
        ordered = sorted(self.seconds)
        return 1000 * ordered[int((len(ordered) - 1) * percentile / 100)] if ordered else None


def ask(server: Server, seconds: float = 0, minimum: int = 0) -> Polite:
    """Request the page repeatedly for `seconds`, and at least `minimum` times.

    Each round uses a new connection, and connecting counts towards the time of its first answer.
    Stops when the server has ended.
    """
    polite, until = Polite(), time.monotonic() + seconds
    asked = 0
    while (time.monotonic() < until or asked < minimum) and server.alive():
        asked += REQUESTS_PER_CONNECTION
        _one_connection(server, polite)
    return polite


def _one_connection(server: Server, polite: Polite) -> None:
    begun = time.monotonic()
    try:
        with connect((server.host, server.port), TIMEOUT_S) as client:
            for _ in range(REQUESTS_PER_CONNECTION):
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
    """Limit the server's address space to `size` bytes from now on. Linux only."""
    resource.prlimit(server.pid, resource.RLIMIT_AS, (size, size))


@contextmanager
def attacked(server: Server, clients: int = HOSTILE) -> Iterator[None]:
    """Keep `clients` hostile clients connected within the block; they reconnect when disconnected.

    Raises UserError if they can't be started.
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
    """Returns how many descriptors the server has open; 0 if it has ended."""
    with suppress(OSError):
        return len(os.listdir(f"/proc/{server.pid}/fd"))
    return 0


def peak_mib(server: Server) -> float | None:
    """Returns the server's peak resident memory in MiB (proc_pid_status(5)); None if it has ended.
    """
    with suppress(OSError):
        for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return None
