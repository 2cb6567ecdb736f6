"""Time several servers in turn, so that other activity on the machine affects all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from workbook.common.errors import UserError
from workbook.machine.cores import Cores
from workbook.measure import ladder, load
from workbook.measure.load import Phase, PhaseResult
from workbook.servers.process import Server

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Way:
    """One of the servers that are timed in turn: how to start it, and its load."""

    label: str
    start: Callable[[], AbstractContextManager[Server]]
    phase: Phase
    on: Cores | None = None  # where wrk runs, if not on its usual processors


def in_sequence(ways: Mapping[Key, Way], rounds: int,
                on_round: Callable[[str], None]) -> dict[Key, list[PhaseResult]]:
    """Time each server once a round, freshly started; the order rotates from round to round.

    Raises UserError if one of them has no figure.
    """
    found: dict[Key, list[PhaseResult]] = {key: [] for key in ways}
    for number in range(rounds):
        for key in ladder.rotated(list(ways), number):
            on_round(f"round {number + 1} of {rounds}: {ways[key].label}")
            with ways[key].start() as server:
                result = load.run_phase(server, ways[key].phase, ways[key].on)
            if result.reason:
                raise UserError(f"“{ways[key].label}” has no figure: {result.reason}",
                                "try again on a quieter machine")
            found[key].append(result)
    return found
