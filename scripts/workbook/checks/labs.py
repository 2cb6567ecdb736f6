"""Judges labs: validates the results, then counts their cost, then times them."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from workbook.checks import budgets
from workbook.checks.model import MEASURE, RELEASE, Check, Status, Subject, Verdict
from workbook.common import children, stats
from workbook.common.errors import UserError
from workbook.common.paths import shown
from workbook.course.chapters import LAB, Chapter
from workbook.machine.needs import SANITIZERS
from workbook.measure import labs
from workbook.measure.costs import Costs, Measure

PROGRAM = "validate"
TIMEOUT_S = 30.0  # maximum time without output; a step takes a second or two
SECONDS = 4.0
OUTPUT_LINES = 25  # lines of a validation that failed
DUMP = re.compile(r"\d+-byte object <[0-9A-F .-]*>")  # how GoogleTest prints an unknown type

# GoogleTest filters: what every variant has to do, and what only the requested one does.
BASICS, GOAL = "-*Goal*", "*Goal*"
TESTS = {"memory": ("asan", BASICS), "races": ("tsan", BASICS), "goal": ("asan", GOAL)}


def _validation(what: str, words: str) -> Check:
    """Returns the check that runs the tests that TESTS has under this name."""
    return Check(f"validate.{what}", words, _validate, kinds=(LAB,), builds=(), tool=SANITIZERS,
                 listed=True)


def _counted(measure: Measure) -> Check:
    """Returns the check for a counted cost."""
    return Check(f"cost.{measure.name}", measure.unit, _count, kinds=(LAB,), unit=measure.unit,
                 per="iteration", builds=(MEASURE,), tool=measure.tool.program,
                 after="validate.memory", measure=measure)


def _ratio() -> Check:
    """Returns the check that compares speeds."""
    return Check("ratio", "speed relative to the starter", _compare, kinds=(LAB,),
                 builds=(RELEASE,), after="validate", because="a wrong result is never fast",
                 decides=False)


def _validate(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    """Run one after the other, because two of them share a build."""
    for check in wanted:
        yield _validated(subject, check)


def _validated(subject: Subject, check: Check) -> Verdict:
    preset, tests = TESTS[check.key]
    try:
        with subject.watch.doing(f"building {preset}"):
            assert subject.make
            program = subject.make(preset).with_name(PROGRAM)
    except UserError as error:
        return Verdict(check.name, "fail", error.message.splitlines()[0], error.message)
    with subject.watch.doing(check.words):
        status, summary, output = run(program, tests, subject.chapter.name)
    repeated = f"again: {shown(program)} --gtest_filter='{tests}'"
    note = "\n".join([summary, *_telling(output), repeated]) if status == "fail" else ""
    return Verdict(check.name, status, summary, note)


def _telling(output: Sequence[str]) -> list[str]:
    """Returns the output from the beginning of the failing test on, at most `OUTPUT_LINES` lines,
    without the bytes of objects that GoogleTest cannot print.
    """
    begins = max((at for at, line in enumerate(output) if line.startswith("[ RUN      ]")), default=0)
    lines = [DUMP.sub("an object", line) for line in output[begins:]]
    more = len(lines) - OUTPUT_LINES
    return lines if more <= 0 else [*lines[:OUTPUT_LINES], f"… and {more} lines more"]


def run(program: Path, tests: str, lab: str) -> tuple[Status, str, list[str]]:
    """Run the tests; returns the status, a one-line summary and the output. The program stops at
    the first failing test, and is killed if a test hangs.
    """
    process = children.start(
        [str(program), f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_color=no"],
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True)
    output: list[str] = []
    hangs = False
    try:
        for line in _lines(process):
            output.append(line)
    except queue.Empty:
        hangs = True
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # After the first failure the remaining tests are still started, and then skipped.
    failed = next((at for at, line in enumerate(output) if line.startswith("[  FAILED  ]")), None)
    output = output[:failed + 1] if failed is not None else output
    passed = [line for line in output if line.startswith("[       OK ]")]
    if hangs:
        return "fail", (f"{lab} hangs: the last step it reached is {_step(output)}, which was ended "
                        f"after {TIMEOUT_S:g} s"), output
    if process.returncode == 0 and passed:
        return "pass", f"{len(passed)} tests pass", output
    report = next((line for line in output if "Sanitizer: " in line or "runtime error: " in line), "")
    why = re.sub(r"^.*?(Sanitizer: |runtime error: )", "", report).partition(" (")[0]
    return "fail", f"{_step(output)} fails" + (f": {why}" if why else ""), output


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yields lines as they are printed; raises queue.Empty if there is none for TIMEOUT_S."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def pump() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line.rstrip())
        lines.put(None)

    threading.Thread(target=pump, daemon=True).start()
    while (line := lines.get(timeout=TIMEOUT_S)) is not None:
        yield line


def _step(output: Sequence[str]) -> str:
    """Returns the name of the last test that began."""
    begun = [line.split("]", 1)[1].strip() for line in output if line.startswith("[ RUN      ]")]
    return begun[-1] if begun else "none of its tests"


def _count(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    """Count every cost of a single benchmark; of several, only the costs with a budget."""
    chapter = subject.chapter
    alone = len(chapter.counted) == 1
    with subject.watch.doing("counting what an iteration costs"):
        try:
            found = {name: labs.count(subject.builds[MEASURE], name,
                                      [check.measure for check in wanted if check.measure
                                       and (alone or check.key in limits)])
                     for name, limits in chapter.counted.items()}
        except UserError as error:
            yield from (budgets.missing(check, chapter, error) for check in wanted)
            return
    for check in wanted:
        yield (_of_one if alone else _of_several)(check, chapter, found)


def _of_one(check: Check, chapter: Chapter, found: Mapping[str, Costs]) -> Verdict:
    assert check.measure
    (name, costs), = found.items()
    value = costs[check.measure]
    return (Verdict(check.name, "skip", costs.skipped[check.measure.name]) if value is None
            else budgets.verdict(check, chapter, value, f" of {name}"))


def _of_several(check: Check, chapter: Chapter, found: Mapping[str, Costs]) -> Verdict:
    """Each benchmark is compared with its own budget, whatever the others cost."""
    assert check.measure
    limits = {name: limits[check.key] for name, limits in chapter.counted.items()
              if check.key in limits}
    values = {name: value for name in limits
              if (value := found[name][check.measure]) is not None}
    if not limits:
        return Verdict(check.name, "info", f"no budget of {check.unit} in this chapter")
    if values.keys() != limits.keys():
        skipped = {reason for costs in found.values() for what, reason in costs.skipped.items()
                   if what == check.measure.name}
        return Verdict(check.name, "skip", "; ".join(sorted(skipped)))
    each = ", ".join(f"{name} {budgets.number(values[name])} of {budgets.number(limit)}"
                     for name, limit in limits.items())
    over = [name for name, limit in limits.items() if values[name] > limit]
    return Verdict(check.name, "fail" if over else "pass",
                   f"{check.unit} an iteration, of its budget: {each}",
                   figures={"value": sum(values.values()), "budget": chapter.cost[check.key]})


def _compare(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    """Compare the build with the lab's starter, alternating between the two."""
    chapter = subject.chapter
    try:
        with subject.watch.doing("alternating with the starter"):
            found = labs.compare(labs.starter(chapter), subject.builds[RELEASE], chapter.timed,
                                 SECONDS).judgement
    except UserError as error:
        yield from (Verdict(check.name, "skip", f"{error.message}; {error.fix}") for check in wanted)
        return
    reported = {stats.PASS: "faster", stats.NOT_YET: "no faster"}.get(
        found.verdict, f"{found.verdict}, this machine is too busy to say which is faster")
    span = found.interval
    for check in wanted:
        yield Verdict(check.name, "info", f"{span.ratio:.2f} × the starter in {chapter.timed} "
                      f"({span.low:.2f} to {span.high:.2f}): {reported}",
                      figures={"ratio": span.ratio, "low": span.low, "high": span.high})


CHECKS = (
    _validation("memory", "tests of all variants, under the address and undefined-behaviour "
                "sanitizers"),
    _validation("races", "the same tests under the thread sanitizer"),
    _validation("goal", "tests of the variant that is to be written"),
    *map(_counted, labs.MEASURES),
    _ratio(),
)
