"""The experiments of chapter 12: the cost of a body that is not kept in memory."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from statistics import median

from workbook.authors.tools import (
    OPTIMISED,
    Finding,
    Rows,
    edited,
    in_sequence,
    one_worker,
    solution,
    variant,
)
from workbook.checks.behaviour.rows import HOST, MIB, post
from workbook.common.errors import UserError
from workbook.measure import load
from workbook.measure.crowd import connect, read_answers
from workbook.measure.load import Phase, PhaseResult
from workbook.measure.sequence import Way
from workbook.servers import build
from workbook.servers.client import answers
from workbook.servers.process import Server, running

HOLDS, STREAMING = "11-hot-files", "12-streaming"
CLIENTS, ROUNDS, SECONDS = 16, 5, 2.0
UPLOADS = 100
HEAVY = Phase("heavy", "heavy", CLIENTS, SECONDS)
SIZE = "buffer_size = 128 * 1024;"
LISTENS = "    if (::listen(socket.number(), SOMAXCONN) < 0) fail(\"listen\");\n"
FIXED = "    set_option(socket, SOL_SOCKET, SO_RCVBUF, 128 * 1024);\n"
MAXIMUM = "max_body = 10 * 1024 * 1024;"
SERVES = "    if (state != client.state) update_state(client, state);\n"
MINIMUM = """    const auto left = std::min<std::size_t>(client.connection.body_left(), 64 * 1024);
    const int lowest = std::max(1, static_cast<int>(left));
    if (std::exchange(client.lowest, lowest) != lowest)
        ::setsockopt(client.socket.number(), SOL_SOCKET, SO_RCVLOWAT, &lowest, sizeof lowest);
"""
# Waits for 64 KiB of a body, or for the rest of it: socket(7).
LOW_WATER = (
    ("worker.cpp", SERVES, SERVES + MINIMUM),
    ("connection.h", "    ConnectionState state() const;\n",
     "    ConnectionState state() const;\n"
     "    std::size_t body_left() const { return sink_ ? body_.left() : 0; }\n"),
    ("worker.h", '#include "connection.h"\n',
     '#include <sys/socket.h>\n#include <algorithm>\n#include "connection.h"\n'),
    ("worker.h", "        Interest interest = Interest::receive;",
     "        int lowest = 1;\n        Interest interest = Interest::receive;"),
)
EDITS = tuple((STREAMING, file, old) for file, old, _ in LOW_WATER)


def uploads() -> Finding:
    """How much processor time does a body take, by server and by size of the buffer?"""
    with ExitStack() as stack:
        def with_buffer(kib: int) -> Path:
            return stack.enter_context(variant(STREAMING, "buffer_pool.h", SIZE,
                                               f"buffer_size = {kib} * 1024;"))

        fixed = variant(STREAMING, "socket.cpp", LISTENS, FIXED + LISTENS)
        programs = {
            "08": ("08, held whole", solution(OPTIMISED)),
            "11": ("11, held whole", solution(HOLDS)),
            "16": ("12 with buffers of 16 KiB", with_buffer(16)),
            "128": ("12, of 128 KiB", solution(STREAMING)),
            "512": ("12, of 512 KiB", with_buffer(512)),
            "fixed": ("12, and a fixed SO_RCVBUF of 128 KiB", stack.enter_context(fixed)),
            "low": ("12, and SO_RCVLOWAT of 64 KiB",
                    edited("low-water", STREAMING, LOW_WATER, preset="release")),
            "floor": ("the floor, which only receives", build.floor("release")),
        }
        found = in_sequence({key: Way(label, one_worker(binary), HEAVY)
                             for key, (label, binary) in programs.items()}, ROUNDS)
    rows: Rows = {}
    for key, (label, _) in programs.items():
        rows[key] = {"label": label, "ms": _median(found[key], "cpu_us_per_request") / 1000,
                     "rps": round(_median(found[key], "requests_per_second")),
                     "mib": round(max(r.peak_rss_mib or 0 for r in found[key]), 1)}
    for key, row in rows.items():
        row["to_08"] = round(row["ms"] / rows["08"]["ms"], 2)
        row["to_floor"] = round(row["ms"] / rows["floor"]["ms"], 2)
        rows[key]["ms"] = round(row["ms"], 3)
    return Finding(
        f"Bodies of 1 to 9.4 MB for <code>/sink</code> from {CLIENTS} clients, one thread on one "
        f"processor and wrk on another, median of {ROUNDS} rounds in turn.",
        {"ms": "Server’s ms a body", "to_08": "÷ 08", "to_floor": "÷ floor", "rps": "Bodies/s",
         "mib": "Resident at the peak, MiB"}, rows)


def _median(results: list[PhaseResult], figure: str) -> float:
    return float(median(getattr(result, figure) or 0 for result in results))


def uploads_memory() -> Finding:
    """How much memory do a hundred simultaneous uploads take?"""
    rows: Rows = {}
    for key, label, checkpoint in [("11", "11", HOLDS), ("12", "12", STREAMING)]:
        with running(solution(checkpoint), "--threads", "1") as server:
            idle, maximum = _hundred(server)
        rows[key] = {"label": label, "idle": round(idle / MIB, 2),
                     "more": round((maximum - idle) / MIB, 2)}
    return Finding(
        f"{UPLOADS} clients send bodies of 1 to 9 MB to <code>/sink</code>, all of which have sent "
        "the half before one sends the rest; one thread; memory of the process’s own.",
        {"idle": "Before, MiB", "more": "More at the peak, MiB"}, rows)


def _hundred(server: Server) -> tuple[int, int]:
    with ExitStack() as stack:
        clients = connect(server, UPLOADS, stack)
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
            read_answers(client, 1)
        idle = maximum = server.own_bytes()
        bodies = [post(bytes(1_000_000 + 8_000_000 * number // UPLOADS), b"/sink", HOST)
                  for number in range(UPLOADS)]
        for client, body in zip(clients, bodies, strict=True):
            client.sendall(body[:len(body) // 2])
            maximum = max(maximum, server.own_bytes())
        for client, body in zip(clients, bodies, strict=True):
            client.sendall(body[len(body) // 2:])
            [answer] = answers(client, 1)
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise UserError("a body was not answered with 200",
                                "make the behaviour checks pass")
            maximum = max(maximum, server.own_bytes())
    return idle, maximum


def refusals() -> Finding:
    """How fast is a server that refuses every body?"""
    rows: Rows = {}
    with variant(STREAMING, "http_parser.h", MAXIMUM, "max_body = 0;") as refuses:
        for key, label, binary in [("takes", "12", solution(STREAMING)),
                                   ("refuses", "12 that takes no body at all", refuses)]:
            with one_worker(binary)() as server:
                result = load.run_phase(server, HEAVY)
            rows[key] = {"label": label, "rps": round(result.requests / result.seconds),
                         "refused": round(100 * result.errors["status"] / result.requests),
                         "figure": "none" if result.reason else "yes"}
    return Finding(
        f"The heavy phase of the stress test with {CLIENTS} clients, one thread: answers a second, "
        "whatever they say, and how many are no 2xx. The last column tells whether "
        "<code>stress</code> calls that a result.",
        {"rps": "Answers/s", "refused": "Not 2xx, %", "figure": "A figure"}, rows)
