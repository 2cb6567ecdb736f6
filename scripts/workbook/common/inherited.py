"""The environment that child processes inherit: what is kept, and what is removed.

Everything that the tool starts (pip, CMake, git, servers, tests) gets the environment that clean()
leaves, because a reader's shell must not change what is built, measured or parsed. Standard library
only, because scripts/hotpath calls it before any package is installed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import MutableMapping
from contextlib import suppress

# Of the variables with these prefixes, only the ones listed here are kept.
FAMILIES: dict[str, frozenset[str]] = {
    "PYTHON": frozenset({"PYTHONPATH", "PYTHONUTF8", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
                         "PYTHONPYCACHEPREFIX", "PYTHONFAULTHANDLER"}),
    # How packages are reached, not where they are installed. packages.py reads PIP_CONFIG_FILE.
    "PIP_": frozenset({"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX",
                       "PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_CERT", "PIP_CLIENT_CERT",
                       "PIP_KEYRING_PROVIDER", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT",
                       "PIP_RETRIES", "PIP_CACHE_DIR", "PIP_NO_CACHE_DIR", "PIP_CONFIG_FILE"}),
    # git sets GIT_DIR and GIT_INDEX_FILE for its hooks; they may name another repository.
    "GIT_": frozenset({"GIT_PAGER"}),
    # We choose the generator and the build type; the user may say where things are found.
    "CMAKE_": frozenset({"CMAKE_BUILD_PARALLEL_LEVEL", "CMAKE_PREFIX_PATH", "CMAKE_LIBRARY_PATH",
                         "CMAKE_INCLUDE_PATH", "CMAKE_PROGRAM_PATH", "CMAKE_CXX_COMPILER_LAUNCHER",
                         "CMAKE_CXX_LINKER_LAUNCHER"}),
    "GTEST_": frozenset(),
    "BENCHMARK_": frozenset(),
    "MALLOC_": frozenset(),
    "MIMALLOC_": frozenset(),
}
# Compiler flags, which would change figures although CMakeLists.txt is the same; how make and ninja
# work and report; libraries loaded into the servers; and settings of the counting tools.
REMOVED = frozenset({
    "CXXFLAGS", "CFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "DESTDIR",
    "VERBOSE", "NINJA_STATUS", "NINJAFLAGS", "CLICOLOR_FORCE", "LD_PRELOAD", "LD_AUDIT",
    "LD_BIND_NOW", "LD_DEBUG", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES", "VALGRIND_OPTS",
    "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "CDPATH", "BASH_ENV", "ENV",
    "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"})
LOOPBACK = "127.0.0.1,localhost,::1"


def settle() -> None:
    """Make this process independent of its parent's environment. Idempotent."""
    open_descriptors()
    never_refuse_a_character()
    clean(os.environ)


def clean(environment: MutableMapping[str, str]) -> None:
    """Remove the variables that would change results, and make messages English."""
    for name in list(environment):
        kept = next((kept for prefix, kept in FAMILIES.items() if name.startswith(prefix)), None)
        if name in REMOVED or (kept is not None and name not in kept):
            del environment[name]
    characters = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG")
                       if (value := environment.get(name))), None)
    for name in ("LC_ALL", "LANGUAGE"):
        environment.pop(name, None)
    if characters:
        environment["LC_CTYPE"] = characters
    environment.update({"LC_MESSAGES": "C", "LC_NUMERIC": "C", "PYTHONUTF8": "1"})
    for name in ("no_proxy", "NO_PROXY"):
        others = environment.get(name, "")
        if LOOPBACK not in others:
            environment[name] = ",".join(filter(None, (others, LOOPBACK)))


def open_descriptors() -> None:
    """Open /dev/null for each of 0, 1 and 2 that is closed. A file opened later would get that
    number, and output would be written into it.
    """
    for number in range(3):
        with suppress(OSError):
            os.fstat(number)
            continue
        opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number, hence this one
        os.set_inheritable(opened, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)


def never_refuse_a_character() -> None:
    """Print "?" for a character that the terminal's encoding lacks, instead of raising an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
