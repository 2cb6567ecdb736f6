"""A flame graph as one self-contained page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbook.figures import colours

MINIMUM = 0.001  # of the whole width: narrower boxes can't be seen
TEMPLATE = Path(__file__).parent / "templates" / "flame.html"


@dataclass
class Frame:
    """A function with its callers, and how many samples or instructions were counted in it."""

    name: str
    count: int = 0
    calls: dict[str, Frame] = field(default_factory=dict)


def grow(stacks: Mapping[tuple[str, ...], int]) -> Frame:
    """Build a tree of the stacks; those that begin alike share their first frames."""
    root = Frame("all")
    for stack, count in stacks.items():
        root.count += count
        frame = root
        for name in stack:
            frame = frame.calls.setdefault(name, Frame(name))
            frame.count += count
    return root


def page(stacks: Mapping[tuple[str, ...], int], title: str, unit: str) -> str:
    """Return the graph as HTML, which loads nothing over the network."""
    import jinja2

    root = grow(stacks)
    frames = json.dumps(_plain(root, root.count * MINIMUM)).replace("<", "\\u003c")
    template = jinja2.Template(TEMPLATE.read_text(encoding="utf-8"), autoescape=True)
    return template.render(title=title, unit=unit, total=f"{root.count:,}", frames=frames,  # type: ignore[no-any-return]
                           colours=colours.css("light"))


def _plain(frame: Frame, minimum: float) -> list[object]:
    """Return [name, count, called frames] for JSON, the widest first, without the narrowest."""
    calls = sorted(frame.calls.values(), key=lambda call: (-call.count, call.name))
    return [frame.name, frame.count, [_plain(call, minimum)
                                      for call in calls if call.count >= minimum]]
