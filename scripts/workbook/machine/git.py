"""Runs git without the user's settings, so that its output is the same everywhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from workbook.common import inherited
from workbook.common.paths import ROOT
from workbook.machine import setup

PATIENCE_S = 120.0  # seconds: the first access to a clone on a slow disk takes long

# Another user may own the clone. Running its Python code already trusts it.
SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def git(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git without the user's configuration, and without finding a repository above the folder.

    The caller checks the exit code.
    """
    setup.ensure(["git"])
    return _run(arguments, cwd, stdin)


def answer(*arguments: str, cwd: Path = ROOT) -> str | None:
    """Returns git's output, stripped; None if git fails or is missing, or there is no clone."""
    try:
        done = _run(arguments, cwd, timeout=PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None


def _run(arguments: Sequence[str], cwd: Path, stdin: bytes = b"",
         timeout: float | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = dict(os.environ)
    inherited.clean(environment)
    environment |= {**SETTINGS, "GIT_CEILING_DIRECTORIES": str(cwd.parent), "LC_ALL": "C"}
    return subprocess.run(["git", *arguments], cwd=cwd, input=stdin, capture_output=True,
                          env=environment, timeout=timeout)
