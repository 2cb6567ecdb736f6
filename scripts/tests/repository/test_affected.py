"""Which tests a change selects: the rules over a small project, and over this one."""

from __future__ import annotations

import ast

import affected
import pytest
from affected import Project, Selection

from workbook.common.paths import ROOT

CHAPTERS = {"01-a": {"a.cpp", "old.cpp"}, "02-b": {"a.cpp", "b.cpp"},
            "03-c": {"a.cpp", "net/c.cpp"}, "lab-x": {"a.cpp"}, "lab-y": {"a.cpp"}}
PYTHON = {
    "scripts/workbook/__init__.py": "",
    "scripts/workbook/__main__.py": "from workbook.verbs import cli\n",
    "scripts/workbook/verbs/__init__.py": "",
    "scripts/workbook/verbs/cli.py": "def test():\n    from workbook.checks import watch\n",
    "scripts/workbook/checks/__init__.py": "",
    "scripts/workbook/checks/watch.py": "from workbook.common.paths import ROOT\n",
    "scripts/workbook/common/__init__.py": "",
    "scripts/workbook/common/paths.py": "RESULTS = 1\n",
    "scripts/workbook/figures/recorded.py": "from workbook.common.paths import RESULTS\n",
    "book/preprocessor/cpp.py": "",
    "scripts/tests/conftest.py": (
        "import helper\npytest_plugins = ['plugin']\n"
        "def hotpath():\n    run([executable, '-m', 'workbook'])\n"
        "def site():\n    import workbook.figures.recorded\n"),
    "scripts/tests/helper.py": "", "scripts/tests/plugin.py": "", "scripts/tests/other.py": "",
    "scripts/tests/gate/test_gate.py": "import workbook.checks.watch\n",
    "scripts/tests/command/test_cli.py": "import other\ndef test_it(hotpath): pass\n",
    "scripts/tests/course/test_labs.py": "labs = 'all of them'\n",
    "scripts/tests/servers/test_all.py": "all_chapters = 'those with a server'\n",
    "scripts/tests/systems/test_lab.py": "NAMES = ['lab-x']\n",
    "scripts/tests/course/test_one.py": "NAME = '02-b'\nPAGE = 'b.md'\n",
    "scripts/tests/book/test_book.py": "def test_it(site): pass\n",
    "scripts/tests/repository/test_words.py": "",
}
PROJECT = Project(PYTHON, CHAPTERS)
TESTS = {file.rpartition("/")[2]: file for file in PROJECT.tests}
ALL = set(TESTS)


def selected(*changed: str, chapters: tuple[str, ...] = ()) -> set[str]:
    """The test files with a selected test, which is about these chapters or none."""
    selection = affected.select(changed, PROJECT)
    return {name for name, file in TESTS.items() if selection.has(file, chapters)}


@pytest.mark.parametrize("changed, chapters", [
    ("solutions/01-a/a.cpp", {"01-a", "02-b", "03-c"}),
    ("solutions/01-a/old.cpp", {"01-a", "02-b"}),  # 02's starter begins with 01's solution
    ("solutions/02-b/deleted.cpp", {"02-b", "03-c"}),
    ("solutions/03-c/net/c.cpp", {"03-c"}),
    ("solutions/01-a/c.cpp", {"01-a", "02-b", "03-c"}),  # which 03 has in a folder
    ("solutions/lab-x/a.cpp", {"lab-x"}),
    ("chapters/01-a/a.cpp", {"01-a"}),
    ("chapters/lab-y/mutants/behaviour.x.y.patch", {"lab-y"}),
])
def test_a_changed_file_selects_the_chapters_that_inherit_it(changed: str,
                                                             chapters: set[str]) -> None:
    selection = affected.select([changed], PROJECT)
    assert selection.chapters == chapters and not selection.everything
    gate = "scripts/tests/gate/test_gate.py"
    assert {name for name in CHAPTERS if selection.has(gate, {name})} == chapters
    assert selection.has(gate, {"01-a", min(chapters)})  # one program of several chapters
    rules = "scripts/tests/repository/test_words.py"
    assert {name for name in CHAPTERS if selection.has(rules, {name})} == chapters


