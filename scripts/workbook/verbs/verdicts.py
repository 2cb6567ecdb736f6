"""Prints the verdicts of `check`: lines for a person, JSON for a program."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from workbook.checks import registry, stages
from workbook.checks.behaviour import suite, wording
from workbook.checks.behaviour.rows import CONTINUE, Case
from workbook.checks.model import Status, Verdict
from workbook.checks.stages import Stage
from workbook.common import stats
from workbook.common.paths import COMMAND, SITE, shown
from workbook.course import chapters
from workbook.course.chapters import Chapter, Part
from workbook.servers import heads

MAX_IN_FULL = 6  # failed cases shown in full, each of another check
MAX_NAMES = 40  # per check
LATER: Literal["later"] = "later"  # it fails, but belongs to a part that isn't reached yet
MARKS: dict[Status | Literal["later"], Text] = {
    "pass": Text("✓", style="green"), "fail": Text("✗", style="bold red"),
    "skip": Text("–", style="yellow"), "info": Text("·", style="cyan"),
    LATER: Text("○", style="cyan"),
}


class Printer:
    """Prints a check that belongs to no part at once, a part when all its verdicts are known, and
    checks that don't decide at the end. Groups of cases in `first` are printed at once, and again
    with their part. Parts have titles only if `whole`.
    """

    def __init__(self, console: Console, chapter: Chapter, until: int | None = None,
                 first: Collection[str] = (), whole: bool = True) -> None:
        self._console = console
        self._chapter = chapter
        self._until = until
        self._first = first
        self._whole = whole
        self._found: list[Verdict] = []
        self._reported: set[str] = set()
        parts = chapter.parts[:until] if whole else ()
        self._of_parts = {name for part in parts for name in part.judged}

    def add(self, verdict: Verdict) -> None:
        self._found.append(verdict)
        check = registry.named(verdict.name)
        if verdict.name not in self._of_parts and check.decides or (
                verdict.name in self._first and check.cases):
            self._report(verdict)

    def fails(self, verdict: Verdict) -> bool:
        """Whether the check fails here: a part's budget may differ from the chapter's."""
        judged = stages.stages(self._chapter, [verdict], self._until)
        return bool(stages.unmet(judged))

    def stages(self) -> list[Stage]:
        """Print the rest, and return all stages."""
        judged = stages.stages(self._chapter, self._found, self._until)
        here = stages.current(judged)
        for stage in judged[1:] if self._whole else ():
            _show_stage(self._console, self._chapter, stage, here)
        for verdict in judged[0].verdicts if self._whole else self._found:
            if verdict.name not in self._reported:
                self._report(verdict)
        return judged

    def _report(self, verdict: Verdict) -> None:
        self._reported.add(verdict.name)
        judged = [found for stage in stages.stages(self._chapter, [verdict], self._until)
                  for found in stage.verdicts]
        shown = next((found for found in judged if found.status == "fail"), judged[-1])
        _show_line(self._console, shown.status, shown)


def show_remainder(console: Console, chapter: Chapter, solution: bool, judged: list[Stage], whole: bool,
                   seconds: float, until: int | None = None) -> None:
    """Print what helps with the failures, up to the first unfinished part, and then the outcome."""
    here = stages.current(judged)
    stages_here = [stage for stage in judged
                   if not stage.part or not here or stage.part.number <= here.number]
    _show_failures(console, chapter, solution, stages_here)
    console.print(_outcome(chapter, solution, judged, whole, until),
                  Text(f"({seconds:.0f} s)", style="dim"))
    if whole and not stages.unmet(judged) and not stages.undecided(judged) and not solution:
        console.print(Text(_next(chapter) if until is None else _next_part(chapter, until)))


def show_left(console: Console, chapter: Chapter, solution: bool, until: int | None,
              count: int) -> None:
    """Print that a check stopped early, and how to continue."""
    others = "1 other check" if count == 1 else f"{count} other checks"
    console.print(Text(
        f"Stopped here, without the {others} that must hold at the end of part {until} too. "
        f"To run everything: {COMMAND} check {chapter.tag}{_flag(solution)} "
        f"--part {until} --all"))


def show_saved(console: Console, chapter: Chapter, solution: bool, until: int | None,
               files: Sequence[str]) -> None:
    """Print that files were saved during a check, which may have used either version of them."""
    names = ", ".join(files)
    part = f" --part {until}" if until is not None else ""
    console.print(Text(
        f"{names} changed during this check, so the verdicts may be of either version and aren't "
        f"remembered. Run it again: {COMMAND} check {chapter.tag}{_flag(solution)}{part}"))


def _show_stage(console: Console, chapter: Chapter, stage: Stage, here: Part | None) -> None:
    """Print a part's title and its verdicts; failures in a later part as not done yet."""
    assert stage.part
    later = here is not None and stage.part.number > here.number
    mark = MARKS[LATER if later else "fail" if stage.failed else "pass"]
    console.print(mark, Text(f"part {stage.part.number} of {len(chapter.parts)}: "
                             f"{stage.part.title}", style="bold" if not later else ""))
    for verdict in stage.verdicts:
        status = LATER if later and verdict.status == "fail" else verdict.status
        _show_line(console, status, verdict, "  ")


