"""Which tests run in the same process, which run while no other does, and how many judge a whole
server at the same time.

Four processes run groups of tests, those of the slow folders last, because they may be left out.
By default a group is a file, because the tests of a file share what they build. Where chapters
share nothing, a group is a chapter (`of_chapter`). Tests that a run may leave out are marked `late`
and come near the end. Tests that depend on timing are marked `alone`: they come last, and run while
the other processes wait.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import pytest

from workbook.common.paths import BUILD
from workbook.course.chapters import Chapter
from workbook.machine.cores import available_cpus

SLOW_FOLDERS = ("systems", "gate", "servers")  # in this order, after all others


def of_chapter(chapter: Chapter, *values: Any, id: str = "", late: bool = False) -> Any:
    """Returns a test's parameter: this chapter, or `values` that belong to it. Its group is the
    chapter's. Late tests are in a second group, which needs a build folder of its own.
    """
    group = pytest.mark.xdist_group(f"{'late' if late else 'gate'} {chapter.name}")
    return pytest.param(*values or (chapter,), id=id or chapter.name,
                        marks=[group, pytest.mark.late] if late else group)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Group the tests whenever several processes run them, also with `pytest -n 4 FILE`; otherwise
    two processes would build in the same folder. pytest-xdist's workers read the command line
    themselves instead of asking the controller.
    """
    if hasattr(config, "workerinput"):
        config.option.loadgroup = True
    elif config.getoption("dist", "no") != "no":
        config.option.dist = "loadgroup"
        config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_alone(item):
            item.add_marker(pytest.mark.xdist_group("alone"))
        elif not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    items.sort(key=_rank)  # sort() is stable


def _rank(item: pytest.Item) -> tuple[bool, bool, int]:
    folder = item.path.parent.name
    location = SLOW_FOLDERS.index(folder) if folder in SLOW_FOLDERS else -1
    return _is_alone(item), item.get_closest_marker("late") is not None, location


def _is_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Wrap all other hooks, so that the time limit of a test doesn't include its wait."""
    with _slot(_is_alone(item)):
        return (yield)


@contextmanager
def _slot(alone: bool) -> Iterator[None]:
    """A readers-writer lock: many tests hold it together, or one that is `alone`. Each takes a
    queue lock first, so that new tests don't pass the one that waits to be alone.
    """
    BUILD.mkdir(exist_ok=True)
    with (BUILD / ".tests.queue").open("w") as queue, (BUILD / ".tests.run").open("w") as running:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield


@contextmanager
def judging() -> Iterator[None]:
    """At most one test per processor judges a whole server at the same time. Each keeps a processor
    busy, and with more of them a client would wait longer than its case allows.
    """
    BUILD.mkdir(exist_ok=True)
    with ExitStack() as stack:
        slots = [stack.enter_context((BUILD / f".tests.judging.{number}").open("w"))
                 for number in range(available_cpus())]
        while not any(_try_lock(slot) for slot in slots):
            time.sleep(0.2)
        yield


def _try_lock(slot: IO[str]) -> bool:
    """Take the slot if it is free, and return whether it was. Closing the file releases it."""
    try:
        fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def pytest_collection_finish(session: pytest.Session) -> None:
    """pytest-xdist appends a test's group to its id. Without it, tests that share a build race."""
    worker = hasattr(session.config, "workerinput")
    if worker and not all("@" in item.nodeid for item in session.items):
        raise pytest.UsageError("pytest-xdist does not group tests: see requirements-test.in")
