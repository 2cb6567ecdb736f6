"""The seam of the connection is seen in its object, whatever compiled it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from workbook.checks import registry, seam
from workbook.checks.model import RELEASE, Subject, Verdict
from workbook.course.chapters import having

COMPILERS = [name for name in ("clang++-19", "clang++", "g++") if shutil.which(name)]
PURE = "int twice(int x) { return 2 * x; }\n"
SOCKET = "namespace web { int receive_some(int fd) { return fd; } }\n"
CALLS = "namespace web { int receive_some(int); int f() { return receive_some(1); } }\n"
WAITS = "#include <poll.h>\nint wait() { return ::poll(nullptr, 0, 1); }\n"
SLEEPS = ("#include <thread>\n#include <chrono>\n"
          "void nap(int n) { std::this_thread::sleep_for(std::chrono::seconds(n)); }\n")
ASKS = ("#include <chrono>\n"
        "long now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }\n")
ASKS_C = "#include <ctime>\nlong now() { return ::time(nullptr); }\n"
LOCKS = ("#include <mutex>\nstd::mutex one;\n"
         "void lock() { std::lock_guard guard(one); }\n")
SIGNALLED = ("#include <condition_variable>\nstd::condition_variable all;\n"
             "void wait(std::unique_lock<std::mutex>& lock) { all.wait(lock); }\n")
YIELDS = "#include <thread>\nvoid release_caches() { std::this_thread::yield(); }\n"
PRINTS = '#include <cstdio>\nvoid tell(int n) { std::fprintf(stderr, "%d", n); }\n'
FORTIFIED = ("#include <sys/socket.h>\nlong g(int fd, char* p, unsigned long n) {\n"
             "    char own[16];\n    (void)p;\n    return ::recv(fd, own, n, 0) + own[0];\n}\n")


def judged(build: Path, compiler: str, connection: str, *flags: str) -> Verdict:
    objects = build / "CMakeFiles" / "solutions-05-server.dir"
    objects.mkdir(parents=True)
    for name, text in {"connection": connection, "socket_linux": SOCKET}.items():
        (build / f"{name}.cpp").write_text(text)
        subprocess.run([compiler, "-O2", *flags, "-c", f"{name}.cpp", "-o",
                        str(objects / f"{name}.cpp.o")], cwd=build, check=True)
    return look(build)


def look(build: Path) -> Verdict:
    subject = Subject(having("event-loop")[0], build, {RELEASE: build / "server"})
    verdict, = seam.judge(subject, [registry.named("seam.connection")])
    return verdict


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("connection, called", [
    (PURE, None), (CALLS, "web::receive_some"), (WAITS, "poll"), (SLEEPS, ""),
    (FORTIFIED, "recv"), (ASKS, "std::"), (ASKS_C, "time"), (LOCKS, ""), (SIGNALLED, "std::"),
    (YIELDS, "sched_yield"), (PRINTS, "fprintf"),
])
def test_forbidden_call_in_an_object_is_named(tmp_path: Path, compiler: str, connection: str,
                                              called: str | None) -> None:
    verdict = judged(tmp_path, compiler, connection, "-D_FORTIFY_SOURCE=2")
    if called is None:
        assert verdict.status == "pass" and verdict.summary.endswith("waits nor asks a clock")
    else:
        assert verdict.status == "fail" and verdict.summary.startswith(
            f"connection.cpp calls {called}")
        assert "as an argument" in verdict.note


@pytest.mark.skipif(not shutil.which("llvm-nm") or "clang++-19" not in COMPILERS,
                    reason="needs LLVM's own nm")
def test_forbidden_call_in_bitcode_is_found(tmp_path: Path) -> None:
    assert judged(tmp_path, "clang++-19", WAITS, "-flto").status == "fail"


def test_unreadable_object_skips_the_check(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = tmp_path / "CMakeFiles" / "x-server.dir"
    objects.mkdir(parents=True)
    (objects / "connection.cpp.o").write_bytes(b"no object")
    assert look(tmp_path).status == "skip"
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "binutils or llvm" in look(tmp_path).summary


def test_server_without_connection_cpp_fails(tmp_path: Path) -> None:
    assert look(tmp_path).summary == "the server is built without a connection.cpp"


@pytest.mark.skipif(not COMPILERS, reason="no compiler")
def test_the_connection_may_be_in_a_folder(tmp_path: Path) -> None:
    assert judged(tmp_path, COMPILERS[0], CALLS).status == "fail"
    objects = tmp_path / "CMakeFiles" / "solutions-05-server.dir"
    for folder, name in (("http", "connection.cpp.o"), ("net", "socket_linux.cpp.o")):
        (objects / folder).mkdir()
        (objects / name).rename(objects / folder / name)
    assert look(tmp_path).summary == "connection.cpp calls web::receive_some"
