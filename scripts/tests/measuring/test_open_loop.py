"""The load generator with a fixed rate, and what `stress --rate` prints of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import programs
import pytest
from conftest import Hotpath

from workbook.figures import latency
from workbook.measure import open_loop
from workbook.measure.load import Remote
from workbook.measure.open_loop import Latencies, Plan
from workbook.servers import build
from workbook.servers.process import running

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


@contextmanager
def answering(serve: Callable[[socket.socket], None]) -> Iterator[Remote]:
    """A server that calls `serve` for each connection, in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=serve, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield Remote("stand-in", f"http://127.0.0.1:{port}", "127.0.0.1", port)
        listener.shutdown(socket.SHUT_RDWR)


def with_answer(answer: bytes, requests: list[bytes] | None = None) -> Callable[[socket.socket], None]:
    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            while request := client.recv(65_536):
                if requests is not None:
                    requests.append(request)
                client.sendall(answer)
                if b"Connection: close" in answer:
                    return

    return serve


def test_every_request_that_is_due_is_sent_and_counted() -> None:
    requests: list[bytes] = []
    with answering(with_answer(ANSWER, requests)) as server:
        found = open_loop.measure(build.open_loop(), server, Plan(100, 2, 4))
    assert found.reason is None
    assert len(found.due) == len(found.sent) == 200 == len(requests)
    assert requests[0].startswith(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")


@pytest.mark.parametrize("answer", [
    ANSWER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
    b"HTTP/1.1 204 No Content\r\n\r\n"], ids=["closed", "no content"])
def test_answers_of_other_forms_end(answer: bytes) -> None:
    with answering(with_answer(answer)) as server:
        found = open_loop.measure(build.open_loop(), server, Plan(50, 1, 4))
    assert found.reason is None and len(found.due) == 50


def test_request_on_a_connection_that_was_just_closed_is_sent_again() -> None:
    """Each answer permits a next request, and the server closes all the same. On one connection there
    is always a request that waits, so that it is sent before the end can be seen.
    """
    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.recv(65_536)
            client.sendall(ANSWER)

    with answering(serve) as server:
        found = open_loop.measure(build.open_loop(), server, Plan(20_000, 1, 1))
    assert found.reason is None and len(found.due) == 20_000


@pytest.mark.alone
def test_stall_makes_all_slow_that_became_due_meanwhile() -> None:
    with running(programs.served("05-event-loop")) as server:

        def stop() -> None:
            time.sleep(1)
            os.kill(server.pid, signal.SIGSTOP)
            time.sleep(1)
            os.kill(server.pid, signal.SIGCONT)

        remote = Remote("05", server.address, server.host, server.port)
        found = open_loop.measure(build.open_loop(), remote, Plan(100, 3, 2), stop)
    slow_since_due, slow_since_sent = (sum(ms > 100 for ms in times) for times in (found.due, found.sent))
    assert slow_since_due > 50
    assert slow_since_sent <= slow_since_due / 5


@pytest.mark.parametrize(("answer", "reason"), [
    (ANSWER.replace(b"200 OK", b"503 Busy"), "50 not 2xx"),
    (b"", "50 failed"),
    (ANSWER[:-1] + b"", "50 failed")], ids=["wrong status", "closed at once", "cut"])
def test_error_leaves_no_figure(answer: bytes, reason: str) -> None:

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.recv(65_536)
            client.sendall(answer)

    with answering(serve) as server:
        found = open_loop.measure(build.open_loop(), server, Plan(50, 1, 50))
    assert found.reason == reason


def test_client_that_is_never_answered_is_counted() -> None:
    with answering(lambda client: time.sleep(30)) as server:
        done = subprocess.run([build.open_loop(), "--port", str(server.port), "--rate", "10",
                               "--seconds", "1", "--grace", "1", "--connections", "3"],
                              capture_output=True, text=True, timeout=60)
    found = open_loop.parsed(Plan(10, 1, 3), done.stdout)
    assert found.errors == {"status": 0, "failed": 0, "waiting": 10}
    assert found.reason == "10 not answered within 30 s"


def test_server_that_is_gone_is_an_error_for_each_request() -> None:
    with answering(with_answer(ANSWER)) as server:
        pass
    found = open_loop.measure(build.open_loop(), server, Plan(20, 1, 3))
    assert found.errors["failed"] == 20


@pytest.mark.parametrize("arguments", [
    ["--rate", "0"], ["--rate", "x"], ["--rate", "1e9"], ["--seconds", "0"], ["--connections", "1001"],
    ["--port", "0"], ["--host", "localhost"], ["--nope"], ["more"]])
def test_bad_option_is_named(arguments: list[str]) -> None:
    done = subprocess.run([build.open_loop(), "--port", "1", *arguments], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout
    assert arguments[-1] in done.stderr or "see --help" in done.stderr


def test_percentiles_are_of_the_requests_themselves() -> None:
    times = [float(ms) for ms in range(1, 101)]
    assert [open_loop.at(times, share) for share in (0.0, 0.5, 0.9, 0.99, 0.999, 1.0)] == [
        1, 50, 90, 99, 100, 100]
    assert open_loop.at([], 0.5) is None
    shares, values = zip(*open_loop.curve(times), strict=True)
    assert shares[0] == 0 and shares[-1] <= 0.99 and list(values) == sorted(values)
    assert open_loop.curve([0.1] * 1_000_000)[-1] == (0.99999, 0.1)


def test_generator_that_is_late_itself_is_reported() -> None:
    busy = Latencies(Plan(10), due=[2.0] * 100, sent=[1.0] * 100, late=[0.1] * 90 + [1.5] * 10)
    assert busy.note is not None and "1.5 ms" in busy.note
    assert Latencies(Plan(10), due=[2.0] * 100, sent=[1.9] * 100, late=[0.1] * 100).note is None


@pytest.mark.parametrize("times", [[0.1], [0.1] * 1_000_000], ids=["one", "a million"])
def test_plot_takes_any_number_of_requests(times: list[float]) -> None:
    assert "0 %" in latency.draw({"since due": open_loop.curve(times)}, "A title")


def test_plot_has_both_curves_and_their_words() -> None:
    times = [0.1] * 900 + [1000.0] * 100
    drawn = latency.draw({"since due": open_loop.curve(times), "since sent": open_loop.curve(times[:950])},
                         "A title")
    assert "since due" in drawn and "since sent" in drawn and "99 %" in drawn
    assert "% within" in drawn


@pytest.mark.parametrize("arguments", [
    ["--rate", "100", "--form", "full"], ["--rate", "100", "--phase", "heavy"], ["--seconds", "3"],
    ["--connections", "3"], ["--rate", "0"], ["--rate", "100", "--connections", "0"],
    ["--rate", "1000000", "--seconds", "60"],
    ["--at", "h", "--server", "h"], ["--server", "h", "--in", "linux"], ["--server", "-oProxyCommand=x"], ["--server", ""]])
def test_options_that_do_not_go_together_are_refused(hotpath: Hotpath, arguments: list[str]) -> None:
    done = hotpath("stress", "5", "--solution", *arguments)
    assert done.returncode == 2 and "Traceback" not in done.stderr
