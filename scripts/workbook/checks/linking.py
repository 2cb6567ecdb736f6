"""Judges whether the server was optimised across its source files when it was linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from workbook.checks.model import RELEASE, Check, Status, Subject, Verdict

BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # clang's, on Linux and on macOS
SECTIONS = (b".gnu.lto_", b".llvm.lto")  # present in object files that contain machine code too


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    status, summary = _look(subject.builds[RELEASE])
    yield from (Verdict(check.name, status, summary) for check in wanted)


def _look(binary: Path) -> tuple[Status, str]:
    objects = sorted(binary.parent.glob("CMakeFiles/*-server.dir/*.cpp.o"))
    if not objects:
        return "skip", "the object files of this build are not there"
    plain = [file.name.removesuffix(".o") for file in objects if not _is_intermediate(file)]
    # The majority decides, because a file removed from the target may have left its object behind.
    if 2 * len(plain) > len(objects):
        return "fail", (f"{len(plain)} of {len(objects)} source files were compiled to machine "
                        f"code before linking, such as {plain[0]}")
    return "pass", f"{len(objects) - len(plain)} source files were optimised together"


def _is_intermediate(file: Path) -> bool:
    content = file.read_bytes()
    return content.startswith(BITCODE) or any(section in content for section in SECTIONS)


CHECKS = (
    Check("build.lto", "optimisation across source files", judge, level=8),
)
