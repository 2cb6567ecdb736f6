"""The ways to keep deadlines that the book compares: all find whom they must, and none too early."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbook.authors import overload, tools
from workbook.common.paths import SCRIPTS

SOURCES = SCRIPTS / "deadlines"
TIMEOUT_S = 20.0

# What is wrong, where, and what is said of it.
WRONG = {
    "a sweep that looks at the limit only": (
        "if (!one || now < one->deadline)", "if (!one || now <= one->deadline - 1s)", "sweep: "),
    "an end that leaves its deadline": (
        "        deadlines_[client] = never;\n", "", "dense: "),
    "a list in which the refreshed stay where they are": (
        "        one.unlink();\n        one.deadline = after(limit, now);\n        lists_",
        "        one.deadline = after(limit, now);\n        if (one.empty()) lists_", "lists: "),
    "a wheel that a shorter limit does not turn": (
        "        if (one.deadline < one.due) file(one);\n", "", "wheel: "),
    "a wheel that files into the slot it empties": (
        "std::chrono::ceil<", "std::chrono::floor<", "wheel: "),
    "a heap that only sinks": (
        "place > 0 && deadline < heap_[(place - 1) / 2].deadline", "false", "heap: "),
}


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    with overload.ways_of_deadlines() as built:
        yield built


def check(program: Path, seed: int) -> str:
    """What is said of the ways that are wrong."""
    done = subprocess.run([str(program), "check", str(seed)], capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    assert done.returncode == bool(done.stderr)
    return done.stderr


def test_every_data_structure_finds_the_overdue_clients(program: Path) -> None:
    for seed in (1, 2, 3):
        assert not check(program, seed), f"seed {seed}"


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_data_structure_is_detected(wrong: str, tmp_path: Path) -> None:
    old, new, words = WRONG[wrong]
    for file in SOURCES.iterdir():
        text = file.read_text(encoding="utf-8")
        if file.name == "ways.h":
            assert text.count(old) == 1
            text = text.replace(old, new)
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    output = check(tools.compiled(tmp_path / "deadlines.cpp", tmp_path / "deadlines"), 1)
    assert output.startswith(words) and output.count("\n") == 1


def test_every_data_structure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not how large they are: but that a heap counts more than a sweep."""
    monkeypatch.setattr(overload, "CROWDS", (500, 1000))
    monkeypatch.setattr(overload, "MAXIMUM", 1000)
    monkeypatch.setattr(overload, "ITERATIONS", 1)
    found = overload.deadlines()
    assert all(row.keys() == {"label", *found.columns} for row in found.rows.values())
    assert 0 < found.rows["sweep"]["instructions"] < found.rows["heap"]["instructions"]
