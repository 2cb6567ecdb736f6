"""The command as a reader meets it: its help, its small verbs, what it says to a wrong word."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from conftest import Hotpath, assert_refused
from scratch import edit
from typer.testing import CliRunner

from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.course import chapters, parts, trees
from workbook.measure import trace
from workbook.verbs import listing, watch
from workbook.verbs.cli import app

VERBS = sorted(command.name or command.callback.__name__  # type: ignore[union-attr]
               for command in app.registered_commands)


def test_no_arguments_list_every_command(hotpath: Hotpath) -> None:
    shown = hotpath()
    assert shown.returncode == 0
    for verb in VERBS:
        assert re.search(rf"│ {verb} ", shown.stdout), verb


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_command_has_an_example(verb: str) -> None:
    shown = CliRunner().invoke(app, [verb, "--help"])
    assert shown.exit_code == 0
    assert f"Example: ./scripts/hotpath {verb}" in shown.stdout


def test_unknown_command_suggests_a_similar_one(hotpath: Hotpath) -> None:
    shown = hotpath("chek")
    assert shown.returncode == 2
    assert "check" in shown.stderr


@pytest.mark.parametrize("verb", ["check", "hint", "diff", "reset", "solution", "run", "trace",
                                  "stress", "sync"])
def test_unknown_chapter_lists_the_known_ones(hotpath: Hotpath, tiny: Path, verb: str) -> None:
    assert_refused(hotpath(verb, "9", root=tiny), "no chapter “9”", "01-a, 02-b, 03-c, lab-x")


@pytest.mark.parametrize("name", ["2", "02", "02-b", "b", "chapters/02-b", "solutions/02-b/"])
def test_chapter_is_found_by_number_and_name(hotpath: Hotpath, tiny: Path, name: str) -> None:
    assert "the first hint" in hotpath("hint", name, root=tiny).stdout


def test_a_damaged_chapter_file_is_named(hotpath: Hotpath, tiny: Path) -> None:
    file = tiny / "chapters/02-b/chapter.toml"
    file.write_text(file.read_text().replace("minutes = 1", ""))
    assert_refused(hotpath("list", root=tiny), "chapters/02-b/chapter.toml", "minutes")
    file.write_text("title = ")
    assert_refused(hotpath("list", root=tiny), "chapters/02-b/chapter.toml")


def test_list_shows_begun_chapters(hotpath: Hotpath, tiny: Path) -> None:
    edit(tiny / "chapters/02-b/a.cpp", "// TODO(2): add", "// done")
    rows = json.loads(hotpath("list", "--json", root=tiny).stdout)
    assert [(row["chapter"], row["status"]) for row in rows] == [
        ("01-a", "to do"), ("02-b", "begun"), ("03-c", "to do"), ("lab-x", "to do")]
    assert "0 of 4 passed" in hotpath("list", root=tiny).stdout


def test_a_passed_chapter_is_remembered(hotpath: Hotpath, tiny: Path) -> None:
    (tiny / ".hotpath").mkdir()
    edit(tiny / "chapters/02-b/a.cpp", "// TODO(2): add", "// done")
    file = tiny / ".hotpath/progress.json"
    file.write_text('{"02-b": {"passed": "2025-01-31", "medal": "silver"},'
                    ' "03-c": {"passed": "2025-02-28", "medal": "bronze"}}')
    table = hotpath("list", root=tiny).stdout
    assert "passed 2025-01-31, silver" in table and "bronze" not in table
    assert "passed before reset" in table
    assert "1 of 4 passed" in table and "hotpath next" in table
    assert "03-c" in hotpath("next", root=tiny).stdout
    file.write_text('{"02-b": {"passed": "2025-01-31", "failing": true}}')
    table = hotpath("list", root=tiny).stdout
    assert "passed, now failing" in table and "0 of 4 passed" in table
    file.write_text('{"02-b": {"passed": "2025-01-31", "code": "of other code"}}')
    assert "passed, changed since" in hotpath("list", root=tiny).stdout


def test_check_lists_its_cases(hotpath: Hotpath) -> None:
    output = hotpath("check", "5", "--list", "--case", "incomplete-request*").stdout
    assert "behaviour.stop" in output and "stop/incomplete-request-for-ever signal(7)" in output
    assert "behaviour.cuts" not in output and "cost.syscalls" not in output
    checks = hotpath("check", "5", "--list").stdout
    assert "cost.syscalls" in checks and "behaviour.stop" in checks
    assert "stop/incomplete-request-for-ever" not in checks and "--list --only CHECK" in checks
    output = hotpath("check", "5", "--list", "--only", "behaviour.stop").stdout
    assert "stop/incomplete-request-for-ever" in output and "behaviour.cuts" not in output
    assert_refused(hotpath("check", "5", "--list", "--case", "nowhere"), "no case is called")


def test_damaged_progress_names_its_file(hotpath: Hotpath, tiny: Path) -> None:
    (tiny / ".hotpath").mkdir()
    (tiny / ".hotpath/progress.json").write_text('{"01-a": ')
    assert_refused(hotpath("list", root=tiny), ".hotpath/progress.json", "rm ")


def test_a_narrow_terminal_keeps_every_column(capsys: pytest.CaptureFixture[str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listing.show([{"chapter": "02-fewer-syscalls", "title": "A server that is merely correct",
                    "minutes": 75, "status": "passed", "passed": "2026-01-31", "medal": "silver",
                    "part": None, "parts": 3, "kind": "server"}])
    table = capsys.readouterr().out
    assert all(word in table for word in ("min.", "●●●", "75", "passed 2026-01-31, silver"))


def test_hints_are_shown_one_at_a_time(hotpath: Hotpath, tiny: Path) -> None:
    for word in ("first", "second", "third", "third"):
        assert f"the {word} hint" in hotpath("hint", "2", root=tiny).stdout
    assert "the first hint" in hotpath("hint", "2", "--level", "1", root=tiny).stdout
    back = hotpath("hint", "2", root=tiny).stdout
    assert "the third hint" in back and "Back: ./scripts/hotpath hint 2 --level 2" in back
    assert "the first hint" in hotpath("hint", "3", root=tiny).stdout


def test_diff_is_the_step_between_two_solutions(hotpath: Hotpath, tiny: Path) -> None:
    refused = hotpath("diff", "2", root=tiny)
    assert_refused(refused, "not passed", "diff 2 --anyway")
    assert "return 1 + 1;" not in refused.stdout
    whole = hotpath("diff", "2", "--anyway", root=tiny).stdout
    assert "-    return 2;" in whole and "+    return 1 + 1;" in whole
    assert "1 file changed" in hotpath("diff", "2", "--stat", root=tiny).stdout
    assert_refused(hotpath("diff", "1", "--anyway", root=tiny), "no chapter before it")


def test_diff_mine_shows_the_readers_changes(hotpath: Hotpath, tiny: Path) -> None:
    assert "still the starter" in hotpath("diff", "2", "--mine", root=tiny).stdout
    edit(tiny / "chapters/02-b/a.cpp", "return 2;  // TODO(2): add", "return 4 - 2;")
    mine = hotpath("diff", "2", "--mine", root=tiny).stdout
    assert "-    return 2;  // TODO(2): add" in mine and "+    return 4 - 2;" in mine


def test_an_editors_files_are_not_the_readers_work(hotpath: Hotpath, tiny: Path) -> None:
    before = hotpath("list", "--json", root=tiny).stdout
    chapter = tiny / "chapters" / "02-b"
    (chapter / ".#a.cpp").symlink_to("user@host.1234:5")
    for name in ("#a.cpp#", "a.cpp~", "a.cpp.orig", ".a.cpp.swp", "4913"):
        (chapter / name).write_text("int typing;\n")
    assert hotpath("list", "--json", root=tiny).stdout == before
    assert "is still the starter" in hotpath("diff", "2", "--mine", root=tiny).stdout
    hotpath("reset", "2", root=tiny)
    assert not (tiny / ".hotpath" / "backup").exists()
    assert (chapter / "#a.cpp#").exists()
    assert list(watch.stamps(chapter)) == ["a.cpp", "app.h", "chapter.toml", "starter.patch"]


def test_reset_keeps_a_copy_and_touches_only_sources(hotpath: Hotpath, tiny: Path) -> None:
    chapter = tiny / "chapters/02-b"
    edit(chapter / "a.cpp", "// TODO(2): add", "// mine")
    (chapter / "extra.h").write_text("int extra;\n")
    (chapter / "app.h").unlink()
    (chapter / "mutants").mkdir()
    (chapter / "mutants/x.patch").write_text("kept")
    edit(chapter / "chapter.toml", "minutes = 1", "minutes = 2")
    output = hotpath("reset", "2", root=tiny).stdout
    assert "// TODO(2): add" in (chapter / "a.cpp").read_text()
    assert not (chapter / "extra.h").exists() and (chapter / "app.h").exists()
    assert (chapter / "mutants/x.patch").exists()
    assert "minutes = 2" in (chapter / "chapter.toml").read_text()
    copy = next((tiny / ".hotpath/backup").glob("02-b-*"))
    assert copy.name in output
    assert f"cp .hotpath/backup/{copy.name}/* chapters/02-b/" in output
    assert "// mine" in (copy / "a.cpp").read_text() and (copy / "extra.h").exists()
    assert "already" in hotpath("reset", "2", root=tiny).stdout


def test_the_solution_waits_until_the_chapter_is_passed(hotpath: Hotpath, tiny: Path) -> None:
    refused = hotpath("solution", "2", root=tiny)
    assert_refused(refused, "not passed", "--anyway")
    assert "return 1 + 1;" not in refused.stdout
    reported = hotpath("solution", "2", "--anyway", root=tiny).stdout
    assert "The idea of it." in reported
    assert "-    return 2;  // TODO(2): add" in reported and "+    return 1 + 1;" in reported
    (tiny / ".hotpath").mkdir(exist_ok=True)
    (tiny / ".hotpath/progress.json").write_text('{"02-b": {"passed": "2025-01-31"}}')
    assert "+    return 1 + 1;" in hotpath("solution", "2", root=tiny).stdout


def test_sync_lists_written_files_or_the_conflict(hotpath: Hotpath, tiny: Path) -> None:
    assert "Nothing to carry" in hotpath("sync", root=tiny).stdout
    edit(tiny / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    reported = hotpath("sync", "1", root=tiny).stdout
    assert "chapters/02-b/a.cpp" in reported and "solutions/03-c/a.cpp" in reported
    edit(tiny / "solutions/01-a/a.cpp", "return 2;", "return 3 - 1;")
    assert_refused(hotpath("sync", root=tiny), "chapters/01-a/a.cpp needs a decision",
                   "sync --continue")


def test_directory_becomes_the_starter_if_changes_are_marked(hotpath: Hotpath, tiny: Path) -> None:
    edit(tiny / "chapters/02-b/a.cpp", "TODO(2): add", "TODO(2): add two numbers")
    reported = hotpath("sync", "2", "--starter", root=tiny)
    assert "chapters/02-b/starter.patch is written" in reported.stdout
    assert "add two numbers" in (tiny / "chapters/02-b/starter.patch").read_text()
    edit(tiny / "chapters/02-b/app.h", "void app();", "void app();  // no mark")
    assert_refused(hotpath("sync", "2", "--starter", root=tiny), "lack a TODO(2)", "// no mark")


def test_doctor_reports_in_json(hotpath: Hotpath) -> None:
    reported = hotpath("doctor", "--json")
    sections = json.loads(reported.stdout)
    names = {finding["name"] for findings in sections.values() for finding in findings}
    assert {"python", "C++ compiler", "cmake", "ninja", "wrk", "descriptors", "disk"} <= names
    missing = [f for findings in sections.values() for f in findings if f["state"] == "missing"]
    assert reported.returncode == (1 if missing else 0)
    assert all(finding["fix"] for finding in missing)


def test_closed_pipe_prints_no_traceback() -> None:
    program = f"{sys.executable} -m workbook --help | head -1"
    done = subprocess.run(["sh", "-c", program], env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
                          capture_output=True, text=True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_serves_until_interrupted(no_process_left: None, number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "workbook", "run", "1", "--solution", "--", "--port", "0"],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    with process.stdout:
        assert "listening on http://127.0.0.1:" in process.stdout.readline()
        server = psutil.Process(process.pid).children()[0]
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        assert process.wait(10) == (0 if number == signal.SIGINT else 128 + number)
    assert not server.is_running()


LOG = """\
7 100.000001 accept4(3, NULL, NULL, SOCK_CLOEXEC) = 4 <0.500000>
8 100.100000 accept4(3,  <unfinished ...>
7 100.500010 recvfrom(4, "G", 1, 0, NULL, NULL) = 1 <0.000004>
7 100.500020 recvfrom(4, "E", 1, 0, NULL, NULL) = 1 <0.000004>
7 100.500030 writev(4, [{iov_base="HTTP", iov_len=4}], 1) = 4 <0.000010>
8 100.500035 <... accept4 resumed>NULL, NULL, 0) = 5 <0.400035>
7 100.500050 recvfrom(4, "", 1, 0, NULL, NULL) = -1 EAGAIN (Resource unavailable) <0.000003>
7 100.500060 +++ exited with 0 +++
"""


def test_trace_collapses_repeated_calls() -> None:
    calls = trace.parse(LOG.splitlines())
    assert [call.name for call in calls] == ["accept4", "recvfrom", "recvfrom", "writev",
                                             "accept4", "recvfrom"]
    assert (calls[4].thread, calls[4].result, round(calls[4].at_us)) == (8, "5", 100_100_000)
    assert calls[-1].result == "-1 EAGAIN"
    runs = trace.collapse(calls)
    assert [(run.name, run.count) for run in runs] == [
        ("accept4", 1), ("recvfrom", 2), ("writev", 1), ("accept4", 1), ("recvfrom", 1)]
    assert round(runs[1].took_us) == 14


@pytest.mark.skipif(sys.platform != "linux", reason="strace is Linux's")
def test_trace_of_a_real_request_starts_with_accept(hotpath: Hotpath,
                                                    no_process_left: None) -> None:
    reported = hotpath("trace", "1", "--solution", "--json")
    assert reported.returncode == 0, reported.stderr
    calls = json.loads(reported.stdout)
    assert calls[0]["name"].startswith("accept")
    assert calls[-1]["name"] == "close"
    assert sum(call["name"] == "recvfrom" and call["result"] == "1" for call in calls) == len(
        trace.REQUEST)


def test_missing_strace_suggests_a_container(monkeypatch: pytest.MonkeyPatch,
                                             tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no strace") as refused:
        trace.require_strace("trace 1")
    assert refused.value.fix == "in a container: ./scripts/hotpath trace 1 --in linux"


def test_every_chapter_names_existing_files_and_three_hints() -> None:
    for chapter in chapters.all_chapters():
        ends = [trees.read(chapter.solution_dir),
                *(parts.tree(chapter, part.number) for part in chapter.parts)]
        known = {name for end in ends for name in end}
        assert set(chapter.edit) <= known, chapter.name
        assert {len(of.hints) for of in chapter.parts or (chapter,)} == {3}
