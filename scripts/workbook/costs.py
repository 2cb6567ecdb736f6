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
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from workbook import setup
from workbook.build import available_cpus
from workbook.errors import UserError
from workbook.paths import COMMAND
from workbook.servers import Server, running

MEASURES = ("syscalls", "allocations", "instructions")
PIPELINED = ("pipelined-syscalls", "pipelined-instructions")  # from level 5 on
REQUESTS = 25
DEPTH = 16  # how many are pipelined
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
    """Per request, `_pipelined` for one of sixteen that came at once. What could not be counted is
    None and has its reason in `skipped`; what was not asked for is None.
    """

    syscalls: float | None = None
    allocations: float | None = None
    alloc_bytes: float | None = None
    instructions: float | None = None
    syscalls_pipelined: float | None = None
    instructions_pipelined: float | None = None
    by_call: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def value(self, measure: str) -> float | None:
        return getattr(self, FIELD.get(measure, measure))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


FIELD = {"pipelined-syscalls": "syscalls_pipelined",
         "pipelined-instructions": "instructions_pipelined"}


@dataclass(frozen=True)
class Tool:
    """A program that counts: how it is put before the server, how its report is read."""

    program: str
    wrapper: Callable[[Path], list[str]]
    read: Callable[[str], Counter[str]]


def measures_at(level: int) -> tuple[str, ...]:
    return (*MEASURES, *PIPELINED) if level >= KEEP_ALIVE_LEVEL else MEASURES


def count(binary: Path, *, level: int = 1, measures: tuple[str, ...] = MEASURES,
          request: bytes | None = None) -> Costs:
    """Count what a server built with the preset `measure` does for one request.

    `request` must get the answer 200; by default it is a browser's GET /, on a closing connection
    below level 5 and on one kept open from there. Raises UserError if the server fails.
    """
    arguments = ("--threads", "1") if level >= 4 else ()
    return count_started(partial(running, binary, *arguments), level=level, measures=measures,
                         request=request)


def count_started(start: Callable[..., AbstractContextManager[Server]], *, level: int,
                  measures: tuple[str, ...], request: bytes | None = None) -> Costs:
    """The same for a server that is started otherwise; `start` takes the `wrapper` to put before."""
    costs = Costs()
    costs.skipped = {name: reason for name in measures if (reason := _missing(_tool(name)))}
    wanted = [name for name in measures if name not in costs.skipped]
    sent = request or (KEPT if level >= KEEP_ALIVE_LEVEL else CLOSING)
    with ThreadPoolExecutor(available_cpus()) as pool, tempfile.TemporaryDirectory() as scratch:
        runs = {(name, times): pool.submit(_run, _tool(name), start, level, sent, times,
                                           Path(scratch, f"{name}-{times}"), _depth(name))
                for name in wanted for times in (2 * REQUESTS, REQUESTS)}
        try:
            for name in wanted:
                totals = [runs[name, times].result() for times in (REQUESTS, 2 * REQUESTS)]
                stray = 1 if "syscalls" in name else 0  # where memory is mapped differs each time
                _store(costs, name, _per_request(*totals, REQUESTS * _depth(name), stray))
        except CannotTrace as error:
            costs.skipped |= {name: str(error) for name in wanted if "syscalls" in name}
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return costs


class CannotTrace(Exception):
    """The system forbids ptrace, as some containers do."""


def _tool(measure: str) -> Tool:
    return TOOLS[measure.removeprefix("pipelined-")]


def _depth(measure: str) -> int:
    """How many requests are sent at once."""
    return DEPTH if measure in PIPELINED else 1


def _store(costs: Costs, name: str, figures: dict[str, float]) -> None:
    if name == "syscalls":
        costs.by_call = {call: n for call, n in sorted(figures.items()) if n}
        costs.syscalls = round(sum(figures.values()), 4)
    elif name in FIELD:
        setattr(costs, FIELD[name], round(sum(figures.values()), 4))
    else:
        for key in ("allocations", "alloc_bytes") if name == "allocations" else (name,):
            setattr(costs, key, figures.get(key, 0.0))


def _per_request(once: Counter[str], twice: Counter[str], requests: int,
                 stray: int) -> dict[str, float]:
    """The difference, shared out; one of at most `stray` has nothing to do with the requests."""
    return {key: difference / requests for key in twice | once
            if abs(difference := twice[key] - once[key]) > stray}


