"""Judges a chapter again whenever one of its files is saved: first what failed last."""

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
    """Until Ctrl-C, which is how it ends well."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"Watching chapters/{chapter.name}; Ctrl-C ends it.")
    with suppress(KeyboardInterrupt):
        _watch(chapter, console)
    return 0


def _watch(chapter: Chapter, console: Console) -> None:
    seen: Stamps = {}
    while True:
        now = stamps(chapter.starter_dir)  # before the check: who saves meanwhile is asked again
        if now != seen:
            seen = now
            _judge(chapter, console)
            console.print("Waiting for a file to be saved.")
        time.sleep(LOOK_S)


def _judge(chapter: Chapter, console: Console) -> None:
    """What failed last; once it passes, all. A build error is shown by the check, and mended by
    the next save.
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
    """In a process of its own, which leaves nothing behind however it ends. None if a file was saved
    meanwhile: a build could have one version of some files and another of others.
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
    except KeyboardInterrupt:  # the terminal has sent it the signal, too
        child.terminate()
        child.wait(END_S)
        raise


def stamps(directory: Path) -> Stamps:
    """When each of its files was written, and its size; those of sources in folders too."""
    own = (file.name for file in directory.iterdir()
           if file.is_file() and not is_leftover(file.name))
    found: Stamps = {}
    for name in sorted({*own, *trees.paths(directory)}):
        with suppress(FileNotFoundError):  # an editor replaces the file that it saves
            known = (directory / name).stat()
            found[name] = (known.st_mtime_ns, known.st_size)
    return found
