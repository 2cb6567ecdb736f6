"""Runs the table against servers and describes in words what went wrong."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workbook.checks.behaviour import schemes, site
from workbook.checks.behaviour.rows import Case, Talk, Unable, Unmet, Wrong
from workbook.common import children
from workbook.common.errors import UsageError, UserError
from workbook.common.suggestions import nearest_first, shortened, similar
from workbook.machine import network
from workbook.measure.stress import raise_descriptor_limit
from workbook.servers import heads, tls
from workbook.servers.client import Client, Received, exchange, exchange_many
from workbook.servers.process import Ended, Server, running

BLAMED = "behaviour.connections"  # the check that reports a bad exit
SERVERS = 4  # servers that share the cases: most of a case's time is waiting
ALONE = 16  # concurrent cases with a server of their own; all clients are threads of this process

NEIGHBOUR_S = 0.01  # additional time for each of them
MAX_HANGS = 8
END_S = 5.0  # for a process that is ending, on a busy machine
MAX_DEATHS = 3
MAX_SUGGESTED = 12
ALARMS = ("ERROR:", "runtime error:", "WARNING: ThreadSanitizer:")
DATED_LEVEL = 9  # the first level whose answers are in the form that heads.plain expects
CACHE_LEVEL = 11  # the first level that caches files
# the kernel completes connections without the server as long as this queue has room
QUEUE_FULL = "the queue of clients that wait for accept() is full (the backlog of listen(2))"
BAD_END = "it did not end well after SIGTERM"


@dataclass(frozen=True)
class Failure:
    """A case that failed. `problem` is one sentence; `received` is what came instead."""

    case: Case
    problem: str
    received: Received | None = None


@dataclass
class Group:
    """The results of the cases of one check."""

    check: str
    cases: int
    passed: int = 0
    failures: list[Failure] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # what this machine lacks, by case
    stopped: str = ""  # why the group's other cases were not run, or what was wrong at the end
    unasked: str = ""  # why they were not run, if another group was the cause

    @property
    def ok(self) -> bool:
        return self.passed + len(self.skipped) == self.cases and not self.stopped

    @property
    def failed(self) -> bool:
        return bool(self.failures or self.stopped)


@dataclass
class Result:
    groups: dict[str, Group]
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return all(group.ok for group in self.groups.values())

    @property
    def failures(self) -> list[Failure]:
        return [failure for group in self.groups.values() for failure in group.failures]


def matching(cases: Iterable[Case], level: int, pattern: str = "*") -> list[Case]:
    """Returns the cases that hold at a level; raises UserError if the pattern matches none of them.

    A pattern without a slash matches names within their group; one without @ doesn't match cases
    that another group runs, too.
    """
    whole = pattern if "/" in pattern else f"*/{pattern}"
    holding = [case for case in cases if case.holds_at(level)]
    found = [case for case in holding if fnmatchcase(case.name, whole)
             and (pattern == "*" or ("@" in case.name) == ("@" in pattern))]
    if not found and pattern != "*":
        near = _nearest(pattern, [case.name for case in holding
                                  if ("@" in case.name) == ("@" in pattern)])
        raise UsageError(f"no case is called “{shortened(pattern)}”",
                         "use one of: " + ", ".join(near))
    return found


def _nearest(pattern: str, names: Sequence[str]) -> list[str]:
    """Returns suggestions: cases of the named group, cases with similar names in all groups, or
    else all groups.
    """
    group, slash, last = pattern.replace("*", "").rpartition("/")
    groups = list(dict.fromkeys(name.partition("/")[0] for name in names))
    within = [name for name in names if not slash or name.startswith(f"{group}/")]
    cases = {name.partition("/")[2]: name for name in within}
    near = [cases[short] for short in similar(last, cases)] or (within if slash else [])
    if not near:
        return [f"{name}/*" for name in nearest_first(group or last, groups)]
    return [*near[:MAX_SUGGESTED], *(["…"] if near[MAX_SUGGESTED:] else [])]


def run(binary: Path, cases: Sequence[Case], level: int, arguments: Sequence[str] = ()) -> Result:
    """Returns the results of all groups for a server with these additional arguments.

    Never raises because of the server's faults.
    """
    started = time.monotonic()
    with network.own():
        groups = {group.check: group
                  for group in as_known(binary, cases, level, arguments=arguments)}
    return Result(groups, time.monotonic() - started)


def first_failure(binary: Path, cases: Sequence[Case], level: int) -> str:
    """Returns the first case that fails, or the check that reports a bad exit; empty if all hold.

    It stops at the first failure.
    """
    with network.own():
        for group in list(as_known(binary, cases, level, patient=False)):
            if group.failed:
                return group.failures[0].case.name if group.failures else group.check
    return ""


def as_known(binary: Path, cases: Sequence[Case], level: int,
             on_case: Callable[[Case], None] = lambda case: None,
             patient: bool = True, arguments: Sequence[str] = (),
             brief: Collection[str] = ()) -> Iterator[Group]:
    """Yields each group, in order, as soon as its result is known.

    A few servers share the cases. In parallel run those that mostly wait; the other cases with a
    server of their own follow, several at a time. If not `patient`, the waiting cases run with
    these others, and everything stops after the first failure. Groups of the checks in `brief` stop
    after their own first failure. All servers get the arguments.
    """
    raise_descriptor_limit()
    command = (binary, *(("--threads", "4") if level >= 4 else ()), *arguments)
    work = _Work(cases, on_case, level, patient, brief)
    waiting = [case for case in cases if case.alone and case.alone.only_waits]
    alone = [case for case in cases if case.alone and not case.alone.only_waits]
    with (TemporaryDirectory() as folder, ThreadPoolExecutor(2 * SERVERS + 1) as shared,
          ThreadPoolExecutor(ALONE) as own, ThreadPoolExecutor(ALONE) as next_to_others):
        try:
            rooted = (*command, "--root", str(site.make(Path(folder)))) if work.rooted else ()
            serving = [shared.submit(_serve, how, queue, work)
                       for how, queue in ((command, work.together), (rooted, work.rooted))
                       for _ in range(min(SERVERS, len(queue)))]
            ended = shared.submit(lambda: [each.result() for each in serving])
            asked = [next_to_others.submit(_serve_alone, command, work, case,
                                           None if patient else ended) for case in waiting]
            asked += [own.submit(_serve_alone, command, work, case, ended) for case in alone]
            futures: tuple[Future[Any], ...] = (ended, *asked)
            for each in futures:
                each.add_done_callback(work.look)
            for check in work.groups:
                yield work.known(check, ended)
        except KeyboardInterrupt:  # otherwise leaving the block would wait for running tasks
            children.stop()
            raise


class _Work:
    """The remaining cases and the results so far, shared by threads that have one server each."""

    def __init__(self, cases: Sequence[Case], on_case: Callable[[Case], None],
                 level: int, patient: bool, brief: Collection[str]) -> None:
        self.level = level
        self._brief = brief
        self._order = {case.name: location for location, case in enumerate(cases)}
        self._open = Counter(case.check for case in cases)
        self.groups = {check: Group(check, size) for check, size in self._open.items()}
        self.together = deque(case for case in cases if not case.alone and not case.rooted)
        self.rooted = deque(case for case in cases if not case.alone and case.rooted)
        checks = {case.check for case in (*self.together, *self.rooted)}
        self._blamed = BLAMED if BLAMED in checks else next(
            (check for check in reversed(self.groups) if check in checks), "")
        self._on_case = on_case
        self._patient = patient
        self._hangs = self._deaths = 0
        self._broken: BaseException | None = None
        self._changed = threading.Condition()

    def next(self, waiting: deque[Case]) -> Case | None:
        """Returns the next case that this thread can take, None if there are no more."""
        with self._changed:
            while waiting:
                case = waiting.popleft()
                if self.wanted(case):
                    return case
                self._close(case)
        return None

    def wanted(self, case: Case) -> bool:
        group = self.groups[case.check]
        return not group.stopped and not group.unasked

    def lacks(self, case: Case, what: str) -> None:
        """Record that the case can't be run on this machine."""
        with self._changed:
            self.groups[case.check].skipped[case.name] = what
            self._on_case(case)
            self._close(case)

    def judged(self, case: Case, failure: Failure | None, died: bool = False) -> None:
        with self._changed:
            group = self.groups[case.check]
            group.passed += failure is None
            group.failures += [failure] if failure else []
            self._on_case(case)
            self._close(case)
            if failure and failure.received and failure.received.end == "timeout":
                self._hangs += not group.stopped  # once per group: others may hang, too
                group.stopped = "stopped at the first case without an end"
                if self._hangs == MAX_HANGS:
                    self._leave(f"cases of {MAX_HANGS} checks had no end")
            if failure and case.check in self._brief:
                group.stopped = group.stopped or "stopped at the first case that did not hold"
            if failure and not self._patient:
                self._leave("a case did not hold")
            self._deaths += died
            if died and self._deaths == MAX_DEATHS:
                self._leave(f"the server died {MAX_DEATHS} times")

    def skipped(self, case: Case) -> None:
        with self._changed:
            self._close(case)

    def ended_badly(self, problem: str) -> None:
        with self._changed:
            group = self.groups[self._blamed]
            group.stopped = group.stopped or problem

    def stop(self, problem: str) -> None:
        """Record that nothing more can be run; the first unfinished group reports why."""
        with self._changed:
            left = [group for check, group in self.groups.items() if self._open[check]]
            if left and not any(group.failed for group in self.groups.values()):
                left[0].stopped = problem
            self._leave(problem.splitlines()[0])

    def known(self, check: str, ended: Future[Any]) -> Group:
        """Returns the group once its result is known; a bad exit is reported in one that waits for
        the server's end.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._broken or not self._open[check] and (
                check != self._blamed or ended.done()))
            if self._broken:
                raise self._broken
        self.groups[check].failures.sort(key=lambda failure: self._order[failure.case.name])
        return self.groups[check]

    def look(self, done: Future[Any]) -> None:
        """A thread has finished. If it failed, wake the thread that waits for results."""
        with self._changed:
            self._broken = self._broken or done.exception()
            self._changed.notify_all()

    def _leave(self, reason: str) -> None:
        for check, group in self.groups.items():
            if self._open[check]:
                group.unasked = group.unasked or f"not asked: {reason}"

    def _close(self, case: Case) -> None:
        self._open[case.check] -= 1
        self._changed.notify_all()


def _serve(command: Sequence[Any], waiting: deque[Case], work: _Work) -> None:
    """Run servers one after another while cases are left, each until it dies."""
    case = work.next(waiting)
    while case:
        try:
            with running(*command) as server:
                case = _ask_until_it_dies(server, waiting, work, case)
                if not case:
                    work.ended_badly(_end_problem(server.stop(), BAD_END))
        except UserError as error:
            work.stop(error.message)
            if case:
                work.skipped(case)
            case = work.next(waiting)


def _ask_until_it_dies(server: Server, waiting: deque[Case], work: _Work,
                       case: Case | None) -> Case | None:
    """Run cases; returns the one to continue with after the server has died, if any is left."""
    before: Case | None = None
    while case:
        waited = server.waits() if case.workers else {}
        failure = perform(case, (server.host, server.port), work.level)
        if case.workers and failure is None:
            failure = _judge_workers(case, waited, server.waits())
        if failure and _died(server, failure):
            words = _last_words(server.stop(), "the server died during this case")
            if failure.received and failure.received.end == "refused" and before:
                words = words.replace("during this case", f"after {before.name}")
            work.judged(case, Failure(case, words, failure.received), died=True)
            return work.next(waiting)
        work.judged(case, failure)
        before, case = case, work.next(waiting)
    return None


def _died(server: Server, failure: Failure) -> bool:
    """Returns whether the server has died. A process ends a moment after its sockets close.

    If it isn't noticed here, the next case is refused.
    """
    if server.is_ending():
        return server.ends(END_S)
    refused = failure.received is not None and failure.received.end == "refused"
    return server.ends(0.5 if refused else 0.002)


def _serve_alone(command: Sequence[Any], work: _Work, case: Case,
                 others: Future[Any] | None) -> None:
    """Run the case after the other cases are done."""
    assert case.alone
    if others:
        others.result()
    if not work.wanted(case):
        return work.skipped(case)
    try:
        # A case may change its own folder. A server that checks once a second would miss that,
        # unless its cache is off.
        keeps_none = ("--cache", "0") if work.level >= CACHE_LEVEL and case.alone.site else ()
        work.judged(case, _alone((*command, *keeps_none), case))
    except Unable as lack:
        work.lacks(case, str(lack))


def _alone(command: Sequence[Any], case: Case) -> Failure | None:
    """Run one case with a server of its own. It is retried once if the expected result came too
    late, because the machine may be busy.
    """
    for _ in range(2):
        try:
            unmet, ended = _perform_alone(command, case)
        except UserError as error:
            return Failure(case, error.message)
        if words := _end_problem(ended, str(unmet or BAD_END)):
            return Failure(case, words)
        if not unmet:
            return None
        if isinstance(unmet, Wrong):
            break
    return Failure(case, str(unmet))


def _perform_alone(command: Sequence[Any], case: Case) -> tuple[Unmet | None, Ended]:
    """Returns what was not as expected, if anything, and how the server ended."""
    assert case.alone
    few = case.alone.few_descriptors
    wrapper = ("sh", "-c", f'ulimit -n {few} && exec "$@"', "sh") if few else ()
    unmet = None
    with TemporaryDirectory() as folder:
        rooted = ("--root", str(_made(case.alone.site, Path(folder)))) if case.alone.site else ()
        with running(*command, *rooted, *case.alone.arguments, wrapper=wrapper,
                     environment=case.alone.environment) as server:
            try:
                case.alone.perform(server)
            except Unmet as problem:
                unmet = problem
            except TimeoutError:
                unmet = Unmet("what a client waited for did not come in time")
            return unmet, server.stop()


def _made(make: Callable[[Path], None], folder: Path) -> Path:
    """Create the served folder inside `folder`, so that there is something outside it. Its files
    get an old time; a case about recent files writes them itself.
    """
    root = folder / "site"
    root.mkdir()
    make(root)
    site.age(root)
    return root


def _talk(case: Case, talk: Talk, address: tuple[str, int]) -> Failure | None:
    try:
        talk.perform(address)
    except Unmet as problem:
        return Failure(case, str(problem))
    return None


def perform(case: Case, address: tuple[str, int], level: int = 1) -> Failure | None:
    """Run one case against a running server; returns None if it holds.

    Over TLS its targets have the other scheme.
    """
    if case.talk:
        return _talk(case, case.talk, address)
    if tls.hello_to(address[1]):
        case = replace(case, steps=schemes.exchanged(case.steps))
    with ExitStack() as stack:
        deadline = time.monotonic() + case.timeout_s + NEIGHBOUR_S * len(case.neighbours)
        for steps in case.neighbours:
            stack.enter_context(Client(address, deadline)).perform(steps)
        answers = _ask(case, address)
    if level < DATED_LEVEL:
        answers = [replace(received, data=received.raw) for received in answers]
    wrong = [received for received in answers if not _is_right(case, received)]
    if len(answers) - len(wrong) >= case.enough:
        return _judge_heads(case, answers) if level >= DATED_LEVEL else None
    problem = _problem(case, wrong[0])
    whole = wrong[0].end == "closed" and wrong[0].data
    if whole and not _wrong_status(case, wrong[0].data) and level >= DATED_LEVEL and (lack := _judge_heads(case, wrong[:1])):
        problem = lack.problem  # what makes it differ, if clearer than the position
    unconnected = sum(not received.connected for received in wrong)
    if case.copies > 1 and unconnected:
        problem = f"{unconnected} of {case.copies} clients were not connected in time: {QUEUE_FULL}"
    elif case.copies > 1:
        problem = (f"{len(answers) - len(wrong)} of {case.copies} clients were answered rightly, "
                   f"at least {case.enough} must be; the first other: {problem}")
    return Failure(case, problem, wrong[0])


def _judge_workers(case: Case, before: dict[str, int], after: dict[str, int]) -> Failure | None:
    """A thread that serves a client waits for each of its requests.

    A thread that only checks whether it should stop waits a few times a second.
    """
    if not after:
        return None
    requests = sum(isinstance(step, bytes) for step in case.steps)
    served = [thread for thread, waits in after.items()
              if waits - before.get(thread, 0) > requests]
    if len(served) >= case.workers:
        return None
    return Failure(case, f"{len(served)} of the server's {len(after)} threads served the "
                         f"{case.copies} clients, {case.workers} must")


def _ask(case: Case, address: tuple[str, int]) -> list[Received]:
    if case.copies == 1:
        return [exchange(address, case.steps, case.timeout_s, case.narrow)]
    return exchange_many(address, case.steps, case.timeout_s, case.copies, case.enough)


def _is_right(case: Case, received: Received) -> bool:
    return received.end == "closed" and received.data in case.expect


def _judge_heads(case: Case, answers: Sequence[Received]) -> Failure | None:
    """Returns a failure if an answer lacks a field that all answers have at this level."""
    now = time.time()
    for received in answers:
        if problem := heads.lacking(received.raw, now - received.seconds, now):
            return Failure(case, problem, received)
    return None


def _problem(case: Case, received: Received) -> str:
    """Returns what is wrong, first a wrong status, because other differences follow from it."""
    status, end = _wrong_status(case, received.data), _wrong_end(case, received)
    return ", and ".join(filter(None, (status, end))) or _difference(case, received)


def _wrong_status(case: Case, data: bytes) -> str:
    """Returns in words the first status that differs from the nearest correct answer; empty if the
    difference is something else.
    """
    expected = nearest(case, data)
    at = first_difference(expected, data)
    start = max(at - len(b"HTTP/1.1 200"), 0)
    begins = expected.find(b"HTTP/1.1 ", start, at + 1)
    if begins < 0 or not begins + 9 <= at < begins + 12:
        return ""
    got = data[begins + 9:begins + 12]
    wanted = dict.fromkeys(answer[begins + 9:begins + 12].decode() for answer in case.expect
                           if answer[:begins] == data[:begins] and len(answer) > begins)
    return (f"status {got.decode()} where {' or '.join(wanted)} is expected"
            if re.fullmatch(rb"\d{3}", got) else "")


def _wrong_end(case: Case, received: Received) -> str:
    """Returns how the connection ended, unless it ended normally after an answer."""
    size = len(received.data)
    if received.end == "refused":
        return "the server did not accept the connection"
    if not received.connected:
        return f"not connected within {case.timeout_s:g} s: {QUEUE_FULL}"
    if received.end == "timeout":
        came = f"{size} bytes came" if size else "nothing came"
        return f"no end of the answer within {case.timeout_s:g} s: {came}"
    if received.end == "reset":
        return (f"the connection was reset after {size} bytes of the answer "
                "(closing a socket that holds unread bytes resets it)")
    if not size:
        return "the connection was closed without an answer"
    if case.expect == (b"",):
        return "an answer came where the connection should just have been closed"
    return ""


def _difference(case: Case, received: Received) -> str:
    at = first_difference(nearest(case, received.data), received.data)
    which = "compared " if is_reported(received) else ""
    return f"the {which}answer differs from byte {at} on"


def is_reported(received: Received) -> bool:
    """Returns whether something was removed before the comparison."""
    return received.raw not in (b"", received.data)


def nearest(case: Case, data: bytes) -> bytes:
    """Returns the correct answer that is most similar to `data`."""
    return max(case.expect, key=lambda expected: first_difference(expected, data))


def first_difference(one: bytes, other: bytes) -> int:
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _end_problem(ended: Ended, what: str) -> str:
    """Returns what is wrong with how the process ended: a hang, a leak or an error report."""
    if ended.killed:
        return "it did not end within 5 s of SIGTERM"
    well = ended.exit_code == 0 and "runtime error:" not in ended.stderr
    return "" if well else _last_words(ended, what)


def _last_words(ended: Ended, what: str) -> str:
    """Describes how a process ended, with the part of its stderr that explains why."""
    lines = ended.stderr.strip().splitlines()
    alarms = [i for i, line in enumerate(lines) if any(alarm in line for alarm in ALARMS)]
    shown = lines[alarms[0]:alarms[0] + 12] if alarms else lines[-8:]
    code = ended.exit_code
    how = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
    return "\n".join([f"{what}: {how}", *(f"  {line}" for line in shown)])


def _signal_name(number: int) -> str:
    return f"{number}, {signal.Signals(number).name}"
