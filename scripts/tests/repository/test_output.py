"""What people read is written by verbs/; the layers below return what they found."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from workbook.common.paths import SCRIPTS

SILENT = ("course", "measure")
FILES = sorted(file for layer in SILENT
               for file in (SCRIPTS / "workbook" / layer).rglob("*.py"))


def outputs(source: str) -> list[str]:
    """The expressions that write for people: print, sys.stdout and whatever rich has."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if writes(node)]


def writes(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "print"
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) in ("sys.stdout", "sys.stderr")
    if isinstance(node, ast.ImportFrom):
        return is_rich(node.module or "")
    return isinstance(node, ast.Import) and any(is_rich(name.name) for name in node.names)


def is_rich(module: str) -> bool:
    return module.partition(".")[0] == "rich"


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_layers_below_the_verbs_do_not_print(file: Path) -> None:
    assert outputs(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("source", [
    "print('a')", "def f():\n    from rich.console import Console\n    Console()",
    "import rich", "import sys\nsys.stderr.write('a')"])
def test_each_way_of_printing_is_found(source: str) -> None:
    assert outputs(source)
