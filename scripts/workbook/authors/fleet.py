"""A fleet on one machine: what a balancer costs, and which failures it prevents when servers stop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from workbook.authors.tools import OPTIMISED, Finding, Rows, solution
from workbook.measure.fleet import Fleet, Plan, Row, deployed

ROUNDS = 3
CORES, BUSY = 16, 0.6  # cores of a machine, and the share in use in normal operation
LOAD = Plan(seconds=5, generators=2, connections=32)
# Long enough for the events. The quota of the generators leaves processor time to the engine.
EVENTFUL = Plan(replicas=2, seconds=240, generators=2, connections=32, generator_cpus=0.25)


def fleet() -> Finding:
    """What does the extra hop cost, and what a request when more servers share the work?"""
    plans = {"direct": ("1 server, no balancer", replace(LOAD, replicas=1, target="server"))} | {
        str(count): (f"{count} server{'s' * (count > 1)}", replace(LOAD, replicas=count))
        for count in (1, 2, 3, 4)}
    rows: Rows = {}
    for key, (label, plan) in plans.items():
        with deployed(solution(OPTIMISED), plan) as stack:
            found = [stack.load() for _ in range(ROUNDS)]
        rows[key] = {"label": label, "failed": sum(row.failed for row in found)} | {
            name: round(median(getattr(row, name) for row in found), digits)
            for name, digits in (("requests_per_second", 0), ("server_us", 1), ("balancer_us", 1),
                                 ("p50_ms", 2), ("p99_ms", 2))}
        rows[key]["machines"] = machines(rows[key]["server_us"]) + machines(
            rows[key]["balancer_us"])
    return Finding(
        "08 on Docker Swarm, one node: <code>GET /</code> from two generators with 32 connections "
        f"each, all on the same processors; median of {ROUNDS} runs. Percentiles are of the "
        f"generators’ merged histograms. Machines: of {CORES} cores, {BUSY:.0%} busy.",
        {"requests_per_second": "requests/s", "server_us": "servers’ µs a request",
         "balancer_us": "balancer’s µs a request", "p50_ms": "p50 ms", "p99_ms": "p99 ms",
         "failed": "failed", "machines": "machines for a million a second"}, rows)


def machines(us_a_request: float) -> int:
    """Return the machines for a million requests per second: N µs per request occupy N cores."""
    return math.ceil(us_a_request / BUSY / CORES)


def fleet_stops() -> Finding:
    """Which of the three safeguards prevents which failures when servers are replaced or killed?"""
    killed = replace(EVENTFUL, stop_signal="SIGKILL")
    ways: dict[str, tuple[str, Plan, Callable[[Fleet], None]]] = {
        "update": ("update: told, SIGTERM, retries", EVENTFUL, Fleet.update),
        "update-told": ("update: told, SIGTERM", replace(EVENTFUL, retries=False), Fleet.update),
        "update-told-killed": ("update: told, SIGKILL", replace(killed, retries=False),
                               Fleet.update),
        "update-term": ("update: SIGTERM", replace(EVENTFUL, reported=False, retries=False),
                        Fleet.update),
        "update-none": ("update: SIGKILL", replace(killed, reported=False, retries=False),
                        Fleet.update),
        "update-retries": ("update: SIGKILL, retries", replace(killed, reported=False), Fleet.update),
        "kill": ("a crash: retries", EVENTFUL, Fleet.kill),
        "kill-none": ("a crash", replace(EVENTFUL, retries=False), Fleet.kill),
    }
    rows: Rows = {}
    for key, (label, plan, event) in ways.items():
        with deployed(solution(OPTIMISED), plan) as stack:
            rows[key] = {"label": label, **_reported(stack.load(event))}
    return Finding(
        "08 behind HAProxy on Docker Swarm, one node, two servers, under a load of two "
        "generators: both servers replaced one after the other, or one killed. <em>Told</em>: the "
        "balancer drops a server two seconds before it is stopped. <em>Retries</em>: it asks "
        "another one.",
        {"requests": "requests", "failed": "failed", "max_ms": "longest ms"}, rows)


def _reported(row: Row) -> dict[str, float]:
    return {"requests": row.requests, "failed": row.failed, "max_ms": round(row.max_ms)}
