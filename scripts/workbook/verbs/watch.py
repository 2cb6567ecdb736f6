"""Judges a chapter whenever one of its files is saved, first the check that failed last."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

from workbook.checks import registry
from workbook.common import children
from workbook.common.leftovers import is_leftover
from workbook.course import progress, trees
from workbook.course.chapters import Chapter

LOOK_S = 0.3
END_S = 10.0

Stamps = dict[str, tuple[int, int]]


def run(chapter: Chapter) -> int:
    """Watch until Ctrl-C; returns 0."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"Watching chapters/{chapter.name}; Ctrl-C ends it.")
    with suppress(KeyboardInterrupt):
        _watch(chapter, console)
    return 0


def _watch(chapter: Chapter, console: Console) -> None:
    seen: Stamps = {}
    while True:
        now = stamps(chapter.starter_dir)  # before the check, so that a later save is noticed
        if now != seen:
            seen = now
            _judge(chapter, console)
            console.print("Waiting for a file to be saved.")
        time.sleep(LOOK_S)


def _judge(chapter: Chapter, console: Console) -> None:
    """Run the check that failed last; once it passes, run all. Build errors are shown by the check.
    """
    failed = [name for name in progress.unmet(chapter) if name in registry.NAMES]
    while True:
        what = failed[:1]
        console.print(Text(f"\n{time.strftime('%H:%M:%S')}  check {chapter.tag} {' '.join(what)}",
                           style="bold"))
        code = _check(chapter, what)
        if code is None:
            console.print("A file was saved meanwhile: judging the new version instead.")
            return
        failed = progress.unmet(chapter)
        if code != 0 or not what:
            return


def _check(chapter: Chapter, only: list[str]) -> int | None:
    """Run the check in a process of its own, which leaves nothing behind however it ends. Returns
    None if a file was saved meanwhile, because a build could mix old and new files.
    """
    command = [sys.executable, "-m", "workbook", "check", chapter.name,
               *(word for name in only for word in ("--only", name))]
    began = stamps(chapter.starter_dir)
    child = children.start(command)
    try:
        while child.poll() is None:
            if stamps(chapter.starter_dir) != began:
                child.terminate()
                child.wait(END_S)
                return None
            with suppress(subprocess.TimeoutExpired):
                child.wait(LOOK_S)
        return child.returncode
    except KeyboardInterrupt:  # the terminal has sent it to the child, too
        child.terminate()
        child.wait(END_S)
        raise


def stamps(directory: Path) -> Stamps:
    """Returns modification time and size of the directory's files, and sources in its folders."""
    own = (file.name for file in directory.iterdir()
           if file.is_file() and not is_leftover(file.name))
    found: Stamps = {}
    for name in sorted({*own, *trees.paths(directory)}):
        with suppress(FileNotFoundError):  # an editor may be replacing the file
            known = (directory / name).stat()
            found[name] = (known.st_mtime_ns, known.st_size)
    return found
