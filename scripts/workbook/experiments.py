"""The small experiments of the chapters: each tries one claim, and keeps book/results/NAME.json."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import psutil

from workbook import build, costs, fairness, load, machine, pgo, setup, stress
from workbook.behaviour.client import Pause, exchange, exchange_many
from workbook.errors import UserError
from workbook.load import Cores, Phase
from workbook.paths import BUILD, COMMAND, RESULTS, SOLUTIONS, shown, write_atomically
from workbook.servers import Server, running

NAIVE, CHUNKS, LAYOUT, THREADS = (
    "01-naive", "02-fewer-syscalls", "03-data-layout", "04-threads")
LOOP, HOT, WORKERS, OPTIMISED = (
    "05-event-loop", "06-hot-path", "07-workers", "08-allocator-pgo")
USUAL = b"Host: localhost\r\nConnection: close\r\n"
GET = b"GET / HTTP/1.1\r\n" + USUAL + b"\r\n"
SHORT = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"
CLIENTS = 400
HEAVY = Phase("heavy", "heavy", connections=32, seconds=1.0)
REST_S = 2
MEMORY_CALLS = ("mmap", "munmap", "madvise", "brk")
IDLE_CLIENTS = 800

Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Finding:
    """A table: `columns` are headings by key; a row has a `label` and a number for each key."""

    what: str
    columns: dict[str, str]
    rows: Rows


def run(names: Sequence[str] = ()) -> None:
    """Do these experiments, or all, and replace their files in book/results."""
    for name in names:
        if name not in EXPERIMENTS:
            raise UserError(f"there is no experiment “{name}”",
                            "use one of: " + ", ".join(EXPERIMENTS))
    setup.ensure(["compiler", "cmake", "ninja", "strace", "valgrind", "wrk"])
    for name in names or EXPERIMENTS:
        found = EXPERIMENTS[name]()
        what = f"{found.what} <code>{COMMAND} record --only {name}</code>."
        results = {"kind": "experiment", "what": what, "machine": machine.facts(),
                   "columns": found.columns, "rows": found.rows}
        file = RESULTS / f"{name}.json"
        write_atomically(file, json.dumps(results, indent=2, ensure_ascii=False) + "\n")
        _print(file, found)


def closing() -> Finding:
    """Does a refused client get its answer if the server closes at once?"""
    clients, body = 100, b"x" * 1_000_000
    request = b"POST /sink HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    rows: Rows = {}
    with variant(*LINGER, "") as abrupt:
        servers = {"lingering": ("01 as it is", _server(NAIVE)),
                   "abrupt": ("01 without linger()", abrupt)}
        for key, (label, binary) in servers.items():
            with running(binary) as server:
                answers = [exchange((server.host, server.port), (request,), 5.0)
                           for _ in range(clients)]
            whole = max(len(answer.data) for answer in answers)
            rows[key] = {
                "label": label,
                "whole": sum(a.end == "closed" and len(a.data) == whole for a in answers),
                "reset": sum(answer.end == "reset" for answer in answers),
                "bytes": median(len(answer.data) for answer in answers)}
    return Finding(
        f"{clients} clients, one after another, that are refused (they name no Host) while they "
        f"send a body of {len(body):,} bytes.",
        {"whole": "Whole answers", "reset": "Resets", "bytes": "Bytes that came, median"}, rows)


def large_head() -> Finding:
    """What do large fields cost a server that reads byte by byte, and one that reads chunks?"""
    rows: Rows = {}
    for size in (0, 1000, 10_000):
        request = GET.replace(b"\r\n\r\n", b"\r\nX-Large: " + b"h" * size + b"\r\n\r\n")
        naive, chunks = (_costs(name, request, "syscalls", "instructions")
                         for name in (NAIVE, CHUNKS))
        rows[str(size)] = {
            "label": f"{size:,} bytes",
            "naive_syscalls": naive.syscalls, "naive_instructions": naive.instructions,
            "chunks_syscalls": chunks.syscalls, "chunks_instructions": chunks.instructions}
    return Finding(
        "Per <code>GET /</code> with one field of this many bytes. Counted, not timed.",
        {"naive_syscalls": "01: system calls", "naive_instructions": "01: instructions",
         "chunks_syscalls": "02: system calls", "chunks_instructions": "02: instructions"}, rows)


def body_copies() -> Finding:
    """How much memory is asked for to serve a body?"""
    rows: Rows = {}
    for key, label, target, size in (("echo", "POST /echo, 16 KiB", b"/echo", 1 << 14),
                                     ("sink", "POST /sink, 1 MiB", b"/sink", 1 << 20)):
        request = (b"POST " + target + b" HTTP/1.1\r\n" + USUAL
                   + b"Content-Length: %d\r\n\r\n" % size + b"b" * size)
        rows[key] = {"label": label} | {
            f"copies_{name[:2]}": round(_costs(name, request, "allocations").alloc_bytes / size, 2)
            for name in (NAIVE, CHUNKS, LAYOUT)}
    return Finding(
        "Bytes allocated on the heap for each byte of the body. Counted, not timed.",
        {f"copies_{name[:2]}": name[:2] for name in (NAIVE, CHUNKS, LAYOUT)}, rows)


def formatting() -> Finding:
    """What does it cost to write the head of an answer?"""
    setup.ensure(["valgrind"])
    rows: Rows = {}
    with variant(CHUNKS, "main.cpp", None, FORMATTING) as program:
        for key, label in (("append", "a <code>std::string</code> and <code>+=</code>"),
                           ("format", "<code>std::format_to_n</code> into a buffer"),
                           ("copy", "<code>memcpy</code> and <code>std::to_chars</code>")):
            rows[key] = {"label": label} | {
                measure: _per_call(measure, program, key)
                for measure in ("allocations", "instructions")}
    return Finding(
        "To write the head of the answer to <code>GET /</code>. Counted, not timed.",
        {"allocations": "Heap allocations", "instructions": "Instructions"}, rows)


def nagle() -> Finding:
    """Does TCP_NODELAY matter when the connection closes after the answer?"""
    requests = 500
    times: dict[str, list[float]] = {"without": [], "with": []}
    with ExitStack() as stack:
        binaries = {"without": stack.enter_context(
            variant(*NODELAY, "")), "with": _server(CHUNKS)}
        addresses = {key: _address(stack.enter_context(running(binary)))
                     for key, binary in binaries.items()}
        for _ in range(requests):
            for key, address in addresses.items():
                times[key].append(exchange(address, (GET,), 5.0).seconds * 1e6)
    rows: Rows = {key: {"label": f"02 {key} TCP_NODELAY", "median_us": round(median(times[key]), 1)}
                  for key in ("with", "without")}
    return Finding(f"Time of one <code>GET /</code> after another, {requests} of each in turn.",
                   {"median_us": "µs, median"}, rows)


def layout() -> Finding:
    """How large are the types, and how much of a Request is padding?"""
    labels = {"request": "Request", "padding": "of it padding", "headers": "of it headers",
              "body": "of it body", "method": "Method", "status": "Status"}
    rows: Rows = {key: {"label": f"<code>{label}</code>" if label[0].isupper() else label}
                  for key, label in labels.items()}
    checkpoints = (NAIVE, CHUNKS, LAYOUT)
    for name in checkpoints:
        with variant(name, "main.cpp", None, SIZES) as program:
            sizes = json.loads(_output([str(program)]))
        for key, size in sizes.items():
            rows[key][f"size_{name[:2]}"] = size
    return Finding("Bytes, from <code>sizeof</code>.",
                   {f"size_{name[:2]}": name[:2] for name in checkpoints}, rows)


def many_fields() -> Finding:
    """When do hashing and a node for each field pay?"""
    rows: Rows = {}
    for count in (5, 25, 100, 1000, 6000):
        fields = b"".join(b"X%d: %d\r\n" % (i, i % 10) for i in range(count - 2))
        request = GET.replace(b"\r\n\r\n", b"\r\n" + fields + b"\r\n")
        hashed, walked = (_costs(name, request, "allocations", "instructions")
                          for name in (CHUNKS, LAYOUT))
        rows[str(count)] = {
            "label": f"{count:,} fields",
            "map_allocations": hashed.allocations, "map_instructions": hashed.instructions,
            "vector_allocations": walked.allocations, "vector_instructions": walked.instructions}
    return Finding(
        "Per <code>GET /</code>. Counted, not timed.",
        {"map_allocations": "02: allocations", "map_instructions": "02: instructions",
         "vector_allocations": "03: allocations", "vector_instructions": "03: instructions"}, rows)


def late_reader() -> Finding:
    """What does writev(2) say when the client does not read?"""
    body = b"b" * (10 << 20)
    request = b"POST /echo HTTP/1.1\r\n" + USUAL + b"Content-Length: %d\r\n\r\n" % len(body) + body
    rows: Rows = {}
    for key, label, pause_s in (("eager", "reads at once", 0.0), ("late", "waits for 0.5 s", 0.5)):
        taken = _written(request, pause_s)
        rows[key] = {"label": label, "calls": len(taken), "first": taken[0],
                     "percent": round(100 * taken[0] / sum(taken))}
    return Finding(
        "Calls of <code>writev</code> for the answer of 03 to <code>POST /echo</code> with 10 MiB. "
        "The socket is blocking, and a call waits for 200 ms at most.",
        {"calls": "Calls", "first": "Bytes that the first took", "percent": "Per cent of all"},
        rows)


def silent_client() -> Finding:
    """Whom does a client hold up that connects and says nothing?"""
    rows: Rows = {}
    for threads in (1, 2, 4, 8):
        rows[str(threads)] = {"label": f"{threads} thread{'s' * (threads > 1)}, a listener each",
                              "answered": _answered(_server(THREADS), threads)}
    with variant(*OWN_QUEUES, ONE_QUEUE) as shared:
        rows["shared"] = {"label": "4 threads, one listener", "answered": _answered(shared, 4)}
    return Finding(
        f"One client connects and is silent; then {CLIENTS} others ask at once. How many of them "
        "have their answer within a second.", {"answered": f"Answered, of {CLIENTS}"}, rows)


def port_thief() -> Finding:
    """Who gets the clients when a stranger listens on the same port with SO_REUSEPORT?"""
    rows: Rows = {}
    for threads in (1, 2, 4):
        with running(_server(THREADS), "--threads", str(threads)) as server, \
                socket.socket() as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            thief.bind(_address(server))
            thief.listen(CLIENTS)
            answered = _answers(_address(server))
        rows[str(threads)] = {"label": f"{threads} thread{'s' * (threads > 1)} of ours",
                              "answered": answered, "stolen": CLIENTS - answered}
    return Finding(
        f"A second program of the same user listens on our port and never answers. Of {CLIENTS} "
        "clients, how many we get.",
        {"answered": "Answered by us", "stolen": "Waiting at the other"}, rows)


def thread_sweep() -> Finding:
    """Do more threads serve more, with the load generator on the same processors or not?"""
    return _sweep(THREADS, counts=(1, 2, 4, 8), rounds=5)


def workers_sweep() -> Finding:
    """The same of event loops, each on a processor of its own as far as there are so many."""
    return _sweep(WORKERS, counts=(1, 2, 3, 4, 6, 8), rounds=3)


def kqueue() -> Finding:
    """What does kqueue cost on top of epoll, and are many clients still served alike?"""
    clients = min(5000, stress.raise_descriptor_limit() - 200)
    rows: Rows = {}
    for key, label, preset in (("epoll", "epoll", "release"),
                               ("kqueue", "kqueue, in front of epoll", "kqueue")):
        binary = _server(LOOP, preset)
        counted = _counted(binary, LOOP, costs.KEPT, "syscalls")
        with running(binary) as server:
            served = fairness.answers(_address(server), clients, rounds=12, seconds=30)
        rows[key] = {"label": label, "syscalls": round(counted.syscalls or 0),
                     "least": min(served), "median": round(median(served)), "most": max(served)}
    return Finding(
        "05, <code>GET /</code> on a kept connection: system calls per request, counted; and how "
        f"many answers each of {clients:,} clients got who ask again at once, when they had 12 on "
        "average.",
        {"syscalls": "System calls", "least": "Answers: fewest", "median": "Median",
         "most": "Most"}, rows)


def changes() -> Finding:
    """How often is kevent(2) called for a new client?"""
    binaries = {side: build.isolated(SOLUTIONS / name, "measure", BUILD / "experiments" / name,
                                     {"HOTPATH_POLLER": "kqueue"})
                for side, name in (("hot", HOT), ("workers", WORKERS))}
    rows: Rows = {
        str(clients): {"label": label} | {side: _kevents_a_client(binary, clients)
                                          for side, binary in binaries.items()}
        for clients, label in ((16, "16 at once"), (64, "64 at once"), (256, "256 at once"))}
    return Finding(
        "Calls of <code>kevent</code> for each client that connects, asks for the page once and "
        "leaves, the waits among them, on Linux through our library. Counted; how many clients the "
        "server finds ready at once is the scheduler’s to say.",
        {"hot": "06", "workers": "07"}, rows)


def allocators() -> Finding:
    """What does another allocator change for small requests, large bodies, and memory?"""
    setup.ensure(["jemalloc", "mimalloc"])
    body = b"b" * (1 << 20)
    sink = (b"POST /sink HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body)
    rows: Rows = {}
    for key, label, name, conf in (
            ("system", "the system’s", "system", ""),
            ("untuned", "jemalloc as it comes", "jemalloc", "oversize_threshold:8388608"),
            ("jemalloc", "jemalloc with our setting", "jemalloc", ""),
            ("mimalloc", "mimalloc", "mimalloc", "")):
        binary = _optimised(name, {"HOTPATH_ALLOCATOR": name})
        with patch.dict(os.environ, {"MALLOC_CONF": conf}):
            page = _counted(binary, OPTIMISED, SHORT, "instructions")
            large = _counted(binary, OPTIMISED, sink, "syscalls")
            heavy_us, peak_mib, after_mib = _heavy(binary)
        rows[key] = {
            "label": label, "page": round(page.instructions or 0),
            "memory_calls": round(sum(large.by_call.get(call, 0) for call in MEMORY_CALLS), 2),
            "us": round(heavy_us), "peak": round(peak_mib), "after": round(after_mib)}
    return Finding(
        f"08 without LTO and profile, one worker. Counted: a <code>GET /</code> of {len(SHORT)} "
        "bytes, and the calls of <code>mmap</code>, <code>munmap</code>, <code>madvise</code> and "
        "<code>brk</code> for a <code>POST /sink</code> of 1 MiB. Measured: "
        f"{HEAVY.connections} clients with bodies of 1 to 9.4 MB, the median of three rounds; and the "
        f"resident memory at their peak and {REST_S} s after them.",
        {"page": "GET /: instructions", "memory_calls": "1 MiB: calls for memory",
         "us": "Heavy: µs a request", "peak": "MiB, peak", "after": "MiB, after"}, rows)


def compilers() -> Finding:
    """What do LTO and a profile save, each alone and together?"""
    rows: Rows = {}
    for key, label, lto, rounds in (
            ("plain", "neither", "OFF", 0), ("lto", "LTO", "ON", 0),
            ("profile", "a profile", "OFF", 1), ("context", "a profile, two rounds", "OFF", 2),
            ("both", "LTO and a profile, two rounds", "ON", 2)):
        settings = {"HOTPATH_ALLOCATOR": "system", "HOTPATH_LTO": lto}
        binary = _profiled(key, settings, rounds) if rounds else _optimised(key, settings)
        small, browser = (round(_counted(binary, OPTIMISED, request, "instructions").instructions
                                or 0) for request in (SHORT, costs.KEPT))
        rows[key] = {"label": label, "small": small, "browser": browser,
                     "size": round(binary.stat().st_size / 1024)}
    return Finding(
        "08 with the system’s allocator. Instructions per <code>GET /</code> on a kept connection, "
        f"of {len(SHORT)} bytes with only a Host, and as a browser sends it. Counted, not timed.",
        {"small": f"{len(SHORT)} bytes", "browser": "A browser’s", "size": "KiB of program"}, rows)


def keep_alive() -> Finding:
    """What of the event loop's gain is the loop, and what is not connecting anew?"""
    ways = {"threads": ("04, a connection for each request", THREADS, "closing"),
            "closing": ("05, a connection for each request", LOOP, "closing"),
            "kept": ("05, connections kept", LOOP, "plain")}
    rounds, connections = 3, 64
    found: dict[str, list[load.PhaseResult]] = {key: [] for key in ways}
    for _ in range(rounds):
        for key, (label, checkpoint, script) in ways.items():
            with load.serving(_server(checkpoint), "--threads", "1") as server:
                result = load.run_phase(server, Phase(key, script, connections, 1.0))
            if result.reason:
                raise UserError(f"“{label}” has no figure: {result.reason}",
                                "try again on a quieter machine")
            found[key].append(result)
    rows: Rows = {}
    for key, (label, checkpoint, script) in ways.items():
        counted = _kept_costs(checkpoint) if script == "plain" else costs.count(
            _server(checkpoint, "measure"), level=4, measures=("syscalls",))
        rows[key] = {
            "label": label, "syscalls": counted.syscalls,
            "rps": round(median(r.requests_per_second or 0 for r in found[key])),
            "cpu_us": round(median(r.cpu_us_per_request or 0 for r in found[key]), 1)}
    return Finding(
        f"<code>GET /</code>, one thread serves. System calls are counted with one client, the "
        f"rest is timed with {connections}, median of {rounds} rounds.",
        {"syscalls": "System calls a request", "rps": "Requests/s",
         "cpu_us": "Server’s µs a request"}, rows)


