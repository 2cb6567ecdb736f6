"""Start programs that never outlive us."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from workbook.common.errors import UserError

GRACE_S = 1.0  # for a group to end by itself

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
    if _no_more.is_set():  # it was asked for while the child began
        end([child])
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
    end(list(_started))


def end(these: Sequence[subprocess.Popen[Any]]) -> None:
    """End those of them that run. One that leads a group may end others first, as ninja does with
    its compilers, which are in groups of their own; it is killed if it takes too long.
    """
    leaders = [child for child in these if child.poll() is None and _leads(child)]
    for child in leaders:
        _signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline and any(child.poll() is None for child in leaders):
        time.sleep(0.01)
    for child in these:
        if child.poll() is None:
            _signal_group(child, signal.SIGKILL) if child in leaders else child.kill()
            child.wait()


def _leads(child: subprocess.Popen[Any]) -> bool:
    with suppress(ProcessLookupError):  # another thread has seen its end
        return os.getpgid(child.pid) == child.pid
    return False


def _signal_group(leader: subprocess.Popen[Any], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, number)
