"""Charts of the small experiments, each from one file of book/results."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import Any

from matplotlib.axes import Axes

from workbook.figures.charts import (
    ACCENT,
    BASELINE,
    COOL,
    INK,
    LINE,
    MIDDLE,
    MUTED,
    REACH,
    SMALL_TEXT,
    TEXT,
    TOP,
    drawing,
)
from workbook.figures.recorded import significant

PANEL = 4.2  # height of a panel of lines, in rows
MARGIN = 0.13  # of a panel's width, for the numbers on its left
EDGE = 4  # space above or below a drawing without text there
LINE_LENGTH = 45  # in characters; a longer one is set smaller
NEAR = 0.055  # of a panel's height: names that are closer together than this are merged
LOADS = {"plain": "short requests", "header": "requests with a field of 30 kB"}
ANEW = ("01", "02", "03", "04")  # the steps with a connection for each request
KEPT = ("05", "06", "07", "08")  # the steps whose connections stay

Found = Mapping[str, Any]
Rows = Mapping[str, Mapping[str, Any]]


def bars(found: Found, name: str, arguments: Sequence[str]) -> str:
    """Draw one or two columns of an experiment as bars from 0, with their figures. An argument with
    a minus in front names a row to leave out, because it is of another kind.
    """
    rows, columns = _asked(found, arguments)
    titles = [_plain(found["columns"][column]) for column in columns]
    title = _capital(" and ".join(titles))
    largest = max(_number(row, column) for row in rows.values() for column in columns)
    with drawing(len(rows), f"{name}-{'-'.join(columns)}", top=TOP if len(columns) > 1 else EDGE,
                 bottom=EDGE) as (axes, svg):
        _bare(axes, len(rows), 0, largest * 1.02, [])
        _legend(axes, titles)
        for number, row in enumerate(rows.values()):
            _label(axes, number, row, " · ".join(_shown(row, column) for column in columns))
            for column, colour, y in zip(columns, (ACCENT, COOL), _within(len(columns)),
                                         strict=False):
                axes.barh(number + y, _number(row, column), REACH, color=colour)
                if not _number(row, column):  # without a bar the figure would seem to be missing
                    axes.plot([0, 0], [number + y - REACH / 2, number + y + REACH / 2],
                              color=colour, linewidth=1.5, clip_on=False)
    return svg(title, _in_words(rows, lambda row: " and ".join(
        _shown(row, column) for column in columns)))


def shares(found: Found, name: str, _: Sequence[str] = ()) -> str:
    """Draw the kernel's and the server's own share of each request as one bar from 0 to 100 %."""
    rows = found["rows"]
    with drawing(len(rows), name) as (axes, svg):
        _bare(axes, len(rows), 0, 100, [0, 25, 50, 75, 100], "% of a request’s processor time")
        _legend(axes, ("the kernel’s", "the server’s own"), (COOL, ACCENT))
        for number, row in enumerate(rows.values()):
            kernel = _number(row, "plain_kernel")
            _label(axes, number, row, f"{_shown(row, 'plain_us')} µs, {kernel:.0f} % in the kernel")
            axes.barh(number + MIDDLE, kernel, REACH, color=COOL)
            axes.barh(number + MIDDLE, 100 - kernel, REACH, left=kernel, color=ACCENT)
    return svg("Where the processor time of a GET / goes", _in_words(rows, lambda row: (
        f"{_shown(row, 'plain_us')} µs, of which the kernel {_shown(row, 'plain_kernel')} %")))


def next_to(found: Found, name: str, loads: Sequence[str]) -> str:
    """Draw processor time per request of steps 5 to 8 relative to the floor's in the same round."""
    load, = loads
    return ratios({**found, "rows": {key: row for key, row in found["rows"].items()
                                     if row["label"] in KEPT}},
                  name, [f"{load}_{part}" for part in ("least", "ratio", "most")],
                  "Processor time a request of steps 5 to 8, times the floor’s (the upright lines), "
                  f"{LOADS[load]}", "times the floor’s, median and range")


