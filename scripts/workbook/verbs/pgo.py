"""Build with a profile of the stress test, and print what that improves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from rich.console import Console

from workbook.course.chapters import Chapter
from workbook.measure import pgo
from workbook.measure.pgo import Gain


def run(chapter: Chapter, *, solution: bool = False, as_json: bool = False) -> int:
    """Build a chapter's server with a profile, count without and with it, print a line or JSON."""
    gain = pgo.measure(chapter, solution, _counting)
    if as_json:
        print(json.dumps(asdict(gain), indent=2))
    else:
        _show(gain)
    return 0


@contextmanager
def _counting() -> Iterator[Callable[[str], None]]:
    with Console(stderr=True).status("counting") as status:
        yield lambda phase: status.update(f"counting: {phase}")


def _show(gain: Gain) -> None:
    print(f"{gain.server} is built with a profile of {len(gain.rounds)} "
          f"round{'s' * (len(gain.rounds) > 1)} of the stress test.")
    if gain.before is None or gain.after is None:
        print(f"What that saves was not counted: {gain.skipped}")
    else:
        print(f"GET / takes {gain.after:,.0f} instructions; without a profile {gain.before:,.0f} "
              f"({gain.after / gain.before - 1:+.0%}).")
