"""What goes wrong on a reader's machine: a message with the next step, no debris, no process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from conftest import Hotpath, assert_refused
from scratch import edit

from workbook.common.errors import UserError
from workbook.common.paths import ROOT, SCRIPTS, SOLUTIONS, write_atomically
from workbook.course import history, progress
from workbook.course.chapters import all_chapters
from workbook.servers import build, process
from workbook.servers.build import build_server

pytestmark = pytest.mark.usefixtures("no_process_left")
IGNORED = shutil.ignore_patterns("tests", "__pycache__")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the real tree whose checkpoints may be broken; builds are shared."""
    root = tmp_path_factory.mktemp("copy")
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy(ROOT / name, root)
    for name in ("chapters", "solutions", "scripts"):
        shutil.copytree(ROOT / name, root / name, ignore=IGNORED)
    return root


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], Path]:
    """A server that is a shell script."""

    def make(text: str) -> Path:
        program = tmp_path / "server"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        return program

    return make


def without(*missing: str) -> str:
    """A PATH of links to what a verb may need, but for these."""
    found = {name: shutil.which(name) for name in
             ("cmake", "ninja", "git", "patch", "wrk", "strace", "valgrind", "sh", "env", "uname")}
    directory = Path(os.environ["PYTEST_TMP"]) / ("without-" + "-".join(missing))
    directory.mkdir(exist_ok=True)
    for name, program in found.items():
        link = directory / name
        if program and name not in missing and not link.exists():
            link.symlink_to(program)
    return str(directory)


@pytest.fixture(autouse=True)
def pytest_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_TMP", str(tmp_path))


def test_run_on_a_used_port_is_refused(hotpath: Hotpath) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        reported = hotpath("run", "2", "--solution", "--", "--port", port)
    assert_refused(reported, "ended with exit code 1", "run 2 --solution -- --port 8081")
    assert "in use" in reported.stderr


@pytest.mark.parametrize("arguments", [["--nope"], ["--port", "99999"], ["--port", "x"]])
def test_port_in_use_is_only_blamed_if_it_is(hotpath: Hotpath, arguments: list[str]) -> None:
    reported = hotpath("run", "2", "--solution", "--", *arguments)
    assert_refused(reported, "exit code", "run 2 --solution -- --help")
    assert "in use" not in reported.stderr


def test_server_without_descriptors_is_reported() -> None:
    """The server says so itself; we pass its words on."""
    binary = build_server(SOLUTIONS / "01-naive")
    with pytest.raises(UserError, match="ended before it was ready") as refused:
        with process.running(binary, wrapper=["sh", "-c", 'ulimit -n 3; exec "$@"', "sh"]):
            pass
    assert refused.value.fix


def test_stress_with_few_descriptors_is_refused(hotpath: Hotpath) -> None:
    reported = hotpath("stress", "2", "--solution", descriptors=40)
    assert_refused(reported, "descriptor limit of 40", "ulimit -n")


def test_unknown_stress_form_or_phase_is_refused(hotpath: Hotpath) -> None:
    assert_refused(hotpath("stress", "2", "--form", "long"), "no form long", "short, full, older")
    reported = hotpath("stress", "2", "--form", "older", "--phase", "heavy")
    assert_refused(reported, "no phase heavy", "plain, header, body")


def test_check_with_few_descriptors_is_refused(hotpath: Hotpath) -> None:
    reported = hotpath("check", "2", "--solution", "--only", "behaviour", descriptors=40)
    assert_refused(reported, "Too many open files", "ulimit -n")


def test_missing_compiler_is_reported(hotpath: Hotpath, copy: Path) -> None:
    shutil.rmtree(copy / "build", ignore_errors=True)
    reported = hotpath("run", "1", "--solution", root=copy, PATH=without())
    assert_refused(reported, "a C++23 compiler", "package manager")
    assert not (copy / "build/release/CMakeCache.txt").exists()


@pytest.mark.parametrize("verb", [["stress", "1", "--solution"], ["bench"]])
def test_missing_wrk_is_reported(hotpath: Hotpath, verb: list[str]) -> None:
    compiler = Path(shutil.which("clang++-19") or shutil.which("c++") or "").resolve().parent
    reported = hotpath(*verb, PATH=without("wrk"), CXX=str(compiler / "clang++"))
    assert_refused(reported, f"wrk is in {Path(shutil.which('wrk') or '').parent}", "export PATH=")


