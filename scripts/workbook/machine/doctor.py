"""Reports what this machine has and lacks, and the fix for each."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from workbook.common.paths import COMMAND, ROOT
from workbook.machine import needs, probes
from workbook.machine.cores import available_cpus
from workbook.machine.probes import first_line

OK, WARN, MISSING = "ok", "warn", "missing"
GIB = 1 << 30
SET_UP = f"{COMMAND} setup"
PROBE = """\
#include <expected>
#include <print>
int main() {
    std::expected<int, int> one = 1;
    std::println("{}", one.transform([](int i) { return i; }).value());
}
"""


@dataclass(frozen=True)
class Finding:
    """One line of the report. With `missing` the work can't be done; `warn` affects the figures."""

    name: str
    state: str
    found: str
    fix: str = ""


Check = Callable[[], Iterator[Finding]]


def examine() -> dict[str, list[Finding]]:
    """Returns all findings by heading. Doesn't raise because of what the machine lacks."""
    return {title: [finding for check in checks for finding in check()]
            for title, checks in SECTIONS.items()}


def is_ready(sections: dict[str, list[Finding]]) -> bool:
    return all(finding.state != MISSING for finding in chain(*sections.values()))


def as_json(sections: dict[str, list[Finding]]) -> dict[str, list[dict[str, Any]]]:
    return {title: [asdict(finding) for finding in findings]
            for title, findings in sections.items()}


def show(sections: dict[str, list[Finding]]) -> None:
    """Print the table, then the fixes."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {OK: "green", WARN: "yellow", MISSING: "bold red"}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    table.add_column("what", no_wrap=True)
    table.add_column("found")
    for title, findings in sections.items():
        table.add_row("", Text(title, style="bold"), "")
        for finding in findings:
            state = Text(finding.state, style=colours[finding.state])
            table.add_row(state, f"  {finding.name}", Text(finding.found))
        table.add_section()
    console = Console()
    console.print(table)
    fixes: dict[str, list[str]] = {}
    for finding in chain(*sections.values()):
        if finding.fix:
            fixes.setdefault(finding.fix, []).append(finding.name)
    if fixes:
        console.print("\nWhat to do", style="bold")
    for fix, names in fixes.items():
        console.print(Text.assemble((f"  {', '.join(names)}: ", "yellow"), fix), soft_wrap=True)
    if is_ready(sections):
        console.print("\nReady. Begin with: " + COMMAND + " list", style="green")


def _python() -> Iterator[Finding]:
    yield Finding("python", OK, f"{platform.python_version()} in .venv")


def _compiler() -> Iterator[Finding]:
    found = needs.compiler()
    if found is None:
        yield Finding("C++ compiler", MISSING, "no clang 18+ with libc++, no g++ 14+", SET_UP)
        return
    version = first_line([str(found), "--version"])
    error = _probe(str(found))
    if error is None:
        yield Finding("C++ compiler", OK, version)
    else:
        yield Finding("C++ compiler", MISSING, f"{version}: cannot compile <expected> and <print>"
                      f"\n{error}", f"{SET_UP}, or set CXX to a compiler that can")


def _probe(compiler: str) -> str | None:
    """Returns None if the compiler can build and run the minimal program, else its first error."""
    error = ""
    with probes.scratch() as scratch:
        source, program = scratch / "probe.cpp", scratch / "probe"
        source.write_text(PROBE, encoding="utf-8")
        for library in ("-stdlib=libc++", None):
            command = [compiler, "-std=c++23", *filter(None, [library]), str(source), "-o",
                       str(program)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                      stdin=subprocess.DEVNULL, timeout=probes.COMPILING_S)
            except subprocess.TimeoutExpired:
                return f"it did not end within {probes.COMPILING_S:g} s"
            if done.returncode == 0:
                if probes.answer([program]):
                    return None
                error = "what it compiles does not run"
                continue
            complaints = [line for line in done.stderr.splitlines() if "error" in line]
            error = complaints[0] if complaints else f"exit code {done.returncode}"
    return error


def _cmake() -> Iterator[Finding]:
    line = first_line(["cmake", "--version"])
    version = tuple(int(part) for part in re.findall(r"\d+", line)[:2])
    if not needs.NEEDS["cmake"].is_here():
        yield Finding("cmake", MISSING, "none", SET_UP)
    elif not line:
        yield _tool("cmake")
    elif version < (3, 25):
        yield Finding("cmake", MISSING, f"{line}: too old", "install CMake 3.25 or newer")
    else:
        yield Finding("cmake", OK, line)


def _library(name: str) -> Iterator[Finding]:
    yield Finding(name, OK, "can be linked")


def _openssl() -> Iterator[Finding]:
    version = first_line(["openssl", "version"]).partition(" (")[0]
    yield Finding("openssl", OK, version) if version else _tool("openssl")


def _strace() -> Iterator[Finding]:
    if probes.succeeds(["strace", "-o", os.devnull, "true"]):
        yield Finding("strace", OK, first_line(["strace", "--version"]))
    else:
        yield Finding("strace", WARN, "may not trace here",
                      "start the container with --cap-add SYS_PTRACE")


def _tool(name: str) -> Finding:
    """Returns the finding for an installed program: its version, unless it can't print that."""
    version = first_line([name, "--version"], codes=(0, 1) if name == "wrk" else (0,))
    if version:
        return Finding(name, OK, version.partition(" [")[0])
    return Finding(name, MISSING, f"{shutil.which(name)} does not run",
                   f"see why with: {name} --version")


