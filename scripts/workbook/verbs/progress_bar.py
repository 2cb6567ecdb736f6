"""How far a long measurement is, on standard error."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


class ProgressBar:
    """A bar with the time that is left, or a line for each step where there is no terminal."""

    def __init__(self, total_s: float) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(BarColumn(), TimeRemainingColumn(compact=True),
                             TextColumn("{task.description}"), console=self._console,
                             transient=True, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("", total=total_s)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            print("Stopped; nothing was written.", file=sys.stderr)

    def doing(self, what: str) -> None:
        self._bar.update(self._task, description=what)
        if not self._console.is_terminal:
            print(what, file=sys.stderr, flush=True)

    def advance(self, seconds: float) -> None:
        self._bar.advance(self._task, seconds)
