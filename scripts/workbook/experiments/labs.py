"""The labs: their starters and solutions beside each other, timed and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from workbook.common.errors import UserError
from workbook.common.paths import SOLUTIONS
from workbook.course import chapters
from workbook.experiments.tools import Finding, Rows
from workbook.machine import setup
from workbook.measure import labs
from workbook.servers import build

SECONDS = 20.0
LABS = (
    "lab-object-pool",
    "lab-false-sharing",
    "lab-intrusive-list",
    "lab-memory-order",
    "lab-lock-free-queues",
)
BUILT = ("Built, whatever the flags say, with the C++ library that the package of Google Benchmark "
         "needs, which on Debian is libstdc++.")


def timed(name: str) -> Finding:
    """Every benchmark, in turn."""
    chapter = chapters.find(name)
    found = labs.beside(labs.starter(chapter), [
        build.build_program(SOLUTIONS / name, "release", chapter.program)], SECONDS)
    return Finding(
        "Nanoseconds an iteration, of the processor or, with <code>real_time</code>, of the clock; "
        f"starter and solution in turn for {SECONDS:g} s, with the 95 % interval of the ratio. "
        + BUILT, _columns("starter"), _rows(found, "starter"))


def beside_boost(name: str) -> Finding:
    """A lab whose bench has Boost's way of each benchmark too, in the same runs."""
    chapter = chapters.find(name)
    setup.ensure(["boost"])
    found = labs.within(build.build_program(SOLUTIONS / name, "release", chapter.program),
                        "boost_", SECONDS)
    return Finding(
        "Nanoseconds an iteration, of the processor: Boost and the solution in turn, in the same "
        f"runs of one program, for {SECONDS:g} s, with the 95 % interval of the ratio. " + BUILT,
        _columns("boost"), _rows(found, "boost"))


def _columns(base: str) -> dict[str, str]:
    return {f"{base}_ns": f"{base.capitalize()}, ns", "solution_ns": "Solution, ns",
            "ratio": "Times as fast", "low": "From", "high": "To"}


def _rows(found: Mapping[str, labs.Row], base: str) -> Rows:
    rows: Rows = {}
    for benchmark, row in found.items():
        after = row.others[0]
        rows[benchmark] = {"label": f"<code>{_escaped(benchmark)}</code>",
                           f"{base}_ns": round(row.base_ns, 2), "solution_ns": round(after.ns, 2),
                           "ratio": round(after.ratio, 2), "low": round(after.low, 2),
                           "high": round(after.high, 2)}
    return rows


def counted(name: str) -> Finding:
    """What an iteration costs of the benchmark that `check` counts."""
    chapter = chapters.find(name)
    sides = {"starter": labs.starter(chapter, "measure"),
             "solution": build.build_program(SOLUTIONS / name, "measure", chapter.program)}
    found = {side: labs.count(bench, chapter.counted, labs.MEASURES)
             for side, bench in sides.items()}
    rows: Rows = {}
    for measure in labs.MEASURES:
        if reason := found["starter"].skipped.get(measure.name):
            raise UserError(f"{measure.unit} cannot be counted: {reason}",
                            "record where they can be")
        rows[measure.figure] = {"label": measure.unit.capitalize(),
                                **{side: found[side][measure] for side in sides}}
    return Finding(f"Counted: an iteration of <code>{_escaped(chapter.counted)}</code>. {BUILT}",
                   {"starter": "Starter", "solution": "Solution"}, rows)


def _escaped(name: str) -> str:
    return name.replace("<", "&lt;").replace(">", "&gt;")


EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    name + ending: partial(of, name) for name in LABS
    for ending, of in (("", timed), ("-counts", counted))} | {
        "lab-lock-free-queues-boost": partial(beside_boost, "lab-lock-free-queues")}
