"""The HTTP tests of gunicorn, aiohttp, h11, httparse and hyper, replayed on our servers.

Their packages are downloaded, so this needs a network, and Cargo for the last two. Only
`test --long` runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import programs
import pytest
from lengths import LONG
from other_suites import packages, python_suites, replay, rust_suites
from other_suites.message import Message

from workbook.checks.model import KQUEUE, MEASURE
from workbook.common.paths import CHAPTERS, SOLUTIONS
from workbook.course import trees
from workbook.course.trees import Tree
from workbook.servers import build
from workbook.servers.process import running

FIRST, STREAMING, LAST = "01-naive", "12-streaming", programs.CLIMB[-1]
MESSAGES = {"gunicorn": 143, "aiohttp": 319, "h11": 37, "httparse": 292, "hyper": 55}

pytestmark = [
    pytest.mark.skipif(not LONG, reason="downloads the suites of other projects: test --long"),
    pytest.mark.usefixtures("no_process_left"),
]


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    try:
        python, rust = packages.python_sources(), packages.crates()
    except packages.Unavailable as reason:
        pytest.skip(f"the suites cannot be downloaded: {reason}")
    return [*python_suites.gunicorn(python), *python_suites.aiohttp(python),
            *python_suites.h11(python), *rust_suites.httparse(rust), *rust_suites.hyper(rust)]


def test_every_suite_is_extracted(messages: list[Message]) -> None:
    """These are the numbers of the pinned versions: fewer mean that the extraction misses some."""
    suites = [message.suite for message in messages]
    assert {suite: suites.count(suite) for suite in MESSAGES} == MESSAGES


@pytest.mark.parametrize("name", [FIRST, LAST])
def test_server_differs_from_other_suites_only_with_a_reason(
        name: str, messages: list[Message]) -> None:
    binary = build.server_alone(SOLUTIONS / name, MEASURE)
    assert not unexplained(binary, name, messages)


def test_server_on_kqueue_differs_from_other_suites_only_with_a_reason(
        messages: list[Message]) -> None:
    assert not unexplained(programs.solution(LAST, KQUEUE), LAST, messages)


def space_before_colon() -> Tree:
    """The first solution, which removes spaces at the end of a field's name."""
    tree = trees.read(SOLUTIONS / FIRST)
    old, new = b"if (!is_token(name) ||", b"if (!is_token(trim(name.c_str())) ||"
    assert tree["http_parser.cpp"].count(old) == 1
    return {**tree, "http_parser.cpp": tree["http_parser.cpp"].replace(old, new)}


def with_mutant(name: str, mutant: str) -> Tree:
    """A solution with one of the mistakes of its chapter."""
    patch = CHAPTERS / name / "mutants" / f"{mutant}.patch"
    return trees.apply(trees.read(SOLUTIONS / name), patch.read_bytes())


@pytest.mark.parametrize("name, tree, difference", [
    (FIRST, space_before_colon, "h11 test_readers_unusual-5: refused there, accepted here"),
    (FIRST, partial(with_mutant, FIRST, "behaviour.smuggling.length-and-chunked-accepted"),
     "hyper test_decoder_request-7: listed, but no difference"),
    (STREAMING, partial(with_mutant, STREAMING, "behaviour.chunked.bare-lf-after-size"),
     "aiohttp test_reject_bare_lf_at_point_seen-2: refused there, incomplete here"),
], ids=["space-before-colon", "length-and-chunked", "bare-lf-after-size"])
def test_planted_mistake_differs_without_a_reason(
        name: str, tree: Callable[[], Tree], difference: str, messages: list[Message]) -> None:
    binary = programs.aside(f"other-suites-{name}", tree(), MEASURE, lean=True)
    found = unexplained(binary, name, messages)
    assert any(line.startswith(difference) for line in found), found


def unexplained(binary: Path, name: str, messages: list[Message]) -> list[str]:
    """What this server decides without a reason in the list for the server of this name."""
    with running(binary) as server:
        found = replay.differences(server, messages)
    return list(replay.unexplained(found, messages, replay.listed(name)))
