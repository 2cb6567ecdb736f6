"""Two labs in a server: clients whose memory comes from the pool, and parts that are sent apart."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SOLUTIONS, shown
from workbook.course import starters
from workbook.experiments.tools import (
    LAYOUT,
    OPTIMISED,
    PLAINLY,
    Finding,
    Rows,
    count,
    optimised,
    solution,
)
from workbook.measure import costs
from workbook.measure.crowd import SHORT
from workbook.servers import build

MEASURES = (costs.SYSCALLS, costs.INSTRUCTIONS)
SIDES = ("together", "apart")
CLOSING_INSTRUCTIONS = replace(costs.INSTRUCTIONS, kept=False)
PIECE = 8192
ECHO = (b"POST /echo HTTP/1.1\r\n" + costs.FIELDS + b"Content-Length: %d\r\n\r\n" % PIECE
        + b"b" * PIECE)


def pooled_clients() -> Finding:
    """Is the memory of a client that comes and goes worth keeping in the server, too?"""
    rows: Rows = {}
    for key, label in (("system", "the system’s allocator"), ("jemalloc", "jemalloc")):
        settings = {"HOTPATH_ALLOCATOR": key}
        sides = {"new": optimised(key, settings),
                 "pool": _edited(f"pooled-{key}", OPTIMISED, POOLED, PLAINLY | settings,
                                 {"object_pool.h": SOLUTIONS / "lab-object-pool" / "task.h"})}
        rows[key] = {"label": f"Instructions, {label}"} | {
            side: round(_leaving(binary, CLOSING_INSTRUCTIONS)) for side, binary in sides.items()}
        if key == "system":
            rows["allocations"] = {"label": "Heap allocations"} | {
                side: _leaving(binary, costs.CLOSING_ALLOCATIONS)
                for side, binary in sides.items()}
    return Finding(
        "08 without LTO and profile: a client that connects, asks for the page as a browser does, "
        "and leaves. Counted, not timed.",
        {"new": "As it is", "pool": "From the pool"}, rows)


def _leaving(binary: Path, measure: costs.Measure) -> float:
    """What a client costs that comes and goes, without a thread of jemalloc's that wakes by the
    clock.
    """
    with patch.dict(os.environ, {"MALLOC_CONF": "background_thread:false"}):
        return count(binary, OPTIMISED, costs.CLOSING, measure)[measure] or 0


def parts_apart() -> Finding:
    """What does it save that an answer's parts leave together?"""
    sides = {LAYOUT: (solution(LAYOUT, "measure"), _edited("apart-03", LAYOUT, APART_BLOCKING)),
             OPTIMISED: (solution(OPTIMISED, "measure"),
                         _edited("apart-08", OPTIMISED, APART))}
    rows: Rows = {}
    for key, label, checkpoint, request, piece in (
            ("closing", "03, <code>GET /</code>", LAYOUT, costs.CLOSING, 0),
            ("kept", "08, <code>GET /</code>", OPTIMISED, SHORT, 0),
            ("echo", "08, <code>POST /echo</code> of 8 KiB", OPTIMISED, ECHO, PIECE)):
        measures = [replace(measure, piece=piece) for measure in MEASURES]
        counted = [count(binary, checkpoint, request, *measures) for binary in sides[checkpoint]]
        rows[key] = {"label": label} | {
            f"{measure.name}_{side}": round(found[measure] or 0)
            for measure in measures for side, found in zip(SIDES, counted, strict=True)}
    return Finding(
        "For one request; 03 closes after it, 08 keeps the connection. The body comes in two pieces. "
        "Counted, not timed.",
        {f"{measure.name}_{side}": f"{measure.unit.capitalize()}, {side}"
         for measure in MEASURES for side in SIDES}, rows)


def _edited(name: str, checkpoint: str, edits: Sequence[tuple[str, str, str]],
            settings: Mapping[str, str] | None = None, more: Mapping[str, Path] | None = None
            ) -> Path:
    """A solution's server, built for counting, with these edits and some files besides."""
    tree = starters.sources(SOLUTIONS / checkpoint)
    for file, old, new in edits:
        if tree[file].count(old.encode()) != 1:
            raise UserError(f"{shown(SOLUTIONS / checkpoint / file)} is not what an experiment "
                            f"expects: it should have once\n{old}", "mend the experiment")
        tree[file] = tree[file].replace(old.encode(), new.encode())
    tree |= {added: file.read_bytes() for added, file in (more or {}).items()}
    directory = BUILD / "experiments" / name
    starters.write(tree, directory)
    return build.isolated(directory, "measure", settings=settings)


# Clients are made where the pool says, and end where they were.
POOLED = (
    ("worker.h", '#include "handler.h"\n', '#include "handler.h"\n#include "object_pool.h"\n'),
    ("worker.h", "    bool stopping() const {",
     "    struct BackToPool {\n"
     "        void operator()(Client* client) const { ObjectPool<Client>::destroy(client); }\n"
     "    };\n"
     "    using Owned = std::unique_ptr<Client, BackToPool>;\n\n"
     "    bool stopping() const {"),
    ("worker.h", "    std::vector<std::unique_ptr<Client>> clients_;",
     "    std::vector<Owned> clients_;"),
    ("worker.h", "    std::vector<std::unique_ptr<Client>> dropped_;",
     "    std::vector<Owned> dropped_;"),
    ("worker.cpp",
     "            std::make_unique<Client>(std::move(*socket), Connection(*handler_, pool_));",
     "            Owned(ObjectPool<Client>::create(std::move(*socket),"
     " Connection(*handler_, pool_)));"),
)

_GATHERED = "    return result(::writev(socket.number(), parts.data(), static_cast<int>(parts.size()))"


def _apart(end: str, error: str) -> tuple[tuple[str, str, str], ...]:
    """Each part with a call of its own, until one takes less than it was offered."""
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
APART = _apart(",\n                  IoError::wants_send);\n", ", IoError::wants_send")
EDITS = tuple((checkpoint, file, old) for checkpoint, edits in (
    (OPTIMISED, POOLED), (LAYOUT, APART_BLOCKING), (OPTIMISED, APART)) for file, old, _ in edits)
EXPERIMENTS = {"pooled-clients": pooled_clients, "parts-apart": parts_apart}
