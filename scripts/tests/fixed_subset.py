"""Fixed subsets of long lists of cases, so that a verdict depends only on the commit. `test --long`
runs all cases instead.

The gate judges each solution with all cases. Under a sanitizer or on another kernel interface, the
same server is tested with fewer of those that differ only in the byte at which a request is cut or
damaged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from lengths import LONG

from workbook.checks.behaviour.rows import Case

POSITIONS = 24  # positions kept for each text
POSITION = re.compile(r"(.+)-at-\d+(?:-of-\d+)?")
T = TypeVar("T")


def evenly_spaced(items: Sequence[T], count: int) -> list[T]:
    """Returns at most `count` items in their order: the first, the last, and evenly spaced ones
    between.
    """
    if count >= len(items):
        return list(items)
    if count < 2:
        return list(items[:count])
    return [items[index * (len(items) - 1) // (count - 1)] for index in range(count)]


def one_in(step: int, items: Sequence[T], offset: int = 0) -> list[T]:
    """Returns every `step`-th item in order. The subsets of `step` consecutive offsets cover them
    all.
    """
    return list(items[offset % step::step])


def fewer_positions(cases: Sequence[Case]) -> list[Case]:
    """Returns the cases in order, without most of those that differ only in a position; all cases
    in a long run.
    """
    if LONG:
        return list(cases)
    alike: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if position := POSITION.fullmatch(case.name):
            alike[position[1]].append(case)
    kept = {case.name for of_one_text in alike.values()
            for case in evenly_spaced(of_one_text, POSITIONS)}
    return [case for case in cases if not POSITION.fullmatch(case.name) or case.name in kept]
