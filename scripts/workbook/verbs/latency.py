"""Show how long answers take at a fixed rate: `stress --rate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.heartbeat import heartbeat
from workbook.common.paths import BUILD, COMMAND, shown, write_atomically
from workbook.figures.report import number
from workbook.machine import facts
from workbook.measure import open_loop
from workbook.measure.load import Remote
from workbook.measure.open_loop import Latencies, Plan
from workbook.servers import build
from workbook.servers.process import Server

PICTURES = BUILD / "latency"
ENOUGH = 10  # requests beyond a percentile that make it more than chance


def run(server: Server | Remote, name: str, plan: Plan, as_json: bool) -> int:
    """Load a running server at a fixed rate; print the percentiles or JSON, and draw a picture."""
    generator = build.open_loop()
    doing = f"{plan.rate:,g} requests/s for {plan.seconds} s"
    with heartbeat(lambda: doing):
        if sys.stderr.isatty():
            print(doing, file=sys.stderr)
        found = open_loop.measure(generator, server, plan)
    if as_json:
        print(json.dumps({"kind": "latency", "server": name, "machine": facts.collect(),
                          **found.to_json()}, indent=2))
    if found.reason:
        raise UserError(f"no figure at this rate: {found.reason}",
                        f"try a lower one; {COMMAND} stress shows what the server can do")
    if not as_json:
        _print(name, found)
        print(f"The distribution as a picture: {shown(_draw(name, found))}")
    return 0


def _print(name: str, found: Latencies) -> None:
    plan = found.plan
    print(f"{name}, {plan.rate:,g} requests a second for {plan.seconds} s, on at most "
          f"{plan.connections} connections.\n")
    print(f"{'ms':>12}  {'since due':>10}  {'since sent':>10}")
    for share in open_loop.SHARES:
        if share < 1 and (1 - share) * len(found.due) < ENOUGH:
            continue
        label = "the slowest" if share == 1 else f"{100 * share:g} %"
        print(f"{label:>12}  {number(open_loop.at(found.due, share)):>10}  "
              f"{number(open_loop.at(found.sent, share)):>10}")
    print("\nA client waits from when its request is due. From when it is sent is what a closed loop "
          "reports.")
    if found.note:
        print(f"note: {found.note}.")


def _draw(name: str, found: Latencies) -> Path:
    """Write the picture; returns its file. Raises UserError if it can't be written."""
    from workbook.figures import latency, picture

    file = PICTURES / f"{name.strip('/').replace('/', '-').replace(':', '-')}.svg"
    drawn = latency.draw({"since due": open_loop.curve(found.due),
                          "since sent": open_loop.curve(found.sent)},
                         f"{name}, {found.plan.rate:,g} requests a second")
    try:
        write_atomically(file, picture.alone(drawn, "light"))
    except OSError as error:
        raise UserError(f"{shown(file)} cannot be written: {error.strerror}",
                        "make room there (df -h .)") from None
    return file
