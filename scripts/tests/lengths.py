"""How long tests take that could go on for ever: a moment, or minutes if the run is `test --long`.

A run that is not long stops after 42 minutes to start tests that are marked `late`: it leaves them
out, and lists them when it ends.
"""

from __future__ import annotations

import os
import time

import pytest
from outcomes import LEFT_OUT

LONG = os.environ.get("HOTPATH_LONG") == "1"
BEGAN = float(os.environ.get("HOTPATH_BEGAN") or time.time())  # seconds since 1970, of the run
ENOUGH_S = 42 * 60.0  # after them only the tests that run alone follow, and second runs


def seconds(short: float, long: float) -> float:
    return long if LONG else short


def is_enough() -> bool:
    return not LONG and time.time() - BEGAN > ENOUGH_S


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a test that is marked `late` if the time is over."""
    if item.get_closest_marker("late") and is_enough():
        item.user_properties.append((LEFT_OUT, True))
        pytest.skip(f"{ENOUGH_S / 60:.0f} minutes are over; test --long runs it in any case")
