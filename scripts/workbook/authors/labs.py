"""The labs: their starters compared with their solutions, timed and counted."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

from workbook.authors.tools import Finding, Rows, compiled, output_of
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS, SOLUTIONS
from workbook.course import chapters, starters, trees
from workbook.machine import caches, needs, setup
from workbook.measure import labs
from workbook.servers import build

SECONDS = 20.0
LABELS = {"asking": "Busy polling", "select": "<code>select</code>", "poll": "<code>poll</code>",
          "epoll": "<code>epoll</code>"}
SILENT, FEW_ITERATIONS = (1, 100, 1000), 100  # with 1,000 silent, an iteration makes 1,000 calls
PACKAGED_TASK, TASKS = SCRIPTS / "lab" / "packaged_task.cpp", 1000
LIST_WALK, WALK_ROUNDS, ORDERS = SCRIPTS / "lab" / "list_walk.cpp", 5, ("in-order", "shuffled")
WALKED = (64, 256, 1000, 4000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000)
LISTS = {"pointers": "std::list of pointers", "intrusive": "intrusive list"}  # built in this order
LABS = (
    "lab-object-pool",
    "lab-false-sharing",
    "lab-intrusive-list",
    "lab-branches",
    "lab-memory-order",
    "lab-lock-free-queues",
    "lab-scatter-gather",
    "lab-readiness",
    "lab-small-recipes",
    "lab-thread-pool",
    "lab-simd",
)
COOKIES = (16, 64, 256, 1024, 4096, 16_384)  # bytes
BY_STEP = {"1": "1 byte", "8": "8 bytes", "16": "16 bytes", "32": "32 bytes",
           "two_passes": "two passes"}
BUILT = ("Built, whatever the flags say, with the C++ library that the package of Google Benchmark "
         "needs, which on Debian is libstdc++.")


def timed(name: str) -> Finding:
    """Time every benchmark of starter and solution in turn."""
    chapter = chapters.find(name)
    found = labs.next_to(labs.starter(chapter), [
        build.build_program(SOLUTIONS / name, "release", chapter.program)], SECONDS)
    return Finding(
        "Nanoseconds an iteration, of the processor or, with <code>real_time</code>, of the clock; "
        f"starter and solution in turn for {SECONDS:g} s, with the 95 % interval of the ratio. "
        + BUILT, _columns("starter"), _rows(found, "starter"))


def against_boost(name: str) -> Finding:
    """Time a lab's solution against Boost, whose benchmarks are in the same program."""
    chapter = chapters.find(name)
    setup.ensure(["boost"])
    found = labs.within(build.build_program(SOLUTIONS / name, "release", chapter.program),
                        "boost_", SECONDS)
    return Finding(
        "Nanoseconds an iteration, of the processor: Boost and the solution in turn, in the same "
        f"runs of one program, for {SECONDS:g} s, with the 95 % interval of the ratio. " + BUILT,
        _columns("boost"), _rows(found, "boost"))


def _columns(base: str, other: str = "solution") -> dict[str, str]:
    return {f"{base}_ns": f"{_named(base)}, ns", f"{other}_ns": f"{_named(other)}, ns",
            "ratio": "Times as fast", "low": "From", "high": "To"}


def _named(side: str) -> str:
    return side if "poll" in side else side.capitalize()  # names of system calls keep their case


def _rows(found: Mapping[str, labs.Row], base: str, other: str = "solution") -> Rows:
    rows: Rows = {}
    for benchmark, row in found.items():
        after = row.others[0]
        rows[benchmark] = {"label": f"<code>{_escaped(benchmark)}</code>",
                           f"{base}_ns": round(row.base_ns, 2), f"{other}_ns": round(after.ns, 2),
                           "ratio": round(after.ratio, 2), "low": round(after.low, 2),
                           "high": round(after.high, 2)}
    return rows


