"""The small language in which a page selects curves over a size from a record, and its errors."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import pairwise
from typing import Any, NoReturn

from workbook.figures.recorded import significant


@dataclass(frozen=True)
class Series:
    """Points (size, cost) in order of size, and the spread (lowest, highest) of each if recorded.
    """

    name: str
    points: Sequence[tuple[float, float]]
    spread: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Plot:
    """What a page asks for: the series, the meaning of both axes, and what is highlighted."""

    series: Sequence[Series]
    across: str
    up: str
    marks: Mapping[str, float]  # sizes that explain a bend, such as those of caches, by their names
    crossings: Sequence[tuple[float, float]] = ()
    accent: Sequence[str] = ()
    linear: Sequence[str] = ()  # of "x" and "y"

    def x(self, size: float) -> float:
        return size if "x" in self.linear else math.log10(size)

    def y(self, cost: float) -> float:
        return cost if "y" in self.linear else math.log10(cost)

    def title(self) -> str:
        text = f"{self.up} by {self.across}"
        return text if text.startswith("µ") else text[:1].upper() + text[1:]

    def complain_of_zero(self) -> None:
        """Raise ValueError if a cost cannot be drawn on a logarithmic scale."""
        for each in self.series:
            for size, cost in (*each.points, *((size, low) for (size, _), (low, _) in zip(
                    each.points, each.spread, strict=False))):
                if cost <= 0 and "y" not in self.linear:
                    raise ValueError(f"“{each.name}” is {cost:g} at {size:g}, which a logarithmic "
                                     "scale can't show; use --linear y")

    def scales(self) -> str:
        """Return a sentence that names the logarithmic axes; empty if there are none."""
        named = {(): "Both scales are logarithmic", ("x",): "The vertical scale is logarithmic",
                 ("y",): "The horizontal scale is logarithmic"}
        return named.get(tuple(sorted(set(self.linear))), "")


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def parse(arguments: str) -> tuple[str, argparse.Namespace]:
    """Parse arguments such as `many-fields *.map=02 vector --crossing 02 03`; returns the
    experiment and what to draw of it. ValueError describes what is wrong.
    """
    parser = _Arguments(add_help=False, allow_abbrev=False)
    parser.add_argument("experiment")
    parser.add_argument("series", nargs="+")
    parser.add_argument("--crossing", nargs=2, action="append", default=[])
    parser.add_argument("--accent", nargs="+", default=[])
    parser.add_argument("--linear", nargs="+", choices=("x", "y"), default=[])
    parsed = parser.parse_args(shlex.split(arguments))
    return parsed.experiment, parsed


def plot(found: Mapping[str, Any], asked: argparse.Namespace, axes: str) -> Plot:
    """Select the curves to draw from a record; `axes` is, for example, "instructions by fields".
    ValueError if a series does not exist, or two that should cross do not.
    """
    up, by, across = axes.partition(" by ")
    if not by:
        raise ValueError(f"the axes are written “cost by size”, not “{axes}”")
    series = _read_all(found, asked.series, "x" in asked.linear)
    by_name = {each.name: each for each in series}
    for name in (*asked.accent, *(name for pair in asked.crossing for name in pair)):
        if name not in by_name:
            raise ValueError(f"no curve is called “{name}”; there are: {', '.join(by_name)}")
    sizes = [size for each in series for size, _ in each.points]
    marks = {name: size for name, size in found.get("marks", {}).items()
             if min(sizes) <= size <= max(sizes)}
    drawn = Plot(series, across.strip(), up.strip(), marks, (), asked.accent, asked.linear)
    drawn.complain_of_zero()
    return replace(drawn, crossings=[at for one, other in asked.crossing
                                     for at in crossing(drawn, by_name[one], by_name[other])])


def _read_all(found: Mapping[str, Any], addresses: Sequence[str], with_zero: bool) -> list[Series]:
    """Read the series in the order of their addresses. Level lines get the sizes of all others."""
    curves = {address: read(found, address, with_zero) for address in addresses
              if not _is_level(address)}
    sizes = sorted({size for each in curves.values() for size, _ in each.points})
    if not sizes:
        raise ValueError(f"{' '.join(addresses)} has no size: a * is where it is")
    return [curves[address] if address in curves else _level(found, address, sizes)
            for address in addresses]


def _is_level(address: str) -> bool:
    path = address.partition("=")[0]
    return "." in path and "*" not in path


def read(found: Mapping[str, Any], address: str, with_zero: bool = False) -> Series:
    """Read the series at an address. `loop_*.rps=loops` is the column `rps` of the rows `loop_1`,
    `loop_2` …, whose numbers are the sizes. `ours.*_us` is one row, whose columns have the sizes,
    and `rps` is short for `*.rps`. Rows without a number are skipped, and so is a size of 0 on a
    logarithmic scale. ValueError if fewer than two sizes are left.
    """
    path, _, name = address.partition("=")
    row, column = _split(path if "." in path else f"*.{path}")
    if "*" in row:
        cells = [(size, values, column) for key, values in found["rows"].items()
                 if (size := _number_in(row, key)) is not None]
    else:
        cells = [(size, found["rows"][row], key) for key in found["rows"].get(row, {})
                 if (size := _number_in(column, key)) is not None]
    cells = sorted((cell for cell in cells if cell[0] > 0 or with_zero), key=lambda cell: cell[0])
    if len(cells) < 2:
        raise ValueError(f"{path} has fewer than two sizes")
    points = [(size, _cost(values, key)) for size, values, key in cells]
    spread = [ends for _, values, key in cells if (ends := _ends(values, key))]
    return Series(name or _name(found, row, column), points,
                  spread if len(spread) == len(points) else ())


def _level(found: Mapping[str, Any], address: str, sizes: Sequence[float]) -> Series:
    """Read `loop_1.rps=one loop`, a cost that does not depend on the size, as a level line."""
    path, _, name = address.partition("=")
    row, column = _split(path)
    if row not in found["rows"]:
        raise ValueError(f"there is no row “{row}”")
    cost = _cost(found["rows"][row], column)
    return Series(name or _plain(found["rows"][row]["label"]), [(size, cost) for size in sizes])


def _split(path: str) -> tuple[str, str]:
    row, _, column = path.rpartition(".")
    if path.count("*") > 1:
        raise ValueError(f"{path} has more than one *, which is where the size is")
    return row, column


def _number_in(pattern: str, key: str) -> float | None:
    """Return the number at the pattern's star if the rest of the key matches; else None."""
    match = re.fullmatch(re.escape(pattern).replace(r"\*", r"(\d+(?:\.\d+)?)"), key)
    return float(match[1]) if match else None