def _asked(found: Found, arguments: Sequence[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the rows without those that an argument such as `-05` removes, and the columns."""
    rows, columns = dict(found["rows"]), []
    for argument in arguments:
        if argument.startswith("-"):
            del rows[argument[1:]]  # KeyError if there is none
        else:
            columns.append(argument)
    return rows, columns


def ratios(found: Found, name: str, arguments: Sequence[str], title: str = "",
           label: str = "") -> str:
    """Draw ratios with their ranges, from three columns (low, middle, high), and a line at 1."""
    rows, (minimum, middle, maximum) = _asked(found, arguments)
    heading = _plain(found["columns"].get(middle, ""))
    bounds = (minimum, middle, maximum)
    every = [1.0, *(_number(row, column) for row in rows.values() for column in bounds)]
    logarithmic = max(every) > 5 * min(every)
    location = math.log10 if logarithmic else float
    low, high = location(min(every)), location(max(every))
    space = 0.06 * (high - low)
    with drawing(len(rows), f"{name}-{middle}", top=EDGE) as (axes, svg):
        ticks = [] if logarithmic else _round_steps(low, high)
        _bare(axes, len(rows), low - space, high + space, ticks,
              label or heading.lower() + ", logarithmic" * logarithmic)
        if logarithmic:
            decades = range(math.ceil(low), math.floor(high) + 1)
            axes.set_xticks(decades, [f"{10.0 ** decade:g}" for decade in decades])
        for number, row in enumerate(rows.values()):
            y = number + MIDDLE
            _label(axes, number, row, f"{_rounded(row, middle)}×",
                   f"{_rounded(row, minimum)} to {_rounded(row, maximum)}")
            axes.plot([location(1), location(1)], [y - REACH, y + REACH], color=INK, linewidth=4)
            axes.plot([location(_number(row, minimum)), location(_number(row, maximum))], [y, y], color=COOL,
                      linewidth=3)
            axes.plot([location(_number(row, middle))], [y], "o", color=ACCENT, markersize=12,
                      clip_on=False)
    return svg(title or f"{heading} (the upright lines are 1)",
               _in_words(rows, lambda row: (f"{_rounded(row, middle)} times, from "
                                            f"{_rounded(row, minimum)} to {_rounded(row, maximum)}")))


def _rounded(row: Mapping[str, Any], column: str) -> str:
    """Return a ratio with two decimals if it is near 1, because the rounds differ by more."""
    value = _number(row, column)
    return f"{value:.2f}" if 0.2 < value < 10 else _shown(row, column)


def use(ladder: Found, phase: str = "baseline") -> str:
    """Draw how busy the floor, each server of part I and wrk kept their processors, in percent.

    A record without wrk's processor time gives the servers' bars alone.
    """
    cores, wrk_cores = (len(ladder["method"][f"{side}_cores"]) for side in ("server", "client"))
    rows = {name: {"label": name, **server["phases"][phase]}
            for name, server in ladder["servers"].items()
            if (name == "floor" or name[:2] in ANEW) and server["phases"][phase]["requests_per_second"]}

    def percent(row: Mapping[str, Any], time: str, of: int) -> float:
        return float(row["requests_per_second"] * row[f"{time}_us_per_request"] / 1e4 / of)

    with_wrk = all("wrk_us_per_request" in row for row in rows.values())
    busy = {name: [percent(row, "cpu", cores), *([percent(row, "wrk", wrk_cores)] * with_wrk)]
            for name, row in rows.items()}
    shown = {name: " · ".join(f"{each:.0f} %" for each in bars) for name, bars in busy.items()}
    with drawing(len(rows), f"use-{phase}", top=TOP if with_wrk else EDGE) as (axes, svg):
        _bare(axes, len(rows), 0, max(104.0, *(each for bars in busy.values() for each in bars)),
              [0, 25, 50, 75, 100], "% of its processors’ time")
        _legend(axes, ("the server", "wrk")[:1 + with_wrk])
        for number, (name, row) in enumerate(rows.items()):
            _label(axes, number, row, f"{shown[name]} at {_shown(row, 'requests_per_second')}/s")
            for each, colour, y in zip(busy[name], (ACCENT, COOL), _within(len(busy[name])),
                                       strict=False):
                axes.barh(number + y, each, REACH, color=colour)
    return svg(f"How busy {'both programs were' if with_wrk else 'the server was'} in the {phase}, "
               "and how many requests a second the server answered",
               "; ".join(f"{name} {shown[name]} at {_shown(row, 'requests_per_second')} "
                         "requests a second" for name, row in rows.items()) + ".")


def times(ladder: Found, phase: str, steps: Sequence[str]) -> str:
    """Draw the server's processor time per request of some steps under one load, from 0."""
    servers = ladder["servers"]
    rows = {step: {"label": step.partition("-")[0],
                   "us": servers[step]["phases"][phase]["cpu_us_per_request"]} for step in steps}
    return bars({"columns": {"us": f"The server’s µs per request in the {phase}"}, "rows": rows},
                f"times-{phase}", ["us"])


def _bare(axes: Axes, rows: int, low: float, high: float, ticks: Sequence[float],
          label: str = "") -> None:
    """Set up axes for rows of bars, the first on top, with a grid line for each tick."""
    axes.set_xlim(low, high)
    axes.set_ylim(rows, 0)
    axes.set_frame_on(False)
    axes.yaxis.set_visible(False)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    if ticks and ticks[0] == low:
        axes.get_xticklabels()[0].set_horizontalalignment("left")
    if ticks and ticks[-1] == high:
        axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.tick_params(length=0, labelsize=SMALL_TEXT, labelcolor=MUTED, pad=4)
    axes.grid(axis="x", color=LINE, linewidth=1)
    axes.set_axisbelow(True)
    axes.set_xlabel(label, color=MUTED, fontsize=SMALL_TEXT, labelpad=1)


def _legend(axes: Axes, names: Sequence[str], colours: Sequence[str] = (ACCENT, COOL)) -> None:
    """Write what the colours mean above the chart; nothing if there is only one."""
    if len(names) < 2:
        return
    for name, colour, at, align in zip(names, colours, (0, 1), ("left", "right"), strict=False):
        text = f"■ {name}"
        axes.annotate(text, (at, 1), xycoords="axes fraction", xytext=(0, TOP / 2),
                      textcoords="offset points", color=colour, ha=align, va="baseline",
                      fontsize=SMALL_TEXT, annotation_clip=False)


def _label(axes: Axes, number: int, row: Mapping[str, Any], figures: str, more: str = "") -> None:
    """Write name and figures of a row on one line, with `more` figures if there is room."""
    left, right = axes.get_xlim()
    label = _name(row)
    if more and len(label) + len(figures) + len(more) + 3 < LINE_LENGTH:
        figures = f"{figures} ({more})"
    size = TEXT * min(1.0, LINE_LENGTH / (len(label) + len(figures) + 1))
    for text, at, align in ((label, left, "left"), (figures, right, "right")):
        axes.text(at, number + BASELINE, text, color=INK, va="baseline", ha=align, fontsize=size)


def _within(count: int) -> tuple[float, ...]:
    """Return the vertical positions of a row's bars."""
    return (MIDDLE,) if count == 1 else (MIDDLE - REACH / 2, MIDDLE + REACH / 2 + 0.03)


def _round_steps(low: float, high: float) -> list[float]:
    """Return a few ticks in equal, round steps, one of which would be 1."""
    step = next(step for step in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
                if (high - low) / step <= 5)
    return [round(1 + step * number, 2) for number in range(math.ceil((low - 1) / step),
                                                            math.floor((high - 1) / step) + 1)]


def _number(row: Mapping[str, Any], column: str) -> float:
    """Return a figure. ValueError if it is missing: an incomplete chart would look complete."""
    value = row[column]
    if not isinstance(value, (int, float)):
        raise ValueError(f"{row['label']} has no figure for {column}")
    return value


def _shown(row: Mapping[str, Any], column: str) -> str:
    """Format a figure with its significant digits, and without an empty fraction."""
    value = significant(_number(row, column), column)
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value}"


def _name(row: Mapping[str, Any]) -> str:
    """Return a row's name. A chapter's bare number becomes “step N”, because it would look like a
    figure; how a benchmark counts its time is left out, because it is stated in another place.
    """
    name = re.sub(r"^0?(\d{1,2})(?=$|,)", r"step \1", _plain(row["label"]))
    name = re.sub(r"/(?:real_time|process_time|iterations:\d+)", "", name)
    return re.sub(r"/threads:(\d+)", r", \1 threads", name)


def _plain(text: str) -> str:
    """Return the text without HTML."""
    return unescape(re.sub(r"<[^>]+>", "", text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _in_words(rows: Rows, show: Callable[[Mapping[str, Any]], str]) -> str:
    return "; ".join(f"{_name(row)}: {show(row)}" for row in rows.values()) + "."
