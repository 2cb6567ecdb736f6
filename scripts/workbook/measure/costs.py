"""What one request costs, counted exactly: system calls, heap allocations, instructions.

The server runs under a counting tool, once for N requests and once for 2N; the difference, divided
by N, excludes start and stop. Nothing is timed, so a slow or busy machine gives the same counts.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from workbook.common.errors import UserError
from workbook.machine import needs
from workbook.machine.cores import available_cpus
from workbook.measure.stress import raise_descriptor_limit
from workbook.servers import certificates
from workbook.servers.client import answers, connect
from workbook.servers.process import Server, running

REQUESTS = 25
DEPTH = 16  # requests that are pipelined
KEEP_ALIVE_LEVEL = 5
TIMEOUT_S = 5.0

FIELDS = (b"Host: localhost:8080\r\n"
          b"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
          b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
          b"Accept-Language: en-GB,en;q=0.5\r\n"
          b"Accept-Encoding: gzip, deflate, br, zstd\r\n"
          b"Upgrade-Insecure-Requests: 1\r\n")
CLOSING = b"GET / HTTP/1.1\r\n" + FIELDS + b"Connection: close\r\n\r\n"
KEPT = b"GET / HTTP/1.1\r\n" + FIELDS + b"Connection: keep-alive\r\n\r\n"
BODY = (b"POST /echo HTTP/1.1\r\n" + FIELDS + b"Content-Length: 200000\r\n\r\n" + b"b" * 200_000)
COOKIE = b"GET / HTTP/1.1\r\n" + FIELDS + b"Cookie: " + b"c" * 4096 + b"\r\n\r\n"
FILE_NAME, FILE_BYTES = "file.html", 1500
FILE = b"GET /file.html HTTP/1.1\r\n" + FIELDS + b"\r\n"
SMALL_BODY = b"POST /echo HTTP/1.1\r\n" + FIELDS + b"Content-Length: 100\r\n\r\n" + b"b" * 100
LARGE_NAME, LARGE_BYTES = "large.bin", 200_000
LARGE_FILE = b"GET /large.bin HTTP/1.1\r\n" + FIELDS + b"\r\n"
NOT_MODIFIED = b"GET /file.html HTTP/1.1\r\n" + FIELDS + b"If-None-Match: *\r\n\r\n"
MISSING = b"GET /nowhere.bin HTTP/1.1\r\n" + FIELDS + b"\r\n"
WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2", "poll")
AGED_S = 1_000_000_000  # 2001
ONE_SLOT = ("--max-clients", "1")
CACHE_LEVEL, SETTLED_S = 11, 3.2  # files are cached from this level on, after this time unchanged
LONG_HEAD = b"GET / HTTP/1.1\r\n" + FIELDS + b"X-Long: " + b"v" * 60_000 + b"\r\n\r\n"


@dataclass(frozen=True)
class Tool:
    """A counting program: the command to put before the server's, and how to read its report.

    A difference of at most `stray` between the two runs is ignored as unrelated to the requests.
    """

    program: str
    wrapper: Callable[[Path], list[str]]
    read: Callable[[str], Counter[str]]
    stray: int = 0


@dataclass(frozen=True, eq=False)
class Measure:
    """One kind of cost of a request, and how it is measured.

    `figures` maps the names in the results, the measure's own first, to their units. A single
    figure is the sum of all that the tool reports; several are looked up in its report by name.

    Each of `clients` sends `depth` requests at once. If not `kept`, each request has a new
    connection at any level. `request` replaces the default one, and is sent in pieces of `piece`
    bytes: the next one follows when the server has received this one from all clients. A `rooted`
    server serves a folder with FILE_NAME, a `logged` one logs to a file, a `secured` one uses TLS.
    `silent` further clients connect and send nothing. `rounds` multiplies the number of requests,
    to reduce the weight of work that the server does once per second. `rejected` measures clients
    that are turned away by a server with a single slot. A `held` server is suspended while the
    clients send, so that it finds all requests at once.
    """

    name: str  # of the check (cost.NAME) and of its budget
    tool: Tool
    figures: Mapping[str, str]
    depth: int = 1
    kept: bool = True
    request: bytes = b""
    piece: int = 0
    clients: int = 1
    silent: int = 0
    rounds: int = 1
    rooted: bool = False
    logged: bool = False
    rejected: bool = False
    secured: bool = False
    held: bool = False

    @property
    def figure(self) -> str:
        return next(iter(self.figures))

    @property
    def unit(self) -> str:
        return self.figures[self.figure]


@dataclass
class Costs:
    """Costs per request, by figure. `skipped` has the reasons of measures that were not counted."""

    figures: dict[str, float] = field(default_factory=dict)
    by_call: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, measure: Measure) -> float | None:
        return self.figures.get(measure.figure)

    def to_json(self) -> dict[str, Any]:
        figures = {name: self.figures.get(name) for measure in MEASURES for name in measure.figures}
        return {**figures, "by_call": self.by_call, "skipped": self.skipped}


def count(binary: Path, *, level: int = 1, measures: Sequence[Measure] | None = None,
          request: bytes | None = None) -> Costs:
    """Count what a server built with the preset `measure` does for one request, by default by the
    measures of ALONE.

    `request` must get the answer 200, 206, 304 or 404. It defaults to the measure's own, or else to
    a browser's GET /, on a closing connection below level 5 and on a kept one from there. Raises
    UserError if the server fails.
    """
    arguments = ("--threads", "1") if level >= 4 else ()
    return count_started(partial(running, binary, *arguments), level=level,
                         measures=ALONE if measures is None else measures, request=request)


def count_started(start: Callable[..., AbstractContextManager[Server]], *, level: int,
                  measures: Sequence[Measure], request: bytes | None = None) -> Costs:
    """Like `count`, for a server started by `start`, which takes the `wrapper` to put before it."""
    if any(measure.silent for measure in measures):
        raise_descriptor_limit()
    lacking = {measure.name: needs.lacking(measure.tool.program)
               or (needs.without_io_uring() if measure.held else "")
               for measure in measures}
    costs = Costs(skipped={name: reason for name, reason in lacking.items() if reason})
    able = [measure for measure in measures if not lacking[measure.name]]
    with ThreadPoolExecutor(available_cpus()) as pool, tempfile.TemporaryDirectory() as scratch:
        root, log = _site(Path(scratch)), Path(scratch, "access.log")
        if level >= CACHE_LEVEL and any(measure.rooted for measure in able):
            time.sleep(SETTLED_S)
        runs = {(measure.name, times): pool.submit(
            _run, measure, partial(start, *_options(measure, root, log)), level, request, times,
            Path(scratch, f"{measure.name}-{times}"))
            for measure in able for times in (2 * _requests(measure), _requests(measure))}
        try:
            for measure in able:
                once, twice = (runs[measure.name, times].result()
                               for times in (_requests(measure), 2 * _requests(measure)))
                _store(costs, measure, _per_request(once, twice, measure))
        except CannotTrace as error:
            costs.skipped |= {measure.name: str(error) for measure in able
                              if measure.tool.program == STRACE.program}
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return costs


def _requests(measure: Measure) -> int:
    return REQUESTS * measure.rounds


def _options(measure: Measure, root: Path, log: Path) -> Sequence[str]:
    """Return the server's command-line options for a measure."""
    return (*(("--root", str(root)) if measure.rooted else ()),
            *(("--access-log", str(log)) if measure.logged else ()),
            *(ONE_SLOT if measure.rejected else ()),
            *(certificates.localhost().options if measure.secured else ()))


