"""Judges a chapter: behaviour, counted costs, and what the clock says.

Behaviour and costs decide; the clock only reports.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from workbook import build, chapters, compare, costs, progress, speed
from workbook.behaviour import suite
from workbook.behaviour.rows import CHECKS, CONTINUE, REQUESTS, Case
from workbook.book import SITE
from workbook.chapters import Chapter
from workbook.errors import UserError
from workbook.paths import COMMAND, shown
from workbook.servers import running

ALLOCATOR = "build.allocator"
ALLOCATOR_LEVEL = 8
SPEED = "speed"
SPEED_SECONDS = 4.0
SHOWN_FAILURES = 3
UNITS = {"syscalls": "system calls", "allocations": "heap allocations",
         "instructions": "instructions", "pipelined-syscalls": "system calls",
         "pipelined-instructions": "instructions"}
PIPELINED = f", {costs.DEPTH} at once"

Status = Literal["pass", "fail", "skip", "info"]
MARKS: dict[Status, Text] = {
    "pass": Text("✓", style="green"), "fail": Text("✗", style="bold red"),
    "skip": Text("–", style="yellow"), "info": Text("·", style="cyan"),
}


@dataclass
class Check:
    """One line of the verdict. Only `fail` counts against the reader."""

    name: str
    status: Status
    summary: str
    note: str = ""  # more about it, in lines
    figures: dict[str, Any] = field(default_factory=dict)
    failures: list[suite.Failure] = field(default_factory=list)


@dataclass(frozen=True)
class Servers:
    """What is judged: one source, built in the ways that the checks need."""

    release: Path
    measure: Path | None = None  # for counting
    base: Path | None = None  # what the clock compares with


def run(chapter: Chapter, *, solution: bool = False, case: str | None = None,
        as_json: bool = False, only: Iterable[str] = ()) -> int:
    """Build, judge, print; the exit code. `case` picks cases of the behaviour table by name or
    pattern; `only` picks checks, `cost` standing for all that begin with `cost.`.
    """
    started = time.monotonic()
    wanted = _wanted(only, case)
    if case is not None:
        suite.select(chapter.level, wanted, case)
    servers = _build(chapter, solution, wanted)
    checks = list(judge(chapter, servers, wanted, case or "*", quiet=as_json))
    passed = all(check.status != "fail" for check in checks)
    whole = case is None and not list(only)
    if not solution and not passed:
        progress.mark_failing(chapter)
    elif not solution and whole:
        progress.mark_passed(chapter, next(
            (check.figures.get("medal") for check in checks if check.name == SPEED), None))
    if as_json:
        print(json.dumps(_report(chapter, solution, passed, checks), indent=2))
    else:
        _show(chapter, solution, checks, whole, time.monotonic() - started)
    return 0 if passed else 1


def judge(chapter: Chapter, servers: Servers, wanted: Iterable[str], pattern: str = "*",
          quiet: bool = True) -> Iterator[Check]:
    """Run the wanted checks, yielding each verdict as it is known."""
    wanted = list(wanted)
    wrong: set[str] = set()
    if any(name in CHECKS for name in wanted):
        for check in _behaviour(chapter, servers.release, wanted, pattern, quiet):
            wrong |= {check.name} if check.status == "fail" else set()
            yield check
    measures = tuple(name for name in costs.measures_at(chapter.level)
                     if f"cost.{name}" in wanted)
    if REQUESTS in wrong:
        for name in measures:
            yield Check(f"cost.{name}", "skip", f"waits until {REQUESTS} passes")
    elif measures and servers.measure:
        yield from _costs(chapter, servers.measure, measures, quiet)
    if ALLOCATOR in wanted and chapter.level >= ALLOCATOR_LEVEL:
        yield _allocator(servers.release)
    if SPEED in wanted:
        yield (Check(SPEED, "skip", "a wrong answer is never fast: waits until behaviour passes")
               if wrong else _speed(chapter, servers, quiet))


def all_checks() -> list[str]:
    return [*CHECKS, *(f"cost.{name}" for name in (*costs.MEASURES, *costs.PIPELINED)), ALLOCATOR,
            SPEED]


def _wanted(only: Iterable[str], case: str | None) -> list[str]:
    """The checks that were asked for, and hold cases if those were; UserError if none is."""
    names = all_checks() if case is None else list(CHECKS)
    wanted = [name for name in names if any(name == o or name.startswith(o + ".") for o in only)]
    for name in only:
        if not any(found == name or found.startswith(name + ".") for found in names):
            kind = "check" if case is None else "check with cases"
            raise UserError(f"there is no {kind} “{name}”", "use one of: " + ", ".join(names))
    return wanted or names


def _build(chapter: Chapter, solution: bool, wanted: list[str]) -> Servers:
    source = chapter.directory(solution)
    before = chapters.previous(chapter)
    counted = any(name.startswith("cost.") for name in wanted)
    return Servers(
        release=build.build_server(source),
        measure=build.build_server(source, "measure") if counted else None,
        base=build.build_server(before.solution_dir) if before and SPEED in wanted else None)


def _behaviour(chapter: Chapter, binary: Path, wanted: list[str], pattern: str,
               quiet: bool) -> Iterator[Check]:
    cases = suite.select(chapter.level, wanted, pattern)
    with _case_progress(len(cases), quiet) as on_case:
        result = suite.run(binary, cases, chapter.level, on_case)
    for group in result.groups.values():
        summary = f"{group.passed} of {group.cases} cases"
        if group.stopped:
            summary += f"; {group.stopped.splitlines()[0]}"
        yield Check(group.check, "pass" if group.ok else "fail", summary, group.stopped,
                    {"cases": group.cases, "passed": group.passed}, group.failures)


@contextmanager
def _case_progress(total: int, quiet: bool) -> Iterator[Any]:
    """A bar that goes away, for those who watch."""
    with Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"),
                  console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task("behaviour", total=total)

        def on_case(case: Case) -> None:
            bar.update(task, advance=1, description=case.check)

        yield on_case


def _costs(chapter: Chapter, binary: Path, measures: tuple[str, ...],
           quiet: bool) -> Iterator[Check]:
    with _status("counting what a request costs", quiet):
        try:
            counted = costs.count(binary, level=chapter.level, measures=measures)
        except UserError as error:
            for name in measures:
                status: Status = "fail" if name in chapter.cost else "info"
                yield Check(f"cost.{name}", status, error.message.splitlines()[0], error.message)
            return
    for name in measures:
        yield _cost(chapter, name, counted)


def _cost(chapter: Chapter, name: str, counted: costs.Costs) -> Check:
    """One counted cost against the chapter's budget, if it has one."""
    check = f"cost.{name}"
    value, budget = counted.value(name), chapter.cost.get(name)
    if value is None:
        return Check(check, "skip", counted.skipped[name])
    figures: dict[str, Any] = {"value": value, "budget": budget}
    if name == "syscalls":
        figures["by_call"] = counted.by_call
    if name == "allocations":
        figures["bytes"] = counted.alloc_bytes
    at_once = PIPELINED if name in costs.PIPELINED else ""
    summary = f"{_number(value)} {UNITS[name]} a request{at_once}"
    if budget is None:
        return Check(check, "info", f"{summary} (no budget in this chapter)", figures=figures)
    status: Status = "pass" if value <= budget else "fail"
    return Check(check, status, f"{summary}, budget {_number(budget)}", figures=figures)


