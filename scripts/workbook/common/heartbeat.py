"""Progress messages where no terminal can show a live line: a pipe, a log, a background job."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0
FIRST_S = 2.0  # in a shell's background, where the reader sees only an empty prompt


@contextmanager
def heartbeat(doing: Callable[[], str]) -> Iterator[None]:
    """Within the block, write the current activity and the elapsed time to standard error every ten
    seconds. Nothing is written to a terminal, unless this is one of its background jobs: then the
    first line is written after two seconds.
    """
    behind = in_background()
    if sys.stderr.isatty() and not behind:
        yield
        return
    began, ended = time.monotonic(), threading.Event()

    def beat() -> None:
        wait_s = min(FIRST_S, EVERY_S) if behind else EVERY_S
        while not ended.wait(wait_s):
            wait_s = EVERY_S
            print(f"{doing()} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def in_background() -> bool:
    """Whether standard error is a terminal whose shell has put us into the background."""
    try:
        return sys.stderr.isatty() and os.tcgetpgrp(sys.stderr.fileno()) != os.getpgrp()
    except (OSError, ValueError):  # not our controlling terminal, or no terminal
        return False
