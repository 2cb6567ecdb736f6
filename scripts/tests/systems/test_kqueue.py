"""kqueue on Linux: what the manual pages promise, and the event loops that run on it.

The promises are kqueue_test.cpp's, which is built here plain and under the sanitizers, and then
against the library with one fault planted at a time: the check that the fault is for must fail.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import programs
import pytest
from fixed_subset import fewer_positions
from lengths import LONG
from scheduling import judging

from workbook.checks import labs, poller
from workbook.checks.behaviour import cases, suite
from workbook.common.paths import BUILD, ROOT, SCRIPTS, SOLUTIONS
from workbook.course import trees
from workbook.machine.cores import available_cpus
from workbook.measure import fairness, load, stress
from workbook.servers import build
from workbook.servers.process import running

LAYER = ROOT / "docker" / "bsd" / "kqueue"
LAYER_BUILD = BUILD / "kqueue-layer"
EVENT_LOOPS = sorted(path for path in SOLUTIONS.glob("[0-9]*")
                     if trees.source(path, "poller_kqueue.cpp").exists())
BATCHING = [path for path in EVENT_LOOPS
            if "changes_;" in trees.source(path, "poller.h").read_text()]
# Under kqueue's sanitizers the first, the first that batches and the last are asked, which has what
# all before it have, and with thousands of clients only that: all, if there is time.
TRIED = EVENT_LOOPS if LONG else [EVENT_LOOPS[0], BATCHING[0], EVENT_LOOPS[-1]]
WITH_THREADS = [path for path in TRIED if "std::thread" in (path / "server.cpp").read_text()]
BESIDE = [SCRIPTS / name for name in ("log", "mirror", "poller", "tls", "unit")]  # built with the server

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the library stands in front of epoll"),
    pytest.mark.timeout(1800),  # beside others it waits for its turn to judge
]

def once(solutions: list[Path], *files: str, preset: str = "") -> pytest.MarkDecorator:
    """For each of these, and only once for those with the same files, or for all that are the same
    program when built so.
    """
    if sys.platform != "linux":
        return pytest.mark.parametrize("solution", [])
    if preset:
        alike = programs.once([path.name for path in solutions], preset)
    else:
        alike = programs.alike({path.name: programs.digest(*programs.contents(
            *(trees.source(path, file) for file in files))) for path in solutions})
    return pytest.mark.parametrize("solution", [pytest.param(SOLUTIONS / name, id=id)
                                                for name, id in alike.items()])


@pytest.mark.parametrize("sanitizers", ["", "address,undefined", "thread"])
def test_kqueue_layer_passes_its_tests(sanitizers: str) -> None:
    program = built("kqueue-test", LAYER, LAYER_BUILD / (sanitizers.replace(",", "-") or "plain"),
                    f"-DHOTPATH_SANITIZE={sanitizers}")
    done = checked(program)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr


@dataclass(frozen=True)
class Fault:
    """What is planted: texts of one file, each of which must be there once, and their places."""

    check: str
    what: str
    file: str
    edits: tuple[tuple[str, str], ...]


def fault(check: str, what: str, file: str, old: str, new: str) -> Fault:
    return Fault(check, what, file, ((old, new),))


FAULTS = (
    Fault("full/nothing-is-lost", "what does not fit is dropped", "filter.cpp", (
        ("ready_.resize(events.size());", "ready_.resize(2 * events.size());"),
        ("static_cast<int>(events.size());", "static_cast<int>(2 * events.size());"),
        ("if (report(", "if (filled < events.size() && report("))),
    fault("full/every-filter-is-served", "the first filter always comes first", "queue.cpp",
          "first_ = (index + 1) % filter_count;", "first_ = 0;"),
    fault("both/in-an-array-of-one", "the first filter always comes first", "queue.cpp",
          "first_ = (index + 1) % filter_count;", "first_ = 0;"),
    fault("both/clear-apart", "one set of events for both filters", "filter_ops.cpp",
          "{EVFILT_WRITE, true, EPOLLOUT,", "{EVFILT_WRITE, true, EPOLLIN | EPOLLOUT,"),
    fault("flags/add-disabled", "EV_ADD enables, whatever else it says", "filter.cpp",
          "lasting_flags | EV_DISABLE;", "lasting_flags;"),
    fault("flags/disabled-sleeps", "hang-ups are not switched off", "filter.cpp",
          "if (!note.enabled()) return EPOLLET;", "if (!note.enabled()) return 0;"),
    fault("flags/oneshot", "EV_ONESHOT is ignored", "filter.cpp",
          "if ((note.event.flags & EV_ONESHOT) != 0) {", "if (false) {"),
    fault("flags/clear", "EV_CLEAR is ignored", "filter.cpp",
          "return clear ? ops_.interest | EPOLLET", "return clear ? ops_.interest"),
    fault("flags/dispatch", "EV_DISPATCH is ignored", "filter.cpp",
          "(note.event.flags & EV_DISPATCH) != 0", "false"),
    fault("flags/add-again", "a second EV_ADD changes nothing", "filter.cpp",
          "event.udata = change.udata;", ""),
    fault("flags/add-again-keeps-flags", "a second EV_ADD replaces the flags", "filter.cpp",
          "event.udata = change.udata;",
          "event.udata = change.udata;\n"
          "    if ((change.flags & EV_ADD) != 0) event.flags = change.flags & lasting_flags;"),
    fault("flags/add-again-does-not-enable", "a second EV_ADD enables", "filter.cpp",
          "if ((change.flags & EV_ENABLE) != 0)", "if ((change.flags & (EV_ADD | EV_ENABLE)) != 0)"),
    fault("flags/enable-and-disable", "a contradiction is no error", "filter.cpp",
          "if ((change.flags & both) == both) return EINVAL;",
          "if ((change.flags & both) == both) return 0;"),
    fault("flags/add-and-delete", "EV_ADD overrides EV_DELETE, as on OpenBSD", "filter.cpp",
          "if ((change.flags & EV_DELETE) == 0) return modify",
          "if ((change.flags & (EV_ADD | EV_DELETE)) != EV_DELETE) return modify"),
    fault("flags/every-change-replaces-udata", "only EV_ADD replaces udata, as on OpenBSD",
          "filter.cpp", "event.udata = change.udata;",
          "if ((change.flags & EV_ADD) != 0) event.udata = change.udata;"),
    fault("changes/receipts", "EV_RECEIPT is not kept", "filter.cpp",
          "EV_CLEAR | EV_RECEIPT | EV_DISPATCH;", "EV_CLEAR | EV_DISPATCH;"),
    fault("changes/pass-through", "a later change replaces ext", "filter.cpp",
          "event.udata = change.udata;",
          "event.udata = change.udata;\n    event.ext[2] = change.ext[2];"),
    fault("changes/receipts", "EV_RECEIPT is ignored", "kqueue.cpp",
          "if (error == 0 && (change.flags & EV_RECEIPT) == 0) continue;",
          "if (error == 0) continue;"),
    fault("changes/errors", "the error number is forgotten", "kqueue.cpp",
          "receipt.data = error;", ""),
    fault("close/one-of-two", "what is open elsewhere is watched for ever", "filter.cpp",
          "if (std::exchange(has_strays_, false)) rebuild();", ""),
    fault("close/number-used-again", "a number is taken for a file", "filter_ops.h",
          "return file == file_of(source());", "return true;"),
    fault("close/queue", "a closed queue is used", "kqueue.cpp",
          "queue != nullptr && queue->is_open() ? queue : nullptr", "queue"),
    fault("close/queues-are-freed", "closed queues are kept", "kqueue.cpp",
          "return !entry.second->is_open();", "return entry.second == nullptr;"),
    fault("read/end", "half a connection's end is not an end", "filter_ops.cpp",
          "EPOLLIN | EPOLLRDHUP", "EPOLLIN"),
    fault("read/error", "the second filter is not told of the error", "queue.cpp",
          "share_errors(events.first(filled));", ""),
    fault("read/listener", "a listener has one client waiting", "filter_ops.cpp",
          "return known ? info.tcpi_unacked : 1;", "return known ? 1 : 1;"),
    fault("timer/again", "a second EV_ADD does not restart", "filter_ops.cpp",
          "if ((change.flags & EV_ADD) == 0) return 0;",
          "if ((change.flags & EV_ADD) == 0 || note.own.number() >= 0) return 0;"),
    fault("timer/repeats", "every timer is for once", "filter_ops.cpp",
          "if ((note.event.flags & EV_ONESHOT) == 0) timer.it_interval",
          "if (false) timer.it_interval"),
    fault("timer/repeats", "a timer does not set EV_CLEAR", "filter_ops.cpp",
          "note.event.flags |= EV_CLEAR;", ""),
    fault("timer/keeps-flags", "a second EV_ADD decides anew, as on NetBSD", "filter_ops.cpp",
          "if ((note.event.flags & EV_ONESHOT) == 0) timer.it_interval",
          "if ((change.flags & EV_ONESHOT) == 0) timer.it_interval"),
    fault("timer/goes-on", "every change restarts, as on macOS", "filter_ops.cpp",
          "if ((change.flags & EV_ADD) == 0) return 0;", ""),
    fault("timer/dispatch", "EV_CLEAR overrides EV_DISPATCH, as on NetBSD", "filter.cpp",
          "(note.event.flags & EV_DISPATCH) != 0",
          "(note.event.flags & (EV_CLEAR | EV_DISPATCH)) == EV_DISPATCH"),
    fault("user/trigger", "EV_CLEAR does not reset a user event", "filter_ops.cpp",
          "if ((note.event.flags & EV_CLEAR) != 0) ::eventfd_read", "if (false) ::eventfd_read"),
    fault("user/added-untriggered", "EV_ADD triggers, as on OpenBSD and macOS", "filter_ops.cpp",
          "return note.own.number() < 0 ? errno : 0;", "if (note.own.number() < 0) return errno;"),
    fault("user/reset", "a later EV_CLEAR is ignored, as on macOS", "filter_ops.cpp",
          "if ((change.flags & EV_CLEAR) != 0) ::eventfd_read", "if (false) ::eventfd_read"),
    fault("wait/some-time", "the time to wait is rounded down", "queue.cpp",
          "std::chrono::ceil<", "std::chrono::floor<"),
)


@pytest.fixture(scope="module")
def copy() -> Path:
    """The library's sources, to plant faults in."""
    directory = LAYER_BUILD / "faults"
    shutil.copytree(LAYER, directory, dirs_exist_ok=True)
    return directory


