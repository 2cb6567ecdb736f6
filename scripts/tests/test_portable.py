"""The sources for BSD and macOS compile and link against those systems' own headers.

Zig carries the headers and the C++ library of all of them. The first run fetches it and builds
each system's C++ library, a minute of processor time apiece; later ones build what changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from workbook.build import available_cpus
from workbook.paths import BUILD, ROOT, SCRIPTS, SOLUTIONS

PORTABLE = BUILD / "portable"
CHECKPOINTS = sorted(path.name for path in SOLUTIONS.glob("[0-9]*"))
FIRST_AND_LAST = tuple(f"solutions-{name}-server" for name in (CHECKPOINTS[0], CHECKPOINTS[-1]))

# Zig offers macOS's headers as if they were ours, so their own shortcomings would be errors.
FLAGS = "-Wno-nullability-completeness"

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="BSD and macOS build their own natively"),
    pytest.mark.timeout(1200),
]


@dataclass(frozen=True)
class System:
    """`target` is Zig's name for it, `cmake` and `processor` are CMake's."""

    name: str
    target: str
    cmake: str
    processor: str
    builds: tuple[str, ...] = ("all",)


SYSTEMS = [
    System("FreeBSD", "x86_64-freebsd", "FreeBSD", "x86_64"),
    System("macOS", "aarch64-macos", "Darwin", "arm64"),
    System("NetBSD", "x86_64-netbsd", "NetBSD", "x86_64", (*FIRST_AND_LAST, "floor")),
    System("OpenBSD", "x86_64-openbsd", "OpenBSD", "x86_64", (*FIRST_AND_LAST, "floor")),
]


@pytest.fixture(scope="module")
def zig(request: pytest.FixtureRequest) -> list[str]:
    """The command that runs Zig, installed if need be; what it says is seen as it comes."""
    command = [sys.executable, "-m", "ziglang"]
    wanted = (SCRIPTS / "requirements-portable.txt").read_text(encoding="utf-8")
    version = re.search(r"^ziglang==(\S+)", wanted, re.MULTILINE)
    here = subprocess.run([*command, "version"], capture_output=True, text=True)
    if version is None or here.stdout.strip() != version[1]:
        capture = request.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print("\nfetching Zig, 98 MB, for the tests on other systems' headers", flush=True)
            subprocess.run([sys.executable, "-m", "pip", "install", "--require-hashes",
                            "--no-compile", "--disable-pip-version-check", "-r",
                            str(SCRIPTS / "requirements-portable.txt")], check=True)
    return command


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_it_builds_for(system: System, zig: list[str]) -> None:
    directory = PORTABLE / system.name
    directory.mkdir(parents=True, exist_ok=True)
    compiler = _script(directory / "c++", [*zig, "c++", "-target", system.target, FLAGS])
    archiver = _script(directory / "ar", [*zig, "ar"])
    _run(["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(directory),
          f"-DCMAKE_SYSTEM_NAME={system.cmake}", f"-DCMAKE_SYSTEM_PROCESSOR={system.processor}",
          f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_AR={archiver}",
          "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
          "-DHOTPATH_ALLOCATOR=system"])
    _run(["cmake", "--build", str(directory), "--parallel", str(min(available_cpus(), 8)),
          "--target", *system.builds])
    assert (directory / "solutions" / CHECKPOINTS[-1] / "server").exists()


def _script(path: Path, command: list[str]) -> Path:
    """A program to name to CMake, for it takes no arguments in a compiler's place."""
    path.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def _run(command: list[str]) -> None:
    caches = {name: str(PORTABLE / "zig") for name in
              ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    done = subprocess.run(command, env={**os.environ, **caches}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = [line for line in done.stdout.splitlines() if not re.match(r"\[\d+/\d+\]", line)]
    assert done.returncode == 0, "\n".join(said[-60:])
