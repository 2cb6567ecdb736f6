"""Build servers with CMake, showing progress while it works and the first errors if it fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from rich.console import Console

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.heartbeat import heartbeat
from workbook.common.paths import BUILD, ROOT, SCRIPTS
from workbook.machine import setup
from workbook.machine.cores import available_cpus

SUPPORT = SCRIPTS / "cmake"
FLOOR = "floor"
NEEDED = ("compiler", "cmake", "ninja", "jemalloc", "libssl", "googletest", "benchmark")


def build_server(checkpoint_dir: Path, preset: str = "release") -> Path:
    """Build one checkpoint's server inside the tree, and what programs it has besides; returns the
    binary, or raises UserError.
    """
    return build_program(checkpoint_dir, preset, "server")


def build_program(checkpoint_dir: Path, preset: str, name: str) -> Path:
    """The same; returns what the checkpoint's hotpath_program(name …) makes."""
    relative = checkpoint_dir.resolve().relative_to(ROOT)
    build_target(f"{relative}/all", preset, about=str(relative))
    return BUILD / preset / relative / name


def build_target(name: str, preset: str = "release", about: str = "") -> None:
    """Build one CMake target of the whole tree; UserError with the first errors if it fails."""
    directory = configured(preset)
    with locked(BUILD / f".{preset}.lock"):
        _make(directory, name, about or name)
        _clean(directory)


def configured(preset: str) -> Path:
    """The build directory of a preset, ready for CMake to build in."""
    setup.ensure(NEEDED)
    directory = BUILD / preset
    with locked(BUILD / f".{preset}.lock"):
        _configure(preset, directory)
    return directory


def floor(preset: str) -> Path:
    build_target(FLOOR, preset)
    return BUILD / preset / "scripts" / "floor" / FLOOR


def isolated(checkpoint_dir: Path, preset: str = "release", build_dir: Path | None = None,
             settings: Mapping[str, str] | None = None, program: str = "server",
             target: str = "all") -> Path:
    """Build a checkpoint on its own, in the tree or a copy outside it; returns its program.

    `settings` are CMake variables beside those of the preset.
    """
    setup.ensure(NEEDED)
    directory = build_dir or checkpoint_dir / "build" / preset
    variables = {"HOTPATH_SUPPORT": str(SUPPORT), **preset_variables(preset), **(settings or {})}
    with locked(directory.with_name(f".{directory.name}.lock")):
        _run(["cmake", "-G", "Ninja", "-S", str(checkpoint_dir), "-B", str(directory),
              *(f"-D{name}={value}" for name, value in variables.items())],
             checkpoint_dir, f"configuring {preset}")
        _make(directory, target, checkpoint_dir.name)
    return directory / program


def presets() -> dict[str, dict[str, Any]]:
    """CMake's configure presets by name."""
    listed = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    return {preset["name"]: preset for preset in listed["configurePresets"]}


def preset_variables(name: str) -> dict[str, str]:
    """The cache variables of a configure preset, its ancestors' included."""
    preset = presets()[name]
    parents = preset.get("inherits", [])
    variables: dict[str, str] = {}
    for parent in [parents] if isinstance(parents, str) else reversed(parents):
        variables.update(preset_variables(parent))
    variables.update(preset.get("cacheVariables", {}))
    return variables


def _configure(preset: str, directory: Path) -> None:
    """Configure once; ninja reruns CMake itself when a CMakeLists.txt changes."""
    if _is_configured(directory):
        return
    command = ["cmake", "--preset", preset, "-B", str(directory), "--fresh"]
    _run(command, ROOT, f"configuring {preset}")


def _is_configured(directory: Path) -> bool:
    """False also for a cache that was made elsewhere, or by a compiler since removed."""
    cache = directory / "CMakeCache.txt"
    if not cache.exists() or not (directory / "build.ninja").exists():
        return False
    text = cache.read_text(encoding="utf-8", errors="replace")
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", text, re.M)
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", text, re.M)
    return (home is not None and Path(home[1]) == ROOT
            and compiler is not None and shutil.which(compiler[1]) is not None)


def _make(directory: Path, target: str, about: str) -> None:
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(available_cpus())
    _run(["cmake", "--build", str(directory), "--target", target, "--parallel", jobs],
         ROOT, f"building {about}")


def _clean(directory: Path) -> None:
    """Remove old outputs that no CMakeLists.txt names any more, lest they pass for new ones."""
    _run(["ninja", "-C", str(directory), "-t", "cleandead"], ROOT, "removing what is left over")


def _run(command: Sequence[str], cwd: Path, doing: str) -> None:
    """Run quietly, showing ninja's own count; on failure raise with what it said."""
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] ", "CLICOLOR_FORCE": "0"}
    lines: list[str] = []
    shown = doing
    console = Console(stderr=True)
    with (heartbeat(lambda: shown), console.status(doing) as status,
          _process(command, cwd, environment) as process):
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            if step := re.match(r"\[(\d+)/(\d+)\]", line):
                shown = f"{doing} {step[1]}/{step[2]}"
                status.update(shown)
    if process.returncode != 0:
        raise _failure(doing, lines)


@contextmanager
def _process(command: Sequence[str], cwd: Path,
             environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A child that does not outlive us, whatever happens."""
    process = children.start(command, cwd=cwd, env=environment, text=True, errors="replace",
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    try:
        yield process
        process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _failure(doing: str, lines: list[str]) -> UserError:
    """The compiler's first errors, or else what CMake or the linker said last."""
    output = [line.replace(f"{ROOT}/", "") for line in _output(lines)]
    location = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error:")
    errors: dict[str, list[str]] = {}  # by their first line, for many files may have the same
    for index, line in enumerate(output):
        if location.match(line) and line not in errors:
            shown = takewhile(lambda after: after.startswith(" "), output[index + 1:index + 5])
            errors[line] = [line, *shown]
    if not errors:
        return UserError(f"{doing} failed:\n" + "\n".join(output[-15:]),
                         "mend what is named above, then run the same command again")
    first = [text for error in islice(errors.values(), 3) for text in error]
    if len(errors) > 3:
        first.append(f"… and {len(errors) - 3} more")
    file, line = _ours(output[output.index(first[0]):]) or _named(location, first[0]) or ("", "")
    return UserError(f"{doing} failed:\n" + "\n".join(first),
                     f"mend {file}, line {line}, then run the same command again")


def _ours(output: list[str]) -> tuple[str, str] | None:
    """The first place that is in the workbook: where a header of the library complains, the notes
    after it tell which of our lines made it do so.
    """
    location = re.compile(r"([^/\s:][^\s:]*):(\d+):.* (?:error:|note:|required from)")
    return next((found for text in output if (found := _named(location, text))), None)


def _named(location: re.Pattern[str], text: str) -> tuple[str, str] | None:
    """The file and the line that the text begins with, if it does."""
    found = location.match(text)
    return (found[1], found[2]) if found else None


def _output(lines: list[str]) -> list[str]:
    """The output without ninja's own lines and the commands that it repeats."""
    kept, after_failed = [], False
    for line in lines:
        if line.strip() and not after_failed and not line.startswith(("[", "FAILED:", "ninja:")):
            kept.append(line)
        after_failed = line.startswith("FAILED:")
    return kept


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock of a build directory, or of the sources that it is built from: of several
    processes one builds at a time.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        with Console(stderr=True).status("waiting for another build to end"):
            lock.acquire()
    try:
        yield
    finally:
        lock.release()
