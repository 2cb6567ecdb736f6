"""The experiments of part I: one connection at a time."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from workbook.authors.tools import (
    CHUNKS,
    GET,
    LAYOUT,
    NAIVE,
    THREADS,
    USUAL,
    Finding,
    Rows,
    address_of,
    after_part,
    costs_of,
    count,
    cpu_us,
    edited,
    in_sequence,
    ratios,
    solution,
    sweep,
    variant,
)
from workbook.common.errors import UserError
from workbook.common.paths import SOLUTIONS, shown
from workbook.course import chapters
from workbook.machine import setup
from workbook.measure import costs, load, profile, trace
from workbook.measure.load import Phase
from workbook.measure.sequence import Way
from workbook.servers.client import Pause, connect, exchange, exchange_many
from workbook.servers.process import running

CLIENTS, ROUNDS = 400, 7
# libc's functions that a request calls, by what they do
SYSTEM_CALLS = {"accept4", "recv", "writev", "close"}
HEAP = {"malloc", "free"}
SPREAD = {"answered": f"Answered, of {CLIENTS}", "fewest": "Fewest", "most": "Most"}


def closing() -> Finding:
    """Does a refused client get its answer if the server closes at once?"""
    clients, body = 100, b"x" * 1_000_000
    request = b"POST /sink HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    rows: Rows = {}
    with variant(*LINGER, "") as abrupt:
        servers = {"lingering": ("01 as it is", solution(NAIVE)),
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
    for size in (0, 10, 100, 1000, 3900, 4200, 8000, 8300, 10_000):
        request = GET.replace(b"\r\n\r\n", b"\r\nX-Large: " + b"h" * size + b"\r\n\r\n")
        naive, chunks = (costs_of(name, request, costs.SYSCALLS, costs.INSTRUCTIONS)
                         for name in (NAIVE, CHUNKS))
        rows[str(size)] = {
            "label": f"{size:,} bytes",
            "naive_syscalls": naive[costs.SYSCALLS],
            "naive_instructions": naive[costs.INSTRUCTIONS],
            "chunks_syscalls": chunks[costs.SYSCALLS],
            "chunks_instructions": chunks[costs.INSTRUCTIONS]}
    return Finding(
        "Per <code>GET /</code> with one field of this many bytes. Counted, not timed.",
        {"naive_syscalls": "01: system calls", "naive_instructions": "01: instructions",
         "chunks_syscalls": "02: system calls", "chunks_instructions": "02: instructions"}, rows,
        {"a chunk": _chunk()})


def _chunk() -> int:
    """Return the chunk size of chapter 2's server in bytes; UserError if its source has none."""
    file = SOLUTIONS / CHUNKS / "connection.cpp"
    found = re.search(r"char chunk\[(\d+)\]", file.read_text(encoding="utf-8"))
    if not found:
        raise UserError(f"{shown(file)} has no array called chunk", "fix the experiment")
    return int(found[1])


def connection() -> Finding:
    """Which system calls does one connection to the server that reads chunks make?"""
    setup.ensure(["strace"])
    calls = trace.trace(solution(CHUNKS))
    accepted = calls[0].at_us + calls[0].took_us
    rows: Rows = {
        str(number): {"label": call.name, "result": trace.result_of(call),
                      "at_us": round(max(0.0, call.at_us - accepted)),
                      "took_us": round(call.took_us) if number > 1 else 0}
        for number, call in enumerate(calls, start=1)}
    return Finding(
        "The system calls of 02 for one <code>GET /</code>, from when <code>accept4</code> returned. "
        "strace slows each of them: the order is what tells, not the times.",
        {"result": "Result", "at_us": "At, µs", "took_us": "Took, µs"}, rows)


def body_copies() -> Finding:
    """How much memory does serving a body allocate?"""
    rows: Rows = {}
    for key, label, target, size in (("echo", "POST /echo, 16 KiB", b"/echo", 1 << 14),
                                     ("sink", "POST /sink, 1 MiB", b"/sink", 1 << 20)):
        request = (b"POST " + target + b" HTTP/1.1\r\n" + USUAL
                   + b"Content-Length: %d\r\n\r\n" % size + b"b" * size)
        rows[key] = {"label": label} | {
            f"copies_{name[:2]}": round(
                costs_of(name, request, costs.ALLOCATIONS).figures["alloc_bytes"] / size, 2)
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
                measure.name: _per_call(measure, program, key)
                for measure in (costs.ALLOCATIONS, costs.INSTRUCTIONS)}
    return Finding(
        "To write the head of the answer to <code>GET /</code>. Counted, not timed.",
        {"allocations": "Heap allocations", "instructions": "Instructions"}, rows)


