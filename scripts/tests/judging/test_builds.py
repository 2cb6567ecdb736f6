"""`check` judges by the first build while it makes the others."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbook.checks import builds, check, registry
from workbook.checks.builds import Builds
from workbook.checks.model import MEASURE, RELEASE, Check, Subject, Verdict
from workbook.common import children
from workbook.common.errors import UserError
from workbook.course.chapters import find
from workbook.servers import build

TIMEOUT_S = 10
ANSWERS, IDLE, COST = "behaviour.requests", "behaviour.idle-cpu", "cost.syscalls"


EDITED = """
cmake_minimum_required(VERSION 3.25)
set(CMAKE_CXX_COMPILER_WORKS 1)
project(edited CXX)
add_library(edited OBJECT edited.cpp)
"""
# The object is newer than what is saved after the compiler has read its source.
SLOW = """#!/bin/sh
"$@" && touch begun && sleep 1 && touch CMakeFiles/edited.dir/edited.cpp.o
"""


def test_source_saved_while_it_is_compiled_is_compiled_again(tmp_path: Path) -> None:
    source, directory, slow = tmp_path / "edited.cpp", tmp_path / "build", tmp_path / "slow"
    (tmp_path / "CMakeLists.txt").write_text(EDITED)
    source.write_text("int old_version;")
    slow.write_text(SLOW)
    slow.chmod(0o755)
    subprocess.run(["cmake", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER_LAUNCHER={slow}",
                    "-S", tmp_path, "-B", directory], check=True, capture_output=True)
    building = threading.Thread(target=build.make, args=(directory, "edited", "edited", tmp_path))
    building.start()
    while not (directory / "begun").exists():
        assert building.is_alive()
        time.sleep(0.01)
    source.write_text("int new_version;")
    building.join()
    assert b"new_version" in next(directory.rglob("*.o")).read_bytes()


class Late:
    """A build that lasts until it is released, and then may fail."""

    builds: Builds

    def __init__(self, error: UserError | None = None) -> None:
        self.released = threading.Event()
        self._error = error

    def __call__(self) -> Path:
        assert self.released.wait(TIMEOUT_S)
        if self._error:
            raise self._error
        return Path("measure/server")


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> Callable[[Late], Iterator[Verdict]]:
    """Starts to judge three checks while this build is made. A verdict's summary is the state of
    the build when its check was judged.
    """

    def judging(late: Late) -> Iterator[Verdict]:
        late.builds = Builds({RELEASE: Path("release/server")}, {MEASURE: late})
        return check.judge(Subject(find("2"), Path(), late.builds, background=late.builds))

    def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
        assert subject.background
        for each in wanted:
            state = "building" if subject.background.running else "built"
            yield Verdict(each.name, "pass", state)

    def costs(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
        yield from judge(subject, wanted)

    checks = tuple(replace(registry.named(name), judge=costs if name == COST else judge, tool="")
                   for name in (ANSWERS, IDLE, COST))
    monkeypatch.setattr(registry, "CHECKS", checks)
    monkeypatch.setattr(registry, "NAMES", (ANSWERS, IDLE, COST))
    return lambda late: judging(late)


def test_answers_are_judged_during_a_build_and_figures_after_it(
        judging: Callable[[Late], Iterator[Verdict]]) -> None:
    late = Late()
    found = judging(late)
    first = next(found)
    late.released.set()
    states = {verdict.name: verdict.summary for verdict in (first, *found)}
    assert states == {ANSWERS: "building", IDLE: "built", COST: "built"}


def test_failed_later_build_ends_the_check_with_its_message(
        judging: Callable[[Late], Iterator[Verdict]], monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []
    monkeypatch.setattr(children, "stop", lambda: stopped.append(True))
    late = Late(UserError("building failed:\na.cpp:7: error: x", "fix a.cpp, line 7"))
    found = judging(late)
    assert next(found).name == ANSWERS
    late.released.set()
    with pytest.raises(UserError, match="a.cpp:7: error: x"):
        list(found)
    assert stopped == [True]


def test_time_of_a_later_build_is_not_the_time_of_a_check(
        judging: Callable[[Late], Iterator[Verdict]], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(check, "time", clock)
    monkeypatch.setattr(builds, "time", clock)
    late = Late()
    found = judging(late)
    first = next(found)
    now[0] = 100.0
    late.released.set()
    assert [verdict.seconds for verdict in (first, *found)] == [0.0, 0.0, 0.0]
    assert late.builds.seconds == 100.0


def test_builds_are_made_one_at_a_time_and_the_first_before_all_judging(
        monkeypatch: pytest.MonkeyPatch) -> None:
    running, made, together = [0], [], []

    def program(_: Path, preset: str, name: str, show: object) -> Path:
        running[0] += 1
        together.append(running[0])
        made.append((preset, threading.current_thread() is threading.main_thread()))
        running[0] -= 1
        return Path(preset) / name

    monkeypatch.setattr(build, "build_program", program)
    subject = check.built(find("13"), True, registry.NAMES)
    assert subject.background
    subject.background.wait()
    assert made == [("release", True), ("measure", False), ("kqueue", False), ("release", False)]
    assert set(together) == {1} and subject.builds[MEASURE] == Path("measure/server")


def test_build_error_in_the_first_build_is_raised_before_others_begin(
        monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def program(_: Path, preset: str, *__: object) -> Path:
        asked.append(preset)
        raise UserError("building failed", "fix it")

    monkeypatch.setattr(build, "build_program", program)
    with pytest.raises(UserError, match="building failed"):
        check.built(find("5"), True, registry.NAMES)
    assert asked == ["release"]


def test_waiting_for_another_build_ends_when_all_is_stopped(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(children, "stopped", lambda: True)
    with build.locked(tmp_path / ".lock"), pytest.raises(UserError, match="stopped"), \
            build.locked(tmp_path / ".lock"):
        pass
