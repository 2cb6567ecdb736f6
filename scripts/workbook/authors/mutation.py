"""How good are the checks? Automatic mutants of all solutions, and the verdict on each.

universalmutator (A. Groce et al., ICSE 2018) changes one line at a time by pattern rules. Only
lines that a chapter adds or changes are drawn, because the others belong to the previous chapter. A
mutant that does not compile, or compiles to the same program, is discarded. All others are judged
as `check` does: first by the behaviour cases, up to the first failure, starting with the cases that
have caught the most mutants. One that passes, without a recorded reason for that, is then judged by
the other checks. A failure counts only if it is seen twice and the solution does not fail there,
too, as it may on a busy machine.

The verdicts are kept in build/mutation, so that an interrupted run can continue. A mutant that was
not caught is judged again when the checks have changed, unless a reason for it is recorded.

HOTPATH_MUTATION_S limits the run to this many seconds. After that, the sample is what has been
judged so far, and a mutant that only the behaviour cases have judged counts as missed.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from workbook.authors.tools import LOOP, Finding, Rows
from workbook.checks import check, labs, registry
from workbook.checks.behaviour import cases, suite
from workbook.checks.behaviour.rows import Case
from workbook.checks.model import BASE, KQUEUE, RELEASE, Subject
from workbook.common import children, toml
from workbook.common.errors import UserError
from workbook.common.paths import BUILD, COMMAND, RESULTS, SCRIPTS, shown, write_atomically
from workbook.course import chapters, trees
from workbook.course.chapters import LAB, Chapter, base_dir, previous
from workbook.machine import setup
from workbook.machine.cores import available_cpus
from workbook.servers import build

WORKSPACE = BUILD / "mutation"
TOOL = SCRIPTS / "requirements-mutation.txt"
EXPLAINED = RESULTS / "mutation-survivors.toml"
RULES = ["universal.rules", "c_like.rules", "cpp.rules"]
SEED = 8
LINES = 200  # added or changed lines of a chapter per mutant
ATTEMPTS = 4  # to find a failure that is seen twice
AT_LEAST = 2  # mutants of a chapter, however short it is
STARTED = time.monotonic()
SECONDS = float(os.environ.get("HOTPATH_MUTATION_S", "inf"))
MAX_KIB = 4 << 20  # of address space, which ends a mutant that allocates for ever
REFUSED, SAME = "refused", "same"  # discarded
KILLED, SURVIVED = "killed", "survived"
BEHAVES = "behaves"  # passed behaviour; the other checks have not run
AT_LAST = ("behaviour.sanitizers", "behaviour.races")  # run last: they rebuild and repeat all
FAILS_HERE = ("build.lto",)  # for every mutant: they are built without
ON_KQUEUE = ("behaviour.kqueue", "seam.poller", "cost.kevents")  # all checks of the kqueue files


@dataclass(frozen=True)
class Target:
    """A checkpoint whose mutants are made and judged one after another; limited to these files and
    these checks, if they are given. Groups of behaviour come first among the checks.
    """

    checkpoint: str
    preset: str = RELEASE
    files: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


def targets() -> list[Target]:
    """Return all chapters and labs, by number of new lines, then the event loop on kqueue."""
    by_size = sorted(chapters.all_chapters(), reverse=True,
                     key=lambda chapter: sum(map(len, new_lines(chapter).values())))
    return [*(Target(chapter.name) for chapter in by_size),
            Target(LOOP, KQUEUE, ("poller_kqueue.cpp", "wake_event_bsd.cpp"), ON_KQUEUE)]


@dataclass(frozen=True)
class Mutant:
    """One line of a file and its replacement; lines are counted from 1."""

    file: str
    line: int
    old: str
    new: str

    @property
    def change(self) -> tuple[str, str]:
        """The old and the new text, each on one line and without indentation."""
        return " ".join(self.old.split()), " ".join(self.new.split())

    def applied(self, tree: trees.Tree) -> trees.Tree:
        lines = tree[self.file].decode().splitlines(keepends=True)
        assert lines[self.line - 1] == self.old
        lines[self.line - 1] = self.new
        return tree | {self.file: "".join(lines).encode()}


def mutation() -> Finding:
    """Of the mutants that are not equivalent, how many do the checks catch?"""
    memory = Memory(WORKSPACE / "verdicts.json")
    with ThreadPoolExecutor(available_cpus()) as pool:
        try:
            # By behaviour first, one of each target in turn, in case the time runs out.
            list(pool.map(lambda lane: _draw_in_turn(lane, memory),
                          [targets()[first::available_cpus()] for first in range(available_cpus())]))
            found = [one for lane in pool.map(lambda target: list(judged(target, memory)), targets())
                     for one in lane]
        except BaseException:
            children.stop()  # otherwise the pool would wait for its threads
            raise
    rows = rows_of(found, explained())
    return Finding(
        f"Mutants by universalmutator {version()}, seed {SEED}, of lines that a chapter adds or "
        f"changes: one for each {LINES} of them, drawn at random, and at least {AT_LEAST} for a "
        "chapter or lab. “By others”: caught by another check, after behaviour had missed it. The "
        f"reasons why some are equivalent are in <code>{shown(EXPLAINED)}</code>.",
        {"refused": "Do not compile", "same": "Same program", "judged": "Judged",
         "behaviour": "Caught by behaviour", "others": "By others", "equivalent": "Equivalent",
         "missed": "Missed", "percent": "Caught, % of those not equivalent"}, rows)


# Making mutants.

def version() -> str:
    return TOOL.read_text(encoding="utf-8").partition("==")[2].split()[0]


def mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants that the tool makes of a source."""
    mutate = _tool()
    lines = text.splitlines(keepends=True)
    with redirect_stdout(io.StringIO()):  # it prints its rules
        made = mutate(lines, RULES, ignorePatterns=[])
    return [Mutant(file, number, lines[number - 1], new) for number, new, *_ in made]


