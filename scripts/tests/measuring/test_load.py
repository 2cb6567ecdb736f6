"""Load: which figures are kept, which are refused, and what wrk sends."""

from __future__ import annotations

import os
import re
import stat
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import programs
import psutil
import pytest

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SOLUTIONS
from workbook.machine import needs, network
from workbook.machine.cores import cores
from workbook.measure import load, received, stress
from workbook.measure.load import Phase
from workbook.measure.received import Received
from workbook.servers import build

QUICK = Phase("quick", "plain", 8, 0.3)
SOLUTION_NAMES = sorted(path.name for path in SOLUTIONS.glob("[0-9]*"))

# A server in Python that does to each connection what `serve` says.
SERVER = """\
#!{python}
import socket, struct, sys, threading, time
OK = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok"

def receive(client):
    data = b""
    while b"\\r\\n\\r\\n" not in data:
        more = client.recv(1 << 16)
        if not more:
            raise ConnectionError
        data += more
    return data

{serve}

def safely(client):
    with client:
        try:
            serve(client)
        except OSError:
            pass

listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
print("listening on http://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=safely, args=(listener.accept()[0],), daemon=True).start()
"""

Made = Callable[[str], Path]


@pytest.fixture(scope="session", autouse=True)
def our_network() -> None:
    """Made once, and kept until the tests end."""
    network.prefix()


@pytest.fixture
def made(tmp_path: Path) -> Made:
    def make(serve: str) -> Path:
        program = tmp_path / "server"
        body = "def serve(client):\n" + textwrap.indent(textwrap.dedent(serve), "    ")
        program.write_text(SERVER.format(python=sys.executable, serve=body))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program

    return make


@pytest.fixture
def fake_wrk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def make(text: str) -> None:
        program = tmp_path / "bin" / "wrk"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return make


def result_of(binary: Path, phase: Phase = QUICK) -> load.PhaseResult:
    with load.serving(binary) as server:
        return load.run_phase(server, phase)


@pytest.mark.alone
def test_a_good_server_has_all_figures(made: Made) -> None:
    result = result_of(made("receive(client); client.sendall(OK)"))
    assert result.reason is None
    assert result.requests_per_second == pytest.approx(result.requests / result.seconds)
    assert 0.2 < result.seconds < 3
    assert result.p50_ms and result.p99_ms and result.max_ms
    assert result.p50_ms <= result.p90_ms <= result.p99_ms
    assert result.cpu_us_per_request and result.peak_rss_mib and result.peak_rss_mib > 2
    assert not any(result.errors.values())


@pytest.mark.parametrize("serve, kind, words", [
    ("receive(client); client.sendall(OK.replace(b'200 OK', b'404 Not Found'))", "status",
     "not 2xx"),
    ("receive(client)", "read", "read errors"),
    ("receive(client); client.sendall(OK[:-1])", "read", "read errors"),
    ("receive(client); client.sendall(b'no HTTP at all\\r\\n\\r\\n')", "read", "read errors"),
    ("""
     receive(client)
     client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
     """, "read", "read errors"),
])
def test_a_bad_answer_leaves_no_figure(made: Made, serve: str, kind: str, words: str) -> None:
    result = result_of(made(serve))
    assert result.errors[kind] > 0
    assert result.reason and words in result.reason
    assert (result.requests_per_second, result.p99_ms, result.cpu_us_per_request) == (None,) * 3


def test_one_bad_answer_among_good_ones_is_enough(made: Made) -> None:
    result = result_of(made("""
        receive(client)
        bad = not globals().setdefault("count", 0)
        globals()["count"] += 1
        client.sendall(OK.replace(b"200 OK", b"500 Oh") if bad else OK)
        """))
    assert result.errors["status"] == 1
    assert result.requests > 10
    assert result.reason == "1 not 2xx"


def test_silent_server_has_no_figure(made: Made) -> None:
    result = result_of(made("time.sleep(60)"))
    assert result.requests == 0
    assert result.reason == "no request was answered"


def test_short_connections_are_not_starved() -> None:
    found = result_of(build.build_server(SOLUTIONS / "01-naive"), Phase("x", "plain", 400, 2.0))
    assert found.requests_per_second and not found.reason


@pytest.mark.alone
def test_a_late_answer_is_an_error(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "TIMEOUT_S", 1)
    result = result_of(made("receive(client); time.sleep(1.2); client.sendall(OK)"),
                       Phase("slow", "plain", 2, 2))
    assert result.errors["timeout"] > 0
    assert result.reason and "not answered within 1 s" in result.reason


