"""A time of day that can be set for one server, while its monotonic clock runs normally."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbook.checks.behaviour.rows import Unable
from workbook.common.paths import SCRIPTS
from workbook.machine import needs, probes

SOURCE = SCRIPTS / "clock" / "settable_clock.cpp"
LIBRARY, OFFSET = "settable_clock.so", "offset"
NS_PER_S = 1_000_000_000


class TimeOfDay:
    """The time of day seen by a server that is started with the wrapper."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / OFFSET
        self.wrapper = ("env", f"LD_PRELOAD={folder / LIBRARY}", f"CLOCK_OFFSET_FILE={self._file}")
        self.set_ahead(0.0)

    def set_ahead(self, seconds: float) -> None:
        """Set it this many seconds ahead of the system's time."""
        with self._file.open("r+b" if self._file.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("=q", round(seconds * NS_PER_S)))


@contextmanager
def settable() -> Iterator[TimeOfDay]:
    """Raises Unable if a program's time of day can't be replaced here."""
    if sys.platform != "linux":
        raise Unable("only on Linux does this check set a program's time of day")
    with probes.scratch() as folder:
        command = [str(needs.compiler() or "c++"), "-shared", "-fPIC", "-O1", str(SOURCE),
                   "-o", str(folder / LIBRARY)]
        if not probes.succeeds(command, seconds=probes.COMPILING_S):
            raise Unable("the compiler builds no shared library")
        yield TimeOfDay(folder)
