"""Report what an upgrade of the course changes in a reader's chapters, and carry the work over."""

from __future__ import annotations

from collections.abc import Sequence

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, ROOT, shown
from workbook.course import editions, history, upgrade
from workbook.course.chapters import Chapter, all_chapters
from workbook.course.upgrade import Work

MAX_SHOWN = 6  # maximum number of files listed on one line


def run(chapters: Sequence[Chapter] = (), *, revision: str | None = None, keep: bool = False,
        report: bool = False) -> int:
    """Carry over the work in these chapters, by default in all; returns the exit code, 1 if
    something is left to decide.
    """
    history.require(ROOT)
    found = [work for chapter in chapters or all_chapters()
             if (work := upgrade.find(chapter, revision))]
    left = [_is_left(work, keep, report) for work in found]
    if not any(not work.is_current for work in found) and not any(left):
        print(f"No work of yours is from before this state of edition {editions.current().number}.")
        if revision is None and (names := upgrade.stashes()):
            print(f"git keeps some in {', '.join(names)}: {COMMAND} upgrade --from '{names[0]}'")
    return 1 if any(left) else 0


def _is_left(work: Work, keep: bool, report: bool) -> bool:
    """Report on one chapter and upgrade it; returns whether the reader has something to decide."""
    if work.is_current and (marked := upgrade.unresolved(work.chapter)):
        _show_conflicts(work, marked)
        return True
    if work.is_current:
        return False
    _report(work)
    if report:
        return False
    try:
        return _keep(work) if keep else _carry(work)
    except UserError as error:
        print(f"  not upgraded: {error.message}\n  next: {error.fix}")
        return True


def _report(work: Work) -> None:
    mine = {*work.edited()}
    moves = [f"{old} → {new}" for old, new in
             sorted(work.moved().items(), key=lambda move: (move[0] not in mine, move))]
    print(f"{work.chapter.name}: your work began in edition {work.edition}, "
          f"commit {work.commit[:7]}")
    for what, names in (("you changed", work.edited()), ("the starter changed", work.renewed()),
                        ("moved", moves)):
        if names:
            more = len(names) - MAX_SHOWN
            print(f"  {what}: {', '.join(names[:MAX_SHOWN])}"
                  + (f" and {more} more" if more > 0 else ""))


def _carry(work: Work) -> bool:
    done = upgrade.carry(work)
    print(f"  carried over; your files as they were are in {shown(done.copy)}")
    if done.conflicts:
        _show_conflicts(work, done.conflicts)
    return bool(done.conflicts)


def _show_conflicts(work: Work, names: list[str]) -> None:
    tag = work.chapter.tag
    print("  both changed the same lines, so you decide (look for <<<<<<<) in:")
    for name in names:
        print(f"    {shown(work.chapter.starter_dir / name)}")
    print(f"  then: {COMMAND} check {tag}; or begin anew: {COMMAND} reset {tag}")


def _keep(work: Work) -> bool:
    folder = shown(upgrade.keep(work))
    print(f"  kept on edition {work.edition}; to go on there:\n"
          f"    cd {folder} && {COMMAND} check {work.chapter.tag}\n"
          f"  {shown(work.chapter.starter_dir)} is the starter of edition "
          f"{editions.current().number} now")
    return False
