"""Some of what could be asked, others each time, beside a run that asks all. HOTPATH_SEED asks the
same again.

The gate judges each solution with the whole table; under a sanitizer or on another kernel interface
a few dozen are tried of each kind of place where a request can be cut or spoilt.
"""

from __future__ import annotations

import os
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from workbook.checks.behaviour.rows import Case

KEPT = 24  # of each kind of place
T = TypeVar("T")
SEED = int(os.environ.get("HOTPATH_SEED") or random.SystemRandom().randrange(10**6))


def sampled(cases: Sequence[Case]) -> list[Case]:
    """These cases in their order, of the places in one text only some; says which."""
    print(f"a sample of the places; the same again: HOTPATH_SEED={SEED}")
    kinds: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if index := re.fullmatch(r"(.+)-at-\d+(?:-of-\d+)?", case.name):
            kinds[index[1]].append(case)
    left_out = {case.name for kind, alike in kinds.items()
                for case in _left_out(kind, alike)}
    return [case for case in cases if case.name not in left_out]


def some(items: Sequence[T], count: int, what: str) -> list[T]:
    """So many of these in their order; says how to have the same again. `what` they are of tells
    samples apart.
    """
    print(f"a sample; the same again: HOTPATH_SEED={SEED}")
    indices = random.Random(f"{SEED} {what}").sample(range(len(items)), count)
    return [items[index] for index in sorted(indices)]


def _left_out(kind: str, alike: list[Case]) -> list[Case]:
    remainder = max(0, len(alike) - KEPT)
    return random.Random(f"{SEED} {kind}").sample(alike, remainder)
