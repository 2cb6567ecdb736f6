"""What a reader types: suggestions for a wrong word, exit codes, completion, colours."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Hotpath, assert_refused
from scratch import edit

from workbook.checks import check
from workbook.checks.behaviour import cases
from workbook.common.errors import UsageError
from workbook.common.paths import ROOT, SCRIPTS
from workbook.common.suggestions import nearest_first
from workbook.course import editions
from workbook.course.chapters import find
from workbook.verbs import cli, command, completion, listing

COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|9[0-7]|38|48)[;m]")


def test_mistyped_verb_is_followed_by_the_similar_one(hotpath: Hotpath) -> None:
    reported = hotpath("chek", "5")
    assert_refused(reported, "there is no verb “chek”", "next:  ./scripts/hotpath check or ")
    assert reported.returncode == command.MISUSED


@pytest.mark.parametrize("words", [
    ["check", "--prt", "1"], ["check", "99"], ["check", "1", "--only", "nosuch"],
    ["check", "1", "--case", "nosuch/*"], ["check", "5", "--part", "9"], ["run", "lab-readiness"],
    ["stress", "1", "--form", "nosuch"], ["completion", "fish"], ["zzz"], ["--zzz"],
])
def test_misused_command_line_ends_with_2(hotpath: Hotpath, words: list[str]) -> None:
    reported = hotpath(*words)
    assert_refused(reported)
    assert reported.returncode == command.MISUSED


def test_end_of_the_input_is_no_traceback(monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    def ask(_: bool) -> None:
        raise EOFError

    monkeypatch.setattr(listing, "run", ask)
    with pytest.raises(SystemExit) as ended:
        cli.app(["list"])
    assert ended.value.code == command.FAILED
    assert "error: the input ended" in capsys.readouterr().err


def test_help_and_the_book_list_the_exit_codes(hotpath: Hotpath) -> None:
    shown = hotpath("--help").stdout
    page = (ROOT / "book/src/setup.md").read_text(encoding="utf-8")
    for code in (0, command.FAILED, command.MISUSED, command.INTERRUPTED):
        assert re.search(rf"Exit codes: .*\b{code}\b", " ".join(shown.split())), code
        assert re.search(rf"^\| {code} \|", page, re.M), code


def test_similar_names_come_first() -> None:
    known = ["01-naive", "05-event-loop", "lab-readiness"]
    assert nearest_first("evnt-loop", known) == ["05-event-loop", "01-naive", "lab-readiness"]
    assert nearest_first("readyness", known)[0] == "lab-readiness"
    assert nearest_first("", known) == nearest_first("x" * 100_000, known) == known


def test_unknown_check_lists_those_of_the_chapter_nearest_first() -> None:
    with pytest.raises(UsageError) as refused:
        check.wanted(find("2"), ["behaviour.framng"])
    assert refused.value.fix.startswith("use one of: behaviour.framing, ")
    assert "cost.syscalls" in refused.value.fix and "tls" not in refused.value.fix
    assert "validate" not in refused.value.fix


@pytest.mark.parametrize("pattern, first", [
    ("nosuch/*", "requests/*, "), ("bodis/*", "bodies/*, "), ("bodies/eco-0", "bodies/echo-0, "),
    ("bodies/zzzz", "bodies/echo-0, "), ("zzzz", "requests/*, "), ("pge", "requests/page, "),
])
def test_unknown_case_suggests_groups_or_the_cases_of_its_group(pattern: str, first: str) -> None:
    with pytest.raises(UsageError) as refused:
        cases.select(1, pattern=pattern)
    assert refused.value.fix.startswith(f"use one of: {first}")
    assert "@" not in refused.value.fix


def test_version_names_the_edition_and_the_commit(hotpath: Hotpath) -> None:
    shown = hotpath("--version").stdout
    assert shown.startswith(f"Hot Path, edition {editions.current().number}")
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True,
                            text=True).stdout.strip()
    assert not commit or f"(commit {commit[:12]})" in shown


def test_version_needs_no_clone(hotpath: Hotpath, tmp_path: Path) -> None:
    shutil.copytree(SCRIPTS / "workbook", tmp_path / "scripts/workbook")
    assert "commit" not in hotpath("--version", root=tmp_path).stdout


@pytest.fixture(params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest) -> str:
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param} here")
    return str(request.param)


@pytest.mark.parametrize("typed, expected", [
    ("hotpath ch", {"check"}), ("hotpath completion ", {"bash", "zsh", "--help"}),
    ("hotpath check --so", {"--solution"}), ("hotpath check 05", {"05-event-loop"}),
    ("hotpath check 5 --only cost.sys", {"cost.syscalls"}), ("hotpath stress --in ", {"linux", "bsd"}),
    ("hotpath compare lab-r", {"lab-readiness"}), ("hotpath check --part ", set()),
])
def test_shell_completes_from_the_parser(shell: str, typed: str, expected: set[str]) -> None:
    script = completion.script(shell, cli.typer.main.get_command(cli.app))
    words = typed.split(" ")
    asked = f"COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}')\nCOMP_CWORD={len(words) - 1}\n"
    if shell == "zsh":  # a reader's ~/.zshrc has the first line; the second is what bashcompinit does
        script = f"autoload -Uz compinit && compinit -D -u\n{script}"
        asked += "emulate sh\n"
    program = f'{script}{asked}_hotpath\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run([shell, *(["-f"] if shell == "zsh" else ["--norc"]), "-c", program],
                          capture_output=True, text=True, timeout=60)
    offered = {word for word in done.stdout.split() if word.startswith(words[-1])}  # as zsh does
    assert not done.stderr and offered == expected, done


def test_completion_knows_every_verb_and_option() -> None:
    group = cli.typer.main.get_command(cli.app)
    script = completion.script("bash", group)
    for name, verb in group.commands.items():
        lines = "\n".join(line for line in script.splitlines() if line.strip().startswith(f"{name}:"))
        assert all(option in lines for parameter in verb.params for option in parameter.opts
                   if option.startswith("-")), name


@pytest.mark.parametrize("words", [["--help"], ["list"], ["diff", "2", "--anyway"], ["zzz"]])
def test_no_color_is_honoured_on_a_terminal(tiny: Path, words: list[str]) -> None:
    edit(tiny / "chapters/02-b/a.cpp", "// TODO(2): add", "// done")
    environment = {**os.environ, "PYTHONPATH": str(tiny / "scripts"), "TERM": "xterm-256color",
                   "GIT_PAGER": "cat"}
    environment.pop("NO_COLOR", None)
    assert words == ["zzz"] or COLOUR.search(on_a_terminal(words, tiny, environment))
    assert not COLOUR.search(on_a_terminal(words, tiny, {**environment, "NO_COLOR": "1"}))


def on_a_terminal(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What the command prints there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "workbook", *words], cwd=folder,
                               env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    found = b""
    try:
        while part := os.read(ours, 4096):
            found += part
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(ours)
    process.wait(60)
    return found.decode()
