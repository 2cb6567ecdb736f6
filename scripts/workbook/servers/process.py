"""Start a server, find out its port, and make sure that it ends."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import shown
from workbook.servers import tls

READY = re.compile(rb"^listening on https?://([^\s/]+):(\d+)\s*$", re.M)
TIMEOUT_S = 5.0
PF_EXITING = 0x4  # linux/sched.h


@dataclass(frozen=True)
class Ended:
    """How a server ended: exit code (negative: a signal), stderr, whether it had to be killed."""

    exit_code: int
    stderr: str
    killed: bool


class Server:
    """A running server in a process group of its own. Made by `running` and `running_other`."""

    def __init__(self, command: Sequence[str], name: str, ready_s: float,
                 environment: Mapping[str, str] | None = None, port: int | None = None) -> None:
        self.name = name
        self.command = command
        self._out: IO[bytes] = tempfile.TemporaryFile()
        self._err: IO[bytes] = tempfile.TemporaryFile()
        self._ended: Ended | None = None
        # Ours end after one signal. nginx may miss one that arrives just before it waits.
        self._retry_s = float("inf") if port is None else 0.5
        try:
            self._process = children.start(
                command, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                start_new_session=True, env={**os.environ, **(environment or {})})
        except OSError as error:
            raise UserError(f"{name} cannot be started: {error}", "build it again") from None
        self.host, self.port = "", 0  # until it reports them
        self.host, self.port = self._wait_until_ready(ready_s, port)
        try:
            self.pid = _innermost(self._process.pid, None if port is None else name)
        except ProcessLookupError:
            raise self.failure("said that it listens, and ended at once: does it wait for its "
                               "threads?") from None

    @property
    def address(self) -> str:
        scheme = "https" if self.port in tls.SECURED else "http"
        return f"{scheme}://{self.host}:{self.port}"

    @property
    def stderr(self) -> str:
        return _text(self._err)

    def alive(self) -> bool:
        return self._process.poll() is None

    def is_ending(self) -> bool:
        """Whether it has begun to end (Linux: PF_EXITING of proc_pid_stat(5), which is set before
        its sockets are closed); on other systems False.
        """
        with suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return int(fields[6]) & PF_EXITING != 0
        return False

    def cpu_s(self) -> float:
        """Return its user and system time so far, in seconds; 0 if it has ended."""
        import psutil

        with suppress(psutil.Error):
            times = psutil.Process(self.pid).cpu_times()
            return times.user + times.system
        return 0.0

    def waits(self) -> dict[str, int]:
        """Return how often each thread has waited (proc_pid_status(5)); empty without /proc."""
        waits = {}
        for status in Path(f"/proc/{self.pid}/task").glob("*/status"):
            with suppress(OSError):  # a thread that ended meanwhile
                found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)
                waits[status.parent.name] = int(found[1]) if found else 0
        return waits

    def resident_bytes(self) -> int:
        """Return its resident memory in bytes; 0 if it has ended."""
        import psutil

        with suppress(psutil.Error):
            return psutil.Process(self.pid).memory_info().rss
        return 0

    def own_bytes(self) -> int:
        """Return its resident memory without pages of files (proc_pid_smaps(5)), in bytes; all of
        it where the system does not tell them apart.
        """
        with suppress(OSError):
            rollup = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
            return 1024 * sum(map(int, re.findall(r"^Anonymous: +(\d+) kB", rollup, re.M)))
        return self.resident_bytes()

    def page_faults(self) -> int:
        """Return its page faults so far that read nothing from a disk (proc_pid_stat(5), minflt).
        OSError without /proc.
        """
        return int(Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[7])

    def address_space(self) -> int:
        """Return the size of its address space in bytes, used or not; 0 if it has ended."""
        import psutil

        with suppress(psutil.Error):
            return psutil.Process(self.pid).memory_info().vms
        return 0

    def threads(self) -> int:
        """Return the number of its threads; 0 if it has ended."""
        import psutil

        with suppress(psutil.Error):
            return psutil.Process(self.pid).num_threads()
        return 0

    def cores(self) -> list[set[int]]:
        """Return the processors that each of its threads may use. Linux only."""
        threads = os.listdir(f"/proc/{self.pid}/task")
        return [os.sched_getaffinity(int(thread)) for thread in threads]

    def sleeps(self, timeout_s: float) -> bool:
        """Wait until all its threads sleep, and so have received what was sent to it before; False
        after `timeout_s`. Linux only (proc_pid_stat(5)).
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if set(self._states()) <= {"S"}:
                return True
        return False

    def _states(self) -> Iterator[str]:
        """Yield the state of each thread, a letter that follows its name in brackets."""
        for file in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with suppress(OSError):  # a process that ended meanwhile
                yield file.read_text().rpartition(") ")[2][0]

    def ask_to_stop(self) -> None:
        """Send SIGTERM."""
        with suppress(ProcessLookupError):
            os.kill(getattr(self, "pid", self._process.pid), signal.SIGTERM)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The server is suspended within the block. What clients send waits in its sockets."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def ends(self, timeout_s: float) -> bool:
        """Wait until it has ended; False if it has not after `timeout_s`."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return not self.alive()

    def stop(self, timeout_s: float = TIMEOUT_S) -> Ended:
        """Send SIGTERM, then SIGKILL after `timeout_s`. Further calls return the same result."""
        if self._ended is None:
            killed = self._terminate(timeout_s)
            self._kill_group()
            self._ended = Ended(self._process.wait(), self.stderr, killed)
            if tls.SECURED.get(self.port) is self:  # else another server already has this port
                del tls.SECURED[self.port]
        return self._ended

    def kill(self) -> None:
        """End it at once, with everything it started."""
        self.stop(timeout_s=0)

    def _terminate(self, timeout_s: float) -> bool:
        """Ask it to end; True if it did not and has to be killed."""
        deadline = time.monotonic() + timeout_s
        while self.alive() and (left_s := deadline - time.monotonic()) > 0:
            self.ask_to_stop()
            self.ends(min(left_s, self._retry_s))
        return self.alive()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _wait_until_ready(self, ready_s: float, port: int | None) -> tuple[str, int]:
        deadline = time.monotonic() + ready_s
        while time.monotonic() < deadline:
            ended = not self.alive()
            if port is not None and _listens(self._process.pid, port):
                time.sleep(0.5)  # h2o listens before it starts its threads
                return "127.0.0.1", port
            if match := READY.search(_bytes(self._out)):
                return match[1].decode(), self._reported(int(match[2]))
            if ended:
                raise self.failure("ended before it was ready")
            time.sleep(0.005)
        self.kill()
        raise self.failure(f"did not say that it listens within {ready_s:.0f} s "
                           "(is the line flushed?)")

    def _reported(self, port: int) -> int:
        """Record whether clients have to speak TLS at this port, and return it."""
        tls.SECURED.pop(port, None)
        if "--cert" in self.command:
            tls.SECURED[port] = self
        return port

    def failure(self, what: str) -> UserError:
        """Stop the server, and return an error with its exit status and the end of its stderr."""
        ended = self.stop()
        words = "\n".join(f"  {line}" for line in ended.stderr.strip().splitlines()[-5:])
        reason = "" if ended.killed else f" ({_describe(ended.exit_code)})"
        return UserError(f"{self.name} {what}{reason}" + (f"\n{words}" if words else ""),
                         f"run it by hand to see more: {self.name} --port 8080")


def running(binary: Path, *args: str, wrapper: Sequence[str] = (), ready_s: float = 20.0,
            environment: Mapping[str, str] | None = None) -> AbstractContextManager[Server]:
    """Run `wrapper… binary --port 0 args…`, ready for requests, until the block ends.

    UserError, with the exit code and the end of stderr, if the server dies inside the block or does
    not end when it is asked to. Call `stop()` inside the block to judge the end yourself.
    """
    port = () if "--port" in args else ("--port", "0")
    return _until_done([*wrapper, str(binary), *port, *args], shown(binary), ready_s, environment)


def running_other(command: Sequence[str], port: int, *, wrapper: Sequence[str] = (),
                  ready_s: float = 20.0) -> AbstractContextManager[Server]:
    """Like `running`, for a third-party server, which prints nothing when it listens at `port`."""
    return _until_done([*wrapper, *command], Path(command[0]).name, ready_s, None, port)


@contextmanager
def _until_done(*how: Any) -> Iterator[Server]:
    server = Server(*how)
    try:
        yield server
    except Exception as error:
        if server._ended is None and _just_died(server):
            raise server.failure("died while it was being asked") from error
        raise
    else:
        if server._ended is None:
            if not server.alive():
                raise server.failure("died while it was being asked")
            if server.stop().killed:
                raise server.failure(f"did not end within {TIMEOUT_S:.0f} s of SIGTERM")
    finally:
        server.kill()


def in_foreground(binary: Path, arguments: Sequence[str], again: str) -> None:
    """Run a server for the reader, on port 8080 unless another is given, until Ctrl-C.

    Raises UserError if its exit code is not 0; `again` is the command to suggest then.
    """
    port = () if any(a.startswith("--port") for a in arguments) else ("--port", "8080")
    given = [*port, *arguments]
    process = children.start([str(binary), *given])
    try:
        code = _wait_through_ctrl_c(process)
    finally:
        process.kill()
        process.wait()
    if code != 0:
        raise UserError(f"{shown(binary)} ended with {_describe(code)}",
                        f"the port is in use, so choose another: {_with_port(again, arguments)}"
                        if _port_in_use(given) else
                        f"see its message above; what it takes: {again} --help")


def _with_port(again: str, arguments: Sequence[str]) -> str:
    """Return the command `again` with the reader's other options and another port."""
    words = " ".join(arguments).replace("--port=", "--port ").split()
    others = [word for before, word in pairwise(["", *words]) if "--port" not in (before, word)]
    return " ".join([again, *others, "--port 8081"])


