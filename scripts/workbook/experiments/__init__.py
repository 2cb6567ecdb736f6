"""The small experiments of the book: each tries one claim, and keeps book/results/NAME.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, RESULTS, shown, write_atomically
from workbook.experiments import (
    box,
    file_cache,
    fleet,
    labs,
    labs_in_server,
    log,
    mutation,
    overload,
    part1,
    part2,
    part3,
    rivals,
    streaming,
    thread_pool,
    tls,
    top,
    validators,
    wrong,
)
from workbook.experiments.tools import Finding
from workbook.machine import facts, setup

EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    "closing": part1.closing,
    "large-head": part1.large_head,
    "visit": part1.connection,
    "body-copies": part1.body_copies,
    "formatting": part1.formatting,
    "nagle": part1.nagle,
    "layout": part1.layout,
    "many-fields": part1.many_fields,
    "late-reader": part1.late_reader,
    "silent-client": part1.silent_client,
    "port-thief": part1.port_thief,
    "thread-sweep": part1.thread_sweep,
    "workers-sweep": part2.workers_sweep,
    "kqueue": part2.kqueue,
    "changes": part2.changes,
    "allocators": part2.allocators,
    "giving-back": part2.giving_back,
    "compilers": part2.compilers,
    "keep-alive": part2.keep_alive,
    "staying": part2.staying,
    "together": part2.together,
    "hot-path": part2.hot_path,
    "parts": part2.parts_of_hot_path,
    "file-ladder": part3.file_ladder,
    "file-sizes": part3.file_sizes,
    "rivals-files": part3.rivals_files,
    "neighbours": part3.neighbours,
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
    "floor-counts": top.floor_counts,
    "nothing-lost": top.nothing_lost,
    "field-sizes": top.field_sizes,
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
    **labs_in_server.EXPERIMENTS,
    **thread_pool.EXPERIMENTS,
    **tls.EXPERIMENTS,
}


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
        results = {"kind": "experiment", "what": what, "machine": facts.collect(),
                   "columns": found.columns, "rows": found.rows}
        file = RESULTS / f"{name}.json"
        write_atomically(file, json.dumps(results, indent=2, ensure_ascii=False) + "\n")
        _print(file, found)


def _print(file: Path, found: Finding) -> None:
    """The figures as they were kept."""
    print(f"{shown(file)}:")
    for key, row in found.rows.items():
        print(f"  {key}: " + ", ".join(
            f"{column} " + _value(row[column]) for column in found.columns))


def _value(cell: float | str | None) -> str:
    return "–" if cell is None else cell if isinstance(cell, str) else f"{cell:,}"
