"""Shows the ladder on standard error while it's measured: a table that fills, or without a terminal
a line for each event, and at least one every ten seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from workbook.figures import report
from workbook.measure import costs
from workbook.measure.ladder import Subject
from workbook.measure.load import PhaseResult

SILENCE_S = 9.0
SHOWN_PHASE = "baseline"


class LiveLadder:
    """A `ladder.Display`. Its methods may be called from several threads."""

    def __init__(self, servers: Sequence[Subject], clock: Callable[[], float] = time.monotonic,
                 console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._clock = clock
        self._started = self._spoken = clock()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._names = [server.name for server in servers]
        self._counts: dict[str, costs.Costs] = {}
        self._loads: dict[str, list[PhaseResult]] = {name: [] for name in self._names}
        self._building = self._doing = self._remark = ""
        self._live = Live(console=self._console, get_renderable=self._render, transient=True,
                          refresh_per_second=4)
        self._watch = threading.Thread(target=self._break_silence, daemon=True)

    def __enter__(self) -> LiveLadder:
        if self._console.is_terminal:
            self._live.start()
        else:
            self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._console.is_terminal:
            self._live.stop()
        else:
            self._watch.join()

    def building(self, what: str) -> None:
        self._building = what

    def doing(self, what: str) -> None:
        self._doing = what

    def counted(self, server: Subject, counted: costs.Costs) -> None:
        self._counts[server.name] = counted
        self._say(f"{server.name}: " + ", ".join(
            f"{report.number(counted[measure])} {measure.unit}" for measure in costs.ALONE))

    def loaded(self, server: Subject, round_number: int, result: PhaseResult) -> None:
        if result.phase != SHOWN_PHASE:
            return
        self._loads[server.name].append(result)
        self._say(f"round {round_number}, {server.name}: " + (
            result.reason and f"no figure: {result.reason}"
            or f"{report.number(result.requests_per_second)} requests/s, "
               f"{report.number(result.cpu_us_per_request)} µs of processor time per request"))

    def remark(self, text: str) -> None:
        """Show the reader a note while measuring continues."""
        self._remark = text
        self._say(text)

    def _say(self, text: str) -> None:
        """Print a line if there is no terminal."""
        if self._console.is_terminal:
            return
        with self._lock:
            self._spoken = self._clock()
            print(f"{self._elapsed()}  {text}", file=sys.stderr, flush=True)

    def _break_silence(self) -> None:
        while not self._over.wait(0.5):
            if self._clock() - self._spoken > SILENCE_S:
                self._say(self._activity() or "starting")

    def _activity(self) -> str:
        return " · ".join(filter(None, (self._doing, self._building)))

    def _elapsed(self) -> str:
        minutes, seconds = divmod(round(self._clock() - self._started), 60)
        return f"{minutes}:{seconds:02}"

    def _render(self) -> Any:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("one GET /", no_wrap=True)
        for head in (*(measure.name for measure in costs.ALONE), "requests/s", "CPU µs"):
            table.add_column(head, justify="right", no_wrap=True)
        for name in self._names:
            table.add_row(name, *self._row(name))
        lines = [Text(f"{self._elapsed()}  {self._activity()}", style="dim", overflow="ellipsis",
                      no_wrap=True)]
        if self._remark:
            lines.append(Text(self._remark, style="yellow"))
        return Group(table, *lines)

    def _row(self, name: str) -> list[str]:
        counted = self._counts.get(name)
        counts = [report.number(counted[measure]) if counted else ""
                  for measure in costs.ALONE]
        last = self._loads[name][-1] if self._loads[name] else None
        times = ["", ""] if last is None else [report.number(last.requests_per_second),
                                               report.number(last.cpu_us_per_request)]
        return [*counts, *times]
