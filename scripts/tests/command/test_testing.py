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
from scratch import commit, git

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.machine import setup
from workbook.verbs import cli, testing


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tests = tmp_path / "scripts" / "tests"
    tests.mkdir(parents=True)
    for name in ("pytest.ini", "lengths.py", "outcomes.py"):
        shutil.copy(SCRIPTS / "tests" / name, tests)
    (tests / "conftest.py").write_text("pytest_plugins = ['outcomes', 'lengths']\n")
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    # One process is enough to tell the first run from the second, and starts sooner than four.
    monkeypatch.setattr(testing, "TOGETHER", ("-n", "1", *testing.TOGETHER[2:]))
    return tmp_path


def write(root: Path, source: str) -> None:
    (root / "scripts" / "tests" / "test_it.py").write_text(
        "import os\nimport pytest\n"
        "pytestmark = pytest.mark.xdist_group('one')\n"
        "beside = 'PYTEST_XDIST_WORKER' in os.environ\n" + source)


def run(root: Path, source: str, *arguments: str) -> int:
    write(root, source)
    return testing.run(arguments, root)


def test_that_passes_alone_is_reported_and_passes(
        scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(scratch, "@pytest.mark.parametrize('x', ['a@b'])\n"
                        "def test_busy(x): assert not beside, 'the machine is busy'\n"
                        "def test_other(): pass\n") == 0
    printed = capfd.readouterr().out
    assert ("scripts/tests/test_it.py::test_busy[a@b]\n"
            "    first run:  failed: AssertionError: the machine is busy\n"
            "    second run: passed\n") in printed
    assert printed.count("1 passed") == 2, printed  # beside one that failed, and alone
    assert last_line(printed) == ("in all: 2 passed, 0 failed, 1 needed a second run, "
                                  "0 left out for lack of time")


def last_line(printed: str) -> str:
    return printed.splitlines()[-1]


def test_both_outcomes_of_a_second_failure_are_shown(
        scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(scratch, "def test_it(): assert False, 'beside' if beside else 'alone'\n") == 1
    printed = capfd.readouterr().out
    assert "    first run:  failed: AssertionError: beside\n" in printed
    assert "    second run: failed: AssertionError: alone\n" in printed
    assert last_line(printed).startswith("in all: 0 passed, 1 failed, 1 needed a second run")


def test_an_id_with_slashes_is_run_again(scratch: Path) -> None:
    assert run(scratch, "@pytest.mark.parametrize('x', ['http:///a', '//'])\n"
                        "def test_busy(x): assert not beside\n") == 0


def test_a_second_run_that_skips_the_test_does_not_pass_it(
        scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(scratch, "def test_it():\n"
                        "    if not beside: pytest.skip('no time')\n"
                        "    assert False\n") == 1
    assert "    second run: skipped: no time\n" in capfd.readouterr().out


@pytest.mark.parametrize("more, verdict", [(0, 0), (1, 1)])
def test_more_second_runs_than_allowed_fail(scratch: Path, capfd: pytest.CaptureFixture[str],
                                            more: int, verdict: int) -> None:
    number = testing.RETRIES_ALLOWED + more
    assert run(scratch, f"@pytest.mark.parametrize('n', range({number}))\n"
                        "def test_busy(n): assert not beside\n") == verdict
    printed = capfd.readouterr().out
    assert printed.count("    second run: passed\n") == number
    assert f"{number} passed, 0 failed, {number} needed a second run" in last_line(printed)


def test_a_file_that_cannot_be_read_is_not_run_again(
        scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (scratch / "scripts" / "tests" / "test_other.py").write_text("import nothing_like_it\n")
    assert run(scratch, "def test_it(): assert beside\n") not in (0, 5)
    assert "Once more" not in capfd.readouterr().out


def test_what_a_run_leaves_out_is_listed(scratch: Path, capfd: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = scratch / "scripts" / "tests" / "lengths.py"
    text = lengths.read_text()
    assert text.count("34 * 60.0") == 1
    lengths.write_text(text.replace("34 * 60.0", "-1.0"))
    source = ("@pytest.mark.late\n@pytest.mark.parametrize('n', [1, 2])\n"
              "def test_late(n): pass\n"
              "def test_other(): pytest.skip('not on this system')\n"
              "def test_it(): pass\n")
    monkeypatch.delenv("HOTPATH_LONG", raising=False)
    for file in ((), (str(scratch / "scripts" / "tests" / "test_it.py"),)):
        assert run(scratch, source, *file) == 0
        printed = capfd.readouterr().out
        names = "".join(f"scripts/tests/test_it.py::test_late[{n}]\n" for n in (1, 2))
        assert f"test --long runs them in any case:\n{names}\nin all: 1 passed" in printed
        assert last_line(printed).endswith(", 2 left out for lack of time")
    monkeypatch.setenv("HOTPATH_LONG", "1")
    assert run(scratch, source) == 0
    assert last_line(capfd.readouterr().out).endswith(", 0 left out for lack of time")


def test_after_the_last_limit_every_test_is_left_out(
        scratch: Path, capfd: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = scratch / "scripts" / "tests" / "lengths.py"
    text = lengths.read_text()
    assert text.count("58 * 60.0") == 1
    lengths.write_text(text.replace("58 * 60.0", "-1.0"))
    monkeypatch.delenv("HOTPATH_LONG", raising=False)
    assert run(scratch, "def test_first(): assert False\ndef test_second(): assert False\n") == 0
    assert last_line(capfd.readouterr().out).endswith(", 2 left out for lack of time")


def test_a_late_test_is_not_left_out_of_the_second_run(scratch: Path) -> None:
    """The time begins anew: the first run alone may have taken all of it."""
    lengths = scratch / "scripts" / "tests" / "lengths.py"
    lengths.write_text(lengths.read_text().replace("34 * 60.0", "5.0"))
    assert run(scratch, "import time\n@pytest.mark.late\n"
                        "def test_late():\n"
                        "    if beside: time.sleep(6)\n"
                        "    assert not beside\n") == 0


def test_that_fails_twice_fails_the_run(scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(scratch, "def test_wrong(): assert False\ndef test_other(): pass\n") == 1
    assert "Once more, alone, what failed (1)" in capfd.readouterr().out


def test_failed_fixture_is_retried(scratch: Path) -> None:
    assert run(scratch, "@pytest.fixture\ndef late(): assert not beside\n"
                        "def test_it(late): pass\n") == 0
    assert run(scratch, "@pytest.fixture\ndef never(): assert False\n"
                        "def test_it(never): pass\n") == 1


def test_many_failures_are_not_retried(scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    maximum = testing.MAX_RETRIED
    assert run(scratch, f"@pytest.mark.parametrize('n', range({maximum + 1}))\n"
                        "def test_busy(n): assert not beside\n") == 1
    assert "Once more" not in capfd.readouterr().out


def test_run_without_tests_fails(scratch: Path) -> None:
    assert run(scratch, "") == 5


def test_single_file_is_not_retried(scratch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = scratch / "scripts" / "tests" / "test_it.py"
    assert run(scratch, "def test_wrong(): assert False\n", str(file)) == 1
    assert "Once more" not in capfd.readouterr().out


@pytest.mark.parametrize("rest, option", [(False, "affected"), (True, "not_affected")])
def test_a_change_is_counted_from_the_merge_base(
        scratch: Path, capfd: pytest.CaptureFixture[str], rest: bool, option: str) -> None:
    """`main` went on after the branch left it."""
    git(scratch, "init", "-q", "-b", "main")
    commit(scratch)
    base = commit_of(scratch, "HEAD")
    git(scratch, "checkout", "-q", "-b", "branch")
    git(scratch, "commit", "-q", "--allow-empty", "-m", "ours")
    git(scratch, "checkout", "-q", "main")
    git(scratch, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(scratch, "checkout", "-q", "branch")
    conftest = scratch / "scripts" / "tests" / "conftest.py"
    conftest.write_text(conftest.read_text() + """
def pytest_addoption(parser):
    parser.addoption("--affected-since")
    parser.addoption("--not-affected-since")
""")
    write(scratch, "def test_it(pytestconfig):\n"
                   f"    assert pytestconfig.option.{option}_since == '{base}'\n")
    assert testing.run((), scratch, since="main", rest=rest) == 0, capfd.readouterr().out
    write(scratch, "")  # a change that affects nothing
    assert testing.run((), scratch, since="main", rest=rest) == 0
    with pytest.raises(UserError, match="there is no change since gone"):
        testing.run((), scratch, since="gone")


def test_the_command_hands_its_options_on(monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    calls = []
    monkeypatch.setattr(testing, "run",
                        lambda words, **options: calls.append((words, options)) or 0)
    monkeypatch.setattr(setup, "ensure", lambda names: None)
    monkeypatch.setattr(setup, "ensure_test_packages", lambda: None)
    for arguments, code in ((["--since", "main", "--rest", "-k", "x"], 0), (["--rest"], 2)):
        with pytest.raises(SystemExit) as ended:
            cli.app(["test", *arguments])
        assert ended.value.code == code
    assert calls == [(["-k", "x"], {"since": "main", "rest": True})]
    assert "--rest leaves out what --since runs" in capsys.readouterr().err


def commit_of(root: Path, name: str) -> str:
    return subprocess.run(["git", "-C", str(root), "rev-parse", name], check=True, text=True,
                          capture_output=True).stdout.strip()


def test_interrupt_is_passed_to_the_tests(scratch: Path, no_process_left: None) -> None:
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
