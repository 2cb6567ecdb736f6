"""How long tests run that could go on for ever: a moment, or minutes with `test --long`.

A run that is not long stops starting tests marked `late` after 42 minutes: it leaves them out, and
lists them at the end. The slowest tests of the gate would fill that time alone, so each commit runs
another third of them before the late ones, which its hash chooses, and leaves the rest to those.
"""

from __future__ import annotations

import os
import time

import pytest
from outcomes import LEFT_OUT

from workbook.machine import git

LONG = os.environ.get("HOTPATH_LONG") == "1"
BEGAN = float(os.environ.get("HOTPATH_BEGAN") or time.time())  # seconds since 1970
ENOUGH_S = 42 * 60.0  # only the tests that run alone, and retries, follow these
SHARES = 3  # of the gate's slowest tests: a commit runs one of them first
SHARE = int((git.answer("rev-parse", "HEAD") or "0")[:8], 16) % SHARES


def comes_first(number: int) -> bool:
    """Returns whether this commit runs the slow test of this number before the late ones."""
    return LONG or number % SHARES == SHARE


def seconds(short: float, long: float) -> float:
    return long if LONG else short


def is_enough() -> bool:
    return not LONG and time.time() - BEGAN > ENOUGH_S


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a test marked `late` if the time is over."""
    if item.get_closest_marker("late") and is_enough():
        item.user_properties.append((LEFT_OUT, True))
        pytest.skip(f"{ENOUGH_S / 60:.0f} minutes are over; test --long runs it in any case")
