"""A sign of life where no terminal shows a live line: a pipe, a log, a job in the background."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0
FIRST_S = 2.0  # in the background of a shell, where the reader looks at an empty prompt


@contextmanager
def heartbeat(doing: Callable[[], str]) -> Iterator[None]:
    """While the block runs, write what is being done to standard error every ten seconds, with the
    time that has passed. On a terminal nothing is written, unless we are in its background: then the
    first line comes after two seconds.
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
    except (OSError, ValueError):  # not our terminal, or none
        return False
