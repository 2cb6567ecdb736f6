"""A flame graph as one page that needs nothing else."""

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
    """A function as called from those below it, and how much was seen while it was running."""

    name: str
    count: int = 0
    calls: dict[str, Frame] = field(default_factory=dict)


def grow(stacks: Mapping[tuple[str, ...], int]) -> Frame:
    """The stacks as a tree. What they begin with alike is one frame."""
    root = Frame("all")
    for stack, count in stacks.items():
        root.count += count
        frame = root
        for name in stack:
            frame = frame.calls.setdefault(name, Frame(name))
            frame.count += count
    return root


def page(stacks: Mapping[tuple[str, ...], int], title: str, unit: str) -> str:
    """The graph as HTML. Asks for nothing over the network."""
    import jinja2

    root = grow(stacks)
    frames = json.dumps(_plain(root, root.count * MINIMUM)).replace("<", "\\u003c")
    template = jinja2.Template(TEMPLATE.read_text(encoding="utf-8"), autoescape=True)
    return template.render(title=title, unit=unit, total=f"{root.count:,}", frames=frames,  # type: ignore[no-any-return]
                           colours=colours.css("light"))


def _plain(frame: Frame, minimum: float) -> list[object]:
    """name, count, and those that it called, the widest first."""
    calls = sorted(frame.calls.values(), key=lambda call: (-call.count, call.name))
    return [frame.name, frame.count, [_plain(call, minimum)
                                      for call in calls if call.count >= minimum]]
