"""What the tests share: the command as a reader runs it, and a look for what it left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from workbook.paths import SCRIPTS

from scratch import make_tiny

Result = subprocess.CompletedProcess[str]
Hotpath = Callable[..., Result]


@pytest.fixture
def hotpath() -> Hotpath:
    """Run a verb of this repository's command, without a terminal."""

    def run(*arguments: str, root: Path | None = None, timeout_s: float = 120,
            **environment: str) -> Result:
        scripts = root / "scripts" if root else SCRIPTS
        return subprocess.run(
            [sys.executable, "-m", "workbook", *arguments], cwd=root, text=True,
            env={**os.environ, "PYTHONPATH": str(scripts), "COLUMNS": "100", **environment},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s)

    return run


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A scratch repository of three checkpoints and a lab, with a copy of our package."""
    shutil.copytree(SCRIPTS / "workbook", tmp_path / "scripts" / "workbook")
    return make_tiny(tmp_path)


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Fail a test that leaves a server or a load generator running."""
    before = _ours()
    yield
    left = _ours() - before
    assert not left, f"still running: {[' '.join(process.cmdline()) for process in left]}"


def _ours() -> set[psutil.Process]:
    return {process for process in psutil.process_iter(["name"])
            if process.info["name"] in ("server", "floor", "wrk", "strace")}


def assert_refused(result: Result, *words: str) -> None:
    """A foreseen failure: a message with these words, a next step, no traceback, not 0."""
    assert result.returncode not in (0, 130), result.stdout
    assert "Traceback" not in result.stderr, result.stderr
    assert "error: " in result.stderr and "next:" in result.stderr, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
