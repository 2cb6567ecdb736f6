"""What each connection of the load generator has received, as the kernel counts it.

A generator reports only the answers that it gets. A client that is never answered doesn't slow the
run down, so it would go unnoticed if we didn't inspect each connection.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Received:
    """The data received on one connection. `silent_ms` is the time since the last data, or since
    the connection was made if there was none (tcpi_last_data_recv in Linux's struct tcp_info).
    """

    bytes: int
    silent_ms: int


def by_connection(port: int, prefix: Sequence[str]) -> list[Received]:
    """Return what each established connection to this port has received; empty if ss(8) is missing
    or fails. `prefix` is a command that runs another on the load generator's network.
    """
    command = [*prefix, "ss", "-tinH", "state", "established", f"( dport = :{port} )"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return parsed(done.stdout) if done.returncode == 0 else []


def parsed(output: str) -> list[Received]:
    """Parse ss's indented lines of details. It omits `bytes_received` while that is 0, and
    `lastrcv` if data arrived within the current millisecond.
    """
    return [Received(_number("bytes_received", line), _number("lastrcv", line))
            for line in output.splitlines() if line[:1].isspace() and line.strip()]


def _number(name: str, line: str) -> int:
    found = re.search(rf"\b{name}:(\d+)", line)
    return int(found[1]) if found else 0


def starved(connections: Sequence[Received], silent_ms: float) -> int:
    """Return how many connections never received a byte and are at least `silent_ms` old."""
    return sum(not each.bytes and each.silent_ms >= silent_ms for each in connections)


def slowest_share(connections: Sequence[Received]) -> float | None:
    """Return the least received on a connection as a share of the median; None if that is 0."""
    middle = median(each.bytes for each in connections) if connections else 0
    return min(each.bytes for each in connections) / middle if middle else None
