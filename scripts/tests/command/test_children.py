"""Programs that we start end with us, and so do those that they have started."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

from workbook.common import children

pytestmark = pytest.mark.usefixtures("no_process_left")
TIMEOUT_S = 20
NINJA = """
import signal, subprocess, sys, time
compiler = subprocess.Popen(["sleep", "100"], start_new_session=True)
def leave(*_):
    compiler.kill()
    sys.exit(1)
signal.signal(signal.SIGTERM, leave)
print(compiler.pid, flush=True)
time.sleep(100)
"""
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("0", flush=True)
time.sleep(100)
"""


def begun(program: str) -> tuple[subprocess.Popen[str], int]:
    """Such a program, and the process that it started."""
    child = children.start([sys.executable, "-c", program], start_new_session=True, text=True,
                           stdout=subprocess.PIPE)
    assert child.stdout
    return child, int(child.stdout.readline())


def test_ended_leader_can_end_what_is_not_in_its_group() -> None:
    child, compiler = begun(NINJA)
    children.end([child])
    assert child.returncode == 1
    wait_until(lambda: not psutil.pid_exists(compiler)
               or psutil.Process(compiler).status() == psutil.STATUS_ZOMBIE)


def test_leader_that_ignores_the_request_is_killed() -> None:
    child, _ = begun(DEAF)
    children.end([child])
    assert child.returncode == -9


def test_child_that_begins_while_all_are_stopped_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when Ctrl-C comes while another thread starts a server."""
    popen = subprocess.Popen

    def late(*arguments: object, **options: object) -> object:
        children._no_more.set()
        return popen(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(children, "_no_more", type(children._no_more)())
    monkeypatch.setattr(subprocess, "Popen", late)
    child = children.start(["sleep", "100"])
    assert child.returncode == -9


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
