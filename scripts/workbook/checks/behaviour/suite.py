"""Runs the table against one server and says in words what went wrong."""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from workbook.checks.behaviour.rows import Case, Unmet
from workbook.common import children
from workbook.common.errors import UserError
from workbook.measure.stress import raise_descriptor_limit
from workbook.servers.client import (
    Await,
    Client,
    HalfClose,
    Pause,
    Received,
    Sip,
    Step,
    Vanish,
    exchange,
    exchange_many,
)
from workbook.servers.process import Ended, Server, running

BLAMED = "behaviour.connections"  # for an end that is not well
MAX_HANGS = 3
MAX_ONE_LINER = 800


@dataclass(frozen=True)
class Failure:
    """A case that did not hold. `problem` is one sentence, `received` what came instead."""

    case: Case
    problem: str
    received: Received | None = None


@dataclass
class Group:
    """How the cases of one check went."""

    check: str
    cases: int
    passed: int = 0
    failures: list[Failure] = field(default_factory=list)
    stopped: str = ""  # why the rest was not run

    @property
    def ok(self) -> bool:
        return self.passed == self.cases and not self.stopped


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
    """Those that hold at a level; UserError if the pattern names none of them. A pattern without a
    slash is one for names within their group.
    """
    whole = pattern if "/" in pattern else f"*/{pattern}"
    holding = [case for case in cases if case.holds_at(level)]
    found = [case for case in holding if fnmatchcase(case.name, whole)]
    if not found and pattern != "*":
        names = [case.name for case in holding]
        asked = pattern.strip("*")
        last = asked.split("/")[-1]
        near = ([name for name in names if last and last in name]
                or get_close_matches(asked, names, n=12, cutoff=0.3) or names)
        raise UserError(f"no case is called “{pattern}”",
                        "use one of: " + ", ".join(near[:12]) + (" …" if near[12:] else ""))
    return found


def run(binary: Path, cases: Sequence[Case], level: int,
        on_case: Callable[[Case], None] = lambda case: None) -> Result:
    """Start the server, run the cases one after another, stop it; then those that have a server
    of their own. Never raises for its faults.
    """
    started = time.monotonic()
    sizes = Counter(case.check for case in cases)
    result = Result({check: Group(check, size) for check, size in sizes.items()})
    command = (binary, "--threads", "4") if level >= 4 else (binary,)
    raise_descriptor_limit()
    together = [case for case in cases if not case.alone]
    if together:
        _run_together(command, together, result, on_case)
    alone = [case for case in cases if case.alone and not result.groups[case.check].stopped]
    if alone:
        _run_alone(command, alone, result, on_case)
    result.seconds = time.monotonic() - started
    return result


def _run_together(command: Sequence[Any], cases: Sequence[Case], result: Result,
                  on_case: Callable[[Case], None]) -> None:
    try:
        with running(*command) as server:
            _Run(server, result, on_case).all(cases)
            _judge_end(server.stop(), result)
    except UserError as error:
        _stop_everything(result, error.message)


def _run_alone(command: Sequence[Any], cases: Sequence[Case], result: Result,
               on_case: Callable[[Case], None]) -> None:
    """All at the same time: they wait more than they work."""
    with ThreadPoolExecutor(len(cases)) as pool:
        try:
            outcomes = pool.map(partial(_alone, command), cases)
            for case, failure in zip(cases, outcomes, strict=True):
                on_case(case)
                group = result.groups[case.check]
                group.passed += failure is None
                group.failures += [failure] if failure else []
        except BaseException:  # Ctrl-C: the pool would wait for them
            children.kill_all()
            raise


def _alone(command: Sequence[Any], case: Case) -> Failure | None:
    """One case with a server of its own. What was expected may have come too late on a busy
    machine: it is asked for once more.
    """
    for _ in range(2):
        try:
            unmet, ended = _perform_alone(command, case)
        except UserError as error:
            return Failure(case, error.message)
        if words := _end_problem(ended, unmet or "it did not end well after SIGTERM"):
            return Failure(case, words)
        if not unmet:
            return None
    return Failure(case, unmet)


def _perform_alone(command: Sequence[Any], case: Case) -> tuple[str, Ended]:
    """What was not as it should be, if anything, and how the server ended."""
    assert case.alone
    few = case.alone.few_descriptors
    wrapper = ("sh", "-c", f'ulimit -n {few} && exec "$@"', "sh") if few else ()
    unmet = ""
    with running(*command, wrapper=wrapper) as server:
        try:
            case.alone.perform(server)
        except Unmet as problem:
            unmet = str(problem)
        return unmet, server.stop()