def nagle() -> Finding:
    """Does TCP_NODELAY matter when the connection closes after the answer?"""
    requests = 500
    times: dict[str, list[float]] = {"without": [], "with": []}
    with ExitStack() as stack:
        binaries = {"without": stack.enter_context(
            variant(*NODELAY, "")), "with": solution(CHUNKS)}
        addresses = {key: address_of(stack.enter_context(running(binary)))
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
    rows: Rows = {key: {"label": label} for key, label in {
        "request": "<code>Request</code>, of which", "padding": "– padding",
        "headers": "– <code>headers</code>", "body": "– <code>body</code>",
        "method": "<code>Method</code>", "status": "<code>Status</code>"}.items()}
    checkpoints = (NAIVE, CHUNKS, LAYOUT)
    for name in checkpoints:
        with variant(name, "main.cpp", None, SIZES) as program:
            sizes = json.loads(_output([str(program)]))
        for key, size in sizes.items():
            rows[key][f"size_{name[:2]}"] = size
    return Finding("Bytes, from <code>sizeof</code>.",
                   {f"size_{name[:2]}": name[:2] for name in checkpoints}, rows)


def many_fields() -> Finding:
    """When do hashing and a node per field pay off? Compares the server before and after."""
    chapter = chapters.find(LAYOUT)
    before, after = (after_part(chapter, number) for number in (1, 2))
    rows: Rows = {}
    every = {f"{count}": (f"{count:,} fields", [b"X%d" % i for i in range(count - 2)])
             for count in (5, 25, 100, 1000, 6000)}
    every["same"] = ("1,000, all of one name", [b"X"] * 998)
    for key, (label, names) in every.items():
        fields = b"".join(b"%s: %d\r\n" % (name, i % 10) for i, name in enumerate(names))
        request = GET.replace(b"\r\n\r\n", b"\r\n" + fields + b"\r\n")
        hashed, walked = (count(binary, LAYOUT, request, costs.ALLOCATIONS, costs.INSTRUCTIONS)
                          for binary in (before, after))
        rows[key] = {
            "label": label,
            "map_allocations": hashed[costs.ALLOCATIONS],
            "map_instructions": hashed[costs.INSTRUCTIONS],
            "vector_allocations": walked[costs.ALLOCATIONS],
            "vector_instructions": walked[costs.INSTRUCTIONS]}
    return Finding(
        "Per <code>GET /</code>, for the server after part 1 (map) and after part 2 (vector) of "
        "chapter 3. Counted, not timed.",
        {"map_allocations": "Map: allocations", "map_instructions": "Map: instructions",
         "vector_allocations": "Vector: allocations",
         "vector_instructions": "Vector: instructions"}, rows)


def layout_parts() -> Finding:
    """Which part of the step from 02 to 03 saves processor time?"""
    chapter = chapters.find(LAYOUT)
    titles = ["02", *(f"{part.number}. {part.title}" for part in chapter.parts)]
    titles[-1] += ", with the optional section"
    phases = {"short": Phase("short", "plain", connections=64, seconds=1.5),
              "large": Phase("large", "headers", connections=16, seconds=1.5)}
    binaries = [after_part(chapter, number, "release") for number in range(len(titles))]
    us = cpu_us(in_sequence({(name, number): Way(f"{title}, {name}",
                                                 partial(load.serving, binaries[number]), phase)
                             for name, phase in phases.items()
                             for number, title in enumerate(titles)}, ROUNDS))
    rows: Rows = {}
    for number, title in enumerate(titles):
        counted = costs.count(after_part(chapter, number), level=3, measures=[costs.INSTRUCTIONS])
        rows[str(number)] = {"label": title, "instructions": counted[costs.INSTRUCTIONS]}
        for name in phases:
            to = ratios(us[name, number], us[name, 0])
            rows[str(number)] |= {f"{name}_us": round(median(us[name, number]), 1),
                                  name: round(median(to), 3), f"{name}_least": round(min(to), 3),
                                  f"{name}_most": round(max(to), 3)}
    return Finding(
        "The server’s processor time for a request after each part of chapter 3, divided by that of "
        f"02 in the same round: median of {ROUNDS} rounds. Short requests come from "
        f"{phases['short'].connections} clients, those with large headers from "
        f"{phases['large'].connections}. Instructions: counted, for a browser-like request.",
        {"instructions": "Instructions", "short": "Short requests, 02 = 1", "short_least": "Least",
         "short_most": "Most", "large": "Large headers, 02 = 1", "large_least": "Least",
         "large_most": "Most"}, rows)


def another_thread() -> Finding:
    """Does a process with a second thread need more instructions for the same request, and where?"""
    rows: Rows = {}
    asleep = edited("another-thread", LAYOUT, ASLEEP)
    for key, label, binary in (("alone", "03", solution(LAYOUT, "measure")),
                               ("asleep", "03, and a second thread that sleeps", asleep),
                               ("threads", "04, one thread serves", solution(THREADS, "measure"))):
        counted = costs.count(binary, level=int(THREADS[:2]) if key == "threads" else 3,
                              measures=(costs.ALLOCATIONS, costs.INSTRUCTIONS))
        found = profile.counted(binary)
        rows[key] = {"label": label, "instructions": counted[costs.INSTRUCTIONS],
                     "calls": _within(found, SYSTEM_CALLS), "heap": _within(found, HEAP),
                     "allocations": counted[costs.ALLOCATIONS]}
    return Finding(
        "Per browser-like <code>GET /</code> on a connection that closes. Counted, not timed.",
        {"instructions": "Instructions", "calls": "in libc’s functions for system calls",
         "heap": "in malloc and free", "allocations": "Heap allocations"}, rows)


def _within(found: profile.Profile, functions: set[str]) -> int:
    """Return the instructions a request takes in these functions and in what they call."""
    return round(sum(count for stack, count in found.stacks.items()
                     if functions.intersection(stack)) / found.requests)


def one_name() -> Finding:
    """How long does one request occupy the server if all its fields have the same name?"""
    chapter = chapters.find(LAYOUT)
    servers = {"naive": solution(NAIVE), "map": after_part(chapter, 1, "release"),
               "vector": after_part(chapter, 2, "release")}
    rows: Rows = {}
    for number in (250, 1000, 4000, 16_000):
        request = GET.replace(b"\r\n\r\n", b"\r\n" + b"a:\r\n" * number + b"\r\n")
        rows[str(number)] = {"label": f"{number:,} fields"}
        for key, binary in servers.items():
            with running(binary) as server:
                seconds = [exchange(address_of(server), (request,), 60.0).seconds
                           for _ in range(ROUNDS)]
            rows[str(number)][f"{key}_ms"] = round(median(seconds) * 1000, 2)
    return Finding(
        "Time of one <code>GET /</code> with fields of four bytes, <code>a:</code> and a CRLF; "
        f"median of {ROUNDS}.",
        {"naive_ms": "01, ms", "map_ms": "Map, ms", "vector_ms": "Vector, ms"}, rows)


def header_nodes() -> Finding:
    """Where does the map of the server that reads chunks put the nodes of 25 fields?"""
    fields = b"".join(b"X-Field-%d: %d\r\n" % (i, i) for i in range(23))
    request = GET.replace(b"\r\n\r\n", b"\r\n" + fields + b"\r\n")
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "nodes")
        includes = "#include <algorithm>\n#include <cstdio>\n#include <map>\n"
        binary = edited("header-nodes", CHUNKS, [
            ("connection.cpp", INCLUDE, includes + INCLUDE),
            ("connection.cpp", COMPLETE, NODES.replace("REPORT", str(report)) + COMPLETE)],
            preset="release")
        with running(binary) as server:
            for _ in range(10):
                exchange(address_of(server), (request,), 5.0)
        seen = [json.loads(line) for line in report.read_text().splitlines()]
    rows: Rows = {}
    for key, label, (*nodes, longest) in (("first", "the first request", seen[0]),
                                          ("tenth", "the tenth request", seen[9])):
        rows[key] = {"label": label,
                     "follows": sum(b - a == LINE for a, b in pairwise(nodes)),
                     "crossing": sum(node % LINE > LINE - NODE for node in nodes),
                     "span": max(nodes) + NODE - min(nodes), "longest": longest}
    return Finding(
        f"The nodes of {len(seen[0]) - 1} headers in the server of chapter 2. A node has {NODE} "
        f"bytes, and the allocator’s own {LINE - NODE} make them {LINE}.",
        {"follows": f"{LINE} bytes after the one before", "crossing": "On two cache lines",
         "span": "Bytes from first to last", "longest": "Most in one bucket"}, rows)


