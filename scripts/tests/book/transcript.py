"""A page's console lines, run in one shell and held against what the page prints.

What differs by machine (ports that a kernel chose, processes, inodes, limits) matches by pattern.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

TIMEOUT_S = 120
RETRY_S = 0.2
DONE = "\N{END OF TRANSMISSION BLOCK}"  # the shell prints it behind every command
LOOKS = ("ss ", "cat /proc/", "grep ", "readlink ")  # what only looks may look again
WENT_ON = "(and went on)"
ANY = "…"  # on a line of its own: whatever is printed
JOB_NEWS = re.compile(r"^(?:\[\d+\].*|\S+: line \d+: +\d+ Terminated .*)$")


@dataclass(frozen=True)
class Command:
    line: str
    printed: list[str]


def commands(page: str) -> list[Command]:
    """Every command of a page's console fences, with what the page says that it prints."""
    found: list[Command] = []
    for fence in re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S):
        for line in fence.splitlines():
            if line.startswith("$ "):
                found.append(Command(line[2:], []))
            else:
                found[-1].printed.append(line)
    return found


def alike(line: str, command: str) -> str:
    """The line with what differs by machine made the same."""
    line = re.sub(r"\s+", " ", line).strip()
    line = re.sub(r"socket:\[\d+\]", "socket:[N]", line)
    line = re.sub(r"(127\.0\.0\.1:)(?!70)\d{4,5}\b", r"\1N", line)
    return re.sub(r"\d+", "N", line) if command.startswith("cat /proc/sys/") else line


def same(printed: list[str], command: Command) -> bool:
    if command.printed == [ANY]:
        return printed[-1:] != [WENT_ON]
    return ([alike(line, command.line) for line in printed]
            == [alike(line, command.line) for line in command.printed])


class Shell:
    """One bash for all commands, as a reader has one terminal."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            ["bash", "--norc"], cwd=directory, text=True, start_new_session=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, output: IO[str]) -> None:
        for line in output:
            self._lines.put(line.rstrip("\n"))

    def run(self, command: Command, timeout_s: float = TIMEOUT_S) -> list[str]:
        """What it printed, at the latest when patience ends: a program in the background prints
        later than the shell says that it is done, and the kernel needs a moment too.
        """
        ends = time.monotonic() + timeout_s
        while True:
            printed = list(self._once(command, ends))
            if same(printed, command) or time.monotonic() >= ends:
                return printed
            if not command.line.startswith(LOOKS):
                return printed
            time.sleep(RETRY_S)

    def _once(self, command: Command, ends: float) -> Iterator[str]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command.line}\necho {DONE}\n")
        printed = 0
        done = False
        while not done or (command.line.endswith("&") and printed < len(command.printed)):
            try:
                line = self._lines.get(timeout=max(0.0, ends - time.monotonic()))
            except queue.Empty:
                yield WENT_ON
                return
            if line == DONE:
                done = True
            elif not JOB_NEWS.match(line):
                printed += 1
                yield line

    def close(self) -> None:
        """End the shell and all that it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
