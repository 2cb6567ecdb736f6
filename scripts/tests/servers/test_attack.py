"""A server that has little memory, and ten thousand clients who mean no good."""

from __future__ import annotations

import sys
import time

import programs
import pytest

from workbook.checks import attack
from workbook.course.chapters import having
from workbook.machine import network
from workbook.measure import stress
from workbook.measure.crowd import served
from workbook.servers.client import connect
from workbook.servers.process import Server, running

PATIENT = ("--limits", "600,600,600,2,1", "--min-rate", "0")  # no deadline ends an attack
ATTACKED_S = 8.0
MINIMUM = 300  # requests, however busy the machine is
TIMEOUT_S = 60.0

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a running program"),
    pytest.mark.timeout(900),
]


def settled(server: Server, when_idle: int) -> int:
    """Descriptors once those who lingered are gone."""
    deadline = time.monotonic() + TIMEOUT_S
    while (now := attack.descriptors(server)) > when_idle and time.monotonic() < deadline:
        time.sleep(0.1)
    return now


def test_normal_client_is_served_during_an_attack() -> None:
    binary = programs.solution(having("bounds")[0].name, "measure")
    if stress.raise_descriptor_limit() < attack.HOSTILE + attack.SPARE:
        pytest.skip("this system has not as many descriptors")
    arguments = ("--threads", "2", *attack.CAPACITY, *PATIENT)
    with network.own(), running(binary, *arguments) as server:
        when_idle = attack.descriptors(server)
        attack.hold_to(server)
        with connect((server.host, server.port), TIMEOUT_S) as neighbour:
            served(neighbour)
            with attack.attacked(server):
                polite = attack.ask(server, ATTACKED_S, MINIMUM)
                present = attack.descriptors(server)
                served(neighbour)
            assert settled(server, when_idle + 1) == when_idle + 1
            served(neighbour)
        peak_mib = attack.peak_mib(server)
        ended = server.stop()
    errors, answered = dict(polite.errors), len(polite.seconds)
    assert not errors and answered >= MINIMUM
    assert present > attack.HOSTILE / 4, f"only {present} were there"
    assert ended.exit_code == 0 and not ended.killed and not ended.stderr, ended
    assert peak_mib and peak_mib * attack.MIB < attack.MEMORY
