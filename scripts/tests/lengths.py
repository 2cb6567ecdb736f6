"""How long tests that could go on for ever do so: a moment, or as `test --long` says."""

from __future__ import annotations

import os

LONG = os.environ.get("HOTPATH_LONG") == "1"


def seconds(short: float, long: float) -> float:
    return long if LONG else short
