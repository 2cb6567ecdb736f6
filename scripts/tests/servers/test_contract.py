"""What every server promises on its command line, from its first line to its last answer."""

from __future__ import annotations

import os
import re
import signal
import socket
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import programs
import pytest

from workbook.checks.behaviour.rows import PAGE_ANSWER, get
from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SOLUTIONS
from workbook.course import trees
from workbook.servers.build import build_target
from workbook.servers.client import exchange
from workbook.servers.process import Server, running, running_other

FLOOR = "floor"
CHECKPOINTS = programs.CLIMB
LONG_BODY = b"hot path " * 700_000  # more than the sockets between us hold

pytestmark = pytest.mark.usefixtures("no_process_left")


@pytest.fixture(scope="module", params=[*CHECKPOINTS, FLOOR])
def binary(request: pytest.FixtureRequest) -> Path:
    if request.param != FLOOR:
        return programs.served(request.param)
    build_target(FLOOR)
    return BUILD / "release" / "scripts" / "floor" / "floor"


@pytest.fixture(scope="module", params=CHECKPOINTS)
def checkpoint(request: pytest.FixtureRequest) -> Path:
    """A server with routes, which the floor has not."""
    return programs.served(request.param)


def run(binary: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=60)


def test_help_names_every_option(binary: Path) -> None:
    reported = run(binary, "--help")
    assert (reported.returncode, reported.stderr) == (0, "")
    assert reported.stdout.startswith("usage: ")
    for option in ("--host", "--port", "--threads", "--help"):
        assert option in reported.stdout


HIDDEN = {"limits"}  # an older form of five options
WITHOUT_DEFAULT = {"root", "access-log", "error-log", "cert", "key", "help"}
DEFAULTS = {
    "cache": "67108864", "host": "127.0.0.1", "port": "8080", "timeout": "60",
    "head-timeout": "30", "progress-timeout": "10", "linger-timeout": "2", "stop-timeout": "1",
    "min-rate": "500", "max-clients": "10000", "per-address": "0", "max-buffered": "67108864",
    "log-format": "combined", "log-level": "warn", "log-size": "0", "ticket-lifetime": "3600",
}
TIMEOUTS = [option for option in DEFAULTS if option.endswith("timeout")]
WITH_TABLE = [name for name in CHECKPOINTS if (SOLUTIONS / name / "options.cpp").exists()]
assert WITH_TABLE


def described(binary: Path) -> dict[str, str]:
    """What --help says of each option, in a line that begins with its name."""
    lines = run(binary, "--help").stdout.partition("\n\n")[2]
    return dict(re.findall(r"^  --([a-z-]+)\b(.*?)(?=^  --|\Z)", lines, re.M | re.S))


def test_help_and_its_synopsis_name_the_same_options(checkpoint: Path) -> None:
    synopsis = run(checkpoint, "--help").stdout.partition("\n\n")[0]
    assert re.findall(r"\[--([a-z-]+)", synopsis) == list(described(checkpoint))


def test_help_names_the_options_that_are_parsed(checkpoint: Path) -> None:
    """getopt_long(3) accepts each prefix that stands for one option, so trying them finds all."""
    known = {*described(checkpoint), *(HIDDEN if checkpoint.parent.name in WITH_TABLE else ())}
    assert set(accepted_prefixes(checkpoint)) == shortest_prefixes(known)
    for option in known - {"help"}:
        assert "unrecognized" not in run(checkpoint, f"--{option}").stderr, option


def accepted_prefixes(binary: Path, prefix: str = "") -> Iterator[str]:
    """The shortest prefixes of the server's options that are not ambiguous."""
    for letter in f"{string.ascii_lowercase}-" if prefix else string.ascii_lowercase:
        tried = run(binary, f"--{prefix}{letter}")
        if "ambiguous" in tried.stderr:
            yield from accepted_prefixes(binary, prefix + letter)
        elif "requires an argument" in tried.stderr or tried.returncode == 0:
            yield prefix + letter


def shortest_prefixes(options: set[str]) -> set[str]:
    found = set()
    for option in options:
        size = next(size for size in range(1, len(option) + 1)
                    if sum(other.startswith(option[:size]) for other in options) == 1)
        found.add(option[:size])
    return found


