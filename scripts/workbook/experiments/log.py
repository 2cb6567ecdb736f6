"""The experiment of chapter 14: what a line for each request costs."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from workbook.experiments.tools import Finding, Rows, Way, in_turn, solution, variant
from workbook.experiments.top import LOADS
from workbook.measure import load, stress

BOUNDED, LOGGED = "13-overload", "14-log"
ROUNDS = 7


def lines() -> Finding:
    """What does a line in the log cost a request?"""
    stress.raise_descriptor_limit()
    with tempfile.TemporaryDirectory() as scratch, \
            variant(LOGGED, "log_lines.h", "enough = 64 * 1024;", "enough = 1;") as each_turn:
        log = "--access-log", str(Path(scratch, "access.log")), "--log-size", str(1 << 28)
        forms = {"before": ("13, no log", solution(BOUNDED), ()),
                 "off": ("14, no log", solution(LOGGED), ()),
                 "combined": ("14, combined", solution(LOGGED), log),
                 "json": ("14, JSON", solution(LOGGED), (*log, "--log-format", "json")),
                 "turn": ("14, written after every turn of the loop", each_turn, log)}
        found = in_turn({(key, of): Way(f"{label}, {LOADS[of][0]}", partial(
            load.serving, binary, "--threads", "1", *arguments), LOADS[of][1])
            for of in ("clients", "pipelined")
            for key, (label, binary, arguments) in forms.items()}, ROUNDS)
    us = {way: [result.cpu_us_per_request or 0 for result in results]
          for way, results in found.items()}
    rows: Rows = {}
    for key, (label, *_) in forms.items():
        rows[key] = {"label": label}
        for of in ("clients", "pipelined"):
            ratios = [ours / least for ours, least in zip(us[key, of], us["before", of],
                                                          strict=True)]
            rows[key] |= {f"{of}_us": round(median(us[key, of]), 2),
                          f"{of}_ratio": round(median(ratios), 2)}
    return Finding(
        "<code>GET /</code>, 64 clients, one at a time and 16 pipelined; one worker on one "
        "processor and wrk on another, a file on the disk that begins anew at 256 MiB. The "
        f"server’s own processor time a request, the median of {ROUNDS} rounds in turn; the ratio "
        "is that to 13 in the same round.",
        {"clients_us": "One at a time, µs", "clients_ratio": "÷ 13",
         "pipelined_us": "Pipelined, µs", "pipelined_ratio": "÷ 13"}, rows)
