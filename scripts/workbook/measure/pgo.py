"""Profile-guided optimisation: collect a profile under the stress test, then build with it.

g++ has one round of profiling. clang has a second one, which profiles the program that was built
with the first profile, so that a function inlined in two places has two profiles.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, COMMAND, shown
from workbook.course.chapters import Chapter
from workbook.machine import setup
from workbook.measure import costs, load, stress
from workbook.measure.load import Phase
from workbook.servers import build

OPTIONS = "optimize.cmake"  # a checkpoint with this file has HOTPATH_PGO and HOTPATH_PROFILE
PROFILE = "profile"
PHASE_S = 1.0  # long enough, because branches are counted, not timed

# Shows progress while a profile is collected: yields a function that takes each phase's name.
Display = Callable[[], AbstractContextManager[Callable[[str], None]]]


@contextmanager
def _nothing_shown() -> Iterator[Callable[[str], None]]:
    yield lambda phase: None


@dataclass(frozen=True)
class Compiler:
    """The compiler of a build directory. `merger` is clang's llvm-profdata; g++ needs none."""

    name: str
    merger: str | None


@dataclass(frozen=True)
class Gain:
    """Instructions of one GET / without a profile and with one; None if they cannot be counted."""

    server: str
    rounds: tuple[str, ...]
    before: float | None
    after: float | None
    skipped: str | None


def measure(chapter: Chapter, solution: bool, counting: Display) -> Gain:
    """Build a chapter's server without and with a profile, and count the instructions of both.

    UserError if the chapter does not support profiles.
    """
    directory = chapter.directory(solution)
    if not (directory / OPTIONS).exists():
        raise UserError(f"{shown(directory)} has no {OPTIONS}, so it takes no profile",
                        f"use chapter 8: {COMMAND} pgo 8")
    setup.ensure(["wrk", "valgrind"])
    build_dir = BUILD / "pgo" / directory.parent.name / directory.name
    before = _count(_make(directory, build_dir, "release", "OFF", None), chapter)
    phases = [replace(phase, seconds=PHASE_S) for phase in stress.short_form()]
    rounds = gather(directory, build_dir, phases, counting=counting)
    server = use(directory, build_dir)
    after = _count(server, chapter)
    return Gain(shown(server), rounds, before[costs.INSTRUCTIONS], after[costs.INSTRUCTIONS],
                before.skipped.get(costs.INSTRUCTIONS.name))


def gather(directory: Path, build_dir: Path, phases: Sequence[Phase],
           settings: Mapping[str, str] | None = None, preset: str = "release",
           max_rounds: int = 2, counting: Display = _nothing_shown) -> tuple[str, ...]:
    """Build an instrumented server and load it with these phases; returns the rounds that were run.

    A profile is valid only for the flags that it was made with. Raises UserError if the compiler
    lacks a tool, a phase fails or the server writes no profile.
    """
    profile = build_dir / PROFILE
    shutil.rmtree(profile, ignore_errors=True)
    done: list[str] = []
    for step in ("GENERATE", "CS_GENERATE")[:max_rounds]:
        server = _make(directory, build_dir, preset, step, settings)
        compiler = find_compiler(build_dir)
        train(server, phases, counting)
        collect(profile, compiler)
        done.append(step)
        if compiler.merger is None:
            break
    return tuple(done)


def use(directory: Path, build_dir: Path, settings: Mapping[str, str] | None = None,
        preset: str = "release") -> Path:
    """Build with the profile that `gather` left there, by the same flags; returns the server."""
    return _make(directory, build_dir, preset, "USE", settings)


def find_compiler(build_dir: Path) -> Compiler:
    """Return a build directory's compiler; UserError if it is clang without llvm-profdata."""
    cache = (build_dir / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M)
    assert found is not None
    if "clang" not in _output([found[1], "--version"]):
        return Compiler(found[1], None)
    merger = shutil.which(_output([found[1], "-print-prog-name=llvm-profdata"]))
    if merger is None:
        version = _output([found[1], "-dumpversion"]).partition(".")[0]
        raise UserError(f"{found[1]} has no llvm-profdata beside it, which merges its profiles",
                        f"install it: apt-get install llvm-{version}")
    return Compiler(found[1], merger)


def train(server: Path, phases: Sequence[Phase], counting: Display = _nothing_shown) -> None:
    """Load an instrumented server and stop it with SIGTERM, so that it writes its profile.
    UserError if a phase fails or the server does not exit normally.
    """
    with counting() as show, load.serving(server) as running:
        for result in stress.measure(running, phases, on_phase=lambda phase: show(phase.name)):
            if result.reason:
                raise UserError(f"the phase {result.phase} failed: {result.reason}",
                                "make the behaviour checks pass first")
        ended = running.stop()
    if ended.killed or ended.exit_code != 0:
        raise UserError("the server did not end by itself when asked, so it wrote no profile",
                        "handle SIGTERM: set the flag, join the workers, return from main")


def collect(profile: Path, compiler: Compiler) -> None:
    """Check that there is a profile, else UserError; for clang, merge it with an earlier one."""
    raw = sorted(profile.glob("*.profraw" if compiler.merger else "**/*.gcda"))
    if not raw:
        raise UserError(f"the server ended, and there is no profile in {shown(profile)}",
                        "return from main: a process that is killed, or calls _exit, writes none")
    if compiler.merger is None:
        return
    merged = profile / "merged.profdata"
    parts = [*([merged] if merged.exists() else []), *raw]
    _output([compiler.merger, "merge", "-o", str(merged), *map(str, parts)])
    for file in raw:
        file.unlink()


def _make(directory: Path, build_dir: Path, preset: str, step: str,
          settings: Mapping[str, str] | None) -> Path:
    """Build without a compiler cache, which would not notice that the profile has changed."""
    return build.isolated(directory, preset, build_dir, {
        **(settings or {}), "HOTPATH_PGO": step, "HOTPATH_PROFILE": str(build_dir / PROFILE),
        "CMAKE_CXX_COMPILER_LAUNCHER": ""})


def _count(server: Path, chapter: Chapter) -> costs.Costs:
    return costs.count(server, level=chapter.level, measures=[costs.INSTRUCTIONS])


def _output(command: Sequence[str]) -> str:
    """Run a program and return its output; UserError if it cannot be run or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{command[0]} cannot be run: {error}", f"{COMMAND} doctor") from None
    if done.returncode != 0:
        raise UserError(f"{command[0]} failed: {done.stderr.strip()[-500:]}",
                        "run the command again; if it stays so, see its message")
    return done.stdout.strip()
