"""Judges which external symbols the object file of a source refers to, as nm lists them.

The connection makes no system calls, so that readiness, completion and TLS can all drive it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from workbook.checks.model import RELEASE, Check, Status, Subject, Verdict

SOURCE = "connection.cpp"
SYSTEM = ("socket*.cpp", "send*.cpp", "poller*.cpp")  # the sources that call the kernel instead
PROGRAMS = ("llvm-nm", *(f"llvm-nm-{version}" for version in range(22, 17, -1)), "nm")
CALLS = frozenset("""
    accept accept4 bind clock clock_gettime clock_nanosleep close connect dup dup2 epoll_create1
    epoll_ctl epoll_pwait epoll_pwait2 epoll_wait fcntl fflush fopen fprintf fputc fputs fread
    fwrite getsockopt gettimeofday ioctl kevent kqueue listen lseek nanosleep open open64 openat
    openat64 pause pipe pipe2 poll ppoll pread pread64 printf pselect pthread_cond_timedwait
    pthread_cond_wait pthread_mutex_lock putchar puts pwrite pwrite64 read readv recv recvfrom
    recvmmsg recvmsg sched_yield select send sendfile sendfile64 sendmmsg sendmsg sendto setsockopt
    shutdown sleep socket splice syscall tcdrain time timespec_get usleep vfprintf vprintf write
    writev
""".split())
LIBRARY = re.compile(  # the C++ standard library's names for those
    r"(this_thread|condition_variable|(mutex|_clock|yield|semaphore)\b).*\(")
WHY = ("A connection is given bytes and gives bytes; who drives it receives, sends and waits.\n"
       "Hand what it needs in as an argument, and what it wants out as a value.")


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    status, summary = _look(subject.builds[RELEASE].parent)
    note = f"{summary}\n{WHY}" if status == "fail" else ""
    yield from (Verdict(check.name, status, summary, note) for check in wanted)


def _look(build: Path) -> tuple[Status, str]:
    if not (objects := _objects(build, (SOURCE,))):
        return "fail", f"the server is built without a {SOURCE}"
    program = next((p for p in PROGRAMS if _symbols(p, objects, "-u") is not None), None)
    if program is None:
        return "skip", "no nm here reads what the compiler wrote; it comes with binutils or llvm"
    asked = _symbols(program, objects, "-u") or {}
    others = _symbols(program, _objects(build, SYSTEM), "--defined-only", "-g") or {}
    if found := sorted(_plain(asked[name]) for name in asked
                       if _is_call(name, asked[name]) or name in others):
        return "fail", f"{SOURCE} calls {', '.join(dict.fromkeys(found))}"
    return "pass", f"{SOURCE} neither sends, receives, waits nor asks a clock"


def _objects(build: Path, sources: Iterable[str]) -> list[Path]:
    return [file for source in sources
            for file in sorted(build.glob(f"CMakeFiles/*-server.dir/**/{source}.o"))]


def _symbols(program: str, objects: Sequence[Path], *which: str) -> dict[str, str] | None:
    """Maps these objects' symbols to their demangled names; None if this nm can't read them.

    Weak symbols such as inline functions are left out: every object that uses one defines it.
    """
    if not shutil.which(program):
        return None
    texts = []
    for readable in ((), ("-C",)):
        done = subprocess.run([program, *readable, *which, *map(str, objects)],
                              capture_output=True, text=True, errors="replace")
        if done.returncode != 0 or "no symbols" in done.stderr:
            return None
        texts.append(re.findall(r"^[0-9a-f -]* *[UTD] (.+)$", done.stdout, re.M))
    return dict(zip(*texts, strict=True))


def _is_call(symbol: str, name: str) -> bool:
    """Returns whether a symbol is one of CALLS: _recv on macOS, __recv_chk with fortification."""
    return symbol.lstrip("_").removesuffix("_chk") in CALLS or bool(LIBRARY.search(name))


def _plain(name: str) -> str:
    return re.sub(r"\(.*", "", name).lstrip("_").removesuffix("_chk")


CHECKS = (Check("seam.connection", "system calls of the connection", judge, level=5),)
