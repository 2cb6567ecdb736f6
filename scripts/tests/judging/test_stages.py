"""How `check` judges a chapter by its parts, and what it says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Hotpath, assert_refused

from workbook.checks import check, registry, stages
from workbook.checks.behaviour import cases, rows, suite
from workbook.checks.model import Check, Subject, Verdict
from workbook.common.errors import UserError
from workbook.course import progress
from workbook.course.chapters import Chapter, Part, all_chapters, find
from workbook.servers.client import Received
from workbook.verbs import check as verb
from workbook.verbs import verdicts

Judged = Callable[..., None]
CASE = next(case for case in registry.named(
    "behaviour.cuts").cases() if case.expect)  # type: ignore


@pytest.fixture
def chapter() -> Chapter:
    """Three parts: a group, a cost that falls in two, and a group that the second breaks."""
    return replace(find("2"), cost={"syscalls": 6.0, "instructions": 3000.0}, parts=(
        Part(1, "one", "The first", [], ["behaviour.bodies"], "#one", {"instructions": 9000.0}),
        Part(2, "two", "The second", [], [], "#two", {"instructions": 5000.0},
             ["behaviour.cuts"]),
        Part(3, "three", "The third", [], ["behaviour.cuts", "cost.instructions"], "#three")))


def counted(instructions: float, budget: float = 3000.0) -> Verdict:
    words = f"{instructions:,.0f} instructions a request"
    return Verdict("cost.instructions", "pass" if instructions <= budget else "fail",
                   f"{words}, budget {budget:,.0f}", measured=words,
                   figures={"value": instructions, "budget": budget})


def found(instructions: float, **wrong: bool) -> list[Verdict]:
    groups = [Verdict(f"behaviour.{name}", "fail" if wrong.get(name) else "pass", "cases",
                      failures=[suite.Failure(replace(CASE, check=f"behaviour.{name}",
                                                      name=f"{name}/case"), "it hangs",
                                              Received(rows.NOT_FOUND, "closed", 0.1))]
                      if wrong.get(name) else [])
              for name in ("requests", "bodies", "cuts")]
    return [*groups, counted(instructions), Verdict("speed", "info", "2 ×")]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Judged:
    """Lets `run` find these verdicts, as far as they are asked for, and remember elsewhere."""

    def set_to(*verdicts: Verdict) -> None:
        monkeypatch.setattr(progress, "FILE", tmp_path / "progress.json")
        monkeypatch.setattr(check, "built", lambda chapter, *_,
                            **__: Subject(chapter, tmp_path, {}))
        monkeypatch.setattr(check, "judge", lambda subject, names: iter(
            [verdict for verdict in verdicts if verdict.name in names]))

    return set_to


@pytest.mark.parametrize("verdicts, unmet, part", [
    (found(9500, bodies=True), ["1 behaviour.bodies", "1 cost.instructions", "2 cost.instructions",
                                "3 cost.instructions"], 1),
    (found(8000), ["2 cost.instructions", "3 cost.instructions"], 2),
    (found(5000, cuts=True), ["3 behaviour.cuts", "3 cost.instructions"], 3),
    (found(2000, requests=True, cuts=True), ["0 behaviour.requests", "3 behaviour.cuts"], 3),
    (found(3000), [], None),
])
def test_reached_part_follows_from_the_verdicts(chapter: Chapter, verdicts: list[Verdict],
                                                unmet: list[str],
                                                part: int | None) -> None:
    judged = stages.stages(chapter, verdicts)
    here = stages.current(judged)
    assert stages.unmet(judged) == unmet
    assert (here.number if here else None) == part


def test_expected_failures_after_each_part(chapter: Chapter) -> None:
    assert stages.expected(chapter, 0) == [
        "1 behaviour.bodies", "1 cost.instructions", "2 cost.instructions", "3 cost.instructions"]
    assert stages.expected(chapter, 1) == ["2 cost.instructions", "3 cost.instructions"]
    assert stages.expected(chapter, 2) == ["3 behaviour.cuts", "3 cost.instructions"]
    assert stages.expected(chapter, 3) == []


def test_a_check_that_waits_for_a_failing_one_is_not_expected_to_fail(chapter: Chapter) -> None:
    first, *others = chapter.parts
    waiting = replace(chapter, parts=(replace(first, checks=["behaviour.requests"]), *others))
    assert registry.named("cost.instructions").after == "behaviour.requests"
    assert stages.expected(waiting, 0) == ["1 behaviour.requests"]
    assert stages.expected(waiting, 1) == stages.expected(chapter, 1)


def cuts_failing(*names: str, note: str = "") -> Verdict:
    failures = [suite.Failure(replace(CASE, name=name), "it hangs",
                              Received(rows.NOT_FOUND, "closed", 0.1)) for name in names]
    return Verdict("behaviour.cuts", "fail", "some cases", note, failures=failures)


def in_two_steps(chapter: Chapter) -> Chapter:
    """The first part asks for nine cases of a group, and the second for all."""
    return replace(chapter, parts=(
        Part(1, "one", "The first", [], [], "#one", cases={"cuts": ["cuts/get-at-00?"]}),
        Part(2, "two", "The second", [], ["behaviour.cuts"], "#two")))


@pytest.mark.parametrize("verdict, unmet", [
    (cuts_failing("cuts/bad-at-001"), ["2 behaviour.cuts"]),
    (cuts_failing("cuts/get-at-001", "cuts/bad-at-001"), ["1 behaviour.cuts", "2 behaviour.cuts"]),
    (cuts_failing(note="the server died"), ["1 behaviour.cuts", "2 behaviour.cuts"]),
])
def test_a_part_can_ask_for_some_cases_of_a_group(chapter: Chapter, verdict: Verdict,
                                                  unmet: list[str]) -> None:
    some = in_two_steps(chapter)
    judged = stages.stages(some, [verdict])
    assert stages.unmet(judged) == unmet
    assert stages.expected(some, 0) == ["1 behaviour.cuts", "2 behaviour.cuts"]
    assert stages.names(some, 1, ["behaviour.cuts"]) == ["behaviour.cuts"]
    if unmet == ["2 behaviour.cuts"]:
        assert judged[1].verdicts[0].summary == "9 of the 9 cases of this part"


def test_a_group_that_passes_is_counted_in_each_part_by_its_cases(chapter: Chapter) -> None:
    some = in_two_steps(chapter)
    count = len(cases.select(some.level, ["behaviour.cuts"]))
    whole = Verdict("behaviour.cuts", "pass", "all of them", figures={"cases": count})
    assert [stage.verdicts[0].summary for stage in stages.stages(some, [whole])[1:]] == [
        "9 of the 9 cases of this part", "all of them"]
    few = replace(whole, summary="2 of 2 cases", figures={"cases": 2})  # with --case
    assert stages.stages(some, [few])[1].verdicts[0].summary == "2 of 2 cases"


def test_a_group_that_failed_last_is_reported_by_the_cases_of_the_part(
        chapter: Chapter, judged: Judged, capsys: pytest.CaptureFixture[str]) -> None:
    some = in_two_steps(chapter)
    judged(cuts_failing("cuts/bad-at-001"), Verdict("behaviour.requests", "pass", "cases"))
    assert verb.run(some) == 1 and progress.unmet(some) == ["behaviour.cuts"]
    assert "part 2 of 2: The second" in capsys.readouterr().out
    assert verb.run(some, part=1) == 0
    assert capsys.readouterr().out.startswith(
        "✓ behaviour.cuts        9 of the 9 cases of this part\n")


def test_required_checks_at_the_end_of_a_part(chapter: Chapter) -> None:
    chosen = ["behaviour.requests", "behaviour.bodies", "behaviour.cuts", "cost.syscalls",
              "cost.instructions", "speed"]
    must = [stages.names(chapter, part, chosen) for part in (1, 2, 3)]
    early = [name for name in chosen[:-1] if name != "behaviour.cuts"]
    assert must == [early, early, chosen[:-1]]
    assert "cost.allocations" not in stages.names(chapter, 3)  # which has no budget


def test_verdicts_are_printed_below_their_part(chapter: Chapter, judged: Judged,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    judged(*found(8000, cuts=True))
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    assert output.startswith("✓ behaviour.requests    cases\n✓ part 1 of 3: The first\n"
                             "  ✓ behaviour.bodies      cases\n")
    for line in ("\n· speed                 2 ×\n",
                 "  ✓ cost.instructions     8,000 instructions a request, budget 9,000\n",
                 "✗ part 2 of 3: The second\n  ✗ cost.instructions     8,000 instructions",
                 "○ part 3 of 3: The third\n  ○ behaviour.cuts        cases\n",
                 "02-fewer-syscalls: NOT YET, you are in part 2 of 3: The second"):
        assert line in output, output
    assert "it hangs" not in output  # that is not its turn yet
    assert output.count("read ") == 1 and progress.reached(chapter) == 2


def test_single_check_is_printed_without_parts(chapter: Chapter, judged: Judged,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    judged(*(one for one in found(8000, cuts=True) if one.name.startswith("cost.")))
    assert verb.run(chapter, only=["cost"]) == 1
    output = capsys.readouterr().out
    assert "part 1 of 3" not in output and output.count("cost.instructions") == 2
    assert "✗ cost.instructions     8,000 instructions a request" in output


def test_failures_of_green_checks_are_printed_first(chapter: Chapter, judged: Judged,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    judged(*found(8000, requests=True, cuts=True))
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    assert "✗ requests/case" in output and "✗ cuts/case" not in output
    assert ("NOT YET, 1 of the checks that must stay green fail; you are in part 2 of 3: "
            "The second") in output


def test_single_part_is_judged_alone(chapter: Chapter, judged: Judged,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    judged(*found(4800, cuts=True))
    assert verb.run(chapter, part=2) == 0
    output = capsys.readouterr().out
    assert "02-fewer-syscalls: part 2 of 3 PASS" in output and "cuts" not in output
    assert "Next: part 3, The third: " in output and "check 2 --part 3" in output
    assert progress.reached(chapter) == 3 and not progress.passed(chapter)
    assert verb.run(chapter, part=1) == 0 and progress.reached(chapter) == 3
    assert verb.run(chapter, part=3) == 1 and not progress.passed(chapter)
    assert "you are in part 3 of 3" in capsys.readouterr().out


def test_part_is_judged_before_what_must_stay_green(chapter: Chapter, judged: Judged,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    judged(*found(9500, requests=True, bodies=True))
    assert verb.run(chapter, part=1) == 1
    output = capsys.readouterr().out
    assert "behaviour.bodies" in output and "behaviour.cuts" not in output
    assert "other checks that must hold at the end of part 1 too." in output
    assert "./scripts/hotpath check 2 --part 1 --all" in output
    assert verb.run(chapter, part=1, go_on=True) == 1
    output = capsys.readouterr().out
    assert "✗ behaviour.requests" in output and "Stopped here" not in output


def test_rest_of_a_part_is_judged_once_its_own_checks_pass(chapter: Chapter, judged: Judged,
                                                           capsys: pytest.CaptureFixture[str]
                                                           ) -> None:
    """The budget of the part decides, not the one of the chapter's end."""
    judged(*found(8500))
    assert verb.run(chapter, part=1) == 0
    output = capsys.readouterr().out
    assert "✓ behaviour.requests" in output and "Stopped here" not in output