@pytest.mark.parametrize("name", WITH_TABLE)
def test_help_shows_the_defaults(name: str) -> None:
    for option, text in described(programs.served(name)).items():
        default = re.search(r"\(default ([^)]*)\)", " ".join(text.split()))
        if option in WITHOUT_DEFAULT:
            assert default is None, option
        elif option == "threads":
            assert default and default[1] in {"1", str(len(os.sched_getaffinity(0)))}
        else:
            assert default and default[1] == DEFAULTS[option], option


@pytest.mark.parametrize("name", WITH_TABLE)
def test_help_fits_a_terminal(name: str) -> None:
    reported = run(programs.served(name), "--help").stdout
    assert max(map(len, reported.splitlines())) <= 80


@pytest.mark.parametrize("name", WITH_TABLE)
def test_timeouts_are_seconds(name: str) -> None:
    for option in TIMEOUTS:
        for value in ("", "x", "1x", "-1", "1.5", "4294967296"):
            refused = run(programs.served(name), "--port", "0", f"--{option}", value)
            assert (refused.returncode, refused.stdout) == (1, "")
            assert (f"--{option} {value or EMPTY}: must be a whole number from 0 to 4294967295"
                    in refused.stderr)


EMPTY = "''"  # how an empty value is shown
SLOW = "60,60,60,60,1"
CLOSES = [("--limits", "60,1,60,60,1"), ("--limits", SLOW, "--head-timeout", "1"),
          ("--timeout", "1", "--limits", "60,1,60,60,1")]
STAYS = [("--head-timeout", "1", "--limits", SLOW), ("--limits", "60,60,1,1,1")]


@pytest.mark.parametrize("name", [WITH_TABLE[0], WITH_TABLE[-1]])
def test_limits_set_what_the_timeouts_set(name: str) -> None:
    with ExitStack() as stack:
        closes, stays = ([half_a_head(stack, name, options) for options in group]
                         for group in (CLOSES, STAYS))
        for client in closes:
            client.settimeout(30)
            assert client.recv(1) == b""
        time.sleep(1.5)  # the others would be due, too, and swept
        for client in stays:
            client.settimeout(0)
            with pytest.raises(BlockingIOError):
                client.recv(1)


def half_a_head(stack: ExitStack, name: str, options: tuple[str, ...]) -> socket.socket:
    """A client of a server of its own."""
    server = stack.enter_context(running(programs.served(name), *options))
    client = stack.enter_context(socket.create_connection((server.host, server.port)))
    client.sendall(b"GET / HTTP/1.1\r\n")
    return client


@pytest.mark.parametrize("arguments", [
    ("--nonsense",),
    ("--port",),
    ("--port", "http"),
    ("--port", "80x"),
    ("--port", "65536"),
    ("--port", "-1"),
    ("--threads", "0"),
    ("--threads", "many"),
    ("--host", "not-an-address"),
    ("stray",),
], ids=" ".join)
def test_a_bad_option_is_refused(binary: Path, arguments: tuple[str, ...]) -> None:
    refused = run(binary, "--port", "0", *arguments)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert arguments[-1].lstrip("-") in refused.stderr


@pytest.mark.parametrize("limits", ["", "60", "1,2,3,4", "1,2,3,4,", "1,2,3,4,5,", "1,2,3,4,x",
                                    "-1,2,3,4,5", "1,2,3,4,-5", "1, 2,3,4,5", "4294967296,2,3,4,5"])
@pytest.mark.parametrize("name", WITH_TABLE)
def test_limits_other_than_five_numbers_are_refused(name: str, limits: str) -> None:
    refused = run(programs.served(name), "--port", "0", "--limits", limits)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"--limits {limits or EMPTY}: must be five numbers" in refused.stderr


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_port_in_use_is_refused(binary: Path, threads: str) -> None:
    with running(binary, "--threads", threads) as first:
        second = run(binary, "--port", str(first.port), "--threads", threads)
    assert (second.returncode, second.stdout) == (1, "")
    assert f"127.0.0.1:{first.port}" in second.stderr


@pytest.mark.skipif(sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
                    reason="a set of cores that is smaller than the machine takes two and Linux")
@pytest.mark.parametrize("name", [name for name in CHECKPOINTS
                                  if trees.source(SOLUTIONS / name, "affinity_linux.cpp").exists()])
def test_server_starts_a_worker_per_usable_core(name: str) -> None:
    allowed = os.sched_getaffinity(0)
    core = min(allowed)
    with running(programs.served(name), wrapper=["taskset", "-c", str(core)]) as server:
        assert amounts_to(server, 1)
    with running(programs.served(name)) as server:
        assert amounts_to(server, len(allowed))