def new_lines(chapter: Chapter) -> dict[str, list[int]]:
    """Return by file the numbers, from 1, of the lines that are not in the previous solution; of a
    lab and of the first chapter, all lines. A file that moved is compared with its version in the
    old folder.
    """
    old = trees.read(base_dir(chapter)) if previous(chapter) else {}
    by_name = {Path(name).name: content for name, content in old.items()}
    found = {}
    for name, content in trees.read(chapter.solution_dir).items():
        if name.endswith((".cpp", ".h")):
            before = old.get(name, by_name.get(Path(name).name, b""))
            steps = SequenceMatcher(None, before.splitlines(), content.splitlines(), False)
            found[name] = [number + 1 for step, _, _, begin, end in steps.get_opcodes()
                           if step in ("insert", "replace") for number in range(begin, end)]
    return found


@cache
def _tool() -> Callable[..., Any]:
    try:
        from universalmutator import mutator
    except ImportError:
        setup.install_packages(TOOL, "universalmutator", "--no-deps")
        from universalmutator import mutator
    return mutator.mutants_regexp  # type: ignore[no-any-return]


# Judging mutants.

@dataclass(frozen=True)
class Verdict:
    """The outcome of a mutant, the case or check that caught it, and the digest of the judge."""

    outcome: str
    by: str = ""
    judge: str = ""