class _Run:
    """One pass over the cases against one running server."""

    def __init__(self, server: Server, result: Result, on_case: Callable[[Case], None]) -> None:
        self._server = server
        self._result = result
        self._on_case = on_case
        self._hangs = 0
        self._before: Case | None = None

    def all(self, cases: Sequence[Case]) -> None:
        for case in cases:
            group = self._result.groups[case.check]
            if group.stopped:
                continue
            self._on_case(case)
            before = _waits(self._server.pid) if case.workers else {}
            failure = perform(case, (self._server.host, self._server.port))
            if case.workers and failure is None:
                failure = _judge_workers(case, before, _waits(self._server.pid))
            if failure is None:
                group.passed += 1
            else:
                self._record(group, failure)
            self._before = case

    def _record(self, group: Group, failure: Failure) -> None:
        if self._died(failure):
            words = _last_words(self._server.stop(), "the server died during this case")
            if failure.received and failure.received.end == "refused" and self._before:
                words = words.replace("during this case", f"after {self._before.name}")
            group.failures.append(Failure(failure.case, words, failure.received))
            _stop_everything(self._result, "the server died")
            return
        group.failures.append(failure)
        if failure.received and failure.received.end == "timeout":
            self._hangs += 1
            group.stopped = "stopped at the first case without an end"
        if self._hangs == MAX_HANGS:
            _stop_everything(self._result, f"stopped after {MAX_HANGS} cases without an end")

    def _died(self, failure: Failure) -> bool:
        """A process ends a moment after its sockets do; if too late to be seen here, the next
        case is refused.
        """
        end = failure.received.end if failure.received else "closed"
        patience = {"timeout": 0.0, "refused": 1.0}.get(end, 0.002)
        deadline = time.monotonic() + patience
        while self._server.alive() and time.monotonic() < deadline:
            time.sleep(0.005)
        return not self._server.alive()


def perform(case: Case, address: tuple[str, int]) -> Failure | None:
    """One case against a running server; None if it holds."""
    with ExitStack() as stack:
        for steps in case.neighbours:
            deadline = time.monotonic() + case.timeout_s
            stack.enter_context(Client(address, deadline)).perform(steps)
        answers = _ask(case, address)
    wrong = [received for received in answers if not _is_right(case, received)]
    if len(answers) - len(wrong) >= case.enough:
        return None
    problem = _problem(case, wrong[0])
    if case.copies > 1:
        problem = (f"{len(answers) - len(wrong)} of {case.copies} clients were answered rightly, "
                   f"at least {case.enough} must be; the first other: {problem}")
    return Failure(case, problem, wrong[0])


def _waits(pid: int) -> dict[str, int]:
    """How often each thread of a process has waited for something; nothing without a /proc."""
    waits = {}
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(OSError):  # one that ended while we looked
            found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)
            waits[status.parent.name] = int(found[1]) if found else 0
    return waits


