"""A drawing in steps: one file whose parts have `data-steps="2-4 6"`, the steps that show them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from xml.etree import ElementTree

from preprocessor.errors import DirectiveError

SVG = "http://www.w3.org/2000/svg"
STEPS = "data-steps"


def frames(svg: str, name: str) -> list[str]:
    """Returns the drawing at each step, as SVG with unique ids and the step in its title."""
    ElementTree.register_namespace("", SVG)
    drawing = ElementTree.fromstring(svg)
    count = max((max(_steps(part)) for part in drawing.iter() if STEPS in part.keys()), default=0)
    if count < 2:
        raise DirectiveError(f"{name} has no steps: no part of it has {STEPS}")
    return [_frame(copy.deepcopy(drawing), name, step, count) for step in range(1, count + 1)]


def _frame(drawing: ElementTree.Element, name: str, step: int, count: int) -> str:
    for parent in list(drawing.iter()):
        for part in list(parent):
            if STEPS in part.keys() and step not in _steps(part):
                parent.remove(part)
    title = drawing.find(f"{{{SVG}}}title")
    if title is not None:
        title.text = f"{title.text}: step {step} of {count}"
    text = ElementTree.tostring(drawing, encoding="unicode", short_empty_elements=True)
    return text.replace(f'"{name}-', f'"{name}-{step}-').replace(f"#{name}-", f"#{name}-{step}-")


def _steps(part: ElementTree.Element) -> list[int]:
    return list(_numbers(part.get(STEPS, "")))


def _numbers(text: str) -> Iterator[int]:
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        yield from range(int(first), int(last or first) + 1)
