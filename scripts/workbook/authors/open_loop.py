"""The experiment about coordinated omission: a server that stalls for a second."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

from workbook.authors.tools import OPTIMISED, Finding, one_worker, solution
from workbook.common.errors import UserError
from workbook.measure import open_loop
from workbook.measure.open_loop import Latencies, Plan
from workbook.servers import build
from workbook.servers.process import Server

PLAN = Plan(rate=500, seconds=8, connections=10)
STALL_AT_S, STALL_S = 3.0, 1.0
SHARES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "max_ms": 1.0}


def stall() -> Finding:
    """Which latencies do a closed and an open loop report if the server is stopped (SIGSTOP)? Both
    are computed from the requests of one run; a second run is without a stop.
    """
    stalled, calm = _loaded(stalls=True), _loaded(stalls=False)
    what = (f"Latency of a <code>GET /</code> of {OPTIMISED} at {PLAN.rate:g} requests a second, for "
            f"{PLAN.seconds} s on {PLAN.connections} connections. In the first two rows, which are of the "
            f"same run, the server was stopped for {STALL_S:g} s.")
    return Finding(what, {"p50_ms": "p50, ms", "p90_ms": "p90, ms", "p99_ms": "p99, ms",
                          "max_ms": "slowest, ms"},
                   {"due": _row("stopped: since due", stalled.due),
                    "sent": _row("stopped: since sent", stalled.sent),
                    "calm": _row("not stopped: since due", calm.due)})


def _loaded(stalls: bool) -> Latencies:
    with one_worker(solution(OPTIMISED))() as server:
        found = open_loop.measure(build.open_loop(), server, PLAN,
                                  lambda: _stop(server) if stalls else None)
    if found.reason:
        raise UserError(f"the run has no figure: {found.reason}", "try again")
    return found


def _stop(server: Server) -> None:
    time.sleep(STALL_AT_S)
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(STALL_S)
    os.kill(server.pid, signal.SIGCONT)


def _row(label: str, values: Sequence[float]) -> dict[str, object]:
    return {"label": label, "requests": len(values),
            **{name: open_loop.at(values, share) for name, share in SHARES.items()},
            "curve": open_loop.curve(values)}
