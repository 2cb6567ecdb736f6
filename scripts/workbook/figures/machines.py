"""A machine's ladder in the form that is shared: counts and ratios, the processor and the system,
and nothing that identifies its owner.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbook.common.errors import UserError
from workbook.common.leftovers import is_leftover
from workbook.common.paths import BUILD, COMMAND, RESULTS, shown, write_atomically
from workbook.figures import recorded

SHARED = RESULTS / "machines"
WRITTEN = BUILD / "machines"
FLOOR, LOADS = "floor", ("baseline", "headers", "heavy")
COUNTS = ("syscalls", "allocations", "instructions")
ABOUT = ("processor", "cores", "system", "kernel", "compiler", "where")
HOST = "host"  # or the container that it was measured in: linux, bsd


def of(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a complete ladder that is shared, with processor time per request in
    multiples of the floor's. UserError if a figure is missing, or a reader's own servers are
    included.
    """
    machine, servers = results["machine"], dict(results["servers"])
    floor = servers.pop(FLOOR)
    return checked({
        "processor": machine["cpu"], "cores": machine["cores"], "system": machine["os"],
        "kernel": _version(machine["kernel"]), "compiler": machine["compiler"],
        "where": os.environ.get("HOTPATH_IN", HOST),
        "ladder": {name: {**{count: server["costs"].get(count) for count in COUNTS},
                          "beside_floor": {load: _times(server, floor, load) for load in LOADS}}
                   for name, server in servers.items()},
    }, "this run")


def beside(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what may be shared of these results, of the book's, and of all known machines; empty
    if a figure is missing, or a reader's own servers are included.
    """
    try:
        return [of(results), of(recorded.load()), *all_shared()]
    except UserError:
        return []


def _version(kernel: str) -> str:
    """Return the kernel's name and two numbers of its version; the rest may identify a company."""
    found = re.match(r"\w+ \d+(\.\d+)?", kernel)
    return found[0] if found else kernel.partition(" ")[0]


def _times(server: Mapping[str, Any], floor: Mapping[str, Any], load: str) -> float | None:
    one, other = (each["phases"].get(load, {}).get("cpu_us_per_request")
                  for each in (server, floor))
    return round(one / other, 3) if one and other else None


def write(results: Mapping[str, Any]) -> Path:
    """Print what is shared, and write it to a file; returns the file."""
    text = json.dumps(of(results), indent=2) + "\n"
    print(text, end="")
    data = json.loads(text)
    name = " ".join(data[each] for each in ("processor", "kernel", "where")).lower()
    file = WRITTEN / f"{re.sub(r'[^a-z0-9]+', '-', name).strip('-')}.json"
    write_atomically(file, text)
    return file


def load(file: Path) -> dict[str, Any]:
    """Read a shared ladder; UserError describes what is wrong with it."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{shown(file)} cannot be read: {error}",
                        f"make it by {COMMAND} bench --share") from None
    return checked(data, shown(file))


def all_shared(folder: Path = SHARED) -> list[dict[str, Any]]:
    return [load(file) for file in sorted(folder.glob("*.json"))
            if not is_leftover(file.name)]


def checked(data: Any, name: str) -> dict[str, Any]:
    """Return `data` if it has exactly what a chart needs; else raise UserError."""
    rows = data.get("ladder") if isinstance(data, dict) else None
    wrong = next((what for what, bad in {
        f"it has not just {', '.join(ABOUT)} and ladder":
            not isinstance(data, dict) or set(data) != {*ABOUT, "ladder"},
        "its ladder is empty": not rows,
    }.items() if bad), "") or next(filter(None, (
        _wrong(step, row) for step, row in (rows or {}).items())), "")
    if wrong:
        raise UserError(f"{name} is no whole ladder: {wrong}",
                        f"measure all chapters, while nothing else runs: {COMMAND} bench --share")
    return data  # type: ignore[no-any-return]


def _wrong(step: str, row: Any) -> str:
    if not re.fullmatch(r"\d\d-[a-z-]+", step):
        return f"“{step}” is no chapter"
    if not isinstance(row, dict) or set(row) != {*COUNTS, "beside_floor"}:
        return f"{step} has not just {', '.join(COUNTS)} and beside_floor"
    if set(row["beside_floor"]) != set(LOADS):
        return f"{step} has not just the loads {', '.join(LOADS)}"
    lacking = [name for name, value in {**row, **row["beside_floor"]}.items()
               if name != "beside_floor" and not isinstance(value, (int, float))]
    return f"{step} has no figure for {', '.join(lacking)}" if lacking else ""
