"""The cost of a lab's benchmark, counted, and its speed compared with another's, timed in turn.

A lab's `bench` is a Google Benchmark program, built once for each task.h.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from workbook.common import children, stats
from workbook.common.errors import UserError
from workbook.common.paths import BUILD, shown
from workbook.common.stats import Judgement, Round
from workbook.course import starters, trees
from workbook.course.chapters import Chapter
from workbook.machine import needs
from workbook.machine.cores import available_cpus
from workbook.measure import costs
from workbook.measure.costs import Costs, Measure, Tool
from workbook.servers import build

ITERATIONS = 1000
SLICE_S = 0.1
LONGER = 2  # an inconclusive comparison continues up to this multiple of its time
TIMEOUT_S = 120  # for a run that takes a fraction of that

# Instructions that lock a cache line, such as xchg, are valgrind's “global bus events”. A fence is
# not one, so the report lists each instruction by address, and we look up the fences.
LOCKING = Tool("valgrind", lambda report: [
    "valgrind", "--tool=callgrind", "--collect-bus=yes", "--dump-instr=yes", "--compress-pos=no",
    "--compress-strings=no", "--log-file=/dev/null", f"--callgrind-out-file={report}"],
    lambda report: _read_locks(report))
# Conditional and indirect branches that valgrind's simple predictor, typical of 2004, gets wrong.
# It is the same on every machine (Valgrind's manual, “Branch Simulation Specifics”).
BRANCHES = Tool("valgrind", lambda report: [
    "valgrind", "--tool=cachegrind", "--cache-sim=no", "--branch-sim=yes", "--log-file=/dev/null",
    f"--cachegrind-out-file={report}"],
    lambda report: _read_branches(report), stray=30)  # the start of a run varies by a few
FENCE = re.compile(r"^ *([0-9a-f]+):\t[^\t]*\tmfence", re.M)  # a line of objdump
SYSCALLS = Measure("bench-syscalls", costs.STRACE, {"syscalls": "system calls"})
ALLOCATIONS = Measure("bench-allocations", costs.CLOSING_ALLOCATIONS.tool,
                      {"allocations": "heap allocations"})
INSTRUCTIONS = Measure("bench-instructions", costs.CALLGRIND, {"instructions": "instructions"})
FUTEXES = Measure("bench-futexes", replace(costs.STRACE, wrapper=lambda report: [
    *costs.STRACE.wrapper(report), "--seccomp-bpf", "-e", "trace=futex"]),
    {"futexes": "calls of futex"})
LOCKS = Measure("bench-locks", LOCKING, {"locks": "locking instructions and fences"})
MISPREDICTIONS = Measure("bench-mispredictions", BRANCHES,
                         {"mispredictions": "simulated branch mispredictions"})
MEASURES = (INSTRUCTIONS, ALLOCATIONS, SYSCALLS, FUTEXES, LOCKS, MISPREDICTIONS)
WOULD_BLOCK = Measure("bench-would-block", replace(costs.STRACE, read=lambda report: Counter(
    would_block=report.count(" = -1 EAGAIN "))), {"would_block": "calls answered EWOULDBLOCK"})

Rates = Mapping[str, float]  # iterations a second, by benchmark


@dataclass(frozen=True)
class Compared:
    """The speed of a program relative to the first one, in one benchmark."""

    judgement: Judgement
    rounds: Sequence[Round]


def starter(chapter: Chapter, preset: str = "release") -> Path:
    """Build the bench of the starter as shipped, without the reader's changes; returns it."""
    directory = BUILD / "labs" / chapter.name
    trees.write(starters.starter(chapter), directory)
    return build.isolated(directory, preset, program=chapter.program)