def together() -> Finding:
    """What does a request cost when many are ready at once?"""
    binary = _server(LOOP, "measure")
    rows: Rows = {}
    for key, label, clients, depth in (("1", "1 client", 1, 1), ("4", "4 clients", 4, 1),
                                       ("16", "16 clients", 16, 1), ("64", "64 clients", 64, 1),
                                       ("pipelined", "1 client, 16 requests pipelined", 1, 16)):
        calls = _calls_together(binary, clients, depth)
        wait, receive, send = (sum(calls.get(name, 0) for name in names) for names in (
            ("epoll_wait", "epoll_pwait"), ("recvfrom",), ("writev", "sendto")))
        rows[key] = {"label": label, "wait": round(wait, 3), "receive": round(receive, 3),
                     "send": round(send, 3), "all": round(sum(calls.values()), 3)}
    return Finding(
        "System calls a request of 05 when every client has one request out, or sixteen. Counted; "
        "how many clients are ready at once is the scheduler’s to say.",
        {"wait": "<code>epoll_wait</code>", "receive": "<code>recv</code>",
         "send": "<code>writev</code>", "all": "All"}, rows)


def hot_path() -> Finding:
    """What does a request cost by its size, and what does an idle client hold?"""
    requests = {"short": ("instructions, 41 bytes", SHORT),
                "browser": ("instructions, a browser’s", costs.KEPT),
                "large": ("instructions, with a field of 10,000 bytes", SHORT.replace(
                    b"\r\n\r\n", b"\r\nX-Large: " + b"h" * 10_000 + b"\r\n\r\n"))}
    sides = {"loop": LOOP, "hot": HOT}
    rows: Rows = {
        key: {"label": label} | {side: round(_kept_costs(name, request, "instructions").instructions
                                             or 0) for side, name in sides.items()}
        for key, (label, request) in requests.items()}
    rows["idle"] = {"label": "bytes of memory for an idle client"} | {
        side: _idle_bytes(_server(name)) for side, name in sides.items()}
    return Finding(
        f"For one <code>GET /</code> on a kept connection, counted; and the growth of the resident "
        f"memory by {IDLE_CLIENTS:,} clients that had an answer and are silent, for each of them.",
        {"loop": "05", "hot": "06"}, rows)


EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    "closing": closing,
    "large-head": large_head,
    "body-copies": body_copies,
    "formatting": formatting,
    "nagle": nagle,
    "layout": layout,
    "many-fields": many_fields,
    "late-reader": late_reader,
    "silent-client": silent_client,
    "port-thief": port_thief,
    "thread-sweep": thread_sweep,
    "workers-sweep": workers_sweep,
    "kqueue": kqueue,
    "changes": changes,
    "allocators": allocators,
    "compilers": compilers,
    "keep-alive": keep_alive,
    "together": together,
    "hot-path": hot_path,
}

# The programs and edits that the experiments try in a copy of a checkpoint.

SIZES = """
#include <cstdio>
#include "connection.h"
int main() {
    using web::Request;
    const std::size_t members = sizeof(Request::method) + sizeof(Request::path)
        + sizeof(Request::query) + sizeof(Request::version) + sizeof(Request::headers)
        + sizeof(Request::expects_continue) + sizeof(Request::content_length)
        + sizeof(Request::body);
    std::printf("{\\"request\\": %zu, \\"padding\\": %zu, \\"headers\\": %zu, \\"body\\": %zu,"
                " \\"method\\": %zu, \\"status\\": %zu}", sizeof(Request),
                sizeof(Request) - members, sizeof(Request::headers), sizeof(Request::body),
                sizeof(web::Method), sizeof(web::Status));
}
"""

