"""A lab has no server: every verb knows that, and it is judged and timed in ways of its own."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from conftest import Hotpath, assert_refused
from scratch import edit

from workbook.authors import branches, tools
from workbook.authors import labs as experiments_labs
from workbook.checks import check, labs, registry
from workbook.checks.model import MEASURE, Check, Status, Subject, Verdict
from workbook.common.errors import UserError
from workbook.course import chapters, progress
from workbook.course.chapters import LAB, Chapter
from workbook.machine import caches
from workbook.measure import labs as benchmarks
from workbook.measure.costs import Costs, Measure
from workbook.servers import build
from workbook.verbs import check as verb


@pytest.fixture
def lab(tiny: Path) -> Chapter:
    return chapters.load(tiny / "chapters/lab-x/chapter.toml")


def test_lab_supports_the_commands_of_a_chapter(hotpath: Hotpath, tiny: Path) -> None:
    edit(tiny / "chapters/lab-x/a.cpp", "return 0;  // TODO(lab-x)", "return 3;  // mine")
    assert "begun" in hotpath("list", root=tiny).stdout
    assert "the first hint" in hotpath("hint", "x", root=tiny).stdout
    assert "+    return 3;  // mine" in hotpath("diff", "lab-x", "--mine", root=tiny).stdout
    assert "The idea of it." in hotpath("solution", "x", "--anyway", root=tiny).stdout
    assert hotpath("reset", "lab-x", root=tiny).returncode == 0
    assert "TODO(lab-x)" in (tiny / "chapters/lab-x/a.cpp").read_text()
    assert "+    return 3;" in hotpath("diff", "lab-x", "--anyway", root=tiny).stdout


@pytest.mark.parametrize("arguments", [
    ["run", "x"], ["trace", "x"], ["stress", "x"], ["pgo", "lab-x"],
    ["compare", "1", "lab-x"], ["compare", "solutions/lab-x", "2"]], ids=" ".join)
def test_command_that_needs_a_server_refuses_a_lab(hotpath: Hotpath, tiny: Path,
                                                   arguments: list[str]) -> None:
    assert_refused(hotpath(*arguments, root=tiny), "lab-x is a lab: it has no server",
                   "check lab-x")


@pytest.mark.parametrize("more", [["--only", "behaviour"], ["--only", "cost.resident"],
                                  ["--case", "page"]], ids=" ".join)
def test_server_checks_are_refused_for_a_lab(hotpath: Hotpath, tiny: Path,
                                             more: list[str]) -> None:
    reported = hotpath("check", "lab-x", *more, root=tiny)
    assert_refused(reported, "lab-x is not judged by", "validate.memory")
    assert "PASS" not in reported.stdout and not (tiny / ".hotpath/progress.json").exists()


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
    monkeypatch.setattr(registry, "CHECKS", (entry,))
    monkeypatch.setattr(registry, "NAMES", (entry.name,))
    monkeypatch.setattr(build, "build_program",
                        lambda source, preset, name, show: Path(f"built {name}"))
    remembered: list[str] = []
    monkeypatch.setattr(progress, "record", lambda _, outcome: remembered.extend(
        {True: ["passed"], False: ["failing"], None: []}[outcome.passed]))
    assert verb.run(lab) == exit_code
    output = capsys.readouterr().out
    assert words in output and "behaviour" not in output
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


def program(directory: Path, text: str) -> Path:
    """A script in the place of a lab's program."""
    file = directory / "program"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


BEGUN = "echo '[ RUN      ] List.IsEmpty'"
ENDED = "echo '[       OK ] List.IsEmpty (0 ms)'"


