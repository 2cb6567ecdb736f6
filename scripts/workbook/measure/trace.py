"""One request's system calls on a time line, as recorded by strace."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from workbook.common.errors import UserError
from workbook.machine import needs
from workbook.servers import process
from workbook.servers.client import exchange

REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
WARM_UP = 20
CORRECTED_US = 20_000  # maximum clock correction; the server has been idle for longer
LINE = re.compile(r"^(?P<pid>\d+) +(?P<at>\d+\.\d+) (?P<rest>.*)$")
DONE = re.compile(r"^(?P<call>\w+)\((?P<args>.*)\) += (?P<result>\S+)(?P<note>.*?)"
                  r" <(?P<took>\d+\.\d+)>$")
RESUMED = re.compile(r"^<\.\.\. (?P<call>\w+) resumed>(?P<tail>.*)$")


@dataclass(frozen=True)
class Call:
    """One system call, or `count` identical ones in a row; times in microseconds."""

    at_us: float
    took_us: float
    name: str
    arguments: str
    result: str
    thread: int
    count: int = 1


def trace(binary: Path, *args: str) -> list[Call]:
    """The system calls that the server makes for one GET /, from its accept to its close.

    Raises UserError where strace is missing or may not trace.
    """
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch, "strace")
        wrapper = ["strace", "-f", "-ttt", "-T", "-s", "24", "-o", str(log)]
        with process.running(binary, *args, wrapper=wrapper) as server:
            for _ in range(WARM_UP):  # a thread's first request also pays for its heap
                _ask(server.port)
            time.sleep(0.1)
            begin = time.time()
            _ask(server.port)
            end = time.time()
            time.sleep(0.1)
            server.stop()
        return _of_request(parse(log.read_text(errors="replace").splitlines()), begin, end)


def require_strace(verb: str) -> None:
    """Raise UserError, which suggests a container, if the system has no strace."""
    if shutil.which("strace") is None and not needs.NEEDS["strace"].is_here():
        raise UserError("there is no strace here, so system calls cannot be shown",
                        f"in a container: {needs.in_container(verb)}")


def parse(lines: Iterable[str]) -> list[Call]:
    """Parse strace's lines (-f -ttt -T); at_us counts from the epoch."""
    calls: list[Call] = []
    begun: dict[int, tuple[float, str]] = {}
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        pid, at, remainder = int(match["pid"]), float(match["at"]), match["rest"]
        if remainder.endswith("<unfinished ...>"):
            begun[pid] = (at, remainder.removesuffix("<unfinished ...>").rstrip())
            continue
        if (resumed := RESUMED.match(remainder)) and pid in begun:
            at, head = begun.pop(pid)
            remainder = head + resumed["tail"].lstrip()
        if done := DONE.match(remainder):
            result = done["result"] + (" " + done["note"].split()[0] if done["note"].split()
                                       and done["result"] == "-1" else "")
            calls.append(Call(at * 1e6, float(done["took"]) * 1e6, done["call"],
                              done["args"].strip(), result, pid))
    return calls


def _of_request(calls: list[Call], begin: float, end: float) -> list[Call]:
    """Return the calls that belong to the request, with times from its beginning.

    The wait for the connection began long before, so it is cut to start with the request. If the
    system's clock is corrected during that wait, it may seem to end before the request.
    """
    start, last = begin * 1e6, end * 1e6
    mine = [call for call in calls
            if call.at_us + call.took_us >= start - CORRECTED_US and call.at_us <= last]
    cut = [replace(call, at_us=max(call.at_us, start),
                   took_us=max(0.0, call.took_us - max(0.0, start - call.at_us))) for call in mine]
    cut = [call for call in sorted(cut, key=lambda call: call.at_us)
           if call.at_us + call.took_us <= last + 50_000]
    return [replace(call, at_us=call.at_us - start) for call in cut]


def collapse(calls: list[Call]) -> list[Call]:
    """Merge consecutive calls of the same name and result into one with a count."""
    runs: list[Call] = []
    for call in calls:
        last = runs[-1] if runs else None
        if last and (last.name, last.result, last.thread) == (call.name, call.result, call.thread):
            took = call.at_us + call.took_us - last.at_us
            runs[-1] = replace(last, count=last.count + 1, took_us=took)
        else:
            runs.append(call)
    return runs


def as_json(calls: list[Call]) -> list[dict[str, Any]]:
    return [asdict(call) for call in calls]


def result_of(run: Call) -> str:
    """Return the result as text: with the unit if the call transferred bytes, else as it is."""
    moves = ("recv", "read", "send", "write")
    if run.name.startswith(moves) and run.result.isdigit():
        unit = "byte" if run.result == "1" else "bytes"
        return f"{run.result} {unit}" + (" each" if run.count > 1 else "")
    return run.result


def _ask(port: int) -> None:
    """Send one GET / and read to the end; UserError if the server does not answer in 5 s."""
    received = exchange(("127.0.0.1", port), (REQUEST,), 5.0)
    if received.end != "closed":
        raise UserError(f"the server did not answer GET /: {received.end}",
                        "see what is wrong with: ./scripts/hotpath check")
