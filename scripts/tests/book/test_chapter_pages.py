"""What the chapters' pages rest on: their experiments, the sections that failures point to, and
the diffs of their parts.
"""

from __future__ import annotations

import fnmatch
import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from preprocessor import diffs
from workbook import authors
from workbook.authors import (
    blocking_servers,
    labs_in_server,
    log,
    secured,
    streaming,
    thread_pool,
    tools,
)
from workbook.checks import registry
from workbook.checks.behaviour import cases
from workbook.common.errors import UserError
from workbook.common.paths import BOOK, RESULTS, SOLUTIONS
from workbook.course import chapters, trees
from workbook.measure import load
from workbook.measure.load import Phase, PhaseResult
from workbook.measure.sequence import Way
from workbook.verbs import differences

WITH_PARTS = [chapter for chapter in chapters.all_chapters() if chapter.parts]


@pytest.mark.parametrize("name", authors.EXPERIMENTS)
def test_every_experiment_is_recorded_and_shown_on_a_page(name: str) -> None:
    recorded = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    for row in recorded["rows"].values():
        assert all(isinstance(row[column], (int, float, str)) or row[column] is None and row["reason"]
                   for column in recorded["columns"])
    assert f"record --only {name}" in recorded["what"]
    pages = "".join(page.read_text(encoding="utf-8") for page in (BOOK / "src").rglob("*.md"))
    assert re.search(
        rf"{{{{#(table|table experiment|chart \w+|curve|film timeline|latency) {name}[ }}]", pages)


def test_pending_experiments_have_no_record_yet() -> None:
    """With one, they belong among those that a page has to show."""
    assert not authors.EXPERIMENTS.keys() & authors.PENDING.keys()
    assert not [name for name in authors.PENDING if (RESULTS / f"{name}.json").exists()]


@pytest.mark.parametrize(("checkpoint", "file", "old"),
                         blocking_servers.EDITS + labs_in_server.EDITS + streaming.EDITS + thread_pool.EDITS
                         + secured.EDITS + log.EDITS)
def test_text_edited_by_an_experiment_occurs_once(checkpoint: str, file: str, old: str) -> None:
    source = trees.source(SOLUTIONS / checkpoint, file)
    assert source.read_text(encoding="utf-8").count(old) == 1


def test_an_edit_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UserError, match="not what an experiment expects"):
        with tools.variant("01-naive", "server.cpp", "no such line", ""):
            pass


def ways(*labels: str) -> dict[str, Way]:
    return {label: Way(label, nullcontext, Phase(label, "plain", 1, 1))  # type: ignore
            for label in labels}


def test_timed_variants_alternate_between_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def run_phase(_: object, phase: Phase, *__: object) -> PhaseResult:
        order.append(phase.name)
        return PhaseResult(phase.name, requests=len(order))

    monkeypatch.setattr(load, "run_phase", run_phase)
    found = tools.in_sequence(ways("a", "b", "c"), rounds=3)
    assert "".join(order) == "abcbcacab"
    assert [result.requests for result in found["a"]] == [1, 6, 8]


def test_load_with_errors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = iter((None, "3 not 2xx"))
    monkeypatch.setattr(load, "run_phase",
                        lambda _, phase, *__: PhaseResult(phase.name, reason=next(reasons)))
    with pytest.raises(UserError, match="“b” has no figure: 3 not 2xx"):
        tools.in_sequence(ways("a", "b"), rounds=1)


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UserError, match="no experiment “gone”") as failure:
        authors.run(["closing", "gone"])
    assert "closing" in failure.value.fix


