"""Run the project's own tests: all of them, four at a time, and then the failed ones again, one at
a time.

A test that fails in parallel and passes alone met a busy machine, or is itself at fault. Such tests
don't fail the run unless there are many, and are listed at the end with both outcomes. A test that
fails twice fails the run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import ROOT, VENV
from workbook.machine import git

# Many tests wait most of the time, so four run at once. Each of the four processes takes whole
# groups of tests: see tests/scheduling.py.
TOGETHER = ("-n", "4", "--dist", "loadgroup", "--no-loadscope-reorder")
MAX_RETRIED = 16  # more failures are no coincidence, and none is retried
RETRIES_ALLOWED = 5  # more retries than this fail the run; the goal is 1

ALL_PASSED, SOME_FAILED, NO_TESTS = 0, 1, 5  # pytest's exit codes


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run of pytest: ids, with the text of each failure and the reason for each
    skip. `verdict` is pytest's exit code.
    """

    verdict: int
    passed: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()  # because time ran out

    def of(self, test: str) -> str:
        """Returns the outcome of this test in words."""
        if test in self.failed:
            return f"failed: {self.failed[test]}"
        if test in self.skipped:
            return f"skipped: {self.skipped[test]}"
        return "passed" if test in self.passed else "not run"


def run(arguments: Sequence[str], root: Path = ROOT, since: str = "", rest: bool = False) -> int:
    """Run the tests, with these arguments for pytest; returns the exit code.

    `since` a commit: only the tests that changes since the merge base with it can affect, or with
    `rest` all others. Raises UserError if there is no such commit.
    """
    chosen = _chosen(since, rest, root) if since else ()
    if any(_is_file(argument.partition("::")[0]) for argument in arguments):
        first, second = _pytest(root, *chosen, *arguments), None
    else:
        first = _pytest(root, str(_tests(root)), *TOGETHER, *chosen, *arguments)
        second = _second_run(first, root, arguments)
    _report(first, second)
    nothing_to_run = bool(since) and first.verdict == NO_TESTS
    return ALL_PASSED if nothing_to_run else _verdict(first, second)


def _is_file(name: str) -> bool:
    """Whether there is such a file. An expression may be too long for a file's name."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def _chosen(since: str, rest: bool, root: Path) -> tuple[str, str]:
    """Returns the options of tests/affected.py."""
    done = git.git("merge-base", "HEAD", since, cwd=root)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip() or "the two have no commit in common"
        raise UserError(f"there is no change since {since}: {reason}",
                        "name a commit or branch of this clone, such as origin/main, and fetch its "
                        "history if the clone is shallow")
    return ("--not-affected-since" if rest else "--affected-since"), done.stdout.decode().strip()


def _second_run(first: Outcome, root: Path, arguments: Sequence[str]) -> Outcome | None:
    """Run the failed tests again, one at a time; None if none failed, or too many."""
    if first.verdict != SOME_FAILED or not 0 < len(first.failed) <= MAX_RETRIED:
        return None
    print(f"\nOnce more, alone, what failed ({len(first.failed)}):", *first.failed, "", sep="\n",
          flush=True)
    # pytest would otherwise collapse consecutive slashes in a parametrized test's id
    return _pytest(root, *(f"{root}/{test}" for test in first.failed), *arguments)


def _verdict(first: Outcome, second: Outcome | None) -> int:
    if second is None:
        return first.verdict
    if second.verdict != ALL_PASSED:
        return second.verdict
    every = set(first.failed) <= set(second.passed)
    return ALL_PASSED if every and len(first.failed) <= RETRIES_ALLOWED else SOME_FAILED


def _report(first: Outcome, second: Outcome | None) -> None:
    """Print the retried and the omitted tests by name, and their numbers in the last line."""
    retried = list(first.failed) if second else []
    if second:
        print(f"\nneeded a second run, alone: {len(retried)}; "
              f"more than {RETRIES_ALLOWED} fail the run")
        for test in retried:
            print(f"{test}\n    first run:  {first.of(test)}\n    second run: {second.of(test)}")
    if first.left_out:
        print("\nleft out for lack of time; test --long runs them in any case:",
              *sorted(first.left_out), sep="\n")
    recovered = [test for test in retried if second and test in second.passed]
    print(f"\nin all: {len(first.passed) + len(recovered)} passed, "
          f"{len(first.failed) - len(recovered)} failed, {len(retried)} needed a second run, "
          f"{len(first.left_out)} left out for lack of time", flush=True)


def _pytest(root: Path, *arguments: str) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="hotpath-test-") as folder:
        file = Path(folder) / "outcomes.json"
        environment = {**os.environ, "HOTPATH_OUTCOMES": str(file),  # see tests/outcomes.py
                       "HOTPATH_BEGAN": str(time.time())}  # see tests/lengths.py
        child = children.start([str(VENV / "bin" / "python"), "-m", "pytest",
                                "-c", str(_tests(root) / "pytest.ini"), f"--rootdir={root}",
                                *arguments], start_new_session=True, env=environment)
        verdict = _waited_for(child)
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return Outcome(verdict, **found)


def _waited_for(child: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # pytest and its workers stop their children, and report the rest
            os.killpg(child.pid, signal.SIGINT)


def _tests(root: Path) -> Path:
    return root / "scripts" / "tests"
