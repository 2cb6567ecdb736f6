"""Start child processes that never outlive this one."""

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

GRACE_S = 1.0  # time for a process group to exit by itself

_started: list[subprocess.Popen[Any]] = []
_starting = threading.Lock()
_no_more = threading.Event()


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Like subprocess.Popen, but the child is killed when this process ends, however that happens.

    Ctrl-C is deferred until the new child is registered, because it could arrive in between. Raises
    UserError after stop().
    """
    if _no_more.is_set():
        raise UserError("it was stopped", "start it again")
    with _signals_wait():
        child = subprocess.Popen(command, **options)
        with _starting:
            _started[:] = [other for other in _started if other.returncode is None] + [child]
    if _no_more.is_set():  # stop() was called while the child started
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
    """Whether stop() was called. Later failures are a consequence of that."""
    return _no_more.is_set()


def stop() -> None:
    """Kill all children and start no more, so that other threads finish what they are doing."""
    _no_more.set()
    kill_all()


@atexit.register
def kill_all() -> None:
    """Kill all children that are still running."""
    end(list(_started))


def end(these: Sequence[subprocess.Popen[Any]]) -> None:
    """End these children and wait for them. The leader of a process group first gets SIGTERM and
    GRACE_S, because it may have to end others: ninja's compilers are in groups of their own.
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
    with suppress(ProcessLookupError):  # another thread has reaped it
        return os.getpgid(child.pid) == child.pid
    return False


def _signal_group(leader: subprocess.Popen[Any], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, number)
