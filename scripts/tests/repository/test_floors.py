"""The package stands on floors: what is below knows nothing of what is above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from workbook.common.paths import SCRIPTS

PACKAGE = SCRIPTS / "workbook"
FLOORS = ("common", "machine", "course", "servers", "measure", "checks", "figures", "authors",
          "verbs")
FILES = sorted(file for file in PACKAGE.glob("*/**/*.py"))


def module(file: Path) -> str:
    """Its name within the package, such as `measure.load`; a package's own is the package's."""
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module(file): file for file in FILES}


def imported(file: Path) -> Iterator[str]:
    """The modules of ours that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            names = [f"{node.module}.{name.name}" for name in node.names]
        for name in names:
            if name.startswith("workbook."):
                yield _module(name.removeprefix("workbook."), file)


def _module(name: str, file: Path) -> str:
    while name not in MODULES:
        assert "." in name, f"{file} imports {name}, which is no module of ours"
        name = name.rpartition(".")[0]
    return name


def floor(name: str) -> int:
    return FLOORS.index(name.partition(".")[0])


def test_every_module_belongs_to_a_layer() -> None:
    assert {name.partition(".")[0] for name in MODULES} == set(FLOORS)
    assert sorted(file.name for file in PACKAGE.glob("*.py")) == ["__init__.py", "__main__.py"]


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_downwards(name: str) -> None:
    above = [other for other in imported(MODULES[name]) if floor(other) > floor(name)]
    assert not above, f"{name} imports {above}, from a floor above its own"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: set(imported(file)) - {name} for name, file in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join(error.args[1])}")
