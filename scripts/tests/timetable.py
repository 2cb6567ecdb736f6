"""Prints how long the tests of a run took, by folder and file."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROCESSOR = "processor_s"


@dataclass
class Row:
    """The tests of a file: their number, elapsed seconds, and processor seconds."""

    tests: int = 0
    wall_s: float = 0.0
    processor_s: float = 0.0

    def add(self, other: Row) -> None:
        self.tests += other.tests
        self.wall_s += other.wall_s
        self.processor_s += other.processor_s


def _spent() -> float:
    """Returns the processor time so far of this process and of children that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    item.stash[_began] = _spent()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    report = yield
    if call.when == "teardown":  # the last of a test's three reports
        report.user_properties.append((PROCESSOR, _spent() - item.stash[_began]))
    return report


_began = pytest.StashKey[float]()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    files = rows(report for reports in terminalreporter.stats.values() for report in reports
                 if isinstance(report, pytest.TestReport))
    if not files:
        return
    terminalreporter.section("where the time went")
    for line in table(files):
        terminalreporter.write_line(line)


def rows(reports: Iterator[pytest.TestReport]) -> dict[str, Row]:
    """Returns the rows by file. A test has three reports: set-up, itself, tear-down."""
    files: dict[str, Row] = defaultdict(Row)
    for report in reports:
        processor_s = dict(report.user_properties).get(PROCESSOR, 0.0)
        files[report.nodeid.partition("::")[0]].add(
            Row(report.when == "teardown", report.duration, float(processor_s)))
    return files


def table(files: dict[str, Row]) -> list[str]:
    """Returns the lines of the table: folders, the longest first, each with its files."""
    folders: dict[str, dict[str, Row]] = defaultdict(dict)
    for file, row in files.items():
        folders[Path(file).parent.name][Path(file).name] = row
    sums = {folder: _sum(inside) for folder, inside in folders.items()}
    lines = [f"{'':32} {'tests':>6} {'wall':>8} {'processor':>10}"]
    for folder in sorted(sums, key=lambda name: -sums[name].wall_s):
        lines.append(_line(f"{folder}/", sums[folder]))
        inside = folders[folder]
        lines += [_line(f"    {name}", inside[name])
                  for name in sorted(inside, key=lambda name: -inside[name].wall_s)]
    return [*lines, _line("all", _sum(sums))]


def _sum(rows: dict[str, Row]) -> Row:
    total = Row()
    for row in rows.values():
        total.add(row)
    return total


def _line(name: str, row: Row) -> str:
    return f"{name:32} {row.tests:6} {row.wall_s:6.0f} s {row.processor_s:8.0f} s"
