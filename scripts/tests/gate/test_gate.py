"""The gate of every chapter: its starter, its solution and its planted mistakes.

All is built in copies below build/programs, so that what a reader has edited is neither judged nor
touched. A chapter's copy turns from its starter into its parts, its solution and one mutant after
the other, which builds only what that changes. Every solution must pass all checks. Every mutant is
tried, most of them at the end of the run and only while there is time, and so are two thirds of the
trees between a starter and its solution (see lengths.py). Trees and other builds are asked a fixed
part of the checks, unless the run is long. A chapter is a group of its own (see scheduling.py).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import programs
import pytest
from fixed_subset import fewer_positions, one_in
from lengths import LONG, comes_first
from scheduling import judging, of_chapter

from workbook.checks import check, poller, registry, stages
from workbook.checks.behaviour import cases, suite
from workbook.checks.model import KQUEUE, MEASURE, RELEASE, Subject, Verdict
from workbook.course import mutants, parts, starters
from workbook.course.chapters import SERVER, Chapter, all_chapters
from workbook.course.trees import Tree as Sources
from workbook.course.trees import read

JUDGED = [check.name for check in registry.CHECKS if check.decides]
AT_HOME = [name for name in JUDGED if registry.named(name).after != "behaviour"]  # built once
OTHER_BUILDS = [name for name in JUDGED if name not in AT_HOME]  # each in a build of its own
SERVERS = [chapter for chapter in all_chapters() if chapter.kind == SERVER]
# A blocking server passes it if its slow clients happen to leave one thread free.
SOMETIMES_PASSED = "behaviour.slow-clients"
EARLY_STEP = 8  # one in this many mutants of a check is tried within three commits
GREEN_STEP = 8  # a tree is asked one in this many of the checks that it passes
THREADED = [chapter for chapter in SERVERS if any(
    b"std::thread" in text for text in read(chapter.solution_dir).values())]
# Every solution with threads is asked some cases under the thread sanitizer, by its own check. All
# cases are asked of the first and the last, or of all, if there is time.
RACED = THREADED if LONG else [THREADED[0], THREADED[-1]]
MUTANTS = [mutant for chapter in all_chapters() for mutant in mutants.of(chapter)
           if not mutant.check.startswith("fuzz")]


def divided(these: Sequence[mutants.Mutant]) -> tuple[list[mutants.Mutant], list[mutants.Mutant]]:
    """One in EARLY_STEP mutants of each check, beginning with its first, and the rest."""
    early, late = [], []
    seen: Counter[str] = Counter()
    for mutant in these:
        (late if seen[mutant.check] % EARLY_STEP else early).append(mutant)
        seen[mutant.check] += 1
    return early, late


EARLY, OTHERS = divided(MUTANTS)
FIRST = [mutant for number, mutant in enumerate(EARLY) if comes_first(number)]
LATE = [*(mutant for mutant in EARLY if mutant not in FIRST), *OTHERS]  # tried last


@dataclass(frozen=True)
class Tree:
    """A tree that a reader stands at, and what fails there: this and nothing else. A check stands
    behind the part that turns it green, 0 where the chapter has no parts.
    """

    chapter: Chapter
    name: str
    sources: Callable[[], Sources]
    fails: Sequence[str]


def trees(chapter: Chapter) -> Iterator[Tree]:
    """Every tree of a chapter before its solution, which fails nothing."""
    first = stages.expected(chapter, 0) or [f"0 {name}" for name in chapter.starter_fails]
    yield Tree(chapter, "starter", partial(starters.starter, chapter), first)
    for part in parts.kept(chapter):
        yield Tree(chapter, part.slug, partial(parts.tree, chapter, part.number),
                   stages.expected(chapter, part.number))


def some_of(tree: Tree) -> list[str]:
    """The checks that it must fail, and an eighth of those that held in the solution before it and
    need no further build; all of them in a long run. Successive trees of a chapter are asked
    different eighths.
    """
    green = [found.name for found in registry.of(tree.chapter, AT_HOME)
             if found.name not in red(tree) and (LONG or KQUEUE not in found.builds)]
    kept = set(green if LONG else one_in(GREEN_STEP, green, TREES.index(tree)))
    return [name for name in AT_HOME if name in red(tree) | kept]


def red(tree: Tree) -> set[str]:
    return {name.partition(" ")[2] for name in tree.fails}


def brief(tree: Tree) -> frozenset[str]:
    """The checks of which one failure is enough: not those of which a part asks for some cases."""
    some = {f"behaviour.{name}" for part in tree.chapter.parts for name in part.cases}
    return frozenset(red(tree) - some)


TREES = [tree for chapter in all_chapters() for tree in trees(chapter)]

each_chapter = pytest.mark.parametrize("chapter", [
    of_chapter(chapter) for chapter in all_chapters()])


def once(chapters: list[Chapter], preset: str) -> pytest.MarkDecorator:
    """For each of these solutions, and only once for those that are the same program so."""
    found = programs.once([chapter.name for chapter in chapters], preset)
    return pytest.mark.parametrize("chapter", [
        of_chapter(chapter, id=found[chapter.name]) for chapter in chapters
        if chapter.name in found])


def built(chapter: Chapter, tree: Sources, wanted: list[str], location: str = "") -> Subject:
    """A copy of a checkpoint with these sources, built as these checks need it: once for both
    behaviour and counting, and with the same flags on kqueue; faster where only behaviour is judged.
    The copies' place is called like the chapter if it is not given.
    """
    location = location or chapter.name
    checks = registry.of(chapter, wanted)
    needed = {preset for found in checks for preset in found.builds}
    substitutes = {RELEASE: MEASURE}
    by_bytes = all(found.name.startswith("behaviour.") and found.program.split()[0] == SERVER
                   for found in checks)
    poller_alone = all(found.name == "seam.poller" for found in checks)

    def make(preset: str) -> Path:
        return programs.aside(location, tree, preset,
                              poller.PROGRAM if poller_alone else chapter.program,
                              like=MEASURE if preset == KQUEUE else "",
                              lean=by_bytes or poller_alone)

    made = {preset: make(preset) for preset in {substitutes.get(one, one) for one in needed}}
    return Subject(chapter, programs.location(location),
                   {preset: made[substitutes.get(preset, preset)] for preset in needed}, make=make)


def failing(subject: Subject, wanted: list[str]) -> dict[str, Verdict]:
    return {verdict.name: verdict for verdict in check.judge(subject, wanted)
            if verdict.status == "fail"}


def is_late(tree: Tree) -> bool:
    """Every starter is tried in any run, and a third of the trees after parts."""
    return tree.name != "starter" and not comes_first(TREES.index(tree))


@pytest.mark.parametrize("tree", [
    of_chapter(tree.chapter, tree, id=f"{tree.chapter.name} {tree.name}", late=is_late(tree))
    for tree in TREES])
def test_tree_fails_exactly_the_open_checks(tree: Tree) -> None:
    """It does not wait for others to finish, because a failing check mostly sleeps in a timeout."""
    asked, location = some_of(tree), f"{tree.chapter.name}-late" if is_late(tree) else ""
    subject = replace(built(tree.chapter, tree.sources(), asked, location), brief=brief(tree))
    found = stages.stages(tree.chapter, check.judge(subject, asked))
    either = {name for name in tree.fails if name.partition(" ")[2] == SOMETIMES_PASSED}
    assert [name for name in stages.unmet(found) if name not in either] == sorted(
        set(tree.fails) - either)


@each_chapter
def test_solution_passes_its_checks(chapter: Chapter) -> None:
    asked = [*AT_HOME, *other_builds(chapter)]
    subject = built(chapter, read(chapter.solution_dir), asked)
    with judging():
        verdicts = list(check.judge(subject, asked))
    assert not [verdict for verdict in verdicts if verdict.status == "fail"]
    assert [verdict.name for verdict in verdicts] == [
        found.name for found in registry.of(chapter, asked)]


def other_builds(chapter: Chapter) -> list[str]:
    """Under sanitizers, on kqueue, by TLS: the last server is asked in each of these builds, others
    in one, which is a new one if there is one; all of them in all builds in a long run.
    """
    fitting = [found.name for found in registry.of(chapter, OTHER_BUILDS)]
    if LONG or chapter == SERVERS[-1] or not fitting:
        return fitting
    new = [name for name in fitting if registry.named(name).level == chapter.level]
    index = all_chapters().index(chapter)
    return new or [fitting[index % len(fitting)]]


@once(RACED, "tsan")
def test_the_solution_has_no_data_race(chapter: Chapter) -> None:
    behaves(chapter, "tsan")


def behaves(chapter: Chapter, preset: str) -> None:
    server = programs.solution(chapter.name, preset)
    with judging():
        result = suite.run(server, fewer_positions(cases.select(chapter.level)), chapter.level)
    assert result.ok, [failure.problem for failure in result.failures] or result


def planted(these: list[mutants.Mutant], late: bool = False) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("mutant", [
        of_chapter(mutant.chapter, mutant, late=late,
                   id=f"{mutant.chapter.tag}-{mutant.check}.{mutant.what}") for mutant in these])


@pytest.mark.share
@planted(FIRST)
def test_mutant_is_caught_by_its_check(mutant: mutants.Mutant) -> None:
    catches(mutant)


@planted(LATE, late=True)
def test_late_mutant_is_caught_by_its_check(mutant: mutants.Mutant) -> None:
    catches(mutant, f"{mutant.chapter.name}-late")


def catches(mutant: mutants.Mutant, location: str = "") -> None:
    assert mutant.check in JUDGED
    subject = built(mutant.chapter, mutants.sources(mutant), [mutant.check], location)
    if not caught_at_once(mutant, subject):
        found = {verdict.name: verdict for verdict in check.judge(subject, [mutant.check])}
        if mutant.case and f"{mutant.case} was skipped" in found[mutant.check].summary:
            pytest.skip(found[mutant.check].summary)
        assert found[mutant.check].status == "fail", f"{mutant.name} was not caught"
        suggest(mutant, found[mutant.check])


def caught_at_once(mutant: mutants.Mutant, subject: Subject) -> bool:
    """Whether the case that is known to catch it, which is one of its check's, does so."""
    mine = {case.name for case in cases.select(mutant.chapter.level, [mutant.check])}
    return mutant.case in mine and bool(
        failing(replace(subject, pattern=mutant.case), [mutant.check]))


