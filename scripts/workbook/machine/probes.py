"""Runs other programs to find out what they are. A program that is missing, fails or hangs gives no
answer; its error message is never taken for one. Standard library only.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.common.paths import BUILD

PATIENCE_S = 20.0
COMPILING_S = 120.0


def answer(command: Sequence[str | Path], codes: Sequence[int] = (0,), stdin: str = "",
           seconds: float = PATIENCE_S) -> str | None:
    """Returns what a program prints to stdout, or else to stderr; None unless it exits in time with
    one of these codes.
    """
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True,
                              errors="replace", timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout.strip() or done.stderr.strip()) if done.returncode in codes else None


def first_line(command: Sequence[str | Path], codes: Sequence[int] = (0,)) -> str:
    """Returns the first line of the answer; empty if there is none. `wrk -v` exits with 1."""
    return (answer(command, codes) or "").partition("\n")[0].strip()


def succeeds(command: Sequence[str | Path], stdin: str = "", seconds: float = PATIENCE_S) -> bool:
    return answer(command, stdin=stdin, seconds=seconds) is not None


@contextmanager
def scratch() -> Iterator[Path]:
    """Yields a temporary folder in which programs can be executed. It's in build/, because programs
    must run there anyway, and some systems mount /tmp with `noexec`.
    """
    try:
        BUILD.mkdir(parents=True, exist_ok=True)
        folder = TemporaryDirectory(prefix=".scratch-", dir=BUILD, ignore_cleanup_errors=True)
    except OSError:  # a read-only checkout
        folder = TemporaryDirectory(ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)
