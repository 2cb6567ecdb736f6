"""The ladder as two stand-alone pictures for the README, one per theme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbook.common.paths import write_atomically
from workbook.figures import charts, colours, recorded

FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"


def file(directory: Path, theme: str) -> Path:
    return directory / f"ladder-{theme}.svg"


def draw(results: dict[str, Any], theme: str) -> str:
    """Return the ladder as an SVG document."""
    return alone(charts.ladder(results), theme)


def alone(chart: str, theme: str) -> str:
    """Return one of the book's charts as an SVG document, with its own colours and font."""
    opening, remainder = chart.split(">", 1)
    opening = opening.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    drawn = colours.css(theme, colours.DRAWN)
    opening = opening.replace('style="', f'style="{drawn}; color: var(--fg); ')
    opening = opening.replace("font-family: inherit", f"font-family: {FONT}")
    return f"{opening}>{remainder}\n"


def write(results: dict[str, Any], directory: Path) -> None:
    """Draw both pictures anew; raises OSError if one cannot be written."""
    for theme in colours.THEMES:
        write_atomically(file(directory, theme), draw(results, theme))


if __name__ == "__main__":  # after a change to the chart only
    write(recorded.load(), recorded.LADDER.parent)
