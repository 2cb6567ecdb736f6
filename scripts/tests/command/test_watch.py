"""`hotpath watch` asks again when a file is saved, and leaves nothing behind."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from workbook.course import chapters, progress
from workbook.verbs import watch

TIMEOUT_S = 120


def received(lines: queue.Queue[str], words: str) -> list[str]:
    """What came until a line with these words."""
    found: list[str] = []
    while words not in (line := lines.get(timeout=TIMEOUT_S)):
        found.append(line)
    return found


def test_watch_reports_an_error_and_continues_until_interrupted(tiny: Path,
                                                                no_process_left: None) -> None:
    """The scratch repository has nothing that could be built."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "workbook", "watch", "1"], cwd=tiny, text=True,
        env={**os.environ, "PYTHONPATH": str(tiny / "scripts")}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: [lines.put(line) for line in process.stdout or ()])
    reader.start()
    try:
        assert any("error: " in line for line in received(lines, "Waiting"))
        (tiny / "chapters/01-a/a.cpp").write_text("int x;\n")
        repeated = received(lines, "Waiting")
        assert any("check 1" in line for line in repeated)
        assert any("error: " in line for line in repeated)
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 0
    finally:
        process.kill()
        process.wait()
        reader.join()


def test_watch_runs_failing_checks_first_and_then_all(monkeypatch: pytest.MonkeyPatch) -> None:
    failing, asked = ["behaviour.cuts", "cost.syscalls"], []

    def check(_: object, only: list[str]) -> int:
        asked.append(only)
        failing[:] = [] if only else ["behaviour.limits"]
        return 0 if only else 1

    monkeypatch.setattr(watch, "_check", check)
    monkeypatch.setattr(progress, "unmet", lambda _: list(failing))
    watch._judge(chapters.find("1"), watch.Console(quiet=True))
    assert asked == [["behaviour.cuts"], []]
    watch._judge(chapters.find("1"), watch.Console(quiet=True))
    assert asked[2:] == [["behaviour.limits"], []]


def test_check_ends_when_a_file_is_saved_meanwhile(monkeypatch: pytest.MonkeyPatch,
                                                   tmp_path: Path) -> None:
    file = tmp_path / "01-naive" / "a.cpp"
    file.parent.mkdir()
    file.write_text("1")
    checks: list[subprocess.Popen[bytes]] = []

    def start(_: object) -> subprocess.Popen[bytes]:
        checks.append(subprocess.Popen(["sleep", "60"]))
        file.write_text("12")
        return checks[0]

    monkeypatch.setattr(watch.children, "start", start)
    chapter = replace(chapters.find("1"), chapters=tmp_path)
    assert watch._check(chapter, []) is None
    assert checks[0].poll() is not None
    monkeypatch.setattr(watch.children, "start", lambda _: subprocess.Popen(["false"]))
    assert watch._check(chapter, []) == 1


def test_saved_file_is_noticed_and_hidden_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("1")
    before = watch.stamps(tmp_path)
    (tmp_path / ".a.cpp.swp").write_text("1")
    assert watch.stamps(tmp_path) == before
    (tmp_path / "a.cpp").write_text("12")
    assert watch.stamps(tmp_path) != before


def test_a_save_in_a_folder_is_noticed_and_a_build_is_not(tmp_path: Path) -> None:
    for folder in ("http", "build"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.cpp").write_text("1")
    before = watch.stamps(tmp_path)
    (tmp_path / "build/a.cpp").write_text("12")
    assert watch.stamps(tmp_path) == before
    (tmp_path / "http/a.cpp").write_text("12")
    assert watch.stamps(tmp_path) != before
