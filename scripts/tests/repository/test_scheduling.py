"""The tests' own helpers: who waits for whom, what is the same program, what is left out."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import fixed_subset
import lengths
import programs
import pytest
import scheduling
import timetable

from workbook.checks.behaviour.cases import select
from workbook.common.paths import SCRIPTS
from workbook.machine import needs, setup
from workbook.servers import build


def test_exclusive_test_runs_alone(tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "BUILD", tmp_path)
    entered = {name: threading.Event() for name in ("first", "alone", "late")}
    leave = {name: threading.Event() for name in entered}

    def connection(name: str) -> None:
        with scheduling._slot(name == "alone"):
            entered[name].set()
            assert leave[name].wait(20)

    threads = []
    for name in entered:
        threads.append(threading.Thread(target=connection, args=(name,)))
        threads[-1].start()
        assert entered[name].wait(0.3) == (name == "first")
    for now, then in (("first", "alone"), ("alone", "late")):
        assert not entered[then].is_set()
        leave[now].set()
        assert entered[then].wait(20)
    leave["late"].set()
    for thread in threads:
        thread.join()


def test_concurrent_judges_are_limited_to_the_processors(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "BUILD", tmp_path)
    monkeypatch.setattr(scheduling, "available_cpus", lambda: 2)
    third = threading.Event()

    def judge() -> None:
        with scheduling.judging():
            third.set()

    with scheduling.judging():
        with scheduling.judging():
            thread = threading.Thread(target=judge)
            thread.start()
            assert not third.wait(0.5)
        assert third.wait(20)
    thread.join()


@dataclass(frozen=True)
class Item:
    """As much of a pytest.Item as its rank asks for."""

    path: Path
    mark: str = ""

    def get_closest_marker(self, name: str) -> str | None:
        return self.mark if self.mark == name else None


def test_late_tests_run_before_exclusive_ones() -> None:
    order = [Item(Path("book/test_b.py")), Item(Path("gate/test_a.py")),
             Item(Path("gate/test_a.py"), "late"), Item(Path("servers/test_c.py"), "alone")]
    assert sorted(reversed(order), key=scheduling._rank) == order


def test_processes_never_share_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are started by `pytest -n` alone, without the options of a whole run."""
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", f"{SCRIPTS}:{SCRIPTS / 'tests'}")
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['scheduling']\n")
    shutil.copy(SCRIPTS / "tests" / "pytest.ini", tmp_path)
    (tmp_path / "test_it.py").write_text(
        "import os, pathlib, time, pytest\n"
        "@pytest.mark.parametrize('group', [pytest.param(name, id=f'{n}/{name}',\n"
        "    marks=pytest.mark.xdist_group(name)) for n in range(4) for name in 'aabb'])\n"
        "def test_it(group):\n"
        "    time.sleep(0.05)\n"
        "    with (pathlib.Path(__file__).parent / group).open('a') as file:\n"
        "        file.write(os.environ['PYTEST_XDIST_WORKER'] + chr(10))\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", str(tmp_path / "pytest.ini"), "-n", "2",
         str(tmp_path / "test_it.py")], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    workers = [(tmp_path / group).read_text().split() for group in "ab"]
    assert [len(found) for found in workers] == [8, 8]
    assert [len(set(found)) for found in workers] == [1, 1], "one group, two processes"


@pytest.mark.parametrize("second, waits", [("measure", True), ("asan", False)])
def test_a_build_folder_is_used_by_one_at_a_time(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str, waits: bool) -> None:
    """Tests of several groups build the same solution, each in a process of its own."""
    began, go_on = queue.Queue[str](), threading.Event()

    def run(command: list[str], *_: object) -> None:
        if command[1] == "--build":
            began.put(Path(command[2]).name)
            assert go_on.wait(20)

    monkeypatch.setattr(build, "_run", run)
    monkeypatch.setattr(setup, "ensure", lambda names: None)
    threads = [threading.Thread(target=build.isolated, args=(tmp_path / "solution", preset))
               for preset in ("measure", second)]
    threads[0].start()
    assert began.get(timeout=20) == "measure"
    threads[1].start()
    if waits:
        with pytest.raises(queue.Empty):
            began.get(timeout=0.5)
    else:
        assert began.get(timeout=20) == second
    go_on.set()
    for thread in threads:
        thread.join()
    assert not waits or began.get(timeout=20) == second


def test_normal_run_stops_after_its_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "LONG", False)
    monkeypatch.setattr(lengths, "BEGAN", time.time())
    assert not lengths.is_enough()
    monkeypatch.setattr(lengths, "BEGAN", time.time() - lengths.SHARE_S - 1)
    assert lengths.is_enough(lengths.SHARE_S) and not lengths.is_enough()
    monkeypatch.setattr(lengths, "BEGAN", time.time() - lengths.ENOUGH_S - 1)
    assert lengths.is_enough()
    monkeypatch.setattr(lengths, "LONG", True)
    assert not lengths.is_enough()


