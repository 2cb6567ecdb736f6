"""Results for a person: tables in the terminal, and one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbook.errors import UserError
from workbook.load import Phase, PhaseResult
from workbook.paths import BUILD, COMMAND, shown, write_atomically

REPORT = BUILD / "report"
TEMPLATES = Path(__file__).parent / "templates"
NAIVE, FLOOR = "01-naive", "floor"
RATE = "requests_per_second"
COSTS = ("syscalls", "allocations", "instructions")
NONE = "–"


def write(results: dict[str, Any]) -> Path:
    """Write ladder.json and the page beside it, each whole or not at all; returns the page."""
    page = REPORT / "index.html"
    text = html(results)
    try:
        write_atomically(REPORT / "ladder.json", json.dumps(results, indent=2) + "\n")
        write_atomically(page, text)
    except OSError as error:
        raise UserError(f"the report cannot be written to {shown(REPORT)}: {error.strerror}",
                        f"make room there (df -h {shown(BUILD)}), then run {COMMAND} bench again"
                        ) from None
    return page


def html(results: dict[str, Any]) -> str:
    """The page: chart, tables, machine and method. Asks for nothing over the network."""
    import jinja2

    from workbook import charts

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(number=_number, times=_times)
    phases = list(results["method"]["phases"])
    return environment.get_template("report.html.j2").render(
        results=results, phases=phases, what=charts.WHAT,
        charts={phase: jinja2.utils.markupsafe.Markup(charts.ladder(results, phase))
                for phase in phases if phase != "warm-up"},
        ratios={name: {phase: _ratios(results, name, phase) for phase in phases}
                for name in results["servers"]},
        missing=list(_missing(results)), headline=_headline(results))


def print_phases(name: str, phases: Sequence[Phase], results: Sequence[PhaseResult]) -> None:
    """One server's stress test."""
    table = _table("", "clients", "requests/s", "p50 ms", "p99 ms", "CPU µs", "peak MiB", "errors")
    for phase, result in zip(phases, results, strict=True):
        figures = (result.requests_per_second, result.p50_ms, result.p99_ms,
                   result.cpu_us_per_request, result.peak_rss_mib)
        table.add_row(result.phase, f"{phase.connections:,}", *map(_number, figures),
                      _number(sum(result.errors.values())))
    print(f"{name} under load; CPU: the server's own, per request\n")
    _print(table, [f"no figure for {result.phase}: {result.reason}" for result in results
                   if result.reason]
           + [f"{result.phase}: {result.note}" for result in results if result.note])


def print_ladder(results: dict[str, Any]) -> None:
    """What each server costs and how fast it is, in two tables of at most 100 columns."""
    phases = list(results["method"]["phases"])
    loads = [phase for phase in phases if phase != "warm-up"]
    rates = _table("", "calls", "allocs", "instr.", *(f"{phase}" for phase in phases), "× naive",
                   "× floor")
    prices = _table("", *(f"p99 ms\n{phase}" for phase in loads),
                    *(f"CPU µs\n{phase}" for phase in loads), "peak\nMiB", "errors")
    for name, server in results["servers"].items():
        figures = server["phases"]
        rates.add_row(name, *(_number(server["costs"][cost]) for cost in COSTS),
                      *(_number(figures[phase][RATE]) for phase in phases),
                      *map(_times, _ratios(results, name, "baseline")))
        peaks = [figures[phase]["peak_rss_mib"] or 0 for phase in phases]
        prices.add_row(name, *(_number(figures[phase]["p99_ms"]) for phase in loads),
                       *(_number(figures[phase]["cpu_us_per_request"]) for phase in loads),
                       _number(max(peaks) or None),
                       _number(sum(sum(figures[phase]["errors"].values()) for phase in phases)))
    _print(rates, [f"System calls, heap allocations and instructions: counted, per GET /. Then "
                   f"requests/s by phase,\nmedian of {results['method']['rounds']} rounds, and the "
                   "baseline beside the naive server and the floor."])
    _print(prices, ["CPU: the server's own, per request.", *_missing(results)])


def _headline(results: dict[str, Any]) -> str:
    """What the ladder comes to, in a sentence; empty when an end of it is missing."""
    rungs = [name for name in results["servers"] if name not in (FLOOR, NAIVE)]
    if not rungs or NAIVE not in results["servers"]:
        return ""
    last = rungs[-1]
    parts = []
    for phase, words in (("baseline", "a plain page"), ("headers", "a page asked for with a large "
                                                        "header"), ("heavy", "a large body")):
        naive, _ = _ratios(results, last, phase)
        if naive:
            parts.append(f"{words} {_times(naive)}")
    return f"{last} serves {', '.join(parts)} as fast as {NAIVE}." if parts else ""


def _ratios(results: dict[str, Any], name: str, phase: str) -> tuple[float | None, float | None]:
    """How fast beside the naive server and beside the floor."""
    def rate(server: str) -> float | None:
        return results["servers"].get(server, {"phases": {}})["phases"].get(phase, {}).get(RATE)

    own = rate(name)
    naive, floor = (own / other if own and (other := rate(server)) else None
                    for server in (NAIVE, FLOOR))
    return naive, floor


def _missing(results: dict[str, Any]) -> Any:
    for name, server in results["servers"].items():
        for phase, figures in server["phases"].items():
            if figures["reason"]:
                yield f"no figure for {name}, {phase}: {figures['reason']}"
        for cost, reason in server["costs"].get("skipped", {}).items():
            yield f"{cost} of {name} were not counted: {reason}"


def _number(value: float | None) -> str:
    """About three digits."""
    if value is None:
        return NONE
    if value >= 1e6:
        return f"{value / 1e6:,.2f}M"
    digits = 0 if value >= 100 or float(value).is_integer() else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return NONE
    if ratio < 0.1:
        return f"{ratio:.1g}×"
    return f"{ratio:,.{0 if ratio >= 10 else 1 if ratio >= 2 else 2}f}×"


def _table(first: str, *columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False,
                  padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _print(table: Any, remarks: Sequence[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(table)
    for remark in remarks:
        console.print(Text(remark, style="dim"))
    console.print()
