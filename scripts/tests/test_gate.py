"""The gate of every chapter: its starter, its solution and its planted mistakes.

All but the solution's own builds happen in copies below build/gate, so that what a reader has
edited is neither judged nor touched. A copy turns from one mutant into the next, which builds only
what that changes.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

import pytest

from workbook import build, check, mutants, starters
from workbook.behaviour import suite
from workbook.behaviour.cases import table
from workbook.behaviour.rows import CHECKS
from workbook.chapters import Chapter, all_chapters
from workbook.check import Servers
from workbook.paths import BUILD
from workbook.servers import running

GATE = BUILD / "gate"
COUNTED = [f"cost.{name}" for name in ("syscalls", "allocations")]
JUDGED = [name for name in check.all_checks() if name != check.SPEED]
CLIMB = [chapter for chapter in all_chapters() if chapter.number is not None]
THREADED = [chapter for chapter in CLIMB if any(
    b"std::thread" in text for text in starters.sources(chapter.solution_dir).values())]
MUTANTS = [mutant for chapter in CLIMB for mutant in mutants.of(chapter)
           if not mutant.check.startswith("fuzz")]

each_chapter = pytest.mark.parametrize("chapter", CLIMB, ids=lambda chapter: chapter.name)


def built(chapter: Chapter, tree: starters.Tree) -> Servers:
    """A copy of a checkpoint with these sources, built once for both behaviour and counting."""
    copy = GATE / chapter.name
    starters.write(tree, copy)
    server = build.isolated(copy, "measure", GATE / "build" / chapter.name)
    return Servers(release=server, measure=server)


def failing(chapter: Chapter, servers: Servers, wanted: list[str]) -> dict[str, str]:
    return {verdict.name: verdict.summary for verdict in check.judge(chapter, servers, wanted)
            if verdict.status == "fail"}


@each_chapter
def test_the_starter_fails_what_its_chapter_teaches_and_nothing_else(chapter: Chapter) -> None:
    servers = built(chapter, starters.starter(chapter))
    assert sorted(failing(chapter, servers, JUDGED)) == sorted(chapter.starter_fails)


@each_chapter
def test_the_solution_passes(chapter: Chapter) -> None:
    servers = Servers(release=build.build_server(chapter.solution_dir),
                      measure=build.build_server(chapter.solution_dir, "measure"))
    verdicts = list(check.judge(chapter, servers, JUDGED))
    assert not [verdict for verdict in verdicts if verdict.status == "fail"]
    levels = {case.check: case.level for case in reversed(table())}
    held = {name for name in CHECKS if levels[name] <= chapter.level}
    assert {verdict.name for verdict in verdicts} >= {*held, *COUNTED}


@each_chapter
def test_the_solution_passes_under_the_sanitizers(chapter: Chapter) -> None:
    server = build.build_server(chapter.solution_dir, "asan")
    result = suite.run(server, suite.select(chapter.level), chapter.level)
    assert result.ok, [failure.problem for failure in result.failures] or result


@pytest.mark.parametrize("chapter", THREADED, ids=lambda chapter: chapter.name)
def test_the_solution_has_no_data_race(chapter: Chapter) -> None:
    server = build.build_server(chapter.solution_dir, "tsan")
    result = suite.run(server, suite.select(chapter.level), chapter.level)
    assert result.ok, [failure.problem for failure in result.failures] or result


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.chapter.number}-"
                         f"{mutant.check}.{mutant.what}")
def test_the_check_catches(mutant: mutants.Mutant) -> None:
    assert mutant.check in JUDGED
    servers = built(mutant.chapter, mutants.sources(mutant))
    assert failing(mutant.chapter, servers, [mutant.check]), f"{mutant.name} was not caught"


@each_chapter
def test_a_chapter_has_three_mutants_at_least(chapter: Chapter) -> None:
    assert sum(mutant.chapter == chapter for mutant in MUTANTS) >= 3


def test_every_check_is_failed_by_some_mutant() -> None:
    assert {mutant.check for mutant in MUTANTS} >= {*CHECKS, *COUNTED}


def test_idle_clients_are_let_go() -> None:
    """All solutions at the same time: each lets a client be silent in a body for ten seconds."""
    with ExitStack() as stack:
        servers = [stack.enter_context(running(build.build_server(chapter.solution_dir)))
                   for chapter in CLIMB]
        clients = [socket.create_connection((server.host, server.port)) for server in servers]
        started = time.monotonic()
        for client in clients:
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell")
        for client in clients:
            client.settimeout(20)
            assert client.recv(1) == b""
            client.close()
        assert 8 < time.monotonic() - started < 15