@pytest.mark.parametrize("text, status, words", [
    (f"{BEGUN}; {ENDED}", "pass", "1 tests pass"),
    ("true", "fail", "none of its tests fails"),
    (f"{BEGUN}; {ENDED}; exit 1", "fail", "List.IsEmpty fails"),
    (f"{BEGUN}; echo '[  FAILED  ] List.IsEmpty (0 ms)'; echo '[ RUN      ] List.Later'; exit 1",
     "fail", "List.IsEmpty fails"),
    (f"{BEGUN}; echo 'WARNING: ThreadSanitizer: data race (pid=7)'; exit 66", "fail",
     "List.IsEmpty fails: data race"),
], ids=["passes", "has no tests", "fails", "fails before others", "races"])
def test_validation_result_is_one_line(tmp_path: Path, text: str, status: Status,
                                       words: str) -> None:
    assert labs.run(program(tmp_path, text), "*", "lab-x")[:2] == (status, words)


def test_failed_step_is_shown_from_its_name_on() -> None:
    dump = "  Which is: 40-byte object <00-00 1A-5F ... FF-FF 00-00>"
    output = ["[ RUN      ] List.IsEmpty", "[       OK ] List.IsEmpty (0 ms)",
              "[ RUN      ] List.Later", "a.cpp:7: Failure", dump, *["  of 7"] * 100]
    shown = labs._telling(output)
    assert shown[:3] == ["[ RUN      ] List.Later", "a.cpp:7: Failure", "  Which is: an object"]
    assert len(shown) == labs.OUTPUT_LINES + 1 and shown[-1] == "… and 78 lines more"
    assert labs._telling(["abort"]) == ["abort"]


def test_hanging_validation_is_stopped_and_named(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "TIMEOUT_S", 1.0)
    status, words, _ = labs.run(program(tmp_path, f"{BEGUN}; exec sleep 600"), "*", "lab-x")
    assert status == "fail" and "lab-x hangs" in words and "List.IsEmpty" in words


@pytest.mark.parametrize("locks, status", [(1, "pass"), (2, "fail")])
def test_each_benchmark_is_judged_by_its_own_budgets(
        lab: Chapter, monkeypatch: pytest.MonkeyPatch, locks: int, status: Status) -> None:
    file = lab.starter_dir / "chapter.toml"
    edit(file, 'counted = "a"',
         "counted = {a = {bench-locks = 1}, c = {bench-locks = 5, bench-syscalls = 0}}")
    several = chapters.load(file)
    assert several.cost == {"bench-locks": 6, "bench-syscalls": 0}
    asked: dict[str, list[str]] = {}

    def count(_: Path, name: str, measures: Sequence[Measure]) -> Costs:
        asked[name] = [measure.name for measure in measures]
        return Costs(figures={"locks": locks, "syscalls": 0})

    monkeypatch.setattr(benchmarks, "count", count)
    wanted = [registry.named(f"cost.bench-{what}") for what in ("allocations", "syscalls", "locks")]
    subject = Subject(several, several.starter_dir, {MEASURE: Path("bench")})
    found = {verdict.name: verdict for verdict in wanted[0].judge(subject, wanted)}
    assert asked == {"a": ["bench-locks"], "c": ["bench-syscalls", "bench-locks"]}
    assert found["cost.bench-locks"].status == status
    assert f"a {locks} of 1, c {locks} of 5" in found["cost.bench-locks"].summary
    assert found["cost.bench-syscalls"].status == "pass"
    assert found["cost.bench-allocations"].status == "info"