def receive_in_place() -> Finding:
    """What does it change to receive into the string, without an array in between?"""
    rows: Rows = {}
    large = GET.replace(b"\r\n\r\n", b"\r\nX-Large: " + b"h" * 30_000 + b"\r\n\r\n")
    with variant(*IN_PLACE, BY_COPY, preset="measure") as copying:
        binaries = {"copied": copying, "in_place": solution(LAYOUT, "measure")}
        for key, label, request in (("browser", "a browser-like <code>GET /</code>", None),
                                    ("large", "one with a field of 30,000 bytes", large)):
            rows[key] = {"label": label}
            for way, binary in binaries.items():
                counted = costs.count(binary, level=3, request=request,
                                      measures=(costs.ALLOCATIONS, costs.INSTRUCTIONS))
                rows[key] |= {f"{way}_instructions": counted[costs.INSTRUCTIONS],
                              f"{way}_bytes": counted.figures["alloc_bytes"]}
    return Finding(
        "03 as it is, and 03 with an array on the stack from which each piece is appended. "
        "Counted, not timed.",
        {"copied_instructions": "Array: instructions", "in_place_instructions": "String: instructions",
         "copied_bytes": "Array: bytes allocated", "in_place_bytes": "String: bytes allocated"}, rows)


def late_reader() -> Finding:
    """What does writev(2) return when the client does not read?"""
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
        {"calls": "Calls", "first": "The first took, bytes", "percent": "The first took, %"},
        rows)