def _judge_workers(case: Case, before: dict[str, int], after: dict[str, int]) -> Failure | None:
    """Whoever serves a client waits for each of its requests; a thread that only looks whether it
    is to stop does so a few times a second.
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


def _problem(case: Case, received: Received) -> str:
    size = len(received.data)
    if received.end == "refused":
        return "the server did not accept the connection"
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
    at = _first_difference(nearest(case, received.data), received.data)
    return f"the answer differs from byte {at} on"


def nearest(case: Case, data: bytes) -> bytes:
    """Of the right answers the one that this is most like."""
    return max(case.expect, key=lambda expected: _first_difference(expected, data))


def _first_difference(one: bytes, other: bytes) -> int:
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _judge_end(ended: Ended, result: Result) -> None:
    """After the last case the server has to end well."""
    groups = result.groups
    group = groups.get(BLAMED) or [g for g in groups.values() if g.passed or g.failures][-1]
    group.stopped = group.stopped or _end_problem(ended, "it did not end well after SIGTERM")


def _end_problem(ended: Ended, what: str) -> str:
    """What is wrong with an end that was a hang, or came with a leak or a complaint."""
    if ended.killed:
        return "it did not end within 5 s of SIGTERM"
    well = ended.exit_code == 0 and "runtime error:" not in ended.stderr
    return "" if well else _last_words(ended, what)


def _stop_everything(result: Result, reason: str) -> None:
    for group in result.groups.values():
        if group.passed + len(group.failures) < group.cases:
            group.stopped = group.stopped or reason


def _last_words(ended: Ended, what: str) -> str:
    """How a process ended, with the part of its stderr that tells why."""
    lines = ended.stderr.strip().splitlines()
    alarms = [i for i, line in enumerate(lines) if "ERROR:" in line or "runtime error:" in line]
    shown = lines[alarms[0]:alarms[0] + 12] if alarms else lines[-8:]
    code = ended.exit_code
    how = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
    return "\n".join([f"{what}: {how}", *(f"  {line}" for line in shown)])


def _signal_name(number: int) -> str:
    return f"{number}, {signal.Signals(number).name}"


def sent_text(case: Case) -> str:
    """What a case sends, abbreviated, its pauses in angle brackets."""
    lines = [f"first, another client: {_steps_text(steps)}" for steps in dict.fromkeys(
        case.neighbours)]
    lines.append(_steps_text(case.steps))
    if case.copies > 1:
        lines.append(f"({case.copies} clients at once)")
    if case.narrow:
        lines.append("(with a small receive buffer)")
    return "\n".join(lines)


def _steps_text(steps: Sequence[Step]) -> str:
    if len(steps) > 12:
        whole = b"".join(step for step in steps if isinstance(step, bytes))
        return escaped(whole) + f"  ‹in {sum(isinstance(s, bytes) for s in steps)} pieces›"
    if not any(step and not isinstance(step, Pause) for step in steps):
        return "‹connects and is silent›"
    return " ".join(_step_text(step) for step in steps)


def _step_text(step: Step) -> str:
    match step:
        case bytes():
            return escaped(step)
        case Pause(seconds):
            return f"‹{seconds * 1000:g} ms›"
        case Await(data):
            return f"‹waits for {escaped(data)}›"
        case Sip(size, _):
            return f"‹reads {size} bytes at a time›"
        case HalfClose():
            return "‹half-close›"
        case Vanish():
            return "‹vanishes›"


def escaped(data: bytes, most: int = 240) -> str:
    """Bytes as they would stand in a C string, the middle left out when there are many."""
    start = _escaped_until(data, most)
    if len(start) == len(data):
        return "".join(start)
    start, end = _escaped_until(data, most - 80), _escaped_until(data[::-1], 60)
    left_out = len(data) - len(start) - len(end)
    return f"{''.join(start)} … ‹{left_out} bytes› … {''.join(reversed(end))}"


def _escaped_until(data: bytes, most: int) -> list[str]:
    """The first bytes, each escaped, as far as `most` characters go."""
    names = {0: "\\0", 39: "'"}
    texts: list[str] = []
    room = most
    for byte in data[:most]:
        text = names.get(byte) or repr(bytes([byte]))[2:-1]
        room -= len(text)
        if room < 0:
            break
        texts.append(text)
    return texts


def around(data: bytes, other: bytes) -> str:
    """What differs: all of a short answer, else the surroundings of the first difference."""
    if len(data) <= 320:
        return escaped(data, 1300) or "‹nothing›"
    start = max(0, _first_difference(data, other) - 40)
    before = f"‹{start} bytes› … " if start else ""
    after = f" … ‹{len(data)} bytes in all›"
    return before + "".join(_escaped_until(data[start:], 240)) + after


def one_liner(case: Case, port: int = 8080) -> str:
    """A line for bash that sends the same and shows what comes, or nothing where a shell cannot
    or the line would be long.
    """
    simple = all(isinstance(step, (bytes, Pause)) for step in case.steps)
    size = sum(len(step) for step in case.steps if isinstance(step, bytes))
    if not simple or case.neighbours or case.narrow or len(case.steps) > 5 or size > MAX_ONE_LINER:
        return ""
    parts = [f"printf '{_for_printf(step)}'" if isinstance(step, bytes)
             else f"sleep {max(step.seconds, 0.1):g}" for step in case.steps]  # type: ignore
    return f"( exec 3<>/dev/tcp/127.0.0.1/{port}; {{ {'; '.join(parts)}; }} >&3; cat <&3 )"


def _for_printf(data: bytes) -> str:
    special = {b"\r": "\\r", b"\n": "\\n", b"\t": "\\t", b"%": "%%", b"\\": "\\\\", b"'": "'\\''"}

    def one(byte: bytes) -> str:
        plain = byte.decode("latin-1") if 0x20 <= byte[0] < 0x7f else f"\\{byte[0]:03o}"
        return special.get(byte, plain)

    return "".join(one(bytes([byte])) for byte in data)
