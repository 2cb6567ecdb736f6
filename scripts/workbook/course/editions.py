"""Editions of the course, and the names that earlier ones used.

editions.toml lists them, with the names that each one changed.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from workbook.common import toml
from workbook.common.errors import UserError
from workbook.common.paths import shown
from workbook.course.chapters import Chapter

FILE = Path(__file__).with_name("editions.toml")
VERSION = "version"  # the key in progress.json of an edition's number
HINTS_OF = "hints of part "

Entry = dict[str, Any]  # the entry of one chapter in progress.json


@dataclass(frozen=True)
class Edition:
    """One edition and what it renamed: old name -> new name, or "" if there is no successor.
    `parts` maps a chapter's new name to the new numbers of its old parts.
    """

    number: int
    last_commit: str = ""  # empty for the current edition
    chapters: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[int]] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)


@cache
def editions(file: Path = FILE) -> tuple[Edition, ...]:
    """Returns every edition, the current one last; raises UserError if the file is damaged."""
    try:
        found = toml.loads(file.read_text(encoding="utf-8"))["edition"]
        return tuple(Edition(**edition) for edition in found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{shown(file)} cannot be read: {error}",
                        f"git checkout -- {shown(file)}") from None


def current() -> Edition:
    return editions()[-1]


def former_names(name: str) -> list[str]:
    """Returns the chapter's name and those that it had in earlier editions, newest first."""
    names = [name]
    for edition in reversed(editions()):
        old = {new: old for old, new in edition.chapters.items()}
        if names[-1] in old:
            names.append(old[names[-1]])
    return names


def redirects() -> dict[str, str]:
    """Returns the redirects of the book's old addresses in mdBook's format: from an address within
    the site, with or without an anchor, to a relative one.
    """
    locations: dict[str, str] = {}
    for edition in editions():
        locations = {old: edition.pages.get(new, new)
                     for old, new in locations.items()} | edition.pages
    return {f"/{_address(old)}": posixpath.relpath(_address(new), posixpath.dirname(old) or ".")
            for old, new in locations.items()}


def _address(page: str) -> str:
    """Returns a page's address: part3/09-files.html#the-steps for part3/09-files.md#the-steps."""
    path, hash_sign, anchor = page.partition("#")
    return path.removesuffix(".md") + ".html" + hash_sign + anchor


def migrated(data: dict[str, Any], chapters: Iterable[Chapter]) -> dict[str, Entry]:
    """Returns what a progress file of any edition contains about today's chapters, by their name.

    Chapters and parts that no longer exist are dropped. Raises ValueError if it is no progress
    file, and UserError if a later edition wrote it.
    """
    version = data.get(VERSION, 1)  # the first edition's file had no table around the chapters
    entries = data.get("chapters", {}) if VERSION in data else data
    if not isinstance(version, int) or not isinstance(entries, dict) or not all(
            isinstance(entry, dict) for entry in entries.values()):
        raise ValueError("not a table of chapters")
    if version > current().number:
        raise UserError(f".hotpath/progress.json is from edition {version} of the course, and this "
                        f"is edition {current().number}", "git pull")
    for edition in editions():
        if edition.number > version:
            entries = _renamed(entries, edition)
    known = {chapter.name: len(chapter.parts) for chapter in chapters}
    entries = {name: entry for name, entry in entries.items() if name in known}
    return entries if version == current().number else {
        name: _within(entry, known[name]) for name, entry in entries.items()}


def _renamed(entries: dict[str, Entry], edition: Edition) -> dict[str, Entry]:
    """Returns the entries of the previous edition under this edition's names."""
    names = {name: edition.chapters.get(name, name) for name in entries}
    return {new: _with_new_parts(_with_new_checks(entries[old], edition.checks),
                                 edition.parts.get(new, []))
            for old, new in names.items() if new}


def _with_new_checks(entry: Entry, checks: dict[str, str]) -> Entry:
    if "unmet" not in entry:
        return entry
    names = [checks.get(name, name) for name in entry["unmet"]]
    return {**entry, "unmet": [name for name in dict.fromkeys(names) if name]}


def _with_new_parts(entry: Entry, numbers: list[int]) -> Entry:
    """`numbers` has the new number of each old part; if it's empty, the parts haven't changed."""
    if not numbers:
        return entry
    new = {str(old): number for old, number in enumerate(numbers, 1)}
    # All parts were finished, and so they still are, whatever their number is now.
    new[str(len(numbers) + 1)] = sys.maxsize
    hints = {key: new.get(key.removeprefix(HINTS_OF)) for key in entry if key.startswith(HINTS_OF)}
    kept = {key: value for key, value in entry.items() if key not in hints}
    kept |= {f"{HINTS_OF}{number}": entry[key] for key, number in hints.items() if number}
    if "part" in kept:
        kept["part"] = new.get(str(kept["part"]), 1)
    return kept


def _within(entry: Entry, parts: int) -> Entry:
    """Returns the entry without parts that the chapter doesn't have."""
    hints = {f"{HINTS_OF}{number}" for number in range(1, parts + 1)}
    kept = {key: value for key, value in entry.items()
            if not key.startswith(HINTS_OF) or key in hints}
    if "part" in kept:
        kept["part"] = max(1, min(int(kept["part"]), parts + 1))
    return kept if parts else {key: value for key, value in kept.items() if key != "part"}
