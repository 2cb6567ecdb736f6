"""What the workbook needs from the system, and whether it's installed. Standard library only."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workbook.common.paths import COMMAND
from workbook.machine import probes

MACOS_CHROMES = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
                 "/Applications/Chromium.app/Contents/MacOS/Chromium")
LIBRARIES = ("/usr/lib", "/usr/local/lib", "/opt/homebrew/lib", "/usr/lib64")
PLACES = tuple(map(Path, ("/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/bin", "/usr/sbin",
                          "/sbin", "/opt/homebrew/bin", "/snap/bin")))
BREW_PREFIXES = ("/opt/homebrew", "/usr/local")
APPLE_COMPILER = "clang++"  # also the name of Homebrew's, which is not in PATH
KEG_ONLY = ("/opt/homebrew/opt/openssl@3/include", "/usr/local/opt/openssl@3/include")
FOR_READERS = ("compiler", "cmake", "ninja", "ccache", "jemalloc", "libssl", "openssl",
               "googletest", "benchmark", "wrk", "strace", "ss", "valgrind", "git", "patch")
FOR_BENCH = ("compiler", "cmake", "ninja", "ccache", "jemalloc", "libssl", "wrk", "ss", "strace",
             "valgrind")
FOR_AUTHORS = (*FOR_READERS, "mimalloc", "boost", "sanitizers", "clang-tidy", "chromium")


@dataclass(frozen=True)
class Need:
    """Something the system provides. If `apt` or `brew` is empty, such a system can't have it."""

    what: str  # its name in messages
    is_here: Callable[[], bool]
    apt: tuple[str, ...] = ()
    brew: tuple[str, ...] = ()
    without: str = ""  # what doesn't work on a system that can't have it
    program: str = ""  # the program's name in PATH, if it is a program

    def off_path(self) -> Path | None:
        """The folder of its program, if that is one of the usual ones but not in PATH."""
        kegs = [Path(prefix, "opt", name, "bin") for prefix in BREW_PREFIXES for name in self.brew]
        places = kegs if self.program == APPLE_COMPILER else [*PLACES, *kegs]
        return next((place for place in places if self.program and not self.is_here()
                     and os.access(place / self.program, os.X_OK)), None)


def _program(name: str, brew: str = "", apt: str = "", what: str = "", without: str = "") -> Need:
    return Need(what or name, lambda: shutil.which(name) is not None,
                (apt or name,), (brew,) if brew else (), without, name)


def compiler() -> Path | None:
    """Returns a C++ compiler that should support the required language version; None if none does.

    Judges by the compiler's name and by whether a recent standard library is installed, which takes
    no time; `hotpath doctor` compiles a test program.
    """
    if "CXX" in os.environ:
        found = shutil.which(os.environ["CXX"].split()[0])
        return Path(found) if found else None
    for name in ("clang++-21", "clang++-20", "clang++-19", "clang++-18"):
        found = shutil.which(name)
        if found and (Path(found).resolve().parent.parent / "include/c++/v1/print").exists():
            return Path(found)
    for name in ("g++-15", "g++-14"):
        if found := shutil.which(name):
            return Path(found)
    return _default_compiler()


@cache
def _default_compiler() -> Path | None:
    """Returns plain g++ from version 14 on, or Apple's clang++."""
    if sys.platform == "darwin":
        found = shutil.which("clang++")
        return Path(found) if found and probes.succeeds([found, "--version"]) else None
    found = shutil.which("g++")
    if not found:
        return None
    version = probes.first_line([found, "-dumpversion"])
    return Path(found) if re.match(r"1[4-9]|[2-9]\d", version) else None


