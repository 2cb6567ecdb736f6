"""What the tests share: the command as a reader runs it, and a check for leftover processes."""

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

# A background process may have been started with Ctrl-C ignored, which its children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

def compile_faster() -> None:
    """Use the tool's settings for fast builds, for tests that call CMake directly. Linking has a
    lower priority, so that running checks aren't delayed; and a missing #include is an error.
    """
    for name, value in build.faster().items():
        os.environ.setdefault(name, value)
    if sys.platform == "linux":
        os.environ.setdefault("CMAKE_CXX_LINKER_LAUNCHER", "nice;-n;10")
    os.environ["STRICT_INCLUDES"] = "1"


# As the command does. For example, git's hooks set variables that name their own repository.
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
    """A scratch repository like `tiny` with two further checkpoints, which have parts."""
    shutil.copytree(SCRIPTS / "workbook", tmp_path / "scripts" / "workbook")
    return make_parted(tmp_path)


@pytest.fixture(scope="session")
def site() -> Path:
    """Returns the real book's site, built once, because two builds at a time would interfere."""
    from workbook.verbs import book

    return book.build().parent


@pytest.fixture
def no_process_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves a process running. Everything that it starts inherits a mark."""
    network.prefix()  # starts a process that keeps a network until we exit
    mark = str(uuid.uuid4())
    monkeypatch.setenv(MARK, mark)
    yield
    ours = [process for process in psutil.process_iter() if _environment(process) == mark]
    _, left = psutil.wait_procs(ours, timeout=20)  # killed processes take a moment to disappear
    assert not left, f"still running: {left}"


def _environment(process: psutil.Process) -> str | None:
    """Returns a process's mark. Skips our own: its /proc shows only the initial environment."""
    try:
        return process.environ().get(MARK) if process.pid != os.getpid() else None
    except psutil.Error:
        return None


def assert_refused(result: Result, *words: str) -> None:
    """The command must fail with a message containing these words, a next step, no traceback."""
    assert result.returncode not in (0, 130), result.stdout
    assert "Traceback" not in result.stderr, result.stderr
    assert "error: " in result.stderr and "next:" in result.stderr, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
