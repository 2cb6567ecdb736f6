"""The processors that we may use, and how the server and the load generator share them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Cores:
    """The processors of the server and of the load generator; the same where we can't choose."""

    server: frozenset[int]
    client: frozenset[int]

    @property
    def apart(self) -> bool:
        return self.server.isdisjoint(self.client)


@cache
def cores() -> Cores:
    """Half of the available processors for the server and half for wrk, or all for both."""
    if not hasattr(os, "sched_setaffinity"):
        return all_cores()
    usable = sorted(os.sched_getaffinity(0))
    half = (len(usable) + 1) // 2
    return Cores(frozenset(usable[:half]), frozenset(usable[half:] or usable))


def all_cores() -> Cores:
    """Returns all processors for both."""
    everything = frozenset(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity")
                           else range(os.cpu_count() or 1))
    return Cores(everything, everything)


def available_cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