@pytest.mark.parametrize("verb", ["check", "run", "stress", "trace"])
def test_compile_error_names_file_and_line(hotpath: Hotpath, copy: Path, verb: str) -> None:
    file = copy / "chapters/02-fewer-syscalls/app.cpp"
    kept = file.read_text()
    edit(file, "namespace web {\n", "namespace web {\nint x = unknown;\n")
    line = file.read_text().splitlines().index("int x = unknown;") + 1
    reported = hotpath(verb, "2", root=copy)
    file.write_text(kept)
    assert_refused(reported, "building chapters/02-fewer-syscalls failed", "unknown",
                   f"fix chapters/02-fewer-syscalls/app.cpp, line {line}")


def test_compile_error_in_a_library_header_names_our_file(hotpath: Hotpath, copy: Path) -> None:
    file = copy / "chapters/02-fewer-syscalls/app.cpp"
    kept = file.read_text()
    edit(file, "namespace web {\n", "struct Unknown;\nvoid end(Unknown* it) {\n"
         "    std::unique_ptr<Unknown> owner(it);\n}\nnamespace web {\n")
    edit(file, '#include "app.h"\n', '#include "app.h"\n#include <memory>\n')
    reported = hotpath("run", "2", root=copy)
    file.write_text(kept)
    assert_refused(reported, "incomplete type", "fix chapters/02-fewer-syscalls/app.cpp, line")


def test_program_missing_from_cmake_is_reported(hotpath: Hotpath, copy: Path) -> None:
    file = copy / "chapters/05-event-loop/CMakeLists.txt"
    kept = file.read_text()
    judge = ("check", "5", "--only", "behaviour.echo")
    assert "part 1 is to be written" in hotpath(*judge, root=copy).stdout
    file.write_text(re.sub(r"hotpath_program\(echo.*?\n\)\n", "", kept, flags=re.S))
    reported = hotpath(*judge, root=copy)
    file.write_text(kept)
    assert "builds no program echo" in reported.stdout


def test_server_that_exits_at_start_is_reported(fake: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match=r"(?s)exit code 7.*no luck today"):
        with process.running(fake("echo no luck today >&2; exit 7")):
            pass


def test_server_that_never_gets_ready_is_reported(fake: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="did not say that it listens within 1 s"):
        with process.running(fake("sleep 60"), ready_s=1):
            pass


def test_server_that_crashes_while_used_is_reported(fake: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match=r"(?s)died while.*SIGSEGV.*last words"):
        with process.running(fake("echo listening on http://127.0.0.1:1; "
                                  "echo last words >&2; sleep 0.1; kill -SEGV $$")):
            time.sleep(0.5)


def test_server_that_exits_after_listening_is_reported(fake: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="ended at once: does it wait for its threads|died while"):
        with process.running(fake("echo listening on http://127.0.0.1:1")):
            time.sleep(0.5)


def test_server_that_ignores_sigterm_is_killed(fake: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="did not end within"):
        with process.running(fake("trap '' TERM; echo listening on http://127.0.0.1:1; "
                                  "while :; do sleep 0.1; done")) as server:
            time.sleep(0.1)
    assert not server.alive()


def test_exception_in_the_block_stops_the_server(fake: Callable[[str], Path]) -> None:
    with pytest.raises(KeyError):
        with process.running(fake("echo listening on http://127.0.0.1:1; exec sleep 60")) as server:
            raise KeyError
    assert not server.alive()


def test_server_crash_during_a_check_is_reported(hotpath: Hotpath, copy: Path) -> None:
    edit(copy / "chapters/03-data-layout/app.cpp", 'request.path == "/echo") {',
         'request.path == "/echo") {\n        __builtin_trap();')
    reported = hotpath("check", "3", "--only", "behaviour", root=copy)
    assert reported.returncode == 1
    assert "Traceback" not in reported.stderr
    assert "SIG" in reported.stdout + reported.stderr
    assert "check 3 --case" in reported.stdout


