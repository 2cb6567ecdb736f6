"""Three labs applied to a server: clients allocated from the pool, parts that are sent separately,
and a head that is searched once.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from workbook.authors.tools import (
    LAYOUT,
    OPTIMISED,
    PLAINLY,
    Finding,
    Rows,
    address_of,
    count,
    edited,
    optimised,
    solution,
)
from workbook.common.paths import SOLUTIONS
from workbook.measure import costs
from workbook.measure.crowd import SHORT
from workbook.servers.client import connect
from workbook.servers.process import running

FEW, MORE = 20, 500  # clients
TIMEOUT_S = 5.0
PIECE = 8192
ECHO = (b"POST /echo HTTP/1.1\r\n" + costs.FIELDS + b"Content-Length: %d\r\n\r\n" % PIECE
        + b"b" * PIECE)
LARGE = SHORT.replace(b"\r\n\r\n", b"\r\nCookie: " + b"c" * 4096 + b"\r\n\r\n")


def pooled_clients() -> Finding:
    """Is it worth keeping the memory of disconnected clients in a pool, in a server, too?"""
    rows: Rows = {key: {"label": label} for key, label in (
        ("system", "Instructions, the system’s allocator"), ("jemalloc", "Instructions, jemalloc"),
        ("allocations", "Heap allocations"))}
    for key in ("system", "jemalloc"):
        settings = {"HOTPATH_ALLOCATOR": key}
        sides = {"new": optimised(key, settings),
                 "pool": edited(f"pooled-{key}", OPTIMISED, POOLED, PLAINLY | settings,
                                {"object_pool.h": SOLUTIONS / "lab-object-pool" / "task.h"})}
        for side, binary in sides.items():
            rows[key][side] = round(_leaving(binary, costs.INSTRUCTIONS))
            if key == "system":
                rows["allocations"][side] = round(_leaving(binary, costs.ALLOCATIONS), 2)
    return Finding(
        "08 without LTO and profile: a client that connects, asks for the page as a browser does, "
        "and leaves, the server asleep before each of the three. Counted, not timed.",
        {"new": "As it is", "pool": "From the pool"}, rows)


def one_search() -> Finding:
    """What does a server save that finds line ends and control bytes in one search?"""
    lab = SOLUTIONS / "lab-simd"
    headers = {name: lab / name for name in ("task.h", "portable.h", "x86.h", "arm.h")}
    requests = {"browser": costs.KEPT, "cookie": LARGE}
    rows: Rows = {}
    for preset, build in (("measure", "counted"), ("release", "timed")):
        sides = {"two": build_of_08(preset),
                 "one": edited(f"one-search-{preset}", OPTIMISED, ONE_SEARCH, PLAINLY, headers,
                               preset)}
        for key, request in requests.items():
            found = {side: round(count(binary, OPTIMISED, request, costs.INSTRUCTIONS)[
                costs.INSTRUCTIONS] or 0) for side, binary in sides.items()}
            label = {"browser": "A browser’s <code>GET /</code>",
                     "cookie": "A short one with a cookie of 4 KiB"}[key]
            rows[f"{key}_{build}"] = {"label": f"{label}, {build} build", **found}
    return Finding(
        "Instructions of 08, without LTO and profile, for one request on a connection that stays "
        "open. Counted, not timed.",
        {"two": "<code>memchr</code>, then the values", "one": "One search"}, rows)


def build_of_08(preset: str) -> Path:
    """Build 08 unchanged, in the same way as the edited versions."""
    return edited(f"08-{preset}", OPTIMISED, (), PLAINLY, preset=preset)


def _leaving(binary: Path, measure: costs.Measure) -> float:
    """Return what one client costs that connects, asks and disconnects; a few are subtracted."""
    few, many = (_visited(binary, measure, clients) for clients in (FEW, FEW + MORE))
    return (many - few) / MORE


def _visited(binary: Path, measure: costs.Measure, clients: int) -> int:
    """Return the total of a run with this many clients. The server finishes each step before the
    next, because otherwise the scheduler would decide how much it does at once. jemalloc's
    background thread is off.
    """
    tool = measure.tool
    with tempfile.TemporaryDirectory() as scratch, \
            patch.dict(os.environ, {"MALLOC_CONF": "background_thread:false"}):
        report = Path(scratch, measure.name)
        with running(binary, "--threads", "1", wrapper=tool.wrapper(report)) as server:
            for _ in range(clients):
                with connect(address_of(server), TIMEOUT_S) as client:
                    server.sleeps(TIMEOUT_S)
                    client.sendall(costs.CLOSING)
                    while client.recv(65_536):
                        pass
                    server.sleeps(TIMEOUT_S)
                server.sleeps(TIMEOUT_S)
            server.stop()
        return tool.read(report.read_text(errors="replace"))[measure.figure]


def parts_apart() -> Finding:
    """What is saved by sending an answer's parts together?"""
    sides = {LAYOUT: {"together": solution(LAYOUT, "measure"),
                      "apart": edited("apart-03", LAYOUT, APART_BLOCKING)},
             OPTIMISED: {"together": solution(OPTIMISED, "measure"),
                         "apart": edited("apart-08", OPTIMISED, APART)}}
    rows: Rows = {}
    for key, label, checkpoint, request, piece in (
            ("closing", "03, <code>GET /</code>", LAYOUT, costs.CLOSING, 0),
            ("kept", "08, <code>GET /</code>", OPTIMISED, SHORT, 0),
            ("echo", "08, <code>POST /echo</code> of 8 KiB", OPTIMISED, ECHO, PIECE)):
        measure = replace(costs.SYSCALLS, piece=piece)
        rows[key] = {"label": label} | {
            side: round(count(binary, checkpoint, request, measure)[measure] or 0)
            for side, binary in sides[checkpoint].items()}
    return Finding(
        "System calls for one request. 03 closes after it, 08 keeps the connection; the body comes "
        "in two pieces. Counted, not timed.",
        {"together": "Parts together", "apart": "Parts apart"}, rows)