def amounts_to(server: Server, threads: int) -> bool:
    """Whether it has so many soon: they may begin after it says that it is ready."""
    deadline = time.monotonic() + 30
    while server.threads() != threads and time.monotonic() < deadline:
        time.sleep(0.05)
    return server.threads() == threads


def test_server_announces_once_that_it_listens(binary: Path) -> None:
    process = subprocess.Popen([binary, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    port = int(line.rpartition(":")[2])
    socket.create_connection(("127.0.0.1", port)).close()
    process.terminate()
    assert process.wait(5) == 0
    assert line + process.stdout.read() == f"listening on http://127.0.0.1:{port}\n"
    process.stdout.close()


def test_server_listens_on_ipv6(binary: Path) -> None:
    if not has_ipv6():
        pytest.skip("this system has no IPv6 loopback")
    with running(binary, "--host", "::1") as server:
        assert server.address == f"http://[::1]:{server.port}"
        with socket.create_connection(("::1", server.port), timeout=60) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n")
            with client.makefile("rb") as answer:
                assert answer.readline() == b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("name", [CHECKPOINTS[1], CHECKPOINTS[5]])
def test_longest_response_head_fits_its_buffer(name: str) -> None:
    """Chapters 2 and 6 say how it is written. Half of it is for the type of the content."""
    tree, usual = trees.read(SOLUTIONS / name), b"text/html; charset=utf-8"

    def with_type(size: int) -> Path:
        app = tree["app.cpp"].replace(usual, b"x" * size)
        return programs.aside(f"typed-{name}", {**tree, "app.cpp": app}, "asan")

    with running(with_type(127)) as server:
        answer = exchange((server.host, server.port), (get(),), 5).data
        assert answer == PAGE_ANSWER.replace(usual, b"x" * 127)
    with pytest.raises(UserError, match="static assertion failed"):
        with_type(128)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_signal_ends_the_server(binary: Path, number: signal.Signals) -> None:
    with running(binary) as server:
        os.kill(server.pid, number)
        assert ends_within(server, 2)
        assert server.stop().exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_signal_lets_the_server_finish_its_answer(checkpoint: Path, number: signal.Signals) -> None:
    a_call_a_byte = checkpoint.parent.name == CHECKPOINTS[0]
    body = LONG_BODY[:500_000] if a_call_a_byte else LONG_BODY
    with running(checkpoint) as server, echoing(server, body) as client:
        received = client.recv(1)
        os.kill(server.pid, number)
        while data := client.recv(1 << 20):
            received += data
        assert received.startswith(b"HTTP/1.1 200 OK\r\n")
        assert received.partition(b"\r\n\r\n")[2] == body
        assert ends_within(server, 2)
        assert server.stop().exit_code == 0


@contextmanager
def echoing(server: Server, body: bytes) -> Iterator[socket.socket]:
    """A client whose request is sent and whose answer is on its way."""
    head = f"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    client.settimeout(60)
    with client:
        client.connect(("127.0.0.1", server.port))
        client.sendall(head.encode() + body)
        yield client


def ends_within(server: Server, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while server.alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not server.alive()


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


# Servers that are not ours: they promise nothing but to listen.

def other(text: str) -> tuple[list[str], int]:
    """A program in Python that is to listen at `port`, and that port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return [sys.executable, "-c", f"import socket, subprocess, time\nport = {port}\n{text}"], port


LISTENS = "listener = socket.create_server(('127.0.0.1', port))\nlistener.accept()\ntime.sleep(60)"


@pytest.mark.skipif(sys.platform != "linux", reason="who listens is read from /proc")
@pytest.mark.parametrize("before", ["time.sleep(0.5)", "subprocess.Popen(['sleep', '2'])"])
@pytest.mark.parametrize("wrapper", [(), ("strace", "-f", "-o", "/dev/null")])
def test_other_server_is_ready_when_it_listens(before: str, wrapper: tuple[str, ...]) -> None:
    command, port = other(f"{before}\n{LISTENS}")
    with running_other(command, port, wrapper=wrapper) as server:
        assert Path(f"/proc/{server.pid}/comm").read_text().strip() == Path(sys.executable).name
        socket.create_connection((server.host, server.port)).close()
        assert not server.stop().killed


def test_other_server_that_exits_is_reported_with_its_output() -> None:
    command, port = other("raise SystemExit('no such option')")
    with pytest.raises(UserError, match="ended before it was ready.*\n.*no such option"):
        with running_other(command, port):
            pass