def _needs() -> Iterator[Finding]:
    """Yields a row for each thing that `setup` installs for readers."""
    for name in needs.FOR_READERS:
        need = needs.NEEDS[name]
        if place := need.off_path():
            yield Finding("C++ compiler" if name == "compiler" else name, MISSING,
                          f"in {place}, which is not in PATH", needs.path_command(place))
        elif name in LOOKED_INTO_ANYHOW or (name in LOOKED_INTO and need.is_here()):
            yield from {**LOOKED_INTO_ANYHOW, **LOOKED_INTO}[name]()
        elif need.is_here():
            yield _tool(name)
        elif _is_linux() or not need.without:
            yield Finding(name, MISSING, "none", SET_UP)
        else:
            yield Finding(name, WARN, f"not on this system: {need.without}",
                          f"count them in a container: {needs.in_container('check 2')}")


# These need more than a look in PATH; the second group also reports itself if it's missing.
LOOKED_INTO: dict[str, Check] = {
    "jemalloc": partial(_library, "jemalloc"),
    "libssl": partial(_library, "libssl"),
    "openssl": _openssl,
    "googletest": partial(_library, "googletest"),
    "benchmark": partial(_library, "benchmark"),
    "strace": _strace,
}
LOOKED_INTO_ANYHOW: dict[str, Check] = {"compiler": _compiler, "cmake": _cmake}


def _descriptors() -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = f"{_limit(soft)} (up to {_limit(hard)})"
    if hard != resource.RLIM_INFINITY and hard < 256:
        yield Finding("descriptors", MISSING, found, "raise the hard limit: ulimit -Hn 65536 as "
                      "root, or --ulimit nofile=65536:65536 for a container")
    elif hard != resource.RLIM_INFINITY and hard < 10500:
        yield Finding("descriptors", WARN, f"{found}: stress --form full is scaled down",
                      "raise the hard limit to 65536 to run it in full size")
    else:
        yield Finding("descriptors", OK, found)


def _somaxconn() -> Iterator[Finding]:
    name = "net.core.somaxconn" if _is_linux() else "kern.ipc.somaxconn"
    value = _sysctl(name)
    if not value.isdecimal():
        return
    if int(value) >= 1024:
        yield Finding("accept queue", OK, f"{value} ({name})")
    else:
        yield Finding("accept queue", WARN, f"{value} ({name}): bursts of clients are dropped",
                      f"sudo sysctl -w {name}=4096")


def _ports() -> Iterator[Finding]:
    if _is_linux():
        low, high = (_sysctl("net.ipv4.ip_local_port_range").split() or ["0", "0"])[:2]
        fix = "sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'"
    else:
        low = _sysctl("net.inet.ip.portrange.first") or "0"
        high = _sysctl("net.inet.ip.portrange.last") or "0"
        fix = "sudo sysctl -w net.inet.ip.portrange.first=16384"
    count = int(high) - int(low) + 1 if int(high) else 0
    if count >= 25_000:
        yield Finding("client ports", OK, f"{count} ({low} to {high})")
    elif count > 0:
        yield Finding("client ports", WARN, f"{count} ({low} to {high}): many short connections "
                      "run out of them", fix)


def _cpus() -> Iterator[Finding]:
    count = available_cpus()
    if count >= 2:
        yield Finding("processors", OK, f"{count}, shared by server and load generator")
    else:
        yield Finding("processors", WARN, "1: the load generator takes turns with the server",
                      "give this machine a second processor")