def _show_line(console: Console, status: Status | Literal["later"], verdict: Verdict, indent: str = "") -> None:
    console.print(Text(indent).append_text(MARKS[status]), f"{verdict.name:<21}",
                  Text(verdict.summary))


def _outcome(chapter: Chapter, solution: bool, judged: list[Stage], whole: bool,
             until: int | None) -> Text:
    """Returns a summary in one line. A check that several parts judge counts once."""
    verdicts = [verdict for stage in judged for verdict in stage.verdicts]
    failing = {verdict.name for verdict in verdicts if verdict.status == "fail"}
    passing = {verdict.name for verdict in verdicts if verdict.status == "pass"} - failing
    what = chapter.name + (" (solution)" if solution else "")
    here = stages.current(judged)
    if whole and here:
        before = len(judged[0].failed)
        must = f"{before} of the checks that must stay green fail; " if before else ""
        return Text(f"{what}: NOT YET, {must}you are in part {here.number} of "
                    f"{len(chapter.parts)}: {here.title}", style="bold red")
    if failing:
        return Text(f"{what}: NOT YET, {len(failing)} of {len(passing | failing)} checks fail",
                    style="bold red")
    if whole and not passing:
        return Text(f"{what}: NOT JUDGED, nothing could be", style="bold yellow")
    clock = next((verdict.figures["verdict"] for verdict in verdicts
                  if "verdict" in verdict.figures), "")
    if not whole and not passing and clock not in ("", stats.PASS):
        return Text(f"{what}: what was asked for {clock}", style="bold yellow")
    skipped = len({verdict.name for verdict in verdicts
                   if verdict.status == "skip" and registry.named(verdict.name).decides})
    part = "" if whole else "what was asked for "
    if until is not None:
        part += f"part {until} of {len(chapter.parts)} "
    but = f", {skipped} skipped" if skipped else ""
    return Text(f"{what}: {part}PASS{but}", style="bold green")


def _next_part(chapter: Chapter, until: int) -> str:
    if until == len(chapter.parts):
        return f"Next: {COMMAND} check {chapter.tag}"
    following = chapter.parts[until]
    return (f"Next: part {following.number}, {following.title}: {page(chapter, following.anchor)}"
            f"; then {COMMAND} check {chapter.tag} --part {following.number}")


def _next(chapter: Chapter) -> str:
    """Returns what a reader who has passed can do next."""
    steps = [f"{COMMAND} solution {chapter.tag}"]
    if chapters.previous(chapter):
        steps[:0] = ["read “What it did” on the chapter's page", f"{COMMAND} diff {chapter.tag}"]
    after = [c for c in chapters.all_chapters(chapter.chapters) if c.name > chapter.name]
    if after:
        steps.append(f"{COMMAND} check {after[0].tag}")
    return "Next: " + "; ".join(steps)


def _show_failures(console: Console, chapter: Chapter, solution: bool,
                   judged: list[Stage]) -> None:
    """Print the failing cases, some in full, then notes and figures, then the pages that help."""
    failed = [verdict for stage in judged for verdict in stage.failed]
    _show_cases(console, chapter, solution,
                [failure for verdict in failed for failure in verdict.failures])
    for note in dict.fromkeys(verdict.note for verdict in failed if "\n" in verdict.note):
        names = ", ".join(verdict.name for verdict in failed if verdict.note == note)
        _show_heading(console, names)
        console.print(Text(note))
    for verdict in failed:
        if verdict.figures and not verdict.failures and not verdict.note:
            _show_heading(console, verdict.name, verdict.summary)
            _show_rows(console, _explain_figures(chapter, solution, verdict))
    console.print()
    if pages := dict.fromkeys(page for stage in judged for verdict in stage.failed
                              for page in _read(chapter, stage, verdict)):
        _show_rows(console, {"read": "\n".join(pages)})
        console.print()


def _show_cases(console: Console, chapter: Chapter, solution: bool,
                failures: list[suite.Failure]) -> None:
    """Print one case of each check in full, up to `MAX_IN_FULL`, and the names of the others."""
    first = {failure.case.check: failure for failure in reversed(failures)}
    in_full = [failure for failure in failures if first[failure.case.check] is failure]
    in_full = in_full[:MAX_IN_FULL]
    for failure in in_full:
        _show_heading(console, failure.case.name, failure.case.reference)
        rows = _explain(chapter, solution, failure)
        if anchor := _section(chapter, failure.case):
            rows["read"] = page(chapter, anchor)
        _show_rows(console, rows)
    remainder = [failure for failure in failures if failure not in in_full]
    names: dict[str, list[str]] = {}
    for failure in remainder:
        names.setdefault(failure.case.check, []).append(failure.case.name)
    if remainder:
        console.print()
        console.print(Text("also failing:"))
    for check, cases in names.items():
        more = f" and {len(cases) - MAX_NAMES} more" if cases[MAX_NAMES:] else ""
        console.print(Text(f"  {check} ({len(cases)}): {', '.join(cases[:MAX_NAMES])}{more}"))
    if remainder:
        console.print(Text(f"one in full: {_repeated(chapter, solution, remainder[0].case)}"))