def test_an_experiment_measures_and_replaces_its_file(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(authors, "RESULTS", tmp_path)
    authors.run(["port-thief"])
    recorded = json.loads((tmp_path / "port-thief.json").read_text(encoding="utf-8"))
    assert recorded["machine"]["cpu"] and set(recorded["rows"]) == {"1", "2", "4"}
    stolen = {threads: row["stolen"] for threads, row in recorded["rows"].items()}
    assert stolen["1"] == 0 < stolen["4"] <= stolen["2"]
    assert "port-thief.json" in capsys.readouterr().out


@pytest.mark.parametrize("chapter", chapters.all_chapters(), ids=lambda chapter: chapter.name)
def test_failures_point_to_sections_that_exist(chapter: chapters.Chapter) -> None:
    page = (BOOK / "src" / chapter.page).read_text(encoding="utf-8")
    assert set(chapter.sections.values()) <= anchors(page)
    assert set(chapter.sections) <= set(registry.NAMES)
    assert {f"cost.{name}" for name in chapter.cost} <= set(registry.NAMES)
    assert set(chapter.starter_fails) <= set(chapter.sections)  # what every reader sees fail
    assert set(chapter.case_sections.values()) <= anchors(page)
    names = [case.name for case in cases.select(chapter.level)]
    unknown = [pattern for pattern in chapter.case_sections if not fnmatch.filter(names, pattern)]
    assert not unknown


def test_line_counts_match_the_diff_command(capfd: pytest.CaptureFixture[str]) -> None:
    chapter = next(c for c in chapters.all_chapters() if c.name == "06-hot-path")
    differences.show(chapter, mine=False, stat=True)
    found = diffs.between(SOLUTIONS / "05-event-loop", chapter.solution_dir)
    assert (f"{len(found)} files changed, {sum(diff.added for diff in found)} insertions(+), "
            f"{sum(diff.removed for diff in found)} deletions(-)") in capfd.readouterr().out


def anchors(page: str) -> set[str]:
    """What can be linked to on it."""
    headings = re.findall(r"^##+ (.+)$", page, re.M)
    return {"#" + re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))
            for heading in headings}


# Chapters whose pages don't explain our version yet. The list may only shrink.
WITHOUT_OURS = {"05-event-loop", "06-hot-path", "07-workers", "08-allocator-pgo", "09-files",
                "10-validators", "11-hot-files", "12-streaming", "13-overload", "14-log", "15-tls"}


@pytest.mark.parametrize("chapter", [c for c in chapters.all_chapters() if c.number],
                         ids=lambda chapter: chapter.name)
def test_page_explains_our_version_of_every_part(chapter: chapters.Chapter) -> None:
    page = (BOOK / "src" / chapter.page).read_text(encoding="utf-8")
    shown = set(re.findall(rf"^{{{{#ours {chapter.name} ?(\d*)}}}}$", page, re.M))
    explained = {str(part.number) for part in chapter.parts} <= shown and bool(shown)
    assert explained != (chapter.name in WITHOUT_OURS), "explain it, or take it off the list"
    for ours in re.findall(r"^{{#ours .+?^{{/ours}}$", page, re.M | re.S):
        assert "{{#snippet " in ours and re.search(r"^[^{\s]", ours, re.M), "code, and its reasons"


@pytest.mark.parametrize("chapter", WITH_PARTS, ids=lambda chapter: chapter.name)
def test_page_shows_every_part_in_order_at_its_anchor(chapter: chapters.Chapter) -> None:
    page = (BOOK / "src" / chapter.page).read_text(encoding="utf-8")
    shown = re.findall(r"^\{\{#part (\S+) (\d+)\}\}$", page, re.M)
    assert shown == [(chapter.name, str(part.number)) for part in chapter.parts]
    assert {part.anchor for part in chapter.parts} <= anchors(page)
    assert {name for part in chapter.parts for name in part.judged} <= set(registry.NAMES)


def test_diff_covers_every_file_type_of_the_solutions() -> None:
    """A file of a kind that the preprocessor does not know would be missing from the page."""
    kinds = {file.suffix for file in SOLUTIONS.rglob("*") if file.is_file()}
    assert kinds <= diffs.SOURCES
