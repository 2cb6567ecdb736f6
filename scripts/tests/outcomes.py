"""Writes the outcome of each test to the file that HOTPATH_OUTCOMES names, as JSON.

`hotpath test` reads it to retry failed tests and to list what was left out. Only pytest-xdist's
controller process writes it, because it receives the reports of all others.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

LEFT_OUT = "left_out"  # the property of a test that was left out because time ran out
LONGEST_TEXT = 200  # characters of a failure's text


class Recorder:
    """A plugin that collects the reports of a run. A test has several: for its set-up, itself and
    its tear-down. It has failed if one of them did.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.passed: list[str] = []
        self.failed: dict[str, str] = {}  # -> the first line of the failure
        self.skipped: dict[str, str] = {}  # -> the reason
        self.left_out: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = without_group(report.nodeid)
        if report.failed:
            self.failed.setdefault(name, short_text(report))
        elif report.skipped and (LEFT_OUT, True) in map(tuple, report.user_properties):
            self.left_out.append(name)
        elif report.skipped:
            self.skipped[name] = short_text(report)
        elif report.when == "call":
            self.passed.append(name)

    def pytest_sessionfinish(self) -> None:
        passed = [name for name in self.passed if name not in self.failed]
        self.file.write_text(json.dumps({"passed": passed, "failed": self.failed,
                                         "skipped": self.skipped, "left_out": self.left_out}),
                             encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    # A pytest that one of the tests starts must not write to the same file.
    file = os.environ.pop("HOTPATH_OUTCOMES", "")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(file)), "outcomes-recorder")


def without_group(name: str) -> str:
    """Returns the test's id without the group that pytest-xdist appends. A parameter ends in `]`,
    so an `@` inside it is not mistaken for a group.
    """
    return re.sub(r"@[^@\]]*$", "", name)


def short_text(report: pytest.TestReport) -> str:
    """Returns one line: the exception, or why the test was skipped."""
    if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else str(report.longrepr)).strip().splitlines()
    text = (lines[0] if crash else lines[-1]).strip() if lines else "no text"
    where = f"{report.when}: " if report.when in ("setup", "teardown") else ""
    return where + (text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…")
