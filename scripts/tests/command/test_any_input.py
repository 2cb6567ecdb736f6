"""No input ends in a traceback: each verb is given what a reader would not type on purpose.

One process for each verb calls the command again and again, in a scratch repository where nothing
can be built, so that an accepted command line ends at the build.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from workbook.common.paths import SCRIPTS
from workbook.verbs import cli

ODD = [
    "", " ", "\n", "a\nb", "\t", "x" * 300, "x" * 100_000, "../x", "../../etc/passwd", "/", "/etc",
    "/nonexistent/file", ".", "..", "~", "scripts", "scripts/workbook/__init__.py", "-1", "-0", "0",
    "99999", "9" * 30, "9" * 5000, "1.5", "1e999", "nan", "inf", "-inf", "1e-999", "0x10", "½", "²",
    "\udcff\udcfe", "💥", "%s%n", "{}", "$(id)", "*", "[", "[a", "[/]", "**/", "--", "-", "--nope",
    "-x", "'", "\\", "None", "\x1b[31m", "a/b/zz", "HEAD", "@",
]
# What these do would take long or change this machine, so they get only what the parser refuses.
PARSED_ONLY = {"setup", "doctor", "format", "test", "fleet", "watch"}
DRIVER = """
import contextlib, io, json, sys, traceback

from workbook.common import inherited
from workbook.verbs import cli

def outcome(words):
    sys.argv = ["hotpath", *words]
    texts = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in "oe"]
    with contextlib.redirect_stdout(texts[0]), contextlib.redirect_stderr(texts[1]):
        inherited.never_refuse_a_character()
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code
        except BaseException:
            code = 1
            traceback.print_exc()
    return code, *(text.buffer.getvalue().decode() for text in texts)

path = sys.argv[1]
with open(path) as file:
    lines = json.load(file)
found = [outcome(words) for words in lines]
with open(path, "w") as file:
    json.dump(found, file)
"""


def command_lines(verb: str) -> list[list[str]]:
    """Every odd value for every argument and every option with a value, and a few that are none of
    those.
    """
    parameters = typer.main.get_command(cli.app).commands[verb].params  # type: ignore[attr-defined]
    arguments = [each for each in parameters if not each.opts[0].startswith("-")]
    valid = ["4" if each.name == "number" else "1" for each in arguments if each.required]
    lines = [[verb, *valid, "--nope"], [verb, *valid, "-z"], [verb, *valid, "one", "two", "three"]]
    if verb in PARSED_ONLY:
        return lines if verb != "test" else []
    for at in range(len(arguments)):
        lines += [[verb, *valid[:at], odd, *valid[at + 1:]] for odd in ODD]
    for option in parameters:
        if option not in arguments and not option.is_flag:
            lines += [[verb, *valid, option.opts[0], odd] for odd in ODD]
            lines += [[verb, *valid, option.opts[0]], [verb, *valid, f"{option.opts[0]}="]]
    return lines


VERBS = sorted(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("verb", VERBS)
def test_no_input_ends_in_a_traceback(parted: Path, tmp_path_factory: pytest.TempPathFactory,
                                      verb: str) -> None:
    lines = command_lines(verb)
    for line, (code, _, errors) in zip(lines, outcomes(parted, lines, tmp_path_factory.mktemp("x")),
                                       strict=True):
        typed = [word[:40] for word in line]
        assert "Traceback" not in errors, (typed, errors)
        assert code == 0 or ("error: " in errors and "next: " in errors), (typed, code, errors)


def outcomes(root: Path, lines: list[list[str]], folder: Path) -> list[tuple[int, str, str]]:
    """The exit code of each, what it printed and what it complained about."""
    file = folder / "lines.json"
    file.write_text(json.dumps(lines))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(file)], cwd=root, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(root / "scripts"), "COLUMNS": "100"},
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return [(code, output, errors) for code, output, errors in json.loads(file.read_text())]


@pytest.mark.parametrize("words", [
    ["book", "--port", "99999"], ["book", "--port", "-1"], ["compare", "1", "2", "--seconds", "nan"],
    ["compare", "1", "2", "--seconds", "inf"], ["compare", "1", "2", "--goal", "nan"],
    ["compare", "1", "2", "--goal", "-1"], ["profile", "1", "--seconds", "1e999"],
    ["bench", "--minutes", "9" * 30], ["bench", "--minutes", "nan"], ["record", "--rounds", "0"], ["check", "1", "--part", "-1"],
    ["check", "1", "--part", "9" * 30], ["new-chapter", "-1", "x"], ["run"],
])
def test_number_out_of_range_is_misuse(parted: Path, tmp_path: Path, words: list[str]) -> None:
    [(code, _, errors)] = outcomes(parted, [words], tmp_path)
    assert code == 2 and "error: " in errors, errors


def test_control_characters_of_the_input_are_not_printed(parted: Path, tmp_path: Path) -> None:
    for verb in ("check", "run", "zzz"):
        [(_, _, errors)] = outcomes(parted, [[verb, "\x1b[31m\n\udcff"]], tmp_path)
        assert "\x1b" not in errors and "\udcff" not in errors


def test_long_expression_for_the_tests_is_no_file_name(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "workbook", "test", "-k", "x" * 300, "--co", "-q",
                           str(SCRIPTS / "tests/command/test_next.py")],
                          env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, capture_output=True,
                          text=True)
    assert "too long" not in done.stderr and "no tests" in done.stdout.replace("deselected", "no tests")