FIRST_FOUR = """
served = globals().setdefault("served", set())
served.add(client)
if {condition}:
    time.sleep(60)
while receive(client):
    client.sendall(OK.replace(b"close", b"keep-alive"))
"""


@pytest.mark.alone
@pytest.mark.skipif(bool(needs.lacking("ss")), reason="starved clients are seen by ss alone")
def test_clients_without_an_answer_are_errors(made: Made) -> None:
    """The others are served as fast as before, so wrk reports none of it."""
    phase = Phase("plain", "plain", 40, 1)
    fair = result_of(made(FIRST_FOUR.format(condition="False")), phase)
    assert fair.reason is None and fair.errors["starved"] == 0
    assert fair.slowest_share and fair.slowest_share > 0.02
    starving = result_of(made(FIRST_FOUR.format(condition="len(served) > 4")), phase)
    assert starving.errors["starved"] in (36, 37)  # wrk itself connects once before them
    assert starving.reason == f"{starving.errors['starved']} clients never answered"


@pytest.mark.parametrize(("silent_ms", "requests", "starved"), [
    (400, 4000, 0), (600, 4000, 1), (600, 20, 0), (2000, 20, 1)])
def test_client_starves_only_if_the_others_had_several_turns(silent_ms: int, requests: int,
                                                             starved: int) -> None:
    """A server that serves one at a time lets each of its clients wait for all others."""
    report = {"requests": requests, "sent": requests + 9, "depth": 1, "duration_us": 1e6,
              "bytes": 100 * requests, "cpu_s": 0.5, "latency_us": {"p50": 1, "p90": 1, "p99": 1, "max": 1},
              "errors": dict.fromkeys(load.WRK_ERRORS, 0)}
    connections = [Received(100, 0)] * 7 + [Received(0, silent_ms)]
    result = load._result(Phase("x", "plain", 8, 1), report, connections, (0.5, 0.5), 1.0, None)
    assert result.errors["starved"] == starved and (result.reason is not None) == bool(starved)


def test_the_output_of_ss_is_understood() -> None:
    output = """\
0      0      127.0.0.1:38342 127.0.0.1:34111
\t cubic wscale:7,7 rto:204 rtt:0.04/0.01 mss:32768 bytes_sent:80 bytes_acked:81 segs_out:4 \
send 65536Mbps lastsnd:12 lastrcv:812 lastack:812 pacing_rate 131072Mbps delivered:2
0      0      127.0.0.1:38350 127.0.0.1:34111
\t cubic wscale:7,7 rto:204 bytes_sent:800 bytes_acked:801 bytes_received:4000 lastsnd:1 lastack:1
0      41     127.0.0.1:38352 127.0.0.1:34111
\t cubic wscale:7,7 rto:204 bytes_sent:900 bytes_acked:859 bytes_received:4300 delivered:21
"""
    connections = received.parsed(output)
    assert connections == [Received(0, 812), Received(4000, 0), Received(4300, 0)]
    assert received.slowest_share(connections) == 0
    assert received.slowest_share([]) is None


def test_unreported_closed_connections_are_counted() -> None:
    """From version 4.2 on wrk connects anew, in silence, when an answer is cut off."""
    report = {"requests": 100, "sent": 150, "depth": 1, "duration_us": 1e6, "bytes": 1,
              "cpu_s": 0.5, "latency_us": {"p50": 1, "p90": 1, "p99": 1, "max": 1},
              "errors": dict.fromkeys(load.ERROR_KINDS, 0)}
    result = load._result(Phase("x", "plain", 8, 1), report, [], (0.5, 0.5), 1.0, None)
    assert result.errors["read"] == 150 - 1 - 100 - 8
    assert result.requests_per_second is None


@pytest.mark.parametrize(("requests", "lost"), [(16 * 41, 0), (16 * 42 + 5, 0), (16 * 41 - 3, 3)])
def test_every_pipelined_request_is_accounted_for(requests: int, lost: int) -> None:
    report = {"requests": requests, "sent": 50, "depth": 16, "duration_us": 1e6, "bytes": 1,
              "cpu_s": 0.5, "latency_us": {"p50": 1, "p90": 1, "p99": 1, "max": 1},
              "errors": dict.fromkeys(load.ERROR_KINDS, 0)}
    result = load._result(Phase("x", "pipelined", 8, 1), report, [], (0.5, 0.5), 1.0, None)
    assert result.errors["read"] == lost


@pytest.mark.parametrize("script", ["header30k", "pipelined"])
def test_other_load_scripts_run_without_errors(script: str) -> None:
    result = result_of(build.build_server(SOLUTIONS / "05-event-loop"),
                       Phase(script, script, 8, 0.5))
    assert result.reason is None and result.requests > 100


