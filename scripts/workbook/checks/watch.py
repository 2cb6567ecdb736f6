"""What those who wait for verdicts are shown: a line for each thing that is being done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


class Watch:
    """Lines that go away, below what is printed meanwhile to the same console. Several threads may
    have something that they do. Without a console nothing is shown.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"),
            console=console, transient=True, disable=console is None,
            redirect_stdout=False, redirect_stderr=False)

    @contextmanager
    def on(self) -> Iterator[None]:
        with self._progress:
            yield

    @contextmanager
    def doing(self, what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """Show it until the block ends; what it gives is to be called after each of the `total`."""
        task = self._progress.add_task(what, total=total, count="")
        counted = count(1)
        try:
            yield lambda: self._progress.update(task, advance=1, count=next(counted))
        finally:
            self._progress.remove_task(task)
