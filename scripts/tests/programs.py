"""Builds programs under test in separate copies, and finds checkpoints with the same program."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from lengths import LONG

from workbook.checks.model import MEASURE, RELEASE
from workbook.common.paths import BUILD, CHAPTERS, SOLUTIONS
from workbook.course import trees
from workbook.course.trees import Tree
from workbook.servers import build

ASIDE = BUILD / "programs"
CLIMB = sorted(path.name for path in SOLUTIONS.glob("[0-9]*"))
ENDS = ("01-naive", "04-threads", "08-allocator-pgo", CLIMB[-1])  # the last of each book part


def location(name: str) -> Path:
    """Returns where the sources of a separately built program are."""
    return ASIDE / name / "solutions" / "checkpoint"


def aside(name: str, tree: Tree, preset: str, program: str = "server",
          like: str = "", lean: bool = False) -> Path:
    """Build these sources in a separate copy; returns the program.

    `like` is a preset whose flags are used instead, so that what both compile is compiled once.
    `lean` is for judging behaviour only: it builds just this program, without link-time
    optimisation. A later build with the same name is incremental. All copies have the same names
    and build folders below their root, so that a compiler cache can reuse one copy's objects for
    another.
    """
    with build.locked(ASIDE / f".{name}.lock"):
        trees.write(tree, location(name))
    settings = build.preset_variables(preset)
    if like:
        settings |= build.preset_variables(like)
    if not lean:
        return build.isolated(location(name), preset, settings=settings, program=program)
    return build.isolated(location(name), preset, location(name) / "build" / f"{preset}-lean",
                          settings | {"HOTPATH_LTO": "OFF"}, program,
                          f"solutions-checkpoint-{program}")


def solution(name: str, preset: str) -> Path:
    """Build a checkpoint's solution in a copy, so that it shares objects with its starter's."""
    return aside(f"solution-{name}", trees.read(SOLUTIONS / name), preset)


def served(name: str) -> Path:
    """Returns a solution's server, for any test. In long runs, and where a part of the book ends
    and so all code up to there is included, it's built like the reader's; otherwise with the preset
    for counting, which takes a third of the time.
    """
    return build.build_server(SOLUTIONS / name, RELEASE if LONG or name in ENDS else MEASURE)


def once(names: list[str], preset: str) -> dict[str, str]:
    """Returns the solutions to judge with this preset, each with an id. Of identical programs it's
    only the last, because most is required of it; its id names them all.
    """
    keys = programs(preset)
    return alike({name: keys[f"solutions/{name}"] for name in names})


def alike(keys: dict[str, str]) -> dict[str, str]:
    """Of the names with the same key, returns the last, with an id that contains them all."""
    same: dict[str, list[str]] = {}
    for name, key in keys.items():
        same.setdefault(key, []).append(name)
    return {names[-1]: "=".join(names) for names in same.values()}


@cache
def programs(preset: str) -> dict[str, str]:
    """Maps every checkpoint, as solutions/01-naive, to a digest of everything in its server."""
    directory = build.configured(preset)
    subprocess.run(["ninja", "-C", str(directory), "build.ninja"], check=True, capture_output=True)
    objects: dict[str, list[str]] = {}
    for entry in compiled(directory):
        folder = checkpoint(Path(entry["file"]))
        objects.setdefault(f"{folder.parent.name}/{folder.name}", []).append(key(entry))
    return {name: digest(*sorted(keys)) for name, keys in objects.items()}


def compiled(directory: Path) -> list[dict[str, str]]:
    """Returns `file` and `command` of each object that a configured build directory compiles."""
    return json.loads((directory / "compile_commands.json").read_text(encoding="utf-8"))


def output(entry: dict[str, str]) -> str:
    """Returns the path of the object, relative to the build directory."""
    tokens = shlex.split(entry["command"])
    return tokens[tokens.index("-o") + 1]


def key(entry: dict[str, str]) -> str:
    """Returns a digest of an object's inputs: its source, the headers of ours that it includes, and
    the command that compiles it, without the checkpoint's name.
    """
    source = Path(entry["file"])
    command = re.sub(rf"\b\w+([/-]){re.escape(checkpoint(source).name)}\b", r"checkpoint",
                     entry["command"])
    return digest(command, source.name, *contents(source))


def contents(*sources: Path) -> Iterator[str]:
    """Yields names and texts of these sources and of the checkpoint's headers that they include,
    directly or indirectly.
    """
    for file in sorted(included(*sources), key=lambda file: file.name):
        yield from (file.name, file.read_text(encoding="utf-8"))


def checkpoint(source: Path) -> Path:
    """Returns the checkpoint's folder, of which a source may be in a subfolder."""
    return next((folder for folder in source.parents
                 if folder.parent.name in (CHAPTERS.name, SOLUTIONS.name)), source.parent)


def included(*sources: Path) -> set[Path]:
    found, waiting = set(sources), list(sources)
    while waiting:
        file = waiting.pop()
        names = re.findall(r'^#include "([^"]+)"', file.read_text(encoding="utf-8"), re.M)
        headers = {folder / name for name in names
                   for folder in {file.parent, *folders(checkpoint(file))}
                   if (folder / name).exists()}
        waiting += headers - found
        found |= headers
    return found


@cache
def folders(checkpoint: Path) -> list[Path]:
    """Caches `trees.folders`, which is slow and is called for each source of each checkpoint."""
    return trees.folders(checkpoint)


def digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()
