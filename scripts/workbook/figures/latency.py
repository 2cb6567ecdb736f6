"""How latencies are distributed: the time within which each share of the requests was answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from workbook.figures.charts import ACCENT, COOL, INK, LINE, MUTED, SIDE, SMALL_TEXT, drawing

ROWS = 6
LEFT, TOP = 0.14, 62  # of the width; units above
SAMPLE = 30  # units of a curve in the legend
COLOURS = ((ACCENT, "-"), (COOL, "--"), (INK, ":"))
NINES = ("0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %")
Curve = Sequence[Sequence[float]]  # pairs of a share, from 0 to below 1, and ms


def draw(curves: Mapping[str, Curve], title: str) -> str:
    """One or a few distributions as SVG. The horizontal axis is logarithmic in the share of slower
    requests, which falls to a tenth from one mark to the next, so that the slow ones can be
    distinguished. The vertical axis is logarithmic, too.
    """
    with drawing(ROWS, "latency-" + "-".join(curves), top=TOP) as (axes, svg):
        times = [ms for curve in curves.values() for _, ms in curve]
        _plane(axes, min(times), max(times),
               max(1.0, *(_nines(curve[-1][0]) for curve in curves.values())))
        for row, ((label, curve), (colour, line)) in enumerate(zip(curves.items(), COLOURS, strict=False)):
            axes.plot([_nines(share) for share, _ in curve], [math.log10(ms) for _, ms in curve],
                      color=colour, linestyle=line, linewidth=2.5)
            _name(axes, row, label, colour, line)
    return svg(title, _in_words(curves))


def _name(axes: Axes, row: int, label: str, colour: str, line: str) -> None:
    """Draw the legend's entry of a curve above the plot, where there is room for two."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    width, height = (72 * inches for inches in figure.get_size_inches())
    left, at = (row % 2) * 0.5 + SIDE / width, 1 - 14 / height
    figure.add_artist(Line2D([left, left + SAMPLE / width], [at, at], color=colour, linestyle=line,  # type: ignore[arg-type]
                             linewidth=2.5, transform=figure.transFigure))
    figure.text(left + (SAMPLE + 8) / width, at, label, color=colour, ha="left", va="center",
                fontsize=SMALL_TEXT)


def _nines(share: float) -> float:
    """Return the number of nines of a share: 0 for 0, 1 for 0.9, 2 for 0.99 …"""
    return -math.log10(1 - share)


def _plane(axes: Axes, low_ms: float, high_ms: float, nines: float) -> None:
    left, bottom, width, height = axes.get_position().bounds
    axes.set_position((left + LEFT * width, bottom, (1 - LEFT) * width, height))
    axes.set_xlim(0, nines)
    low, high = math.log10(low_ms), math.log10(high_ms)
    axes.set_ylim(low - 0.05 * (high - low) - 0.05, high + 0.05 * (high - low) + 0.05)
    axes.set_frame_on(False)
    whole = range(math.ceil(nines + 0.01))
    axes.set_xticks([at for at in whole if at <= nines], [NINES[at] for at in whole if at <= nines])
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    ticks = [power for power in range(math.floor(low), math.ceil(high) + 1)
             if axes.get_ylim()[0] <= power <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [_ms(10.0 ** power) for power in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(length=0, labelsize=SMALL_TEXT, labelcolor=MUTED, pad=4)
    axes.grid(color=LINE, linewidth=1)
    axes.set_axisbelow(True)
    axes.annotate("latency", (0, 1), xycoords="axes fraction", xytext=(0, 8), color=MUTED,
                  textcoords="offset points", ha="center", va="baseline", fontsize=SMALL_TEXT,
                  annotation_clip=False)
    axes.set_xlabel("of the requests were answered within this time", color=MUTED,
                    fontsize=SMALL_TEXT, labelpad=1)


def _ms(time: float) -> str:
    return f"{time / 1000:g} s" if time >= 1000 else f"{time:g} ms"


def _in_words(curves: Mapping[str, Curve]) -> str:
    return "; ".join(f"{label}: " + ", ".join(
        f"{100 * share:.4g} % within {ms:.3g} ms" for share, ms in curve[::4])
        for label, curve in curves.items()) + "."