FORMATTING = """
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include "response.h"
namespace {
constexpr std::string_view status = "200 OK", type = "text/html; charset=utf-8";
volatile std::size_t body_size = 150;
std::size_t append() {
    std::string head;
    head += "HTTP/1.1 " + std::string(status) + "\\r\\n";
    head += "Content-Type: " + std::string(type) + "\\r\\n";
    head += "Content-Length: " + std::to_string(body_size) + "\\r\\n";
    head += "Connection: close\\r\\n";
    head += "\\r\\n";
    return head.size();
}
std::size_t format(const web::Response& response) {
    char head[web::Response::max_head];
    return response.format_head(head).size();
}
std::size_t copy() {
    char head[web::Response::max_head];
    char* end = head;
    const auto put = [&](std::string_view text) {
        std::memcpy(end, text.data(), text.size());
        end += text.size();
    };
    put("HTTP/1.1 ");
    put(status);
    put("\\r\\nContent-Type: ");
    put(type);
    put("\\r\\nContent-Length: ");
    end = std::to_chars(end, head + sizeof head, std::size_t{body_size}).ptr;
    put("\\r\\nConnection: close\\r\\n\\r\\n");
    return static_cast<std::size_t>(end - head);
}
}  // namespace
int main(int, char** argv) {
    static char page[150];
    web::Response response;
    response.content_type(type);
    response.body_reference({page, body_size});
    const std::string_view way = argv[1];
    volatile std::size_t sum = 0;
    for (int left = std::atoi(argv[2]); left > 0; --left)
        sum = sum + (way == "append" ? append() : way == "copy" ? copy() : format(response));
    return sum == 0;
}
"""

