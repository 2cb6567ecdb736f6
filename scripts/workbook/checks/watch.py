"""The progress display while checks run: a line for each current activity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


class Watch:
    """Transient progress lines below what is printed to the same console. Several threads may each
    have a line. Without a console nothing is shown.
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
        """Show a line until the block ends. Call the yielded function after each of the `total`."""
        task = self._progress.add_task(what, total=total, count="")
        counted = count(1)
        try:
            yield lambda: self._progress.update(task, advance=1, count=next(counted))
        finally:
            self._progress.remove_task(task)
