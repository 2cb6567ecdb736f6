"""The behaviour suite itself: the table is whole, and every kind of fault is named."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbook.checks import registry
from workbook.checks.behaviour import alone, cases, rows, stop, suite, wording
from workbook.checks.behaviour.unchanged import GET
from workbook.common.errors import UserError
from workbook.servers import heads
from workbook.servers.client import HalfClose, Pause, Sip, Vanish
from workbook.servers.process import Server

REQUESTS = "behaviour.requests"
LEVEL = re.compile(r"\((MUST|SHOULD|MAY|ours)\)")  # how strictly an RFC requires it
Serve = Callable[[socket.socket], None]


def named(name: str) -> rows.Case:
    return next(case for case in cases.table() if case.name == name)


def test_case_table_is_complete_and_unique() -> None:
    table = cases.table()
    names = [case.name for case in table]
    assert len(set(names)) == len(names)
    assert sum(case.level == 1 for case in table) >= 80
    assert sum(case.level == 5 for case in table) >= 80
    assert {case.check for case in table} == {check.name for check in registry.CHECKS
                                              if check.cases}
    for case in table:
        assert case.reference and case.name.isprintable() and " " not in case.name
        assert "RFC" not in case.reference or LEVEL.search(case.reference), case.name
        assert bool(case.expect) + bool(case.alone) + bool(case.talk) == 1
        assert case.check.removeprefix("behaviour.") in (
            case.name.partition("/")[0], case.name.partition("@")[2])


@pytest.mark.parametrize("what, request_", [("get", rows.get(b"/?x=1")), ("post", None)])
def test_request_is_cut_at_every_byte(what: str, request_: bytes | None) -> None:
    cuts = [case.steps for case in cases.table() if case.name.startswith(f"cuts/{what}-at-")
            and "@" not in case.name]
    whole = request_ or b"".join(step for step in cuts[0] if isinstance(step, bytes))
    assert sorted(len(steps[0]) for steps in cuts) == list(range(1, len(whole)))
    assert all(steps[0] + steps[2] == whole for steps in cuts)


@pytest.mark.parametrize("what", ["two-gets", "post-and-get", "error-and-get"])
def test_pipeline_is_cut_at_every_byte(what: str) -> None:
    cuts = [case.steps for case in cases.table()
            if case.name.startswith(f"pipelining/{what}-cut-at-") and "@" not in case.name]
    whole = cuts[0][0] + cuts[0][2]
    assert sorted(len(steps[0]) for steps in cuts) == list(range(1, len(whole)))
    assert whole.count(b" HTTP/1.1\r\n") == 2
    assert all(steps[0] + steps[2] == whole for steps in cuts)


def test_a_case_holds_between_its_levels() -> None:
    case = named("connections/next-request-is-ignored")
    assert [level for level in range(1, 7) if case.holds_at(level)] == [1, 2, 3, 4]


@pytest.fixture
def serve() -> Iterator[Callable[[Serve], tuple[str, int]]]:
    """Starts servers that do to each client what a function says."""
    listeners: list[socket.socket] = []

    def start(handle: Serve) -> tuple[str, int]:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def loop() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    handle(client)

        threading.Thread(target=loop, daemon=True).start()
        return listener.getsockname()

    yield start
    for listener in listeners:
        listener.close()


def answers(data: bytes) -> Serve:
    def handle(client: socket.socket) -> None:
        client.recv(65_536)
        client.sendall(data)

    return handle


def page_case(**changes: object) -> rows.Case:
    return rows.row("page", rows.get(), rows.PAGE_ANSWER, "RFC", check=REQUESTS, **changes)


def test_right_answer_passes(serve: Callable[[Serve], tuple[str, int]]) -> None:
    assert suite.perform(page_case(), serve(answers(rows.PAGE_ANSWER))) is None


@pytest.mark.parametrize("data, problem", [
    (rows.PAGE_ANSWER[:-1], "differs from byte"),
    (rows.PAGE_ANSWER + b"x", "differs from byte"),
    (rows.PAGE_ANSWER.replace(b"Length: 1", b"Length:  1"), "differs from byte 73"),
    (rows.PAGE_ANSWER.replace(b"Content-T", b"content-t"), "differs from byte 17"),
    (rows.BAD, "status 400 where 200 is expected"),
    (b"", "closed without an answer"),
])
def test_wrong_answer_is_reported(serve: Callable[[Serve], tuple[str, int]], data: bytes,
                                  problem: str) -> None:
    failure = suite.perform(page_case(), serve(answers(data)))
    assert failure is not None and problem in failure.problem


def test_unexpected_answer_is_reported(
        serve: Callable[[Serve], tuple[str, int]]) -> None:
    case = rows.row("x", (b"GET", HalfClose()), rows.NO_ANSWER, "RFC")
    failure = suite.perform(case, serve(answers(rows.BAD)))
    assert failure is not None and "should just have been closed" in failure.problem


def test_reset_is_reported(serve: Callable[[Serve], tuple[str, int]]) -> None:
    def reset(client: socket.socket) -> None:
        client.recv(10)
        client.sendall(rows.PAGE_ANSWER)  # and closes with bytes unread

    case = rows.row("x", (rows.get(), Pause(0.05)), rows.PAGE_ANSWER, "RFC")
    failure = suite.perform(case, serve(reset))
    assert failure is not None and "connection was reset after" in failure.problem


def test_hang_is_reported(serve: Callable[[Serve], tuple[str, int]]) -> None:
    case = page_case(timeout_s=0.2)
    failure = suite.perform(case, serve(lambda client: time.sleep(0.6)))
    assert failure is not None and "no end of the answer within 0.2 s: nothing" in failure.problem


def test_status_comes_before_a_missing_end(serve: Callable[[Serve], tuple[str, int]]) -> None:
    def keep(client: socket.socket) -> None:
        client.recv(1000)
        client.sendall(rows.BAD)
        time.sleep(0.6)

    failure = suite.perform(page_case(timeout_s=0.2), serve(keep))
    assert failure is not None
    assert failure.problem.startswith("status 400 where 200 is expected, and no end of the answer")


def test_wrong_status_of_a_later_answer_is_named(serve: Callable[[Serve], tuple[str, int]]) -> None:
    case = rows.row("two", rows.get(), (rows.PAGE_ANSWER + rows.PAGE_ANSWER, rows.PAGE_ANSWER
                                        + rows.NOT_FOUND), "RFC", check=REQUESTS)
    failure = suite.perform(case, serve(answers(rows.PAGE_ANSWER + rows.BAD)))
    assert failure is not None and failure.problem == "status 400 where 200 or 404 is expected"


def test_refused_connection_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    failure = suite.perform(page_case(), address)
    assert failure is not None and "did not accept" in failure.problem


def test_silent_neighbour_blocks_and_reset_one_does_not(
        serve: Callable[[Serve], tuple[str, int]]) -> None:
    serial = serve(answers(rows.PAGE_ANSWER))  # waits for the silent one first
    assert suite.perform(page_case(neighbours=((),), timeout_s=0.3), serial) is not None

    def patient(client: socket.socket) -> None:
        with suppress(ConnectionResetError):
            answers(rows.PAGE_ANSWER)(client)

    assert suite.perform(page_case(neighbours=((Vanish(),),)), serve(patient)) is None


def test_enough_of_many_clients_must_be_answered(
        serve: Callable[[Serve], tuple[str, int]]) -> None:
    count = iter(range(100))

    def first_three(client: socket.socket) -> None:
        client.recv(65_536)
        if next(count) < 3:
            client.sendall(rows.PAGE_ANSWER)

    failure = suite.perform(page_case(copies=6, enough=4), serve(first_three))
    assert failure is not None and "3 of 6 clients were answered rightly" in failure.problem


@pytest.mark.skipif(sys.platform != "linux", reason="others reset what finds no place in the queue")
def test_full_accept_queue_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        for copies in (1, 6):
            failure = suite.perform(page_case(copies=copies, enough=copies, timeout_s=0.5,
                                              neighbours=((), ()) if copies == 1 else ()),
                                    listener.getsockname())
            assert failure is not None and "wait for accept() is full" in failure.problem
            assert "not connected" in failure.problem


def test_late_end_of_idle_clients_is_reported_on_them(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """They are closed after a second, together with the client that is sending its request."""
    monkeypatch.setattr(stop, "IDLE", 3)
    closing = threading.Event()

    def keep(client: socket.socket) -> None:
        with client:
            client.recv(65_536)
            client.sendall(GET[1])
            closing.wait(10)

    def accept() -> None:
        for _ in range(stop.IDLE + 1):
            threading.Thread(target=keep, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        host, port = listener.getsockname()
        server = SimpleNamespace(host=host, port=port, ask_to_stop=lambda: threading.Timer(
            stop.LATE_S + 0.2, closing.set).start())
        with pytest.raises(rows.Unmet, match="^the 3 idle clients were not closed at once, but "):
            stop.half_a_request(server)  # type: ignore[arg-type]


def test_slow_reader_pauses_between_reads(serve: Callable[[Serve], tuple[str, int]]) -> None:
    case = page_case()
    sips = rows.row("x", (Sip(10, 0.01), rows.get()), rows.PAGE_ANSWER, "RFC")
    for one, minimum in ((case, 0.0), (sips, 0.01 * (len(rows.PAGE_ANSWER) // 10))):
        started = time.monotonic()
        assert suite.perform(one, serve(answers(rows.PAGE_ANSWER))) is None
        assert time.monotonic() - started >= minimum


def test_idle_worker_threads_are_reported() -> None:
    (case,) = cases.select(7, ["behaviour.workers"], "workers/four-workers-serve")
    served, idle = {str(i): 1000 for i in range(4)}, {"3": 10}
    assert suite._judge_workers(case, {}, served) is None
    assert suite._judge_workers(case, {}, {}) is None  # where no /proc tells
    failure = suite._judge_workers(case, {"0": 0}, served | idle)
    assert failure is not None and "3 of the server's 4 threads served the 64" in failure.problem


SERVER = """#!{python}
import os, signal, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
def stop(*_): sys.exit({exit_code})
signal.signal(signal.SIGTERM, stop)
{before}
print("listening on http://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
served = 0
while True:
    client, _ = listener.accept()
    served += 1
    data = client.recv(65536)
    {during}
    client.sendall({answer!r})
    client.close()
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """A server that answers everything with the page, and has one fault."""

    def write(before: str = "", during: str = "", exit_code: int = 0) -> Path:
        file = tmp_path / "server"
        file.write_text(SERVER.format(python=sys.executable, before=before, during=during,
                                      exit_code=exit_code, answer=rows.PAGE_ANSWER))
        file.chmod(0o755)
        return file

    return write


PAGES = cases.select(1, pattern="*/page*") + cases.select(1, pattern="cuts/get-at-00*")


def test_a_good_server_passes(program: Callable[..., Path]) -> None:
    served = [case for case in PAGES if case.name == "requests/page"]
    result = suite.run(program(), served, level=1)
    assert result.ok and not result.failures


def test_crashed_server_is_reported_with_its_output(program: Callable[..., Path]) -> None:
    fault = "print('segment violated', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)"
    result = suite.run(program(during=fault), PAGES, level=1)
    failures = result.failures
    assert suite.MAX_DEATHS <= len(failures) < suite.MAX_DEATHS + suite.SERVERS < len(PAGES)
    for failure in failures:
        assert "the server died during this case: signal 11, SIGSEGV" in failure.problem
        assert "segment violated" in failure.problem
    left = [group for group in result.groups.values() if group.passed + len(group.failures)
            < group.cases]
    assert left and all(group.unasked == "not asked: the server died 3 times"
                        for group in left)


def test_server_is_restarted_after_one_crash(program: Callable[..., Path]) -> None:
    fault = "if b'?a=/echo' in data: os.kill(os.getpid(), 11)"
    result = suite.run(program(during=fault), PAGES, level=1)
    (died,) = [failure.case.name for failure in result.failures if "died" in failure.problem]
    assert died == "requests/page-with-odd-query"
    assert all(group.passed + len(group.failures) == group.cases
               for group in result.groups.values())


def test_server_that_never_listens_is_reported(program: Callable[..., Path]) -> None:
    result = suite.run(program(before="sys.exit('no port')"), PAGES, level=1)
    assert not result.ok and not result.failures
    group = next(iter(result.groups.values()))
    assert "ended before it was ready (exit code 1)" in group.stopped
    assert "no port" in group.stopped


def test_hanging_server_ends_within_a_bound(program: Callable[..., Path]) -> None:
    many = [page_case(timeout_s=0.3) for _ in range(2000)]
    started = time.monotonic()
    result = suite.run(program(during="time.sleep(60)"), many, level=1)
    assert time.monotonic() - started < 60 < 2000 * 0.3 / suite.SERVERS
    assert result.groups[REQUESTS].stopped == "stopped at the first case without an end"


def test_hangs_are_counted_per_check(program: Callable[..., Path],
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of one check hang at the same time; the others are asked all the same."""
    monkeypatch.setattr(suite, "MAX_HANGS", 2)
    hang = [replace(page_case(timeout_s=0.5), steps=(b"hang",)) for _ in range(suite.SERVERS)]
    served = replace(page_case(), check="behaviour.framing")
    result = suite.run(program(during="if data.startswith(b'hang'): time.sleep(1)"),
                       [*hang, *[served] * 2 * suite.SERVERS], level=1)
    assert result.groups[REQUESTS].stopped
    assert result.groups[served.check].ok


def test_impatient_run_stops_at_the_first_failure(program: Callable[..., Path]) -> None:
    pages = program()
    wrong = [page_case()] + [replace(page_case(), name=f"x/{n}", expect=(b"",)) for n in range(999)]
    assert suite.first_failure(pages, wrong[:1], 1) == ""
    asked: list[rows.Case] = []
    groups = list(suite.as_known(pages, wrong, 1, asked.append, patient=False))
    assert groups[0].failures and len(asked) <= 1 + 2 * suite.SERVERS
    assert suite.first_failure(pages, wrong, 1).startswith("x/")


def test_brief_check_stops_at_its_first_failure(program: Callable[..., Path]) -> None:
    wrong = [replace(page_case(), name=f"{check}/{number}", check=check, expect=(b"",))
             for check in ("one", "other") for number in range(50)]
    one, other = suite.as_known(program(), wrong, 1, brief={"one"})
    assert 1 <= len(one.failures) <= 1 + suite.SERVERS and one.stopped
    assert len(other.failures) == 50 and not other.stopped


def test_bad_exit_is_a_failure(program: Callable[..., Path]) -> None:
    served = [case for case in PAGES if case.name == "requests/page"]
    result = suite.run(program(exit_code=3), served, level=1)
    assert not result.ok
    assert "did not end well after SIGTERM: exit code 3" in result.groups[REQUESTS].stopped


def alone_case(perform: Callable[[Server], None], few_descriptors: int = 0) -> rows.Case:
    return alone.alone("x", "RFC", "it is asked", "it answers", perform, few_descriptors)


def test_unmet_case_is_retried_once(program: Callable[..., Path]) -> None:
    pids: list[int] = []

    def late(often: int) -> Callable[[Server], None]:
        def perform(server: Server) -> None:
            pids.append(server.pid)
            if len(pids) <= often:
                raise rows.Unmet("it came late")

        return perform

    assert suite.run(program(), [alone_case(late(1))], level=1).ok
    assert len(set(pids)) == 2
    pids.clear()
    (failure,) = suite.run(program(), [alone_case(late(2))], level=1).failures
    assert failure.problem == "it came late"


def test_wrong_case_is_not_retried(program: Callable[..., Path]) -> None:
    pids: list[int] = []

    def wrong_once(server: Server) -> None:
        pids.append(server.pid)
        if len(pids) == 1:
            raise rows.Wrong("another's answer")

    (failure,) = suite.run(program(), [alone_case(wrong_once)], level=1).failures
    assert failure.problem == "another's answer" and len(pids) == 1


def test_case_that_only_waits_runs_next_to_the_others(program: Callable[..., Path]) -> None:
    began: list[str] = []

    def case(name: str, only_waits: bool) -> rows.Case:
        return alone.alone(name, "RFC", "it is asked", "it answers",
                           lambda server: began.append(name), only_waits=only_waits)

    def ends_when_the_other_began(address: tuple[str, int]) -> None:
        deadline = time.monotonic() + 10
        while not began and time.monotonic() < deadline:
            time.sleep(0.01)
        began.append("shared")

    shared = rows.Case("shared", (), (), "RFC", talk=rows.Talk("", "", ends_when_the_other_began))
    assert suite.run(program(), [case("after", False), shared, case("next", True)], level=1).ok
    assert began == ["next", "shared", "after"]


def test_missing_capability_is_a_skip(program: Callable[..., Path]) -> None:
    def lacks(server: Server) -> None:
        raise rows.Unable("no such network")

    result = suite.run(program(), [alone_case(lacks)], level=1)
    assert result.ok
    assert [group.skipped for group in result.groups.values()] == [{"x": "no such network"}]


def test_own_server_must_exit_cleanly(program: Callable[..., Path]) -> None:
    ends_badly = program(exit_code=3)
    (failure,) = suite.run(ends_badly, [alone_case(lambda server: None)], level=1).failures
    assert "did not end well after SIGTERM: exit code 3" in failure.problem

    def stops(server: Server) -> None:
        server.ask_to_stop()
        assert server.ends(10)
        raise rows.Unmet("no answer")

    (failure,) = suite.run(ends_badly, [alone_case(stops)], level=1).failures
    assert "no answer: exit code 3" in failure.problem


def test_own_server_can_have_few_descriptors(program: Callable[..., Path]) -> None:
    counted = "import resource; assert resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64)"
    for few, ok in ((64, True), (0, False)):
        case = alone_case(lambda server: None, few)
        assert suite.run(program(before=counted), [case], level=1).ok == ok


def test_sanitizer_report_is_a_failure(program: Callable[..., Path]) -> None:
    alarm = "print('x.cpp:3:5: runtime error: signed integer overflow', file=sys.stderr)"
    served = [case for case in PAGES if case.name == "requests/page"]
    result = suite.run(program(before=alarm), served, level=1)
    assert "signed integer overflow" in result.groups[REQUESTS].stopped


def test_unknown_case_lists_similar_names() -> None:
    with pytest.raises(UserError) as caught:
        cases.select(2, pattern="limits/request-line")
    assert "limits/request-line-at-limit" in caught.value.fix


@pytest.mark.parametrize("name", ["requests/page", "framing/value-with-nul",
                                  "smuggling/cl-fullwidth-digit", "cuts/post-at-030",
                                  "requests/page-with-odd-query"])
def test_shell_command_sends_the_same_bytes(name: str) -> None:
    case = named(name)
    sent = b"".join(step for step in case.steps if isinstance(step, bytes))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = wording.one_liner(case, listener.getsockname()[1])
        shell = subprocess.Popen(["bash", "-c", line], stdout=subprocess.PIPE)
        with listener.accept()[0] as client:
            received = b""
            while len(received) < len(sent):
                received += client.recv(len(sent))
            client.sendall(b"answered")
    assert received == sent
    assert shell.communicate(timeout=5)[0] == b"answered"


def test_long_and_binary_data_is_abbreviated() -> None:
    assert wording.escaped(b"GET /\r\n\0\xff'") == "GET /\\r\\n\\0\\xff'"
    text = wording.escaped(rows.noise(10_000))
    assert len(text) < 300 and "bytes›" in text
    other = rows.noise(10_000)[:5000] + b"?" + rows.noise(10_000)[5001:]
    assert wording.around(other, rows.noise(10_000)).startswith("‹4984 bytes› … ")
    short = wording.around(other[4900:5100], rows.noise(10_000)[4900:5100])
    assert short.startswith("‹84 bytes› … ") and short.endswith(" … ‹200 bytes in all›")
    assert len(short) < 160
    assert wording.around(rows.BAD, rows.PAGE_ANSWER) == wording.escaped(rows.BAD, 1300)


DATED = (b"Date: Mon, 23 Nov 2026 07:00:00 GMT\r\nX-Content-Type-Options: nosniff\r\n")
THEN = 1795417200.0  # the same time


def dated(answer: bytes) -> bytes:
    return answer.replace(b"\r\n", b"\r\n" + DATED, 1)


ERROR_PAGE = b"<!doctype html>\n<title>404 Not Found</title>\n"


def error_head(page: bytes = ERROR_PAGE) -> bytes:
    return (b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n" + DATED
            + b"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(page))


def test_answers_since_chapter_9_are_normalised() -> None:
    page, error = ERROR_PAGE, error_head()
    for raw, reported in [
        (dated(rows.PAGE_ANSWER), rows.PAGE_ANSWER),
        (dated(rows.PAGE_HEAD) + dated(rows.PAGE_ANSWER), rows.PAGE_HEAD + rows.PAGE_ANSWER),
        (rows.CONTINUE + dated(rows.echoed(b"x")), rows.CONTINUE + rows.echoed(b"x")),
        (error + page, rows.NOT_FOUND),
        (error, rows.NOT_FOUND.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"),
        (rows.NOT_FOUND, rows.NOT_FOUND),
    ]:
        assert heads.plain(raw) == reported
    for wrong in (error + page[:-1], error + b"x" * len(page)):
        assert b"text/html" in heads.plain(wrong)
    assert b"Date" in heads.plain(dated(rows.PAGE_ANSWER).replace(b"Mon, ", b"Monday, "))


@pytest.mark.parametrize("old, new, late_s, problem", [
    (b"", b"", 0, ""),
    (b"Date: Mon, ", b"Date: Tue, ", 0, "day of the week is another"),
    (b"23 Nov", b"31 Nov", 0, "a Date that is none"),
    (b" GMT", b" UTC", 0, "no Date"),
    (b"X-Content-Type-Options: nosniff\r\n", b"", 0, "nosniff"),
    (b"", b"", 60, "when it was Mon, 23 Nov 2026 07:01:00 GMT"),
    (b"", b"", -60, "when it was Mon, 23 Nov 2026 06:59:00 GMT"),
    (b"200 OK", b"404 Not Found", 0, "says 404 Not Found, and is as long"),
    (b"200 OK\r\n" + DATED + b"Content-Type: text/html", b"404 Not Found\r\n" + DATED
     + b"Content-Type: text/plain", 0, "not Content-Type: text/html; charset=utf-8"),
])
def test_missing_fields_since_chapter_9_are_named(old: bytes, new: bytes, late_s: float,
                                                  problem: str) -> None:
    raw = dated(rows.PAGE_ANSWER).replace(old, new)
    output = heads.lacking(raw, THEN + late_s, THEN + late_s)
    assert problem in output and bool(problem) == bool(output)


@pytest.fixture
def then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite takes it to be that time."""
    clock = SimpleNamespace(time=lambda: THEN, monotonic=time.monotonic)
    monkeypatch.setattr(suite, "time", clock)


@pytest.mark.parametrize("page, problem", [
    (ERROR_PAGE, ""),
    (ERROR_PAGE[16:], "begins with <!doctype html>, says 404 Not Found"),
    (ERROR_PAGE.replace(b"404 ", b""), "begins with <!doctype html>, says 404 Not Found"),
    (ERROR_PAGE + b" " * 1024, "more than 1024 bytes"),
], ids=["right", "no-doctype", "no-code", "long"])
@pytest.mark.usefixtures("then")
def test_error_page_reports_missing_fields_before_differences(
        serve: Callable[[Serve], tuple[str, int]], page: bytes, problem: str) -> None:
    case = rows.row("lost", rows.get(b"/lost"), rows.NOT_FOUND, "RFC", check=REQUESTS)
    failure = suite.perform(case, serve(answers(error_head(page) + page)), level=9)
    assert (problem in failure.problem) if failure else not problem


@pytest.mark.usefixtures("then")
def test_difference_position_refers_to_the_normalised_answer(
        serve: Callable[[Serve], tuple[str, int]]) -> None:
    failure = suite.perform(page_case(), serve(answers(dated(rows.PAGE_ANSWER[:-1]))), level=9)
    assert failure is not None and failure.problem.startswith("the compared answer differs")


def test_date_is_required_since_chapter_9(
        serve: Callable[[Serve], tuple[str, int]]) -> None:
    address = serve(answers(rows.PAGE_ANSWER))
    assert suite.perform(page_case(), address, level=8) is None
    failure = suite.perform(page_case(), address, level=9)
    assert failure is not None and "nosniff" in failure.problem
    failure = suite.perform(page_case(), serve(answers(dated(rows.PAGE_ANSWER))), level=8)
    assert failure is not None and "differs from byte 17" in failure.problem
