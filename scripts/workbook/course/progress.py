"""How far the reader is: kept in .hotpath/progress.json, never needed to work."""

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
PASSED = ("passed", "passed, changed since")  # what `status` says of a chapter that needs no more


@dataclass(frozen=True)
class Outcome:
    """What a check of the reader's own code found."""

    unmet: list[str]  # the checks that failed, in their order
    passed: bool | None = None  # the chapter; None if too little was judged to say that it does
    part: int | None = None  # the first that is not finished; None if that was not judged
    medal: str | None = None  # that the clock gave
    missed: Collection[str] = ()  # the medals that the clock says it does not reach


def record(chapter: Chapter, outcome: Outcome) -> None:
    """Remember the outcome of a check. Only what the clock says clearly changes a medal: one that
    is neither won nor missed stays as it was.
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
    """The day on which the chapter was passed, or None."""
    return _load().get(chapter.name, {}).get("passed")


def medal(chapter: Chapter) -> str | None:
    """The best medal that the clock gave and has not taken back."""
    return _load().get(chapter.name, {}).get("medal")


def reached(chapter: Chapter) -> int:
    """The first part that is not finished, as last judged: 1 if nothing was judged, one more than
    there are if all are finished.
    """
    last = int(_load().get(chapter.name, {}).get("part", 1))
    return max(1, min(last, len(chapter.parts) + 1))


def hints_seen(chapter: Chapter, part: Part | None = None) -> int:
    return int(_load().get(chapter.name, {}).get(_hints(part), 0))


def mark_hint(chapter: Chapter, part: Part | None, level: int) -> None:
    _update(chapter, **{_hints(part): max(level, hints_seen(chapter, part))})


def _hints(part: Part | None) -> str:
    """What the count of those that were shown is called."""
    return f"hints of part {part.number}" if part else "hints"


def status(chapter: Chapter) -> str:
    """“passed”, “passed before reset”, “passed, now failing”, “passed, changed since”, “begun”
    (the starter was edited) or “to do”.
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
    """The chapter to go on with: of those that are begun and not passed the one that was edited
    last, else the first that is not passed after the last one that is; None if all are passed.
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
    """When the newest of its sources was saved."""
    return max((chapter.starter_dir / name).stat().st_mtime
               for name in trees.paths(chapter.starter_dir))


def _digest(chapter: Chapter) -> str:
    """What the reader's code is at this moment."""
    mine = trees.read(chapter.starter_dir)
    return hashlib.sha256(b"".join(name.encode() + b"\0" + text for name, text in mine.items())
                          ).hexdigest()


def part(chapter: Chapter) -> int | None:
    """The part that the reader is in, where a chapter with parts is begun, one more than there are
    if all hold; else None.
    """
    if not chapter.parts or status(chapter) != "begun":
        return None
    return min(reached(chapter), len(chapter.parts) + 1)


def began(chapter: Chapter) -> str:
    """The commit whose starter the reader's work began from; empty if it is not known."""
    return str(_load().get(chapter.name, {}).get("began", {}).get("commit", ""))


def mark_began(chapter: Chapter, edition: int, commit: str) -> None:
    """Remember from which edition and commit the reader's files are."""
    _update(chapter, began={"edition": edition, "commit": commit})


def entry(chapter: Chapter) -> editions.Entry:
    """All that is remembered about a chapter."""
    return dict(_load().get(chapter.name, {}))


def _update(chapter: Chapter, **values: Any) -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(FILE.with_suffix(".lock")):  # another check may end at the same moment
        data = _load()
        known = data.setdefault(chapter.name, {})
        if "began" not in {**known, **values} and (commit := history.begins_here(ROOT, chapter)):
            known["began"] = {"edition": editions.current().number, "commit": commit}
        known.update(values)
        _keep_older_file()
        whole = {editions.VERSION: editions.current().number, "chapters": data}
        write_atomically(FILE, json.dumps(whole, indent=2) + "\n")


def _keep_older_file() -> None:
    """A file of an earlier edition may name what this one does not have, so it is copied first."""
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
