"""A server on another machine: copied and started there by ssh(1), and ended with the connection.

Two connections are made. The first copies the program into a new temporary directory. The second
runs it and reports its processor time on request. When our end closes, for whatever reason, it ends
the program and removes the directory.
"""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from workbook.common import children
from workbook.common.errors import UsageError, UserError
from workbook.common.heartbeat import heartbeat
from workbook.measure.load import Remote

COPY_S, START_S, ANSWER_S, END_S = 300.0, 60.0, 10.0, 10.0
TARGET = re.compile(r"[^-\s][^\s]*")
# If we end meanwhile, printing fails, and the script removes what it has copied.
COPY = """\
trap '' PIPE
directory=$(mktemp -d "${TMPDIR:-/tmp}/hot-path.XXXXXX") || exit 1
{ cat > "$directory/server" && chmod 700 "$directory/server" && uname -sm &&
  printf '%s\\n' "$directory"; } || { rm -rf "$directory"; exit 1; }
"""
# Reads a line for each question; the end of input is the end of the connection.
RUN = """\
directory=$1; shift
"$directory/server" "$@" 2> "$directory/err" &
server=$!
trap 'kill $server 2>/dev/null; wait $server; rm -rf "$directory"' EXIT
trap 'exit 1' HUP INT TERM
sleep 0.2
while kill -0 $server 2>/dev/null && read -r question; do
    printf 'ticks %s %s\\n' "$(getconf CLK_TCK)" "$(cut -d ' ' -f 14,15 /proc/$server/stat 2>/dev/null)"
done
cat "$directory/err" >&2
"""


@dataclass(frozen=True)
class Target:
    """The reader's name for the machine, and its numeric address."""

    name: str
    address: str


@contextmanager
def serving(there: Target, name: str, binary: Path, *args: str) -> Iterator[Remote]:
    """Copy a server to another machine, start it on a port that the system there chooses, and end
    it with the block. UserError if ssh fails, the platforms differ, or the server does not start.
    """
    directory = _copied(there, binary)
    everywhere = "::" if ":" in there.address else "0.0.0.0"
    command = ["sh", "-c", RUN, "server", directory, "--host", everywhere, "--port", "0", *args]
    process = children.start(["ssh", "-T", there.name, shlex.join(command)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        port = _port(there, process)
        host = f"[{there.address}]" if ":" in there.address else there.address
        yield Remote(name, f"http://{host}:{port}", there.address, port, partial(_cpu_s, process))
    finally:
        _end(process)


def resolved(target: str) -> Target:
    """Resolve `target`, which is user@host or a name in ~/.ssh/config, as ssh does. UsageError if
    ssh does not understand it, UserError if ssh is missing or the machine has no address.
    """
    if not TARGET.fullmatch(target):
        raise UsageError(f"“{target}” is no machine", "give user@host, or what ssh calls it")
    if not shutil.which("ssh"):
        raise UserError("ssh is not installed", "apt-get install openssh-client, or your system's own")
    settings = subprocess.run(["ssh", "-G", target], capture_output=True, text=True, errors="replace")
    found = re.search(r"^hostname (\S+)$", settings.stdout, re.M)
    if settings.returncode != 0 or not found:
        raise UsageError(f"ssh does not understand “{target}”: {_last_line(settings.stderr)}",
                         "give user@host, or what ssh calls it")
    try:
        addresses = socket.getaddrinfo(found[1], None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UserError(f"{found[1]} has no address: {getattr(error, 'strerror', error)}",
                        "give the machine's address instead of its name") from None
    return Target(target, str(addresses[0][4][0]))


def _copied(there: Target, binary: Path) -> str:
    """Copy the program and return its directory on the other machine. UserError if that fails, or
    if the platforms differ, in which case the program has to be built there.
    """
    with binary.open("rb") as program, heartbeat(lambda: f"copying the server to {there.name}"):
        try:
            done = subprocess.run(["ssh", "-T", there.name, COPY], stdin=program, capture_output=True,
                                  text=True, errors="replace", timeout=COPY_S)
        except subprocess.TimeoutExpired:
            raise UserError(f"copying to {there.name} takes longer than {COPY_S:g} s",
                            f"try by hand: ssh {there.name} true") from None
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) < 2:
        raise UserError(f"ssh to {there.name} failed: {_last_line(done.stderr)}",
                        f"try by hand: ssh {there.name} true")
    kind, directory = lines[-2:]
    if kind != (ours := f"{platform.system()} {platform.machine()}"):
        subprocess.run(["ssh", "-T", there.name, shlex.join(["rm", "-rf", directory])],
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=START_S)
        raise UserError(f"{there.name} is {kind} and this machine is {ours}: the program does not run "
                        "there", "build and run it there, then give its address with --at")
    return directory


def _port(there: Target, process: subprocess.Popen[str]) -> int:
    """Wait until the server reports that it listens, and return the port; else UserError."""
    assert process.stdout is not None
    line = _line(process.stdout, START_S)
    found = re.fullmatch(r"listening on http://\S+:(\d+)", line.strip())
    if found:
        return int(found[1])
    _end(process)
    assert process.stderr is not None
    raise UserError(f"the server does not start on {there.name}: {_last_line(process.stderr.read())}",
                    "build and run it there, then give its address with --at")


def _cpu_s(process: subprocess.Popen[str]) -> tuple[float, float] | None:
    """Return the server's user and system time so far, in seconds; None without /proc there."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(OSError, ValueError):
        process.stdin.write("ticks\n")
        process.stdin.flush()
        _, per_second, own, kernel = _line(process.stdout, ANSWER_S).split()
        return int(own) / int(per_second), int(kernel) / int(per_second)
    return None


def _line(stream: IO[str], timeout_s: float) -> str:
    """Return the next line; empty at the end of the stream, or after `timeout_s`."""
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(stream.readline()), daemon=True)
    reader.start()
    reader.join(timeout_s)
    return lines[0] if lines else ""


def _end(process: subprocess.Popen[str]) -> None:
    """Close our end of the connection, which ends the server, and wait for ssh to exit."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
