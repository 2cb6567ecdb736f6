"""How long tests that could go on for ever do so: a moment, or as `test --long` says; and when a run
that is not long has gone on for long enough.
"""

from __future__ import annotations

import os
import time

LONG = os.environ.get("HOTPATH_LONG") == "1"
BEGAN = float(os.environ.get("HOTPATH_BEGAN") or time.time())  # seconds since 1970, of the run
ENOUGH_S = 48 * 60.0  # behind it stand only those that run alone, and what is asked again


def seconds(short: float, long: float) -> float:
    return long if LONG else short


def is_enough() -> bool:
    return not LONG and time.time() - BEGAN > ENOUGH_S