def _allocator(binary: Path) -> Check:
    """Whether the running server has another allocator than its C library's in its memory."""
    if sys.platform != "linux":
        return Check(ALLOCATOR, "skip", "only Linux shows what a process has in its memory")
    try:
        with running(binary) as server:
            maps = Path(f"/proc/{server.pid}/maps").read_text()
    except UserError as error:
        return Check(ALLOCATOR, "fail", error.message.splitlines()[0], error.message)
    found = re.search(r"/lib(jemalloc|mimalloc|tcmalloc)\S*", maps)
    if found:
        return Check(ALLOCATOR, "pass", f"memory comes from {found[1]}")
    return Check(ALLOCATOR, "fail", "memory comes from the C library: neither jemalloc nor "
                                    "mimalloc is in the running server")


def _speed(chapter: Chapter, servers: Servers, quiet: bool) -> Check:
    """The clock's word. It never fails anyone: a busy machine would."""
    if servers.base is None:
        return Check(SPEED, "skip", "nothing comes before this chapter to compare with")
    try:
        with _status("alternating with the chapter's starting point", quiet):
            compared = compare.measure(servers.base, servers.release, seconds=SPEED_SECONDS,
                                       goal=chapter.speed.get("bronze", 1.0),
                                       load_name=chapter.speed_load)
    except UserError as error:
        return Check(SPEED, "skip", f"{error.message}; {error.fix}")
    figures = {**compared.to_json(), "medal": speed.medal(chapter, compared),
               "recorded": speed.recorded(chapter)}
    return Check(SPEED, "info", speed.told(chapter, compared), figures=figures)


