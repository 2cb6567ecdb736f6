"""The servers and labs on another processor: compiled for arm64 by Zig, and run by qemu-user.

Zig's target is Linux with musl, which it links statically, so qemu needs no arm64 libraries. There
is no OpenSSL for that target, so the last server is built without TLS. qemu doesn't reorder loads
and stores as such a processor may: for that, .github/workflows/systems.yml has a real one.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import programs
import pytest
from lengths import LONG
from test_portable import PORTABLE, System, configure, run_zig, zig

from workbook.checks import labs
from workbook.checks.behaviour import cases, suite
from workbook.common.paths import CHAPTERS, SCRIPTS, SOLUTIONS
from workbook.machine import needs

__all__ = ["zig"]  # a fixture

QEMU = "qemu-aarch64"
ARM64 = System("arm64", "aarch64-linux-musl", "Linux", "aarch64", build_type="Release")
GOOGLETEST = Path("/usr/src/googletest/googletest")
# Cases that qemu 7.2 decides, and not the server.
DIFFERENT = {
    "file-cache/directory-link-changed": "it has no openat2(2), so links between folders are missing",
    "log/long-heads-are-not-kept": "its own memory counts as the server's",
    "memory/successive-bodies": "its own page faults count as the server's",
    "pipelining/endless-pipeline": "its own memory counts as the server's",
}
LABS = sorted(path.name for path in SOLUTIONS.glob("lab-*"))

pytestmark = [
    pytest.mark.skipif(not LONG, reason="takes minutes: test --long"),
    pytest.mark.skipif(sys.platform != "linux", reason="qemu-user is for Linux"),
    pytest.mark.skipif(platform.machine() == "aarch64", reason="this is an arm64 machine"),
    pytest.mark.skipif(shutil.which(QEMU) is None, reason="needs apt-get install qemu-user"),
    pytest.mark.timeout(2400),
    pytest.mark.usefixtures("no_process_left"),
]


@pytest.mark.parametrize("name", programs.CLIMB)
def test_server_behaves_on_arm64(name: str, zig: list[str]) -> None:
    server = emulated(built(name, tuple(zig)))
    level = int(name[:2])
    asked = [case for case in cases.select(level)
             if case.name not in DIFFERENT and not case.check.startswith("behaviour.tls")]
    result = suite.run(server, asked, level)
    assert not {failure.case.name: failure.problem for failure in result.failures}
    assert not [group.check for group in result.groups.values() if group.failed]


@pytest.mark.skipif(not GOOGLETEST.is_dir(), reason="needs apt-get install googletest")
@pytest.mark.parametrize("lab", LABS)
def test_lab_is_valid_on_arm64(lab: str, zig: list[str]) -> None:
    status, summary, output = labs.run(emulated(validation(lab, tuple(zig))), "*", lab)
    assert status == "pass", f"{summary}\n" + "\n".join(output)


@cache
def configured(zig_command: tuple[str, ...]) -> None:
    configure(ARM64, list(zig_command))


def built(name: str, zig_command: tuple[str, ...]) -> Path:
    configured(zig_command)
    done = run_zig(["ninja", "-C", str(ARM64.directory), f"solutions-{name}-server"])
    assert done.returncode == 0, done.stdout[-3000:]
    return ARM64.directory / "solutions" / name / "server"


def validation(lab: str, zig_command: tuple[str, ...]) -> Path:
    """Compile a lab's validate.cpp with GoogleTest's sources, because its package is for another
    processor.
    """
    configured(zig_command)
    flags = ["-std=c++23", "-O1", "-w", "-I", str(GOOGLETEST / "include"), "-I", str(GOOGLETEST),
             "-idirafter", f"{resources()}/include"]  # for sanitizer/asan_interface.h
    objects = []
    for source in (GOOGLETEST / "src/gtest-all.cc", GOOGLETEST / "src/gtest_main.cc"):
        objects.append(PORTABLE / f"arm64-{source.stem}.o")
        if not objects[-1].exists():
            done = run_zig([str(ARM64.compiler), *flags, "-c", str(source), "-o", str(objects[-1])])
            assert done.returncode == 0, done.stdout[-3000:]
    program = PORTABLE / f"arm64-{lab}"
    done = run_zig([str(ARM64.compiler), *flags, "-I", str(SOLUTIONS / lab), "-I",
                    str(SCRIPTS / "lab"), str(CHAPTERS / lab / "validate.cpp"), *map(str, objects),
                    "-o", str(program)])
    assert done.returncode == 0, done.stdout[-3000:]
    return program


def resources() -> str:
    """Return the folder of the headers that belong to the workbook's own clang."""
    return subprocess.run([str(needs.compiler()), "-print-resource-dir"], capture_output=True,
                          text=True).stdout.strip()


def emulated(program: Path) -> Path:
    """Return a script that runs the program with qemu."""
    script = program.with_name(f"{program.name}-emulated")
    script.write_text(f'#!/bin/sh\nexec {QEMU} "{program}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script