# Checkpoint, file and the lines in it that an experiment takes out or replaces.
LINGER = (NAIVE, "connection.cpp",
          "    if (reading == Reading::refused || has_unread(socket_)) linger();\n")
NODELAY = (CHUNKS, "socket_linux.cpp", "    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);\n")
OWN_QUEUES = (THREADS, "socket_linux.cpp",
              "        listeners.push_back(bind_to(host, free_port, true));\n"
              "        start_listening(listeners.back());\n")
EDITS = (LINGER, NODELAY, OWN_QUEUES)

ONE_QUEUE = """\
        if (i > 0) {
            listeners.emplace_back(::dup(listeners.front().number()));
            continue;
        }
        listeners.push_back(bind_to(host, free_port, false));
        start_listening(listeners.back());
"""


@contextmanager
def variant(checkpoint: str, file: str, old: str | None, new: str) -> Iterator[Path]:
    """The server of a solution in which `old` was replaced, or a whole file if it is None."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, checkpoint)
        shutil.copytree(SOLUTIONS / checkpoint, copy)
        text = (copy / file).read_text(encoding="utf-8")
        if old is not None and text.count(old) != 1:
            raise UserError(f"{shown(SOLUTIONS / checkpoint / file)} is not what an experiment "
                            f"expects: it should have once\n{old}", "mend experiments.py")
        (copy / file).write_text(new if old is None else text.replace(old, new), encoding="utf-8")
        yield build.isolated(copy, build_dir=Path(scratch, "build"))


def _server(checkpoint: str, preset: str = "release") -> Path:
    return build.build_server(SOLUTIONS / checkpoint, preset)


def _address(server: Any) -> tuple[str, int]:
    return server.host, server.port


def _optimised(name: str, settings: dict[str, str]) -> Path:
    """08 built for counting, without LTO and profile unless `settings` say so."""
    return build.isolated(SOLUTIONS / OPTIMISED, "measure", BUILD / "experiments" / name,
                          {"HOTPATH_LTO": "OFF", "HOTPATH_PGO": "OFF", **settings})


def _profiled(name: str, settings: dict[str, str], rounds: int) -> Path:
    """The same with a profile of the stress test, in that many rounds."""
    directory = BUILD / "experiments" / name
    phases = [replace(phase, seconds=0.5) for phase in stress.short_form()]
    pgo.gather(SOLUTIONS / OPTIMISED, directory, phases, settings, "measure", rounds)
    return pgo.use(SOLUTIONS / OPTIMISED, directory, settings, "measure")


def _heavy(binary: Path, rounds: int = 3) -> tuple[float, float, float]:
    """Large bodies for one worker: its µs a request, its MiB at the peak and a while after."""
    with load.serving(binary, "--threads", "1") as server:
        results = [load.run_phase(server, HEAVY) for _ in range(rounds)]
        if reason := next((result.reason for result in results if result.reason), None):
            raise UserError(f"heavy bodies have no figure: {reason}", "try again")
        time.sleep(REST_S)
        return (median(result.cpu_us_per_request or 0 for result in results),
                max(result.peak_rss_mib or 0 for result in results),
                psutil.Process(server.pid).memory_info().rss / load.MIB)


def _sweep(checkpoint: str, counts: Sequence[int], rounds: int) -> Finding:
    """Requests per second and processor time by number of threads, wrk apart and not."""
    phase = Phase("plain", "plain", connections=64, seconds=1.0)
    usable = load.cores()
    every = usable.server | usable.client
    places = {"apart": usable, "shared": Cores(every, every)}
    found: dict[tuple[str, int], list[load.PhaseResult]] = {}
    for _ in range(rounds):
        for place, cores in places.items():
            for threads in counts:
                with patch.object(load, "cores", lambda cores=cores: cores), \
                        load.serving(_server(checkpoint), "--threads", str(threads)) as server:
                    result = load.run_phase(server, phase)
                if result.reason:
                    raise UserError(f"{threads} threads have no figure: {result.reason}",
                                    "try again on a quieter machine")
                found.setdefault((place, threads), []).append(result)
    rows: Rows = {}
    for threads in counts:
        rows[str(threads)] = {"label": f"{threads} thread{'s' * (threads > 1)}"}
        for place in places:
            results = found[place, threads]
            rows[str(threads)] |= {
                f"{place}_rps": round(median(r.requests_per_second or 0 for r in results)),
                f"{place}_us": round(median(r.cpu_us_per_request or 0 for r in results), 1)}
    share = f"{len(usable.server)} for the server, {len(usable.client)} for wrk"
    return Finding(
        f"<code>GET /</code> from {phase.connections} clients, median of {rounds} rounds. Apart: "
        f"processors split, {share}. Shared: both on all {len(every)}.",
        {"apart_rps": "Apart: requests/s", "apart_us": "Apart: server’s µs a request",
         "shared_rps": "Shared: requests/s", "shared_us": "Shared: server’s µs a request"}, rows)


def _costs(checkpoint: str, request: bytes, *measures: str) -> costs.Costs:
    return _counted(_server(checkpoint, "measure"), checkpoint, request, *measures)


def _counted(binary: Path, checkpoint: str, request: bytes, *measures: str) -> costs.Costs:
    counted = costs.count(binary, level=int(checkpoint[:2]), measures=measures, request=request)
    for measure, reason in counted.skipped.items():
        raise UserError(f"{measure} cannot be counted: {reason}", "record where they can be")
    return counted


def _kept_costs(checkpoint: str, request: bytes | None = None,
                measure: str = "syscalls") -> costs.Costs:
    """What a request costs on a connection that stays open."""
    return costs.count(_server(checkpoint, "measure"), level=costs.KEEP_ALIVE_LEVEL,
                       measures=(measure,), request=request)


def _calls_together(binary: Path, clients: int, depth: int) -> dict[str, float]:
    """System calls a request by name: so many clients each send `depth` requests, then all read.

    The difference to a run in which they ask only once: how many are ready at once differs from run
    to run, so that of two long ones would be noise.
    """
    tool, rounds = costs.TOOLS["syscalls"], 8192 // clients
    totals: list[Counter[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for times in (0, rounds):
            report = Path(scratch, str(times))
            with running(binary, wrapper=tool.wrapper(report)) as server, ExitStack() as stack:
                connected = _connected(server, clients, stack)
                _ask_all(connected, 1)  # so that all are accepted
                for _ in range(times):
                    _ask_all(connected, depth)
                server.stop()
            totals.append(tool.read(report.read_text(errors="replace")))
    return {name: (totals[1][name] - totals[0][name]) / (rounds * clients * depth)
            for name in totals[1]}


def _kevents_a_client(binary: Path, clients: int) -> float:
    """Calls of kevent(2), from start to end: where waits differ, a difference of runs is noise."""
    rounds = 1024 // clients
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "calls")
        with running(binary, "--threads", "1", wrapper=[
                "valgrind", "--tool=callgrind", "--log-file=/dev/null", "--compress-strings=no",
                f"--callgrind-out-file={report}"]) as server:
            for _ in range(rounds):
                _come_and_go(server, clients)
            server.stop()
        text = report.read_text(errors="replace")
    return round(sum(map(int, re.findall(r"^cfn=kevent\ncalls=(\d+)", text, re.M)))
                 / (rounds * clients), 2)


def _come_and_go(server: Server, clients: int) -> None:
    """All ask, and later leave, while the server sleeps: so it finds them together."""
    process = psutil.Process(server.pid)
    with ExitStack() as stack:
        process.suspend()
        connected = _connected(server, clients, stack)
        for client in connected:
            client.sendall(SHORT)
        process.resume()
        for client in connected:
            _read_answers(client, 1)
        process.suspend()
    process.resume()


def _idle_bytes(binary: Path) -> int:
    """Resident memory that a client holds which had an answer."""
    with running(binary) as server, ExitStack() as stack:
        process = psutil.Process(server.pid)
        _ask_all(_connected(server, 1, stack), 1)
        before = process.memory_info().rss
        _ask_all(_connected(server, IDLE_CLIENTS, stack), 1)
        return round((process.memory_info().rss - before) / IDLE_CLIENTS)


def _connected(server: Server, clients: int, stack: ExitStack) -> list[socket.socket]:
    return [stack.enter_context(socket.create_connection(_address(server), timeout=5.0))
            for _ in range(clients)]


def _ask_all(connected: Sequence[socket.socket], depth: int) -> None:
    """Each sends `depth` requests; then each reads its answers."""
    for client in connected:
        client.sendall(SHORT * depth)
    for client in connected:
        _read_answers(client, depth)


def _read_answers(client: socket.socket, count: int) -> None:
    answers = b""
    while answers.count(b"</html>") < count:
        received = client.recv(65_536)
        if not received:
            raise UserError("the server closed a connection that was to be kept",
                            "make the behaviour checks pass first")
        answers += received


def _per_call(measure: str, program: Path, way: str, calls: int = 1000) -> float:
    """What one call costs: the difference between two runs, as `costs` has it for requests."""
    tool = costs.TOOLS[measure]
    totals: list[Counter[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for times in (calls, 2 * calls):
            report = Path(scratch, str(times))
            _output([*tool.wrapper(report), str(program), way, str(times)])
            totals.append(tool.read(report.read_text(errors="replace")))
    return (totals[1][measure] - totals[0][measure]) / calls


def _written(request: bytes, pause_s: float) -> list[int]:
    """What each writev of the answer took, with a client that waits before it reads."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch, "strace")
        wrapper = ["strace", "-f", "-e", "trace=writev", "-o", str(log)]
        with running(_server(LAYOUT), wrapper=wrapper) as server:
            exchange(_address(server), (request, Pause(pause_s)), 10.0)
        found = re.findall(r"writev.*= (\d+)$", log.read_text(), re.M)
    return [int(count) for count in found]


def _answered(binary: Path, threads: int) -> int:
    """How many clients are answered in a second while another one is silent."""
    with running(binary, "--threads", str(threads)) as server:
        with socket.create_connection(_address(server)):
            time.sleep(0.1)
            return _answers(_address(server))


def _answers(address: tuple[str, int]) -> int:
    answers = exchange_many(address, (GET,), 1.0, copies=CLIENTS, enough=CLIENTS)
    return sum(answer.end == "closed" and bool(answer.data) for answer in answers)


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise UserError(f"{command[0]} failed: {done.stderr.strip()[-500:]}", "run it by hand")
    return done.stdout


def _print(file: Path, found: Finding) -> None:
    """The figures as they were kept."""
    print(f"{shown(file)}:")
    for key, row in found.rows.items():
        print(f"  {key}: " + ", ".join(f"{column} {row[column]:,}" for column in found.columns))