@pytest.mark.late
@pytest.mark.xdist_group("late kqueue layer")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.check}: {fault.what}")
def test_planted_fault_in_the_layer_is_caught(fault: Fault, copy: Path) -> None:
    with planted(fault, LAYER, copy):
        done = checked(built("kqueue-test", copy, LAYER_BUILD / "faulty"), fault.check)
    assert done.returncode == 1 and f"FAILED {fault.check}" in done.stderr, done.stdout


@once(BATCHING, "poller_kqueue.cpp")
def test_changes_are_submitted_with_the_next_wait(solution: Path) -> None:
    done = checked(programs.solution(solution.name, "kqueue-asan").with_name(poller.PROGRAM))
    assert done.returncode == 0 and not done.stderr, done.stderr


NO_MEMORY = fault("", "no memory for numbers from 40 on", "filter.cpp",
                  "int Filter::add(const struct kevent& change) {\n",
                  "int Filter::add(const struct kevent& change) {\n"
                  "    if (change.ident >= 40) return ENOMEM;\n")


@pytest.mark.parametrize("call", ["on_watch_failed(fd);", "(void)fd;"], ids=["asked", "not asked"])
def test_unwatchable_client_is_disconnected(call: str) -> None:
    """A worker asks its poller who is not watched. If it does not, that is noticed here."""
    deaf = fault("", "the loop does not ask", "worker.cpp", "on_watch_failed(fd);", call)
    found = ends_of_many(last_server(NO_MEMORY, deaf))
    assert found == {"answered", "let go" if call == "on_watch_failed(fd);" else "left waiting"}