class Memory:
    """Verdicts by mutant, saved to a file as soon as they are known."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, Lock()
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self._found = {key: Verdict(*verdict) for key, verdict in kept.items()}

    def get(self, key: str) -> Verdict | None:
        return self._found.get(key)

    def keep(self, key: str, verdict: Verdict) -> None:
        with self._lock:
            self._found[key] = verdict
            kept = {key: (each.outcome, each.by, each.judge) for key, each in self._found.items()}
            write_atomically(self._file, json.dumps(kept, indent=0))


def judged(target: Target, memory: Memory,
           pattern: str = "*") -> Iterator[tuple[Target, Mutant, Verdict]]:
    """Yield the verdicts on a target's mutants, drawn at random until there are enough real changes
    for its number of new lines. Discarded mutants are included.
    """
    bench = Bench(target, memory, pattern)
    for mutant, verdict in list(_drawn(target, bench)):
        if verdict.outcome == BEHAVES and not bench.is_explained(mutant) and not is_over():
            verdict = bench.ask_others(mutant)
        yield target, mutant, verdict


def _drawn(target: Target, bench: Bench) -> Iterator[tuple[Mutant, Verdict]]:
    files = {name: numbers for name, numbers in new_lines(bench.chapter).items()
             if not target.files or name in target.files}
    drawn = [mutant for name, numbers in files.items()
             for mutant in mutants(name, bench.tree[name].decode())
             if mutant.line in set(numbers) and not mutant.old.lstrip().startswith("//")]
    random.Random(f"{SEED} {target.checkpoint} {target.preset}").shuffle(drawn)
    wanted = max(AT_LEAST, round(sum(map(len, files.values())) / LINES))
    for mutant in drawn:
        if not wanted or is_over() and not bench.knows(mutant):
            break
        verdict = bench.verdict(mutant)
        wanted -= verdict.outcome not in (REFUSED, SAME)
        yield mutant, verdict


def _draw_in_turn(lane: Sequence[Target], memory: Memory) -> None:
    drawing = deque(_drawn(target, Bench(target, memory)) for target in lane)
    while drawing:
        if next(drawing[0], None):
            drawing.rotate(-1)
        else:
            drawing.popleft()


def is_over() -> bool:
    """Whether the time limit has passed."""
    return time.monotonic() - STARTED > SECONDS


class Bench:
    """Builds and judges the mutants of a target."""

    def __init__(self, target: Target, memory: Memory, pattern: str = "*") -> None:
        self.target, self._memory = target, memory
        self.chapter = chapters.find(target.checkpoint)
        self.tree = trees.read(self.chapter.solution_dir)
        self._location = WORKSPACE / \
            f"{target.checkpoint}-{target.preset}" / "solutions" / "checkpoint"
        self._caught: Counter[str] = Counter()
        names = target.checks or tuple(
            one.name for one in registry.of(self.chapter) if one.decides
            and one.name not in (*ON_KQUEUE, *FAILS_HERE))
        self._cases = [] if self.chapter.kind == LAB else [
            case for case in cases.select(self.chapter.level, names, pattern)
            if not self._in_other_builds(case.check)]
        asked = {case.check for case in self._cases}
        self._others = [name for name in names if name not in asked] if pattern == "*" else []
        self._original: list[bytes] = []
        self._reasons = explained()

    def _in_other_builds(self, name: str) -> bool:
        """Whether a check's cases run against another program than the target's."""
        return registry.named(name).program not in ("server", f"server by {self.target.preset}")

    def name(self, mutant: Mutant) -> str:
        return f"{self.target.checkpoint}/{mutant.file}"

    def is_explained(self, mutant: Mutant) -> bool:
        return (self.name(mutant), *mutant.change) in self._reasons

    def verdict(self, mutant: Mutant) -> Verdict:
        """Return the verdict of the behaviour cases, or the final one if it is known."""
        known = self._memory.get(self._key(mutant))
        if known is None or self._is_stale(mutant, known) and not is_over():
            known = self._keep(mutant, self._judge(mutant))
        self._caught[known.by] += known.outcome == KILLED
        return known

    def knows(self, mutant: Mutant) -> bool:
        return self._memory.get(self._key(mutant)) is not None

    def ask_others(self, mutant: Mutant) -> Verdict:
        self._build(mutant.applied(self.tree))
        failed = self._first_check()
        return self._keep(mutant, Verdict(KILLED if failed else SURVIVED, failed, judge()))

    def _key(self, mutant: Mutant) -> str:
        mistaken = mutant.applied(self.tree)[mutant.file]
        return sha256(repr((self.name(mutant), self.target.preset, mistaken)).encode()).hexdigest()

    def _keep(self, mutant: Mutant, verdict: Verdict) -> Verdict:
        if children.stopped():
            raise UserError("it was stopped", "start it again: it goes on from here")
        self._memory.keep(self._key(mutant), verdict)
        print(f"{self.name(mutant)}:{mutant.line}: {verdict.outcome} {verdict.by}: "
              + " ==> ".join(mutant.change), file=sys.stderr, flush=True)
        return verdict

    def _is_stale(self, mutant: Mutant, verdict: Verdict) -> bool:
        if verdict.outcome == KILLED:
            return verdict.by not in self._others and not any(
                verdict.by in (case.name, case.check) for case in self._cases)
        return (verdict.outcome == SURVIVED and verdict.judge != judge()
                and not self.is_explained(mutant))

    def _judge(self, mutant: Mutant) -> Verdict:
        if not self._original:
            self._original = self._built(self.tree)
            shutil.copy(self._program, self._solution)
            if not self._cases:
                self._must_hold()
        try:
            programs = self._built(mutant.applied(self.tree))
        except UserError:
            return Verdict(REFUSED)
        if programs == self._original:
            return Verdict(SAME)
        if not self._cases:
            failed = self._first_check()
            return Verdict(KILLED if failed else SURVIVED, failed, judge())
        failed = _confirmed(self._first_case, self._is_sure)
        return Verdict(KILLED if failed else BEHAVES, failed, judge())

    def _built(self, tree: trees.Tree) -> list[bytes]:
        """Build a tree, and return the content of the server, or of a lab's programs."""
        made = self._build(tree)
        return [file.read_bytes() for file in (made, made.with_name(labs.PROGRAM)) if file.exists()]

    def _must_hold(self) -> None:
        """Raise UserError if the solution fails a check, because that check would catch every
        mutant. For behaviour cases, `_holds` verifies this when one fails.
        """
        key = f"{self.target.checkpoint} {self.target.preset}"
        known = self._memory.get(key)
        if known is None or known.judge != judge():
            if failed := self._first_check():
                raise UserError(f"{self.chapter.name} itself fails {failed}",
                                f"{COMMAND} check {self.chapter.tag} --solution")
            self._memory.keep(key, Verdict(BEHAVES, "", judge()))

    def _build(self, tree: trees.Tree, preset: str = "") -> Path:
        trees.write(tree, self._location)
        return self._make(preset or self.target.preset)

    def _make(self, preset: str) -> Path:
        # With LTO, a change in one file could also change the code of others.
        settings = {"HOTPATH_LTO": "OFF"} if preset == self.target.preset else {}
        return build.isolated(self._location, preset, settings=settings,
                              program=self.chapter.program)

    def _fails(self, name: str) -> bool:
        mine = [case for case in self._cases if name in (case.name, case.check)]
        return bool(self._first_case(mine) if mine else self._failing([name]))

    def _is_sure(self, name: str) -> bool:
        """Whether the mutant fails again and the solution does not. A case that the solution fails
        as well, as it's run here, is left out from now on, or it would hide those that follow.
        """
        if not self._fails(name):
            return False
        mine = [case for case in self._cases if name in (case.name, case.check)]
        if suite.first_failure(self._limited(self._solution), mine, self.chapter.level):
            self._cases = [case for case in self._cases if case not in mine]
            return False
        return True

    def _first_case(self, asked: Sequence[Case] = ()) -> str:
        ordered = sorted(asked or self._cases, key=lambda case: -self._caught[case.name])
        return suite.first_failure(self._limited(self._program), ordered,
                                   self.chapter.level) if ordered else ""

    @property
    def _program(self) -> Path:
        return self._location / "build" / self.target.preset / self.chapter.program

    @property
    def _solution(self) -> Path:
        return self._program.with_name("solution")

    def _limited(self, program: Path) -> Path:
        script = program.with_name(f"limited-{program.name}")
        # The limit can't be raised if a case has set a lower one.
        script.write_text(f'#!/bin/sh\nulimit -v {MAX_KIB} 2>/dev/null\nexec "{program}" "$@"\n')
        script.chmod(0o755)
        return script

    def _first_check(self) -> str:
        """Return the first other check that fails twice; empty if there is none."""
        for last in (False, True):
            asked = [name for name in self._others if (name in AT_LAST) == last]
            if found := next(filter(self._fails, self._failing(asked)), ""):
                return found
        return ""

    def _failing(self, names: Sequence[str]) -> list[str]:
        """Return which of these checks fail."""
        needed = {preset for name in names for preset in registry.named(name).builds} - {BASE}
        made = {preset: self._make(preset) for preset in needed}
        made.setdefault(RELEASE, self._program)
        subject = Subject(self.chapter, self._location, made, make=self._make)
        return [verdict.name for verdict in check.judge(subject, names)
                if verdict.status == "fail"] if names else []


