"""What the tests share: the command as a reader runs it, and a look for what it left behind."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from scratch import make_parted, make_tiny

from workbook.common import inherited
from workbook.common.paths import SCRIPTS
from workbook.machine import git, network
from workbook.servers import build

pytest_plugins = ["affected", "outcomes", "lengths", "scheduling", "timetable"]

MARK = "HOTPATH_TEST"

# Who is started in the background may have been told to ignore Ctrl-C; children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

def compile_faster() -> None:
    """As the tool itself does, for what calls CMake without it. What links steps back, too, behind
    what is judged meanwhile; and a solution that lacks an #include fails.
    """
    for name, value in build.faster().items():
        os.environ.setdefault(name, value)
    if sys.platform == "linux":
        os.environ.setdefault("CMAKE_CXX_LINKER_LAUNCHER", "nice;-n;10")
    os.environ["STRICT_INCLUDES"] = "1"


# As the command does it: git's hooks, for one, name the repository that they are in.
inherited.clean(os.environ)
os.environ |= git.SETTINGS
compile_faster()

Result = subprocess.CompletedProcess[str]
Hotpath = Callable[..., Result]


@pytest.fixture
def hotpath() -> Hotpath:
    """Run a verb of this repository's command, without a terminal."""

    def run(*arguments: str, root: Path | None = None, timeout_s: float = 900,
            descriptors: int = 0, **environment: str) -> Result:
        def limit() -> None:
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        scripts = root / "scripts" if root else SCRIPTS
        return subprocess.run(
            [sys.executable, "-m", "workbook", *arguments], cwd=root, text=True,
            env={**os.environ, "PYTHONPATH": str(scripts), "COLUMNS": "100", **environment},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, preexec_fn=limit)

    return run


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A scratch repository of three checkpoints and a lab, with a copy of our package."""
    shutil.copytree(SCRIPTS / "workbook", tmp_path / "scripts" / "workbook")
    return make_tiny(tmp_path)


@pytest.fixture
def parted(tmp_path: Path) -> Path:
    """The same with two further checkpoints that have parts."""
    shutil.copytree(SCRIPTS / "workbook", tmp_path / "scripts" / "workbook")
    return make_parted(tmp_path)


@pytest.fixture(scope="session")
def site() -> Path:
    """The real book, built once: two at a time would be in each other's way."""
    from workbook.verbs import book

    return book.build().parent


@pytest.fixture
def no_process_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves a process running; all that it starts inherits a mark."""
    network.prefix()  # holds a network for as long as we live
    mark = str(uuid.uuid4())
    monkeypatch.setenv(MARK, mark)
    yield
    ours = [process for process in psutil.process_iter() if _environment(process) == mark]
    _, left = psutil.wait_procs(ours, timeout=20)  # what was killed takes a moment to be gone
    assert not left, f"still running: {left}"


def _environment(process: psutil.Process) -> str | None:
    """The mark that a process was started with; /proc of our own shows only the first state."""
    try:
        return process.environ().get(MARK) if process.pid != os.getpid() else None
    except psutil.Error:
        return None


def assert_refused(result: Result, *words: str) -> None:
    """A foreseen failure: a message with these words, a next step, no traceback, not 0."""
    assert result.returncode not in (0, 130), result.stdout
    assert "Traceback" not in result.stderr, result.stderr
    assert "error: " in result.stderr and "next:" in result.stderr, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
