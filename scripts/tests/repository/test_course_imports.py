"""Inside course/, imports go one way: nothing is reached again from what it imports."""

from __future__ import annotations

import ast
from pathlib import Path

from workbook.common.paths import SCRIPTS

COURSE = SCRIPTS / "workbook" / "course"


def imported(source: str, modules: set[str]) -> set[str]:
    """The modules of course/ that a source imports, also inside its functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "workbook.course":
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.removeprefix("workbook.course."))
    return found & modules


def graph(folder: Path = COURSE) -> dict[str, set[str]]:
    files = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.py")}
    return {name: imported(text, set(files)) for name, text in files.items()}


def reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in edges[waiting.pop()] - found:
            found.add(name)
            waiting.append(name)
    return found


def test_no_module_of_course_imports_itself_by_way_of_others() -> None:
    edges = graph()
    assert not [name for name in edges if name in reached(name, edges)]


def test_trees_are_below_all_others() -> None:
    edges = graph()
    assert edges["trees"] == set()
    assert {"trees", "chapters", "starters", "parts"} <= reached("sync", edges)


def test_a_circle_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from workbook.course import b\n")
    (tmp_path / "b.py").write_text("def f():\n    from workbook.course.a import g\n")
    assert reached("a", graph(tmp_path)) == {"a", "b"}