def _site(folder: Path) -> Path:
    """Create the folder to serve, with files that have an old date, and return it."""
    root = folder / "site"
    root.mkdir()
    for name, size in [(FILE_NAME, FILE_BYTES), (LARGE_NAME, LARGE_BYTES),
                       (f"{FILE_NAME}.br", FILE_BYTES)]:  # a lookup of a coded form succeeds
        (root / name).write_bytes(b"x" * size)
        os.utime(root / name, (AGED_S, AGED_S))  # 0 or a recent time means no validators
    return root


class CannotTrace(Exception):
    """The system forbids ptrace, as some containers do."""


def _store(costs: Costs, measure: Measure, counted: dict[str, float]) -> None:
    if measure is SYSCALLS:
        costs.by_call = {call: n for call, n in sorted(counted.items()) if n}
    if len(measure.figures) == 1:
        costs.figures[measure.figure] = round(sum(counted.values()), 4)
    else:
        costs.figures |= {name: counted.get(name, 0.0) for name in measure.figures}


def _per_request(once: Counter[str], twice: Counter[str], measure: Measure) -> dict[str, float]:
    """Return the difference of the two runs, divided by the number of additional requests."""
    requests = _requests(measure) * measure.depth * measure.clients
    return {key: difference / requests for key in twice | once
            if abs(difference := twice[key] - once[key]) > measure.tool.stray}


