"""Where a server's time goes under load: stacks, sampled by perf or counted by callgrind."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, COMMAND
from workbook.measure import load
from workbook.measure.load import Phase
from workbook.measure.trace import REQUEST
from workbook.servers import build
from workbook.servers.client import exchange
from workbook.servers.process import Server, running

SECONDS = 5.0
END_S = 60.0  # for the tool to write what it recorded
CLIENTS = 64
COUNTED = 300  # requests
HERTZ = 999
# perf needs frame pointers, and both tools need symbols, so LTO, which inlines more, is off.
SETTINGS = {"CMAKE_CXX_FLAGS_RELEASE": "-O2 -g -gdwarf-4 -fno-omit-frame-pointer -DNDEBUG",
            "HOTPATH_LTO": "OFF", "HOTPATH_PGO": "OFF"}

Stacks = Counter[tuple[str, ...]]  # the samples or instructions of each, outermost function first


@dataclass(frozen=True)
class Profile:
    stacks: Stacks
    unit: str  # of what was counted
    requests: int


def built(checkpoint: Path) -> Path:
    name = f"{checkpoint.parent.name}-{checkpoint.name}"
    return build.isolated(checkpoint, "release", BUILD / "profile" / name, SETTINGS)


def profile(binary: Path, seconds: float = SECONDS) -> Profile:
    """Profile the server under plain requests. UserError if neither perf nor valgrind works."""
    if _perf_works():
        return _with_perf(binary, seconds)
    if shutil.which("valgrind"):
        return counted(binary)
    raise UserError("neither perf nor valgrind can look into a process here",
                    f"{COMMAND} setup installs valgrind where there is one")


def _perf_works() -> bool:
    """Whether there is perf, and the kernel lets us sample by the clock (perf_event_paranoid)."""
    if not shutil.which("perf"):
        return False
    with tempfile.TemporaryDirectory() as scratch:
        probe = ["perf", "record", "-q", "-e", "cpu-clock", "-g", "-o", f"{scratch}/data", "true"]
        return subprocess.run(probe, capture_output=True).returncode == 0


def _with_perf(binary: Path, seconds: float) -> Profile:
    """Sample the server under load. UserError if it has errors, or perf cannot read its data."""
    with tempfile.TemporaryDirectory() as scratch:
        data = f"{scratch}/data"
        look = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HERTZ), "-g", "-o", data, "--"]
        with load.placed(partial(_after, look, binary)) as server:
            result = load.run_phase(server, Phase("plain", "plain", CLIENTS, seconds))
            server.stop(END_S)
        if result.reason:
            raise UserError(f"the server failed under load: {result.reason}",
                            f"see {COMMAND} stress")
        reported = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "ip,sym"],
                                  capture_output=True, text=True, errors="replace")
        if reported.returncode != 0:
            raise UserError(f"perf cannot read what it recorded:\n{reported.stderr.strip()}",
                            "run the same command again")
    return Profile(of_perf(reported.stdout.splitlines()), "samples of the processor's clock",
                   result.requests)


def counted(binary: Path) -> Profile:
    """Count one request after another; the result does not depend on the rate."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "callgrind")
        look = ["valgrind", "--tool=callgrind", "--log-file=/dev/null", "--separate-callers=16",
                "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={report}"]
        with _after(look, binary) as server:
            for _ in range(COUNTED):
                exchange((server.host, server.port), [REQUEST], END_S)
            server.stop(END_S)
        lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    return Profile(of_callgrind(lines), "instructions, which callgrind counted", COUNTED)


def _after(look: Sequence[str], binary: Path,
           wrapper: Sequence[str] = ()) -> AbstractContextManager[Server]:
    return running(binary, wrapper=[*wrapper, *look])


def of_perf(lines: Iterable[str]) -> Stacks:
    """Parse the samples of perf script: a block of lines each, the innermost function first."""
    found: Stacks = Counter()
    stack: list[str] = []
    for line in [*lines, ""]:
        if match := re.match(r"\s+([0-9a-f]+) (.+)$", line):
            stack.append(_named(match[1], match[2]))
        elif not line.strip() and stack:
            found[tuple(reversed(stack))] += 1
            stack = []
    return found


def _named(address: str, symbol: str) -> str:
    if symbol != "[unknown]":
        return symbol
    return "(kernel)" if len(address) == 16 and address.startswith("f") else "(unknown)"


def of_callgrind(lines: Iterable[str]) -> Stacks:
    """Parse callgrind's self costs by function and callers: fn=function'caller'caller's caller."""
    found: Stacks = Counter()
    stack: tuple[str, ...] = ()
    skip = False
    for line in lines:
        if line.startswith("fn="):
            stack = tuple(reversed([part for part in line[3:].split("'") if not part.isdigit()]))
        elif line.startswith("calls="):
            skip = True  # the next line is the cost of the called functions
        elif match := re.match(r"(?:\+|-|\*|0x)?\S* (\d+)$", line):
            if not skip and stack and line[0] in "+-*0123456789":
                found[stack] += int(match[1])
            skip = False
    return found