def _name(found: Mapping[str, Any], row: str, column: str) -> str:
    if row == "*":
        return _plain(found["columns"][column].partition(":")[0])
    if "*" in row:
        raise ValueError(f"the curve {row}.{column} needs a name: {row}.{column}=NAME")
    return _plain(found["rows"][row]["label"])


def _plain(text: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", text))


def _cost(row: Mapping[str, Any], column: str) -> float:
    """Return a figure. ValueError if it is missing: an incomplete curve would look complete."""
    cost = row.get(column)
    if not isinstance(cost, (int, float)):
        raise ValueError(f"{_plain(row['label'])} has no figure for {column}")
    return significant(cost, column)


def _ends(row: Mapping[str, Any], column: str) -> tuple[float, float] | None:
    """Return the lowest and highest measured value, if recorded. For `rps` these are `rps_least`
    and `rps_most`; for a ratio, its name with `ratio` replaced by least and most, or by low and
    high.
    """
    for low, high in ((f"{column}_least", f"{column}_most"), *(
            (column.replace("ratio", least), column.replace("ratio", most))
            for least, most in (("least", "most"), ("low", "high")) if "ratio" in column)):
        if low in row and high in row:
            return row[low], row[high]
    return None


def crossing(drawn: Plot, one: Series, other: Series) -> list[tuple[float, float]]:
    """Return where the curves cross, on the straight lines between points that the chart draws.
    ValueError if they don't.
    """
    first, second = dict(one.points), dict(other.points)
    found = []
    for before, after in pairwise(sorted(first.keys() & second.keys())):
        gap, next_gap = (drawn.y(second[size]) - drawn.y(first[size]) for size in (before, after))
        if gap * next_gap < 0 or gap != 0 == next_gap:
            share = gap / (gap - next_gap)
            across = drawn.x(before) + share * (drawn.x(after) - drawn.x(before))
            up = drawn.y(first[before]) + share * (drawn.y(first[after]) - drawn.y(first[before]))
            found.append((across if "x" in drawn.linear else 10 ** across,
                          up if "y" in drawn.linear else 10 ** up))
    if not found:
        raise ValueError(f"“{one.name}” and “{other.name}” do not cross")
    return found
