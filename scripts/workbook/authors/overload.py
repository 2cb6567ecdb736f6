"""The experiments of chapter 13: what limits cost, and what they achieve under attack."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from workbook.authors.tools import Finding, Rows, compiled, output_of, solution
from workbook.checks import attack as attacks
from workbook.checks.attack import HOSTILE, MEMORY, Polite
from workbook.checks.behaviour.rows import MIB
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.machine import network
from workbook.measure import load, stress
from workbook.measure.costs import CALLGRIND, CLOSING, STRACE
from workbook.servers.client import connect
from workbook.servers.process import Server, running

STREAMING, BOUNDED = "12-streaming", "13-overload"
WAYS = {"sweep": "Sweep: every client", "dense": "Dense sweep: deadlines side by side",
        "lists": "A list for each limit", "wheel": "Wheel of 64 seconds", "heap": "Heap"}
NO_DEADLINES = "none"
CROWDS, BUSY_SHARE = (1000, 10_000, 100_000), 10
MAXIMUM = CROWDS[-1]
QUIET_S, ATTACKED_S, ATTACKS = 5.0, 40.0, 3
REFUSED, COUNTED, ROUNDS = 10_000, 100, 5
STRAY = COUNTED // 2  # up to this many more calls in the longer run are unrelated to its clients
WAIT = "epoll_wait"  # may report one client or many, depending on timing
REFRESHES, ITERATIONS, SEEDS = 10_000, 5, range(1, 4)


def deadlines() -> Finding:
    """What does it cost to find the clients whose deadline has passed?"""
    with ways_of_deadlines() as program:
        for seed in SEEDS:
            output_of([str(program), "check", str(seed)])
        refreshes = {way: _instructions(program, way) for way in (NO_DEADLINES, *WAYS)}
        timed = {clients: _timed(program, clients) for clients in CROWDS}
    rows: Rows = {}
    for way, label in WAYS.items():
        among_largest = timed[MAXIMUM][way]
        second_us = among_largest.tick_us + among_largest.refresh_us * MAXIMUM / BUSY_SHARE
        rows[way] = {
            "label": label, "instructions": round(refreshes[way] - refreshes[NO_DEADLINES]),
            **{f"us_{clients}": round(timed[clients][way].tick_us, 1) for clients in CROWDS},
            "longest_us": round(among_largest.longest_us), "second_us": round(second_us),
            "core_percent": round(second_us / 10_000, 3)}
    return Finding(
        "Instructions counted by valgrind, beyond a call that does nothing; processor time, median "
        f"of {ITERATIONS} runs in turn. A tick a second; one client of {BUSY_SHARE} is served in each. "
        f"The longest tick is of the minute after all {MAXIMUM:,} have come at once. A second is its "
        f"tick and {MAXIMUM // BUSY_SHARE:,} refreshes.",
        {"instructions": "Instructions a refresh",
         **{f"us_{clients}": f"µs a tick, {clients:,} clients" for clients in CROWDS},
         "longest_us": "Longest, µs", "second_us": "A second, µs", "core_percent": "% of a core"},
        rows)


@contextmanager
def ways_of_deadlines() -> Iterator[Path]:
    """Compile the program that verifies and times the ways, and yield its path."""
    with tempfile.TemporaryDirectory() as scratch:
        yield compiled(SCRIPTS / "deadlines" / "deadlines.cpp", Path(scratch, "deadlines"))


def _instructions(program: Path, way: str) -> float:
    """Return the instructions of one refresh, when a client is served."""
    totals = []
    for count in (REFRESHES, 2 * REFRESHES):
        report = program.with_name(f"{way}-{count}")
        output_of([*CALLGRIND.wrapper(report), str(program), "refresh", way, str(count)])
        totals.append(CALLGRIND.read(report.read_text(errors="replace")).total())
    return (totals[1] - totals[0]) / REFRESHES


@dataclass(frozen=True)
class Timed:
    """The µs that one way of keeping deadlines takes: a tick, a refresh, the longest tick."""

    tick_us: float
    refresh_us: float
    longest_us: float


def _timed(program: Path, clients: int) -> dict[str, Timed]:
    reported: dict[str, list[list[float]]] = defaultdict(list)
    for _ in range(ITERATIONS):
        for line in output_of([str(program), "time", str(clients)]).splitlines():
            way, *figures = line.split()
            reported[way].append(list(map(float, figures)))
    found = {way: [median(column) for column in zip(*iterations, strict=True)]
             for way, iterations in reported.items()}
    nothing_us, _, _ = found[NO_DEADLINES]  # the time to read the clock
    return {way: Timed(max(0.0, tick - nothing_us), max(0.0, ns / 1000), longest)
            for way, (tick, ns, longest) in found.items()}


@dataclass(frozen=True)
class Attacked:
    """How a polite client was served without hostile clients and with them, how many of those were
    connected at the end, the server's peak memory, and whether it survived.
    """

    quiet: Polite
    next_to: Polite
    present: int
    peak_mib: float | None
    lived: bool


def attack() -> Finding:
    """Is a polite client served among ten thousand hostile ones, and what do those cost?"""
    rows: Rows = {}
    for key, label, checkpoint, space in [("12", "12", STREAMING, ()),
                                          ("13", "13", BOUNDED, attacks.CAPACITY)]:
        binary = solution(checkpoint)
        found = [_attacked(binary, space) for _ in range(ATTACKS)]
        answered = sum(len(each.next_to.seconds) for each in found)
        failed = sum(each.next_to.errors.total() for each in found)
        peaks = [each.peak_mib for each in found if each.peak_mib]
        rows[key] = {
            "label": label, "quiet_p99": _ms([each.quiet for each in found], 99),
            "p50": _ms([each.next_to for each in found], 50),
            "p99": _ms([each.next_to for each in found], 99), "answered": answered,
            "failed": failed, "failed_percent": round(100 * failed / max(1, answered + failed), 1),
            "there": round(median(each.present for each in found)),
            "peak_mib": round(max(peaks)) if peaks else None,
            "lived": f"{sum(each.lived for each in found)} of {ATTACKS}"}
        rows[key]["ratio"] = (round(rows[key]["p99"] / rows[key]["quiet_p99"], 1)
                              if rows[key]["p99"] is not None else None)
        rows[key]["reason"] = "the server ended, or answered no client"
    return Finding(
        f"Two threads, an address space of {MEMORY // MIB} MiB (RLIMIT_AS), {HOSTILE:,} hostile "
        "clients: a third announce a body and do not send it, a third send a head at a byte per "
        "second, a third post to <code>/echo</code> and do not read. A client that is disconnected "
        "connects again. A polite client requests the page repeatedly, ten times per connection, "
        f"for {QUIET_S:g} s before the attack and {ATTACKED_S:g} s during it. Medians of {ATTACKS} "
        "runs, all answers and errors, and the highest peak. The clients share the server’s "
        "processors.",
        {"quiet_p99": "Alone: 99 %, ms", "p50": "Attacked: median, ms", "p99": "99 %, ms",
         "ratio": "÷ alone", "answered": "Answered", "failed": "Not answered",
         "there": "Connections at the end", "peak_mib": "Resident at the peak, MiB",
         "lived": "The server lived"}, rows)


def _attacked(binary: Path, space: tuple[str, ...]) -> Attacked:
    stress.raise_descriptor_limit()
    with network.own(), running(binary, "--threads", "2", *space) as server:
        attacks.hold_to(server)
        quiet = attacks.ask(server, QUIET_S)
        with attacks.attacked(server):
            next_to = attacks.ask(server, ATTACKED_S)
            present, peak_mib = attacks.descriptors(server), attacks.peak_mib(server)
        lived = server.stop().exit_code == 0
    if quiet.errors:
        raise UserError("a client that was alone was not answered", "make the checks pass")
    return Attacked(quiet, next_to, present, peak_mib, lived)


def _ms(polite: list[Polite], percentile: float) -> float | None:
    found = [ms for each in polite if (ms := each.ms(percentile)) is not None]
    return round(median(found), 2) if found else None


def refusal() -> Finding:
    """What does a refusal cost, compared with an answer?"""
    ways = {"refused": ("Refused: 503", ("--max-clients", "1"), b"", b"HTTP/1.1 503 "),
            "served": ("Served and closed", (), CLOSING, b"HTTP/1.1 200 ")}
    us: dict[str, list[float]] = {key: [] for key in ways}
    for _ in range(ROUNDS):
        for key, (_, bound, request, status) in ways.items():
            with network.own(), load.serving(solution(BOUNDED), "--threads", "1", *bound) as server:
                with connect((server.host, server.port)):
                    _connect(server, COUNTED, request, status)
                    before = server.cpu_s()
                    _connect(server, REFUSED, request, status)
                    us[key].append((server.cpu_s() - before) * 1e6 / REFUSED)
    rows: Rows = {key: {"label": label, "us": round(median(us[key]), 1),
                        "calls": _calls(bound, request, status)}
                  for key, (label, bound, request, status) in ways.items()}
    for row in rows.values():
        row["to_served"] = round(row["us"] / rows["served"]["us"], 2)
    return Finding(
        f"{REFUSED:,} clients of 13, one after another; one thread, processor time, median of "
        f"{ROUNDS} rounds in turn. Who is refused has said nothing: another client has the only "
        "place (<code>--max-clients 1</code>). Who is served asks for the page and is closed. "
        "Calls counted by strace, without epoll_wait, which may find many clients at once.",
        {"us": "Server’s µs a client", "to_served": "÷ served", "calls": "System calls"}, rows)


def _connect(server: Server, clients: int, request: bytes, status: bytes) -> None:
    """Connect clients one after another, each until it is closed; UserError on another status."""
    for _ in range(clients):
        with connect((server.host, server.port)) as client:
            client.sendall(request)
            answer = b"".join(iter(lambda: client.recv(65_536), b""))
        if not answer.startswith(status):
            raise UserError(f"a client got {answer[:20]!r}", "make the behaviour checks pass")


def _calls(bound: tuple[str, ...], request: bytes, status: bytes) -> float:
    """Return the system calls per client, from the difference of two runs."""
    totals = []
    with tempfile.TemporaryDirectory() as scratch:
        for clients in (COUNTED, 2 * COUNTED):
            report = Path(scratch, str(clients))
            with running(solution(BOUNDED, "measure"), "--threads", "1", *bound,
                         wrapper=STRACE.wrapper(report)) as server:
                with connect((server.host, server.port)):
                    _connect(server, clients, request, status)
                server.stop()
            totals.append(STRACE.read(report.read_text(errors="replace")))
    more = totals[1] - totals[0]
    return round(sum(calls for name, calls in more.items() if name != WAIT and calls > STRAY)
                 / COUNTED, 1)
