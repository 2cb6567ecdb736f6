"""A sign of life where no terminal shows a live line: a pipe, a log, another program."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0


@contextmanager
def heartbeat(doing: Callable[[], str]) -> Iterator[None]:
    """While the block runs, write what is being done to standard error every ten seconds, with the
    time that has passed. On a terminal nothing is written.
    """
    if sys.stderr.isatty():
        yield
        return
    began, ended = time.monotonic(), threading.Event()

    def beat() -> None:
        while not ended.wait(EVERY_S):
            print(f"{doing()} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