@contextmanager
def _status(text: str, quiet: bool) -> Iterator[None]:
    if quiet:
        yield
        return
    with Console(stderr=True).status(text):
        yield


def _number(value: float) -> str:
    return f"{round(value, 2):,g}" if value < 1000 else f"{value:,.0f}"


def _show(chapter: Chapter, solution: bool, checks: list[Check], whole: bool,
          seconds: float) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for check in checks:
        console.print(MARKS[check.status], f"{check.name:<21}", Text(check.summary))
    _show_failures(console, chapter, solution, checks)
    failed = [check for check in checks if check.status == "fail"]
    skipped = [check for check in checks if check.status == "skip" and check.name != SPEED]
    what = chapter.name + (" (solution)" if solution else "")
    if failed:
        gating = [check for check in checks if check.status in ("pass", "fail")]
        verdict = Text(f"{what}: NOT YET, {len(failed)} of {len(gating)} checks fail",
                       style="bold red")
    else:
        part = "" if whole else "what was asked for "
        but = f", {len(skipped)} skipped" if skipped else ""
        verdict = Text(f"{what}: {part}PASS{but}", style="bold green")
    console.print(verdict, Text(f"({seconds:.0f} s)", style="dim"))
    if whole and not failed and not solution:
        console.print(Text(_next(chapter)))


def _next(chapter: Chapter) -> str:
    """What a reader who has passed may turn to."""
    steps = [f"{COMMAND} solution {chapter.tag}"]
    if chapters.previous(chapter):
        steps[:0] = ["read “What it did” on the chapter's page", f"{COMMAND} diff {chapter.tag}"]
    after = [c for c in chapters.all_chapters(chapter.chapters) if c.name > chapter.name]
    if after:
        steps.append(f"{COMMAND} check {after[0].tag}")
    return "Next: " + "; ".join(steps)


