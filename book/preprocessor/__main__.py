"""mdBook's interface: reads a context and a book in JSON from stdin, prints the expanded book."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preprocessor.directives import Page, Problem, Site
from workbook.common.errors import UserError
from workbook.course import chapters


def main() -> int:
    context, book = json.load(sys.stdin)
    try:
        template = context["config"].get("output", {}).get("html", {}).get("edit-url-template")
        problems = expand(Path(context["root"]).resolve().parent, book, template)
    except UserError as error:
        print(f"error: {error.message}\nnext: {error.fix}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    json.dump(book, sys.stdout)
    return 0


def expand(root: Path, book: dict[str, Any], editor: str | None = None) -> list[Problem]:
    """Expand every page in place; returns the problems. A chapter's heading refers to its page."""
    all_chapters = chapters.all_chapters(root / "chapters")
    site = Site(root, all_chapters)
    titles = {chapter.page: chapter.heading for chapter in all_chapters}
    problems = []
    for entry in pages(book["items"]):
        page = Page(site, entry["source_path"])
        entry["name"] = titles.get(entry["source_path"], entry["name"])
        entry["content"] = page.expand(entry["content"]) + page.origin(editor)
        problems += page.problems
    return problems


def pages(items: list[Any]) -> Iterator[dict[str, Any]]:
    """Yields every chapter of mdBook's tree that has a source; the others are titles and rules."""
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            entry = item["Chapter"]
            if entry.get("source_path"):
                yield entry
            yield from pages(entry["sub_items"])


sys.exit(main())