def test_fences_are_counted_by_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another object may have something else at the same address."""
    report = "\n".join([
        "cmd:  ./a bench --benchmark_filter=x", "events: Ir Ge", "ob=./a bench", "fn=f",
        "0x10 5 7", "0x14 5 500", "0x18 6 500 2", "fn=g", "0x14 9 1", "ob=libm.so", "0x14 9 30",
        "totals: 1038 2"])
    monkeypatch.setattr(benchmarks, "_fences", lambda program: frozenset({0x14}))
    assert benchmarks.executed_fences(report) == 501
    assert benchmarks.LOCKS.tool.read(report) == {"locks": 503}


CACHEGRIND = "\n".join([
    "desc: I1 cache: …", "cmd: ./bench", "events: Ir Bc Bcm Bi Bim", "fl=a.cpp",
    "fn=web::find_method(std::string_view)", "10 50 20 3 4 1", "11 50 10 0 0 0",
    "fn=__memchr_avx2", "0 30 8 2 0 0", "fn=main", "5 70 6 1 0 0", "summary: 200 44 6 4 1"])


def test_both_kinds_of_mispredicted_branches_are_counted() -> None:
    assert benchmarks.branch_events(CACHEGRIND) == {
        "Ir": 200, "Bc": 44, "Bcm": 6, "Bi": 4, "Bim": 1}
    assert benchmarks.MISPREDICTIONS.tool.read(CACHEGRIND) == {"mispredictions": 7}
    assert branches.by_function(CACHEGRIND) == {
        "branches method": 34, "missed method": 4, "branches fields": 8, "missed fields": 2,
        "branches others": 6, "missed others": 1}


def test_mispredictions_are_counted_where_the_input_decides(tmp_path: Path) -> None:
    """A program is run under the tool itself: a loop whose condition is random, and one without."""
    found = {}
    for name, condition in (("random", "random() >> 8 & 1"), ("constant", "random() != 0")):
        source = tmp_path / f"{name}.cpp"
        source.write_text(
            "#include <cstdlib>\n#include <random>\nvolatile int taken;\n"
            "int main(int, char** arguments) {\n  std::minstd_rand random(7);\n"
            f"  for (int i = std::atoi(arguments[1]) * {branches.ELEMENTS}; i > 0; --i)\n"
            f"    if ({condition}) taken = i;\n}}\n")
        found[name] = branches.counted([str(tools.compiled(source, tmp_path / name))])["missed"]
    assert found["random"] > 0.3 and found["constant"] < 0.01


def test_benchmark_order_is_balanced(tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def rates(bench: Path, _: str) -> dict[str, float]:
        order.append(bench.name)
        return {"f": float(len(order))}

    monkeypatch.setattr(benchmarks, "_rates", rates)
    rounds = benchmarks.in_sequence(Path("a"), [Path("b"), Path("c")])
    first, second = next(rounds), next(rounds)
    assert "".join(order) == "abcaacba"
    assert [found["f"].b for found in (*first, *second)] == [2, 3, 7, 6]
    assert first[0]["f"].control == 4 and second[1]["f"].a == 5


def test_failing_benchmark_is_not_timed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ended with 3:\nno memory"):
        next(benchmarks.in_sequence(program(tmp_path, "echo no memory >&2; exit 3"), []))


def test_packaged_task_costs_are_counted_per_library(tmp_path: Path) -> None:
    rows = experiments_labs.packaged_tasks().rows
    assert rows["libstdc++"]["futexes"] == 1 and rows["libc++"]["futexes"] == 0
    with pytest.raises(UserError, match="cannot be built with -nowhere"):
        experiments_labs._compile(experiments_labs.PACKAGED_TASK, tmp_path / "program", "-nowhere")


def test_list_walk_is_timed_in_both_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments_labs, "WALKED", (10, 1000))
    monkeypatch.setattr(experiments_labs, "WALK_ROUNDS", 1)
    monkeypatch.setattr(experiments_labs.caches, "sizes", lambda: {"L1": 7200})
    found = experiments_labs.list_walk()
    assert list(found.rows) == ["10", "1000"] and found.marks == {"L1 full": 100}
    assert all(row[column] > 0 for row in found.rows.values() for column in found.columns)
    assert "has 72 bytes" in found.what  # with the two links


def test_caches_that_hold_data_are_found(tmp_path: Path) -> None:
    for index, (level, kind, size) in enumerate((
            (1, "Data", "32K"), (1, "Instruction", "64K"), (2, "Unified", "2M"),
            (3, "Unified", ""))):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("level", str(level)), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
    assert caches.sizes(tmp_path) == {"L1": 32768, "L2": 2 << 20}
