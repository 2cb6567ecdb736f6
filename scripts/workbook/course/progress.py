"""How far the reader is: kept in .hotpath/progress.json, never needed to work."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Collection
from typing import Any

from workbook.common.errors import UserError
from workbook.common.paths import BACKUP, COMMAND, ROOT, STATE, shown, write_atomically
from workbook.course import editions, history, parts, starters, trees
from workbook.course.chapters import Chapter, Part, all_chapters

FILE = STATE / "progress.json"


def mark_passed(chapter: Chapter, won: str | None = None, missed: Collection[str] = ()) -> None:
    """Remember that the reader's own code passed every check of the chapter. Only what the clock
    says clearly changes a medal: one that is neither won nor missed stays as it was.
    """
    held = [name for name in (won, medal(chapter)) if name and name not in missed]
    best = max(held, key=lambda name: chapter.speed.get(name, 0), default=None)
    _update(chapter, passed=time.strftime("%Y-%m-%d"), failing=False, code=_digest(chapter),
            medal=best)


def mark_failing(chapter: Chapter) -> None:
    """Remember that what once passed does so no more."""
    if passed(chapter):
        _update(chapter, failing=True)


def mark_unmet(chapter: Chapter, checks: list[str]) -> None:
    """Remember which checks failed the last time, in their order."""
    if checks != unmet(chapter):
        _update(chapter, unmet=checks)


def unmet(chapter: Chapter) -> list[str]:
    return list(_load().get(chapter.name, {}).get("unmet", []))


def passed(chapter: Chapter) -> str | None:
    """The day on which the chapter was passed, or None."""
    return _load().get(chapter.name, {}).get("passed")


def medal(chapter: Chapter) -> str | None:
    """The best medal that the clock gave and has not taken back."""
    return _load().get(chapter.name, {}).get("medal")


def mark_reached(chapter: Chapter, part: int) -> None:
    """Remember which of the chapter's parts is the first that is not finished."""
    _update(chapter, part=part)


def reached(chapter: Chapter) -> int:
    """That part's number, as last judged: 1 if nothing was, one more than there are if all are."""
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


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table of `hotpath list`."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    colours = {"passed": "green", "to do": "dim"}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("chapter", no_wrap=True)
    table.add_column("title")
    table.add_column("min.", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for row in rows:
        when = f" {row['passed']}" if row["status"] == "passed" else ""
        when += f", {row['medal']}" if when and row["medal"] else ""
        status = _location(row["part"], row["parts"]) if row["part"] else row["status"]
        table.add_row(row["chapter"], row["title"], str(row["minutes"]),
                      f"[{colours.get(row['status'], 'yellow')}]{status}{when}[/]")
    console = Console()
    console.print(table)
    done = [number for number, row in enumerate(rows) if row["status"] == "passed"]
    after = done[-1] + 1 if done else 0
    following = next((row["chapter"] for row in [*rows[after:], *rows[:after]]
                      if row["status"] != "passed"), None)
    console.print(f"\n{len(done)} of {len(rows)} passed." + (
        f" Next: [bold]{COMMAND} check {following}[/]" if following else ""))


def _location(part: int, parts: int) -> str:
    return f"part {part} of {parts}" if part <= parts else f"all {parts} parts; the check is left"


def show_hint(chapter: Chapter, level: int | None, number: int | None = None) -> None:
    """Print one hint, by default the one after the last that was shown, and remember it. Where
    there are parts, it is for the one with this number, by default the one that is reached. Who has
    them all is told so.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    count = len(chapter.parts)
    if number is None and level is None and 0 < count < reached(chapter):
        print(f"All parts of {chapter.name} hold, as last judged: {COMMAND} check {chapter.tag}\n"
              f"For a hint nevertheless: {COMMAND} hint {chapter.tag} --part {count}")
        return
    part = _hinted(chapter, number)
    hints = part.hints if part else chapter.hints
    if not hints:
        raise UserError(f"{chapter.name} has no hints", f"read its page: {COMMAND} book --open")
    level = min(level or hints_seen(chapter, part) + 1, len(hints))
    mark_hint(chapter, part, level)
    console = Console(soft_wrap=True)
    about = f"part {part.number} of {chapter.name}: {part.title}" if part else chapter.name
    console.print(f"Hint {level} of {len(hints)}, {about}", style="bold")
    console.print(Markdown(hints[level - 1]))
    these = f"{chapter.tag} --part {part.number}" if part else chapter.tag
    more = (f"More: {COMMAND} hint {these}" if level < len(hints) else
            f"That was the last. If it does not help: {COMMAND} solution {these} --anyway")
    console.print(f"\n{more}", style="dim")


def _hinted(chapter: Chapter, number: int | None) -> Part | None:
    if number is None and not chapter.parts:
        return None
    return parts.find(chapter, number or min(reached(chapter), len(chapter.parts)))


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
