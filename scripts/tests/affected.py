"""Which tests a change can affect: `hotpath test --since COMMIT` runs them, and with `--rest` the
others.

The answer depends only on the changed files and on the project's sources. A change in a solution
affects its chapter and the later ones that inherit the file, with their planted mistakes. A change
in a page affects the tests of the book, and one in a Python module all tests that import it. A file
that no rule knows affects everything. A pull request runs the rest as well, so that a rule that is
too narrow delays a failure but doesn't hide it.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import pytest

from workbook.common.paths import ROOT
from workbook.course import trees

TESTS = "scripts/tests"
CONFTEST = f"{TESTS}/conftest.py"
PYTHON = {"scripts/workbook": "workbook", "book/preprocessor": "preprocessor", TESTS: ""}
ALWAYS = f"{TESTS}/repository/"  # tests of all files; those about a chapter run only if it changed
OF_THE_BOOK = f"{TESTS}/book/"
SERVERS_ONLY = ("measuring", "servers", "systems")  # their tests of a lab name it
SERVING = ("gate", "judging", *SERVERS_ONLY)  # they build and start servers
ALL_SERVERS = re.compile(r"\b(all_chapters|having|CLIMB)\b")
ALL_LABS = re.compile(r"\b(all_chapters|labs?|LABS?)\b")


@dataclass(frozen=True)
class Effect:
    """The tests that one changed file can affect, and the same in words."""

    words: str
    chapters: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()  # test files
    everything: bool = False


@dataclass(frozen=True)
class Project:
    """What effects are computed from: the text of each Python file by its path, and for each
    chapter the names of its solution's files.
    """

    python: Mapping[str, str]
    solutions: Mapping[str, Collection[str]]

    @cached_property
    def tests(self) -> frozenset[str]:
        return frozenset(file for file in self.python
                         if file.startswith(f"{TESTS}/") and "/test_" in file)

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """Maps names of modules to their files."""
        return {module_name(file): file for file in self.python}

    @cached_property
    def needed(self) -> Mapping[str, frozenset[str]]:
        """Maps each test file to the files that it imports, directly or indirectly, and itself."""
        direct = {file: self.resolve(imported(ast.parse(text), lazily=file != CONFTEST))
                  for file, text in self.python.items()}
        return {test: frozenset(closure({test, *self.fixtures(test)}, direct))
                for test in self.tests}

    def fixtures(self, test: str) -> set[str]:
        """Returns conftest.py, and what its functions import that the test file mentions."""
        if CONFTEST not in self.python:
            return set()
        found = {CONFTEST}
        for node in ast.parse(self.python[CONFTEST]).body:
            if isinstance(node, ast.FunctionDef) and mentions(self.python[test], node.name):
                found |= self.resolve(imported(node, lazily=True))
        return found

    def resolve(self, names: Iterable[str]) -> set[str]:
        """Returns the files of these modules, and of the packages that contain them."""
        found = set()
        for name in names:
            parts = name.split(".")
            whole = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
            found |= {self.modules[one] for one in whole & self.modules.keys()}
        return found

    def naming(self, words: str) -> frozenset[str]:
        """The test files that mention these words."""
        return frozenset(test for test in self.tests if mentions(self.python[test], words))

    def needing(self, words: str) -> frozenset[str]:
        """Returns the test files that import a module that mentions these words, other than
        paths.py.
        """
        modules = {file for file, text in self.python.items()
                   if mentions(text, words) and not file.endswith("/paths.py")}
        return frozenset(test for test, files in self.needed.items() if files & modules)


@dataclass(frozen=True)
class Selection:
    """The tests that some changed files can affect."""

    project: Project
    effects: Mapping[str, Effect]  # by changed file

    @property
    def everything(self) -> bool:
        return any(effect.everything for effect in self.effects.values())

    @cached_property
    def chapters(self) -> frozenset[str]:
        return frozenset().union(*(effect.chapters for effect in self.effects.values()))

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset().union(*(effect.files for effect in self.effects.values()))

    def has(self, file: str, chapters: Collection[str]) -> bool:
        """Whether this selects a test of this file about these chapters, or about none in
        particular.
        """
        if self.everything or file in self.files:
            return True
        if chapters:
            return not self.chapters.isdisjoint(chapters)
        text = self.project.python.get(file, "")
        return file.startswith(ALWAYS) or any(concerns(file, text, one) for one in self.chapters)

    def lines(self) -> Iterator[str]:
        """Yields what is selected and why, for people."""
        because: dict[str, list[str]] = {}
        for file, effect in self.effects.items():
            because.setdefault(effect.words, []).append(file)
        for words, files in because.items():
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            yield f"{files[0]}{more}: {words}"
        if self.everything:
            yield "selected: everything"
        else:
            chapters = ", ".join(sorted(self.chapters)) or "none"
            yield (f"selected: chapters: {chapters}; all tests of {len(self.files)} files; the "
                   "rules for all files of the repository")


def select(changed: Iterable[str], project: Project) -> Selection:
    """Returns the tests that these changed files, with paths from the root, can affect."""
    return Selection(project, {file: effect(file, project) for file in sorted(changed)})


def effect(file: str, project: Project) -> Effect:
    top, _, remainder = file.partition("/")
    chapter, _, name = remainder.partition("/")
    book = frozenset(test for test in project.tests if test.startswith(OF_THE_BOOK))
    if top == "solutions" and chapter in project.solutions:
        heirs = inheriting(chapter, name, project)
        return Effect(f"chapters: {', '.join(sorted(heirs))}", heirs)
    if top == "chapters" and chapter in project.solutions:
        shown = name == "chapter.toml"  # the pages show budgets and hints
        return Effect(f"chapter {chapter}" + (" and the tests of the book" if shown else ""),
                      frozenset({chapter}), book if shown else frozenset())
    if file in project.python:
        tests = frozenset(test for test, files in project.needed.items() if file in files)
        tests |= book if file.startswith("book/") else frozenset()
        return Effect(f"{len(tests)} test files that import it", files=tests)
    if top == "book" or file == "README.md" or top == ".github":
        readers = project.needing("RESULTS") if chapter == "results" else frozenset()
        return Effect("the tests of the book, and those that read the file",
                      files=book | readers | project.naming(PurePosixPath(file).name))
    return Effect("everything, because no rule knows this file", everything=True)


def inheriting(chapter: str, file: str, project: Project) -> frozenset[str]:
    """Returns the chapter, the next one, whose starter is based on its solution, and all later ones
    whose solutions have a file of that name in any folder. A lab affects only itself.
    """
    if not chapter[:1].isdigit():
        return frozenset({chapter})
    later = sorted(name for name in project.solutions if name[:1].isdigit() and name > chapter)
    return frozenset({chapter, *later[:1],
                      *(name for name in later if trees.find(project.solutions[name], file)
                        in project.solutions[name])})


def concerns(file: str, text: str, chapter: str) -> bool:
    """Whether a test file with this text may test the chapter without naming it in its ids."""
    folder = PurePosixPath(file).parent.name
    if chapter in text:
        return True
    if chapter[:1].isdigit():
        return folder in SERVING or bool(ALL_SERVERS.search(text))
    return folder not in SERVERS_ONLY and bool(ALL_LABS.search(text))


def module_name(file: str) -> str:
    """Returns the module's name, such as `workbook.checks.watch`, or `lengths` for a helper."""
    folder, prefix = next((folder, prefix) for folder, prefix in PYTHON.items()
                          if file.startswith(f"{folder}/"))
    if not prefix:
        return PurePosixPath(file).stem
    inside = PurePosixPath(file.removeprefix(f"{folder}/")).with_suffix("").parts
    return ".".join([prefix, *inside]).removesuffix(".__init__")


