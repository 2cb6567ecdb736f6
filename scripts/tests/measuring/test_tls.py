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


def test_server_with_another_tls_version_is_refused(start: secured.Start) -> None:
    secured.must_speak(start, "TLSv1.3")
    held = secured.ours(solution(secured.TLS), certificates.localhost(), at_most_12=True)
    secured.must_speak(held, "TLSv1.2")
    with pytest.raises(UserError, match=r"speaks TLSv1\.2"):
        secured.must_speak(held, "TLSv1.3")


@pytest.mark.parametrize("kind", tls.CONNECTION_KINDS)
def test_each_connection_kind_can_be_timed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "VISITS", 20)
    monkeypatch.setattr(tls, "FEW", 2)
    connection = tls.CONNECTION_KINDS[kind]
    pair = connection.make_pair() if connection.version else None
    assert tls._visits_us(secured.ours(solution(secured.TLS), pair), connection) > 0


def test_server_without_resumption_is_refused(start: secured.Start) -> None:
    with start("--ticket-lifetime", "1") as server, pytest.raises(UserError, match="did not resume"):
        connect = tls._pausing_client(server, tls.CONNECTION_KINDS["resumed13"])
        connect()
        time.sleep(2.1)
        connect()


def test_handshake_flood_ends_in_time(start: secured.Start,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    with start() as server:
        begun = time.monotonic()
        assert flood.flood(server.port, 0.5) > flood.STRANGERS
        assert time.monotonic() - begun < 5
        monkeypatch.setattr(flood, "MAXIMUM", 3)
        assert flood.flood(server.port, 0.5) == 3


@pytest.mark.timeout(900)
def test_tls_support_costs_at_most_ten_instructions(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """In the build that is timed, of so many requests that a second which begins is nothing. The
    form that asks before its loop pays more: see secured.ASKED_BEFORE.
    """
    monkeypatch.setattr(costs, "REQUESTS", 400)
    before, after = (costs.count_started(
        secured.ours(solution(name), rooted=False), level=tls.LEVEL, request=SHORT,
        measures=(costs.INSTRUCTIONS,)).figures["instructions"] for name in ("14-log", secured.TLS))
    assert after <= before + 10


def test_cached_files_are_not_opened_again() -> None:
    """As many calls as the chapters before say: one that opens a file each time makes more."""
    start = secured.ours(solution(secured.TLS, "measure"))
    assert tls._counted(start, SHORT, "")["syscalls"] == 3
    assert tls._counted(start, tls.LARGE_REQUEST, "")["syscalls"] == 4