def test_server_hang_during_a_check_is_reported(hotpath: Hotpath, copy: Path) -> None:
    app = copy / "chapters/04-threads/app.cpp"
    edit(app, '#include "app.h"\n', '#include "app.h"\n\n#include <unistd.h>\n')
    edit(app, "    const bool get = ",
         "    for (volatile bool on = true; on;) ::pause();\n    const bool get = ")
    reported = hotpath("check", "4", "--only", "behaviour", root=copy)
    assert reported.returncode == 1
    assert "Traceback" not in reported.stderr
    assert "check 4" in reported.stdout


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A file-size limit is as good as a full disk, and needs no mount."""
    file = tmp_path / "report.html"
    file.write_text("the old one")
    program = ("import resource, signal, sys; from pathlib import Path\n"
               "from workbook.common.paths import write_atomically\n"
               "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
               "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
               f"write_atomically(Path({str(file)!r}), 'x' * 100_000)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(SCRIPTS)})
    assert "OSError" in done.stderr
    assert file.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["list"], ["list", "--json"],
                                       ["check", "5", "--list"]], ids=" ".join)
def test_output_to_a_full_disk_is_reported_and_to_a_closed_pipe_is_not(
        arguments: list[str]) -> None:
    command = [sys.executable, "-m", "workbook", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        assert done.returncode == 1
        assert done.stderr.startswith("error: [Errno 28] No space left on device\nnext:  free some")
        assert done.stderr.count("\n") == 2
    unread, pipe = os.pipe()
    os.close(unread)
    with open(pipe, "w") as closed:
        done = subprocess.run(command, env=environment, stdout=closed, stderr=subprocess.PIPE,
                              text=True)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("flag", ["-Werror,-Wunused-function", "-Werror=unused-variable"])
def test_advice_for_what_is_not_used_yet_is_how_to_keep_it(flag: str) -> None:
    lines = [f"{ROOT}/chapters/01-naive/app.cpp:7:5: error: unused 'helper' [{flag}]"]
    failure = build._failure("building chapters/01-naive", lines)
    assert "[[maybe_unused]] before it (chapters/01-naive/app.cpp, line 7)" in failure.fix


def test_build_on_a_full_disk_is_reported() -> None:
    lines = ["CMake Error at CMakeTestCXXCompiler.cmake:60 (message):",
             "    fatal error: error writing to /a/b.o: No space left on device", "  CMake will fail"]
    failure = build._failure("configuring release", lines)
    assert "disk is full" in failure.message and "df -h" in failure.fix


def test_first_error_of_cmake_is_shown_before_what_follows_from_it() -> None:
    first = "CMake Error at optimize.cmake:11 (set_property):"
    lines = ["-- The CXX compiler is GNU", first, "  given CACHE variable has not yet been created.",
             *["Call Stack (most recent call first):", "  CMakeLists.txt:31 (include)"] * 3,
             *["CMake Error at optimize.cmake:16 (message):", "  lib was not found."] * 10]
    shown = build._failure("configuring release", lines).message.splitlines()
    assert shown[:2] == ["configuring release failed:", first]
    assert len(shown) == 1 + build.LAST_LINES


def test_two_checks_at_once_both_remember_their_outcome(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> str:
        time.sleep(0.2)
        return "0123456"

    monkeypatch.setattr(progress, "FILE", tmp_path / "state" / "progress.json")
    monkeypatch.setattr(history, "begins_here", slow)
    both = all_chapters()[:2]
    threads = [threading.Thread(target=progress.mark_hint, args=(chapter, None, 2))
               for chapter in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [progress.hints_seen(chapter) for chapter in both] == [2, 2]


def test_unwritable_path_is_reported(hotpath: Hotpath, tiny: Path) -> None:
    (tiny / ".hotpath").write_text("a file where a folder should be")
    assert_refused(hotpath("hint", "2", root=tiny), ".hotpath")


def test_atomic_write_replaces_the_file(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    write_atomically(file, "one")
    write_atomically(file, "two")
    assert file.read_text() == "two"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.timeout(500)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_bench_leaves_no_process(number: int) -> None:
    process = subprocess.Popen([sys.executable, "-m", "workbook", "bench", "1", "2"],
                               env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    _wait_for_a_server(process)
    os.killpg(process.pid, number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 128 + number, output
    assert "Traceback" not in output


def _wait_for_a_server(process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 400  # what is measured is built first, perhaps on a busy machine
    us = psutil.Process(process.pid)
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(psutil.NoSuchProcess):  # a compiler that ended while we looked
            if any(child.name() in ("wrk", "server", "floor")
                   for child in us.children(recursive=True)):
                return
        time.sleep(0.1)
    process.kill()
    raise AssertionError("no server was started: " + process.communicate()[0])
