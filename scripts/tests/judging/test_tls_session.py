"""What is said of a TLS session that loses bytes, or that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from workbook.checks import registry, tls_session
from workbook.checks.model import MEASURE, Subject, Verdict
from workbook.common.paths import SCRIPTS
from workbook.course.chapters import find


def verdict(build: Path) -> Verdict:
    subject = Subject(find("15"), build, {MEASURE: build / "server"})
    found, = tls_session.judge(subject, [registry.named("seam.tls")])
    return found


def judged(build: Path, prints: str) -> Verdict:
    """Of a program that is not the real one, which would have to be built."""
    program = build / tls_session.PROGRAM
    program.write_text(f"#!/bin/sh\n{prints}\n")
    program.chmod(0o755)
    return verdict(build)


def test_session_failures_are_described(tmp_path: Path) -> None:
    found = judged(tmp_path, "echo 'FAILED pieces: bytes were lost or changed' >&2; exit 1")
    assert found.status == "fail"
    assert found.summary == "pieces: records that are received in pieces"
    assert "bytes were lost or changed" in found.note and "again: " in found.note


def test_session_exit_code_is_reported(tmp_path: Path) -> None:
    assert judged(tmp_path, "exit 3").summary == "it ended with 3"
    assert judged(tmp_path, "exit 0").status == "pass"


def test_missing_session_fails_unless_built_without_openssl(tmp_path: Path) -> None:
    assert verdict(tmp_path).status == "fail"
    objects = tmp_path / "CMakeFiles" / "solutions-15-tls-server.dir"
    objects.mkdir(parents=True)
    (objects / "tls_none.cpp.o").touch()
    assert verdict(tmp_path).status == "skip"


def test_every_session_check_has_a_description() -> None:
    source = (SCRIPTS / "tls/session_test.cpp").read_text(encoding="utf-8")
    assert re.findall(r'Check\{"(.+?)"', source) == list(tls_session.WORDS)
