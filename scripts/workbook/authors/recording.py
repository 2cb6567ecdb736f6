"""Record the ladder, which the book and the README show."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, shown, write_atomically
from workbook.figures import picture, recorded
from workbook.measure import ladder

ROUNDS = 7


def record(rounds: int, display: Callable[[Sequence[ladder.Subject]],
                                          AbstractContextManager[ladder.Display]]
           ) -> dict[str, Any]:
    """Measure every solution for longer than `bench` does; replace book/results/ladder.json and the
    pictures of it that the README shows. Returns the results.

    UserError if a phase has no figure, or the sources are not committed.
    """
    servers = ladder.subjects()
    with display(servers) as shown_live:
        results = ladder.collect(servers, rounds, shown_live)
    complain_unless_whole(results)
    recorded.validate(results, "what was measured")
    try:
        write_atomically(recorded.LADDER, json.dumps(results, indent=2) + "\n")
        picture.write(results, recorded.LADDER.parent)
    except OSError as error:
        raise UserError(f"{shown(recorded.LADDER)} cannot be written: {error.strerror}",
                        "make room there (df -h .), then run the same command again") from None
    return results


def complain_unless_whole(results: dict[str, Any]) -> None:
    """UserError if a phase has no figure, a cost no count, or the sources no commit."""
    for server, measured in results["servers"].items():
        for phase, figures in measured["phases"].items():
            if figures["reason"]:
                raise UserError(f"{server} has no figure for {phase}: {figures['reason']}",
                                f"fix it (see {COMMAND} stress), then record again")
        for cost, reason in measured["costs"]["skipped"].items():
            raise UserError(f"{cost} of {server} were not counted: {reason}",
                            "record where they can be")
    if results["machine"]["commit"].endswith("+"):
        raise UserError("what was measured is not committed", "commit it, then record again")