def test_timetable_adds_up_durations() -> None:
    files = {"scripts/tests/a/test_x.py": timetable.Row(2, 30.0, 5.0),
             "scripts/tests/a/test_y.py": timetable.Row(1, 50.0, 5.0),
             "scripts/tests/b/test_z.py": timetable.Row(4, 70.0, 1.0)}
    lines = [line.split() for line in timetable.table(files)]
    assert [line[0] for line in lines[1:]] == ["a/", "test_y.py", "test_x.py", "b/", "test_z.py",
                                               "all"]
    assert lines[1][1:] == ["3", "80", "s", "10", "s"] and lines[-1][1:] == ["7", "150", "s", "11",
                                                                             "s"]


@pytest.fixture
def entries(tmp_path: Path) -> dict[str, dict[str, str]]:
    """The same object of two checkpoints."""
    found = {}
    for name in ("01-a", "02-b"):
        folder = tmp_path / "solutions" / name
        folder.mkdir(parents=True)
        (folder / "x.cpp").write_text('#include "x.h"\n')
        (folder / "x.h").write_text('#include "y.h"\n')
        (folder / "y.h").write_text("")
        command = f"c++ -O2 -o solutions/{name}/solutions-{name}-server.dir/x.cpp.o {folder}/x.cpp"
        found[name] = {"file": str(folder / "x.cpp"), "command": command}
    return found


def test_identical_compile_inputs_share_an_object(entries: dict[str, dict[str, str]]) -> None:
    keys = {name: programs.key(entry) for name, entry in entries.items()}
    assert programs.alike(keys) == {"02-b": "01-a=02-b"}


@pytest.mark.parametrize("what", ["a header of a header", "the command"])
def test_different_compile_inputs_do_not_share_an_object(entries: dict[str, dict[str, str]],
                                                         what: str) -> None:
    if what == "the command":
        entries["02-b"]["command"] += " -O3"
    else:
        Path(entries["02-b"]["file"]).with_name("y.h").write_text("int y;\n")
    keys = {name: programs.key(entry) for name, entry in entries.items()}
    assert set(programs.alike(keys)) == {"01-a", "02-b"}


def test_fewer_positions_leave_nothing_else_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_subset, "LONG", False)
    cases = select(7)
    kept = fixed_subset.fewer_positions(cases)
    left_out = {case.name for case in cases} - {case.name for case in kept}
    assert left_out and all("-at-" in name for name in left_out)
    assert {case.check for case in kept} == {case.check for case in cases}
    assert kept == fixed_subset.fewer_positions(cases)  # no chance is involved
    monkeypatch.setattr(fixed_subset, "LONG", True)
    assert fixed_subset.fewer_positions(cases) == cases


@pytest.mark.parametrize("count, kept", [(5, [0, 1, 2, 3, 4]), (9, [0, 1, 2, 3, 4]),
                                         (3, [0, 2, 4]), (2, [0, 4]), (1, [0]), (0, [])])
def test_a_subset_is_evenly_spaced(count: int, kept: list[int]) -> None:
    assert fixed_subset.evenly_spaced(range(5), count) == kept


def test_consecutive_offsets_have_everything() -> None:
    thirds = [fixed_subset.one_in(3, range(10), offset) for offset in (4, 5, 6)]
    assert sorted(sum(thirds, [])) == list(range(10))


@pytest.mark.skipif(sys.platform != "linux", reason="headers are read once on Linux alone")
def test_missing_include_fails_the_readers_build(tmp_path: Path) -> None:
    """And in the tests the solutions' release build. Elsewhere the headers are there already."""
    compiler = needs.compiler()
    if compiler is None or "clang" not in compiler.name:
        pytest.skip("this compiler reads its headers each time")
    for folder in ("chapters", "solutions"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "source.cpp").write_text("std::string text() { return {}; }\n")

    def compiles(optimised: str, folder: str = "chapters", **environment: str) -> bool:
        command = [build.PRECOMPILED, tmp_path / "headers", compiler, "-stdlib=libc++", "-std=c++23",
                   "-Werror", optimised, "-o", tmp_path / "object", "-c",
                   tmp_path / folder / "source.cpp"]
        lenient = {name: value for name, value in os.environ.items() if name != "STRICT_INCLUDES"}
        return subprocess.run(command, capture_output=True,
                              env=lenient | environment).returncode == 0

    assert compiles("-O2") and len(list((tmp_path / "headers").glob("*.pch"))) == 1
    assert not compiles("-O3")
    assert compiles("-O3", "solutions")
    assert not compiles("-O3", "solutions", STRICT_INCLUDES="1")