def _confirmed(look: Callable[[], str], sure: Callable[[str], bool]) -> str:
    """Return a failure that `look` finds and `sure` confirms, in a few attempts, or ""."""
    return next((found for found in (look() for _ in range(ATTEMPTS)) if not found or sure(found)),
                "")


@cache
def judge() -> str:
    """Return a digest of all sources that take part in judging."""
    files = sorted(file for folder in ("workbook/checks", "workbook/servers", "workbook/measure",
                                       "log", "mirror", "poller", "tls", "unit")
                   for file in (SCRIPTS / folder).rglob("*") if file.suffix in (".py", ".cpp", ".h"))
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


# Reporting.

Explained = dict[tuple[str, str, str], str]


def explained(file: Path = EXPLAINED) -> Explained:
    """Return the recorded reasons why mutants are equivalent, by file and change."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return {(one["file"], one["old"], one["new"]): one["because"]
            for one in toml.loads(text).get("equivalent", ())}


def rows_of(found: Sequence[tuple[Target, Mutant, Verdict]], reasons: Explained) -> Rows:
    """Return a row for each checkpoint, and one for all together."""
    by_checkpoint: dict[str, list[tuple[Mutant, Verdict]]] = {}
    for target, mutant, verdict in found:
        by_checkpoint.setdefault(target.checkpoint, []).append((mutant, verdict))
    rows: Rows = {name: {"label": f"<code>{name}</code>", **_row(name, of, reasons)}
                  for name, of in sorted(by_checkpoint.items())}
    total: Counter[str] = Counter()
    for each in rows.values():
        total.update({key: value for key, value in each.items() if isinstance(value, int)})
    return rows | {"all": {"label": "All", **total, "percent": _percent(total)}}


def _row(name: str, found: Sequence[tuple[Mutant, Verdict]],
         reasons: Explained) -> dict[str, Any]:
    """Return the counts for a checkpoint, and its survivors with their place and change."""
    outcomes = Counter(verdict.outcome for _, verdict in found)
    survivors = [mutant for mutant, verdict in found if verdict.outcome in (SURVIVED, BEHAVES)]
    missed = [mutant for mutant in survivors
              if (f"{name}/{mutant.file}", *mutant.change) not in reasons]
    by_cases = sum("/" in verdict.by or verdict.by.startswith("behaviour.") for _, verdict in found)
    counts: dict[str, Any] = {
        "refused": outcomes[REFUSED], "same": outcomes[SAME],
        "judged": outcomes[KILLED] + len(survivors), "behaviour": by_cases,
        "others": outcomes[KILLED] - by_cases, "equivalent": len(survivors) - len(missed),
        "missed": len(missed)}
    return counts | {"percent": _percent(counts), "survivors": [
        {"file": mutant.file, "line": mutant.line, "old": mutant.change[0],
         "new": mutant.change[1],
         "because": reasons.get((f"{name}/{mutant.file}", *mutant.change), "")}
        for mutant in survivors]}


def _percent(counts: Any) -> float:
    differ = counts["judged"] - counts["equivalent"]
    return round(100 * (differ - counts["missed"]) / differ, 1) if differ else 100.0
