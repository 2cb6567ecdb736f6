"""How far the reader is: kept in .hotpath/progress.json, never needed to work."""

from __future__ import annotations

import json
import time
from typing import Any

from workbook import starters
from workbook.chapters import Chapter
from workbook.errors import UserError
from workbook.paths import STATE, shown, write_atomically

FILE = STATE / "progress.json"


def mark_passed(chapter: Chapter) -> None:
    """Remember that the reader's own code passed every check of the chapter."""
    _update(chapter, passed=time.strftime("%Y-%m-%d"))


def passed(chapter: Chapter) -> str | None:
    """The day on which the chapter was passed, or None."""
    return _load().get(chapter.name, {}).get("passed")


def hints_seen(chapter: Chapter) -> int:
    return int(_load().get(chapter.name, {}).get("hints", 0))


def mark_hint(chapter: Chapter, level: int) -> None:
    _update(chapter, hints=max(level, hints_seen(chapter)))


def status(chapter: Chapter) -> str:
    """passed, begun (the starter was edited) or to do."""
    if passed(chapter):
        return "passed"
    return "to do" if starters.is_pristine(chapter) else "begun"


def _update(chapter: Chapter, **values: Any) -> None:
    data = _load()
    data.setdefault(chapter.name, {}).update(values)
    write_atomically(FILE, json.dumps(data, indent=2) + "\n")


def _load() -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(FILE.read_text(encoding="utf-8"))
        if not (isinstance(data, dict) and all(isinstance(v, dict) for v in data.values())):
            raise ValueError("not a table of chapters")
        return data
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{shown(FILE)} is damaged ({error})",
                        f"remove it and check the chapters again: rm {shown(FILE)}") from None