def _show_heading(console: Console, name: str, remainder: str = "") -> None:
    console.print()
    console.print(Text(f"✗ {name}", style="bold"), *([Text(remainder)] if remainder else []))


def _show_rows(console: Console, rows: dict[str, str]) -> None:
    """Print labelled lines. The terminal wraps them, so that commands can be copied."""
    for name, text in rows.items():
        first, *more = text.split("\n")
        console.print(Text(f"  {name:<9}", style="dim"), Text(first))
        for line in more:
            console.print(" " * 11, Text(line))


def _explain(chapter: Chapter, solution: bool, failure: suite.Failure) -> dict[str, str]:
    """Returns a failed case in words: what was sent, expected and got, and how to repeat it."""
    case, received = failure.case, failure.received
    if reported := case.alone or case.talk:
        return {"done": reported.done, "expected": reported.expected,
                "got": failure.problem, "again": _repeated(chapter, solution, case)}
    rows = {"sent": wording.sent_text(case)}
    data = received.data if received else b""
    nearest = suite.nearest(case, data)
    rows["expected"] = wording.around(nearest, data) + (", then the end" if nearest else
                                                        ", only the end")
    if any(CONTINUE + expected in case.expect for expected in case.expect):
        rows["expected"] += ", with or without 100 Continue before it"
    if chapter.level >= suite.DATED_LEVEL and nearest:
        rows["expected"] += f"; {heads.WORDING}"
    if received and suite.is_reported(received):
        rows["got"] = wording.around(received.raw, b"")
        rows["compared"] = wording.around(data, nearest)
    else:
        rows["got"] = wording.around(data, nearest)
    rows["so"] = failure.problem
    rows["again"] = _repeated(chapter, solution, case)
    if "@" not in case.name and (line := wording.one_liner(case)):  # `run` uses another build
        rows["by hand"] = (f"{COMMAND} run {chapter.tag}{_flag(solution)}, and in another "
                           f"terminal, with bash:\n{line}")
    return rows


def _explain_figures(chapter: Chapter, solution: bool, verdict: Verdict) -> dict[str, str]:
    """Returns a failed figure's rows, and the command that shows more."""
    if not verdict.see:
        return verdict.rows
    return {**verdict.rows, "see": f"{COMMAND} {verdict.see} {chapter.tag}{_flag(solution)}"}


def _repeated(chapter: Chapter, solution: bool, case: Case) -> str:
    return f"{COMMAND} check {chapter.tag}{_flag(solution)} --case '{case.name}'"


def _flag(solution: bool) -> str:
    return " --solution" if solution else ""


def _read(chapter: Chapter, stage: Stage, verdict: Verdict) -> list[str]:
    """Returns the pages that help with a check: of each failed case with a section of its own that
    one, otherwise where the check's part is explained.
    """
    usual = stage.part.anchor if stage.part else chapter.sections.get(verdict.name, "")
    return [page(chapter, anchor) for anchor in dict.fromkeys(
        _section(chapter, failure.case) or usual for failure in verdict.failures)
        ] or [page(chapter, usual)]


def _section(chapter: Chapter, case: Case) -> str:
    """Returns the anchor of the section about this case; empty if there is none."""
    return next((anchor for pattern, anchor in chapter.case_sections.items()
                 if fnmatchcase(case.name, pattern)), "")


def page(chapter: Chapter, anchor: str) -> str:
    """Returns the chapter's page in the built book, or else its source file."""
    page = SITE / chapter.page.replace(".md", ".html")
    if page.exists():
        return shown(page) + anchor
    return f"book/src/{chapter.page}; {COMMAND} book makes a page of it"


def report(chapter: Chapter, solution: bool, passed: bool, judged: list[Stage]) -> dict[str, Any]:
    """Returns the verdicts for JSON; for chapters with parts also the first unfinished one."""
    here = stages.current(judged)
    of_parts = {"part": here.number if here else None, "parts": [
        {"number": stage.part.number, "name": stage.part.name, "title": stage.part.title,
         "passed": not stage.failed} for stage in judged if stage.part]} if chapter.parts else {}
    return {"chapter": chapter.name, "solution": solution, "passed": passed, **of_parts,
            "checks": [_as_json(chapter, solution, stage, verdict)
                       for stage in judged for verdict in stage.verdicts]}


def _as_json(chapter: Chapter, solution: bool, stage: Stage, verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.name, "status": verdict.status, "summary": verdict.summary,
        **({"part": stage.part.number} if stage.part else {}),
        "note": verdict.note, "read": _read(chapter, stage, verdict), **verdict.figures,
        "failures": [{"case": failure.case.name, "reference": failure.case.reference,
                      **_explain(chapter, solution, failure)} for failure in verdict.failures]}