def counted(name: str) -> Finding:
    """Count an iteration of each benchmark that `check` counts: by all measures if there is only
    one benchmark, otherwise by those that have budgets.
    """
    chapter = chapters.find(name)
    sides = {"starter": labs.starter(chapter, "measure"),
             "solution": build.build_program(SOLUTIONS / name, "measure", chapter.program)}
    alone = len(chapter.counted) == 1
    rows: Rows = {}
    for benchmark, limits in chapter.counted.items():
        measures = [each for each in labs.MEASURES if alone or each.name in limits]
        found = {side: labs.count(bench, benchmark, measures) for side, bench in sides.items()}
        for measure in measures:
            if reason := found["starter"].skipped.get(measure.name):
                raise UserError(f"{measure.unit} cannot be counted: {reason}",
                                "record where they can be")
            label = (measure.unit.capitalize() if alone else
                     f"<code>{_escaped(benchmark)}</code>, {measure.unit}")
            key = measure.figure if alone else f"{benchmark}_{measure.figure}"
            rows[key] = {"label": label, **{side: found[side][measure] for side in sides}}
    of = f" of <code>{_escaped(next(iter(chapter.counted)))}</code>" if alone else ""
    return Finding(f"Counted: an iteration{of}. {BUILT}",
                   {"starter": "Starter", "solution": "Solution"}, rows)


def readiness_forms() -> Finding:
    """What does an event cost in each form of the lab on readiness, by the number of silent
    clients?
    """
    chapter = chapters.find("lab-readiness")
    first = labs.starter(chapter, "measure")
    last = build.build_program(SOLUTIONS / chapter.name, "measure", chapter.program)
    measures = (labs.SYSCALLS, labs.WOULD_BLOCK, labs.INSTRUCTIONS)
    rows: Rows = {}
    for form, bench, name in (("asking", first, "Poll"), ("select", last, "Select"),
                              ("poll", last, "Poll"), ("epoll", last, "Poller")):
        for silent in SILENT:
            found = labs.count(bench, f"one_speaks<web::{name}>/{silent}", measures, FEW_ITERATIONS)
            rows[f"{form}_{silent}"] = {
                "label": f"{LABELS[form]}, {silent:,} silent",
                **{measure.figure: found[measure] for measure in measures}}
    return Finding("Counted: an iteration of <code>one_speaks</code>, which is one event. " + BUILT,
                   {measure.figure: measure.unit.capitalize() for measure in measures}, rows)


def readiness_epoll() -> Finding:
    """How fast is epoll compared with poll? Both are in the solution of the lab on readiness."""
    bench = build.build_program(SOLUTIONS / "lab-readiness", "release", "bench")
    found: dict[str, labs.Row] = {}
    for name in (*(f"one_speaks<web::{{}}>/{silent}" for silent in SILENT),
                 "all_speak<web::{}>/100"):
        found[name.replace("<web::{}>", "")] = labs.one_against_another(
            bench, name.format("Poll"), name.format("Poller"), SECONDS / 4)
    return Finding("Nanoseconds of the processor an iteration; both in turn, with the 95 % "
                   "interval of the ratio. " + BUILT,
                   _columns("poll", "epoll"), _rows(found, "poll", "epoll"))


def head_sizes() -> Finding:
    """What does finding the end of a head cost, by its size and how many bytes a step tests?"""
    bench = build.build_program(SOLUTIONS / "lab-simd", "measure", "bench")
    heads = {"browser": "a browser’s head"} | {
        str(size): f"a cookie of {size:,} bytes" for size in COOKIES}
    rows: Rows = {}
    for key, label in heads.items():
        head = key if key == "browser" else f"cookie_{key}"
        rows[key] = {"label": label.capitalize()} | {
            f"step_{step}": round(labs.count(bench, f"{head}/{step}", [labs.INSTRUCTIONS])[
                labs.INSTRUCTIONS] or 0) for step in BY_STEP}
    return Finding(
        "Instructions to find the end of a head and refuse control bytes, in the build that is "
        "counted, where the compiler may use AVX2 everywhere. Two passes is <code>memchr</code>, "
        f"then eight bytes a step in the source, as in chapter 6. Counted, not timed. {BUILT}",
        {f"step_{step}": name for step, name in BY_STEP.items()}, rows)


