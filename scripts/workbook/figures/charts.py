"""Charts as inline SVG that takes its colours and its font from the page around it."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

WIDTH = 440  # units of the view box; on a phone's 340 pixels the text is still 11 high
TEXT, SMALL_TEXT = 17, 16
ROW, TOP, BOTTOM, SIDE = 48, 34, 44, 6
BASELINE, MIDDLE, REACH = 0.42, 0.72, 0.18  # of a row: text, middle of the mark, its extent
BELOW_TEXT, ABOVE_TEXT = 0.54, 1.12  # of a row: where grid lines begin, and end in the next row
FLOOR_END = 1.04  # of a row: the floor's line is darker than those, so it ends earlier
LABEL_GAP = 0.1  # of a row: where that line begins, below its label and above the first row
LABEL_REACH = 0.18  # of the width: nearer to an edge than this, the floor's label isn't centred

# Placeholders in which matplotlib draws; `_themed` replaces them with the page's colours.
COLOURS = {
    "#000001": "var(--fg, currentColor)",
    "#000002": "var(--muted, currentColor)",
    "#000003": "var(--line, currentColor)",
    "#000004": "var(--accent, currentColor)",
    "#000005": "var(--cool, currentColor)",
}
INK, MUTED, LINE, ACCENT, COOL = COLOURS

WHAT = {
    "warm-up": "GET /, warm-up",
    "baseline": "GET /",
    "headers": "GET / with a header of 10 to 60 kB",
    "heavy": "POST of 1 to 9.4 MB",
}
MEASURED_AS = {"15-tls": "15-tls, without TLS"}  # the ladder measures all over plain HTTP


def ladder(results: dict[str, Any], phase: str = "baseline") -> str:
    """Draw requests per second of every server in one phase, on a logarithmic scale; returns SVG.

    The floor is a line, on a band that its rounds cover. The description gives the reason for a
    server without a figure.
    """
    servers = {name: server["phases"][phase] for name, server in results["servers"].items()
               if phase in server["phases"]}
    lowest = servers.pop("floor", {})
    floor, rounds = lowest.get("requests_per_second"), [one for one in lowest.get("rounds", []) if one]
    with drawing(len(servers), f"ladder-{phase}") as (axes, svg):
        rates = [rate for server in servers.values()
                 for rate in (server["requests_per_second"], *server["rounds"])]
        _scale(axes, [rate for rate in (*rates, floor, *rounds) if rate], len(servers),
               "requests per second, logarithmic")
        _floor_band(axes, rounds, len(servers))
        for row, (name, server) in enumerate(servers.items()):
            _rung(axes, row, name, server, servers.get("01-naive"))
        if floor:
            _floor_line(axes, floor, len(servers))
    return svg(f"Requests per second, {WHAT[phase]}", _in_words(servers, floor, rounds))


def machines(shared: Sequence[Mapping[str, Any]], load: str = "baseline") -> str:
    """Draw processor time per request as a multiple of the floor's: one dot per machine, the first
    of which is the machine of our own ladder.
    """
    steps = {step: [one["ladder"][step]["beside_floor"][load] for one in shared
                    if step in one["ladder"]] for step in shared[0]["ladder"]}
    words = "; ".join(f"{step} " + ", ".join(f"{ratio:.3g}" for ratio in ratios)
                      for step, ratios in steps.items())
    with drawing(len(steps), f"machines-{load}") as (axes, svg):
        _scale(axes, [1.0, *(ratio for ratios in steps.values() for ratio in ratios)], len(steps),
               "processor time a request, times the floor’s, logarithmic")
        left, right = axes.get_xlim()
        for row, (step, (ours, *others)) in enumerate(steps.items()):
            axes.text(left, row + BASELINE, step, color=INK, va="baseline", ha="left")
            axes.text(right, row + BASELINE, f"{ours:.3g}×", color=INK, va="baseline", ha="right")
            middle = row + MIDDLE
            axes.plot([0, math.log10(ours)], [middle, middle], color=ACCENT, linewidth=2)
            axes.plot([math.log10(other) for other in others], [middle] * len(others), "o",
                      color=COOL, markersize=9, clip_on=False)
            axes.plot([math.log10(ours)], [middle], "o", color=ACCENT, markersize=12,
                      clip_on=False)
    return svg(f"Processor time a request beside the floor’s, {WHAT[load]}", f"{words}.")


@contextmanager
def drawing(rows: float, name: str, top: int = TOP, bottom: int = BOTTOM
            ) -> Iterator[tuple[Axes, Callable[[str, str], str]]]:
    """Yield axes for this many rows, and a function that returns the themed SVG, given a title and
    a description. Call it after the block has ended.
    """
    height = round(top + ROW * rows + bottom)
    drawn = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.size": TEXT}):
        figure = Figure(figsize=(WIDTH / 72, height / 72), frameon=False)
        axes = figure.add_axes((SIDE / WIDTH, bottom / height,
                                1 - 2 * SIDE / WIDTH, ROW * rows / height))
        yield axes, lambda title, words: _themed(drawn.getvalue(), name, title, words, height)
        FigureCanvasSVG(figure).print_svg(
            drawn, metadata={"Date": None})  # type: ignore[no-untyped-call]


def _scale(axes: Axes, rates: list[float], rows: int, label: str) -> None:
    """Set up a logarithmic axis from a little below the slowest to a little above the fastest."""
    high = math.log10(max(rates, default=1.0) * 1.08)
    low = min(math.log10(min(rates, default=1.0) * 0.6), high - 0.5)
    axes.set_xlim(low, high)
    axes.set_ylim(rows, 0)
    axes.set_frame_on(False)
    axes.yaxis.set_visible(False)
    ticks = round_ticks(low, high)
    axes.set_xticks([math.log10(tick) for tick in ticks], [f"{tick:,g}" for tick in ticks])
    margin = 0.06 * (high - low)
    if math.log10(ticks[0]) - low < margin:
        axes.get_xticklabels()[0].set_horizontalalignment("left")
    if high - math.log10(ticks[-1]) < margin:
        axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.tick_params(length=0, labelsize=SMALL_TEXT, labelcolor=MUTED, pad=4)
    for row in range(rows):  # not through the text
        axes.vlines([math.log10(tick) for tick in ticks], row + BELOW_TEXT, row + ABOVE_TEXT,
                    color=LINE, linewidth=1, zorder=0.5)
    axes.set_xlabel(label, color=MUTED, fontsize=SMALL_TEXT,
                    labelpad=1)


def round_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten between two logarithms, and multiples of them if these are few."""
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = [step * 10.0 ** decade for decade in range(math.floor(low), math.ceil(high) + 1)
                 for step in steps if low <= math.log10(step) + decade <= high]
        if len(ticks) > 2:
            break
    return ticks