def _run(measure: Measure, start: Callable[..., AbstractContextManager[Server]], level: int,
         request: bytes | None, times: int, report: Path) -> Counter[str]:
    """Run the server under the tool, ask it `times` times, and return the totals of the report.
    CannotTrace if the system forbids ptrace, UserError if the server fails otherwise.
    """
    tool, kept = measure.tool, measure.kept and level >= KEEP_ALIVE_LEVEL
    try:
        with start(wrapper=tool.wrapper(report)) as server:
            sent = request or measure.request or (KEPT if kept else CLOSING)
            if measure.rejected:
                _reject(server, times)
            else:
                _ask(server, sent, times, measure, kept)
            ended = server.stop()
    except UserError as error:
        if "ptrace" in error.message:
            raise CannotTrace(f"this system forbids tracing: {error.message}") from None
        raise
    except ssl.SSLError as error:
        raise UserError(f"the server was asked by TLS and answered otherwise: {error.reason}",
                        "try it: openssl s_client -connect HOST:PORT") from None
    except OSError as error:
        raise UserError(f"the server cannot be counted: {error}",
                        "make the behaviour checks pass first") from None
    if ended.killed or ended.exit_code != 0:
        raise server.failure(f"did not end well under {tool.program}")
    return tool.read(report.read_text(errors="replace"))


def _ask(server: Server, request: bytes, times: int, measure: Measure, keep_alive: bool) -> None:
    """Send the request `depth` times at once, and read the answers before the next batch. Wait
    until the server sleeps after clients connect or disconnect, because the number of such events
    that it handles together would otherwise differ from run to run.
    """
    if not keep_alive:
        if not measure.kept:  # grow the table to two entries now, in case two overlap later
            with connect((server.host, server.port)), connect((server.host, server.port)):
                server.sleeps(TIMEOUT_S)
            server.sleeps(TIMEOUT_S)
        for _ in range(times):
            with connect((server.host, server.port), TIMEOUT_S) as client:
                _send(server, [client], request, measure.piece)
                _judge(server, b"".join(iter(lambda: client.recv(65_536), b"")))
            server.sleeps(TIMEOUT_S)
        return
    with ExitStack() as stack:
        silent = [_silent_client(server, stack) for _ in range(measure.silent)]
        clients = [stack.enter_context(connect((server.host, server.port), TIMEOUT_S))
                   for _ in range(measure.clients)]
        server.sleeps(TIMEOUT_S)
        for _ in range(times):
            with server.held() if measure.held else nullcontext():
                _send(server, clients, request * measure.depth, measure.piece)
            for client in clients:
                for answer in answers(client, measure.depth):
                    _judge(server, answer, kept=True)
        for client in (*clients, *silent):
            client.shutdown(socket.SHUT_WR)
            client.recv(1)  # wait for the server to close, as every run includes that


def _silent_client(server: Server, stack: ExitStack) -> socket.socket:
    """Return a client that the server has accepted before the next one connects. Otherwise the
    number accepted at once would differ from run to run.
    """
    client = stack.enter_context(connect((server.host, server.port), TIMEOUT_S))
    server.sleeps(TIMEOUT_S)
    return client


def _reject(server: Server, times: int) -> None:
    """Connect `times` clients in turn while another has the only slot; UserError without a 503."""
    address = server.host, server.port
    with connect(address, TIMEOUT_S) as first:
        first.sendall(KEPT)
        _judge(server, next(answers(first, 1)), kept=True)
        for _ in range(times):
            with connect(address, TIMEOUT_S) as client:
                answer = b"".join(iter(lambda: client.recv(65_536), b""))
                if not answer.startswith(b"HTTP/1.1 503 "):
                    line = answer.partition(b"\r\n")[0].decode(errors="replace") or "nothing"
                    raise UserError(f"{server.name} cannot be counted: one client too many got "
                                    f"{line}", "make the behaviour checks pass first")


def _send(server: Server, clients: Sequence[socket.socket], request: bytes, piece: int) -> None:
    """Send the request at once, or in pieces, each when the server has received the previous one
    from every client and waits for more. A connection that is closed early shows in its answer.
    """
    size = piece or len(request)
    with suppress(ConnectionError):
        for start in range(0, len(request), size):
            for client in clients:
                client.sendall(request[start:start + size])
            if piece:
                server.sleeps(TIMEOUT_S)