def test_missing_pipelined_answers_are_errors(made: Made) -> None:
    """One answer for sixteen requests, and then the end."""
    result = result_of(made("receive(client); client.sendall(OK)"),
                       Phase("pipelined", "pipelined", 4, 1))
    assert result.reason and result.errors["read"] > 0


@pytest.mark.parametrize("name", [*SOLUTION_NAMES, "floor"])
def test_every_checkpoint_gets_through_every_phase(name: str) -> None:
    build.build_target("floor")
    binary = BUILD / "release/scripts/floor/floor"
    if name != "floor":
        binary = programs.served(name)
    for seconds in 0.7, 7:  # beside others the slowest has not answered anything in the first
        phases = [Phase(p.name, p.script, p.connections, seconds, p.threads)
                  for p in stress.short_form()]
        with load.serving(binary) as server:
            results = list(stress.measure(server, phases))
        if all(result.requests for result in results):
            break
    assert [result.phase for result in results] == list(stress.NAMES)
    assert [result.reason for result in results] == [None] * 4
    assert all(not any(result.errors.values()) for result in results)


RECORDER = """
    data = receive(client)
    head, _, body = data.partition(b"\\r\\n\\r\\n")
    fields = dict(line.split(b": ", 1) for line in head.split(b"\\r\\n")[1:])
    length = int(fields.get(b"Content-Length", 0))
    while len(body) < length:
        body += client.recv(1 << 20)
    large = len(fields.get(b"X-Large-Header", b""))
    line = head.split(b"\\r\\n")[0].decode()
    print("%s | %d | %d | %s" % (line, large, length, hash(body)), file=sys.stderr, flush=True)
    client.sendall(OK)
"""


def sent_by(script: str, binary: Path) -> list[list[str]]:
    """Request line, header size, body size and body of what one connection sends."""
    with load.serving(binary) as server:
        load.run_phase(server, Phase("x", script, 1, 2))
        return [line.split(" | ") for line in server.stop().stderr.splitlines()]


@pytest.fixture
def recorder(made: Made, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    return made(RECORDER)


def test_plain_script_sends_get_requests(recorder: Path) -> None:
    assert {tuple(row[:3]) for row in sent_by("plain", recorder)} == {("GET / HTTP/1.1", "0", "0")}


def test_header_script_sends_large_fields(recorder: Path) -> None:
    rows = sent_by("headers", recorder)[:40]
    sizes = [int(row[1]) for row in rows]
    assert len(set(sizes)) > 20
    assert all(10_000 <= size <= 60_000 for size in sizes)
    assert sum(sizes) / len(sizes) == pytest.approx(35_000, rel=0.1)


def test_heavy_script_sends_large_bodies(recorder: Path) -> None:
    rows = sent_by("heavy", recorder)[:10]
    sizes = [int(row[2]) for row in rows]
    assert {row[0] for row in rows} == {"POST /sink HTTP/1.1"}
    assert all(1_000_000 <= size <= 9_400_000 for size in sizes)
    assert sum(sizes) / len(sizes) == pytest.approx(5_200_000, rel=0.1)
    assert sorted(int(row[1]) for row in rows) == [0] * 8 + [40_000] * 2


def test_load_script_sends_the_same_every_time(recorder: Path) -> None:
    first, second = (sent_by("heavy", recorder)[:5] for _ in range(2))
    assert first == second


def test_server_and_wrk_run_on_separate_cores(made: Made) -> None:
    if not cores().apart:
        pytest.skip("one processor, or none that can be chosen")
    usual = os.sched_getaffinity(0)
    with load.serving(made("receive(client); client.sendall(OK)")) as server:
        assert os.sched_getaffinity(server.pid) == cores().server
        assert os.sched_getaffinity(0) == usual
        with load.on_processors(cores().client):
            assert os.sched_getaffinity(0) == cores().client


@pytest.mark.alone
def test_phase_starts_after_the_previous_one_settled() -> None:
    """A serial server still works on what wrk has left behind."""
    with load.serving(build.build_server(SOLUTIONS / "01-naive")) as server:
        load.run_phase(server, Phase("x", "headers", 16, 0.5))
        load.settle(server)
        before = sum(load._cpu_s(psutil.Process(server.pid)))
        time.sleep(0.3)
        assert sum(load._cpu_s(psutil.Process(server.pid))) - before < 0.05


def test_busy_server_has_no_second_figure(made: Made,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "settle", lambda server, pause_s: False)
    with load.serving(made("receive(client); client.sendall(OK)")) as server:
        first, second = stress.measure(server, [QUICK, QUICK])
    assert first.reason is None
    assert second.reason == stress.STILL_BUSY and second.requests_per_second is None


def test_memory_is_the_peak_of_its_own_phase(made: Made) -> None:
    """What an earlier phase took at its worst is not held against a later one."""
    binary = made("""
        taken = b"x" * (40_000_000 if len(receive(client)) > 5000 else 0)
        del taken
        client.sendall(OK)
        """)
    with load.serving(binary) as server:
        first, second = stress.measure(server, [Phase("x", "headers", 1, 2),
                                                Phase("y", "plain", 1, 1)])
    assert first.peak_rss_mib and second.peak_rss_mib
    assert first.peak_rss_mib > second.peak_rss_mib + 25


def test_server_crash_under_load_is_reported(made: Made) -> None:
    binary = made("receive(client); import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(UserError, match="died while it was being asked .*SIGSEGV"):
        result_of(binary)


def test_failing_wrk_is_reported(made: Made, fake_wrk: Callable[[str], None]) -> None:
    fake_wrk("echo unable to do it >&2; exit 3")
    with pytest.raises(UserError, match="(?s)wrk failed.*unable to do it"):
        result_of(made("pass"))


def test_unreadable_wrk_output_is_reported(made: Made, fake_wrk: Callable[[str], None]) -> None:
    fake_wrk("echo '{half a line'")
    with pytest.raises(UserError, match="wrk failed"):
        result_of(made("pass"))


def test_hanging_wrk_is_killed_and_reported(made: Made, fake_wrk: Callable[[str], None],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "OVERTIME_S", 0.3)
    fake_wrk("trap '' INT; exec sleep 77")
    with pytest.raises(UserError, match="hangs"):
        result_of(made("pass"))
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "77"]]


