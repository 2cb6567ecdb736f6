"""The facts about the machine and the tools that are stored with figures."""

from __future__ import annotations

import platform
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psutil

from workbook.common.paths import BUILD, ROOT
from workbook.machine import git, needs
from workbook.machine.cores import available_cpus
from workbook.machine.probes import first_line

GIB = 1 << 30
MEASURED = ("solutions", "chapters/*/bench.cpp", "scripts/cmake", "scripts/floor", "scripts/open_loop",
            "scripts/rivals", "scripts/wrk")


def collect(preset: str = "release") -> dict[str, Any]:
    """Returns what is recorded with figures measured here and now, with this preset's build. If
    only single checkpoints were built, the compiler is the one that CMake chooses for them.
    """
    cache = _cmake_cache(BUILD / preset / "CMakeCache.txt") or _chosen_for_checkpoints()
    return {
        "cpu": _cpu(),
        "cores": available_cpus(),
        "memory_gib": round(psutil.virtual_memory().total / GIB, 1),
        "os": _system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "compiler": first_line([cache["CMAKE_CXX_COMPILER"], "--version"]),
        "flags": _flags(cache),
        "wrk": first_line(["wrk", "--version"], codes=(0, 1)).partition(" Copyright")[0],
        "commit": _commit(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = "model name : " + first_line(["sysctl", "-n", "machdep.cpu.brand_string"])
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", text, re.M)
    return found[1].strip() if found else platform.machine()


def _system() -> str:
    if platform.system() == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _cmake_cache(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r"^(\w+):\w+=(.*)$", text, re.M))


def _chosen_for_checkpoints() -> dict[str, str]:
    """Returns the compiler that scripts/cmake/hotpath.cmake chooses."""
    compiler = str(needs.compiler() or "c++")
    library = "-stdlib=libc++" if "clang" in compiler else ""
    return {"CMAKE_CXX_COMPILER": compiler, "CMAKE_CXX_FLAGS": library,
            "CMAKE_CXX_FLAGS_RELEASE": "-O3 -DNDEBUG"}


def _flags(cache: dict[str, str]) -> str:
    build_type = cache.get("CMAKE_BUILD_TYPE", "Release").upper()
    flags = ["-std=c++23", cache.get("CMAKE_CXX_FLAGS", ""),
             cache.get(f"CMAKE_CXX_FLAGS_{build_type}", "")]
    return " ".join(flag for flag in flags if flag)


def _commit() -> str:
    """Returns the commit, with a plus sign if the measured files differ from it; "none" in a folder
    that is not a clone, such as a downloaded archive.
    """
    commit = git.answer("rev-parse", "--short=12", "HEAD", cwd=ROOT)
    if commit is None:
        return "none"
    changed = git.answer("status", "--porcelain", "--", *MEASURED, cwd=ROOT)
    return commit + ("" if changed == "" else "+")
