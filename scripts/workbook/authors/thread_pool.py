"""The lab's pool in a server, compared with event loops: costs, lost requests, and when each wins.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from math import log
from pathlib import Path
from statistics import median
from unittest.mock import patch

from workbook.authors.tools import OPTIMISED, PLAINLY, Finding, Rows, edited
from workbook.common import stats
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS, SOLUTIONS
from workbook.measure import costs, crowd, ladder, load, stress
from workbook.measure.load import Phase, PhaseResult
from workbook.servers.process import Server, running

SECONDS = {64: 1.0, 1000: 1.0, 5000: 3.0}  # by clients, which need time to connect
ROUNDS = 5
FORMS = {"loop": ("A loop", 1), "shared": ("Two threads, one <code>epoll</code>", 2),
         "one-shot": ("Pool of 2, <code>OneShot</code>", 2),
         "counting": ("Pool of 2, <code>Counting</code>", 2),
         "one-shot-8": ("Pool of 8, <code>OneShot</code>", 8)}
EVERY, BLOCKED_MS = 500, 20
BLOCKED_CLIENTS = 64
THREADS = {"loop": (1, 2, 4, 8, 16, 32), "one-shot": (1, 2, 4, 8, 16, 32)}
DURATIONS_MS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

# Each thread has its own buffers, because any thread may serve any client; a request may block.
BY_THREAD = (
    ("buffer_pool.h", "    std::array<Buffer, max_idle> idle_;\n    std::size_t count_ = 0;",
     "    static inline thread_local std::array<Buffer, max_idle> idle_;\n"
     "    static inline thread_local std::size_t count_ = 0;"),
)
BLOCKING = (
    ("app.cpp", "#include <string>\n",
     "#include <atomic>\n#include <chrono>\n#include <cstdlib>\n#include <string>\n"),
    ("app.cpp", "#include <string_view>\n", "#include <string_view>\n#include <thread>\n"),
    ("app.cpp", "class App final : public Handler {\n", """\
unsigned setting(const char* name) {
    const char* const text = std::getenv(name);
    return text ? static_cast<unsigned>(std::atoi(text)) : 0;
}

// Of all requests one in BLOCKS_EVERY, as one does that asks a database.
void block() {
    static const unsigned every = setting("BLOCKS_EVERY"), us = setting("BLOCKS_US");
    static std::atomic<unsigned> asked = 0;
    if (every > 0 && asked.fetch_add(1, std::memory_order_relaxed) % every == every - 1) {
        std::this_thread::sleep_for(std::chrono::microseconds(us));
    }
}