def last_server(layer_fault: Fault, fault: Fault) -> Path:
    """The last server with a fault, on a layer with another."""
    copy = BUILD / "last-server"
    for directory in (LAYER, build.SUPPORT, *BESIDE, BATCHING[-1]):
        shutil.copytree(directory, copy / directory.relative_to(ROOT), dirs_exist_ok=True)
    layer, support, checkpoint = (copy / directory.relative_to(ROOT)
                                  for directory in (LAYER, build.SUPPORT, BATCHING[-1]))
    with planted(layer_fault, LAYER, layer), planted(fault, BATCHING[-1], checkpoint):
        settings = build.preset_variables("measure") | {
            "HOTPATH_SUPPORT": str(support), "HOTPATH_LTO": "OFF", "HOTPATH_POLLER": "kqueue"}
        return build.isolated(checkpoint, "kqueue", copy / "build", settings,
                              target=f"solutions-{checkpoint.name}-server")


def ends_of_many(binary: Path) -> set[str]:
    """What becomes of sixty clients who ask; the first who waits for two seconds is the last."""
    with running(binary, "--threads", "1") as server, ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection((server.host, server.port), 2.0))
                   for _ in range(60)]
        found: set[str] = set()
        for client in clients:
            if "left waiting" not in found:
                found.add(end_of(client))
        return found


def end_of(client: socket.socket) -> str:
    try:
        client.sendall(fairness.REQUEST)
        return "answered" if client.recv(65_536) else "let go"
    except ConnectionError:
        return "let go"
    except TimeoutError:
        return "left waiting"


REPORTS_CLOSED = fault("", "a descriptor that is added after it was closed", "filter.cpp",
                       "int error = control(EPOLL_CTL_ADD, note);",
                       "int error = control(EPOLL_CTL_ADD, note);\n"
                       '    if (error == EBADF && ::write(2, "closed", 6) < 0) return error;')


@pytest.mark.parametrize("call", ["poller_.wait(std::chrono::milliseconds(0));", ""],
                         ids=["passed on", "left over"])
