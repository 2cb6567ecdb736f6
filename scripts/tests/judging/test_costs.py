"""Counting is exact: it says the same twice, and what is known beforehand."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import programs
import pytest

from workbook.checks.behaviour.rows import PAGE_ANSWER
from workbook.common.errors import UserError
from workbook.common.paths import SOLUTIONS
from workbook.machine import needs
from workbook.measure import costs

pytestmark = [
    pytest.mark.usefixtures("no_process_left"),
    pytest.mark.skipif(not (shutil.which("strace") and shutil.which("valgrind")),
                       reason="strace and valgrind count only on Linux"),
]


def test_naive_server_makes_a_call_per_byte() -> None:
    server = programs.solution("01-naive", "measure")
    counted = costs.count(server, measures=[costs.SYSCALLS])
    last_look = 1  # for bytes that were not read
    assert counted.by_call == {"accept4": 1, "close": 1, "sendto": len(PAGE_ANSWER),
                               "recvfrom": len(costs.CLOSING) + last_look}
    assert counted[costs.SYSCALLS] == sum(counted.by_call.values())


def test_repeated_counts_are_equal() -> None:
    server = programs.solution("03-data-layout", "measure")
    once, repeated = costs.count(server), costs.count(server)
    assert once.by_call == repeated.by_call
    assert once[costs.ALLOCATIONS] == repeated[costs.ALLOCATIONS] == 2
    assert once.figures["alloc_bytes"] == repeated.figures["alloc_bytes"]
    assert once[costs.INSTRUCTIONS] == pytest.approx(repeated[costs.INSTRUCTIONS], abs=100)
    assert not once.skipped


def test_other_request_has_other_costs() -> None:
    server = programs.solution("02-fewer-syscalls", "measure")
    with_body = (b"POST /sink HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                 b"Content-Length: 9000\r\n\r\n" + b"x" * 9000)
    plain = costs.count(server, measures=[costs.SYSCALLS, costs.ALLOCATIONS])
    more = costs.count(server, measures=[costs.SYSCALLS, costs.ALLOCATIONS], request=with_body)
    assert more.figures != plain.figures


def test_calls_of_all_threads_are_counted() -> None:
    server = programs.solution("04-threads", "measure")
    counted = costs.count(server, level=4, measures=[costs.SYSCALLS])
    assert counted[costs.SYSCALLS] == 5


@pytest.mark.parametrize("checkpoint", sorted(path.name for path in SOLUTIONS.glob("0[5-8]-*")))
def test_kept_connection_and_pipelined_calls_are_counted(
        checkpoint: str) -> None:
    server = programs.solution(checkpoint, "measure")
    counted = costs.count(server, level=5, measures=costs.MEASURES)
    assert counted.by_call == {"epoll_wait": 1, "recvfrom": 1, "writev": 1}
    assert (counted[costs.SYSCALLS], counted[costs.PIPELINED_SYSCALLS]) == (3, 3 / costs.DEPTH)
    assert counted[costs.ALLOCATIONS] == 0
    assert counted[costs.PIPELINED_INSTRUCTIONS] < counted[costs.INSTRUCTIONS]


def test_missing_tool_is_skipped_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "PLACES", ())  # it is not there either, outside PATH
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if "apt" in name else None)
    counted = costs.count(Path("server"))
    assert counted[costs.SYSCALLS] is None and counted[costs.INSTRUCTIONS] is None
    assert counted.skipped["syscalls"] == "strace is not installed: ./scripts/hotpath setup"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    skipped = costs.count(Path("server")).skipped
    assert "this system has no valgrind; in a container: ./scripts/hotpath" in skipped["allocations"]


def test_forbidden_tracing_is_reported(monkeypatch: pytest.MonkeyPatch,
                                       tmp_path: Path) -> None:
    refuses = ["sh", "-c", "echo 'strace: ptrace(PTRACE_TRACEME): not permitted' >&2; exit 1"]
    monkeypatch.setattr(costs, "STRACE", costs.Tool("sh", lambda report: refuses, Counter))
    monkeypatch.setattr(costs, "SYSCALLS", costs.Measure(
        "syscalls", costs.STRACE, costs.SYSCALLS.figures))
    counted = costs.count(tmp_path, measures=[costs.SYSCALLS])
    assert counted[costs.SYSCALLS] is None
    assert "forbids tracing" in counted.skipped["syscalls"]


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """A server that does something to each client."""

    def write(during: str) -> Path:
        file = tmp_path / "server"
        file.write_text(
            f"#!{sys.executable}\nimport os, signal, socket, sys\n"
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
            "listener = socket.create_server(('127.0.0.1', 0))\n"
            "print('listening on http://127.0.0.1:%d' % listener.getsockname()[1], flush=True)\n"
            "while True:\n    client, _ = listener.accept()\n"
            f"    {during}\n    client.close()\n")
        file.chmod(0o755)
        return file

    return write


@pytest.mark.parametrize("during, words", [
    ("client.sendall(b'HTTP/1.1 500 Oops\\r\\n\\r\\n')", "answered GET / with HTTP/1.1 500 Oops"),
    ("pass", "answered GET / with nothing"),
    ("os.kill(os.getpid(), 11)", "died while it was being asked"),
])
def test_failing_server_has_no_costs(program: Callable[[str], Path], during: str,
                                     words: str) -> None:
    with pytest.raises(UserError, match=words):
        costs.count(program(f"client.recv(65536); {during}"), measures=[costs.SYSCALLS])


def test_server_that_resets_its_clients_has_no_costs(program: Callable[[str], Path]) -> None:
    reset = "client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1] + 7 * [0]))"
    beside_silent = replace(costs.NEIGHBOURS_INSTRUCTIONS, tool=costs.STRACE, silent=3, rounds=1)
    with pytest.raises(UserError, match="cannot be counted: .*(reset|closed a connection)"):
        costs.count(program(reset), level=6, measures=[beside_silent])


def test_tool_reports_are_parsed() -> None:
    assert costs._read_strace("""\
