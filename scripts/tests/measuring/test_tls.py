"""What the figures of chapter 15 stand on: who is timed speaks what is said of it, and does what it
is timed for.
"""

from __future__ import annotations

import time

import pytest

from workbook.authors import flood, secured, tls
from workbook.authors.tools import solution
from workbook.common.errors import UserError
from workbook.measure import costs
from workbook.measure.crowd import SHORT
from workbook.servers import certificates


@pytest.fixture(scope="module")
def start() -> secured.Start:
    return secured.ours(solution(secured.TLS), certificates.localhost())


def test_who_speaks_another_version_is_not_timed(start: secured.Start) -> None:
    secured.must_speak(start, "TLSv1.3")
    held = secured.ours(solution(secured.TLS), certificates.localhost(), at_most_12=True)
    secured.must_speak(held, "TLSv1.2")
    with pytest.raises(UserError, match=r"speaks TLSv1\.2"):
        secured.must_speak(held, "TLSv1.3")


@pytest.mark.parametrize("kind", tls.CONNECTION_KINDS)
def test_a_visit_is_what_it_is_called(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "VISITS", 20)
    monkeypatch.setattr(tls, "FEW", 2)
    connection = tls.CONNECTION_KINDS[kind]
    pair = connection.make_pair() if connection.version else None
    assert tls._visits_us(secured.ours(solution(secured.TLS), pair), connection) > 0


def test_who_does_not_resume_is_not_timed(start: secured.Start) -> None:
    with start("--ticket-lifetime", "1") as server, pytest.raises(UserError, match="did not resume"):
        connect = tls._pausing_client(server, tls.CONNECTION_KINDS["resumed13"])
        connect()
        time.sleep(2.1)
        connect()


def test_a_flood_is_answered_and_ends(start: secured.Start,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    with start() as server:
        begun = time.monotonic()
        assert flood.flood(server.port, 0.5) > flood.STRANGERS
        assert time.monotonic() - begun < 5
        monkeypatch.setattr(flood, "MAXIMUM", 3)
        assert flood.flood(server.port, 0.5) == 3


@pytest.mark.timeout(900)
def test_a_server_without_tls_pays_ten_instructions_for_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """In the build that is timed, of so many requests that a second which begins is nothing. The
    form that asks before its loop pays more: see secured.ASKED_BEFORE.
    """
    monkeypatch.setattr(costs, "REQUESTS", 400)
    before, after = (costs.count_started(
        secured.ours(solution(name), rooted=False), level=tls.LEVEL, request=SHORT,
        measures=(costs.INSTRUCTIONS,)).figures["instructions"] for name in ("14-log", secured.TLS))
    assert after <= before + 10


def test_nobody_looks_for_a_file_that_is_to_be_in_memory() -> None:
    """As many calls as the chapters before say: one that opens a file each time makes more."""
    start = secured.ours(solution(secured.TLS, "measure"))
    assert tls._counted(start, SHORT, "")["syscalls"] == 3
    assert tls._counted(start, tls.LARGE_REQUEST, "")["syscalls"] == 4
