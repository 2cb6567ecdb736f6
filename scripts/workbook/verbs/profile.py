"""Writes a flame graph of a server under load."""

from __future__ import annotations

from workbook.common.paths import BUILD, shown, write_atomically
from workbook.course.chapters import Chapter
from workbook.figures import flame
from workbook.measure import profile


def run(chapter: Chapter, *, solution: bool = False, seconds: float = profile.SECONDS) -> None:
    """Build, load and profile; write build/profile/NAME.html and print its path."""
    directory = chapter.directory(solution)
    found = profile.profile(profile.built(directory), seconds)
    page = BUILD / "profile" / f"{directory.parent.name}-{chapter.name}.html"
    title = f"{shown(directory)} under load"
    write_atomically(page, flame.page(found.stacks, title, found.unit))
    print(f"{sum(found.stacks.values()):,} {found.unit}, of {found.requests:,} requests.\n"
          f"The flame graph is {shown(page)}; open it in a browser.")
