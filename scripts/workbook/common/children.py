"""Start programs that never outlive us."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from workbook.common.errors import UserError

_started: list[subprocess.Popen[Any]] = []
_starting = threading.Lock()
_no_more = threading.Event()


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Like subprocess.Popen, but the child is killed when we end, however that comes about.

    Ctrl-C may come after the child has begun and before anybody could know of it: it waits
    until the child is known.
    """
    if _no_more.is_set():
        raise UserError("it was stopped", "start it again")
    with _signals_wait():
        child = subprocess.Popen(command, **options)
        with _starting:
            _started[:] = [other for other in _started if other.returncode is None] + [child]
    return child


@contextmanager
def _signals_wait() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in its main thread only
        return
    came: list[int] = []
    usual = {number: signal.signal(number, lambda arrived, _: came.append(arrived))
             for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for arrived in came:
            signal.raise_signal(arrived)


def stopped() -> bool:
    """Whether that was asked for: what fails from then on fails for that reason."""
    return _no_more.is_set()


def stop() -> None:
    """Kill all, and start no more: what other threads do comes to its end."""
    _no_more.set()
    kill_all()


@atexit.register
def kill_all() -> None:
    """Whatever we started and has not ended."""
    for child in _started:
        if child.poll() is None:
            leads = os.getpgid(child.pid) == child.pid
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL) if leads else child.kill()
            child.wait()