def _judge(server: Server, answer: bytes, kept: bool = False) -> None:
    if kept and not answer:
        raise UserError(f"{server.name} cannot be counted: it closed a connection that was to "
                        "stay open", "make the behaviour checks pass first")
    if answer[:13] not in (b"HTTP/1.1 200 ", b"HTTP/1.1 206 ", b"HTTP/1.1 304 ", b"HTTP/1.1 404 "):
        line = answer.partition(b"\r\n")[0].decode(errors="replace") or "nothing"
        raise UserError(f"{server.name} cannot be counted: it answered GET / with {line}",
                        "make the behaviour checks pass first")


def _read_strace(report: str) -> Counter[str]:
    """Return the calls by name, without accepts that fail and waits that return nothing: an idle
    server makes these to check whether it should stop.
    """
    calls = re.findall(r"^\d+ +(?:<\.\.\. (\w+) resumed>|(\w+)\().*\) += (-?\d+|0x\w+|\?)", report,
                       re.M)
    return Counter(resumed or name for resumed, name, result in calls
                   if not _was_idle(resumed or name, result))


def _was_idle(name: str, result: str) -> bool:
    waits = name in WAITS
    return result.startswith("-") and (waits or name.startswith("accept")) or (
        waits and result == "0")


def _read_strace_but_waits(report: str) -> Counter[str]:
    """Return the calls by name without waits, because one wait may serve several clients."""
    return Counter({name: calls for name, calls in _read_strace(report).items()
                    if name not in WAITS})


def _read_memcheck(report: str) -> Counter[str]:
    found = re.search(r"total heap usage: ([\d,]+) allocs, [\d,]+ frees, ([\d,]+) bytes", report)
    if found is None:
        raise UserError("valgrind's report has no heap usage:\n" + report[-500:],
                        "run the command again; if it stays so, build again")
    allocations, size = (int(number.replace(",", "")) for number in found.groups())
    return Counter(allocations=allocations, alloc_bytes=size)


def _read_callgrind(report: str) -> Counter[str]:
    return Counter(instructions=int(re.findall(r"^(?:totals|summary): (\d+)", report, re.M)[-1]))


def _read_bytes(report: str) -> Counter[str]:
    return Counter(bytes=_read_memcheck(report)["alloc_bytes"])


STRACE = Tool("strace", lambda report: ["strace", "-f", "-s", "0", "-o", str(report)],
              _read_strace, stray=1)  # memory is mapped differently in each run
STRACE_FILES = replace(STRACE, stray=4)  # the root is looked up again once per second
MEMCHECK = Tool("valgrind", lambda report: [
    "valgrind", "--tool=memcheck", "--leak-check=no", f"--log-file={report}"], _read_memcheck)
MEMCHECK_BYTES = replace(MEMCHECK, read=_read_bytes)
CALLGRIND = Tool("valgrind", lambda report: [
    "valgrind", "--tool=callgrind", "--log-file=/dev/null", f"--callgrind-out-file={report}"],
    _read_callgrind)

SYSCALLS = Measure("syscalls", STRACE, {"syscalls": "system calls"})
ALLOCATIONS = Measure("allocations", MEMCHECK, {"allocations": "heap allocations",
                                                "alloc_bytes": "bytes allocated"})
INSTRUCTIONS = Measure("instructions", CALLGRIND, {"instructions": "instructions"})
PIPELINED_SYSCALLS = Measure("pipelined-syscalls", STRACE,
                             {"syscalls_pipelined": "system calls"}, DEPTH)
PIPELINED_INSTRUCTIONS = Measure("pipelined-instructions", CALLGRIND,
                                 {"instructions_pipelined": "instructions"}, DEPTH)
MEMCHECK_CALLS = replace(
    MEMCHECK, read=lambda report: Counter(allocations=_read_memcheck(report)["allocations"]))
CLOSING_ALLOCATIONS = Measure("closing-allocations", MEMCHECK_CALLS,
                              {"allocations_closing": "heap allocations"}, kept=False)
ECHO_ALLOCATIONS = Measure("echo-allocations", MEMCHECK_CALLS,
                           {"allocations_echo": "heap allocations"}, request=SMALL_BODY,
                           piece=300, clients=8)  # all pause in the head, then send the bodies
BODY_BYTES = Measure("body", MEMCHECK_BYTES, {"body_bytes": "bytes allocated"},
                     request=BODY, piece=65_536)
