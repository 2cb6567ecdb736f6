"""The small experiments of the book: each tests one claim and writes book/results/NAME.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from workbook.authors import (
    batching,
    blocking_servers,
    box,
    branches,
    event_loops,
    file_cache,
    fleet,
    labs,
    labs_in_server,
    log,
    mutation,
    open_loop,
    overload,
    rivals,
    sending_files,
    streaming,
    thread_pool,
    tls,
    top,
    validators,
    wrong,
)
from workbook.authors.tools import Finding
from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, RESULTS, shown, write_atomically
from workbook.machine import facts, setup

EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    "closing": blocking_servers.closing,
    "large-head": blocking_servers.large_head,
    "visit": blocking_servers.connection,
    "body-copies": blocking_servers.body_copies,
    "formatting": blocking_servers.formatting,
    "nagle": blocking_servers.nagle,
    "layout": blocking_servers.layout,
    "many-fields": blocking_servers.many_fields,
    "one-name": blocking_servers.one_name,
    "header-nodes": blocking_servers.header_nodes,
    "layout-parts": blocking_servers.layout_parts,
    "another-thread": blocking_servers.another_thread,
    "receive-in-place": blocking_servers.receive_in_place,
    "late-reader": blocking_servers.late_reader,
    "silent-client": blocking_servers.silent_client,
    "port-thief": blocking_servers.port_thief,
    "waiting-handler": blocking_servers.waiting_handler,
    "thread-sweep": blocking_servers.thread_sweep,
    "workers-sweep": event_loops.workers_sweep,
    "kqueue": event_loops.kqueue,
    "changes": event_loops.changes,
    "allocators": event_loops.allocators,
    "giving-back": event_loops.giving_back,
    "compilers": event_loops.compilers,
    "keep-alive": event_loops.keep_alive,
    "shared-listener": event_loops.shared_listener,
    "staying": event_loops.staying,
    "together": event_loops.together,
    "hot-path": event_loops.hot_path,
    "parts": event_loops.parts_of_hot_path,
    "file-ladder": sending_files.file_ladder,
    "file-sizes": sending_files.file_sizes,
    "rivals-files": sending_files.rivals_files,
    "neighbours": sending_files.neighbours,
    "not-sent": validators.not_sent,
    "cache-policies": file_cache.cache_policies,
    "hot-files": file_cache.file_cache,
    "hot-neighbours": file_cache.hot_neighbours,
    "rivals-validators": validators.rivals_validators,
    "uploads": streaming.uploads,
    "uploads-memory": streaming.uploads_memory,
    "refusals": streaming.refusals,
    "deadlines": overload.deadlines,
    "attack": overload.attack,
    "refusal": overload.refusal,
    "log-lines": log.lines,
    "log-queue": log.queue,
    "older": top.older,
    "builds": top.builds,
    "floor": top.floor,
    "stall": open_loop.stall,
    "floor-counts": top.floor_counts,
    "nothing-lost": top.nothing_lost,
    "field-sizes": top.field_sizes,
    "fields": top.fields,
    "shares": top.shares,
    "memory": top.memory,
    "fleet": fleet.fleet,
    "fleet-stops": fleet.fleet_stops,
    "fast-wrong-answer": wrong.fast_wrong_answer,
    "rivals": rivals.rivals,
    "rivals-counts": rivals.rivals_counts,
    "mutation": mutation.mutation,
    "box": box.side_by_side,
    "box-pair": box.pair,
    "box-walls": box.walls,
    "box-quota": box.quota,
    **labs.EXPERIMENTS,
    **branches.EXPERIMENTS,
    **labs_in_server.EXPERIMENTS,
    **thread_pool.EXPERIMENTS,
    **tls.EXPERIMENTS,
    **batching.EXPERIMENTS,
}


# Timed experiments that are still to be recorded, on an idle machine. No page shows them yet.
PENDING: dict[str, Callable[[], Finding]] = {**labs.PENDING}


def run(names: Sequence[str] = ()) -> None:
    """Run these experiments, or all, and replace their files in book/results."""
    known = EXPERIMENTS | PENDING
    for name in names:
        if name not in known:
            raise UserError(f"there is no experiment “{name}”", "use one of: " + ", ".join(known))
    setup.ensure(["compiler", "cmake", "ninja", "strace", "valgrind", "wrk"])
    for name in names or known:
        found = known[name]()
        what = f"{found.what} <code>{COMMAND} record --only {name}</code>."
        results = {"kind": "experiment", "what": what, "machine": facts.collect(),
                   "columns": found.columns, "rows": found.rows,
                   **({"marks": found.marks} if found.marks else {})}
        file = RESULTS / f"{name}.json"
        write_atomically(file, json.dumps(results, indent=2, ensure_ascii=False) + "\n")
        _print(file, found)


def _print(file: Path, found: Finding) -> None:
    """Print the figures as they were recorded."""
    print(f"{shown(file)}:")
    for key, row in found.rows.items():
        print(f"  {key}: " + ", ".join(
            f"{column} " + _value(row[column]) for column in found.columns))


def _value(cell: float | str | None) -> str:
    return "–" if cell is None else cell if isinstance(cell, str) else f"{cell:,}"
