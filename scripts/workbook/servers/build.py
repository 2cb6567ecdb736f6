"""Build servers with CMake, showing progress while it works and the first errors if it fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from rich.console import Console

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.heartbeat import heartbeat
from workbook.common.paths import BUILD, ROOT, SCRIPTS
from workbook.machine import needs, setup
from workbook.machine.cores import available_cpus

SUPPORT = SCRIPTS / "cmake"
PRECOMPILED = SUPPORT / "precompiled.sh"
FLOOR, OPEN_LOOP = "floor", "open_loop"
NEEDED = ("compiler", "cmake", "ninja", "jemalloc", "libssl")
LOOK_S = 0.5  # between attempts while another build has the lock
SOURCES = (".cpp", ".h")
REPEATED = 5  # builds at most, while the sources are being edited
CLOCK_S = 0.02  # seconds by which a file's time may lag the clock
UNUSED = re.compile(r"\[-Werror(=|,-W)unused-")
LAST_LINES = 15  # of the output of a build that failed
NEEDED_BY_LABS = ("googletest", "benchmark")
Show = Callable[[str], None]  # called repeatedly with what a build is doing


def build_server(checkpoint_dir: Path, preset: str = "release") -> Path:
    """Build one checkpoint's server and its other programs inside the tree. Returns the server's
    binary; UserError if the build fails.
    """
    return build_program(checkpoint_dir, preset, "server")


def build_program(checkpoint_dir: Path, preset: str, name: str, show: Show | None = None) -> Path:
    """Like `build_server`, but returns the program of the checkpoint's hotpath_program(name …)."""
    relative = checkpoint_dir.resolve().relative_to(ROOT)
    if relative.name.startswith("lab-"):
        setup.ensure(NEEDED_BY_LABS)
    build_target(f"{relative}/all", preset, about=str(relative), show=show)
    return BUILD / preset / relative / name


def server_alone(checkpoint_dir: Path, preset: str, show: Show | None = None) -> Path:
    """Build a checkpoint's server without its other programs; returns the binary."""
    relative = checkpoint_dir.resolve().relative_to(ROOT)
    build_target(f"{relative}/server", preset, about=str(relative), show=show)
    return BUILD / preset / relative / "server"


def build_target(name: str, preset: str = "release", about: str = "",
                 show: Show | None = None) -> None:
    """Build one CMake target of the whole tree; UserError with the first errors if it fails."""
    directory = configured(preset, show)
    with locked(BUILD / f".{preset}.lock"):
        make(directory, name, about or name, ROOT / Path(name).parent if "/" in name else None, show)
        _clean(directory, show)


def configured(preset: str, show: Show | None = None) -> Path:
    """Return the build directory of a preset, after configuring it if necessary."""
    setup.ensure(NEEDED)
    directory = BUILD / preset
    with locked(BUILD / f".{preset}.lock"):
        _configure(preset, directory, show)
    return directory


def floor(preset: str, show: Show | None = None) -> Path:
    build_target(FLOOR, preset, show=show)
    return BUILD / preset / "scripts" / "floor" / FLOOR


def open_loop(show: Show | None = None) -> Path:
    """The load generator that sends at a fixed rate."""
    build_target(OPEN_LOOP, show=show)
    return BUILD / "release" / "scripts" / OPEN_LOOP / OPEN_LOOP


def isolated(checkpoint_dir: Path, preset: str = "release", build_dir: Path | None = None,
             settings: Mapping[str, str] | None = None, program: str = "server",
             target: str = "all") -> Path:
    """Build a checkpoint on its own, in the tree or a copy outside it; returns its program.

    `settings` are CMake variables in addition to those of the preset.
    """
    setup.ensure(NEEDED)
    directory = build_dir or checkpoint_dir / "build" / preset
    variables = {"HOTPATH_SUPPORT": str(SUPPORT), **preset_variables(preset), **(settings or {})}
    with locked(directory.with_name(f".{directory.name}.lock")):
        _run(["cmake", "-G", "Ninja", "-S", str(checkpoint_dir), "-B", str(directory),
              *(f"-D{name}={value}" for name, value in variables.items())],
             checkpoint_dir, f"configuring {preset}")
        make(directory, target, checkpoint_dir.name, checkpoint_dir)
    return directory / program


