"""The experiment of chapter 14: what a line for each request costs."""

from __future__ import annotations

import tempfile
from functools import partial
from math import log as logarithm
from pathlib import Path
from statistics import median

from workbook.authors import thread_pool
from workbook.authors.tools import (
    Finding,
    Rows,
    cpu_us,
    edited,
    in_sequence,
    ratios,
    solution,
    variant,
)
from workbook.authors.top import LOADS
from workbook.common import stats
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.measure import ladder, load, stress
from workbook.measure.sequence import Way

BOUNDED, LOGGED = "13-overload", "14-log"
ROUNDS = 15

# Each line is passed to a thread, instead of a buffer that the worker writes itself.
QUEUED = (
    ("log_lines.h", '#include "log_format.h"\n',
     '#include "log_format.h"\n#include "log_queue.h"\n'),
    ("log_lines.h", "    void consume(std::size_t count);\n",
     "    void consume(std::size_t count);\n\n"
     "    void hand_to(LogQueue& queue) { queue_ = &queue; }\n"),
    ("log_lines.h", "    std::size_t size_ = 0;\n    std::size_t lost_ = 0;\n",
     "    LogQueue* queue_ = nullptr;\n    std::size_t size_ = 0;\n    std::size_t lost_ = 0;\n"),
    ("log_lines.cpp", "    size_ = static_cast<std::size_t>(end - bytes_.get());\n",
     "    queue_->push({bytes_.get(), end});\n"),
    ("log.h", "    explicit AccessLog(Log& log) : log_(log), lines_(log.format()) {}\n",
     "    explicit AccessLog(Log& log) : log_(log), lines_(log.format()) "
     "{ lines_.hand_to(queue_); }\n"),
    ("log.h", "    LogLines lines_;\n",
     "    LogLines lines_;\n"
     "    LogQueue queue_{[this](std::string_view lines, std::size_t lost) {\n"
     "        log_.append(lines, lost);\n"
     "    }};\n"),
)
EDITS = tuple((LOGGED, file, old) for file, old, _ in QUEUED)


def lines() -> Finding:
    """What does a line in the log cost per request?"""
    stress.raise_descriptor_limit()
    with tempfile.TemporaryDirectory() as scratch, \
            variant(LOGGED, "log_lines.h", "enough = 64 * 1024;", "enough = 1;") as each_iteration:
        log = "--access-log", str(Path(scratch, "access.log")), "--log-size", str(1 << 28)
        forms = {"before": ("13, no log", solution(BOUNDED), ()),
                 "off": ("14, no log", solution(LOGGED), ()),
                 "combined": ("14, combined", solution(LOGGED), log),
                 "json": ("14, JSON", solution(LOGGED), (*log, "--log-format", "json")),
                 "turn": ("14, written after every client", each_iteration, log)}
        found = in_sequence({(key, of): Way(f"{label}, {LOADS[of][0]}", partial(
            load.serving, binary, "--threads", "1", *arguments), LOADS[of][1])
            for of in ("clients", "pipelined")
            for key, (label, binary, arguments) in forms.items()}, ROUNDS)
    us = cpu_us(found)
    rows: Rows = {}
    for key, (label, *_) in forms.items():
        rows[key] = {"label": label}
        for of in ("clients", "pipelined"):
            rows[key] |= {f"{of}_us": round(median(us[key, of]), 2), f"{of}_ratio": round(
                median(ratios(us[key, of], us["before", of])), 2)}
    return Finding(
        "<code>GET /</code>, 64 clients, one at a time and 16 pipelined; one worker on one "
        "processor and wrk on another, a file on the disk that begins anew at 256 MiB. The "
        f"server’s own processor time a request, the median of {ROUNDS} rounds in turn; the ratio "
        "is that to 13 in the same round.",
        {"clients_us": "One at a time, µs", "clients_ratio": "÷ 13",
         "pipelined_us": "Pipelined, µs", "pipelined_ratio": "÷ 13"}, rows)


def queue() -> Finding:
    """What does a line cost if it is passed to a thread that writes it?"""
    stress.raise_descriptor_limit()
    with tempfile.TemporaryDirectory() as scratch:
        log = "--access-log", str(Path(scratch, "access.log")), "--log-size", str(1 << 28)
        queued = edited("log-queue", LOGGED, QUEUED,
                        more={"log_queue.h": SCRIPTS / "lab" / "log_queue.h"}, preset="release")
        forms = {"off": ("No log", solution(LOGGED), ()),
                 "buffer": ("A buffer, which the worker writes", solution(LOGGED), log),
                 "queue": ("A queue, and a thread that writes", queued, log)}
        rows: Rows = {}
        for key, (label, binary, arguments) in forms.items():
            counted = thread_pool.calls_of(binary, ("--threads", "1", *arguments))
            rows[key] = {"label": label, "futex": round(counted.get("futex", 0), 2),
                         "calls": round(sum(counted.values()), 2)}
        for of in ("clients", "pipelined"):
            _time(forms, rows, of, LOADS[of][1])
    return Finding(
        "14 as it is, and with the published server’s queue in the place of the buffer: a mutex, a "
        "deque of at most 16,384 lines, a condition variable that is notified for each, and one "
        "thread that writes all that there are. <code>GET /</code> from 64 clients, one at a time "
        "and 16 pipelined; the server on one processor and wrk on another. How many times the "
        f"processor time without a log, in {ROUNDS} rounds in turn; how often a request made "
        "a thread wait, as the kernel counts it; and calls a request, counted by "
        "<code>strace</code> when 16 clients ask at once.",
        {"clients_ratio": "One at a time: times no log’s", "clients_switches": "Waits a request",
         "pipelined_ratio": "Pipelined: times no log’s", "pipelined_switches": "Pipelined: waits",
         "futex": "<code>futex</code> calls", "calls": "All calls"}, rows)


def _time(forms: dict[str, tuple[str, Path, tuple[str, ...]]], rows: Rows, of: str,
          phase: load.Phase) -> None:
    """Add to `rows` what a request costs in each form, and how often it makes a thread wait."""
    us: dict[str, list[float]] = {key: [] for key in forms}
    waits: dict[str, list[float]] = {key: [] for key in forms}
    for number in range(ROUNDS):
        for key in ladder.rotated(list(forms), number):
            label, binary, arguments = forms[key]
            with load.serving(binary, "--threads", "1", *arguments) as server:
                before = thread_pool.switches(server)
                result = load.run_phase(server, phase)
                switched = thread_pool.switches(server) - before
            if result.reason:
                raise UserError(f"{label} has no figure: {result.reason}",
                                "try again on a quieter machine")
            us[key].append(result.cpu_us_per_request or 0)
            waits[key].append(switched / result.requests)
    for key, row in rows.items():
        ratio = stats.interval([logarithm(each) for each in ratios(us[key], us["off"])])
        row |= {f"{of}_us": round(median(us[key]), 2), f"{of}_ratio": round(ratio.ratio, 2),
                f"{of}_low": round(ratio.low, 2), f"{of}_high": round(ratio.high, 2),
                f"{of}_switches": round(median(waits[key]), 2)}
