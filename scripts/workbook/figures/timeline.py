"""A visit's system calls on a time line, as a drawing in steps: one call more at each of them."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

WIDTH, LEFT, ROW, TOP = 380, 10, 46, 6
BAR, MINIMUM = 14, 3  # how high a bar is, and how wide the shortest call


def draw(found: Mapping[str, Any], name: str) -> str:
    """SVG for the page's diagrams; `data-steps` says from which step on a part is shown."""
    calls = list(found["rows"].values())
    end = max(call["at_us"] + call["took_us"] for call in calls) or 1
    scale = (WIDTH - 2 * LEFT) / end
    height = TOP + ROW * len(calls) + 30
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}-title" '
             'xmlns="http://www.w3.org/2000/svg">',
             f'<title id="{name}-title">The system calls of one visit on a time line</title>']
    for step, call in enumerate(calls, start=1):
        y = TOP + ROW * (step - 1)
        x, width = LEFT + call["at_us"] * scale, max(MINIMUM, call["took_us"] * scale)
        x = min(x, WIDTH - LEFT - width)
        bar = f'x="{x:.1f}" y="{y + 24}" width="{width:.1f}" height="{BAR}"'
        parts += [
            f'<g data-steps="{step}-{len(calls)}">',
            f'<text x="{LEFT}" y="{y + 17}">{escape(call["label"])}</text>',
            f'<text class="small" x="{WIDTH - LEFT}" y="{y + 17}" text-anchor="end">'
            f'{escape(call["result"])}, at {call["at_us"]:.0f} µs</text>',
            f'<rect class="box cool" {bar} rx="3"/>', "</g>",
            f'<rect data-steps="{step}" class="box hot" {bar} rx="3"/>']
    axis = height - 22
    parts += [f'<path class="arrow" d="M{LEFT} {axis}H{WIDTH - LEFT}"/>',
              f'<text class="small" x="{LEFT}" y="{axis + 17}">accepted</text>',
              f'<text class="small" x="{WIDTH - LEFT}" y="{axis + 17}" text-anchor="end">'
              f"{end:.0f} µs</text>", "</svg>"]
    return "\n".join(parts)
