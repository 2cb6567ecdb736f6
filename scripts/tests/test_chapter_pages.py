"""What the chapters' pages rest on: their experiments, and the sections that failures point to."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from workbook import chapters, experiments, load
from workbook.errors import UserError
from workbook.experiments import part1, tools
from workbook.load import Phase, PhaseResult
from workbook.paths import BOOK, RESULTS, SOLUTIONS


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_every_experiment_is_recorded_and_told_of(name: str) -> None:
    recorded = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    for row in recorded["rows"].values():
        assert all(isinstance(row[column], (int, float)) for column in recorded["columns"])
    assert f"record --only {name}" in recorded["what"]
    pages = "".join(page.read_text(encoding="utf-8") for page in (BOOK / "src").rglob("*.md"))
    assert f"{{{{#table experiment {name}}}}}" in pages


@pytest.mark.parametrize(("checkpoint", "file", "old"), part1.EDITS)
def test_what_an_experiment_edits_is_there_once(checkpoint: str, file: str, old: str) -> None:
    assert (SOLUTIONS / checkpoint / file).read_text(encoding="utf-8").count(old) == 1


def test_an_edit_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UserError, match="not what an experiment expects"):
        with tools.variant("01-naive", "server.cpp", "no such line", ""):
            pass


def ways(*labels: str) -> dict[str, tools.Way]:
    return {label: tools.Way(label, nullcontext, Phase(label, "plain", 1, 1))  # type: ignore
            for label in labels}


def test_what_is_timed_takes_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def run_phase(_: object, phase: Phase) -> PhaseResult:
        order.append(phase.name)
        return PhaseResult(phase.name, requests=len(order))

    monkeypatch.setattr(load, "run_phase", run_phase)
    found = tools.in_turn(ways("a", "b", "c"), rounds=3)
    assert "".join(order) == "abcbcacab"
    assert [result.requests for result in found["a"]] == [1, 6, 8]


def test_a_load_with_errors_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = iter((None, "3 not 2xx"))
    monkeypatch.setattr(load, "run_phase",
                        lambda _, phase: PhaseResult(phase.name, reason=next(reasons)))
    with pytest.raises(UserError, match="“b” has no figure: 3 not 2xx"):
        tools.in_turn(ways("a", "b"), rounds=1)


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UserError, match="no experiment “gone”") as failure:
        experiments.run(["closing", "gone"])
    assert "closing" in failure.value.fix


def test_an_experiment_measures_and_replaces_its_file(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(experiments, "RESULTS", tmp_path)
    experiments.run(["port-thief"])
    recorded = json.loads((tmp_path / "port-thief.json").read_text(encoding="utf-8"))
    assert recorded["machine"]["cpu"] and set(recorded["rows"]) == {"1", "2", "4"}
    shares = [row["stolen"] for row in recorded["rows"].values()]
    assert shares == sorted(shares, reverse=True) and shares[-1] > 0
    assert "port-thief.json" in capsys.readouterr().out


@pytest.mark.parametrize("chapter", chapters.all_chapters(), ids=lambda chapter: chapter.name)
def test_failures_point_to_sections_that_exist(chapter: chapters.Chapter) -> None:
    page = (BOOK / "src" / chapter.page).read_text(encoding="utf-8")
    headings = re.findall(r"^##+ (.+)$", page, re.M)
    anchors = {"#" + re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))
               for heading in headings}
    assert set(chapter.sections.values()) <= anchors