def silent_client() -> Finding:
    """How many clients have to wait when one connects and stays silent?"""
    rows: Rows = {"1": {"label": "1 thread", **_spread(_answered, solution(THREADS), 1)}}
    with variant(*OWN_QUEUES, ONE_QUEUE) as shared:
        rows["shared"] = {"label": "4 threads, one listener", **_spread(_answered, shared, 4)}
    for threads in (2, 4, 8):
        rows[str(threads)] = {"label": f"{threads} threads, a listener each",
                              **_spread(_answered, solution(THREADS), threads)}
    return Finding(
        f"One client connects and is silent; then {CLIENTS} others ask at once. How many of them "
        f"have their answer within a second, median of {ROUNDS} rounds. One listener: 04 with "
        "duplicates of a single socket.", SPREAD, rows)


def port_thief() -> Finding:
    """Which of two programs gets the clients if the other one shares our port?"""
    rows: Rows = {}
    for threads in (1, 2, 4):
        stolen = [CLIENTS - _answered_next_to_a_thief(threads) for _ in range(ROUNDS)]
        rows[str(threads)] = {"label": f"{threads} thread{'s' * (threads > 1)} of ours",
                              "stolen": round(median(stolen)), "fewest": min(stolen),
                              "most": max(stolen)}
    return Finding(
        f"A second program of the same user listens on our port and never answers. Of {CLIENTS} "
        f"clients, how many wait for it: median of {ROUNDS} rounds.",
        {"stolen": "Waiting at the other", "fewest": "Fewest", "most": "Most"}, rows)


def _answered_next_to_a_thief(threads: int) -> int:
    """How many clients 04 answers while another socket listens on its port with SO_REUSEPORT."""
    with running(solution(THREADS), "--threads", str(threads)) as server, \
            socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        with suppress(OSError):  # a server with one listener does not share its port
            thief.bind(address_of(server))
            thief.listen(CLIENTS)
        return answers(address_of(server))


def waiting_handler() -> Finding:
    """What do threads gain if each answer makes its thread wait, as for a database?"""
    binary = edited("waiting-handler", THREADS, WAITING, preset="release")
    rows: Rows = {str(threads): {"label": f"{threads} thread{'s' * (threads > 1)}",
                                 **_spread(_answered_late, binary, threads)}
                  for threads in (1, 2, 4, 8)}
    return Finding(
        f"{CLIENTS} clients ask at once for a page for which a thread sleeps {WAIT_MS} ms. How many "
        f"of them have their answer within {PATIENCE_S:g} seconds, median of {ROUNDS} rounds.", SPREAD,
        rows)


def thread_sweep() -> Finding:
    """Do more threads serve more requests, with wrk on the same processors or on others?"""
    return sweep(THREADS, counts=(1, 2, 4, 8), rounds=5)


