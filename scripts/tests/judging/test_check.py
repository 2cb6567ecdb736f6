"""What `check` says and how it ends. That its verdicts are right is the gate's matter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from conftest import Hotpath, assert_refused

from workbook.checks import check, clock, counted, registry
from workbook.checks.behaviour import cases, rows, suite, wording
from workbook.checks.model import BASE, MEASURE, RELEASE, Check, Subject, Verdict
from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.course import chapters, progress, trees
from workbook.course.chapters import Chapter, find
from workbook.measure import compare, costs, speed
from workbook.measure.costs import Costs
from workbook.servers import heads
from workbook.servers.client import Received
from workbook.verbs import check as verb
from workbook.verbs import verdicts as printed

pytestmark = pytest.mark.usefixtures("no_process_left")
ROUTES = [case for case in cases.table() if case.check == "behaviour.requests"]


@pytest.fixture
def chapter() -> Chapter:
    return find("2")


def subject(chapter: Chapter) -> Subject:
    return Subject(chapter, Path("source"), {RELEASE: Path("a"), MEASURE: Path("b"),
                                             BASE: Path("c")})


def test_single_case_is_reported_as_text_and_json(hotpath: Hotpath) -> None:
    reported = hotpath("check", "2", "--solution", "--case", "page")
    assert reported.returncode == 0, reported.stderr
    assert "✓ behaviour.requests    1 of 1 cases" in reported.stdout
    assert "02-fewer-syscalls (solution): what was asked for PASS" in reported.stdout
    reported = hotpath("check", "2", "--solution", "--case", "cuts/get-at-*", "--json")
    report = json.loads(reported.stdout)
    assert report["passed"] and report["chapter"] == "02-fewer-syscalls"
    assert [(c["name"], c["status"]) for c in report["checks"]] == [("behaviour.cuts", "pass")]


def test_counted_costs_are_reported_as_json(hotpath: Hotpath) -> None:
    reported = hotpath("check", "3", "--solution", "--only", "cost", "--json")
    figures = {c["name"]: c for c in json.loads(reported.stdout)["checks"]}
    assert figures["cost.syscalls"]["value"] == 5
    assert figures["cost.syscalls"]["by_call"]["writev"] == 1
    assert figures["cost.instructions"]["status"] == "info"


@pytest.mark.parametrize("arguments, word", [
    (["99"], "there is no chapter"), (["2", "--case", "nowhere"], "no case is called"),
    (["5", "--case", "keepalive/*"], "keep-alive/"),
    (["2", "--only", "colour"], "02-fewer-syscalls has no check “colour”"),
    (["2", "--only", "cost", "--case", "page"], "has no check with cases “cost”"),
    (["2", "--only", "behaviour.cuts", "--case", "page"], "no case is called"),
])
def test_unknown_check_or_case_is_refused(hotpath: Hotpath, arguments: list[str],
                                          word: str) -> None:
    assert_refused(hotpath("check", *arguments), word)


def failure() -> suite.Failure:
    case = next(case for case in ROUTES if case.name == "requests/echo")
    return suite.Failure(case, "the answer differs from byte 9 on",
                         Received(rows.NOT_FOUND, "closed", 0.1))


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets `run` find these verdicts, without a build, and forget what it remembers."""

    def set_to(*found: Verdict) -> None:
        monkeypatch.setattr(check, "built", lambda chapter, *_, **__: subject(chapter))
        monkeypatch.setattr(check, "judge", lambda *_, **__: iter(found))
        monkeypatch.setattr(progress, "record", record)

    def record(chapter: Chapter, outcome: progress.Outcome) -> None:
        if outcome.passed is not None:
            print(f"remembered, medal {outcome.medal}" if outcome.passed else "taken back")

    return set_to


