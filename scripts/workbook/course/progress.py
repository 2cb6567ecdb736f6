"""The reader's progress, stored in .hotpath/progress.json. The work doesn't depend on it."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from filelock import FileLock

from workbook.common.errors import UserError
from workbook.common.paths import BACKUP, ROOT, STATE, shown, write_atomically
from workbook.course import editions, history, starters, trees
from workbook.course.chapters import Chapter, Part, all_chapters

FILE = STATE / "progress.json"
PASSED = ("passed", "passed, changed since")  # the states in `status` of a chapter that is done


@dataclass(frozen=True)
class Outcome:
    """The result of a check of the reader's own code."""

    unmet: list[str]  # the failed checks, in the registry's order
    passed: bool | None = None  # whether the chapter is; None if too little was judged
    part: int | None = None  # the first unfinished part; None if that was not judged
    medal: str | None = None  # the medal reached
    missed: Collection[str] = ()  # the medals clearly not reached


def record(chapter: Chapter, outcome: Outcome) -> None:
    """Store the outcome of a check. A medal changes only if the measurement is clear: one that is
    neither won nor missed stays as it was.
    """
    values: dict[str, Any] = {}
    if outcome.unmet != unmet(chapter):
        values["unmet"] = outcome.unmet
    if outcome.part is not None:
        values["part"] = outcome.part
    if outcome.passed:
        held = [name for name in (outcome.medal, medal(chapter))
                if name and name not in outcome.missed]
        best = max(held, key=lambda name: chapter.speed.get(name, 0), default=None)
        values |= {"passed": time.strftime("%Y-%m-%d"), "failing": False,
                   "code": _digest(chapter), "medal": best}
    elif outcome.passed is False and passed(chapter):
        values["failing"] = True
    if values:
        _update(chapter, **values)


def unmet(chapter: Chapter) -> list[str]:
    return list(_load().get(chapter.name, {}).get("unmet", []))


def passed(chapter: Chapter) -> str | None:
    """Returns the date on which the chapter was passed, or None."""
    return _load().get(chapter.name, {}).get("passed")


def medal(chapter: Chapter) -> str | None:
    """Returns the best medal won and not lost since."""
    return _load().get(chapter.name, {}).get("medal")


def reached(chapter: Chapter) -> int:
    """Returns the number of the first part that was unfinished when last judged: 1 if nothing was
    judged, the number of parts plus one if all are finished.
    """
    last = int(_load().get(chapter.name, {}).get("part", 1))
    return max(1, min(last, len(chapter.parts) + 1))


def hints_seen(chapter: Chapter, part: Part | None = None) -> int:
    return int(_load().get(chapter.name, {}).get(_hints(part), 0))


def mark_hint(chapter: Chapter, part: Part | None, level: int) -> None:
    _update(chapter, **{_hints(part): max(level, hints_seen(chapter, part))})


def _hints(part: Part | None) -> str:
    """Returns the progress file's key for the number of hints shown."""
    return f"hints of part {part.number}" if part else "hints"


def status(chapter: Chapter) -> str:
    """Returns “passed”, “passed before reset”, “passed, now failing”, “passed, changed since”,
    “begun” (the starter was edited) or “to do”.
    """
    pristine = starters.is_pristine(chapter)
    if not passed(chapter):
        return "to do" if pristine else "begun"
    if pristine:
        return "passed before reset"
    known = _load()[chapter.name]
    if known.get("failing"):
        return "passed, now failing"
    same = known.get("code", _digest(chapter)) == _digest(chapter)
    return "passed" if same else "passed, changed since"


def current() -> Chapter | None:
    """Returns the chapter to continue with: of those begun and not passed, the one edited last;
    else the first unpassed chapter after the last one passed; None if all are passed.
    """
    chapters = all_chapters()
    states = [status(chapter) for chapter in chapters]
    begun = [chapter for chapter, state in zip(chapters, states, strict=True)
             if state in ("begun", "passed, now failing")]
    if begun:
        return max(begun, key=_edited)
    done = [index for index, state in enumerate(states) if state in PASSED]
    after = done[-1] + 1 if done else 0
    return next((chapters[index] for index in [*range(after, len(states)), *range(after)]
                 if index not in done), None)


def _edited(chapter: Chapter) -> float:
    """Returns when the newest of the chapter's sources was saved."""
    return max((chapter.starter_dir / name).stat().st_mtime
               for name in trees.paths(chapter.starter_dir))


def _digest(chapter: Chapter) -> str:
    """Returns a digest of the reader's code."""
    mine = trees.read(chapter.starter_dir)
    return hashlib.sha256(b"".join(name.encode() + b"\0" + text for name, text in mine.items())
                          ).hexdigest()


def part(chapter: Chapter) -> int | None:
    """Returns the part that the reader is working on, or the number of parts plus one if all are
    finished; None if the chapter has no parts or isn't begun.
    """
    if not chapter.parts or status(chapter) != "begun":
        return None
    return min(reached(chapter), len(chapter.parts) + 1)


def began(chapter: Chapter) -> str:
    """Returns the commit whose starter the reader's work began from; empty if unknown."""
    return str(_load().get(chapter.name, {}).get("began", {}).get("commit", ""))


def mark_began(chapter: Chapter, edition: int, commit: str) -> None:
    """Store the edition and the commit that the reader's files are based on."""
    _update(chapter, began={"edition": edition, "commit": commit})


def entry(chapter: Chapter) -> editions.Entry:
    """Returns everything stored about a chapter."""
    return dict(_load().get(chapter.name, {}))


def _update(chapter: Chapter, **values: Any) -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(FILE.with_suffix(".lock")):  # another check may finish at the same moment
        data = _load()
        known = data.setdefault(chapter.name, {})
        if "began" not in {**known, **values} and (commit := history.begins_here(ROOT, chapter)):
            known["began"] = {"edition": editions.current().number, "commit": commit}
        known.update(values)
        _keep_older_file()
        whole = {editions.VERSION: editions.current().number, "chapters": data}
        write_atomically(FILE, json.dumps(whole, indent=2) + "\n")


def _keep_older_file() -> None:
    """Back up the file of an earlier edition, which may contain names that this one drops."""
    version = _read().get(editions.VERSION, 1)
    if FILE.exists() and version != editions.current().number:
        BACKUP.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FILE, BACKUP / f"progress-edition-{version}.json")


def _load() -> dict[str, editions.Entry]:
    try:
        return editions.migrated(_read(), all_chapters())
    except (ValueError, TypeError) as error:
        raise UserError(f"{shown(FILE)} is damaged ({error})",
                        f"remove it and check the chapters again: rm {shown(FILE)}") from None


def _read() -> dict[str, Any]:
    try:
        data = json.loads(FILE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(data, dict):
        raise ValueError("not a table of chapters")
    return data
