"""The machine and the tools that figures belong to."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psutil

from workbook.common.paths import BUILD, ROOT
from workbook.machine.cores import available_cpus

GIB = 1 << 30
MEASURED = ("solutions", "chapters/*/bench.cpp", "scripts/cmake", "scripts/floor", "scripts/rivals", "scripts/wrk")


def collect(preset: str = "release") -> dict[str, Any]:
    """What stands beside figures that were measured here and now, with this preset's build."""
    cache = _cmake_cache(BUILD / preset / "CMakeCache.txt")
    return {
        "cpu": _cpu(),
        "cores": available_cpus(),
        "memory_gib": round(psutil.virtual_memory().total / GIB, 1),
        "os": _system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "compiler": first_line([cache.get("CMAKE_CXX_COMPILER", "c++"), "--version"]),
        "flags": _flags(cache),
        "wrk": first_line(["wrk", "--version"]).partition(" Copyright")[0],
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


def _flags(cache: dict[str, str]) -> str:
    build_type = cache.get("CMAKE_BUILD_TYPE", "Release").upper()
    flags = ["-std=c++23", cache.get("CMAKE_CXX_FLAGS", ""),
             cache.get(f"CMAKE_CXX_FLAGS_{build_type}", "")]
    return " ".join(flag for flag in flags if flag)


def _commit() -> str:
    """The commit, with a plus sign when what is measured has changes that it does not tell of."""
    commit = first_line(["git", "rev-parse", "--short=12", "HEAD"])
    changed = first_line(["git", "status", "--porcelain", "--", *MEASURED])
    return (commit or "none") + ("+" if changed else "")


def first_line(command: Sequence[str]) -> str:
    """What a command says first, on either stream; empty if it cannot be run."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=10,
                              env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[0].strip() if lines else ""
