"""The processors that we may use, and who works on which."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Cores:
    """Which processors serve and which send. The same ones where there is no choice."""

    server: frozenset[int]
    client: frozenset[int]

    @property
    def apart(self) -> bool:
        return self.server.isdisjoint(self.client)


@cache
def cores() -> Cores:
    """Half of what we may use for the server, half for wrk; all for both where we cannot choose."""
    if not hasattr(os, "sched_setaffinity"):
        return all_cores()
    usable = sorted(os.sched_getaffinity(0))
    half = (len(usable) + 1) // 2
    return Cores(frozenset(usable[:half]), frozenset(usable[half:] or usable))


def all_cores() -> Cores:
    """All of them for both."""
    everything = frozenset(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity")
                           else range(os.cpu_count() or 1))
    return Cores(everything, everything)


def available_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