@pytest.mark.parametrize("changed, files", [
    ("solutions/02-b/a.cpp", {"test_gate.py", "test_one.py", "test_words.py", "test_all.py",
                              "test_lab.py"}),
    ("solutions/03-c/net/c.cpp", {"test_gate.py", "test_words.py", "test_all.py", "test_lab.py"}),
    ("solutions/lab-x/a.cpp", {"test_labs.py", "test_lab.py", "test_words.py"}),
    ("solutions/lab-y/a.cpp", {"test_labs.py", "test_words.py"}),
    ("chapters/lab-y/chapter.toml", {"test_labs.py", "test_words.py", "test_book.py"}),
    ("book/src/part1/b.md", {"test_book.py", "test_one.py", "test_words.py"}),
    ("book/theme/hotpath.css", {"test_book.py", "test_words.py"}),
    ("book/results/log.json", {"test_book.py", "test_words.py"}),
    ("README.md", {"test_book.py", "test_words.py"}),
    ("scripts/workbook/checks/watch.py", {"test_gate.py", "test_cli.py", "test_words.py"}),
    ("scripts/workbook/verbs/cli.py", {"test_cli.py", "test_words.py"}),
    ("scripts/workbook/figures/recorded.py", {"test_book.py", "test_words.py"}),
    ("scripts/workbook/checks/__init__.py", {"test_gate.py", "test_cli.py", "test_words.py"}),
    ("book/preprocessor/cpp.py", {"test_book.py", "test_words.py"}),
    ("scripts/tests/other.py", {"test_cli.py", "test_words.py"}),
    ("scripts/tests/course/test_one.py", {"test_one.py", "test_words.py"}),
    ("scripts/tests/helper.py", ALL), ("scripts/tests/plugin.py", ALL),
    ("scripts/tests/conftest.py", ALL),
    ("scripts/cmake/hotpath.cmake", ALL), ("scripts/requirements.txt", ALL), (".ci/run", ALL),
    ("solutions/04-gone/a.cpp", ALL), ("scripts/workbook/checks/gone.py", ALL),
])
def test_a_changed_file_selects_the_tests_that_read_it(changed: str, files: set[str]) -> None:
    assert selected(changed) == files


def test_several_changes_add_up() -> None:
    assert selected("solutions/lab-x/a.cpp", "book/theme/hotpath.css") == {
        "test_labs.py", "test_lab.py", "test_words.py", "test_book.py"}
    assert selected() == {"test_words.py"}
    assert selected("solutions/lab-x/a.cpp", ".ci/run", chapters=("01-a",)) == ALL


def test_the_selection_is_explained() -> None:
    selection = affected.select(["solutions/lab-x/b.cpp", "solutions/lab-x/a.cpp", "Makefile"],
                                PROJECT)
    assert list(selection.lines()) == [
        "Makefile: everything, because no rule knows this file",
        "solutions/lab-x/a.cpp and 1 more: chapters: lab-x", "selected: everything"]
    without = affected.select(["solutions/lab-x/a.cpp"], PROJECT)
    assert list(without.lines())[-1].startswith("selected: chapters: lab-x; all tests of 0 files")


@pytest.fixture(scope="module")
def project() -> Project:
    return affected.ours()


def test_a_module_of_ours_selects_its_own_tests(project: Project) -> None:
    for module, test in (("verbs/testing.py", "command/test_testing.py"),
                         ("checks/behaviour/requests.py", "gate/test_gate.py"),
                         ("machine/doctor.py", "command/test_cli.py"),
                         ("verbs/book.py", "book/test_browser.py")):
        assert f"scripts/tests/{test}" in affected.effect(f"scripts/workbook/{module}",
                                                          project).files, module


def test_every_import_of_ours_is_known(project: Project) -> None:
    """A module that the rules don't find would not select the tests that import it."""
    for file, text in project.python.items():
        for name in affected.imported(ast.parse(text), lazily=True):
            if name.startswith(("workbook.", "preprocessor.")):
                assert name in project.modules or name.rpartition(".")[0] in project.modules, file


def test_a_chapter_is_found_in_an_id() -> None:
    assert affected.mentions_chapter("test_it[conditions-12-b=conditions-13-c]", "13-c")
    assert affected.mentions_chapter("test_it[15-cost.x] ('late 15-tls',)", "15-tls")
    assert not affected.mentions_chapter("test_it[113-c]", "13-c")


def test_the_rest_is_what_is_not_affected() -> None:
    """Nothing runs twice, and nothing is forgotten."""
    selection = affected.select(["solutions/lab-x/a.cpp"], PROJECT)
    items = [Item(file, chapter) for file in TESTS.values() for chapter in ("", *CHAPTERS)]
    halves = []
    for option in ("affected_since", "not_affected_since"):
        kept = list(items)
        affected.pytest_collection_modifyitems(Config(selection, option), kept)  # type: ignore
        halves.append(kept)
    assert sorted(map(id, sum(halves, []))) == sorted(map(id, items)) and all(halves)


class Item:
    """As much of a pytest.Item as the selection asks for."""

    def __init__(self, file: str, chapter: str) -> None:
        self.path, self.nodeid = ROOT / file, f"{file}::test_it[{chapter}]"

    def iter_markers(self, name: str) -> list[object]:
        return []


class Config:
    """As much of a pytest.Config."""

    def __init__(self, selection: Selection, option: str) -> None:
        self.stash, self.option = {affected._selection: selection}, option
        self.hook = self

    def getoption(self, name: str) -> bool:
        return name == self.option

    def pytest_deselected(self, items: list[object]) -> None:
        assert items
