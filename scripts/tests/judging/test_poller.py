"""What is said of a poller that lost a change, or told it to somebody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbook.checks import poller, registry
from workbook.checks.model import KQUEUE, Subject, Verdict
from workbook.common.paths import SCRIPTS
from workbook.course.chapters import find


def judged(build: Path, prints: str) -> Verdict:
    """Of a program that is not the real one, which would have to be built."""
    program = build / poller.PROGRAM
    program.write_text(f"#!/bin/sh\n{prints}\n")
    program.chmod(0o755)
    subject = Subject(find("6"), build, {KQUEUE: build / "server"})
    verdict, = poller.judge(subject, [registry.named("seam.poller")])
    return verdict


@pytest.fixture(autouse=True)
def on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")


def test_poller_failures_are_described(tmp_path: Path) -> None:
    verdict = judged(tmp_path, "echo 'FAILED full-list: calls: expected 4, got 501' >&2\n"
                               "echo 'FAILED closed: unwatched: expected 0, got 1' >&2; exit 1")
    assert verdict.status == "fail" and verdict.summary == (
        "full-list: more than 256 changes before one wait(); "
        "closed: a change of a descriptor that was closed meanwhile")
    assert "expected 4, got 501" in verdict.note and "again: " in verdict.note


def test_other_exit_code_is_reported(tmp_path: Path) -> None:
    assert judged(tmp_path, "echo 'FAILED to begin: no' >&2; exit 3").summary == "it ended with 3"
    assert judged(tmp_path, "exit 0").status == "pass"


def test_every_poller_check_has_a_description() -> None:
    source = (SCRIPTS / "poller/poller_test.cpp").read_text(encoding="utf-8")
    assert re.findall(r'Check\{"(.+?)"', source) == list(poller.WORDS)