7 accept4(3, NULL, NULL, SOCK_CLOEXEC) = 4
7 accept4(3, NULL, NULL, SOCK_CLOEXEC) = -1 EAGAIN (Resource temporarily unavailable)
7 recvfrom(4, ""..., 4096, 0, NULL, NULL) = 326
8 epoll_wait(5,  <unfinished ...>
7 close(4)                          = 0
8 <... epoll_wait resumed>[...], 256, 200) = 1
7 epoll_wait(5, [], 256, 200)       = 0
7 epoll_wait(5, 0x7ffe608388e0, 256, 200) = -1 EINTR (Interrupted system call)
7 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=1, si_uid=0} ---
7 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0a00000000
7 exit_group(0)                     = ?
""") == {"accept4": 1, "recvfrom": 1, "close": 1, "epoll_wait": 1, "mmap": 1, "exit_group": 1}
    assert costs._read_memcheck(
        "==7==   total heap usage: 1,234 allocs, 1,200 frees, 56,789 bytes allocated\n"
    ) == {"allocations": 1234, "alloc_bytes": 56789}
    assert costs._read_callgrind("events: Ir\nsummary: 42\n\ntotals: 43\n") == {"instructions": 43}
    with pytest.raises(UserError):
        costs._read_memcheck("no such line")


def test_tools_start_the_server_without_a_shell(tmp_path: Path) -> None:
    """No shell and no script in between, whose costs would be counted too."""
    for tool in (costs.STRACE, costs.MEMCHECK, costs.CALLGRIND):
        report = tmp_path / "report"
        assert tool.wrapper(report)[0] == tool.program
        subprocess.run([*tool.wrapper(report), "true"], capture_output=True, check=True)
        assert tool.read(report.read_text())