def _show_failures(console: Console, chapter: Chapter, solution: bool,
                   checks: list[Check]) -> None:
    """The first few in full, the rest counted; then the pages that help."""
    failures = [failure for check in checks for failure in check.failures]
    for failure in failures[:SHOWN_FAILURES]:
        console.print()
        console.print(Text(f"✗ {failure.case.name}", style="bold"), Text(failure.case.reference))
        _show_rows(console, _explain(chapter, solution, failure))
    if rest := failures[SHOWN_FAILURES:]:
        console.print()
        counts = Counter(failure.case.check for failure in rest)
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        console.print(Text(f"also failing: {told}"))
        console.print(Text(f"one in full: {_again(chapter, solution, rest[0].case)}"))
    failed = [check for check in checks if check.status == "fail"]
    for note in dict.fromkeys(check.note for check in failed if "\n" in check.note):
        names = ", ".join(check.name for check in failed if check.note == note)
        console.print()
        console.print(Text(f"✗ {names}", style="bold"))
        console.print(Text(note))
    for check in failed:
        if check.figures and not check.failures and not check.note:
            console.print()
            console.print(Text(f"✗ {check.name}", style="bold"), Text(check.summary))
            _show_rows(console, _explain_figures(chapter, solution, check))
    console.print()
    if pages := dict.fromkeys(_read(chapter, check.name) for check in failed):
        _show_rows(console, {"read": "\n".join(pages)})
        console.print()


def _show_rows(console: Console, rows: dict[str, str]) -> None:
    """Labelled lines, left to the terminal to wrap so that commands can be copied."""
    for name, text in rows.items():
        first, *more = text.split("\n")
        console.print(Text(f"  {name:<9}", style="dim"), Text(first))
        for line in more:
            console.print(" " * 11, Text(line))


def _explain(chapter: Chapter, solution: bool, failure: suite.Failure) -> dict[str, str]:
    """A failed case in words: what was sent, expected and got, and how to see it again."""
    case, received = failure.case, failure.received
    if case.alone:
        return {"done": case.alone.done, "expected": case.alone.expected,
                "got": failure.problem, "again": _again(chapter, solution, case)}
    rows = {"sent": suite.sent_text(case)}
    data = received.data if received else b""
    nearest = suite.nearest(case, data)
    rows["expected"] = suite.around(nearest, data) + (", then the end" if nearest else
                                                      ", only the end")
    if any(CONTINUE + expected in case.expect for expected in case.expect):
        rows["expected"] += ", with or without 100 Continue before it"
    rows["got"] = suite.around(data, nearest)
    rows["so"] = failure.problem
    rows["again"] = _again(chapter, solution, case)
    if line := suite.one_liner(case):
        flag = " --solution" if solution else ""
        rows["by hand"] = f"{COMMAND} run {chapter.tag}{flag}, and in another terminal, with bash:\n{line}"
    return rows


def _explain_figures(chapter: Chapter, solution: bool, check: Check) -> dict[str, str]:
    """A budget that was passed: by what."""
    rows = {}
    if by_call := check.figures.get("by_call"):
        calls = sorted(by_call.items(), key=lambda item: -item[1])
        rows["by call"] = ", ".join(f"{name} {_number(count)}" for name, count in calls)
    if size := check.figures.get("bytes"):
        rows["bytes"] = f"{_number(size)} allocated a request"
    flag = " --solution" if solution else ""
    if check.name == "cost.syscalls":
        rows["see"] = f"{COMMAND} trace {chapter.tag}{flag}"
    return rows


def _again(chapter: Chapter, solution: bool, case: Case) -> str:
    flag = " --solution" if solution else ""
    return f"{COMMAND} check {chapter.tag}{flag} --case '{case.name}'"


def _read(chapter: Chapter, check: str) -> str:
    """The page that helps: in the built book, or else as a file."""
    page = SITE / chapter.page.replace(".md", ".html")
    if page.exists():
        return shown(page) + chapter.sections.get(check, "")
    return f"book/src/{chapter.page}; {COMMAND} book makes a page of it"


def _report(chapter: Chapter, solution: bool, passed: bool,
            checks: list[Check]) -> dict[str, Any]:
    return {"chapter": chapter.name, "solution": solution, "passed": passed, "checks": [
        {"name": check.name, "status": check.status, "summary": check.summary,
         "note": check.note, "read": _read(chapter, check.name), **check.figures,
         "failures": [{"case": failure.case.name, "reference": failure.case.reference,
                       **_explain(chapter, solution, failure)} for failure in check.failures]}
        for check in checks]}
