"""Curves of a cost over a size, from one recorded experiment, with their names at their ends."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from workbook.figures.charts import (
    ACCENT,
    COOL,
    INK,
    MUTED,
    ROW,
    SIDE,
    SMALL_TEXT,
    WIDTH,
    drawing,
    round_ticks,
)
from workbook.figures.charts import LINE as GRID
from workbook.figures.series import Plot

ROWS, TOP = 6, 34  # the height of the plot, in a chart's rows; units above it, without flags
BOTTOM = 50  # units below it
LETTER, DIGIT = 0.56, 0.65  # average width of a letter and of a digit, times the font size
LINE = 1.2 * SMALL_TEXT  # the height of a line of text
GAP, PAD = 10, 9  # units from the end of a curve to its name, and from a scale to its numbers
FEW_SIZES, SHIFT = 8, 7  # see _shifts; units from one curve's range to the next one's
TOGETHER = 5  # ends that are at most this many units apart share one name
NAME_WIDTH = 13  # letters in a line of a name
STYLES = ((ACCENT, "-", "o"), (COOL, "-", "s"), (INK, "--", "^"), (MUTED, ":", "D"))
BACKGROUND = (COOL, "-", "o")  # of the curves that are not highlighted, where some are
UNITS = (("MiB", 1 << 20), ("KiB", 1 << 10))


@dataclass(frozen=True)
class Frame:
    """The plot's position on the drawing, in units, and its range, in coordinates as drawn."""

    left: float
    width: float
    start: float
    end: float
    low: float
    high: float
    height: float = ROWS * ROW

    def x(self, at: float) -> float:
        """Units from the left edge of the drawing."""
        return self.left + self.width * (at - self.start) / (self.end - self.start)

    def y(self, at: float) -> float:
        """Units from the lower edge of the plot."""
        return self.height * (at - self.low) / (self.high - self.low)

    def data(self, right: Sequence[float], up: Sequence[float]) -> tuple[list[float], list[float]]:
        """Convert units right of the plot, and above its lower edge, to coordinates as drawn."""
        return ([self.end + at * (self.end - self.start) / self.width for at in right],
                [self.low + at * (self.high - self.low) / self.height for at in up])


@dataclass(frozen=True)
class Group:
    """Curves that end at the same height, in units, and share one label."""

    y: float
    end: float  # the largest size, in coordinates as drawn
    names: tuple[str, ...]
    colour: str

    @property
    def lines(self) -> list[str]:
        return textwrap.wrap(_joined(self.names), NAME_WIDTH, break_long_words=False)

    @property
    def height(self) -> float:
        return LINE * len(self.lines)


@dataclass(frozen=True)
class Flag:
    """A vertical line with a label above it, and the label's row."""

    x: float
    label: str
    row: int
    bottom: float  # where the line begins
    line: str