def imported(tree: ast.AST, lazily: bool) -> Iterator[str]:
    """Yields the names of all modules imported in the tree, and possibly of other objects, because
    `from a import b` doesn't show whether b is a module. `lazily` includes imports in functions.
    """
    for node in ast.walk(tree) if lazily else outside_functions(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytest_plugins":
            yield from ast.literal_eval(node.value)
        elif isinstance(node, ast.List | ast.Tuple):  # a command such as python -m workbook
            words = [one.value if isinstance(one, ast.Constant) else "" for one in node.elts]
            yield from (f"{name}.__main__" for option, name in zip(words, words[1:])
                        if option == "-m" and isinstance(name, str))


def outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from outside_functions(node)


def closure(start: Iterable[str], direct: Mapping[str, set[str]]) -> set[str]:
    found, waiting = set(start), list(start)
    while waiting:
        new = direct.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def mentions(text: str, words: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", text) is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hotpath")
    group.addoption("--affected-since", metavar="COMMIT",
                    help="run the tests that the change since this commit can affect")
    group.addoption("--not-affected-since", metavar="COMMIT", help="run the other tests")


def pytest_configure(config: pytest.Config) -> None:
    commit = config.getoption("affected_since") or config.getoption("not_affected_since")
    config.stash[_selection] = select(changed_since(commit), ours()) if commit else None


def pytest_report_header(config: pytest.Config) -> list[str]:
    selection = config.stash[_selection]
    if not selection:
        return []
    rest = " (to be left to a run without --rest)" if config.getoption("not_affected_since") else ""
    return [f"the change can affect{rest}:", *(f"  {line}" for line in selection.lines())]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selection = config.stash[_selection]
    if not selection:
        return
    wanted = not config.getoption("not_affected_since")
    kept = {item for item in items if wanted == selection.has(*subject_of(item, selection))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def subject_of(item: pytest.Item, selection: Selection) -> tuple[str, set[str]]:
    """Returns the test's file, and the chapters that its id or its group names."""
    groups = " ".join(str(mark.args) for mark in item.iter_markers("xdist_group"))
    name = f"{item.nodeid.partition('::')[2]} {groups}"
    chapters = {chapter for chapter in selection.project.solutions
                if mentions_chapter(name, chapter)}
    return item.path.relative_to(ROOT).as_posix(), chapters


def mentions_chapter(name: str, chapter: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(chapter)}(?!\w)", name) is not None


_selection = pytest.StashKey["Selection | None"]()


def ours() -> Project:
    """Returns this project as it is now."""
    python = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
              for folder in PYTHON for file in sorted((ROOT / folder).rglob("*.py"))}
    return Project(python, {
        folder.name: frozenset(file.relative_to(folder).as_posix() for file in folder.rglob("*"))
        for folder in (ROOT / "solutions").iterdir() if folder.is_dir()})


def changed_since(commit: str) -> set[str]:
    """Returns the files that differ from the commit, in later commits or in the working tree. A
    file that was moved is listed with both names.
    """
    names: set[str] = set()
    for command in (("diff", "--name-only", "--no-renames", "-z", commit, "--"),
                    ("ls-files", "--others", "--exclude-standard", "-z")):
        done = subprocess.run(["git", "-C", str(ROOT), *command], check=True, text=True,
                              stdout=subprocess.PIPE)
        names |= set(filter(None, done.stdout.split("\0")))
    return names
