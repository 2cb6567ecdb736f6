"""The sources for BSD and macOS compile and link against those systems' own headers and C libraries.

Zig carries both for all of them. CMake says what a program is made of; of objects that would be the
same in several checkpoints one is compiled, and every program is linked of those. What Zig would
take two minutes of processor time apiece for is each system's C++ library, which is its own and not
the system's: without it a program must link but for that library's names. `test --long` builds it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import programs
import pytest
from lengths import LONG

from workbook.common.paths import BUILD, ROOT, SCRIPTS, SOLUTIONS
from workbook.machine.cores import available_cpus
from workbook.servers import build

PORTABLE = BUILD / "portable"
CHECKPOINTS = sorted(path.name for path in SOLUTIONS.glob("[0-9]*"))
SOLVED = tuple(f"solutions-{name}-server" for name in CHECKPOINTS)
FIRST_AND_LAST = (SOLVED[0], SOLVED[-1])
# The last checkpoint of each part, which has what the earlier ones added, and the first that serves
# files.
ENDS = tuple(one for one in SOLVED if one[10:12] in ("01", "04", "08", "09", SOLVED[-1][10:12]))

# Zig offers macOS's headers as if they were ours, so their own shortcomings would be errors.
# It checks for undefined behaviour unless it is switched off, and these programs are not run.
FLAGS = "-Wno-nullability-completeness -fno-sanitize=undefined"

# What only a C++ library has: what is in std or beneath its ABI, what a compiler calls, and operator
# new. One linker tells names as they are written, the other as they are mangled.
CPP_NAME = re.compile(
    r"((vtable|VTT|typeinfo|typeinfo name) for )?(std::|__cxxabiv1::|operator (new|delete))"
    r"|__?Z(n[aw]|d[al]|(T[VTIS])?N?K?(St|10__cxxabiv1))|___?(cxa|gxx)_|_?_Unwind_")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="BSD and macOS build their own natively"),
    pytest.mark.timeout(2400),
]


@dataclass(frozen=True)
class System:
    """`target` is Zig's name for it, `cmake` and `processor` are CMake's; `builds` are the programs
    that are tried there, all if it names none or if there is time.
    """

    name: str
    target: str
    cmake: str
    processor: str
    builds: tuple[str, ...] = ()
    build_type: str = "Debug"

    @property
    def directory(self) -> Path:
        return PORTABLE / self.name

    @property
    def compiler(self) -> Path:
        """A script; precompiled.sh knows clang by this name."""
        return self.directory / "clang++"


@dataclass(frozen=True)
class Program:
    """A target of CMake's and the objects that it is linked of, below the build directory."""

    name: str
    objects: tuple[str, ...]


SYSTEMS = [
    System("FreeBSD", "x86_64-freebsd", "FreeBSD", "x86_64", (*ENDS, "floor")),
    System("macOS", "aarch64-macos", "Darwin", "arm64", (*ENDS, "floor")),
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
def test_programs_build_for_each_system(system: System, zig: list[str]) -> None:
    configure(system, zig)
    made = [program for program in programs_of(system.directory)
            if LONG or not system.builds or program.name in system.builds]
    assert {program.name for program in made} >= {*FIRST_AND_LAST, "floor"}
    compile_all(system, {name for program in made for name in program.objects})
    missing = {program.name: unknown(linked(system, program)) for program in made}
    assert not {name: names for name, names in missing.items() if names}


def test_missing_symbols_are_reported(zig: list[str], tmp_path: Path) -> None:
    """Of the first program all but one object: what that defines is not the C++ library's."""
    system = SYSTEMS[0]
    configure(system, zig)
    server = next(made for made in programs_of(system.directory) if made.name == FIRST_AND_LAST[0])
    compile_all(system, set(server.objects))
    maximum = tuple(name for name in server.objects if not name.endswith("http_parser.cpp.o"))
    reported = unknown(linked(system, Program(server.name, maximum)))
    assert reported and all("web::" in name for name in reported)


def configure(system: System, zig: list[str]) -> None:
    """Have CMake's own build directory for a system."""
    system.directory.mkdir(parents=True, exist_ok=True)
    clang = " ".join(["nice", "-n", "10", *zig, "c++", "-target", system.target, FLAGS])
    without = "" if LONG else "-nostdlib++"
    compiler = _script(system.compiler,
                       f"# Zig {metadata.version('ziglang')}: another reads the headers anew\n"
                       f'case " $* " in *" -c "* | *" c++-header "*) exec {clang} "$@"; esac\n'
                       f'exec {clang} {without} "$@"')
    archiver = _script(system.directory / "ar", f'exec {" ".join(zig)} ar "$@"')
    done = run_zig(["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(system.directory),
                 f"-DCMAKE_SYSTEM_NAME={system.cmake}",
                 f"-DCMAKE_SYSTEM_PROCESSOR={system.processor}",
                 f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_AR={archiver}",
                 f"-DCMAKE_CXX_COMPILER_LAUNCHER={build.PRECOMPILED};{system.directory / 'precompiled'}",
                 f"-DCMAKE_BUILD_TYPE={system.build_type}", "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
                 "-DHOTPATH_ALLOCATOR=system"])
    assert done.returncode == 0, _last_lines(done)


def programs_of(directory: Path) -> list[Program]:
    """Every program of a build directory; where objects would be the same, the first of them."""
    first: dict[str, str] = {}
    objects: dict[str, list[str]] = {}
    for entry in programs.compiled(directory):
        output = programs.output(entry)
        name = next(part.removesuffix(".dir") for part in Path(output).parts
                    if part.endswith(".dir"))
        objects.setdefault(name, []).append(first.setdefault(programs.key(entry), output))
    return [Program(name, tuple(made)) for name, made in objects.items()]


def compile_all(system: System, objects: set[str]) -> None:
    done = run_zig(["ninja", "-C", str(system.directory), "-k", "0",
                 "-j", str(min(available_cpus(), 8)), *sorted(objects)])
    assert done.returncode == 0, _last_lines(done)


def linked(system: System, program: Program) -> subprocess.CompletedProcess[str]:
    """The program of its objects; without the C++ library unless there is time for that."""
    return run_zig([str(system.compiler), *program.objects, "-o", f"{program.name}.linked"],
                system.directory)


def unknown(link: subprocess.CompletedProcess[str]) -> list[str]:
    """Names that neither the program nor the system has; all it said, if it failed otherwise."""
    if link.returncode == 0:
        return []
    names = re.findall(r"undefined symbol: (.+)", link.stdout)
    if not names or "too many errors" in link.stdout:
        return [link.stdout[-3000:]]
    return [name for name in names if not CPP_NAME.match(name)]


def _script(path: Path, text: str) -> Path:
    """A program to name to CMake, for it takes no arguments in a compiler's place."""
    script = f"#!/bin/sh\n{text}\n"
    if not path.exists() or path.read_text(encoding="utf-8") != script:
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
    return path


def run_zig(command: list[str], directory: Path = ROOT) -> subprocess.CompletedProcess[str]:
    caches = {name: str(PORTABLE / "zig") for name in
              ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    caches["CCACHE_DISABLE"] = "1"  # Zig has a cache of its own
    return subprocess.run(command, env={**os.environ, **caches}, stdin=subprocess.DEVNULL,
                          cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def _last_lines(done: subprocess.CompletedProcess[str]) -> str:
    return "\n".join([line for line in done.stdout.splitlines()
                      if not re.match(r"\[\d+/\d+\]", line)][-60:])
