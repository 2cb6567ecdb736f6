"""Load replicas behind a balancer, and show what all load generators measured together."""

from __future__ import annotations

import json
from dataclasses import asdict

from workbook.common.errors import UsageError
from workbook.common.paths import shown
from workbook.course.chapters import Chapter
from workbook.measure import fleet
from workbook.servers import build

EVENTS = {"update": fleet.Fleet.update, "kill": fleet.Fleet.kill}


def run(chapter: Chapter, plan: fleet.Plan, *, solution: bool, event: str, as_json: bool) -> int:
    """Returns 0 if no request failed, otherwise 1."""
    if event and event not in EVENTS:
        raise UsageError(f"there is no event {event}", "use one of: " + ", ".join(EVENTS))
    directory = chapter.directory(solution)
    with fleet.deployed(build.build_server(directory), plan) as stack:
        row = stack.load(*([EVENTS[event]] if event else []))
    if as_json:
        print(json.dumps({"server": shown(directory), "plan": asdict(plan), "event": event,
                          **asdict(row), "failed": row.failed}, indent=2))
    else:
        print(f"{shown(directory)}, {plan.replicas} replicas, {plan.generators} generators:\n"
              f"  {row.requests:,} requests, {row.requests_per_second:,.0f} per second, "
              f"{row.failed:,} failed\n"
              f"  p50 {row.p50_ms:.1f} ms, p90 {row.p90_ms:.1f}, p99 {row.p99_ms:.1f}, "
              f"longest {row.max_ms:.1f}")
        if row.server_us is not None:
            print(f"  processor time a request: {row.server_us:.1f} µs in the servers, "
                  f"{row.balancer_us:.1f} in the balancer")
    return 1 if row.failed else 0