def _rung(axes: Axes, row: int, name: str, server: dict[str, Any],
          naive: dict[str, Any] | None) -> None:
    """Draw name and figure on one line, the mark below it, and the spread of the rounds under the
    mark.

    There is no bar from the edge to the mark, because on a logarithmic axis its length would mean
    nothing.
    """
    left, right = axes.get_xlim()
    rate = server["requests_per_second"]
    baseline = row + BASELINE
    axes.text(left, baseline, MEASURED_AS.get(name, name), color=INK, va="baseline", ha="left")
    axes.text(right, baseline, _label(rate, naive), color=INK if rate else MUTED, va="baseline",
              ha="right")
    if not rate:
        return
    colour = COOL if name.startswith("mine/") else ACCENT
    middle = row + MIDDLE
    spread = [math.log10(value) for value in server["rounds"] if value]
    if len(spread) > 1:
        axes.plot([min(spread), max(spread)], [middle, middle], color=INK, linewidth=2)
    axes.plot([math.log10(rate)], [middle], "o", color=colour, markersize=12, clip_on=False)


def _label(rate: float | None, naive: dict[str, Any] | None) -> str:
    if not rate:
        return "no figure"
    first = naive["requests_per_second"] if naive else None
    return f"{_rounded(rate)}" + (f"  ({_times(rate / first)})" if first else "")


def _floor_band(axes: Axes, rounds: list[float], rows: int) -> None:
    """From the floor's slowest round to its fastest, behind the marks."""
    if len(rounds) > 1:
        left, right = math.log10(min(rounds)), math.log10(max(rounds))
        axes.barh([row + MIDDLE for row in range(rows)], right - left, 2 * REACH, left=left,
                  color=LINE)


def _floor_line(axes: Axes, floor: float, rows: int) -> None:
    """Draw the floor as a line from its label down through the marks, with gaps where it would
    cross the figures.
    """
    at = math.log10(floor)
    for row in range(-1, rows):  # from -1, the piece below the label
        top = row + BELOW_TEXT if row >= 0 else -LABEL_GAP
        axes.plot([at, at], [top, min(row + FLOOR_END, rows)], color=INK, linewidth=2,
                  solid_capstyle="butt", clip_on=False)
    left, right = axes.get_xlim()
    share = (at - left) / (right - left)
    edge = "left" if share < LABEL_REACH else "right" if share > 1 - LABEL_REACH else "center"
    beside = {"left": left, "right": right}.get(edge, at)
    axes.annotate(f"the floor: {_rounded(floor)}", (beside, 0), xytext=(0, 10), color=INK,
                  textcoords="offset points", ha=edge, va="baseline", annotation_clip=False)


def _rounded(rate: float) -> str:
    """Format with three significant digits; more would suggest more precision than we measured."""
    digits = max(0, 2 - math.floor(math.log10(rate)))
    return f"{round(rate, 2 - math.floor(math.log10(rate))):,.{digits}f}"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def _in_words(servers: dict[str, Any], floor: float | None, rounds: list[float]) -> str:
    rungs = [f"{name} {_rounded(server['requests_per_second'])}"
             if server["requests_per_second"] else f"{name} has no figure ({server['reason']})"
             for name, server in servers.items()]
    spread = f", its rounds {_rounded(min(rounds))} to {_rounded(max(rounds))}" if rounds else ""
    return "; ".join(rungs) + (f"; the floor {_rounded(floor)}{spread}." if floor else ".")


def _themed(svg: str, name: str, title: str, description: str, height: int) -> str:
    """Return matplotlib's drawing as inline SVG, with unique ids and the page's style."""
    body = svg[svg.index("<g id="):svg.rindex("</svg>")]
    body = re.sub(r"<defs>.*?</defs>", _without_style, body, flags=re.S)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(href="|url\()#', rf"\1#{name}-", body).replace("xlink:href", "href")
    body = re.sub(r"font-family: [^;\"]+;? ?", "", body)
    for sentinel, colour in COLOURS.items():
        body = body.replace(sentinel, colour)
    return (f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc" style="display: block; width: 100%; '
            f'max-width: {WIDTH * 1.15:.0f}px; height: auto; margin: auto; font-family: inherit">\n'
            f'<title id="{name}-title">{escape(title)}</title>\n'
            f'<desc id="{name}-desc">{escape(description)}</desc>\n{body.strip()}\n</svg>')


def _without_style(defs: re.Match[str]) -> str:
    """Remove matplotlib's style sheet: in inline SVG it would apply to the whole page."""
    return re.sub(r"<style.*?</style>", "", defs[0], flags=re.S)
