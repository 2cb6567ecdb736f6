"""Long work shows a sign of life in a pipe."""

from __future__ import annotations

import os
import pty
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from workbook.common import heartbeat
from workbook.common.paths import ROOT
from workbook.servers import build, process
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


def test_job_in_the_background_of_a_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch,
                                                        ) -> None:
    ours, terminal = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
        with heartbeat.heartbeat(lambda: "building it"):
            time.sleep(0.3)
        assert b"building it (0 s)" in os.read(ours, 1000)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
        assert not heartbeat.in_background()


def test_command_for_another_port_keeps_the_options() -> None:
    assert process._with_port("run 4 --", ["--threads", "4", "--port", "8085"]) == (
        "run 4 -- --threads 4 --port 8081")
    assert process._with_port("run 4 --", ["--port=8085", "--threads", "4"]) == (
        "run 4 -- --threads 4 --port 8081")
