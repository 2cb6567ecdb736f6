"""The main job and what it leaves: results, tables, the report, the recorded figures."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from workbook.authors import recording
from workbook.common.errors import UserError
from workbook.common.paths import BUILD, CHAPTERS, RESULTS, ROOT, SCRIPTS, SOLUTIONS
from workbook.course import chapters
from workbook.figures import charts, recorded, report
from workbook.machine import needs, network
from workbook.measure import compare, costs, ladder, load, other_servers, stress
from workbook.measure.load import Phase, PhaseResult
from workbook.verbs import bench, live_ladder

FIGURES = {"warm-up": 1900.0, "baseline": 2000.0, "headers": 61.25, "heavy": 122.0}


def phase(rate: float | None, reason: str | None = None) -> dict[str, Any]:
    figure = None if rate is None else 12.5
    return {"requests_per_second": rate, "rounds": [rate and rate * 0.9, rate], "p50_ms": figure,
            "p90_ms": figure, "p99_ms": figure, "cpu_us_per_request": figure,
            "peak_rss_mib": figure, "reason": reason,
            "errors": dict.fromkeys(load.ERROR_KINDS, 0) | ({"read": 12} if reason else {})}


def server(title: str, factor: float) -> dict[str, Any]:
    costs = {"syscalls": 6.0, "allocations": 5.0, "alloc_bytes": 900.0, "instructions": 123_456.0,
             "by_call": {"recvfrom": 2.0}, "skipped": {}}
    return {"title": title, "costs": costs,
            "phases": {name: phase(rate * factor) for name, rate in FIGURES.items()}}


@pytest.fixture
def results() -> dict[str, Any]:
    found = {
        "kind": "ladder",
        "machine": (dict.fromkeys([*recorded.MACHINE, "wrk"], "x")
                    | {"date": "2026-01-02T03:04:05Z"}),
        "method": ladder._method(stress.short_form(), 3, 2.5),
        "servers": {"floor": server("The floor", 20), "01-naive": server("Naive", 1),
                    "02-fewer-syscalls": server("Fewer", 9), "mine/02-fewer-syscalls":
                    server("Yours", 8), "03-data-layout": server("Layout", 9.5)}}
    found["servers"]["03-data-layout"]["phases"]["heavy"] = phase(None, "12 read errors")
    return json.loads(json.dumps(found))


@pytest.fixture(scope="session", autouse=True)
def our_network() -> None:
    network.prefix()


# What becomes of the rounds.

def measured(rate: float | None, **more: Any) -> PhaseResult:
    if rate is None:
        return PhaseResult("x", reason="2 timeouts", **more)
    return PhaseResult("x", 10, 1, rate, 1, 2, rate / 10, 4, 5, 1e6 / rate, rate / 100, **more)


def test_figures_are_medians() -> None:
    summary = ladder.summary([measured(rate) for rate in (100.0, 900.0, 300.0)])
    assert summary["requests_per_second"] == 300
    assert summary["rounds"] == [100, 900, 300]
    assert summary["p99_ms"] == 30
    assert (summary["p99_ms_least"], summary["p99_ms_most"]) == (10, 90)
    assert summary["wrk_us_per_request"] == 3333
    assert summary["peak_rss_mib"] == 9
    assert summary["reason"] is None


def test_one_failed_round_removes_the_figure() -> None:
    errors = dict.fromkeys(load.ERROR_KINDS, 0) | {"timeout": 2}
    summary = ladder.summary([measured(100.0), measured(None, errors=errors), measured(120.0)])
    assert summary["requests_per_second"] is None and summary["p99_ms"] is None
    assert summary["reason"] == "2 timeouts"
    assert summary["errors"]["timeout"] == 2


def test_starting_order_rotates_every_round() -> None:
    orders = [ladder.rotated([1, 2, 3], by) for by in range(4)]
    assert orders == [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3]]


def test_bench_measures_the_floor_and_the_named_chapters() -> None:
    names = [subject.name for subject in ladder.subjects()]
    assert names == ["floor", *sorted(path.name for path in SOLUTIONS.glob("[0-9]*"))]
    assert [s.name for s in ladder.subjects(every=False)] == [*names[:9], names[-1]]
    assert [s.name for s in ladder.subjects(["2"])] == ["floor", "02-fewer-syscalls"]
    assert [s.name for s in ladder.subjects(["2"], mine=True)] == [
        "floor", "02-fewer-syscalls", "mine/02-fewer-syscalls"]
    with pytest.raises(UserError, match="no chapter"):
        ladder.subjects(["99"])


@pytest.mark.alone
def test_complete_bench_writes_a_valid_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    quick = tuple(Phase(p.name, p.script, p.connections, 0.3) for p in stress.short_form())
    monkeypatch.setattr(stress, "short_form", lambda: quick)
    monkeypatch.setattr(report, "REPORT", BUILD / "test-report")
    try:
        assert bench.run(chapters=["2"], quick=True, as_json=True) == 0
        found = json.loads(capsys.readouterr().out)
        recorded.validate(found, "what bench printed")
        assert (BUILD / "test-report/index.html").read_text().startswith("<!doctype html>")
        assert json.loads((BUILD / "test-report/ladder.json").read_text()) == found
    finally:
        shutil.rmtree(BUILD / "test-report", ignore_errors=True)
    assert list(found["servers"]) == ["floor", "02-fewer-syscalls"]
    for one in found["servers"].values():
        assert one["costs"]["syscalls"]
        for figures in one["phases"].values():
            assert figures["reason"] is None and len(figures["rounds"]) == 1


@pytest.mark.alone
def test_file_rivals_are_measured_if_installed(monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    lacking = needs.lacking
    monkeypatch.setattr(needs, "lacking", lambda program: (
        "not here" if program in ("h2o", "lighttpd", "caddy") else lacking(program)))
    monkeypatch.setattr(other_servers, "SECONDS", 0.3)
    rows, remarks = bench.files_of("09-files", 1)
    assert list(rows)[0] == "ours" and "h2o" not in rows
    assert ("nginx" in rows) == (not lacking("nginx"))
    assert all(row[size] > 0 for row in rows.values() for size in ("1 KiB", "128 KiB"))
    report.print_files(rows, remarks)
    output, progress = capsys.readouterr()
    assert "round 1 of 1: 09-files, 1 KiB" in progress
    assert "09-files" in output and "128 KiB" in output
    assert "h2o is not beside them: not here" in output


# The report.

def test_the_tables_fit_in_80_columns(results: dict[str, Any], capsys: pytest.CaptureFixture[str],
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    results["servers"]["floor"]["phases"]["baseline"]["requests_per_second"] = 123_456.0
    report.print_ladder(results)
    text = capsys.readouterr().out
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "123,456" in text and "mine/02-fewer-syscalls" in text and "0.02×" in text
    assert "no figure for 03-data-layout, heavy: 12 read errors" in text


def test_report_loads_nothing_external(results: dict[str, Any]) -> None:
    html = report.html(results)
    assert not re.search(r"https?://|//[a-z]+\.|src=|@import|<link[^>]+href=\"(?!data:,)", html)
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) > 10
    assert "12 read errors" in html and "18,000" in html


def test_headline_is_about_the_fastest_step(results: dict[str, Any]) -> None:
    results["servers"]["04-threads"] = server("Threads", 7)
    assert report._headline(results) == (
        "The fastest, 03-data-layout, serves a plain page 9.5×, a page asked for with a large "
        "header 9.5× as fast as 01-naive.")
    for one in results["servers"].values():
        one["phases"]["baseline"] = phase(None, "not measured")
    assert report._headline(results) == ""


def test_report_escapes_names(results: dict[str, Any]) -> None:
    results["machine"]["cpu"] = "<script>alert(1)</script>"
    assert "<script>" not in report.html(results)


def test_the_chart_takes_the_pages_colours(results: dict[str, Any]) -> None:
    svg = charts.ladder(results)
    assert "<title" in svg and "<desc" in svg and 'role="img"' in svg
    assert "#0000" not in svg and not re.search(r"(fill|stroke): ?#", svg)
    assert "font-family: inherit" in svg and "<style" not in svg and "DejaVu" not in svg
    assert "the floor: 40,000" in svg and "18,000  (9.0×)" in svg
    assert charts.ladder(results) == svg


def test_the_floor_is_a_line_below_its_label(results: dict[str, Any]) -> None:
    for rate, anchor in ((40_000.0, "end"), (6_000.0, "middle"), (1_000.0, "start")):
        floor = results["servers"]["floor"]["phases"]["baseline"]
        floor.update(requests_per_second=rate, rounds=[rate])
        svg = charts.ladder(results)
        label = re.search(rf'anchor: (\w+)[^>]* x="([\d.]+)"[^>]*>the floor: {rate:,.0f}<', svg)
        assert label and label[1] == anchor
        pieces = re.findall(r'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) [\d.]+ \n" '
                            r'style="fill: none; stroke: var\(--fg', svg)
        assert len(pieces) == len(results["servers"])  # one per row, and one below the label
        assert len({at for piece in pieces for at in piece}) == 1
        assert anchor != "middle" or float(pieces[0][0]) == pytest.approx(float(label[2]), abs=0.1)


def test_chart_without_figures_is_drawn(results: dict[str, Any]) -> None:
    for one in results["servers"].values():
        one["phases"]["baseline"] = phase(None, "12 read errors")
    assert charts.ladder(results).count("no figure") >= 4


def test_chart_of_one_server_without_a_floor_is_drawn(results: dict[str, Any]) -> None:
    results["servers"] = {"04-threads": results["servers"]["02-fewer-syscalls"]}
    assert "04-threads" in charts.ladder(results)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = needs.chromium()
    if program is None:
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(program), args=[
            "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"])
        yield started
        started.close()


@pytest.mark.parametrize("width", [340, 800, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_renders_in_a_browser(results: dict[str, Any], browser: Any, tmp_path: Path,
                                     width: int,
                                     scheme: str) -> None:
    file = tmp_path / "index.html"
    file.write_text(report.html(results), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("request", lambda r: trouble.append(r.url) if not r.url.startswith("file:") and
            r.url != "data:," else None)
    page.goto(file.as_uri())
    assert trouble == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    smallest = page.evaluate("""() => Math.min(...[...document.querySelectorAll("svg text")].map(
        text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))""")
    assert smallest >= 10.9
    assert page.evaluate("""() => {
        const colour = element => getComputedStyle(element).fill;
        return colour(document.querySelector("svg text[style*='--fg']"))
    }""") == {"light": "rgb(43, 43, 47)", "dark": "rgb(216, 213, 206)"}[scheme]
    page.close()


def test_full_disk_is_reported(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(report, "write_atomically", full)
    with pytest.raises(UserError, match="build/report: No space left") as reported:
        report.write(results)
    assert "df -h" in reported.value.fix


# The recorded figures.

def test_recorded_ladder_is_complete() -> None:
    kept = recorded.load()
    assert list(kept["servers"])[:2] == ["floor", "01-naive"]
    recording.complain_unless_whole(kept)


def test_published_results_are_complete() -> None:
    published = json.loads((RESULTS / "published.json").read_text(encoding="utf-8"))
    assert published["source"] == "TDiblik, cpp-web-server"
    assert len(published["servers"]) == 8
    for one in published["servers"].values():
        assert list(one["phases"]) == list(stress.NAMES)


def damaged(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Files that are not what they should be, each with a word of what is said of them."""
    yield "", "Expecting value"
    yield "[]", "indices"
    yield json.dumps(results)[:-40], "is damaged"
    for path, value, words in (
            (("kind",), "stress", "kind"), (("machine", "cpu"), None, "lacks cpu"),
            (("servers",), [], "items"), (("servers", "01-naive", "costs"), None, "costs"),
            (("servers", "01-naive", "phases", "heavy", "p99_ms"), "fast", "not a number"),
            (("servers", "01-naive", "phases", "heavy", "p99_ms"), ..., "neither"),
            (("servers", "01-naive", "phases", "heavy", "errors", "read"), None, "lacks read")):
        copy = json.loads(json.dumps(results))
        table = copy
        for key in path[:-1]:
            table = table[key]
        if value is None:
            del table[path[-1]]
        else:
            table[path[-1]] = None if value is ... else value
        yield json.dumps(copy), words


