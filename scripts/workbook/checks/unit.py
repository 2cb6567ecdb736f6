"""Runs a test program that is built next to the server and tests one of its classes alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from workbook.checks.model import Status
from workbook.common.paths import shown

SECONDS = 30  # seconds; such a program needs a fraction of one


def outcome(program: Path, words: Mapping[str, str], passed: str) -> tuple[Status, str, str]:
    """Returns the status, a one-line summary, and the program's output if it failed.

    The program prints `FAILED name: problem` for each failed check, and exits with 1. `words` maps
    these names to descriptions, and `passed` is the summary if none fails.
    """
    try:
        done = subprocess.run([program], capture_output=True, text=True, errors="replace",
                              timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "fail", f"it did not end within {SECONDS} s", f"again: {shown(program)}"
    if done.returncode == 0:
        return "pass", passed, ""
    failed = re.findall(rf"^FAILED ({'|'.join(words)}):", done.stderr, re.M)
    summary = ("; ".join(f"{name}: {words[name]}" for name in failed)
               or f"it ended with {done.returncode}")
    return "fail", summary, f"{done.stderr}again: {shown(program)}"
