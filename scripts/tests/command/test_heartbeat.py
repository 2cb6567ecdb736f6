"""Long work shows a sign of life in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from workbook.common import heartbeat
from workbook.common.paths import ROOT
from workbook.servers import build
from workbook.verbs import book

SLOW: Sequence[str] = ("sh", "-c", "echo '[3/7] compiling'; sleep 0.5")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "EVERY_S", 0.1)


def test_piped_build_shows_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    build._run(SLOW, ROOT, "building it")
    assert "building it 3/7 (0 s)\n" in capsys.readouterr().err


def test_build_of_the_book_shows_that_it_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mdbook"
    program.write_text("#!/bin/sh\nsleep 0.5\n")
    program.chmod(0o755)
    monkeypatch.setattr(book, "_program", lambda _: str(program))
    book._run("search index", "mdbook", "build")
    assert "building the book: search index (0 s)\n" in capsys.readouterr().err


def test_terminal_and_quick_work_get_no_lines(capsys: pytest.CaptureFixture[str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    build._run(("true",), ROOT, "building it")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with heartbeat.heartbeat(lambda: "waiting"):
        time.sleep(0.3)
    assert "waiting" not in capsys.readouterr().err