def test_what_failed_last_is_judged_with_the_part(chapter: Chapter) -> None:
    chosen = stages.names(chapter, 2)
    first, rest = stages.rounds(chapter.parts[1], chosen, ["behaviour.framing"])
    assert first == ["behaviour.requests", "behaviour.framing", "cost.instructions"]
    assert not set(first) & set(rest) and set(first) | set(rest) == set(chosen)
    everything = [name for each in all_chapters() for part in each.parts
                  for half in stages.rounds(part, stages.names(each, part.number), ())
                  for name in half]
    assert len(everything) == sum(len(stages.names(each, part.number))
                                  for each in all_chapters() for part in each.parts)


def test_early_end_forgets_nothing_about_later_checks(chapter: Chapter, judged: Judged) -> None:
    judged(*found(8000, cuts=True, requests=True))
    verb.run(chapter)
    assert "behaviour.requests" in progress.unmet(chapter) and progress.reached(chapter) == 2
    judged(*found(9999, bodies=True))
    verb.run(chapter, part=3)
    assert progress.reached(chapter) <= 2


def test_timing_names_the_builds_and_every_check(chapter: Chapter, judged: Judged,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    judged(*found(8500))
    verb.run(chapter, part=1, timing=True)
    output = capsys.readouterr().out.partition("checks run side by side")[2]
    assert " s  building\n" in output and " s  behaviour.bodies\n" in output


def test_passing_all_parts_passes_the_chapter(chapter: Chapter, judged: Judged,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    judged(*found(2900))
    assert verb.run(chapter) == 0
    assert "02-fewer-syscalls: PASS" in capsys.readouterr().out
    assert progress.reached(chapter) == 4 and progress.passed(chapter)


@pytest.mark.parametrize("word", ["PASS", "NOT YET", "INCONCLUSIVE"])
def test_speed_alone_prints_its_verdict(chapter: Chapter, judged: Judged, word: str,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    judged(Verdict("speed", "info", "2 ×", figures={"verdict": word, "medal": None, "missed": []}))
    assert verb.run(chapter, only=["speed"]) == 0
    assert f"02-fewer-syscalls: what was asked for {word}" in capsys.readouterr().out


def test_parts_are_reported_as_json(chapter: Chapter, judged: Judged,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    judged(*found(8000))
    assert verb.run(chapter, as_json=True) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["part"] == 2 and [part["passed"] for part in report["parts"]] == [
        True, False, False]
    assert [(c["part"], c["budget"], c["status"]) for c in report["checks"]
            if c["name"] == "cost.instructions"] == [
        (1, 9000, "pass"), (2, 5000, "fail"), (3, 3000, "fail")]
    assert "part" not in report["checks"][0]


def test_failing_part_names_its_page_section(chapter: Chapter, judged: Judged,
                                             capsys: pytest.CaptureFixture[str],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "page", lambda chapter, anchor: f"page{anchor}")
    judged(*found(8000, requests=True, cuts=True))
    sections = {"cost.instructions": "#cost", "behaviour.requests": "#all"}
    verb.run(replace(chapter, sections=sections))
    output = capsys.readouterr().out
    assert "read      page#all\n            page#two\n" in output and "#cost" not in output


def test_case_can_have_its_own_page_section(chapter: Chapter, judged: Judged,
                                            capsys: pytest.CaptureFixture[str],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "page", lambda chapter, anchor: f"page{anchor}")
    judged(*found(8000, requests=True, cuts=True))
    verb.run(replace(chapter, sections={"behaviour.requests": "#all"}, case_sections={
        "requests/ca*": "#own", "requests/*": "#rest"}))
    output = capsys.readouterr().out
    assert "  read      page#own\n            page#two\n" in output
    assert output.count("page#own") == 2 and "page#all" not in output


def test_chapter_without_parts_has_no_stages(hotpath: Hotpath) -> None:
    assert_refused(hotpath("check", "lab-readiness", "--part", "1"), "lab-readiness has no parts")
    with pytest.raises(UserError, match="has no part 9"):
        stages.names(next(c for c in all_chapters() if c.parts), 9)


def test_check_outside_a_part_is_refused() -> None:
    chapter = next(c for c in all_chapters() if c.parts)
    with pytest.raises(UserError, match="part 1 of .* is not judged by behaviour.sanitizers"):
        stages.names(chapter, 1, ["behaviour.sanitizers"])


def test_check_can_apply_to_one_level_only() -> None:
    echo: Check = registry.named("behaviour.echo")
    assert [c.number for c in all_chapters() if echo.applies(c)] == [5]


def test_group_that_failed_last_is_reported_at_once_and_again_with_its_part(
        chapter: Chapter, capsys: pytest.CaptureFixture[str]) -> None:
    console = verdicts.Console(highlight=False, soft_wrap=True)
    printer = verdicts.Printer(console, chapter, first=["behaviour.cuts", "cost.instructions"])
    for verdict in found(9500, cuts=True):
        printer.add(verdict)
    at_once = capsys.readouterr().out
    assert "✗ behaviour.cuts" in at_once and "behaviour.bodies" not in at_once
    assert "cost.instructions" not in at_once  # a part may have a budget of its own
    printer.stages()
    assert "behaviour.cuts" in capsys.readouterr().out
