"""Results for a reader: tables in the terminal, and one self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, COMMAND, shown, write_atomically
from workbook.measure import costs
from workbook.measure.ladder import NOT_MEASURED
from workbook.measure.load import Phase, PhaseResult

REPORT = BUILD / "report"
TEMPLATES = Path(__file__).parent / "templates"
NAIVE, FLOOR = "01-naive", "floor"
RATE = "requests_per_second"
NONE = "–"
BUSY_PERCENT = 10  # of all processors, from which on we report other programs' use


def write(results: dict[str, Any]) -> Path:
    """Write ladder.json and the page next to it, each atomically; returns the page."""
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
    """Return the page: chart, tables, machine and method. It loads nothing over the network."""
    import jinja2
    import markupsafe

    from workbook.figures import charts, colours, machines

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(number=number, times=_times)
    phases = list(results["method"]["phases"])
    known = machines.beside(results)
    return environment.get_template("report.html.j2").render(
        results=results, phases=phases, costs=costs.LABELS, what=charts.WHAT,
        light=colours.css("light"), dark=colours.css("dark"),
        charts={phase: markupsafe.Markup(charts.ladder(results, phase))
                for phase in phases if phase != "warm-up" and _is_timed(results, phase)},
        machines=known and markupsafe.Markup(charts.machines(known)),
        recorded=known[1] if known else None,
        ratios={name: {phase: _ratios(results, name, phase) for phase in phases}
                for name in results["servers"]},
        missing=list(_missing(results)), headline=_headline(results))


def print_phases(name: str, phases: Sequence[Phase], results: Sequence[PhaseResult]) -> None:
    """Print the results of one server's stress test."""
    table = _table("", "clients", "requests/s", "p50 ms", "p99 ms", "CPU µs", "peak MiB",
                   "slowest", "errors")
    for phase, result in zip(phases, results, strict=True):
        figures = (result.requests_per_second, result.p50_ms, result.p99_ms,
                   result.cpu_us_per_request, result.peak_rss_mib, result.slowest_share)
        table.add_row(result.phase, f"{phase.connections:,}", *map(number, figures),
                      number(sum(result.errors.values())))
    _print(f"{name} under load. CPU: the server's own, per request. Slowest: what the client with "
           "the least received, as a share of the median.", table,
           [f"no figure for {result.phase}: {result.reason}" for result in results
            if result.reason]
           + [f"{result.phase}: {result.note}" for result in results if result.note])


def print_ladder(results: dict[str, Any]) -> None:
    """Print three tables for 80 columns: counted costs, rates, and latency with processor time."""
    phases = list(results["method"]["phases"])
    loads = [phase for phase in phases if phase != "warm-up"]
    counted = _table("", *(measure.name for measure in costs.ALONE), "peak MiB", "errors")
    rates = _table("", *phases, "× naive", "× floor")
    prices = _table("", *(f"p99 ms\n{phase}" for phase in loads),
                    *(f"CPU µs\n{phase}" for phase in loads))
    for name, server in results["servers"].items():
        figures = [server["phases"][phase] for phase in phases]
        loaded = [server["phases"][phase] for phase in loads]
        peak = max((f["peak_rss_mib"] for f in figures if f["peak_rss_mib"]), default=None)
        errors = sum(sum(f["errors"].values()) for f in figures)
        counted.add_row(name, *(number(server["costs"][measure.figure])
                                for measure in costs.ALONE), number(peak),
                        number(errors))
        rates.add_row(name, *(number(f[RATE]) for f in figures),
                      *map(_times, _ratios(results, name, "baseline")))
        prices.add_row(name, *(number(f["p99_ms"]) for f in loaded),
                       *(number(f["cpu_us_per_request"]) for f in loaded))
    _print("One GET /, counted. Memory and errors: under load.", counted)
    remarks = list(_missing(results))
    if any(_is_timed(results, phase) for phase in phases):
        _print(f"Requests per second, {_rounds(results)}; × in the baseline.", rates, remarks)
        _print("The slowest hundredth of the answers; the server's processor time per request.",
               prices)
    else:
        _print("Nothing was timed.", "", remarks)