def test_failed_case_is_explained_in_full(chapter: Chapter, verdicts: Callable[..., None],
                                          capsys: pytest.CaptureFixture[str]) -> None:
    verdicts(Verdict("behaviour.requests", "fail", "67 of 68 cases", failures=[failure()]),
             Verdict("cost.syscalls", "pass", "6 system calls a request, budget 6"))
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    for part in ("✗ behaviour.requests    67 of 68 cases", "✗ requests/echo RFC 9110 §9.3.3",
                 "sent      POST /echo HTTP/1.1\\r\\n", "expected  HTTP/1.1 200 OK",
                 "got       HTTP/1.1 404 Not Found", "so        the answer differs from byte 9 on",
                 "again     ./scripts/hotpath check 2 --case 'requests/echo'",
                 "by hand   ./scripts/hotpath run 2", "/dev/tcp/127.0.0.1/8080", "taken back",
                 "02-fewer-syscalls: NOT YET, 1 of 2 checks fail"):
        assert part in output, output
    assert "remembered" not in output


def test_received_answer_is_shown_raw_and_normalised(
        verdicts: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in ROUTES if case.name == "requests/echo")
    raw = rows.NOT_FOUND.replace(b"\r\n", b"\r\nDate: today\r\n", 1)
    verdicts(Verdict("behaviour.requests", "fail", "67 of 68 cases", failures=[
        suite.Failure(case, "it is wrong", Received(rows.NOT_FOUND, "closed", 0.1, raw))]))
    assert verb.run(find("9")) == 1
    output = capsys.readouterr().out
    for part in (f", then the end; {heads.WORDING}",
                 "got       HTTP/1.1 404 Not Found\\r\\nDate: ",
                 "compared  HTTP/1.1 404 Not Found\\r\\nContent-Type: text/plain"):
        assert part in output, output


@pytest.mark.parametrize("built, page", [
    (False, "book/src/part1/02-fewer-syscalls.md; ./scripts/hotpath book makes a page of it"),
    (True, "part1/02-fewer-syscalls.html"),
])
def test_page_to_read_is_printed_once(
        chapter: Chapter, verdicts: Callable[..., None], monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path, capsys: pytest.CaptureFixture[str], built: bool, page: str) -> None:
    monkeypatch.setattr(printed, "SITE", tmp_path)
    if built:
        (tmp_path / "part1").mkdir()
        (tmp_path / "part1" / "02-fewer-syscalls.html").touch()
    verdicts(Verdict("behaviour.requests", "fail", "65 of 68 cases", failures=[failure()] * 3))
    verb.run(chapter)
    output = capsys.readouterr().out
    assert output.count("  read ") == 1 and page in output


def test_case_without_answers_is_described(
        chapter: Chapter, verdicts: Callable[..., None],
        capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in cases.table() if case.name == "stop/incomplete-request-for-ever")
    still = suite.Failure(case, "the server was still running 4 s after SIGTERM")
    verdicts(Verdict("behaviour.stop", "fail", "1 of 2 cases", failures=[still]))
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    for part in ("✗ stop/incomplete-request-for-ever signal(7)", "done      a client has its page",
                 "expected  the server ends within a second", "got       the server was still",
                 "again     ./scripts/hotpath check 2 --case 'stop/incomplete-request-for-ever'"):
        assert part in output, output
    assert "by hand" not in output


def test_case_of_another_build_has_no_shell_command(chapter: Chapter) -> None:
    case = next(c for c in cases.table() if c.name == "requests/page")
    for name, by_hand in ((case.name, True), (f"{case.name}@sanitizers", False)):
        failed = suite.Failure(replace(case, name=name), "", Received(b"", "closed", 0.1))
        assert ("by hand" in printed._explain(chapter, False, failed)) == by_hand


def test_both_accepted_answers_are_shown(chapter: Chapter) -> None:
    case = next(c for c in cases.table() if c.name == "framing/expect-with-body-at-once")
    reported = printed._explain(
    chapter, False, suite.Failure(
        case, "", Received(
            b"", "closed", 0.1)))
    assert "with or without 100 Continue" in reported["expected"]


