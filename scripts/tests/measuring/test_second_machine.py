"""A server on one machine and the load generator on another: two network namespaces, joined by a
pair of virtual Ethernet devices (veth(4)), take their place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import programs
import pytest

from workbook.common.errors import UsageError, UserError
from workbook.common.paths import SCRIPTS
from workbook.course.chapters import find_server
from workbook.servers.process import running
from workbook.verbs import stress

SERVER, GENERATOR = "10.213.7.1", "10.213.7.2"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def machines() -> Iterator[tuple[str, str]]:
    """The names of two namespaces whose devices see each other."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces are made by root, with ip(8)")
    names = [f"hotpath-{os.getpid()}-{side}" for side in ("server", "generator")]
    devices = [f"hp{os.getpid()}{side}" for side in "sg"]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", devices[0], "netns", names[0], "type", "veth", "peer", "name", devices[1],
           "netns", names[1])
        for name, device, address in zip(names, devices, (SERVER, GENERATOR), strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
    except subprocess.CalledProcessError as error:
        for name in names:
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)
        pytest.skip(f"this system refuses namespaces: {error.stderr.decode().strip()}")
    yield names[0], names[1]
    for name in names:
        ip("netns", "del", name)


def stress_from(namespace: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ip", "netns", "exec", namespace, sys.executable, "-m", "workbook", "stress", "5",
         *arguments], env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120)


@pytest.mark.alone
def test_server_on_another_machine_is_loaded(machines: tuple[str, str]) -> None:
    there, here = machines
    wrapper = ("ip", "netns", "exec", there)
    with running(programs.served("05-event-loop"), "--host", SERVER, wrapper=wrapper) as server:
        address = f"{SERVER}:{server.port}"
        measured = stress_from(here, "--at", address, "--phase", "baseline", "--json")
        assert measured.returncode == 0, measured.stderr
        report = json.loads(measured.stdout)
        assert report["server"] == f"http://{address}"
        baseline = report["phases"]["baseline"]
        assert baseline["requests_per_second"] > 100 and not any(baseline["errors"].values())
        assert baseline["slowest_share"] > 0
        assert baseline["cpu_us_per_request"] is None and baseline["peak_rss_mib"] is None
        shown = stress_from(here, "--at", f"http://{address}/", "--phase", "warm-up")
        assert shown.returncode == 0 and f"http://{address} under load" in shown.stdout
    refused = stress_from(here, "--at", address)
    assert refused.returncode == 1
    assert f"no answer from {SERVER}, port {server.port}" in refused.stderr
    assert "run 5 --solution -- --host 0.0.0.0" in refused.stderr


@pytest.mark.parametrize("address", ["", "http://", "https://host", "host:port", "host:99999",
                                     "http://host/path", "ftp://host", "[::1", "a b"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises((UsageError, UserError)) as refused:
        stress.remote(address, find_server("5"))
    assert refused.value.fix
