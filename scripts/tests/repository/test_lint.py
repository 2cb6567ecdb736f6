"""`hotpath lint` finds nothing here, and finds a mistake in each language that is planted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workbook.common.paths import ROOT, SCRIPTS
from workbook.course import trees
from workbook.verbs import lint


def test_lint_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code = lint.run()
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("name, text, message", [
    ("unused.py", "import os\n", "F401"),
    ("untyped.py", "def f(x):\n    return x\n", "no-untyped-def"),
    ("formatted.cpp", "int  a;\n", "clang-format-violations"),
])
def test_lint_reports_a_planted_mistake(name: str, text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    (tmp_path / ".clang-format").write_text((ROOT / ".clang-format").read_text())
    commands = {"F401": (str(lint.venv_program("ruff")), "check", "--config",
                         str(SCRIPTS / "ruff.toml")),
                "no-untyped-def": (str(lint.venv_program("mypy")), "--strict"),
                "clang-format-violations": lint.tools()[2].command[:3]}
    done = subprocess.run([*commands[message], str(file)], capture_output=True, text=True,
                          cwd=tmp_path)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_a_changed_header_affects_the_sources_that_include_it(tmp_path: Path) -> None:
    for name, text in {"a.h": '#include "b.h"\n', "b.h": "", "a.cpp": '#include "a.h"\n',
                       "c.cpp": ""}.items():
        (tmp_path / name).write_text(text)
    sources = [tmp_path / "a.cpp", tmp_path / "c.cpp"]
    assert list(lint.affected(sources, {tmp_path / "b.h"})) == [tmp_path / "a.cpp"]


def test_a_header_in_another_folder_affects_its_includers(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint, "SOLUTIONS", tmp_path)
    trees.write({"net/b.h": b"", "http/a.h": b'#include "b.h"\n', "main.cpp": b'#include "a.h"\n',
                 "net/c.cpp": b""}, tmp_path / "09-a")
    source = tmp_path / "09-a/main.cpp"
    assert list(lint.affected([source, tmp_path / "09-a/net/c.cpp"],
                              {tmp_path / "09-a/net/b.h"})) == [source]


def test_equal_files_are_read_once(tmp_path: Path) -> None:
    for name, text in {"a.cpp": "int a;", "b.cpp": "int a;", "c.cpp": "int c;"}.items():
        (tmp_path / name).write_text(text)
    found = lint.unique(sorted(tmp_path.glob("*.cpp")))
    assert found == [tmp_path / "b.cpp", tmp_path / "c.cpp"]