def test_a_damaged_results_file_is_named(results: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "ladder.json"
    for text, words in damaged(results):
        file.write_text(text)
        with pytest.raises(UserError) as reported:
            recorded.load(file)
        assert str(file) in reported.value.message and words in reported.value.message, reported.value.message
        assert "git checkout" in reported.value.fix and "record" in reported.value.fix
    file.unlink()
    with pytest.raises(UserError, match="there is no"):
        recorded.load(file)


def test_incomplete_or_uncommitted_results_are_not_recorded(results: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="03-data-layout has no figure for heavy: 12 read errors"):
        recording.complain_unless_whole(results)
    results["servers"]["03-data-layout"] = results["servers"]["02-fewer-syscalls"]
    results["machine"]["commit"] = "abc+"
    with pytest.raises(UserError, match="not committed"):
        recording.complain_unless_whole(results)
    results["machine"]["commit"] = "abc"
    recording.complain_unless_whole(results)


# Comparisons, and being stopped.

@pytest.mark.alone
def test_comparison_detects_a_large_difference() -> None:
    naive, fewer = (build_of(name) for name in ("01-naive", "02-fewer-syscalls"))
    found = compare.measure(naive, fewer, seconds=3, goal=1.5)
    assert found.verdict != compare.stats.NOT_YET, "ten times as fast, and below the goal?"
    assert found.ratio > 2  # the interval and the control are a busy machine's to decide
    assert (found.a, found.b) == ("solutions/01-naive", "solutions/02-fewer-syscalls")


def build_of(name: str) -> Path:
    from workbook.servers import build

    return build.build_server(SOLUTIONS / name)


@pytest.mark.alone
def test_comparison_judges_at_most_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its time, and at twice that if it cannot tell; not whenever it likes."""
    looks: list[int] = []
    judge = compare.stats.judge

    def watched(rounds: Any, goal: float) -> Any:
        looks.append(len(rounds))
        return judge(rounds, goal)

    monkeypatch.setattr(compare.stats, "judge", watched)
    same = build_of("02-fewer-syscalls")
    begin = time.monotonic()
    found = compare.measure(same, same, seconds=2, goal=1.0)
    assert len(looks) <= 2 and looks[-1] == found.rounds
    assert time.monotonic() - begin < 20


def test_a_server_with_errors_is_not_compared(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text(f"#!{sys.executable}\nimport socket\n"
                       "listener = socket.create_server(('127.0.0.1', 0))\n"
                       "print('listening on http://127.0.0.1:%d' % listener.getsockname()[1],"
                       " flush=True)\nwhile True:\n    listener.accept()[0].close()\n")
    program.chmod(0o755)
    with pytest.raises(UserError, match="has no figure to compare"):
        compare.measure(program, program, seconds=2)


def stopped_bench(at: str, *options: str) -> subprocess.Popen[str]:
    """A bench that got Ctrl-C when it printed `at`, after it has ended."""
    process = subprocess.Popen([sys.executable, "-m", "workbook", "bench", "1", "2", *options],
                               env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    assert process.stderr is not None
    for line in process.stderr:
        if at in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    return process


@pytest.mark.alone
@pytest.mark.parametrize("at, rounds, timed", [("02-fewer-syscalls: ", 0, "none"),
                                               ("round 1, 01-naive", 0, "some"),
                                               ("round 2, floor", 1, "all")])
def test_stopped_bench_leaves_a_valid_partial_report(at: str, rounds: int, timed: str) -> None:
    process = stopped_bench(at, "--json")
    output, progress = process.communicate(timeout=60)
    assert process.returncode == 130, progress
    found = json.loads(output)
    recorded.validate(found, "what bench printed")
    assert json.loads((BUILD / "report/ladder.json").read_text()) == found
    page = (BUILD / "report/index.html").read_text()
    assert found["method"]["rounds"] == rounds
    assert found["servers"]["01-naive"]["costs"]["syscalls"] > 100
    rates = [server["phases"]["baseline"]["requests_per_second"]
             for server in found["servers"].values()]
    assert {None not in rates: "all", not any(rates): "none"}.get(True, "some") == timed
    assert ("was stopped before it timed" in page.lower()) == (timed != "all")
    assert "the report shows what is missing" in progress


def test_bench_stopped_before_the_first_count_writes_nothing(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: ladder.Run) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ladder.Run, "count", interrupted)
    monkeypatch.setattr(report, "write", lambda _: pytest.fail("it was written"))
    assert bench.run(chapters=["2"]) == 130
    assert "nothing was written" in capsys.readouterr().err


def test_bench_measures_rounds_until_its_time_is_over(
        monkeypatch: pytest.MonkeyPatch, results: dict[str, Any], tmp_path: Path) -> None:
    """Not one that would end more than half of its length after that; but always one."""
    now = [0.0]

    class Clocked:
        has_results = True

        def __init__(self, *_: object) -> None:
            self.rounds = 0

        def count(self) -> None:
            now[0] += 100

        def load(self) -> None:
            self.rounds += 1
            now[0] += 50

        def results(self) -> dict[str, Any]:
            results["method"]["rounds"] = self.rounds
            return results

    monkeypatch.setattr(ladder, "Run", Clocked)
    monkeypatch.setattr(report, "REPORT", tmp_path)
    monkeypatch.setattr(bench.time, "monotonic", lambda: now[0])
    for options, rounds in (({"minutes": 5.0}, 4), ({"minutes": 0.1}, 1), ({"quick": True}, 1)):
        now[0] = 0.0
        assert bench.run(chapters=["2"], **options) == 0
        assert json.loads((tmp_path / "ladder.json").read_text())["method"]["rounds"] == rounds
    page = (tmp_path / "index.html").read_text()
    assert "The times rest on one round" in page


def test_live_ladder_breaks_silence_in_a_pipe(monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(live_ladder, "SILENCE_S", 0.2)
    with live_ladder.LiveLadder(ladder.subjects(["2"])) as display:
        display.doing("counting 02-fewer-syscalls")
        display.building("building solutions/03-data-layout 1/9")
        time.sleep(1.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all("counting 02-fewer-syscalls · building solutions/03-data-layout 1/9" in line
                         for line in lines)


def test_live_ladder_fills_a_table_on_a_terminal() -> None:
    servers = ladder.subjects(["2"])
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    display = live_ladder.LiveLadder(servers, console=console)
    display.counted(servers[1], costs.Costs({"syscalls": 6, "allocations": 11,
                                             "instructions": 12_448}))
    display.loaded(servers[1], 1, PhaseResult(
        "baseline", requests_per_second=11_850.0, cpu_us_per_request=25.1))
    display.doing("round 1: " + "x" * 100)
    console.print(display._render())
    text = console.file.getvalue()
    assert re.search(r"02-fewer-syscalls +6 +11 +12,448 +11,850 +25.1", text)
    assert max(map(len, text.splitlines())) <= 80 and "floor" in text


@pytest.mark.parametrize("ours", [True, False])
def test_unfinished_chapter_suggests_a_comparison(ours: bool) -> None:
    a = (SOLUTIONS if ours else CHAPTERS) / "01-naive"
    with pytest.raises(UserError) as caught, compare.own_work_named(a, CHAPTERS / "02-layout"):
        raise UserError(f"build/release/{a.relative_to(ROOT)}/server died", "look")
    assert ("has not passed" in caught.value.message) is not ours
    assert caught.value.fix.endswith(
        "look" if ours else "compare solutions/01-naive chapters/02-layout")


def test_comparison_accepts_chapters_and_solutions() -> None:
    for name, solution in (("2", True), ("solutions/02-fewer-syscalls", False)):
        assert chapters.checkpoint(name, solution) == SOLUTIONS / "02-fewer-syscalls"
    for name, solution in (("2", False), ("chapters/02-fewer-syscalls", True)):
        assert chapters.checkpoint(name, solution) == CHAPTERS / "02-fewer-syscalls"
