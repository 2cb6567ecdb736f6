"""Judges whether the running server has replaced the C library's allocator with another one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbook.checks.model import RELEASE, Check, Status, Subject, Verdict
from workbook.common.errors import UserError
from workbook.servers.process import running


def judge(subject: Subject, wanted: Sequence[Check]) -> Iterator[Verdict]:
    status, summary, note = _look(subject.builds[RELEASE])
    yield from (Verdict(check.name, status, summary, note) for check in wanted)


def _look(binary: Path) -> tuple[Status, str, str]:
    if sys.platform != "linux":
        return "skip", "only Linux shows what a process has in its memory", ""
    try:
        with running(binary) as server:
            maps = Path(f"/proc/{server.pid}/maps").read_text()
    except UserError as error:
        return "fail", error.message.splitlines()[0], error.message
    if found := re.search(r"/lib(jemalloc|mimalloc|tcmalloc)\S*", maps):
        return "pass", f"memory comes from {found[1]}", ""
    return "fail", ("memory comes from the C library: neither jemalloc nor mimalloc is in the "
                    "running server"), ""


CHECKS = (
    Check("build.allocator", "an allocator other than the C library's", judge, level=8),
)
