"""Git without the settings of its user, so that its output is the same everywhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from workbook.machine import setup


def git(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git without a user's configuration, and without a repository above the folder.

    The caller judges its exit code.
    """
    setup.ensure(["git"])
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
                   "GIT_CEILING_DIRECTORIES": str(cwd.parent), "LC_ALL": "C"}
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF"):
        environment.pop(variable, None)
    return subprocess.run(["git", *arguments], cwd=cwd, input=stdin, capture_output=True,
                          env=environment)
