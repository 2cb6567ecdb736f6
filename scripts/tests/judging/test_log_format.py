"""What is said of log lines that are malformed, or that are not there."""

from __future__ import annotations

import re
from pathlib import Path

from workbook.checks import log_format, registry
from workbook.checks.model import MEASURE, Subject, Verdict
from workbook.common.paths import SCRIPTS
from workbook.course.chapters import find


def verdict(build: Path) -> Verdict:
    subject = Subject(find("14"), build, {MEASURE: build / "server"})
    found, = log_format.judge(subject, [registry.named("seam.log-format")])
    return found


def judged(build: Path, prints: str) -> Verdict:
    """Of a program that is not the real one, which would have to be built."""
    program = build / log_format.PROGRAM
    program.write_text(f"#!/bin/sh\n{prints}\n")
    program.chmod(0o755)
    return verdict(build)


def test_malformed_lines_are_described(tmp_path: Path) -> None:
    found = judged(tmp_path, "echo 'FAILED json: a line: expected {}' >&2; exit 1")
    assert found.status == "fail"
    assert found.summary == "json: a line of JSON"
    assert "expected {}" in found.note and "again: " in found.note


def test_exit_code_of_the_log_program_is_reported(tmp_path: Path) -> None:
    assert judged(tmp_path, "exit 3").summary == "it ended with 3"
    assert judged(tmp_path, "exit 0").status == "pass"


def test_missing_log_program_fails(tmp_path: Path) -> None:
    assert verdict(tmp_path).status == "fail"


def test_every_check_of_the_log_program_has_a_description() -> None:
    source = (SCRIPTS / "log/format_test.cpp").read_text(encoding="utf-8")
    assert re.findall(r'Check\{"(.+?)"', source) == list(log_format.WORDS)