def faster() -> dict[str, str]:
    """Return environment variables that make CMake and ccache avoid repeated compilation: of the
    standard library's headers, and of anything that ccache has seen in any clone. Empty except on
    Linux.
    """
    if sys.platform != "linux":
        return {}
    return {
        "CMAKE_CXX_COMPILER_LAUNCHER": f"{PRECOMPILED};{BUILD / 'precompiled'}",
        "CCACHE_BASEDIR": str(ROOT),
        "CCACHE_NOHASHDIR": "1",
        # Otherwise it would preprocess new sources, which clang cannot do with precompiled headers.
        "CCACHE_DEPEND": "1",
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
    }


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


def _configure(preset: str, directory: Path, show: Show | None = None) -> None:
    """Configure once; ninja reruns CMake itself when a CMakeLists.txt changes."""
    if _is_configured(directory):
        return
    command = ["cmake", "--preset", preset, "-B", str(directory), "--fresh"]
    _run(command, ROOT, f"configuring {preset}", show)


def _is_configured(directory: Path) -> bool:
    """Whether there is a usable cache: of this folder, with a compiler that still exists, and not
    from before the libraries of the labs were installed.
    """
    cache = directory / "CMakeCache.txt"
    if not cache.exists() or not (directory / "build.ninja").exists():
        return False
    text = cache.read_text(encoding="utf-8", errors="replace")
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", text, re.M)
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", text, re.M)
    if (re.search(r"^(GTest|benchmark)_DIR:PATH=\w+-NOTFOUND$", text, re.M)
            and all(needs.NEEDS[name].is_here() for name in NEEDED_BY_LABS)):
        return False
    return (home is not None and Path(home[1]) == ROOT
            and compiler is not None and shutil.which(compiler[1]) is not None)


def make(directory: Path, target: str, about: str, sources: Path | None = None,
         show: Show | None = None) -> None:
    """Build in a configured directory, and again if `sources` are saved meanwhile. UserError if
    that happens REPEATED times.
    """
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(available_cpus())
    for _ in range(REPEATED):
        before, began = _saved(sources), time.time()
        _run(["cmake", "--build", str(directory), "--target", target, "--parallel", jobs],
             ROOT, f"building {about}", show)
        meanwhile = [time_s for name, time_s in _saved(sources).items()
                     if before.get(name) != time_s]
        if not meanwhile:
            return
        _date_back(directory, began, min(meanwhile) - CLOCK_S)
    raise UserError(f"{about} was saved again and again while it was built",
                    "run the same command again when it is no longer being edited")


def _saved(sources: Path | None) -> dict[str, float]:
    """Return when each source of a checkpoint was last saved, by path."""
    found = {}
    for file in [*sources.glob("*"), *sources.glob("*/*")] if sources else []:
        with suppress(FileNotFoundError):  # an editor replaces the file that it saves
            if file.suffix in SOURCES:
                found[str(file)] = file.stat().st_mtime
    return found


def _date_back(directory: Path, began: float, time_s: float) -> None:
    """Set the time of objects compiled since `began` to `time_s`, before a source was saved.
    Otherwise Ninja 1.11 would keep the object of a source that was saved during its compilation,
    because the object is newer.
    """
    for file in directory.rglob("*.o"):
        if file.stat().st_mtime > began - CLOCK_S:
            os.utime(file, (time_s, time_s))


def _clean(directory: Path, show: Show | None = None) -> None:
    """Remove outputs that no CMakeLists.txt names any more, so none passes for a new one."""
    _run(["ninja", "-C", str(directory), "-t", "cleandead"], ROOT, "removing old outputs", show)


