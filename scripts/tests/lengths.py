"""How long tests run that could go on for ever: a moment, or minutes with `test --long`.

A run that is not long stops starting tests marked `late` after 34 minutes: it leaves them out, and
lists them at the end. The slowest tests of the gate would fill that time alone, so each commit runs
another third of them before the late ones, which its hash chooses, and leaves the rest to those.
On a machine that is so slow that even this third is not through after 30 minutes, the planted
mistakes that remain of it are left out, too. And after 58 minutes, no test of any kind is started.
"""

from __future__ import annotations

import os
import time

import pytest
from outcomes import LEFT_OUT

from workbook.machine import git

LONG = os.environ.get("HOTPATH_LONG") == "1"
BEGAN = float(os.environ.get("HOTPATH_BEGAN") or time.time())  # seconds since 1970
ENOUGH_S = 34 * 60.0  # only the tests that run alone, and retries, follow these
SHARE_S = 30 * 60.0  # then no more of the commit's share of planted mistakes
LAST_S = 58 * 60.0  # then no more of any kind
SHARES = 3  # of the gate's slowest tests: a commit runs one of them first
SHARE = int((git.answer("rev-parse", "HEAD") or "0")[:8], 16) % SHARES


def comes_first(number: int) -> bool:
    """Returns whether this commit runs the slow test of this number before the late ones."""
    return LONG or number % SHARES == SHARE


def seconds(short: float, long: float) -> float:
    return long if LONG else short


def is_enough(limit_s: float = ENOUGH_S) -> bool:
    return not LONG and time.time() - BEGAN > limit_s


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a test if the time for tests of its kind is over."""
    for mark, limit_s in (("late", ENOUGH_S), ("share", SHARE_S), ("", LAST_S)):
        if (not mark or item.get_closest_marker(mark)) and is_enough(limit_s):
            item.user_properties.append((LEFT_OUT, True))
            pytest.skip(f"{limit_s / 60:.0f} minutes are over; test --long runs it in any case")
