"""Groups verdicts by the parts of a chapter, to show which parts are finished."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workbook.checks import budgets, registry
from workbook.checks.behaviour import cases
from workbook.checks.model import Verdict
from workbook.common.errors import UserError
from workbook.course import parts
from workbook.course.chapters import Chapter, Part


@dataclass(frozen=True)
class Stage:
    """The verdicts on the checks of one part; without a part, on those that belong to none."""

    part: Part | None
    verdicts: Sequence[Verdict]

    @property
    def failed(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.status == "fail"]


def stages(chapter: Chapter, verdicts: Iterable[Verdict], until: int | None = None) -> list[Stage]:
    """Returns the checks that belong to no part, then the parts in order up to `until`. Parts
    without a verdict are left out.
    """
    found = {verdict.name: verdict for verdict in verdicts}
    of_parts = [Stage(part, [_at_end(chapter, part, found[name]) for name in part.judged
                             if name in found]) for part in chapter.parts[:until]]
    named = {verdict.name for stage in of_parts for verdict in stage.verdicts}
    always = Stage(None, [verdict for name, verdict in found.items() if name not in named])
    return [always, *(stage for stage in of_parts if stage.verdicts)]


def current(found: Iterable[Stage]) -> Part | None:
    """Returns the first part that is not finished; None if all are."""
    return next((stage.part for stage in found if stage.part and stage.failed), None)


def names(chapter: Chapter, until: int, chosen: Iterable[str] = registry.NAMES) -> list[str]:
    """Returns the names of the chosen checks that must hold from the end of a part on. Costs
    without a budget are left out; checks that depend on all behaviour belong to the last part.
    Raises UserError if none remains.
    """
    parts.find(chapter, until)
    here = {name for part in chapter.parts[:until] for name in part.judged}
    later = {name for part in chapter.parts[until:] for name in part.judged} - here
    chosen = list(chosen)
    decides = (check for check in map(registry.named, chosen)
               if check.decides and check.applies(chapter))
    found = [check.name for check in decides if check.name not in later
             and (not check.is_of("cost") or check.key in chapter.cost)
             and (check.after != "behaviour" or until == len(chapter.parts))]
    if not found:
        raise UserError(f"part {until} of {chapter.name} is not judged by {', '.join(chosen)}",
                        "leave out --part")
    return found


def rounds(part: Part, chosen: Sequence[str], failed: Iterable[str]) -> list[list[str]]:
    """Returns in which order to run these checks for a part: first those that the part is about and
    those that failed last, then, if these pass, the others. A check that depends on another one
    comes after it or together with it.
    """
    first = {name for name in (*part.judged, *failed) if name in registry.NAMES
             and registry.named(name).after != "behaviour"}
    before = {registry.named(name).after for name in first} - {""}
    first |= {name for name in chosen if any(map(registry.named(name).is_of, before))}
    halves = ([name for name in chosen if name in first],
              [name for name in chosen if name not in first])
    return [half for half in halves if half]


def unmet(found: Iterable[Stage]) -> list[str]:
    """Returns the failed checks after their parts' numbers, such as `2 cost.instructions`."""
    return sorted(f"{stage.part.number if stage.part else 0} {verdict.name}"
                  for stage in found for verdict in stage.failed)


def undecided(found: Iterable[Stage]) -> bool:
    """Returns whether nothing passed or failed: every check was skipped or only informs."""
    return not any(verdict.status in ("pass", "fail") for stage in found
                   for verdict in stage.verdicts)


def expected(chapter: Chapter, after: int) -> list[str]:
    """Returns what `unmet` should report for the tree after a part; 0 is the chapter's beginning. A
    check that depends on one that fails there is skipped, so it doesn't fail.
    """
    fails = [(part, name) for part in chapter.parts[after:]
             for name in part.judged if not _holds(chapter, name, after)]
    names = {name for _, name in fails}
    return sorted(f"{part.number} {name}" for part, name in fails if not _waits(name, names))


def _waits(name: str, fails: Iterable[str]) -> bool:
    first = registry.named(name).after
    return bool(first) and any(registry.named(other).is_of(first) for other in fails)


def _holds(chapter: Chapter, name: str, after: int) -> bool:
    """Returns whether a check that a later part turns green has not been broken yet."""
    broken_by = [part.number for part in chapter.parts if name in part.breaks]
    return bool(broken_by) and after < min(broken_by)


def _at_end(chapter: Chapter, part: Part, verdict: Verdict) -> Verdict:
    """Judge a verdict by the part's own budget or selection of cases, if the part has one."""
    key = registry.named(verdict.name).key
    if verdict.name.startswith("behaviour.") and key in part.cases:
        return _of_cases(chapter, verdict, part.cases[key])
    budget = part.cost.get(key) if verdict.name.startswith("cost.") else None
    return verdict if budget is None else budgets.against(verdict, budget)


def _of_cases(chapter: Chapter, verdict: Verdict, patterns: Sequence[str]) -> Verdict:
    """Returns the verdict on the cases that match one of the patterns. If only some cases of the
    group were run, the verdict is returned unchanged, because the others are unknown.
    """
    def matches(name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    every = cases.select(chapter.level, [verdict.name])
    complete = verdict.status == "pass" and verdict.figures.get("cases") == len(every)
    if not complete and (verdict.status != "fail" or verdict.note):
        return verdict
    failures = [failure for failure in verdict.failures if matches(failure.case.name)]
    count = sum(matches(case.name) for case in every)
    return replace(verdict, status="fail" if failures else "pass", failures=failures,
                   summary=f"{count - len(failures)} of the {count} cases of this part")