# Counts the control bytes of a line except its LF. A valid line has one, which is its CR.
ONE_SEARCH = (
    ("http_parser.h", "    bool malformed_ = false;",
     "    std::size_t controls_ = 0;  // in the line being scanned\n    bool malformed_ = false;"),
    ("http_parser.cpp", '#include "http_parser.h"\n', '#include "http_parser.h"\n#include "task.h"\n'),
    ("http_parser.cpp", "bool is_field_value(std::string_view text) {",
     "[[maybe_unused]] bool is_field_value(std::string_view text) {"),
    ("http_parser.cpp", "const char* find_line_feed(const char* from, const char* end) {",
     "const char* find_line_feed(const char* from, const char* end, std::size_t& controls) {"),
    ("http_parser.cpp", "    if (end - from >= 2 && from[0] == '\\r' && from[1] == '\\n') return from + 1;",
     "    if (end - from >= 2 && from[0] == '\\r' && from[1] == '\\n') {\n"
     "        ++controls;\n"
     "        return from + 1;\n"
     "    }"),
    ("http_parser.cpp", "    return static_cast<const char*>(std::memchr(from, '\\n', "
     "static_cast<std::size_t>(end - from)));",
     "    for (; (from = find_control(from, end)) != end; ++from) {\n"
     "        if (*from == '\\n') return from;\n"
     "        ++controls;\n"
     "        if (end - from >= 2 && from[1] == '\\n') return from + 1;\n"
     "    }\n"
     "    return nullptr;"),
    ("http_parser.cpp", "find_line_feed(from, end)) {", "find_line_feed(from, end, controls_)) {"),
    ("http_parser.cpp", "if (!parse_field(line, line_end, request)) malformed_ = true;",
     "if (!parse_field(line, line_end, request) || controls_ != 1) malformed_ = true;"),
    ("http_parser.cpp", "        line = from;\n", "        line = from;\n        controls_ = 0;\n"),
    ("http_parser.cpp", "    return is_field_value(value);", "    return true;"),
)

# Clients are allocated from the pool, and return to it.
POOLED = (
    ("worker.h", '#include "handler.h"\n', '#include "handler.h"\n#include "object_pool.h"\n'),
    ("worker.h", "    // One iteration of the loop,",
     "    struct BackToPool {\n"
     "        void operator()(Client* client) const { ObjectPool<Client>::destroy(client); }\n"
     "    };\n"
     "    using Owned = std::unique_ptr<Client, BackToPool>;\n\n"
     "    // One iteration of the loop,"),
    ("worker.h", "    std::vector<std::unique_ptr<Client>> clients_;",
     "    std::vector<Owned> clients_;"),
    ("worker.h", "    std::vector<std::unique_ptr<Client>> dropped_;",
     "    std::vector<Owned> dropped_;"),
    ("worker.cpp",
     "std::make_unique<Client>(std::move(socket), Connection(*handler_, pool_));",
     "Owned(ObjectPool<Client>::create(std::move(socket), Connection(*handler_, pool_)));"),
)

_GATHERED = "    return result(::writev(socket.number(), parts.data(), static_cast<int>(parts.size()))"


def _apart(end: str, error: str) -> tuple[tuple[str, str, str], ...]:
    """Return edits that send each part with its own call, until one is not sent whole."""
    return (("socket.cpp", _GATHERED + end, f"""\
    std::size_t sent = 0;
    for (const iovec& part : parts) {{
        const auto took =
            result(::send(socket.number(), part.iov_base, part.iov_len, 0){error});
        if (!took && sent == 0) return took;
        sent += took.value_or(0);
        if (took.value_or(0) < part.iov_len) break;
    }}
    return sent;
"""),)


APART_BLOCKING = _apart(");\n", "")
APART = _apart(",\n                  IoError::needs_send);\n", ", IoError::needs_send")
EDITS = tuple((checkpoint, file, old) for checkpoint, edits in (
    (OPTIMISED, ONE_SEARCH), (OPTIMISED, POOLED), (LAYOUT, APART_BLOCKING), (OPTIMISED, APART)) for file, old, _ in edits)
EXPERIMENTS = {"pooled-clients": pooled_clients, "parts-apart": parts_apart, "one-search": one_search}
