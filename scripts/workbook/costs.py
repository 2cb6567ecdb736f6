"""What one request costs, counted exactly: system calls, heap allocations, instructions.

The server runs under a counting tool, once for N requests and once for 2N; the difference, divided
by N, leaves out start and stop. Nothing is timed, so a slow or busy machine counts the same.
"""

from __future__ import annotations

import re
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbook import setup
from workbook.build import available_cpus
from workbook.errors import UserError
from workbook.paths import COMMAND
from workbook.servers import Server, running

MEASURES = ("syscalls", "allocations", "instructions")
REQUESTS = 25
KEEP_ALIVE_LEVEL = 5
PATIENCE_S = 5.0

FIELDS = (b"Host: localhost:8080\r\n"
          b"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
          b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
          b"Accept-Language: en-GB,en;q=0.5\r\n"
          b"Accept-Encoding: gzip, deflate, br, zstd\r\n"
          b"Upgrade-Insecure-Requests: 1\r\n")
CLOSING = b"GET / HTTP/1.1\r\n" + FIELDS + b"Connection: close\r\n\r\n"
KEPT = b"GET / HTTP/1.1\r\n" + FIELDS + b"Connection: keep-alive\r\n\r\n"


@dataclass
class Costs:
    """Per request. What could not be counted is None and has its reason in `skipped`."""

    syscalls: float | None = None
    allocations: float | None = None
    alloc_bytes: float | None = None
    instructions: float | None = None
    by_call: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Tool:
    """A program that counts: how it is put before the server, how its report is read."""

    program: str
    wrapper: Callable[[Path], list[str]]
    read: Callable[[str], Counter[str]]


def count(binary: Path, *, level: int = 1, measures: tuple[str, ...] = MEASURES,
          request: bytes | None = None) -> Costs:
    """Count what a server built with the preset `measure` does for one request.

    `request` must get the answer 200; by default it is a browser's GET /, on a closing connection
    below level 5 and on one kept open from there. Raises UserError if the server fails.
    """
    costs = Costs()
    costs.skipped = {name: reason for name in measures if (reason := _missing(TOOLS[name]))}
    wanted = [name for name in measures if name not in costs.skipped]
    sent = request or (KEPT if level >= KEEP_ALIVE_LEVEL else CLOSING)
    with ThreadPoolExecutor(available_cpus()) as pool, tempfile.TemporaryDirectory() as scratch:
        runs = {(name, times): pool.submit(_run, TOOLS[name], binary, level, sent, times,
                                           Path(scratch, f"{name}-{times}"))
                for name in wanted for times in (2 * REQUESTS, REQUESTS)}
        try:
            for name in wanted:
                totals = [runs[name, times].result() for times in (REQUESTS, 2 * REQUESTS)]
                _store(costs, name, _per_request(*totals))
        except CannotTrace as error:
            costs.skipped["syscalls"] = str(error)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return costs


class CannotTrace(Exception):
    """The system forbids ptrace, as some containers do."""


def _store(costs: Costs, name: str, figures: dict[str, float]) -> None:
    if name == "syscalls":
        # One call more or less in a whole run is of its end: a thread's stack unmapped, or kept.
        costs.by_call = {call: n for call, n in sorted(figures.items()) if abs(n) * REQUESTS > 1.5}
        costs.syscalls = round(sum(costs.by_call.values()), 4)
    else:
        for key, value in figures.items():
            setattr(costs, key, value)


def _per_request(once: Counter[str], twice: Counter[str]) -> dict[str, float]:
    return {key: (twice[key] - once[key]) / REQUESTS for key in twice | once}


def _missing(tool: Tool) -> str:
    """Why this tool cannot be used here, with what would help; empty if it can."""
    if shutil.which(tool.program):
        return ""
    if shutil.which("apt-get"):
        return f"{tool.program} is not installed: {COMMAND} setup"
    return f"this system has no {tool.program}; in a container: {setup.in_container('check N')}"


def _run(tool: Tool, binary: Path, level: int, request: bytes, times: int,
         report: Path) -> Counter[str]:
    """Totals of one run of the server under a tool."""
    arguments = ("--threads", "1") if level >= 4 else ()
    try:
        with running(binary, *arguments, wrapper=tool.wrapper(report)) as server:
            _ask(server, request, times, keep_alive=level >= KEEP_ALIVE_LEVEL)
            ended = server.stop()
    except UserError as error:
        if "ptrace" in error.message:
            raise CannotTrace(f"this system forbids tracing: {error.message}") from None
        raise
    if ended.killed or ended.exit_code != 0:
        raise server.failure(f"did not end well under {tool.program}")
    return tool.read(report.read_text(errors="replace"))


def _ask(server: Server, request: bytes, times: int, keep_alive: bool) -> None:
    """The same requests one after another, each answered before the next is sent."""
    if not keep_alive:
        for _ in range(times):
            with _connect(server) as client:
                client.sendall(request)
                _judge(server, b"".join(iter(lambda: client.recv(65_536), b"")))
        return
    with _connect(server) as client:
        for _ in range(times):
            client.sendall(request)
            _judge(server, _one_answer(client))
        # The server sees the end before it is stopped, in the short run as in the long one.
        client.shutdown(socket.SHUT_WR)
        client.recv(1)


def _connect(server: Server) -> socket.socket:
    client = socket.create_connection((server.host, server.port), timeout=PATIENCE_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def _one_answer(client: socket.socket) -> bytes:
    """One answer on a connection that stays open: its head tells its length."""
    answer = b""
    while (received := client.recv(65_536)):
        answer += received
        head, _, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        if length and len(body) >= int(length[1]):
            break
    return answer


def _judge(server: Server, answer: bytes) -> None:
    if not answer.startswith(b"HTTP/1.1 200 "):
        line = answer.partition(b"\r\n")[0].decode(errors="replace") or "nothing"
        raise UserError(f"{server.name} cannot be counted: it answered GET / with {line}",
                        "make the behaviour checks pass first")


def _read_strace(report: str) -> Counter[str]:
    """The summary of strace -c: calls, errors if there are any, the name.

    An accept that fails is an idle server looking whether it is to stop: not a request's cost.
    """
    rows = re.findall(r"^ +[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d*) +(\w+)$", report, re.M)
    return Counter({name: int(calls) - int(errors or 0) * name.startswith("accept")
                    for calls, errors, name in rows if name != "total"})


def _read_memcheck(report: str) -> Counter[str]:
    found = re.search(r"total heap usage: ([\d,]+) allocs, [\d,]+ frees, ([\d,]+) bytes", report)
    if found is None:
        raise UserError("valgrind's report has no heap usage:\n" + report[-500:],
                        "run the command again; if it stays so, build again")
    allocations, size = (int(number.replace(",", "")) for number in found.groups())
    return Counter(allocations=allocations, alloc_bytes=size)


def _read_callgrind(report: str) -> Counter[str]:
    return Counter(instructions=int(re.findall(r"^(?:totals|summary): (\d+)", report, re.M)[-1]))


TOOLS = {
    "syscalls": Tool("strace", lambda report: ["strace", "-f", "-c", "-o", str(report)],
                     _read_strace),
    "allocations": Tool("valgrind", lambda report: [
        "valgrind", "--tool=memcheck", "--leak-check=no", f"--log-file={report}"],
        _read_memcheck),
    "instructions": Tool("valgrind", lambda report: [
        "valgrind", "--tool=callgrind", "--log-file=/dev/null", f"--callgrind-out-file={report}"],
        _read_callgrind),
}
