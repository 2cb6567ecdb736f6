"""A server on one machine and the load generator on another: two network namespaces, joined by a
pair of virtual Ethernet devices (veth(4)), take their place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import programs
import pytest

from workbook.common.errors import UsageError, UserError
from workbook.common.paths import SCRIPTS
from workbook.course.chapters import find_server
from workbook.measure import second_machine
from workbook.servers.process import running
from workbook.verbs import stress

SERVER, GENERATOR = "10.213.7.1", "10.213.7.2"
FAR_SERVER, FAR_GENERATOR = "10.213.8.1", "10.213.8.2"  # over the slow cable


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


@pytest.fixture
def by_ssh(machines: tuple[str, str], tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A namespace from which ssh reaches the other one, and the temporary directory over there."""
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if not sshd or not shutil.which("ssh"):
        pytest.skip("openssh-server is not installed")
    there, here = machines
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress {SERVER}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\n"
        f"StrictModes no\nPidFile none\nUsePAM no\nPermitRootLogin prohibit-password\n"
        f"SetEnv TMPDIR={scratch}\n")
    (tmp_path / "ssh_config").write_text(
        f"Host other\n  HostName {SERVER}\n  User root\n  IdentityFile {tmp_path}/user\n"
        f"  StrictHostKeyChecking no\n  UserKnownHostsFile {tmp_path}/known\n")
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {tmp_path}/ssh_config "$@"\n')
    wrapper.chmod(0o700)
    Path("/run/sshd").mkdir(exist_ok=True)
    with (tmp_path / "sshd.log").open("w") as log:
        daemon = subprocess.Popen(["ip", "netns", "exec", there, sshd, "-D", "-e", "-f",
                                   tmp_path / "sshd_config"], stderr=log)
    os.environ["PATH"] = f"{wrapper.parent}:{os.environ['PATH']}"
    yield here, scratch
    os.environ["PATH"] = os.environ["PATH"].removeprefix(f"{wrapper.parent}:")
    daemon.terminate()
    daemon.wait()


@pytest.mark.alone
def test_server_is_copied_and_started_by_ssh(by_ssh: tuple[str, Path]) -> None:
    here, scratch = by_ssh
    measured = stress_from(here, "--solution", "--server", "other", "--phase", "baseline", "--json")
    assert measured.returncode == 0, measured.stderr
    report = json.loads(measured.stdout)
    assert report["server"] == "solutions/05-event-loop on other"
    baseline = report["phases"]["baseline"]
    assert baseline["requests_per_second"] > 100 and not any(baseline["errors"].values())
    assert baseline["cpu_us_per_request"] > 1 and baseline["peak_rss_mib"] is None
    assert not list(scratch.iterdir())  # the program is gone, and so is its directory
    at_rate = stress_from(here, "--solution", "--server", "other", "--rate", "100", "--seconds", "1")
    assert at_rate.returncode == 0 and "solutions/05-event-loop on other, 100 requests" in at_rate.stdout


@pytest.mark.alone
def test_server_ends_when_its_command_is_killed(by_ssh: tuple[str, Path]) -> None:
    here, scratch = by_ssh
    command = subprocess.Popen(
        ["ip", "netns", "exec", here, sys.executable, "-m", "workbook", "stress", "5", "--solution",
         "--server", "other", "--rate", "10", "--seconds", "60"],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: list(scratch.glob("*/err")))
    time.sleep(1)
    command.kill()
    command.wait()
    wait_until(lambda: not list(scratch.iterdir()))


def wait_until(there: Callable[[], object], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_copying_leaves_nothing_if_its_answer_is_not_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(["sh", "-c", second_machine.COPY], input=b"program", stdout=writing,
                          stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)})
    os.close(writing)
    assert done.returncode == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("target", "reason"), [
    ("stranger@other", "ssh to stranger@other failed: "),
    ("root@no-such-machine.invalid", "no-such-machine.invalid has no address")])
def test_machine_that_ssh_does_not_reach_is_named(by_ssh: tuple[str, Path], target: str, reason: str
                                                  ) -> None:
    refused = stress_from(by_ssh[0], "--solution", "--server", target)
    assert refused.returncode == 1 and reason in refused.stderr and "Traceback" not in refused.stderr


def test_machine_of_another_kind_is_named(by_ssh: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
                                          ) -> None:
    here, scratch = by_ssh
    fake = scratch.parent / "kind"
    fake.mkdir()
    (fake / "uname").write_text("#!/bin/sh\necho Linux riscv64\n")
    (fake / "uname").chmod(0o755)
    config = scratch.parent / "ssh_config"
    wrapper = scratch.parent / "bin" / "ssh"
    wrapper.write_text("#!/bin/sh\n"
                       f'[ "$1" = -G ] || set -- "$1" "$2" "PATH={fake}:$PATH; $3"\n'
                       f'exec /usr/bin/ssh -F {config} "$@"\n')
    refused = stress_from(here, "--solution", "--server", "other")
    assert refused.returncode == 1 and "other is Linux riscv64 and this machine is Linux" in refused.stderr
    assert not list(scratch.iterdir())


@pytest.mark.alone
def test_delay_of_the_network_is_in_every_latency(machines: tuple[str, str]) -> None:
    there, here = machines
    with delayed(there, here, delay_s=0.005), running(
            programs.served("05-event-loop"), "--host", FAR_SERVER,
            wrapper=("ip", "netns", "exec", there)) as server:
        address = f"{FAR_SERVER}:{server.port}"
        measured = stress_from(here, "--at", address, "--rate", "50", "--seconds", "2", "--json")
        assert measured.returncode == 0, measured.stderr
        assert json.loads(measured.stdout)["due_ms"]["50"] >= 10  # there and back
        warm_up = stress_from(here, "--at", address, "--phase", "warm-up", "--json")
        phase = json.loads(warm_up.stdout)["phases"]["warm-up"]
        assert phase["p50_ms"] >= 10
        # A closed loop sends one request per client and round trip, at most.
        assert phase["requests_per_second"] <= phase["connections"] / 0.010


@contextmanager
def delayed(there: str, here: str, delay_s: float) -> Iterator[None]:
    """A second cable between the namespaces, whose packets take so long each way. This kernel need not
    have netem: a process of ours holds the packets of two TUN devices.
    """
    if not Path("/dev/net/tun").exists():
        pytest.skip("this system has no /dev/net/tun")
    link = subprocess.Popen([sys.executable, Path(__file__).with_name("delayed_link.py"), str(delay_s),
                             there, f"{FAR_SERVER}/24", here, f"{FAR_GENERATOR}/24"],
                            stdout=subprocess.PIPE, text=True)
    try:
        assert link.stdout is not None and link.stdout.readline() == "ready\n"
        yield
    finally:
        link.terminate()
        link.wait()


@pytest.mark.parametrize("address", ["", "http://", "https://host", "host:port", "host:99999",
                                     "http://host/path", "ftp://host", "[::1", "a b"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises((UsageError, UserError)) as refused:
        stress.remote(address, find_server("5"))
    assert refused.value.fix