def count(bench: Path, benchmark: str, measures: Sequence[Measure],
          iterations: int = ITERATIONS) -> Costs:
    """Count the cost of one iteration: the difference of a run and one twice as long.

    UserError if the program fails.
    """
    lacking = {measure.name: needs.lacking(measure.tool.program) for measure in measures}
    found = Costs(skipped={name: reason for name, reason in lacking.items() if reason})
    able = [measure for measure in measures if not lacking[measure.name]]
    with ThreadPoolExecutor(available_cpus()) as pool, tempfile.TemporaryDirectory() as scratch:
        runs = {(measure.name, times): pool.submit(
            _totals, bench, benchmark, measure.tool, times * iterations,
            Path(scratch, f"{measure.name}-{times}")) for measure in able for times in (2, 1)}
        for measure in able:
            try:
                twice, once = (runs[measure.name, times].result() for times in (2, 1))
            except costs.CannotTrace as error:
                found.skipped[measure.name] = str(error)
                continue
            differences = (twice[key] - once[key] for key in twice | once)
            total = sum(difference for difference in differences
                        if abs(difference) > measure.tool.stray)
            # A thousandth comes from the run, not from an iteration.
            found.figures[measure.figure] = round(total / iterations, 2)
    return found


def _totals(bench: Path, benchmark: str, tool: Tool, iterations: int, report: Path) -> Counter[str]:
    _run([*tool.wrapper(report), str(bench), f"--benchmark_filter={_only(benchmark)}"], bench,
         {"HOTPATH_ITERATIONS": str(iterations)})
    return tool.read(report.read_text(errors="replace"))


def _read_locks(report: str) -> Counter[str]:
    """Return the second column, which is missing if the program locks nothing, plus the fences."""
    totals = re.findall(r"^(?:totals|summary): (.+)", report, re.M)[-1].split()
    return Counter(locks=(int(totals[1]) if len(totals) > 1 else 0) + executed_fences(report))


def branch_events(report: str) -> Counter[str]:
    """Return the totals of a cachegrind report by event: Ir instructions, Bc and Bi conditional and
    indirect branches, Bcm and Bim those that were mispredicted.
    """
    names, totals = (re.findall(rf"^{line}: (.+)", report, re.M)[-1].split()
                     for line in ("events", "summary"))
    return Counter(dict(zip(names, map(int, totals), strict=True)))


def _read_branches(report: str) -> Counter[str]:
    events = branch_events(report)
    return Counter(mispredictions=events["Bcm"] + events["Bim"])


def executed_fences(report: str) -> int:
    """Return how often the program of a callgrind report executed an mfence; 0 without objdump."""
    command = re.search(r"^cmd: +(.+)", report, re.M)
    objects = set(re.findall(r"^ob=(.+)", report, re.M))
    program = next((path for path in objects if command and command[1].startswith(f"{path} ")), "")
    fences = _fences(program) if program else frozenset()
    executed, current = 0, ""
    for line in report.splitlines() if fences else ():
        if line.startswith("ob="):
            current = line.removeprefix("ob=")
        elif current == program and line.startswith("0x"):
            address, _, count, *_ = line.split()
            executed += int(count) if int(address, 16) in fences else 0
    return executed


