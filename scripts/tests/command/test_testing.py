"""`hotpath test` itself, over a scratch folder of tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbook.common import children
from workbook.common.paths import SCRIPTS
from workbook.verbs import testing


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tests = tmp_path / "scripts" / "tests"
    tests.mkdir(parents=True)
    shutil.copy(SCRIPTS / "tests" / "pytest.ini", tests)
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(root: Path, source: str, *arguments: str) -> int:
    (root / "scripts" / "tests" / "test_it.py").write_text(
        "import os\nimport pytest\n"
        "pytestmark = pytest.mark.xdist_group('one')\n"
        "beside = 'PYTEST_XDIST_WORKER' in os.environ\n" + source)
    return testing.run(arguments, root)


def test_what_passes_alone_is_told_and_does_not_fail(
        scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(scratch, "@pytest.mark.parametrize('x', ['a@b'])\n"
                        "def test_busy(x): assert not beside\n"
                        "def test_other(): pass\n") == 0
    printed = capfd.readouterr().out
    assert "passed alone; look why:\nscripts/tests/test_it.py::test_busy[a@b]" in printed
    assert printed.count("1 passed") == 2, printed  # beside one that failed, and alone


def test_what_fails_twice_fails(scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(scratch, "def test_wrong(): assert False\ndef test_other(): pass\n") == 1
    assert "Once more, alone, what failed (1)" in capfd.readouterr().out


def test_a_fixture_that_fails_is_asked_again(scratch: Path) -> None:
    assert run(scratch, "@pytest.fixture\ndef late(): assert not beside\n"
                        "def test_it(late): pass\n") == 0
    assert run(scratch, "@pytest.fixture\ndef never(): assert False\n"
                        "def test_it(never): pass\n") == 1


def test_many_that_fail_are_no_accident(scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    maximum = testing.MAX_RETRIED
    assert run(scratch, f"@pytest.mark.parametrize('n', range({maximum + 1}))\n"
                        "def test_busy(n): assert not beside\n") == 1
    assert "Once more" not in capfd.readouterr().out


def test_a_folder_without_a_test_is_no_success(scratch: Path) -> None:
    assert run(scratch, "") == 5


def test_one_file_is_asked_once(scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = scratch / "scripts" / "tests" / "test_it.py"
    assert run(scratch, "def test_wrong(): assert False\n", str(file)) == 1
    assert "Once more" not in capfd.readouterr().out


def test_an_interrupt_reaches_the_tests(scratch: Path, nothing_left: None) -> None:
    (scratch / "scripts" / "tests" / "test_it.py").write_text(
        "import pathlib, time\n"
        "def test_long(tmp_path):\n"
        f"    pathlib.Path({str(scratch / 'began')!r}).touch()\n"
        "    time.sleep(200)\n")
    command = children.start(
        [sys.executable, "-c", "import pathlib, sys; from workbook.verbs import testing; "
         f"sys.exit(testing.run([], pathlib.Path({str(scratch)!r})))"],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, stdout=subprocess.PIPE, text=True)
    wait_until((scratch / "began").exists)
    command.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in command.communicate(timeout=100)[0]
    assert command.returncode == 2  # pytest's word for it


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