def _run(command: Sequence[str], cwd: Path, doing: str, show: Show | None = None) -> None:
    """Run quietly, showing ninja's own count; UserError with the first errors on failure."""
    environment = {**faster(), **os.environ, "NINJA_STATUS": "[%f/%t] ", "CLICOLOR_FORCE": "0"}
    lines: list[str] = []
    with _shown(doing, show) as update, _process(command, cwd, environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            if step := re.match(r"\[(\d+)/(\d+)\]", line):
                update(f"{doing} {step[1]}/{step[2]}")
    if process.returncode != 0:
        raise _failure(doing, lines)


@contextmanager
def _shown(doing: str, show: Show | None) -> Iterator[Show]:
    """Yield a function that shows a build's progress: `show`, or else a status line on the
    terminal, or a line every ten seconds in a pipe.
    """
    if show:
        show(doing)
        yield show
        return
    shown = doing
    with heartbeat(lambda: shown), Console(stderr=True).status(doing) as status:

        def update(text: str) -> None:
            nonlocal shown
            shown = text
            status.update(text)

        yield update


@contextmanager
def _process(command: Sequence[str], cwd: Path,
             environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A child process that is ended with ours, together with its own children (compilers)."""
    process = children.start(command, cwd=cwd, env=environment, text=True, errors="replace",
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield process
        process.wait()
    finally:
        children.end([process])


def _failure(doing: str, lines: list[str]) -> UserError:
    """Return an error with the compiler's first errors, or CMake's first, or the last output."""
    if any("No space left on device" in line for line in lines):
        return UserError(f"{doing} failed, because the disk is full",
                         "free some space (df -h .), then run the same command again")
    output = [line.replace(f"{ROOT}/", "") for line in _output(lines)]
    location = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error:")
    errors: dict[str, list[str]] = {}  # by first line, because many files may have the same error
    for index, line in enumerate(output):
        if location.match(line) and line not in errors:
            shown = takewhile(lambda after: after.startswith(" "), output[index + 1:index + 5])
            errors[line] = [line, *shown]
    if not errors:
        # CMake continues after an error, so later errors may be consequences of the first
        begins = next((index for index, line in enumerate(output)
                       if line.startswith("CMake Error at ")), len(output))
        begins = min(begins, max(0, len(output) - LAST_LINES))
        return UserError(f"{doing} failed:\n" + "\n".join(output[begins:begins + LAST_LINES]),
                         "fix what is named above, then run the same command again")
    first = [text for error in islice(errors.values(), 3) for text in error]
    if len(errors) > 3:
        first.append(f"… and {len(errors) - 3} more")
    file, line = _ours(output[output.index(first[0]):]) or _named(location, first[0]) or ("", "")
    fix = f"fix {file}, line {line}"
    if UNUSED.search(first[0]):
        fix = f"use it, or put [[maybe_unused]] before it ({file}, line {line})"
    return UserError(f"{doing} failed:\n" + "\n".join(first),
                     f"{fix}, then run the same command again")


def _ours(output: list[str]) -> tuple[str, str] | None:
    """Return the first location in the workbook: after an error in a library header, the notes name
    the line of ours that caused it.
    """
    location = re.compile(r"([^/\s:][^\s:]*):(\d+):.* (?:error:|note:|required from)")
    return next((found for text in output if (found := _named(location, text))), None)


def _named(location: re.Pattern[str], text: str) -> tuple[str, str] | None:
    """Return the file and the line at the beginning of the text; None if there are none."""
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
    """Hold the lock of a build directory, or of the sources that it is built from, so that only one
    process builds at a time.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        waiting = "waiting for another build to end"
        with heartbeat(lambda: waiting), Console(stderr=True).status(waiting):
            _acquire(lock)
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock) -> None:
    """Wait for the lock. UserError after Ctrl-C, because then the waiting thread must end."""
    while not children.stopped():
        with suppress(Timeout):
            lock.acquire(timeout=LOOK_S)
            return
    raise UserError("it was stopped", "start it again")