def _fences(program: str) -> frozenset[int]:
    """Return the addresses of the program's mfence instructions; empty without objdump."""
    if not shutil.which("objdump"):
        return frozenset()
    done = subprocess.run(["objdump", "-d", program], capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    return frozenset(int(address, 16) for address in FENCE.findall(done.stdout))


def compare(before: Path, after: Path, benchmark: str, seconds: float, goal: float = 1.0
            ) -> Compared:
    """Compare one benchmark of two programs for `seconds`, or twice that if the verdict would be
    INCONCLUSIVE. The verdict is computed at these two times only.
    """
    started, rounds = time.monotonic(), list[Round]()
    measured = in_sequence(before, [after], _only(benchmark))
    for until in (seconds, LONGER * seconds):
        while len(rounds) < stats.MIN_ROUNDS or time.monotonic() - started < until:
            rounds += next(measured)[0].values()
        judgement = stats.judge(rounds, goal)
        if judgement.verdict != stats.INCONCLUSIVE:
            break
    return Compared(judgement, rounds)


@dataclass(frozen=True)
class Other:
    """A program in one benchmark: nanoseconds per iteration, and its speed relative to the first
    program, with the interval.
    """

    ns: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """The results of several programs in one benchmark."""

    base_ns: float
    others: Sequence[Other]


def next_to(base: Path, others: Sequence[Path], seconds: float) -> dict[str, Row]:
    """Time every benchmark of these programs in turn, for at least `seconds`."""
    started, measured = time.monotonic(), in_sequence(base, others)
    iterations = [next(measured) for _ in range(stats.MIN_ROUNDS)]
    while time.monotonic() - started < seconds:
        iterations.append(next(measured))
    return {name: Row(median(1e9 / rate for iteration in iterations for rate in (
        iteration[0][name].a, iteration[0][name].control)), [
            _other([iteration[index][name] for iteration in iterations]) for index in range(len(others))])
        for name in iterations[0][0]}


def within(bench: Path, rival: str, seconds: float) -> dict[str, Row]:
    """Compare the benchmarks of one program with those whose names have the prefix `rival`, which
    are the base, in consecutive runs for at least `seconds`.
    """
    started, runs = time.monotonic(), [_rates(bench, ".*")]
    while len(runs) <= stats.MIN_ROUNDS or time.monotonic() - started < seconds:
        runs.append(_rates(bench, ".*"))
    return {name: Row(median(1e9 / run[rival + name] for run in runs), [_other([
        Round(run[rival + name], run[name], after[rival + name])
        for run, after in pairwise(runs)])]) for name in runs[0] if rival + name in runs[0]}


def _other(rounds: Sequence[Round]) -> Other:
    found = stats.ratio(rounds)
    return Other(median(1e9 / each.b for each in rounds), found.ratio, found.low, found.high)


def one_against_another(bench: Path, benchmark: str, other: str, seconds: float) -> Row:
    """Compare two benchmarks of one program, the first as the base, for at least `seconds`."""
    started, rounds = time.monotonic(), list[Round]()
    pattern = f"{_only(benchmark)}|{_only(other)}"
    for iteration in in_sequence(bench, [bench], pattern):
        rounds.append(
    Round(
        iteration[0][benchmark].a,
        iteration[0][other].b,
        iteration[0][benchmark].control))
        if len(rounds) >= stats.MIN_ROUNDS and time.monotonic() - started >= seconds:
            break
    return Row(median(1e9 / rate for each in rounds for rate in (each.a, each.control)),
               [_other(rounds)])


def in_sequence(base: Path, others: Sequence[Path], benchmarks: str = ".*"
            ) -> Iterator[Sequence[Mapping[str, Round]]]:
    """Yield rounds without end: for each of the others, a `Round` per benchmark. The others run
    between two runs of the base, alternately in this order and in reverse.
    """
    while True:
        for order in (others, others[::-1]):
            first = _rates(base, benchmarks)
            between = {other: _rates(other, benchmarks) for other in order}
            last = _rates(base, benchmarks)
            yield [{name: Round(first[name], between[other][name], last[name]) for name in first}
                   for other in others]


def _rates(bench: Path, benchmarks: str) -> Rates:
    """Return the rates of a short run, by processor time, or by the clock for `/real_time`."""
    reported = json.loads(_run([str(bench), f"--benchmark_filter={benchmarks}",
                                f"--benchmark_min_time={SLICE_S}", "--benchmark_format=json"], bench))
    return {found["name"]: 1e9 / found["real_time" if "/real_time" in found["name"] else "cpu_time"]
            for found in reported["benchmarks"]}


def _only(benchmark: str) -> str:
    """Return a pattern for this benchmark alone, with any suffixes for time and threads."""
    return rf"^{re.escape(benchmark)}(/(iterations|threads):[0-9]+|/real_time)*$"


def _run(command: Sequence[str], bench: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command and return its output. UserError if it fails or takes longer than TIMEOUT_S,
    CannotTrace if the system forbids ptrace.
    """
    process = children.start(command, env={**os.environ, **(environment or {})}, text=True,
                             errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        output, complaint = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise UserError(f"{shown(bench)} did not end within {TIMEOUT_S} s",
                        "look for a thread that waits for ever") from None
    if process.returncode == 0:
        return output  # type: ignore[no-any-return]
    if "ptrace" in complaint:
        raise costs.CannotTrace(f"this system forbids tracing: {complaint.strip()}")
    raise UserError(f"{shown(bench)} ended with {process.returncode}:\n{complaint.strip()}",
                    "make the validation pass first")