def test_load_runs_in_its_own_network_namespace(made: Made) -> None:
    """Nothing of the host can be in the way, nor reach the server."""
    if not network.prefix():
        pytest.skip("this system grants no network namespace")
    with load.serving(made("receive(client); client.sendall(OK)")) as server:
        assert _network_of(server.pid) != _network_of(os.getpid())
        assert load.run_phase(server, QUICK).reason is None
    assert network.space() == 1


def _network_of(pid: int) -> str:
    return os.readlink(f"/proc/{pid}/ns/net")


def test_a_full_connection_table_is_named(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "space", lambda: 0.01)
    monkeypatch.setattr(load, "_wait_for_space", lambda: None)
    result = result_of(made("receive(client); client.sendall(OK)"))
    assert result.requests_per_second is None
    assert result.reason and "nf_conntrack_max" in result.reason


def test_full_form_has_the_published_sizes() -> None:
    sizes = [(p.threads, p.connections, p.seconds) for p in stress.full_form()]
    assert sizes == [(8, 1000, 5), (8, 10_000, 10), (4, 5000, 10), (4, 100, 15)]


def test_older_form_has_the_published_sizes_and_is_served() -> None:
    phases = stress.older_form()
    assert [(p.threads, p.connections, p.seconds) for p in phases] == [(2, 400, 10)] * 3
    with load.serving(build.build_server(SOLUTIONS / "02-fewer-syscalls")) as server:
        for phase in phases:
            result = load.run_phase(server, Phase(phase.name, phase.script, 1, 1))
            assert result.requests_per_second, result.reason


def test_connections_are_fitted_to_the_descriptor_limit() -> None:
    fitted, remark = stress.fit(stress.full_form(), 4096)
    assert [phase.connections for phase in fitted] == [1000, 4032, 4032, 100]
    assert "4,096" in remark and "baseline 4,032 instead of 10,000" in remark
    assert "ulimit -Hn 65536" in remark
    assert stress.fit(stress.full_form(), 65_536) == (list(stress.full_form()), "")
    with pytest.raises(UserError, match="descriptor limit of 64"):
        stress.fit(stress.short_form(), 64)


def test_short_form_takes_less_than_15_seconds() -> None:
    assert sum(phase.seconds + 0.4 for phase in stress.short_form()) < 15


def test_full_accept_queue_is_reported(made: Made) -> None:
    """A listener without a server behind it, whose queue holds two connections."""
    binary = made("time.sleep(60)")
    text = binary.read_text().replace("backlog=1024", "backlog=1")
    binary.write_text(text.replace("while True:", "time.sleep(60)\nwhile True:"))
    result = result_of(binary, Phase("x", "plain", 20, 1.5))
    if sys.platform.startswith("linux"):
        assert result.note and re.search(r"accept queue .* was full: \d+ attempts", result.note)


def test_load_without_wrk_is_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    with load.serving(made("pass")) as server:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(UserError, match="wrk, the load generator|wrk is in "):
            load.run_phase(server, QUICK)
