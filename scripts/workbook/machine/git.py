"""Git without the settings of its user, so that its output is the same everywhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from workbook.common import inherited
from workbook.common.paths import ROOT
from workbook.machine import setup

PATIENCE_S = 120.0  # for the first look at a clone on a slow disk

# Another user may own the clone; running its Python code means that it is trusted already.
SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def git(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git without a user's configuration, and without a repository above the folder.

    The caller judges its exit code.
    """
    setup.ensure(["git"])
    return _run(arguments, cwd, stdin)


def answer(*arguments: str, cwd: Path = ROOT) -> str | None:
    """What git prints about a clone, stripped; None if it fails, or there is no git or no clone."""
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