def test_only_the_first_failure_of_a_check_is_explained_in_full(chapter: Chapter,
                                                       verdicts: Callable[..., None],
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    many = [suite.Failure(case, "the connection was closed without an answer") for case in ROUTES]
    verdicts(Verdict("behaviour.requests", "fail", "0 of 68 cases", failures=many))
    assert verb.run(chapter, solution=True) == 1
    output = capsys.readouterr().out
    assert output.count("✗ requests/") == 1
    assert f"  behaviour.requests ({len(ROUTES) - 1}): {ROUTES[1].name}, {ROUTES[2].name}, " in output
    assert f"check 2 --solution --case '{ROUTES[1].name}'" in output


def test_one_case_of_each_failing_check_is_shown_and_the_others_are_named(
        chapter: Chapter, verdicts: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    cuts = [case for case in cases.table() if case.check == "behaviour.cuts"][:2]
    found = {name: [suite.Failure(case, "wrong", Received(b"", "closed", 0.1)) for case in of]
             for name, of in (("behaviour.requests", ROUTES[:5]), ("behaviour.cuts", cuts))}
    verdicts(*(Verdict(name, "fail", "none", failures=of) for name, of in found.items()))
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    assert f"✗ {ROUTES[0].name}" in output and f"✗ {cuts[0].name}" in output
    assert all(case.name in output for case in (*ROUTES[:5], *cuts))


def test_number_of_sent_bytes_is_shown_where_they_are_abbreviated() -> None:
    case = next(case for case in cases.table() if case.name == "limits/fields-at-limit")
    size = sum(len(step) for step in case.steps if isinstance(step, bytes))
    assert f"({size:,} bytes in all)" in wording.sent_text(case)
    assert "in all" not in wording.sent_text(ROUTES[0])


@pytest.mark.parametrize("refused", ["logged", "secured", "rejected"])
def test_unknown_server_option_fails_only_its_own_costs(
        refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not know --access-log ends at once: that is no other cost's fault."""
    def count(*_: object, measures: Sequence[costs.Measure], **__: object) -> Costs:
        if any(getattr(measure, refused) for measure in measures):
            raise UserError("server ended before it was ready", "see --help")
        return Costs({name: 0.0 for measure in measures for name in measure.figures})

    monkeypatch.setattr(counted.costs, "count", count)
    last = find("15")
    wanted = [check for check in registry.of(last) if check.measure]
    fails = {found.name for found in counted.judge(subject(last), wanted) if found.status == "fail"}
    assert fails == {check.name for check in wanted if getattr(check.measure, refused)}


@pytest.mark.parametrize("factors, status", [
    ([0.9], "pass"), ([1.3, 0.9], "pass"), ([1.3, 1.3, 1.3, 0.9], "pass"),
    ([1.3, 1.3, 1.3, 1.3], "fail"), ([2.0], "fail")])
def test_count_slightly_above_its_budget_is_repeated(
        factors: Sequence[float], status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    last = find("15")
    left = [factor * last.cost["tls-instructions"] for factor in factors]

    def count(*_: object, measures: Sequence[costs.Measure], **__: object) -> Costs:
        return Costs({measure.figure: left.pop(0) for measure in measures})

    monkeypatch.setattr(counted.costs, "count", count)
    found, = counted.judge(subject(last), [registry.named("cost.tls-instructions")])
    assert (found.status, left) == (status, [])


@pytest.mark.parametrize("values, status", [
    ([10_611.0, 4_267.0], "pass"), ([12_000.0] * 4, "fail"), ([14_000.0], "fail")])
def test_count_is_repeated_if_a_busy_machine_explains_it(
        values: list[float], status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    last = find("15")
    assert last.cost["cookie"] == 5_500
    left = list(values)

    def count(*_: object, measures: Sequence[costs.Measure], **__: object) -> Costs:
        return Costs({measure.figure: left.pop(0) for measure in measures})

    monkeypatch.setattr(counted.costs, "count", count)
    found, = counted.judge(subject(last), [registry.named("cost.cookie")])
    assert (found.status, left) == (status, [])


def test_exceeded_budget_lists_the_system_calls(chapter: Chapter, verdicts: Callable[..., None],
                                                capsys: pytest.CaptureFixture[str]) -> None:
    over = counted.verdict(subject(chapter), registry.named("cost.syscalls"), Costs(
        {"syscalls": 573}, by_call={"close": 1, "recv": 572}))
    verdicts(over)
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    assert "✗ cost.syscalls         573 system calls a request, budget 330" in output
    assert "by call   recv 572, close 1" in output and "./scripts/hotpath trace 2" in output


def test_problem_of_all_checks_is_printed_once(chapter: Chapter, verdicts: Callable[..., None],
                                               capsys: pytest.CaptureFixture[str]) -> None:
    note = "server ended before it was ready (exit code 1)\n  no port"
    verdicts(*(Verdict(name, "fail", f"0 of 9 cases; {note.splitlines()[0]}", note)
               for name in ("behaviour.bodies", "behaviour.cuts")))
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    assert output.count("no port") == 1 and "✗ behaviour.bodies, behaviour.cuts" in output
    assert "✗ behaviour.cuts        0 of 9 cases; server ended before" in output


def test_pass_is_recorded_only_after_a_complete_check(
        chapter: Chapter, verdicts: Callable[..., None],
        capsys: pytest.CaptureFixture[str]) -> None:
    verdicts(Verdict("behaviour.requests", "pass", "68 of 68 cases"),
             Verdict("cost.syscalls", "skip", "no strace"),
             Verdict("speed", "info", "2.10 ×", figures={"medal": "bronze"}))
    assert verb.run(chapter) == 0
    output = capsys.readouterr().out
    assert "remembered, medal bronze" in output and "02-fewer-syscalls: PASS, 1 skipped" in output
    for step in ("What it did", "diff 2", "solution 2", "check 3"):
        assert step in output.partition("Next: ")[2]
    for part in ({"solution": True}, {"case": "page"}, {"only": ["cost"]}):
        assert verb.run(chapter, **part) == 0
        assert "remembered" not in capsys.readouterr().out


def test_check_of_a_file_that_is_saved_meanwhile_decides_nothing(
        chapter: Chapter, verdicts: Callable[..., None], monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    verdicts(Verdict("behaviour.requests", "pass", "68 of 68 cases"))
    versions = iter([{"app.h": b"old", "app.cpp": b"same"}, {"app.h": b"new", "app.cpp": b"same"}])
    monkeypatch.setattr(trees, "read", lambda _: next(versions))
    monkeypatch.setattr(progress, "record", lambda *_: pytest.fail("it is remembered"))
    assert verb.run(chapter) == 1
    output = capsys.readouterr().out
    assert "app.h changed during this check" in output and "check 2" in output
    assert "PASS" not in output


def test_costs_and_speed_are_skipped_after_wrong_answers(chapter: Chapter,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    def behaviour(*_: object) -> Iterator[Verdict]:
        yield Verdict("behaviour.requests", "fail", "0 of 68 cases")

    monkeypatch.setattr(registry, "CHECKS", tuple(
        replace(c, judge=behaviour) if c.cases and not c.after else c for c in registry.CHECKS))
    found = {c.name: c.status for c in check.judge(subject(chapter))}
    assert found.pop("behaviour.requests") == "fail" and set(found.values()) == {"skip"}
    assert {"cost.syscalls", "cost.instructions", "behaviour.sanitizers", "speed"} <= found.keys()


def groups(*names: str) -> list[Check]:
    return [registry.named(f"behaviour.{name}") for name in names]


def test_groups_that_failed_last_are_run_first(
        chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def behaviour(_: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
        run.extend(each.name for each in wanted)
        yield from (Verdict(each.name, "fail", "0 of 3 cases") for each in wanted)

    monkeypatch.setattr(registry, "CHECKS", tuple(
        replace(each, judge=behaviour) for each in groups("requests", "framing", "limits", "cuts")))
    last = frozenset({"behaviour.limits", "behaviour.cuts", "cost.syscalls"})
    assert len(list(check.judge(replace(subject(chapter), first=last)))) == 4
    assert run == ["behaviour.limits", "behaviour.cuts", "behaviour.requests", "behaviour.framing"]


def test_verdict_of_what_failed_last_is_reported_without_waiting_for_others() -> None:
    board = check._Board(groups("requests", "framing", "cuts"), {"behaviour.cuts"})
    coming = board.coming()
    board.add(Verdict("behaviour.framing", "pass", ""))
    board.add(Verdict("behaviour.cuts", "fail", ""))
    assert next(coming).name == "behaviour.cuts"
    board.add(Verdict("behaviour.requests", "pass", ""))
    assert [verdict.name for verdict in coming] == ["behaviour.requests", "behaviour.framing"]


@pytest.mark.parametrize("settings, first", [
    ({}, {"behaviour.cuts"}), ({"part": 1, "go_on": True}, {"behaviour.cuts"}),
    ({"solution": True}, set()), ({"only": ["behaviour"]}, set()), ({"case": "page"}, set())])
def test_only_a_whole_check_of_own_code_begins_with_what_failed_last(
        monkeypatch: pytest.MonkeyPatch, settings: dict[str, object], first: set[str]) -> None:
    asked: list[Subject] = []

    def judge(subject: Subject, _: object) -> Iterator[Verdict]:
        asked.append(subject)
        yield Verdict("behaviour.requests", "pass", "68 of 68 cases")

    monkeypatch.setattr(progress, "unmet", lambda _: ["behaviour.cuts", "behaviour.keep-alive"])
    monkeypatch.setattr(progress, "reached", lambda _: 1)  # keep-alive is of part 3
    monkeypatch.setattr(progress, "record", lambda *_: None)
    monkeypatch.setattr(check, "built", lambda chapter, *_: subject(chapter))
    monkeypatch.setattr(check, "judge", judge)
    verb.run(find("5"), **settings)  # type: ignore[arg-type]
    assert [each.first for each in asked] == [first]


def test_unwritable_output_stops_what_runs_before_its_end_is_waited_for(
        chapter: Chapter, verdicts: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    def judge(*_: object) -> Iterator[Verdict]:
        try:
            yield Verdict("behaviour.requests", "pass", "68 of 68 cases")
        finally:
            events.append("waited")

    def fails(*_: object) -> None:
        raise BrokenPipeError

    verdicts()
    monkeypatch.setattr(check, "judge", judge)
    monkeypatch.setattr(printed.Printer, "add", fails)
    monkeypatch.setattr(children, "stop", lambda: events.append("stopped"))
    with pytest.raises(BrokenPipeError):
        verb.run(chapter)
    assert events[0] == "stopped"


def compared(low: float, verdict: str) -> compare.Comparison:
    return compare.Comparison("a", "b", low + 0.1, low, low + 0.2, 1, 0.9, 1.1, 1.5, verdict, "",
                              1, 1, 8, 4.0)


def clocked(chapter: Chapter, monkeypatch: pytest.MonkeyPatch,
            found: compare.Comparison) -> tuple[Verdict, dict[str, object]]:
    """The verdict about what the clock found, and what it was asked."""
    asked: dict[str, object] = {}

    def measure(*_: object, **given: object) -> compare.Comparison:
        asked.update(given)
        return found

    monkeypatch.setattr(compare, "measure", measure)
    return by_the_clock(chapter), asked


def by_the_clock(chapter: Chapter) -> Verdict:
    [found] = clock.judge(subject(chapter), [registry.named("speed")])
    return found


@pytest.mark.parametrize("low, verdict, medal, words", [
    (1.2, "NOT YET", None, "(1.20 to 1.40): NOT YET, bronze begins at 1.5; our solution"),
    (1.4, "INCONCLUSIVE", None, "INCONCLUSIVE, bronze begins at 1.5; our solution"),
    (3.1, "INCONCLUSIVE", None, "INCONCLUSIVE, bronze begins at 1.5; our solution"),
    (1.5, "PASS", "bronze", "bronze (from 1.5); our solution was recorded at 4.20 ×"),
    (2.9, "PASS", "bronze", "bronze (from 1.5); our solution"),
    (3.1, "PASS", "silver", "silver (from 3); our solution was recorded at 4.20 ×"),
    (9.5, "PASS", "silver", "silver (from 3); our solution"),
])
def test_speed_awards_medals_and_never_fails(
        chapter: Chapter, monkeypatch: pytest.MonkeyPatch, low: float, verdict: str,
        medal: str | None, words: str) -> None:
    monkeypatch.setattr(speed, "recorded", lambda _: 4.2)
    goals = replace(chapter, speed={"silver": 3.0, "bronze": 1.5}, speed_load="headers")
    found, asked = clocked(goals, monkeypatch, compared(low, verdict))
    assert found.status == "info" and words in found.summary
    assert found.summary.startswith(f"{low + 0.1:.2f} × the starting point with large headers (")
    assert (found.figures["medal"], found.figures["recorded"]) == (medal, 4.2)
    assert asked["goal"] == 1.5 and asked["load_name"] == "headers"


@pytest.mark.parametrize("low, verdict, words", [
    (1.2, "PASS", "faster"), (0.7, "NOT YET", "no faster"),
    (0.9, "INCONCLUSIVE", "INCONCLUSIVE, this machine is too busy to say which is faster"),
])
def test_chapter_without_goals_explains_missing_medal(
        chapter: Chapter, monkeypatch: pytest.MonkeyPatch, low: float, verdict: str,
        words: str) -> None:
    monkeypatch.setattr(speed, "recorded", lambda _: 0.98)
    found, asked = clocked(replace(chapter, speed={}), monkeypatch, compared(low, verdict))
    assert found.summary.endswith(f"): {words}; our solution was recorded at 0.98 ×, so the clock "
                                  "gives no medal here")
    assert found.figures["medal"] is None
    assert asked["goal"] == 1.0 and asked["load_name"] == "plain"


@pytest.mark.parametrize("had, low, high, verdict, has", [
    ("silver", 0.5, 9.0, "INCONCLUSIVE", "silver"),
    ("bronze", 3.1, 9.0, "INCONCLUSIVE", "bronze"),
    ("silver", 1.6, 3.2, "PASS", "silver"),
    ("silver", 1.6, 2.9, "PASS", "bronze"),
    ("silver", 1.1, 1.4, "NOT YET", None),
    ("bronze", 3.1, 3.2, "PASS", "silver"),
    (None, 0.5, 9.0, "INCONCLUSIVE", None),
])
def test_only_a_conclusive_verdict_changes_a_medal(
        chapter: Chapter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, had: str | None,
        low: float, high: float, verdict: str, has: str | None) -> None:
    monkeypatch.setattr(progress, "FILE", tmp_path / "progress.json")
    goals = replace(chapter, speed={"silver": 3.0, "bronze": 1.5})
    progress.record(goals, progress.Outcome([], True, medal=had))
    clock_returns = replace(compared(low, verdict), high=high)
    progress.record(goals, progress.Outcome([], True, medal=speed.medal(goals, clock_returns),
                                            missed=speed.missed(goals, clock_returns)))
    assert progress.medal(goals) == has


def test_meaningless_interval_is_not_printed(chapter: Chapter,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    wild = replace(compared(0.01, "INCONCLUSIVE"), high=12.0)
    found, _ = clocked(chapter, monkeypatch, wild)
    assert found.summary.startswith("this machine is too busy to compare with the starting point; ")


def test_recorded_ratio_is_read_from_the_ladder(chapter: Chapter, tmp_path: Path) -> None:
    def server(baseline: float | None, headers: float) -> dict[str, object]:
        return {"phases": {"baseline": {"requests_per_second": baseline},
                           "headers": {"requests_per_second": headers}}}

    ladder = tmp_path / "ladder.json"
    ladder.write_text(json.dumps({"servers": {"01-naive": server(100.0, 30.0),
                                              "02-fewer-syscalls": server(420.0, 60.0),
                                              "03-data-layout": server(None, 60.0)}}))
    assert speed.recorded(chapter, ladder) == pytest.approx(4.2)
    assert speed.recorded(replace(chapter, speed_load="headers"), ladder) == pytest.approx(2.0)
    assert speed.recorded(find("1"), ladder) is None  # nothing comes before it
    assert speed.recorded(find("3"), ladder) is None  # no figure
    assert speed.recorded(find("4"), ladder) is None  # not recorded
    ladder.write_text("{")
    assert speed.recorded(chapter, ladder) is None
    assert "no recorded figure" in speed.ours(chapter, None)


@pytest.mark.parametrize("chapter", chapters.all_chapters(), ids=lambda chapter: chapter.name)
def test_speed_goals_match_the_recorded_ratios(
        chapter: Chapter) -> None:
    """If a new record breaks this, the goals are to be thought about again."""
    ratio = speed.recorded(chapter)
    if chapter.speed:
        assert ratio is not None and ratio > chapter.speed["silver"]
    elif ratio is not None:
        assert ratio < 1.5


@pytest.mark.parametrize("goals, complaint, fix", [
    ("bronze = 3.0\nsilver = 2.0", "[speed] has bronze 3.0, silver 2.0", "1 < bronze < silver"),
    ("bronze = 2.0\nsilver = 2.0", "[speed] has bronze 2.0, silver 2.0", "1 < bronze < silver"),
    ("bronze = 0.9\nsilver = 2.0", "[speed] has bronze 0.9, silver 2.0", "1 < bronze < silver"),
    ("silver = 2.0", "[speed] has silver 2.0", "give bronze and silver"),
    ("bronze = 1.5\nsilver = 2.0\ngold = 3.0", "gold 3.0", "give bronze and silver"),
    ('bronze = "a"\nsilver = 2.0', "bronze a", "give bronze and silver"),
    ("bronze = 1.5\nsilver = 2.0\nload = 'heavy'", "no load “heavy”", "plain, headers"),
])
def test_invalid_goals_are_refused(
        chapter: Chapter, tmp_path: Path, goals: str, complaint: str, fix: str) -> None:
    text = (chapter.starter_dir / "chapter.toml").read_text(encoding="utf-8")
    file = tmp_path / "chapter.toml"
    file.write_text(text.partition("[speed]")[0] + f"[speed]\n{goals}\n", encoding="utf-8")
    with pytest.raises(UserError) as refused:
        chapters.load(file)
    assert complaint in refused.value.message and "chapter.toml" in refused.value.message
    assert fix in refused.value.fix


def test_failed_comparison_is_skipped(chapter: Chapter,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise UserError("there is no wrk", "./scripts/hotpath setup")

    monkeypatch.setattr(compare, "measure", fails)
    found = by_the_clock(chapter)
    assert (found.status, found.summary) == ("skip", "there is no wrk; ./scripts/hotpath setup")


@pytest.mark.parametrize("number, only, program", [
    ("2", "behaviour", "server"), ("2", "cost", "strace"), ("2", "speed", "wrk"),
    ("5", "behaviour.deadlines", "server"),
])
def test_interrupted_check_leaves_no_process(number: str, only: str, program: str) -> None:
    """Ctrl-C while a server, a tracer or a load generator is at work."""
    running = subprocess.Popen([sys.executable, "-m", "workbook", "check", number, "--solution",
                                "--only", only], env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process, deadline = psutil.Process(running.pid), time.monotonic() + 120
    while not _has_child(process, program):
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=15)
    assert running.returncode == 130
    assert "Traceback" not in errors and "Stopped: no outcome was remembered" in errors


def _has_child(process: psutil.Process, program: str) -> bool:
    with suppress(psutil.NoSuchProcess):  # one that ended while we looked
        return any(child.name() == program for child in process.children(recursive=True))
    return False
