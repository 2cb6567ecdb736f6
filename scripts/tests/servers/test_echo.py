"""The echo that chapter 5 begins with, where the gate does not try it."""

from __future__ import annotations

import sys
from pathlib import Path

import programs
import pytest

from workbook.checks import registry
from workbook.checks.behaviour import echo
from workbook.checks.model import RELEASE, Subject, Verdict
from workbook.course import parts
from workbook.course.chapters import having


def judged(source: Path, server: Path) -> Verdict:
    subject = Subject(having("event-loop")[0], source, {RELEASE: server})
    verdict, = echo.judge(subject, [registry.named("behaviour.echo")])
    return verdict


@pytest.mark.skipif(sys.platform != "linux", reason="kqueue is its own elsewhere")
@pytest.mark.parametrize("preset", ["asan", "kqueue", "kqueue-asan"])
def test_echo_passes_on_kqueue_and_under_sanitizers(preset: str) -> None:
    server = programs.aside("echo", parts.tree(having("event-loop")[0], 1), preset)
    verdict = judged(programs.location("echo"), server)
    assert verdict.status == "pass", [(failure.case.name, failure.problem)
                                      for failure in verdict.failures]


def test_missing_echo_program_is_not_judged(tmp_path: Path) -> None:
    assert judged(tmp_path, tmp_path / "server").status == "info"


def test_unbuilt_echo_program_fails(tmp_path: Path) -> None:
    (tmp_path / "echo.cpp").write_text("")
    verdict = judged(tmp_path, tmp_path / "server")
    assert verdict.status == "fail" and "builds no program echo" in verdict.summary


def test_echo_program_that_cannot_start_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "echo.cpp").write_text("")
    program = tmp_path / "echo"
    program.write_text("#!/bin/sh\necho 'echo: to be written' >&2\nexit 1\n")
    program.chmod(0o755)
    verdict = judged(tmp_path, tmp_path / "server")
    assert verdict.status == "fail" and "ended before it was ready" in verdict.summary
    assert "echo: to be written" in verdict.note and not verdict.failures
