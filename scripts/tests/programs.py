"""Programs under test: trees of sources built aside, and which checkpoints are the same program."""

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
ENDS = ("01-naive", "04-threads", "08-allocator-pgo", CLIMB[-1])  # of the parts


def location(name: str) -> Path:
    """Where the sources of a program built aside are."""
    return ASIDE / name / "solutions" / "checkpoint"


def aside(name: str, tree: Tree, preset: str, program: str = "server",
          like: str = "", lean: bool = False) -> Path:
    """Build these sources in a copy of their own; returns the program.

    `like` is a preset whose flags are taken instead, so that what both compile is compiled once.
    `lean` is for what is judged by its bytes alone: this program and no other, and not optimised
    across its files. What is built by the same name next builds only what differs. All copies are
    called alike, and have their build directories in the same place below them, so that a cache of
    the compiler's takes the object of one for that of another.
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
    """A checkpoint's solution, built aside, so that it shares objects with its starter's like."""
    return aside(f"solution-{name}", trees.read(SOLUTIONS / name), preset)


def served(name: str) -> Path:
    """A solution's server, to be asked like any: as its reader builds it where a part ends, for
    there all that came before it is compiled; else, unless there is time, as the judge counts,
    which compiles in a third of the time.
    """
    return build.build_server(SOLUTIONS / name, RELEASE if LONG or name in ENDS else MEASURE)


def once(names: list[str], preset: str) -> dict[str, str]:
    """The solutions to judge when built so, each with an id: of those that are the same program
    only the last, for the most is asked of it, and its id names them all.
    """
    keys = programs(preset)
    return alike({name: keys[f"solutions/{name}"] for name in names})


def alike(keys: dict[str, str]) -> dict[str, str]:
    """Of the names whose keys are the same the last, each with an id that tells them all."""
    same: dict[str, list[str]] = {}
    for name, key in keys.items():
        same.setdefault(key, []).append(name)
    return {names[-1]: "=".join(names) for names in same.values()}


@cache
def programs(preset: str) -> dict[str, str]:
    """For every checkpoint, as solutions/01-naive, the digest of all that its server is made of."""
    directory = build.configured(preset)
    subprocess.run(["ninja", "-C", str(directory), "build.ninja"], check=True, capture_output=True)
    objects: dict[str, list[str]] = {}
    for entry in compiled(directory):
        folder = checkpoint(Path(entry["file"]))
        objects.setdefault(f"{folder.parent.name}/{folder.name}", []).append(key(entry))
    return {name: digest(*sorted(keys)) for name, keys in objects.items()}


def compiled(directory: Path) -> list[dict[str, str]]:
    """What a configured build directory compiles: `file` and `command` of each object."""
    return json.loads((directory / "compile_commands.json").read_text(encoding="utf-8"))


def output(entry: dict[str, str]) -> str:
    """The object, below the build directory."""
    tokens = shlex.split(entry["command"])
    return tokens[tokens.index("-o") + 1]


def key(entry: dict[str, str]) -> str:
    """What an object is made of: its source, what of ours that includes, and how it is compiled,
    whatever the checkpoint's name.
    """
    source = Path(entry["file"])
    command = re.sub(rf"\b\w+([/-]){re.escape(checkpoint(source).name)}\b", r"checkpoint",
                     entry["command"])
    return digest(command, source.name, *contents(source))


def contents(*sources: Path) -> Iterator[str]:
    """Names and texts of these sources, of the headers beside them that they include, and of those
    that these do.
    """
    for file in sorted(included(*sources), key=lambda file: file.name):
        yield from (file.name, file.read_text(encoding="utf-8"))


def checkpoint(source: Path) -> Path:
    """The folder of the program that a source belongs to, which may have it in a folder."""
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
    """`trees.folders`, which is slow, and is asked here for each source of each checkpoint."""
    return trees.folders(checkpoint)


def digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()