def print_files(rows: Mapping[str, Mapping[str, Any]], remarks: Iterable[str]) -> None:
    """Print the µs that one file takes each server, by the file's size."""
    sizes = [size for size in next(iter(rows.values()), {}) if size != "label"]
    table = _table("", *sizes)
    for row in rows.values():
        table.add_row(row["label"], *(number(row[size]) for size in sizes))
    _print("One file, by its size: the server's processor time in µs.", table, remarks)


def _headline(results: dict[str, Any]) -> str:
    """Return a sentence about how much faster than the naive server the fastest one is, judged by a
    plain page. Empty if no page was timed, or the naive server is missing.
    """
    gains = {name: gain for name in results["servers"] if name not in (FLOOR, NAIVE)
             if (gain := _ratios(results, name, "baseline")[0])}
    if not gains:
        return ""
    fastest = max(gains, key=lambda name: gains[name])
    parts = []
    for phase, words in (("baseline", "a plain page"), ("headers", "a page asked for with a large "
                                                        "header"), ("heavy", "a large body")):
        naive, _ = _ratios(results, fastest, phase)
        if naive:
            parts.append(f"{words} {_times(naive)}")
    return f"The fastest, {fastest}, serves {', '.join(parts)} as fast as {NAIVE}."


def _ratios(results: dict[str, Any], name: str, phase: str) -> tuple[float | None, float | None]:
    """Return the rate as a multiple of the naive server's, and of the floor's; None if unknown."""
    def rate(server: str) -> float | None:
        return results["servers"].get(server, {"phases": {}})["phases"].get(  # type: ignore[no-any-return]
            phase, {}).get(RATE)

    own = rate(name)
    naive, floor = (own / other if own and (other := rate(server)) else None
                    for server in (NAIVE, FLOOR))
    return naive, floor


def _is_timed(results: dict[str, Any], phase: str) -> bool:
    return any(server["phases"][phase][RATE] for server in results["servers"].values())


def _rounds(results: dict[str, Any]) -> str:
    rounds = results["method"]["rounds"]
    return f"median of {rounds} rounds" if rounds > 1 else "one round"


def _missing(results: dict[str, Any]) -> Iterator[str]:
    """Yield remarks on what the figures lack: rounds, values, or a quiet machine."""
    rounds = results["method"]["rounds"]
    if rounds == 1:
        yield "the times rest on one round, so small differences between them mean nothing"
    for what, names in _not_measured(results).items():
        yield f"{NOT_MEASURED} it {what} {', '.join(names)}"
    others = results["method"]["others_percent"]
    if others > BUSY_PERCENT:
        yield (f"other programs took {others:.0f} % of the processors meanwhile: on a quiet machine "
               "rates are higher and vary less")
    for name, server in results["servers"].items():
        for phase, figures in server["phases"].items():
            if figures["reason"] not in (None, NOT_MEASURED):
                yield f"no figure for {name}, {phase}: {figures['reason']}"
        for cost, reason in server["costs"].get("skipped", {}).items():
            if reason != NOT_MEASURED:
                yield f"{cost} of {name} were not counted: {reason}"


def _not_measured(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return what an interrupted run did not reach, each with the servers' names."""
    servers = results["servers"].items()
    found = {
        "counted": [name for name, server in servers
                    if NOT_MEASURED in server["costs"]["skipped"].values()],
        "timed": [name for name, server in servers
                  if any(figures["reason"] == NOT_MEASURED
                         for figures in server["phases"].values())],
    }
    return {what: names for what, names in found.items() if names}


def number(value: float | None) -> str:
    """Format with about three digits."""
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


def _print(title: str, table: Any, remarks: Iterable[str] = ()) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(title, style="bold"), table, sep="\n\n")
    for remark in remarks:
        console.print(Text(remark, style="yellow"))
    console.print()