def chromium() -> Path | None:
    """Returns the browser that the book's tests control."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return Path(found)
    return next((Path(path) for path in MACOS_CHROMES if Path(path).exists()), None)


def _has_venv() -> bool:
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return False
    return True


def _has_sanitizers() -> bool:
    if sys.platform == "darwin":
        return True
    return any(Path("/usr/lib").glob("llvm-*/lib/clang/*/lib/linux/libclang_rt.asan*"))


def has_library(name: str) -> bool:
    """Whether a program can be linked with the library, i.e. its name without a version exists."""
    return any(found for directory in LIBRARIES for ending in ("so", "dylib", "a")
               for pattern in (f"lib{name}.{ending}", f"*-linux-*/lib{name}.{ending}")
               for found in Path(directory).glob(pattern))


def has_header(name: str) -> bool:
    """Whether a program can include the header, from a folder where libraries install theirs."""
    return any(Path(directory).with_name("include").joinpath(name).exists()
               for directory in LIBRARIES)


def _has_openssl() -> bool:
    """Whether the headers are where the compiler looks, or where Homebrew keeps them."""
    return has_header("openssl/ssl.h") or any(
        Path(directory, "openssl/ssl.h").exists() for directory in KEG_ONLY)


SANITIZERS, THREAD_SANITIZER = "sanitizers", "thread sanitizer"
NEEDS: dict[str, Need] = {
    "venv": Need("Python's venv module", _has_venv, ("python3-venv",)),
    "compiler": Need(
        "a C++23 compiler (clang 18 or newer with libc++, or g++ 14 or newer)",
        lambda: compiler() is not None,
        ("clang-{llvm}", "lld-{llvm}", "llvm-{llvm}", "libc++-{llvm}-dev", "libc++abi-{llvm}-dev",
         "libclang-rt-{llvm}-dev"),
        ("llvm",), program=APPLE_COMPILER),
    SANITIZERS: Need("clang's sanitizers and fuzzer", _has_sanitizers,
                     ("clang-{llvm}", "libc++-{llvm}-dev", "libc++abi-{llvm}-dev",
                      "libclang-rt-{llvm}-dev")),
    "cmake": _program("cmake", brew="cmake"),
    "ninja": _program("ninja", brew="ninja", apt="ninja-build"),
    "jemalloc": Need("jemalloc, chapter 8's allocator", lambda: has_library("jemalloc"),
                     ("libjemalloc-dev",), ("jemalloc",)),
    "libssl": Need("OpenSSL's library, chapter 15's TLS", _has_openssl, ("libssl-dev",),
                   ("openssl@3",)),
    "openssl": _program("openssl", brew="openssl@3",
                        what="openssl, which makes certificates for the checks"),
    "googletest": Need("GoogleTest, which validates the labs", lambda: has_library("gtest"),
                       ("libgtest-dev",), ("googletest",)),
    "benchmark": Need("Google Benchmark, which times them", lambda: has_library("benchmark"),
                      ("libbenchmark-dev",), ("google-benchmark",)),
    "mimalloc": Need("mimalloc, which chapter 8 holds against it", lambda: has_library("mimalloc"),
                     ("libmimalloc-dev",), ("mimalloc",)),
    "boost": Need("Boost, whose queues a lab is held against",
                  lambda: has_header("boost/lockfree/queue.hpp"), ("libboost-dev",), ("boost",)),
    "wrk": _program("wrk", brew="wrk", what="wrk, the load generator"),
    "strace": _program("strace", what="strace, which counts system calls",
                       without="system calls are not counted"),
    "ss": _program("ss", apt="iproute2", what="ss, which shows the kernel's sockets",
                   without="chapter 0's sockets are not shown, nor clients that starve"),
    "valgrind": Need("valgrind, which counts allocations and instructions",
                     lambda: shutil.which("valgrind") is not None, ("valgrind", "libc6-dbg"),
                     without="allocations are not counted", program="valgrind"),
    "nginx": _program("nginx", what="nginx, which the ladder compares with (Debian also starts "
                      "it: systemctl disable --now nginx)"),
    "h2o": _program("h2o", what="h2o, likewise (systemctl disable --now h2o)"),
    "lighttpd": _program("lighttpd", what="lighttpd, for files (systemctl disable --now lighttpd)"),
    "caddy": _program("caddy", what="Caddy, for files (systemctl disable --now caddy)"),
    "git": _program("git", brew="git"),
    "patch": _program("patch", brew="gpatch"),
    "ccache": _program("ccache", what="ccache, so that no file is compiled twice",
                       without="files that chapters share are compiled once for each"),
    "clang-tidy": Need("clang-tidy 19, which finds bugs in C++",
                       lambda: shutil.which("clang-tidy-19") is not None,
                       ("clang-tidy-19", "libc++-19-dev", "libc++abi-19-dev")),
    "debootstrap": _program("debootstrap"),
    "chromium": Need("chromium, for the book's tests", lambda: chromium() is not None,
                     ("chromium",), ("--cask", "chromium")),
}


def in_container(arguments: str) -> str:
    """Returns the command that runs `check N` or `trace N` in a container with Linux's tools."""
    return f"{COMMAND} {arguments} --in linux"


def path_command(*places: Path) -> str:
    """Returns the command that adds folders to PATH."""
    return f'export PATH="{":".join(dict.fromkeys(map(str, places)))}:$PATH"'


def emulates_kqueue() -> bool:
    """Whether this is the system of docker/bsd.Dockerfile, where everything is built for kqueue."""
    return sys.platform == "linux" and os.environ.get("HOTPATH_POLLER") == "kqueue"


IO_URING_SETUP, IO_URING_PARAMS = 425, 120  # the number of the call, on all systems; bytes


@cache
def without_io_uring() -> str:
    """Returns why a server has no io_uring(7) here, or an empty string if it has."""
    if sys.platform != "linux" or emulates_kqueue():
        return "only Linux with epoll has io_uring"
    libc = ctypes.CDLL(None, use_errno=True)
    ring = libc.syscall(IO_URING_SETUP, 1, ctypes.create_string_buffer(IO_URING_PARAMS))
    if ring < 0:
        return f"this system refuses io_uring_setup(2): {os.strerror(ctypes.get_errno())}"
    os.close(ring)
    return ""


def lacking(program: str) -> str:
    """Returns why a counting program, or the compiler's sanitizers, can't be used here, with what
    would help; empty if it can.
    """
    if program == SANITIZERS:
        return "" if sanitizes() else f"this compiler has no sanitizers: {COMMAND} setup"
    if program == THREAD_SANITIZER:
        return "" if finds_races() else (
            "no program runs under the thread sanitizer here: the compiler lacks it, or the system "
            "refuses the memory layout that it needs")
    if shutil.which(program):
        return ""
    if program in NEEDS and (place := NEEDS[program].off_path()):
        return f"{program} is in {place}, which is not in PATH: {path_command(place)}"
    if is_debian():
        return f"{program} is not installed: {COMMAND} setup"
    return f"this system has no {program}; in a container: {in_container('check N')}"


@cache
def sanitizes() -> bool:
    """Whether the compiler can link a program with the address sanitizer."""
    command = [str(compiler() or "c++"), "-fsanitize=address,undefined", "-x", "c++", "-",
               "-o", os.devnull]
    return probes.succeeds(command, "int main() {}", probes.COMPILING_S)


@cache
def finds_races() -> bool:
    """Whether a program can be linked with the thread sanitizer and run. It needs addresses that
    some systems and containers don't provide.
    """
    with probes.scratch() as scratch:
        program = str(scratch / "program")
        command = [str(compiler() or "c++"), "-fsanitize=thread", "-x", "c++", "-", "-o", program]
        return (probes.succeeds(command, "int main() {}", probes.COMPILING_S)
                and probes.succeeds([program]))


def is_debian() -> bool:
    return shutil.which("apt-get") is not None
