"""Latency at a fixed rate, with requests that do not wait for each other's answers.

wrk is a closed loop: on each connection it sends the next request after the last answer, so a
server that stalls gets fewer requests, and those that would have waited are never counted. Gil Tene
calls this coordinated omission ("How NOT to Measure Latency", 2013). Here request k is due k / rate
seconds after the start, and its latency counts from then, even if it waits for a free connection.

All latencies are kept, so the percentiles are exact; a histogram would only save memory.
"""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from workbook.common import children
from workbook.common.errors import UserError
from workbook.machine import network
from workbook.machine.cores import all_cores, cores
from workbook.measure.load import Remote, on_processors
from workbook.servers.process import Server

GRACE_S = 30  # for the last answers
MAX_REQUESTS = 2_000_000  # because all latencies are kept in memory
STEPS = 10  # of a curve, for each factor of ten in the share of slower requests
SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999, 1.0)
LATE_SHARE = 0.5  # of the p99: a generator that is later than that distorts the figures
WRONG = {"status": "not 2xx", "failed": "failed", "waiting": f"not answered within {GRACE_S} s"}


@dataclass(frozen=True)
class Plan:
    """Requests per second, duration in seconds, and the maximum number of connections."""

    rate: float
    seconds: int = 10
    connections: int = 50
    path: str = "/"

    @property
    def requests(self) -> int:
        return int(self.rate * self.seconds)


@dataclass(frozen=True)
class Latencies:
    """The latencies of one run, in ms and in ascending order. `due` counts from when a request was
    due, `sent` from when it was sent, as a closed loop does. `late` is how late the generator sent
    the requests for which a connection was free.
    """

    plan: Plan
    due: Sequence[float] = ()
    sent: Sequence[float] = ()
    late: Sequence[float] = ()
    errors: dict[str, int] = field(default_factory=dict)

    @property
    def reason(self) -> str | None:
        """Why there is no figure; None if there is one."""
        wrong = [f"{count:,} {WRONG[kind]}" for kind, count in self.errors.items() if count]
        return ", ".join(wrong) or (None if self.due else "no request was answered")

    @cached_property
    def note(self) -> str | None:
        late, p99 = at(self.late, 0.99), at(self.due, 0.99)
        if late is None or p99 is None or late < LATE_SHARE * p99:
            return None
        return (f"the generator itself was late by up to {late:.2g} ms (p99): this machine is busy, and "
                "these figures are partly its own")

    def to_json(self) -> dict[str, Any]:
        return {"rate": self.plan.rate, "seconds": self.plan.seconds,
                "connections": self.plan.connections, "requests": len(self.due), "errors": self.errors,
                "reason": self.reason, "note": self.note,
                **{f"{name}_ms": {f"{100 * share:g}": at(values, share) for share in SHARES}
                   for name, values in (("due", self.due), ("sent", self.sent), ("late", self.late))},
                "curve": curve(self.due), "curve_sent": curve(self.sent)}


def at(ascending: Sequence[float], share: float) -> float | None:
    """Return the time within which this share of the requests was answered; None without any."""
    if not ascending:
        return None
    return ascending[min(len(ascending) - 1, max(0, math.ceil(len(ascending) * share) - 1))]


def curve(ascending: Sequence[float]) -> list[tuple[float, float]]:
    """Return pairs of share and time: ten from 0 to 90 %, ten from there to 99 %, and so on up to
    99.999 %, as far as there are enough requests to tell the shares apart.
    """
    steps = int(STEPS * min(5.0, math.log10(len(ascending)))) + 1 if ascending else 0
    shares = [round(1 - 10 ** (-step / STEPS), 6) for step in range(steps)]
    return [(share, at(ascending, share) or 0.0) for share in shares]


def measure(binary: Path, server: Server | Remote, plan: Plan,
            meanwhile: Callable[[], None] = lambda: None) -> Latencies:
    """Run the generator `binary` (build.open_loop) against a server, and call `meanwhile` after
    starting it. UserError if it fails or hangs.
    """
    remote = isinstance(server, Remote)
    command = [*(() if remote else network.prefix()), str(binary), "--host", server.host,
               "--port", str(server.port), "--path", plan.path, "--rate", f"{plan.rate:g}",
               "--seconds", str(plan.seconds), "--grace", str(GRACE_S),
               "--connections", str(plan.connections)]
    with on_processors((all_cores() if remote else cores()).client):
        process = children.start(command, stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        meanwhile()
        output, complaint = process.communicate(timeout=plan.seconds + GRACE_S + 15)
    except subprocess.TimeoutExpired:
        raise UserError("the load generator was to end and hangs", "run the command again") from None
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise UserError(f"the load generator failed: {complaint.strip()}", "run the command again")
    return parsed(plan, output)


def parsed(plan: Plan, output: str) -> Latencies:
    """Parse the generator's lines: due, sent, over (µs), queued, outcome."""
    lines = [line.split() for line in output.splitlines()]
    answered = [list(map(int, line[:4])) for line in lines if line[4] == "answered"]
    outcomes = Counter(line[4] for line in lines)
    return Latencies(
        plan,
        due=sorted((over - due) / 1e3 for due, _, over, _ in answered),
        sent=sorted((over - sent) / 1e3 for _, sent, over, _ in answered),
        late=sorted((sent - due) / 1e3 for due, sent, _, queued in answered if not queued),
        errors={kind: outcomes[kind] for kind in WRONG})
