"""The ladder as two pictures for the README, which a forge shows with no page around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbook.common.paths import write_atomically
from workbook.figures import charts, colours, recorded

FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"


def file(directory: Path, theme: str) -> Path:
    return directory / f"ladder-{theme}.svg"


def draw(results: dict[str, Any], theme: str) -> str:
    """The ladder as a document of its own."""
    return alone(charts.ladder(results), theme)


def alone(chart: str, theme: str) -> str:
    """One of the book's charts as a document, with colours and a font of its own."""
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


if __name__ == "__main__":  # after a change of the chart alone
    write(recorded.load(), recorded.LADDER.parent)
