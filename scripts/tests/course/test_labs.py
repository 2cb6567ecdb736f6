"""A lab has no server: every verb knows that, and `check` judges it by the checks for labs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from workbook.checks import check, registry
from workbook.checks.model import Check, Status, Subject, Verdict
from workbook.common.errors import UserError
from workbook.course import chapters, progress
from workbook.course.chapters import LAB, Chapter
from workbook.servers import build
from workbook.verbs import check as verb

from conftest import Hotpath, assert_refused
from scratch import edit


@pytest.fixture
def lab(tiny: Path) -> Chapter:
    return chapters.load(tiny / "chapters/lab-x/chapter.toml")


def test_a_lab_is_worked_through_like_any_other(hotpath: Hotpath, tiny: Path) -> None:
    edit(tiny / "chapters/lab-x/a.cpp", "return 0;  // TODO(lab-x)", "return 3;  // mine")
    assert "begun" in hotpath("list", root=tiny).stdout
    assert "the first hint" in hotpath("hint", "x", root=tiny).stdout
    assert "+    return 3;  // mine" in hotpath("diff", "lab-x", "--mine", root=tiny).stdout
    assert "The idea of it." in hotpath("solution", "x", "--anyway", root=tiny).stdout
    assert hotpath("reset", "lab-x", root=tiny).returncode == 0
    assert "TODO(lab-x)" in (tiny / "chapters/lab-x/a.cpp").read_text()
    assert_refused(hotpath("diff", "lab-x", root=tiny), "no chapter before it")


@pytest.mark.parametrize("arguments", [
    ["run", "x"], ["trace", "x"], ["stress", "x"], ["pgo", "lab-x"], ["bench", "x"],
    ["compare", "1", "lab-x"], ["compare", "solutions/lab-x", "2"]], ids=" ".join)
def test_what_needs_a_server_says_so(hotpath: Hotpath, tiny: Path, arguments: list[str]) -> None:
    assert_refused(hotpath(*arguments, root=tiny), "lab-x is a lab: it has no server",
                   "check lab-x")


@pytest.mark.parametrize("more", [[], ["--solution"], ["--json"], ["--only", "cost"],
                                  ["--case", "page"]], ids=" ".join)
def test_a_lab_that_nothing_judges_does_not_pass(hotpath: Hotpath, tiny: Path,
                                                 more: list[str]) -> None:
    told = hotpath("check", "lab-x", *more, root=tiny)
    assert_refused(told, "lab-x cannot be judged: no check is for a lab", "book/src/p.md")
    assert "PASS" not in told.stdout and not (tiny / ".hotpath/progress.json").exists()


@pytest.mark.parametrize("status, exit_code, words", [
    ("pass", 0, "lab-x: PASS"), ("fail", 1, "lab-x: NOT YET, 1 of 1 checks fail"),
    ("skip", 1, "lab-x: NOT JUDGED"), ("info", 1, "lab-x: NOT JUDGED")])
def test_a_lab_is_judged_by_the_checks_for_labs(
        lab: Chapter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        status: Status, exit_code: int, words: str) -> None:
    def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
        assert subject.builds == {"release": Path("built bench")}
        yield from (Verdict(check.name, status, "two times as fast") for check in wanted)

    entry = Check("ratio", "how many times as fast", judge, kinds=(LAB,))
    monkeypatch.setattr(registry, "CHECKS", (*registry.CHECKS, entry))
    monkeypatch.setattr(registry, "NAMES", (*registry.NAMES, entry.name))
    monkeypatch.setattr(build, "build_program", lambda source, preset, name: Path(f"built {name}"))
    remembered: list[str] = []
    monkeypatch.setattr(progress, "mark_passed", lambda *_: remembered.append("passed"))
    monkeypatch.setattr(progress, "mark_failing", lambda _: remembered.append("failing"))
    assert verb.run(lab) == exit_code
    said = capsys.readouterr().out
    assert words in said and "behaviour" not in said
    assert remembered == {"pass": ["passed"], "fail": ["failing"]}.get(status, [])


def test_a_check_that_is_not_for_the_chapter_is_refused() -> None:
    first = chapters.find("1")
    with pytest.raises(UserError, match="01-naive is not judged by build.allocator"):
        check.built(first, True, ["build.allocator"])


def test_a_kind_that_does_not_exist_is_refused(lab: Chapter) -> None:
    file = lab.starter_dir / "chapter.toml"
    edit(file, 'kind = "lab"', 'kind = "labour"')
    with pytest.raises(UserError, match="no kind “labour” of chapter"):
        chapters.load(file)
