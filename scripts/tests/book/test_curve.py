"""Curves over a size: what a page asks for, what is drawn of it, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from workbook.figures import curve, series
from workbook.figures.charts import SMALL_TEXT
from workbook.figures.series import Plot

FOUND: dict[str, Any] = {
    "columns": {"copy": "Copy: µs", "map": "Map: µs", "flat": "Flat", "ratio": "Ratio"},
    "marks": {"L1": 32768, "far": 1 << 40},
    "rows": {
        "1024": {"label": "1 KiB", "copy": 10, "map": 40, "flat": 20, "zero": 0, "ratio": 2.0,
                 "low": 1.0, "high": 3.0},
        "65536": {"label": "64 KiB", "copy": 100, "map": 40, "flat": 20, "zero": 1, "ratio": 4.0,
                  "low": 3.0, "high": 5.0},
        "4096": {"label": "4 KiB", "copy": 20, "map": 20, "flat": 20, "zero": 1, "ratio": 3.0,
                 "low": 2.5, "high": 3.5},
        "all": {"label": "<b>All</b>", "copy": 1, "4_us": 8, "16_us": 2, "map": 3}}}


def plot(arguments: str, axes: str = "µs by bytes of the file") -> Plot:
    return series.plot(FOUND, series.parse(f"found {arguments}")[1], axes)


def draw(arguments: str, axes: str = "µs by bytes of the file") -> str:
    return curve.draw(plot(arguments, axes), "found")


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def heights(svg: str) -> dict[str, float]:
    """Where the baseline of each text is."""
    return {text: float(y) for y, text in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]+)<', svg)}


@pytest.mark.parametrize(("address", "name", "points"), [
    ("copy", "Copy", [(1024, 10), (4096, 20), (65536, 100)]),
    ("*.copy=by hand", "by hand", [(1024, 10), (4096, 20), (65536, 100)]),
    ("all.*_us", "All", [(4, 8), (16, 2)])])
def test_series_is_read_where_its_address_has_the_size(
        address: str, name: str, points: list[tuple[float, float]]) -> None:
    found = series.read(FOUND, address)
    assert (found.name, found.points) == (name, points)


def test_level_line_has_the_sizes_of_the_others() -> None:
    _, level = plot("copy all.map=level").series
    assert level.points == [(1024, 3), (4096, 3), (65536, 3)]


def test_crossing_at_a_recorded_size_is_found_once() -> None:
    (size, cost), = plot('copy flat=level --crossing Copy level').crossings
    assert [size, cost] == pytest.approx([4096, 20])


def test_crossing_between_two_sizes_is_interpolated_on_the_scales_that_are_drawn() -> None:
    found = {"columns": {}, "rows": {"1": {"a": 1, "b": 10}, "100": {"a": 100, "b": 10}}}
    for linear, at in (("", 10.0), ("--linear x y", 10.0), ("--linear y", 1.5199)):
        asked = series.parse(f"found a=a b=b --crossing a b {linear}")[1]
        (size, _), = series.plot(found, asked, "µs by clients").crossings
        assert size == pytest.approx(at, rel=1e-3)


def test_curve_shows_names_crossing_and_marks() -> None:
    svg = draw("copy map=mapped --crossing Copy mapped")
    assert {"Copy", "mapped", "L1, 32 KiB", "crossing at 4 KiB", "1 KiB", "64 KiB", "µs",
            "bytes of the file"} <= set(texts(svg))
    assert "far" not in svg and "#0000" not in svg and "var(--accent" in svg


def test_description_has_the_numbers_at_both_ends() -> None:
    svg = draw("copy map=mapped --crossing Copy mapped")
    assert ("µs by bytes of the file: Copy 10 at 1 KiB to 100 at 64 KiB; mapped 40 at 1 KiB to 40 "
            "at 64 KiB; a crossing at 4 KiB; L1 is 32 KiB.</desc>") in svg


@pytest.mark.parametrize(("linear", "words"), [
    ("", "Both scales are logarithmic"), ("--linear y", "The horizontal scale is logarithmic"),
    ("--linear x", "The vertical scale is logarithmic")])
def test_title_says_which_scales_are_logarithmic(linear: str, words: str) -> None:
    assert f">µs by clients. {words}</title>" in draw(f"copy {linear}", "µs by clients")
    assert "logarithmic" not in draw("copy --linear x y", "µs by clients")


def test_spread_is_a_band() -> None:
    assert "PolyCollection" in draw("ratio") and "PolyCollection" not in draw("copy")


def test_names_of_ends_at_one_height_do_not_overlap() -> None:
    found = heights(draw("flat=one *.flat=two copy map=three *.map=four"))
    ends = sorted(found[name] for name in ("one", "two", "three", "four", "Copy"))
    assert all(b - a > SMALL_TEXT for a, b in zip(ends, ends[1:], strict=False))


def test_ends_of_one_colour_share_a_name() -> None:
    svg = draw("*.flat=02 *.flat=03 flat=04 zero=15 copy=05 --accent 05 --linear y")
    assert {"02–04", "15", "05"} <= set(texts(svg))
    assert "02–04, 15" in texts(draw("*.flat=02 *.flat=03 flat=04 *.flat=15 copy=05 --accent 05"))


def test_blocks_that_touch_move_as_one() -> None:
    assert curve.spread_out([30, 31, 80], [10, 10, 10]) == [25.5, 35.5, 80]
    assert curve.spread_out([5, 15], [10, 10]) == [5, 15]
    assert curve.spread_out([0, 1], [10, 20]) == [5, 20]  # not below the plane


@pytest.mark.parametrize(("arguments", "axes", "complaint"), [
    ("", "µs by size", "arguments are required: series"),
    ("copy", "µs", "the axes are written “cost by size”, not “µs”"),
    ("copy --gone", "µs by size", "unrecognized arguments: --gone"),
    ("copy --linear z", "µs by size", "invalid choice: 'z'"),
    ("gone", "µs by size", "1 KiB has no figure for gone"),
    ("gone.*_us", "µs by size", "gone.*_us has fewer than two sizes"),
    ("*.*", "µs by size", "more than one *"),
    ("all.copy", "µs by size", "all.copy has no size"),
    ("copy gone.map", "µs by size", "there is no row “gone”"),
    ("1*.copy", "µs by size", "1*.copy has fewer than two sizes"),
    ("zero=z", "µs by size", "“z” is 0 at 1024, which a logarithmic scale can't show"),
    ("copy --accent Map", "µs by size", "no curve is called “Map”; there are: Copy"),
    ("copy map --crossing Copy", "µs by size", "expected 2 arguments"),
    ("copy flat ratio --crossing Flat Ratio", "µs by size", "“Flat” and “Ratio” do not cross"),
    ('copy "map', "µs by size", "No closing quotation")])
def test_mistake_in_a_curve_is_refused(arguments: str, axes: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        draw(arguments, axes)