def _missing(tool: Tool) -> str:
    """Why this tool cannot be used here, with what would help; empty if it can."""
    if shutil.which(tool.program):
        return ""
    if shutil.which("apt-get"):
        return f"{tool.program} is not installed: {COMMAND} setup"
    return f"this system has no {tool.program}; in a container: {setup.in_container('check N')}"


def _run(tool: Tool, start: Callable[..., AbstractContextManager[Server]], level: int,
         request: bytes, times: int, report: Path, depth: int) -> Counter[str]:
    """Totals of one run of the server under a tool, `times` being asked `depth` requests."""
    try:
        with start(wrapper=tool.wrapper(report)) as server:
            _ask(server, request, times, depth, keep_alive=level >= KEEP_ALIVE_LEVEL)
            ended = server.stop()
    except UserError as error:
        if "ptrace" in error.message:
            raise CannotTrace(f"this system forbids tracing: {error.message}") from None
        raise
    if ended.killed or ended.exit_code != 0:
        raise server.failure(f"did not end well under {tool.program}")
    return tool.read(report.read_text(errors="replace"))


def _ask(server: Server, request: bytes, times: int, depth: int, keep_alive: bool) -> None:
    """The same requests, `depth` at once, answered before the next are sent."""
    if not keep_alive:
        for _ in range(times):
            with _connect(server) as client:
                client.sendall(request)
                _judge(server, b"".join(iter(lambda: client.recv(65_536), b"")))
        return
    with _connect(server) as client:
        for _ in range(times):
            client.sendall(request * depth)
            _judge_all(server, client, depth)
        client.shutdown(socket.SHUT_WR)
        client.recv(1)  # until the server has closed as well: that is part of every run


def _connect(server: Server) -> socket.socket:
    client = socket.create_connection((server.host, server.port), timeout=PATIENCE_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def _judge_all(server: Server, client: socket.socket, count: int) -> None:
    """So many answers on a connection that stays open: each head tells its answer's length."""
    received = b""
    for _ in range(count):
        while not (size := first_answer(received)) and (more := client.recv(65_536)):
            received += more
        if not size and not received:
            raise UserError(f"{server.name} cannot be counted: it closed a connection that was to "
                            "stay open", "make the behaviour checks pass first")
        _judge(server, received[:size])
        received = received[size:]


def first_answer(received: bytes) -> int:
    """How many bytes the first answer has; 0 until it is whole."""
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: *(\d+)", head, re.I)
    if not end or not length or len(body) < int(length[1]):
        return 0
    return len(head) + len(end) + int(length[1])


def _judge(server: Server, answer: bytes) -> None:
    if not answer.startswith(b"HTTP/1.1 200 "):
        line = answer.partition(b"\r\n")[0].decode(errors="replace") or "nothing"
        raise UserError(f"{server.name} cannot be counted: it answered GET / with {line}",
                        "make the behaviour checks pass first")


def _read_strace(report: str) -> Counter[str]:
    """Calls by name. An accept that fails, and a wait that ends with nothing, is an idle server
    looking whether it is to stop: not a request's cost.
    """
    calls = re.findall(r"^\d+ +(?:<\.\.\. (\w+) resumed>|(\w+)\().*\) += (-?\d+|0x\w+|\?)", report,
                       re.M)
    return Counter(resumed or name for resumed, name, result in calls
                   if not _was_idle(resumed or name, result))


def _was_idle(name: str, result: str) -> bool:
    waits = name in ("epoll_wait", "epoll_pwait", "epoll_pwait2", "poll")
    return result.startswith("-") and (waits or name.startswith("accept")) or (
        waits and result == "0")


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
    "syscalls": Tool("strace", lambda report: ["strace", "-f", "-s", "0", "-o", str(report)],
                     _read_strace),
    "allocations": Tool("valgrind", lambda report: [
        "valgrind", "--tool=memcheck", "--leak-check=no", f"--log-file={report}"],
        _read_memcheck),
    "instructions": Tool("valgrind", lambda report: [
        "valgrind", "--tool=callgrind", "--log-file=/dev/null", f"--callgrind-out-file={report}"],
        _read_callgrind),
}
