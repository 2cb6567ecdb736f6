"""Phases of load on one server: warm-up, baseline, large headers, heavy bodies; or an older form."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from workbook.common.errors import UserError
from workbook.machine.cores import cores
from workbook.measure import load
from workbook.measure.load import Phase, PhaseResult, Remote
from workbook.servers.process import Server

NAMES = ("warm-up", "baseline", "headers", "heavy")
FULL_PAUSE_S = 2.0
FULL_DESCRIPTORS = 65_536
STILL_BUSY = "the server was still at work for clients of an earlier phase, which had gone"
SPARE_DESCRIPTORS = 64  # of wrk or a server, in addition to its connections


def short_form() -> tuple[Phase, ...]:
    """Return phases that even a server for one client at a time completes without an error."""
    threads = min(len(cores().client), 4)
    return (Phase("warm-up", "plain", 32, 1, threads), Phase("baseline", "plain", 64, 1.5, threads),
            Phase("headers", "headers", 16, 1, threads), Phase("heavy", "heavy", 4, 1, threads))


def full_form() -> tuple[Phase, ...]:
    """Return phases of the sizes of the published climb: TDiblik, cpp-web-server."""
    return (Phase("warm-up", "plain", 1_000, 5, 8), Phase("baseline", "plain", 10_000, 10, 8),
            Phase("headers", "headers", 5_000, 10, 4), Phase("heavy", "heavy", 100, 15, 4))


def older_form() -> tuple[Phase, ...]:
    """Return the phases of the published climb's older test, used for its first four steps."""
    return (Phase("plain", "plain", 400, 10, 2), Phase("header", "header64k", 400, 10, 2),
            Phase("body", "header64k-body10m", 400, 10, 2))


@dataclass(frozen=True)
class Form:
    """One of the tests: its phases, and the pause between them in seconds."""

    phases: Callable[[], tuple[Phase, ...]]
    pause_s: float = FULL_PAUSE_S


FORMS = {"short": Form(short_form, 0.2), "full": Form(full_form), "older": Form(older_form)}


def measure(server: Server | Remote, phases: Sequence[Phase], pause_s: float = 0.2,
            on_phase: Callable[[Phase], None] = lambda _: None) -> Iterator[PhaseResult]:
    """Run each phase in turn, with at least `pause_s` seconds between them for sockets to clear."""
    fresh = True
    for phase in phases:
        on_phase(phase)
        if fresh:
            yield load.run_phase(server, phase)
        else:
            yield PhaseResult(phase.name, reason=STILL_BUSY)
        fresh = load.settle(server, pause_s)


def raise_descriptor_limit() -> int:
    """Raise the limit as far as the system permits, for children, too; returns the new limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FULL_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, FULL_DESCRIPTORS)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return FULL_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def fit(phases: Sequence[Phase], limit: int) -> tuple[list[Phase], str]:
    """Return the phases, cut to the connections that `limit` descriptors permit, and a remark if
    cut.

    Raises UserError when a phase would be left with fewer connections than threads.
    """
    maximum = limit - SPARE_DESCRIPTORS
    if maximum < max(phase.threads for phase in phases):
        raise UserError(f"the descriptor limit of {limit} leaves no room for a stress test",
                        f"ulimit -n {FULL_DESCRIPTORS}, or as high as the system permits")
    cut = [phase for phase in phases if phase.connections > maximum]
    fitted = [replace(phase, connections=min(phase.connections, maximum)) for phase in phases]
    if not cut:
        return fitted, ""
    changes = ", ".join(
    f"{phase.name} {maximum:,} instead of {phase.connections:,}" for phase in cut)
    return fitted, (f"note: the descriptor limit is {limit:,}, so there are fewer connections: "
                    f"{changes}.\n      To raise it: ulimit -Hn {FULL_DESCRIPTORS} as root, or "
                    "nofile in /etc/security/limits.conf; in a container --ulimit nofile="
                    f"{FULL_DESCRIPTORS}")