def _governor() -> Iterator[Finding]:
    governors = {_read(file) for file in
                 Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")}
    if not governors:
        return
    found = ", ".join(sorted(governors))
    if governors <= {"performance", "schedutil"}:
        yield Finding("governor", OK, found)
    else:
        yield Finding("governor", WARN, f"{found}: the clock follows the load",
                      "sudo cpupower frequency-set -g performance, while you measure")


def _smt() -> Iterator[Finding]:
    active = _read(Path("/sys/devices/system/cpu/smt/active"))
    if active == "1":
        yield Finding("SMT", WARN, "on: two threads share a core, so figures scatter more",
                      "echo off | sudo tee /sys/devices/system/cpu/smt/control, if they matter")
    elif active == "0":
        yield Finding("SMT", OK, "off, or not visible here")


def _turbo() -> Iterator[Finding]:
    no_turbo = _read(Path("/sys/devices/system/cpu/intel_pstate/no_turbo"))
    boost = _read(Path("/sys/devices/system/cpu/cpufreq/boost"))
    if no_turbo == "0":
        yield Finding("turbo", WARN, "on: the clock falls as the chip warms up", "echo 1 | sudo "
                      "tee /sys/devices/system/cpu/intel_pstate/no_turbo, while you measure")
    elif boost == "1":
        yield Finding("turbo", WARN, "on: the clock falls as the chip warms up", "echo 0 | sudo "
                      "tee /sys/devices/system/cpu/cpufreq/boost, while you measure")
    elif no_turbo == "1" or boost == "0":
        yield Finding("turbo", OK, "off")


def _container() -> Iterator[Finding]:
    if not _is_linux():
        return
    cpus, memory = cpu_limit(), memory_limit()
    if cpus is None and memory is None:
        yield Finding("container limits", OK, "none")
        return
    limits = [f"{cpus:g} processors"] if cpus is not None else []
    limits += [f"{memory / GIB:.1f} GiB of memory"] if memory is not None else []
    throttled = cpus is not None and cpus < 2
    yield Finding("container limits", WARN if throttled else OK, ", ".join(limits),
                  "start the container with --cpus 2 or more, or --cpuset-cpus" if throttled
                  else "")


def cpu_limit() -> float | None:
    """Returns the limit of this control group (v2, then v1) in processors; None if unlimited."""
    quota, _, period = _read(_cgroup("", "cpu.max")).partition(" ")
    if not quota:
        quota = _read(_cgroup("cpu", "cpu.cfs_quota_us"))
        period = _read(_cgroup("cpu", "cpu.cfs_period_us"))
    if not (quota.isdecimal() and period.isdecimal()):
        return None  # "max" in v2, -1 in v1
    return int(quota) / int(period)


def memory_limit() -> int | None:
    """Returns the limit of this control group in bytes; None if the machine has no more."""
    text = _read(_cgroup("", "memory.max")) or _read(_cgroup("memory", "memory.limit_in_bytes"))
    if not text.isdecimal() or int(text) >= _memory():
        return None
    return int(text)


def _cgroup(controller: str, file: str) -> Path:
    """Returns this process's control group file: v2 without a controller, v1 with one."""
    root = Path("/sys/fs/cgroup", controller)
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            inside = root / path.strip("/") / file
            return inside if inside.exists() else root / file
    return root / file


def _perf() -> Iterator[Finding]:
    level = _read(Path("/proc/sys/kernel/perf_event_paranoid"))
    if not level.lstrip("-").isdecimal():
        return
    if int(level) <= 1 or os.geteuid() == 0:
        yield Finding("perf", OK, f"allowed (perf_event_paranoid is {level})")
    else:
        yield Finding("perf", WARN, f"not allowed (perf_event_paranoid is {level})",
                      "sudo sysctl -w kernel.perf_event_paranoid=1, to draw flame graphs")


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(ROOT).free
    found = f"{free / GIB:.1f} GiB free"
    if free < GIB:
        yield Finding("disk", MISSING, found, "free at least 1 GiB for builds and results")
    else:
        yield Finding("disk", OK, found)


def _memory_size() -> Iterator[Finding]:
    size = min(_memory(), memory_limit() or sys.maxsize)
    found = f"{size / GIB:.1f} GiB"
    if size < 2 * GIB:
        yield Finding("memory", WARN, f"{found}: a compiler may be killed for lack of it",
                      "build with CMAKE_BUILD_PARALLEL_LEVEL=1")
    else:
        yield Finding("memory", OK, found)


SECTIONS: dict[str, list[Check]] = {
    "Tools": [_python, _needs],
    "Limits": [_descriptors, _somaxconn, _ports, _disk, _memory_size],
    "Clean figures": [_cpus, _governor, _smt, _turbo, _container, _perf],
}


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _is_linux() -> bool:
    return sys.platform == "linux"


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def _sysctl(name: str) -> str:
    """Returns the value of a kernel setting; empty if there is none with that name."""
    if _is_linux():
        return _read(Path("/proc/sys", *name.split(".")))
    return first_line(["sysctl", "-n", name])


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