class App final : public Handler {
"""),
    ("app.cpp", "    void respond(const Request& request, Response& response) override {\n",
     "    void respond(const Request& request, Response& response) override {\n"
     "        block();\n"),
)
EDITS = tuple((OPTIMISED, file, old) for file, old, _ in BY_THREAD + BLOCKING)


@cache
def _loops() -> Path:
    return edited("loops", OPTIMISED, BLOCKING, PLAINLY)


@cache
def _pool() -> Path:
    lab = SOLUTIONS / "lab-thread-pool"
    return edited("pool", OPTIMISED, BY_THREAD + BLOCKING, PLAINLY, {
        "main.cpp": SCRIPTS / "lab" / "pool_server.cpp", "thread_pool.h": lab / "task.h",
        "events.h": lab / "events.h"})


def _command(form: str, threads: int) -> tuple[Path, Sequence[str]]:
    guard = form.removesuffix("-8")
    return ((_loops(), ("--threads", str(threads))) if form == "loop" else
            (_pool(), ("--threads", str(threads), "--guard", guard)))


@contextmanager
def _blocking(every: int, ms: float) -> Iterator[None]:
    with patch.dict(os.environ, {"BLOCKS_EVERY": str(every), "BLOCKS_US": str(round(ms * 1000))}):
        yield


def _loaded(form: str, threads: int, phase: Phase) -> tuple[PhaseResult, float]:
    """Load a server that was just started; return the result, and how often a request made a thread
    wait. UserError if there is no figure.
    """
    binary, arguments = _command(form, threads)
    with load.serving(binary, *arguments) as server:
        before = switches(server)
        result = load.run_phase(server, phase)
        switched = switches(server) - before
    if result.reason:
        raise UserError(f"{form} with {threads} threads has no figure: {result.reason}",
                        "try again on a quieter machine")
    return result, switched / result.requests


def switches(server: Server) -> int:
    """Return how often its threads gave up the processor to wait (proc_pid_status(5))."""
    return sum(int(line.split()[1]) for task in Path(f"/proc/{server.pid}/task").iterdir()
               for line in (task / "status").read_text().splitlines()
               if line.startswith("voluntary_ctxt_switches:"))


def clients() -> Finding:
    """What does passing a request from thread to thread cost?"""
    maximum = stress.raise_descriptor_limit() - 200
    rows: Rows = {form: {"label": label} for form, (label, _) in FORMS.items()}
    for count, seconds in SECONDS.items():
        phase = Phase("plain", "plain", min(count, maximum), seconds)
        us: dict[str, list[float]] = {form: [] for form in FORMS}
        switched: dict[str, list[float]] = {form: [] for form in FORMS}
        for number in range(ROUNDS):
            for form in ladder.rotated(list(FORMS), number):
                result, waits = _loaded(form, FORMS[form][1], phase)
                us[form].append(result.cpu_us_per_request or 0)
                switched[form].append(waits)
        for form, row in rows.items():
            ratio = stats.interval([log(b / a) for a, b in zip(us["loop"], us[form])])
            row |= {f"us_{count}": round(median(us[form]), 1),
                    f"ratio_{count}": round(ratio.ratio, 2), f"low_{count}": round(ratio.low, 2),
                    f"high_{count}": round(ratio.high, 2),
                    f"switches_{count}": round(median(switched[form]), 2)}
    return Finding(
        "08 without LTO and profile, and the same connections served by a pool, on one processor; "
        f"<code>GET /</code> from kept connections. Processor time of the server, medians of "
        f"{ROUNDS} rounds in turn; how many times the loop's, by the rounds, the 95 % "
        "interval in the plot; and how often a request made a thread wait, as the kernel counts it.",
        {f"ratio_{count}": f"Times the loop’s, {count:,} clients" for count in SECONDS}
        | {f"switches_{count}": f"Waits a request, {count:,}" for count in SECONDS}, rows)


def calls() -> Finding:
    """Which system calls does a request make?"""
    names = {"wait": ("epoll_wait",), "receive": ("recvfrom",), "send": ("writev",),
             "again": ("epoll_ctl",), "futex": ("futex",)}
    rows: Rows = {}
    for form, (label, threads) in FORMS.items():
        counted = calls_of(*_command(form, threads))
        rows[form] = {"label": label, **{
            key: round(sum(counted.get(name, 0) for name in which), 2) for key, which in names.items()},
            "all": round(sum(counted.values()), 2)}
    return Finding(
        "System calls a request, counted by <code>strace</code>: 16 clients ask at once, and then "
        "read. It slows down each call, so how often a thread finds work before it sleeps is not "
        "quite what it is without.",
        {"wait": "<code>epoll_wait</code>", "receive": "<code>recv</code>",
         "send": "<code>writev</code>", "again": "<code>epoll_ctl</code>",
         "futex": "<code>futex</code>", "all": "All"}, rows)


def calls_of(binary: Path, arguments: Sequence[str], asking: int = 16, rounds: int = 128
             ) -> dict[str, float]:
    """Return system calls per request by name, when `asking` clients ask at once and then read."""
    totals: list[Counter[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for times in (0, rounds):
            report = Path(scratch, str(times))
            with (running(binary, *arguments, wrapper=costs.STRACE.wrapper(report)) as server,
                  ExitStack() as stack):
                connected = crowd.connect(server, asking, stack)
                crowd.ask_all(connected, 1)
                for _ in range(times):
                    crowd.ask_all(connected, 1)
                server.stop()
            totals.append(costs.STRACE.read(report.read_text(errors="replace")))
    return {name: (totals[1][name] - totals[0][name]) / (rounds * asking) for name in totals[1]}


def lost() -> Finding:
    """How many clients wait for ever if a guard forgets an event?"""
    asking, seconds = 64, 10.0
    rows: Rows = {}
    for form, label in (("forgetful", "<code>Forgetful</code>"),
                        ("one-shot", "<code>OneShot</code>"),
                        ("counting", "<code>Counting</code>")):
        binary, arguments = _command(form, 4)
        with running(binary, *arguments) as server:
            answers, silent = _left_waiting(server, asking, seconds)
        rows[form] = {"label": label, "answers": answers, "lost": silent}
    return Finding(
        f"A pool of four, and {asking} clients. Each sends two requests, one soon after the other, "
        "and when it has both answers it does so again. How many answers they had together in "
        f"{seconds:g} s, and how many clients are left waiting for one that will never come.",
        {"answers": "Answers", "lost": f"Left waiting, of {asking}"}, rows)


def _left_waiting(server: Server, asking: int, seconds: float, timeout_s: float = 2.0
                  ) -> tuple[int, int]:
    """Return the number of answers, and of clients that got none within `timeout_s`."""
    end, answers = time.monotonic() + seconds, 0
    with ExitStack() as stack:
        clients = crowd.connect(server, asking, stack)
        crowd.ask_all(clients, 1)
        while clients and time.monotonic() < end:
            for _ in range(2):
                for each in clients:
                    each.sendall(crowd.SHORT)
            served = [each for each in clients if _has_answers(each, 2, timeout_s)]
            answers += 2 * len(served)
            clients = served
    return answers, asking - len(clients)


def _has_answers(client: socket.socket, count: int, timeout_s: float) -> bool:
    client.settimeout(timeout_s)
    try:
        crowd.read_answers(client, count)
    except TimeoutError:
        return False
    return True


def blocking() -> Finding:
    """What if some requests block the thread that serves them?"""
    phase = Phase("plain", "plain", BLOCKED_CLIENTS, 2.0)
    found: dict[tuple[str, int], list[PhaseResult]] = {
        (form, threads): [] for form, counts in THREADS.items() for threads in counts}
    with _blocking(EVERY, BLOCKED_MS):
        for number in range(3):
            for form, threads in ladder.rotated(list(found), number):
                found[form, threads].append(_loaded(form, threads, phase)[0])
    rows: Rows = {}
    for (form, threads), results in found.items():
        name, label = (("loop", f"{threads} loop{'s' * (threads > 1)}") if form == "loop" else
                       ("pool", f"Pool of {threads}"))
        rows[f"{name}_{threads}"] = {"label": label, **{
            key: round(median(getattr(one, attribute) for one in results), digits)
            for key, attribute, digits in (
                ("rps", "requests_per_second", None), ("p50", "p50_ms", 2), ("p90", "p90_ms", 2),
                ("p99", "p99_ms", 2), ("us", "cpu_us_per_request", 1))}}
    return Finding(
        f"One request in {EVERY} makes its thread sleep for {BLOCKED_MS} ms. "
        f"<code>GET /</code> from {BLOCKED_CLIENTS} kept connections, server on one processor, "
        "medians of three rounds in turn.",
        {"rps": "Requests/s", "p50": "p50, ms", "p90": "p90, ms", "p99": "p99, ms",
         "us": "Server’s µs"}, rows)


def durations() -> Finding:
    """From what length of a wait on does the pool win?"""
    phase = Phase("plain", "plain", BLOCKED_CLIENTS, 1.0)
    forms = {"loop": ("loop", 1), "loops": ("loop", 8), "pool": ("one-shot", 8)}
    rows: Rows = {}
    for ms in (0.0, *DURATIONS_MS):
        rates: dict[str, list[float]] = {key: [] for key in forms}
        with _blocking(EVERY if ms else 0, ms):
            for number in range(5):
                for key in ladder.rotated(list(forms), number):
                    result, _ = _loaded(*forms[key], phase)
                    rates[key].append(result.requests_per_second or 0)
        rows[f"{ms:g}"] = {"label": f"{ms:g} ms" if ms else "never", "ms": ms, **{
            key: round(median(found)) for key, found in rates.items()}}
    return Finding(
        f"One request in {EVERY} makes its thread sleep for so long. Requests a second from "
        f"{BLOCKED_CLIENTS} kept connections, server on one processor, medians of five rounds in "
        "turn.",
        {"loop": "1 loop", "loops": "8 loops", "pool": "Pool of 8"}, rows)


EXPERIMENTS = {"pool-clients": clients, "pool-calls": calls, "pool-lost": lost,
               "pool-blocking": blocking, "pool-durations": durations}