def _port_in_use(arguments: Sequence[str]) -> bool:
    """Whether another program listens at the port that a server was given."""
    words = " ".join(arguments).replace("=", " ").split()
    named = [port for option, port in pairwise(words) if option == "--port" and port.isdecimal()]
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(named[-1][:9]) if named else 0))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
        except OverflowError:  # not a port number
            return False
    return False


def _wait_through_ctrl_c(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code. On Ctrl-C, which the terminal sends to the server, too, wait for it to
    end, and kill it after TIMEOUT_S.
    """
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(TIMEOUT_S)
            process.kill()


def _just_died(server: Server) -> bool:
    """Wait briefly for the process to end, because its connections are reset a moment earlier."""
    deadline = time.monotonic() + 0.2
    while server.alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not server.alive()


def _listens(pid: int, port: int) -> bool:
    """Whether a program on this process's network listens at a port (proc_net(5): state 0A)."""
    with suppress(OSError):
        table = Path(f"/proc/{pid}/net/tcp").read_text()
        return re.search(rf"^ *\d+: \w+:{port:04X} \w+:\w+ 0A ", table, re.M) is not None
    return False


def _innermost(pid: int, name: str | None) -> int:
    """Return the pid of the server itself if its parent is a wrapper such as strace. With a `name`,
    only processes of that name count, because the server may have children. ProcessLookupError if
    it has ended.
    """
    import psutil

    try:
        descendants = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        raise ProcessLookupError(pid) from None
    if name is not None:
        descendants = [process for process in descendants if process.name() == name[:15]]
    return descendants[-1].pid if descendants else pid


def _bytes(file: IO[bytes]) -> bytes:
    """All that was written so far, without moving the offset that the server writes at."""
    return os.pread(file.fileno(), 1 << 20, 0)


def _text(file: IO[bytes]) -> str:
    return _bytes(file).decode(errors="replace")


def _describe(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit code {exit_code}"
    return f"signal {-exit_code}, {signal.Signals(-exit_code).name}"
