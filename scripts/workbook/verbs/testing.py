"""Run the project's own tests: all of them four at a time, and what fails there once more alone.

A test that fails beside others and passes alone met a busy machine, or is at fault itself: it is
named at the end either way, and does not fail the run. What fails twice does.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from workbook.common import children
from workbook.common.paths import ROOT, VENV

# Many of them wait, so four go on at once, each with a group of tests: see tests/scheduling.py.
TOGETHER = ("-n", "4", "--dist", "loadgroup", "--no-loadscope-reorder")
MAX_RETRIED = 16  # where more fail it is no accident

SOME_FAILED = 1  # pytest's exit codes
ALL_PASSED = 0


def run(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Pytest's exit code; the arguments are handed on to it."""
    os.environ["HOTPATH_BEGAN"] = str(time.time())  # see tests/lengths.py
    if any(Path(argument.partition("::")[0]).exists() for argument in arguments):
        return _pytest(root, *arguments)
    verdict = _pytest(root, str(_tests(root)), *TOGETHER, "--cache-clear", *arguments)
    failed = _failed(root)
    if verdict != SOME_FAILED or not 0 < len(failed) <= MAX_RETRIED:
        return verdict
    print(f"\nOnce more, alone, what failed ({len(failed)}):", *failed, "", sep="\n", flush=True)
    verdict = _pytest(root, *(str(root / test) for test in failed), *arguments)
    if verdict == ALL_PASSED:
        print("\nAll others passed. These failed beside them and passed alone; look why:",
              *failed, sep="\n", flush=True)
    return verdict


def _pytest(root: Path, *arguments: str) -> int:
    child = children.start([str(VENV / "bin" / "python"), "-m", "pytest",
                            "-c", str(_tests(root) / "pytest.ini"), f"--rootdir={root}",
                            *arguments], start_new_session=True)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # pytest and its helpers end what they began, and tell the rest
            os.killpg(child.pid, signal.SIGINT)


def _tests(root: Path) -> Path:
    return root / "scripts" / "tests"


def _failed(root: Path) -> list[str]:
    """The tests that failed in this run, without the groups that pytest-xdist puts behind them."""
    kept = root / ".pytest_cache" / "v" / "cache" / "lastfailed"
    failed = json.loads(kept.read_text()) if kept.exists() else {}
    return sorted(test.rpartition("@")[0] or test for test in failed)
