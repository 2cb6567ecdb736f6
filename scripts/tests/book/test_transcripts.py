"""What a reader types and sees on the page about sockets is what happens."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from transcript import WENT_ON, Command, Shell, commands, same

from workbook.common.paths import BOOK, ROOT
from workbook.machine import network

SOCKETS = BOOK / "src" / "part1" / "00-sockets.md"


@pytest.fixture
def shell(tmp_path: Path, no_process_left: None) -> Iterator[Shell]:
    """On a loopback of its own, where the ports that the page names are free."""
    with network.own():
        shell = Shell(tmp_path)
    yield shell
    shell.close()


@pytest.mark.timeout(900)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="strace and ss are Linux's")
def test_commands_of_the_sockets_page_print_what_it_shows(shell: Shell, tmp_path: Path) -> None:
    missing = [name for name in ("strace", "ss", "bash") if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs {missing or 'root, for ports that no other program has'}")
    for name in ("chapters", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    typed = commands(SOCKETS.read_text(encoding="utf-8"))
    assert len(typed) > 40
    for command in typed:
        printed = shell.run(command)
        assert same(printed, command), f"$ {command.line}\n" + "\n".join(printed)


def test_sockets_page_has_only_commands_and_code_fences() -> None:
    fences = set(re.findall(r"^```(\w+)$", SOCKETS.read_text(encoding="utf-8"), re.M))
    assert fences == {"console", "cpp"}


@pytest.mark.parametrize(("printed", "expected", "command"), [
    (["0 0 127.0.0.1:40999    127.0.0.1:7010 "], ["0 0 127.0.0.1:40312 127.0.0.1:7010"], "ss"),
    (["socket:[7]"], ["socket:[31337]"], "readlink"),
    (["128"], ["4096"], "cat /proc/sys/net/core/somaxconn"),
])
def test_machine_specific_numbers_match(printed: list[str], expected: list[str],
                                        command: str) -> None:
    assert same(printed, Command(command, expected))


@pytest.mark.parametrize(("printed", "expected"), [
    (["0 0 127.0.0.1:7010 127.0.0.1:40999"], ["0 0 127.0.0.1:40999 127.0.0.1:7010"]),
    (["LISTEN 2 1 127.0.0.1:7009"], ["LISTEN 1 1 127.0.0.1:7009"]),
    ([], ["hello"]),
    (["hello"], []),
    (["hello", WENT_ON], ["hello"]),
    ([WENT_ON], ["…"]),
])
def test_other_numbers_must_be_equal(printed: list[str], expected: list[str]) -> None:
    assert not same(printed, Command("ss", expected))
