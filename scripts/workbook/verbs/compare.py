"""Compare two servers, and print by how much the second is faster."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbook.common import stats
from workbook.common.errors import UserError
from workbook.measure import compare
from workbook.measure.compare import Comparison
from workbook.servers import build


def run(a: Path, b: Path, *, goal: float = 1.0, seconds: float | None = None,
        as_json: bool = False) -> int:
    """Build two checkpoints, compare them, and print the result, in at least `seconds`."""
    if goal <= 0:
        raise UserError(f"a goal of {goal:g} means nothing", "give the ratio that B is to reach")
    first, second = (build.build_server(directory) for directory in (a, b))
    console = Console(stderr=True)
    with console.status("comparing") as status, compare.own_work_named(a, b):
        compared = compare.measure(first, second, seconds=seconds or compare.SECONDS, goal=goal,
                                   on_round=lambda text: status.update(f"comparing: {text}"))
    if as_json:
        print(json.dumps(compared.to_json(), indent=2))
    else:
        _show(compared)
    return 0


def _show(compared: Comparison) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    for _ in range(2):
        table.add_column(justify="right")
    table.add_row(f"A  {compared.a}", f"{compared.a_requests_per_second:,.0f} requests/s")
    table.add_row(f"B  {compared.b}", f"{compared.b_requests_per_second:,.0f} requests/s",
                  f"{compared.ratio:.2f} × A", f"({compared.low:.2f} to {compared.high:.2f})")
    table.add_row("A  again, as control", "", f"{compared.aa_ratio:.2f} × A",
                  f"({compared.aa_low:.2f} to {compared.aa_high:.2f})")
    console = Console(highlight=False)
    console.print(table)
    console.print(Text(f"{stats.CONFIDENCE:.0%} confidence, {compared.rounds} rounds, "
                       f"{compared.seconds:.0f} s; a ratio is of slices that stood next to each "
                       "other, so it may differ from that of the rates", style="dim"))
    colour = {stats.PASS: "green", stats.NOT_YET: "red"}.get(compared.verdict, "yellow")
    console.print(Text(compared.verdict, style=f"bold {colour}"), Text(f"{compared.why}"))
