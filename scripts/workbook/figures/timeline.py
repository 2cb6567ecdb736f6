"""A connection's system calls in order, as a stepwise drawing: each step adds one call.

strace slows most calls down by more than they take, so the drawing omits the times.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

WIDTH, LEFT, ROW, TOP = 380, 10, 40, 4
BOX = 32  # height of a call's box


def draw(found: Mapping[str, Any], name: str) -> str:
    """Return SVG for the page's diagrams; `data-steps` gives the steps in which a part is shown."""
    calls = list(found["rows"].values())
    height = TOP + ROW * len(calls)
    last = len(calls)
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}-title" '
             'xmlns="http://www.w3.org/2000/svg">',
             f'<title id="{name}-title">The system calls of one connection, one after another'
             "</title>"]
    for step, call in enumerate(calls, start=1):
        y = TOP + ROW * (step - 1)
        box = f'x="{LEFT}" y="{y}" width="{WIDTH - 2 * LEFT}" height="{BOX}" rx="8"'
        if step < last:
            parts.append(f'<rect data-steps="{step + 1}-{last}" class="box cool" {box}/>')
        parts += [
            f'<rect data-steps="1-{step - 1}" class="box" {box}/>' if step > 1 else "",
            f'<rect data-steps="{step}" class="box hot" {box}/>',
            f'<text class="small" x="{LEFT + 14}" y="{y + 21}">{step}</text>',
            f'<text x="{LEFT + 40}" y="{y + 21}">{escape(call["label"])}</text>',
            f'<text data-steps="{step}-{last}" class="small" x="{WIDTH - LEFT - 14}" '
            f'y="{y + 21}" text-anchor="end">returns {escape(call["result"])}</text>']
    return "\n".join([*parts, "</svg>"])