def draw(drawn: Plot, name: str, title: str = "") -> str:
    """Return SVG for both themes and for phones; its description has the curves' end values."""
    frame = _frame(drawn)
    flags = _flags(drawn, frame)
    more = LINE * (max((flag.row for flag in flags), default=-1) + 1)
    with drawing(ROWS, name, top=round(TOP + more),
                 bottom=BOTTOM) as (axes, svg):
        _place(axes, drawn, frame, more)
        for flag in flags:
            _draw_flag(axes, flag, frame)
        shifts = _shifts(drawn, frame)
        for series, (colour, line, mark), shift in zip(drawn.series, _styles(drawn), shifts,
                                                       strict=True):
            across = [drawn.x(size) + shift for size, _ in series.points]
            if series.spread:
                low, high = (list(map(drawn.y, ends)) for ends in zip(*series.spread, strict=True))
                if any(shifts):
                    axes.vlines(across, low, high, color=colour, linewidth=3, alpha=0.5,
                                clip_on=False)
                else:
                    axes.fill_between(across, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(across, [drawn.y(cost) for _, cost in series.points], color=colour,
                      linestyle=line, marker=mark, linewidth=2, markersize=6, clip_on=False)
        for size, cost in drawn.crossings:
            axes.plot([drawn.x(size)], [drawn.y(cost)], "o", color=INK, markersize=13,
                      markerfacecolor="none", markeredgewidth=2, clip_on=False)
        _name_ends(axes, drawn, frame)
    return svg(". ".join(filter(None, (title or drawn.title(), drawn.scales()))), in_words(drawn))


def _shifts(drawn: Plot, frame: Frame) -> list[float]:
    """Return by how much each curve is moved to the right, in coordinates as drawn: not at all,
    unless several have ranges at a few sizes. Their bands would cover each other, so the ranges are
    bars, next to each other.
    """
    ranged = [bool(each.spread) for each in drawn.series]
    if sum(ranged) < 2 or max(len(each.points) for each in drawn.series) > FEW_SIZES:
        return [0.0] * len(ranged)
    step = SHIFT * (frame.end - frame.start) / frame.width
    return [(number - (len(ranged) - 1) / 2) * step for number in range(len(ranged))]


def _frame(drawn: Plot) -> Frame:
    """Return the plot's frame, between the numbers of its scale and the curves' names."""
    low, high = _heights(drawn)
    sizes = [drawn.x(size) for each in drawn.series for size, _ in each.points]
    left = max(_width(_number(tick), DIGIT) for tick in _ticks(drawn, low, high)) + PAD + 1
    names = max(_width(line) for group in _groups(drawn, low, high) for line in group.lines)
    inner = (max(sizes) - min(sizes)) * 0.03
    return Frame(left, WIDTH - left - names - GAP - SIDE, min(sizes) - inner, max(sizes), low, high)


def _heights(drawn: Plot) -> tuple[float, float]:
    costs = [drawn.y(cost) for each in drawn.series for cost in (
        *(cost for _, cost in each.points), *(end for ends in each.spread for end in ends))]
    low = 0.0 if "y" in drawn.linear else min(costs)
    space = 0.05 * (max(costs) - low) or 0.5
    return low - (0 if "y" in drawn.linear else space), max(costs) + space


def _ticks(drawn: Plot, low: float, high: float) -> list[float]:
    """Return round costs between these heights."""
    if "y" not in drawn.linear:
        return round_ticks(low, high)
    return [tick for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]


def _place(axes: Axes, drawn: Plot, frame: Frame, more: float) -> None:
    """Set up the plot and its scales. The vertical scale's title is above the flags."""
    _, bottom, _, height = axes.get_position().bounds
    axes.set_position((frame.left / WIDTH, bottom, frame.width / WIDTH, height))
    axes.set_xlim(frame.start, frame.end)
    axes.set_ylim(frame.low, frame.high)
    axes.set_frame_on(False)
    sizes = _apart(drawn, frame)
    axes.set_xticks([drawn.x(size) for size in sizes],
                    [size_in_words(size, drawn.across) for size in sizes])
    ticks = _ticks(drawn, frame.low, frame.high)
    axes.set_yticks([drawn.y(tick) for tick in ticks], [_number(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(length=0, labelsize=SMALL_TEXT, labelcolor=MUTED, pad=PAD)
    axes.grid(axis="y", color=GRID, linewidth=1)
    axes.set_axisbelow(True)
    for text, at, below in ((drawn.up, 1, more + 12), (drawn.across, 0, -42)):
        axes.annotate(text, (0, at), xycoords="axes fraction", xytext=(SIDE - frame.left, below),
                      textcoords="offset points", color=MUTED, fontsize=SMALL_TEXT, ha="left",
                      va="baseline", annotation_clip=False)


def _apart(drawn: Plot, frame: Frame) -> list[float]:
    """Return the sizes whose labels fit on the scale: the last, and those that fit before it."""
    def edges(size: float) -> tuple[float, float]:
        middle = frame.x(drawn.x(size))
        half = _width(size_in_words(size, drawn.across)) / 2
        return middle - half - GAP / 2, middle + half + GAP / 2

    *others, last = sorted({size for each in drawn.series for size, _ in each.points})
    kept: list[float] = []
    for size in others:
        left, right = edges(size)
        if right <= edges(last)[0] and (not kept or left >= edges(kept[-1])[1]):
            kept.append(size)
    return [*kept, last]


def _flags(drawn: Plot, frame: Frame) -> list[Flag]:
    """Return the flags of marks and crossings, in as few rows as possible without overlaps."""
    lines = [(drawn.x(size), f"{name}, {size_in_words(size, drawn.across)}", frame.low, "--")
             for name, size in drawn.marks.items()]
    lines += [(drawn.x(size), f"crossing at {_rounded(size, drawn.across)}", drawn.y(cost), "-")
              for size, cost in drawn.crossings]
    flags: list[Flag] = []
    ends: list[float] = []  # of the rows, in units
    for x, label, bottom, line in sorted(lines):
        left, right = _extent(frame.x(x), label)
        row = next((row for row, end in enumerate(ends) if left > end + GAP), len(ends))
        ends[row:row + 1] = [right]
        flags.append(Flag(x, label, row, bottom, line))
    return flags


def _extent(middle: float, label: str) -> tuple[float, float]:
    """Return both ends of a label that is centred here, or as near as the drawing allows."""
    half = _width(label) / 2
    middle = min(max(middle, half + SIDE), WIDTH - half - SIDE)
    return middle - half, middle + half


def _draw_flag(axes: Axes, flag: Flag, frame: Frame) -> None:
    above = LINE * flag.row + 4
    top = frame.high + above / frame.height * (frame.high - frame.low)
    axes.plot([flag.x, flag.x], [flag.bottom, top], color=MUTED, linestyle=flag.line, linewidth=1,
              clip_on=False)
    left, _ = _extent(frame.x(flag.x), flag.label)
    axes.annotate(flag.label, (0, 1), xycoords="axes fraction", xytext=(left - frame.left, above + 4),
                  textcoords="offset points", color=INK, fontsize=SMALL_TEXT, ha="left",
                  va="baseline", annotation_clip=False)


def _styles(drawn: Plot) -> list[tuple[str, str, str]]:
    """Return colour, line and mark of each curve: in turn, or by whether it is highlighted."""
    if drawn.accent:
        return [STYLES[0] if each.name in drawn.accent else BACKGROUND for each in drawn.series]
    return [STYLES[at % len(STYLES)] for at in range(len(drawn.series))]


def _name_ends(axes: Axes, drawn: Plot, frame: Frame) -> None:
    """Write the curves' names on the right, at the height of each end. Names that would overlap are
    moved apart, and a line leads to each.
    """
    groups = _groups(drawn, frame.low, frame.high)
    places = spread_out([group.y for group in groups], [group.height for group in groups])
    for group, y in zip(groups, places, strict=True):
        before = frame.left + frame.width - frame.x(group.end)
        if abs(y - group.y) > 3 or before > 1:
            xs, ys = frame.data((4 - before, GAP - 2), (group.y, y))
            axes.plot(xs, ys, color=MUTED, linewidth=1, clip_on=False)
        for number, line in enumerate(group.lines):
            up = y + group.height / 2 - LINE * (number + 0.8)
            axes.annotate(line, (1, 0), xycoords="axes fraction", xytext=(GAP, up),
                          textcoords="offset points", color=group.colour, fontsize=SMALL_TEXT,
                          ha="left", va="baseline", annotation_clip=False)


def _groups(drawn: Plot, low: float, high: float) -> list[Group]:
    """Return the curves' ends from the lowest up. Ends of one colour that are hardly apart share a
    label, if it fits on a line.
    """
    height = Frame(0, 1, 0, 1, low, high)
    ends = sorted((Group(height.y(drawn.y(each.points[-1][1])), drawn.x(each.points[-1][0]),
                         (each.name,), style[0])
                   for each, style in zip(drawn.series, _styles(drawn), strict=True)),
                  key=lambda end: end.y)
    groups = [ends[0]]
    for end in ends[1:]:
        last = groups[-1]
        both = Group((last.y * len(last.names) + end.y) / (len(last.names) + 1),
                     max(last.end, end.end), (*last.names, *end.names), end.colour)
        if (end.y - last.y <= TOGETHER and end.colour == last.colour
                and len(_joined(both.names)) <= NAME_WIDTH):
            groups[-1] = both
        else:
            groups.append(end)
    return groups


def _joined(names: Sequence[str]) -> str:
    """Join names, with consecutive numbers as a range: 02, 03, 04 and 15 become “02–04, 15”."""
    runs: list[list[str]] = []
    for name in sorted(names):
        if runs and name.isdecimal() and runs[-1][-1].isdecimal() and (
                int(name) == int(runs[-1][-1]) + 1):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def spread_out(middles: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return middles for blocks of these heights, from the lowest up, so that they do not overlap,
    are not below 0, and move as little as possible. Blocks that touch are moved together.
    """
    stacks: list[tuple[float, float, list[int]]] = []  # middle, height, members
    for number, (middle, height) in enumerate(zip(middles, heights, strict=True)):
        members, middle = [number], max(middle, height / 2)
        while stacks and stacks[-1][0] + stacks[-1][1] / 2 > middle - height / 2:
            below, its_height, earlier = stacks.pop()
            total = below * len(earlier) + middle * len(members)
            height, members = its_height + height, earlier + members
            middle = max(total / len(members), height / 2)
        stacks.append((middle, height, members))
    placed = [0.0] * len(middles)
    for middle, height, members in stacks:
        at = middle - height / 2
        for number in members:
            placed[number] = at + heights[number] / 2
            at += heights[number]
    return placed


def _width(text: str, letter: float = LETTER) -> float:
    return letter * SMALL_TEXT * len(text)


def _number(cost: float) -> str:
    """Format a cost for a scale: 1,000,000 as 1M."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if cost >= size:
            return f"{cost / size:g}{letter}"
    return f"{cost:g}"


def size_in_words(size: float, across: str) -> str:
    """Format a size by the axis's label: 65536 bytes as 64 KiB, and 10000 fields as 10,000."""
    if across.startswith("bytes"):
        for unit, value in UNITS:
            if size >= value and size % value == 0:
                return f"{size / value:g} {unit}"
    return f"{size:,g}" if size < 1e6 else f"{size:,.0f}"


def _rounded(size: float, across: str) -> str:
    """Format an interpolated size with two digits; more would suggest more precision."""
    first = across.split()[0]
    units = UNITS if first == "bytes" else ()
    unit, value = next(((unit, value) for unit, value in units if size >= value), (first, 1))
    return f"{float(f'{size / value:.2g}'):,g} {unit}"


def in_words(drawn: Plot) -> str:
    """Describe what the chart shows: both ends of each curve, the crossings, and the marks."""
    curves = "; ".join(
        f"{each.name} {_exact(each.points[0][1])} at {size_in_words(each.points[0][0], drawn.across)}"
        f" to {_exact(each.points[-1][1])} at {size_in_words(each.points[-1][0], drawn.across)}"
        for each in drawn.series)
    crossings = "".join(f"; a crossing at {_rounded(size, drawn.across)}"
                        for size, _ in drawn.crossings)
    marks = "".join(f"; {name} is {size_in_words(size, drawn.across)}"
                    for name, size in drawn.marks.items())
    return f"{drawn.up} by {drawn.across}: {curves}{crossings}{marks}."


def _exact(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 100 or float(cost).is_integer() else f"{cost:g}"
