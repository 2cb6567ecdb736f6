"""How the server starts, and what it does if it cannot."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from workbook.checks.behaviour.alone import TIMEOUT_S, alone, must_be_plain
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import PAGE_ANSWER, Case, Unable, Unmet, get
from workbook.common import children
from workbook.common.errors import UserError
from workbook.machine import needs
from workbook.machine.cores import available_cpus
from workbook.servers import heads
from workbook.servers.client import connect
from workbook.servers.process import Server, running, running_other

FEW_THREADS, MORE_THREADS = 2, 5
TWICE, LOOK_S = 2, 0.2
TOO_MANY_THREADS = 64
CAPACITY_KB = 64 * 1024  # the memory suffices for the stacks of only some of them, at 8 MiB each
TOO_LARGE = "99999999999999999999999"
PORTS_TRIED = 3
TCP_TABLE, LISTEN = Path("/proc/net/tcp"), "0A"  # a listening socket's state in the table
CLOSED_STREAMS = ("sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh")
NO_NUMBERS = ("", "x", "1x", "-1", "1.5", TOO_LARGE)


def cases() -> Iterator[Case]:
    yield alone("port-in-use", "bind(2), EADDRINUSE",
                "the server is started again on the port of one that runs",
                "it prints the address on stderr, and nothing on stdout, and ends "
                "with 1", port_taken)
    yield alone("ipv6", "RFC 3986 §3.2.2 (ours)", "the server is started with --host ::1",
                "it announces http://[::1]:PORT, and answers there", ipv6)
    yield alone("closed-standard-streams", "open(2), the lowest number that is free",
                "the server is started with descriptors 0, 1 and 2 closed, and a client asks for "
                "the page", "the page; each of these descriptors is closed, or is /dev/null",
                standard_streams_closed)
    yield alone("immediate-restart", "socket(7), SO_REUSEADDR",
                "a server answers a client and closes first, is stopped, and is started on the "
                "same port", "it listens there, though that connection's TIME_WAIT is not over",
                immediately_repeated)
    yield alone("help", "getopt_long(3) (ours)", "the server is started with --help",
                "it lists --host, --port, --threads and --help on stdout, and ends with 0",
                help_lists_options)
    yield alone("nothing-printed-at-the-end", "signal(7), SIGTERM",
                "a server is started, and ended with SIGTERM",
                "all that it has printed on stdout is where it listens, and it ends with 0",
                only_announced)
    yield alone("threads-by-default", "sched_getaffinity(2)",
                "the server is started without --threads, and with --threads 1",
                "the first has a thread for each processor", threads_by_default, level=4, until=4)
    yield alone("threads-as-requested", "pthreads(7)",
                f"the server is started with --threads {FEW_THREADS}, and {MORE_THREADS}",
                f"the second has {MORE_THREADS - FEW_THREADS} threads more", threads_as_asked,
                level=4, until=4)
    yield alone("listener-for-each-thread", "socket(7), SO_REUSEPORT",
                f"the server is started with --threads {MORE_THREADS}",
                f"{MORE_THREADS} sockets listen on its port", a_listener_each, level=7)
    for last, level in (("", 4), ("-with-workers", 7)):
        yield alone(f"thread-creation-fails{last}", "pthread_create(3), EAGAIN",
                    f"the server is started with --threads {TOO_MANY_THREADS}, and memory for a "
                    "few of them",
                    "it prints the error on stderr, and ends with 1", out_of_threads,
                    level=level, until=4 if level == 4 else None)


def help_lists_options(server: Server) -> None:
    code, out, err = started_in_vain(server, "--help")
    listed = re.findall(r"^ +(--\w+)", out, re.MULTILINE)  # not those of the synopsis
    missing = [option for option in ("--host", "--port", "--threads", "--help")
               if option not in listed]
    if code != 0 or err or missing:
        raise Unmet(f"the help lacks {missing[0]}" if code == 0 and missing else
                    "it did not end" if code is None else reported(code, out, err))


def only_announced(server: Server) -> None:
    process = children.start([*server.command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    process.terminate()
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Unmet(f"it did not end within {TIMEOUT_S:g} s") from None
    if not first.startswith("listening on ") or out or process.returncode != 0:
        raise Unmet(reported(process.returncode, first + out, err))


def port_taken(server: Server) -> None:
    code, out, err = started_in_vain(server, "--port", str(server.port))
    if code is None:
        raise Unmet(f"two of them listen on port {server.port}" if out else "it did not end")
    if code != 1 or out or f"{server.host}:{server.port}" not in err:
        raise Unmet(reported(code, out, err))


def ipv6(server: Server) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        raise Unable("this system has no IPv6 loopback") from None
    try:
        with repeated(server, "--host", "::1") as other:
            if other.host != "[::1]":
                raise Unmet(f"it announces {other.address}")
            with connect(("::1", other.port), TIMEOUT_S) as client:
                client.sendall(get())
                answer = heads.plain(client.makefile("rb").read())
    except (UserError, OSError) as error:
        raise Unmet(reason(error)) from None
    if answer != PAGE_ANSWER:
        raise Unmet(f"{answer[:40]!r} came")


def standard_streams_closed(server: Server) -> None:
    """The server can't print its port, so it gets one that was free a moment ago, and another one
    if it ends, because the port may have been taken meanwhile.
    """
    if not Path("/proc/self/fd").is_dir():
        raise Unable("this system does not list a process's descriptors in /proc")
    for tries_left in reversed(range(PORTS_TRIED)):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = (*server.command, "--port", str(port))
        try:
            with running_other(command, port, wrapper=CLOSED_STREAMS) as other:
                _must_have_no_low_descriptors(other)
            return
        except (UserError, OSError) as error:
            if not tries_left:
                raise Unmet(reason(error)) from None


def _must_have_no_low_descriptors(server: Server) -> None:
    with connect((server.host, server.port), TIMEOUT_S) as client:
        client.sendall(get())
        answer = heads.plain(client.makefile("rb").read())
    if answer != PAGE_ANSWER:
        raise Unmet(f"{answer[:40]!r} came")
    for number in map(str, range(3)):
        descriptor = Path("/proc", str(server.pid), "fd", number)
        if descriptor.is_symlink() and (opened := os.readlink(descriptor)) != os.devnull:
            raise Unmet(f"descriptor {number} is {opened}")


def immediately_repeated(server: Server) -> None:
    with repeated(server) as first:
        port = first.port
        with connect((first.host, port), TIMEOUT_S) as client:
            try:
                client.sendall(get())
                while client.recv(65_536):
                    pass
            except OSError as error:
                raise Unmet(f"its client had no end of the answer: {error}") from None
        first.stop()
    try:
        with repeated(server, "--port", str(port)) as second:
            if second.port != port:
                raise Unmet(f"it listens on port {second.port}")
    except UserError as error:
        raise Unmet(error.message) from None


def threads_by_default(server: Server) -> None:
    """The default number of threads is the number of processors that the process may use."""
    deadline = time.monotonic() + TIMEOUT_S
    right = {os.cpu_count() or 1, available_cpus()}
    if 1 in right:
        raise Unable("with one processor the default is the same as --threads 1")
    with running(Path(server.command[0])) as usual, repeated(server, "--threads", "1") as one:
        while (more := usual.threads() - one.threads()) + 1 not in right:
            time.sleep(LOOK_S)
            if time.monotonic() > deadline:
                raise Unmet(f"it has {more} threads more than with one, on "
                            f"{' or '.join(map(str, sorted(right)))} processors")


def threads_as_asked(server: Server) -> None:
    """The number of threads must become the requested one and stay so. Some threads may start after
    the server prints that it is ready.
    """
    deadline = time.monotonic() + TIMEOUT_S
    with repeated(server, "--threads", str(FEW_THREADS)) as few, \
            repeated(server, "--threads", str(MORE_THREADS)) as more:
        right = 0
        while right < TWICE:
            time.sleep(LOOK_S)
            had = few.threads(), more.threads()
            right = right + 1 if had[1] - had[0] == MORE_THREADS - FEW_THREADS else 0
            if not right and time.monotonic() > deadline:
                raise Unmet(f"it had {had[0]} threads, and {had[1]}")


def a_listener_each(server: Server) -> None:
    """The threads may begin to listen after the server prints that it is ready."""
    if not TCP_TABLE.is_file():
        raise Unable("this system does not list its sockets in /proc/net/tcp")
    deadline = time.monotonic() + TIMEOUT_S
    with repeated(server, "--threads", str(MORE_THREADS)) as several:
        while (found := _listeners(several.port)) != MORE_THREADS:
            time.sleep(LOOK_S)
            if time.monotonic() > deadline:
                raise Unmet("1 socket listens" if found == 1 else f"{found} sockets listen")


def _listeners(port: int) -> int:
    """Returns how many IPv4 sockets listen on the port (proc_net_tcp in the kernel's manual)."""
    lines = [line.split() for line in TCP_TABLE.read_text(encoding="ascii").splitlines()[1:]]
    return sum(int(local.rpartition(":")[2], 16) == port and state == LISTEN
               for _, local, _, state, *_ in lines)


def out_of_threads(server: Server) -> None:
    must_be_plain(server)
    space = server.address_space() // 1024 + CAPACITY_KB
    code, out, err = started_in_vain(server, "--threads", str(TOO_MANY_THREADS), wrapper=(
        "sh", "-c", f'ulimit -v {space} || exit 77; exec "$@"', "sh"))
    if code == 77:
        raise Unable("this system cannot limit a process's memory")
    if code != 1 or not err:
        raise Unmet("it did not end" if code is None else reported(code, out, err))


def repeated(server: Server, *arguments: str, wrapper: Sequence[str] = (),
          ) -> AbstractContextManager[Server]:
    """Start another such server. If an option is given twice, the last one counts."""
    return running(Path(server.command[0]), *server.command[1:], *arguments, wrapper=wrapper)


@contextmanager
def failing(server: Server, call: str, error: str, *arguments: str,
            log: str = os.devnull) -> Iterator[Server]:
    """Start another such server, all of whose calls of `call` fail with `error`. The calls are
    written to `log`.
    """
    with traced(server, call, *arguments, log=log,
                options=("-e", f"inject={call}:error={error}")) as other:
        yield other


@contextmanager
def traced(server: Server, calls: str, *arguments: str, log: str,
           options: Sequence[str] = ()) -> Iterator[Server]:
    """Start another such server under strace. Its calls with these names, separated by commas, are
    written to `log`.
    """
    if lacking := needs.lacking("strace"):
        raise Unable(lacking)
    wrapper = ("strace", "-f", "-qq", "-o", log, "-e", f"trace={calls}", *options)
    try:
        with repeated(server, *arguments, wrapper=wrapper) as other:
            yield other
    except UserError as problem:
        if "ptrace" in problem.message:
            raise Unable("this system forbids tracing") from None
        raise


def started_in_vain(server: Server, *arguments: str, wrapper: Sequence[str] = (),
                    ) -> tuple[int | None, str, str]:
    """Returns the exit code, or None if the server keeps running, and its stdout and stderr."""
    process = children.start([*wrapper, *server.command, *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        process.wait(10.0)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return None, out, err
    out, err = process.communicate()
    return process.returncode, out, err


def reason(error: UserError | OSError) -> str:
    return error.message if isinstance(error, UserError) else str(error)


def reported(code: int, out: str, err: str) -> str:
    output = "; ".join(f"on {name}: {text.strip()}" for name, text in
                       (("stdout", out), ("stderr", err)) if text.strip())
    return f"it ended with {code}, and printed {output or 'nothing'}"


def bad_option(option: str, *more: str) -> Case:
    """The server must refuse these values of the option, and everything that is not a number."""
    values = (*NO_NUMBERS, *more)
    return alone(f"bad-{option.removeprefix('--')}", "exit(3)",
                 f"the server is started with --threads 2 and {option} "
                 + ", ".join(f"“{value}”" for value in values),
                 "each time it names the option on stderr, prints nothing on stdout, and ends "
                 "with 1", partial(_bad_values, option=option, values=values))


def _bad_values(server: Server, option: str, values: Sequence[str]) -> None:
    for value in values:
        code, out, err = started_in_vain(server, "--threads", "2", option, value)
        if code is None:
            raise Unmet(f"with “{value}” it did not end")
        if code != 1 or out or option not in err:
            raise Unmet(f"with “{value}” {reported(code, out, err)}")


CHECKS = (group("start", "starting, and failing to start", cases),)