def _per_call(measure: costs.Measure, program: Path, way: str, calls: int = 1000) -> float:
    """Return what one call costs: the difference between two runs, as `costs` does for requests."""
    tool = measure.tool
    totals: list[Counter[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for times in (calls, 2 * calls):
            report = Path(scratch, str(times))
            _output([*tool.wrapper(report), str(program), way, str(times)])
            totals.append(tool.read(report.read_text(errors="replace")))
    return (totals[1][measure.name] - totals[0][measure.name]) / calls


def _written(request: bytes, pause_s: float) -> list[int]:
    """Return what each writev of the answer sent, with a client that waits before it reads."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch, "strace")
        wrapper = ["strace", "-f", "-e", "trace=writev", "-o", str(log)]
        with running(solution(LAYOUT), wrapper=wrapper) as server:
            exchange(address_of(server), (request, Pause(pause_s)), 10.0)
        found = re.findall(r"writev.*= (\d+)$", log.read_text(), re.M)
    return [int(count) for count in found]


def _spread(once: Callable[[Path, int], int], binary: Path, threads: int) -> dict[str, int]:
    found = [once(binary, threads) for _ in range(ROUNDS)]
    return {"answered": round(median(found)), "fewest": min(found), "most": max(found)}


def _answered(binary: Path, threads: int) -> int:
    """Return how many clients are answered in a second while another one is silent."""
    with running(binary, "--threads", str(threads)) as server:
        with connect(address_of(server)):
            time.sleep(0.1)
            return answers(address_of(server))


def _answered_late(binary: Path, threads: int) -> int:
    """Return how many clients are answered by a server whose threads sleep for each."""
    with running(binary, "--threads", str(threads)) as server:
        return answers(address_of(server), PATIENCE_S)


def answers(address: tuple[str, int], within_s: float = 1.0) -> int:
    """Return how many of CLIENTS simultaneous requests are answered in this time."""
    answers = exchange_many(address, (GET,), within_s, copies=CLIENTS, enough=CLIENTS)
    return sum(answer.end == "closed" and bool(answer.data) for answer in answers)


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise UserError(f"{command[0]} failed: {done.stderr.strip()[-500:]}", "run it by hand")
    return done.stdout


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
NODELAY = (CHUNKS, "socket.cpp", "    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);\n")
OWN_QUEUES = (THREADS, "socket.cpp", "i > 0 && !can_share_port")
IN_PLACE = (LAYOUT, "connection.cpp", """\
    const std::size_t received_before = buffer_.size();
    buffer_.resize_and_overwrite(received_before + chunk_size, [&](char* bytes, std::size_t size) {
        const std::span<char> space(bytes + received_before, size - received_before);
        return received_before +
               until_idle_limit([&] { return receive(socket_, space); }).value_or(0);
    });
    return buffer_.size() > received_before;
""")
INCLUDE = "#include <array>\n"
COMPLETE = "        if (*progress == HttpParser::Progress::complete) return Reading::complete;\n"
WAIT_MS, PATIENCE_S = 500, 10.0  # long enough that a busy machine adds little
PAGE, STRING = "            response.body_reference(page);\n", "#include <string>\n"
WAITING = (("app.cpp", STRING, STRING + "#include <thread>\n"),
           ("app.cpp", PAGE, "            std::this_thread::sleep_for("
                             f"std::chrono::milliseconds({WAIT_MS}));\n" + PAGE))
# Starts a second thread before the server runs, which sleeps for ever.
ASLEEP = [("main.cpp", "#include <system_error>\n", "#include <system_error>\n#include <thread>\n"),
          ("main.cpp", "    server.run();\n",
           "    std::thread([] { ::pause(); }).detach();\n    server.run();\n")]

EDITS = (LINGER, NODELAY, OWN_QUEUES, IN_PLACE, (CHUNKS, "connection.cpp", INCLUDE),
         (CHUNKS, "connection.cpp", COMPLETE), (THREADS, "app.cpp", PAGE),
         (THREADS, "app.cpp", STRING), *((LAYOUT, file, old) for file, old, _ in ASLEEP))

BY_COPY = """\
    char chunk[chunk_size];
    const auto got = until_idle_limit([&] { return receive(socket_, chunk); });
    if (!got || *got == 0) return false;
    buffer_.append(chunk, *got);
    return true;
"""

# A node has the next pointer and the hash in front of the pair. The names refer to the buffer, so
# sorting them by address puts them in the order of arrival.
LINE, NODE = 64, 48
NODES = """\
        if (*progress == HttpParser::Progress::complete) {
            std::map<const char*, std::size_t> nodes;
            std::size_t longest = 0;
            for (const auto& header : request_.headers) {
                nodes[header.first.data()] = reinterpret_cast<std::size_t>(&header) - 16;
                longest = std::max(longest, request_.headers.bucket_size(
                                                request_.headers.bucket(header.first)));
            }
            std::FILE* report = std::fopen("REPORT", "a");
            std::fputs("[", report);
            for (const auto& [name, node] : nodes) std::fprintf(report, "%zu, ", node);
            std::fprintf(report, "%zu]\\n", longest);
            std::fclose(report);
        }
"""

ONE_QUEUE = "i > 0"
