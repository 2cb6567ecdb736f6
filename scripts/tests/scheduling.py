"""Which tests follow each other in one process, which run while no other does, and how many judge a
whole chapter at once.

Four processes take groups of tests, the long ones first. A group is a file, for its tests share
what they build; where chapters share nothing, it is a chapter (`of_chapter`). What need not be
asked in each run is marked `late`. What judges by the clock is marked `alone`: it comes last, and
runs while the other processes wait.
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

LONG_FIRST = ("systems", "gate", "servers")  # folders; the others as they come


def of_chapter(chapter: Chapter, *values: Any, id: str = "", late: bool = False) -> Any:
    """A test's parameter: this chapter, or what is given of it; its group is the chapter's. Those
    that are late are another group, which must not build where the first does.
    """
    group = pytest.mark.xdist_group(f"{'late' if late else 'gate'} {chapter.name}")
    return pytest.param(*values or (chapter,), id=id or chapter.name,
                        marks=[group, pytest.mark.late] if late else group)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Group the tests whenever several processes run them, also by `pytest -n 4 FILE`: otherwise
    tests of two processes would build in the same folder. pytest-xdist's processes don't ask the
    one that starts them, but look at the command line for themselves.
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
    items.sort(key=_rank)  # within a rank they stay as they were


def _rank(item: pytest.Item) -> tuple[bool, bool, int]:
    folder = item.path.parent.name
    location = LONG_FIRST.index(folder) if folder in LONG_FIRST else len(LONG_FIRST)
    return _is_alone(item), item.get_closest_marker("late") is not None, location


def _is_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Around all else, so that who waits for his turn is not timed."""
    with _slot(_is_alone(item)):
        return (yield)


@contextmanager
def _slot(alone: bool) -> Iterator[None]:
    """Many may be in the room, or one who is alone. All pass the same door, so that others do not
    keep on entering while that one waits.
    """
    BUILD.mkdir(exist_ok=True)
    with (BUILD / ".tests.door").open("w") as door, (BUILD / ".tests.room").open("w") as space:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(space, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield


@contextmanager
def judging() -> Iterator[None]:
    """As many judge all of a server at once as there are processors: each keeps one busy, and with
    more of them clients wait longer than a case has patience.
    """
    BUILD.mkdir(exist_ok=True)
    with ExitStack() as stack:
        slots = [stack.enter_context((BUILD / f".tests.judging.{number}").open("w"))
                     for number in range(available_cpus())]
        while not any(_taken(location) for location in slots):
            time.sleep(0.2)
        yield


def _taken(location: IO[str]) -> bool:
    """Whether it is ours now, until it is closed."""
    try:
        fcntl.flock(location, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def pytest_collection_finish(session: pytest.Session) -> None:
    """pytest-xdist appends a test's group to its id. Without it, tests that share a build race."""
    worker = hasattr(session.config, "workerinput")
    if worker and not all("@" in item.nodeid for item in session.items):
        raise pytest.UsageError("pytest-xdist does not group tests: see requirements-test.in")