BODY_INSTRUCTIONS = Measure("body-instructions", CALLGRIND, {"body_instructions": "instructions"},
                            request=BODY, piece=65_536)
COOKIE_INSTRUCTIONS = Measure("cookie", CALLGRIND, {"instructions_cookie": "instructions"},
                              request=COOKIE)
PIECES_INSTRUCTIONS = Measure("pieces", CALLGRIND, {"instructions_pieces": "instructions"},
                              request=LONG_HEAD, piece=1024)
SILENT = 500  # clients; iterating over them takes more instructions than a request
NEIGHBOURS_INSTRUCTIONS = Measure("neighbours", CALLGRIND,
                                  {"instructions_neighbours": "instructions"}, silent=SILENT,
                                  rounds=16)
FILE_SYSCALLS = Measure("file-syscalls", STRACE_FILES, {"syscalls_file": "system calls"},
                        request=FILE, rooted=True)
SETTLED_CALLS = replace(MEMCHECK_CALLS, stray=8)  # files are checked again once per second
FILE_ALLOCATIONS = Measure("file-allocations", SETTLED_CALLS,
                           {"allocations_file": "heap allocations"}, request=FILE, rooted=True)
LARGE_FILE_ALLOCATIONS = Measure("large-file-allocations", SETTLED_CALLS,
                                 {"allocations_large_file": "heap allocations"},
                                 request=LARGE_FILE, rooted=True)
LARGE_FILE_SYSCALLS = Measure("large-file-syscalls", STRACE_FILES,
                              {"syscalls_large_file": "system calls"}, request=LARGE_FILE,
                              rooted=True)
NOT_MODIFIED_SYSCALLS = Measure("not-modified-syscalls", STRACE_FILES,
                                {"syscalls_not_modified": "system calls"}, request=NOT_MODIFIED,
                                rooted=True)
MISSING_SYSCALLS = Measure("missing-syscalls", STRACE_FILES, {"syscalls_missing": "system calls"},
                           request=MISSING, rooted=True)
REFUSAL_SYSCALLS = Measure("refusal-syscalls", replace(STRACE, read=_read_strace_but_waits),
                           {"syscalls_refusal": "system calls"}, rejected=True)
FILE_INSTRUCTIONS = Measure("file-instructions", CALLGRIND, {"instructions_file": "instructions"},
                            request=FILE, rooted=True)  # by path walk: valgrind 3.19 lacks openat2
LOGGED_SYSCALLS = Measure("logged-syscalls", STRACE, {"syscalls_logged": "system calls"},
                          logged=True)
LOGGED_ALLOCATIONS = Measure("logged-allocations", MEMCHECK_CALLS,
                             {"allocations_logged": "heap allocations"}, logged=True)
LOGGED_ECHO_ALLOCATIONS = Measure("logged-echo-allocations", MEMCHECK_CALLS,
                                  {"allocations_logged_echo": "heap allocations"},
                                  request=SMALL_BODY, logged=True)
LOGGED_INSTRUCTIONS = Measure("logged-instructions", CALLGRIND,
                              {"instructions_logged": "instructions"}, logged=True)
TLS_SYSCALLS = Measure("tls-syscalls", STRACE, {"syscalls_tls": "system calls"}, secured=True)
TLS_ALLOCATIONS = Measure("tls-allocations", SETTLED_CALLS,  # buffers may be released each second
                          {"allocations_tls": "heap allocations"}, secured=True)
TLS_INSTRUCTIONS = Measure("tls-instructions", CALLGRIND, {"instructions_tls": "instructions"},
                           secured=True)
TLS_FILE_SYSCALLS = Measure("tls-large-file-syscalls", STRACE_FILES,
                            {"syscalls_tls_large_file": "system calls"}, request=LARGE_FILE,
                            rooted=True, secured=True)
BATCH = 64  # clients
BATCHED_SYSCALLS = Measure("batched-syscalls", STRACE, {"syscalls_batched": "system calls"},
                           clients=BATCH, held=True)
ALONE = (SYSCALLS, ALLOCATIONS, INSTRUCTIONS)  # of a single request, as in the ladder
MEASURES = (*ALONE, PIPELINED_SYSCALLS, PIPELINED_INSTRUCTIONS, CLOSING_ALLOCATIONS, BODY_BYTES,
            BODY_INSTRUCTIONS, COOKIE_INSTRUCTIONS, PIECES_INSTRUCTIONS)
LABELS = {name: what.capitalize() for measure in ALONE for name, what in measure.figures.items()}