def test_client_accepted_as_the_server_stops_is_not_registered_once_closed(call: str) -> None:
    """By then its number may belong to another worker's client, which this queue would watch."""
    left_over = fault("", "pending changes are not passed on", "worker.cpp",
                      "poller_.wait(std::chrono::milliseconds(0));", call)
    reported = stopped_while_accepting(last_server(REPORTS_CLOSED, left_over))
    assert reported == ("" if call else "closed" * 2)  # by both of the client's filters


def stopped_while_accepting(binary: Path) -> str:
    """What the server prints if one iteration of its loop accepts a client and stops.

    It is suspended while both arrive. Another client has sent half a request, so that the loop goes
    on for a second.
    """
    with running(binary, "--threads", "1") as server, \
            socket.create_connection((server.host, server.port), 2.0) as busy:
        busy.sendall(b"GET / HTTP/1.1\r\n")
        assert server.sleeps(5.0)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            last = socket.create_connection((server.host, server.port), 2.0)
            server.ask_to_stop()
        finally:
            os.kill(server.pid, signal.SIGCONT)
        with last:
            return server.stop().stderr


@once(TRIED, preset="kqueue-asan")
def test_event_loop_passes_behaviour_on_kqueue(solution: Path) -> None:
    behaves(solution, "kqueue-asan")


@once(WITH_THREADS, preset="kqueue-tsan")
def test_event_loop_has_no_data_race_on_kqueue(solution: Path) -> None:
    behaves(solution, "kqueue-tsan")


def behaves(solution: Path, preset: str) -> None:
    level = int(solution.name[:2])
    server = programs.solution(solution.name, preset)
    with judging():
        result = suite.run(server, fewer_positions(cases.select(level)), level)
    assert result.ok, [(failure.case.name, failure.problem) for failure in result.failures] or [
        group.stopped for group in result.groups.values()]


@pytest.fixture
def many_descriptors() -> Iterator[int]:
    """The limit, as high as it goes."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield stress.raise_descriptor_limit()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.alone
@once(TRIED, "worker.cpp", "poller_kqueue.cpp")
def test_no_client_starves(solution: Path, many_descriptors: int) -> None:
    clients = min(5000, many_descriptors - 200)
    with running(programs.solution(solution.name, "kqueue")) as server:
        served = fairness.answers((server.host, server.port), clients, rounds=12, seconds=20)
    middle = median(served)
    assert middle >= 4, f"too few answers to judge: {middle} is the median of {clients} clients"
    assert min(served) * 2 >= middle, f"one client had {min(served)} answers, the median {middle}"
    assert max(served) <= middle * 2, f"one client had {max(served)} answers, the median {middle}"


@contextmanager
def planted(fault: Fault, original: Path, copy: Path) -> Iterator[None]:
    """A copy of `original` has the fault, and afterwards no more."""
    text = (original / fault.file).read_text(encoding="utf-8")
    for old, new in fault.edits:
        assert text.count(old) == 1, f"{fault.file} has no such text, once: {old}"
        text = text.replace(old, new)
    (copy / fault.file).write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        shutil.copy(original / fault.file, copy / fault.file)


@once(TRIED if LONG else TRIED[-1:], "worker.cpp", "poller_kqueue.cpp")
def test_no_phase_of_the_stress_test_has_an_error(solution: Path, many_descriptors: int) -> None:
    """The four at half their size and a quarter of their time: judged by count, not by speed."""
    phases = [replace(phase, connections=min(phase.connections, 5000, many_descriptors - 200),
                      seconds=phase.seconds / 4) for phase in stress.full_form()]
    with load.serving(programs.solution(solution.name, "kqueue")) as server:
        results = list(stress.measure(server, phases))
    assert not {result.phase: result.reason for result in results if result.reason}


def built(program: str, source: Path, directory: Path, *settings: str) -> Path:
    """A test program, built from these sources."""
    for command in (["cmake", "-G", "Ninja", "-S", str(source), "-B", str(directory),
                     "-DCMAKE_BUILD_TYPE=Debug", f"-DHOTPATH_SUPPORT={SCRIPTS / 'cmake'}",
                     *settings],
                    ["cmake", "--build", str(directory), "--target", program,
                     "--parallel", str(min(available_cpus(), 8))]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout[-6000:]
    return directory / program


def checked(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("lab", ["lab-readiness", "lab-thread-pool"])
def test_waiting_labs_use_kqueue(lab: str) -> None:
    program = programs.aside(f"{lab}-kqueue", trees.read(SOLUTIONS / lab), "kqueue-asan",
                             labs.PROGRAM)
    status, _, output = labs.run(program, "*", lab)
    assert status == "pass", "\n".join(output)
    assert b"kqueue" in program.read_bytes()