def packaged_tasks() -> Finding:
    """How often do the two C++ libraries call futex(2) for a std::packaged_task?"""
    setup.ensure(["compiler", "strace"])
    rows: Rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        for library in ("libstdc++", "libc++"):
            program = Path(scratch, library)
            _compile(PACKAGED_TASK, program, f"-stdlib={library}")
            few, many = (_futexes(program, count) for count in (TASKS, 2 * TASKS))
            rows[library] = {"label": library, "futexes": (many - few) / TASKS}
    return Finding(f"Counted by strace: the difference of {TASKS:,} tasks and twice as many, in "
                   "one thread.", {"futexes": "Calls of futex a task"}, rows)


def list_walk() -> Finding:
    """What does visiting an element cost in both lists of the lab, by their length and order?"""
    setup.ensure(["compiler"])
    times: dict[tuple[int, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        programs = _walks(Path(scratch))
        for _ in range(WALK_ROUNDS):
            for number in WALKED:
                for list_, program in programs.items():
                    for order in ORDERS:
                        size, ns = output_of([str(program), str(number), order]).split()
                        times.setdefault((number, f"{list_}_{order}"), []).append(float(ns))
    rows: Rows = {}
    for number in WALKED:
        rows[str(number)] = {"label": f"{number:,} elements"}
        for way in (f"{list_}_{order}" for list_ in programs for order in ORDERS):
            found = times[number, way]
            rows[str(number)] |= {f"{way}_ns": round(median(found), 2),
                                  f"{way}_ns_least": min(found), f"{way}_ns_most": max(found)}
    return Finding(
        f"Nanoseconds of processor time for a visit, median of {WALK_ROUNDS} rounds in turn. An "
        f"element of the intrusive list has {size} bytes, and a mark is where that many fill a "
        "cache.",
        {f"{list_}_{order}_ns": f"{name}, {order.replace('-', ' ')}: ns"
         for list_, name in LISTS.items() for order in ORDERS}, rows,
        {f"{level} full": round(held / int(size)) for level, held in caches.sizes().items()})


def _walks(scratch: Path) -> dict[str, Path]:
    """Build the program that walks, with each list. The intrusive list comes last, because
    `list_walk` reports the element size of the last program.
    """
    chapter = chapters.find("lab-intrusive-list")
    trees.write(starters.starter(chapter), scratch / "starter")
    return {key: compiled(LIST_WALK, scratch / key, f"-I{folder}") for key, folder in zip(
        LISTS, (scratch / "starter", chapter.solution_dir), strict=True)}


def _compile(source: Path, program: Path, *options: str) -> None:
    command = [str(needs.compiler()), "-std=c++23", "-O2", *options, str(source), "-o",
               str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{source.name} cannot be built with {' '.join(options)}: {done.stderr}",
                        "this needs clang++ and both libraries, libstdc++ and libc++")


def _futexes(program: Path, tasks: int) -> int:
    done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=futex", str(program), str(tasks)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{program.name} cannot be traced: {done.stderr[:200]}",
                        "record where a process may be traced")
    return done.stderr.count("futex(")


def _escaped(name: str) -> str:
    return name.replace("<", "&lt;").replace(">", "&gt;")


EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    name + ending: partial(of, name) for name in LABS
    for ending, of in (("", timed), ("-counts", counted))}
EXPERIMENTS |= {"lab-readiness-forms": readiness_forms, "lab-readiness-epoll": readiness_epoll,
                "lab-lock-free-queues-boost": partial(against_boost, "lab-lock-free-queues"),
                "lab-simd-sizes": head_sizes, "packaged-tasks": packaged_tasks}
PENDING: dict[str, Callable[[], Finding]] = {"lab-intrusive-list-walk": list_walk}