def suggest(mutant: mutants.Mutant, verdict: Verdict) -> None:
    for failure in verdict.failures[:1]:
        warnings.warn(f"{mutant.name} is caught sooner with this line in {mutants.CAUGHT_BY}: "
                      f'"{mutant.patch.stem}" = "{failure.case.name}"', stacklevel=1)


def test_early_mutants_include_one_of_every_check() -> None:
    """Three commits whose runs have no time for the others have still tried each check."""
    assert {mutant.check for mutant in EARLY} == {mutant.check for mutant in MUTANTS}
    assert sorted(mutant.name for mutant in FIRST + LATE) == sorted(
        mutant.name for mutant in MUTANTS)
    assert LATE


@each_chapter
def test_every_mutant_applies_and_changes_the_solution(chapter: Chapter) -> None:
    solution = read(chapter.solution_dir)
    for mutant in mutants.of(chapter):
        assert mutants.sources(mutant) != solution, mutant.name


@each_chapter
def test_every_chapter_has_three_mutants(chapter: Chapter) -> None:
    assert sum(mutant.chapter == chapter for mutant in MUTANTS) >= 3


def test_every_check_has_a_mutant_or_failing_starter() -> None:
    """Or, if it is a matter of a budget, by a starter at least."""
    starters_fail = {name for chapter in all_chapters() for name in chapter.starter_fails
                     if registry.named(name).key in chapter.cost}
    assert {mutant.check for mutant in MUTANTS} | starters_fail >= set(JUDGED)


@each_chapter
def test_caught_by_names_only_existing_mutants(chapter: Chapter) -> None:
    names = {mutant.patch.stem for mutant in mutants.of(chapter)}
    assert set(mutants.remembered(chapter)) <= names
