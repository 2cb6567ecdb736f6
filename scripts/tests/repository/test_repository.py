"""What holds for the sources themselves, and that what the repository says of itself is true."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import tree_sitter_cpp
import typer
import yaml
from tree_sitter import Language, Node, Parser

from workbook.common.paths import RESULTS, ROOT, SOLUTIONS
from workbook.course import editions, trees
from workbook.course.chapters import Chapter, all_chapters, having
from workbook.figures import colours, picture, recorded
from workbook.verbs import cli

PARSER = Parser(Language(tree_sitter_cpp.language()))
CHECKPOINTS = sorted(path for path in SOLUTIONS.iterdir() if path.is_dir())
CPP = (".cpp", ".h")
LONGEST_FUNCTION = 40  # lines
LONGEST_PYTHON_FUNCTION = 60

# In two halves, so that this file does not name them.
REGISTRIES = [".".join(halves) for halves in (
    ("pypi", "org"), ("pythonhosted", "org"), ("crates", "io"), ("debian", "org"),
    ("ubuntu", "com"), ("npmjs", "org"), ("docker", "io"), ("ghcr", "io"), ("brew", "sh"))]


def presets() -> list[str]:
    listed = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    return [preset["name"] for preset in listed["configurePresets"]]


@cache
def tracked() -> tuple[Path, ...]:
    """The files that git keeps; a copy without git has no such list."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True)
    if listed.returncode != 0:
        pytest.skip("this is not a git repository")
    files = (ROOT / name.decode() for name in listed.stdout.split(b"\0") if name)
    return tuple(file for file in files if file.is_file())


def texts(*names: str) -> Iterator[tuple[Path, str]]:
    """The tracked text files, or those in these folders."""
    for file in tracked():
        if names and not any(file.is_relative_to(ROOT / name) for name in names):
            continue
        with suppress(UnicodeDecodeError):
            yield file.relative_to(ROOT), file.read_text(encoding="utf-8")


def matches(pattern: str, *names: str, flags: int = 0) -> list[str]:
    """file:line: text of every match, for a message that can be clicked."""
    return [f"{file}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}"
            for file, text in texts(*names) for match in re.finditer(pattern, text, flags)]


def test_solution_has_no_open_todo() -> None:
    assert not matches(r".*\bTODO\b.*", "solutions", "docker", "scripts/cmake", "scripts/floor",
                       "scripts/fuzz", "scripts/wrk")


@pytest.mark.parametrize("chapter", all_chapters(), ids=lambda chapter: chapter.name)
def test_starter_has_only_todos_of_its_chapter(chapter: Chapter) -> None:
    sources = [chapter.starter_dir / path for path in trees.paths(chapter.starter_dir)
               if Path(path).suffix in {*CPP, ".cmake", ".txt"}]
    marks = {mark for file in sources
             for mark in re.findall(r"\bTODO\b(?:\([^)]*\))?", file.read_text(encoding="utf-8"))}
    of_parts = {f"TODO({chapter.tag}.{part.number})" for part in chapter.parts}
    assert marks and marks <= {f"TODO({chapter.tag})", *of_parts}


@pytest.mark.parametrize("name, kinds", [("app.h", 1), ("app.cpp", 2)])
def test_application_is_the_same_in_all_chapters(name: str, kinds: int) -> None:
    """But for the chapter where it gets its bodies in pieces."""
    streaming = having("streaming")[0].name
    climb = [path for path in (*CHECKPOINTS, *(chapter.starter_dir for chapter in all_chapters()))
             if path.name[0].isdigit()]
    assert len({(path / name).read_bytes() for path in climb
                if path.parent.name == "solutions" or path.name < streaming}) == kinds


# A folder of a solution, and those that its files may include.
FOLDERS = {"net": set[str](), "http": {"net"}, "files": {"net", "http"}, "log": {"net", "http"},
           "tls": {"net", "http", "files", "log"}}
UPWARDS = {("net/open_file.h", "http/range.h")}  # ByteRange, which has no need of HTTP


@pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=lambda checkpoint: checkpoint.name)
def test_folders_of_a_solution_include_one_way(checkpoint: Path) -> None:
    known = trees.paths(checkpoint)
    folders = {path: str(Path(path).parent) for path in known}
    assert set(folders.values()) <= {".", *FOLDERS}
    found = {(path, trees.find(known, name)) for path in known if folders[path] != "."
             for name in re.findall(r'^#include "([^"]+)"', (checkpoint / path).read_text(), re.M)}
    assert {(path, header) for path, header in found
            if folders[header] not in {folders[path], *FOLDERS[folders[path]]}} <= UPWARDS


def test_no_file_names_the_host_of_a_registry() -> None:
    hosts = "|".join(map(re.escape, REGISTRIES))
    assert not matches(rf".*\b(?:{hosts})\b.*")


def test_no_file_names_a_path_of_one_machine() -> None:
    assert not matches(r".*(?<![\w.~}])/(?:home|root|Users|work)/\w.*")


def test_no_file_is_large() -> None:
    """What is generated or recorded may be; a workbook is not cloned for its binaries."""
    assert not [str(file) for file in tracked() if file.stat().st_size > 300_000]


def nodes(node: Node, *types: str) -> Iterator[Node]:
    if node.type in types:
        yield node
    for child in node.children:
        yield from nodes(child, *types)


def functions() -> Iterator[tuple[str, Node]]:
    """file:line and syntax tree of every function definition that is ours."""
    for file, text in texts("solutions", "scripts", "docker"):
        if file.suffix in CPP:
            # extern "C" opens and closes in branches of their own, which no parser can pair.
            whole = re.sub(r"#ifdef __cplusplus\n[^#]*\n#endif", "\n\n", text)
            tree = PARSER.parse(whole.encode())
            assert not tree.root_node.has_error, f"{file} does not parse"
            for function in nodes(tree.root_node, "function_definition"):
                yield f"{file}:{function.start_point.row + 1}", function


def test_functions_are_short() -> None:
    lengths = {location: function.end_point.row - function.start_point.row + 1
               for location, function in functions()}
    assert lengths
    assert not {location: lines for location, lines in lengths.items() if lines > LONGEST_FUNCTION}


def test_preprocessor_conditions_are_outside_functions() -> None:
    assert not [location for location, function in functions()
                if list(nodes(function, "preproc_if", "preproc_ifdef"))]


def test_python_functions_are_short() -> None:
    lengths = {f"{file}:{node.lineno}": (node.end_lineno or 0) - node.lineno + 1
               for file, text in texts("scripts", "book", "docker")
               if file.suffix == ".py" or file.name == "hotpath"
               for node in ast.walk(ast.parse(text))
               if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert lengths
    assert not {location: lines for location, lines in lengths.items()
                if lines > LONGEST_PYTHON_FUNCTION}


@pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=lambda path: path.name)
def test_a_checkpoint_configures_on_its_own(checkpoint: Path, tmp_path: Path) -> None:
    configure("-S", str(checkpoint), "-B", str(tmp_path))
    if checkpoint == CHECKPOINTS[0]:
        subprocess.run(["cmake", "--build", str(tmp_path)], capture_output=True, check=True)
        assert (tmp_path / "server").exists()


@pytest.mark.parametrize("preset", presets())
def test_every_preset_configures(preset: str, tmp_path: Path) -> None:
    configure("--preset", preset, "-B", str(tmp_path))


def configure(*arguments: str) -> None:
    reported = subprocess.run(["cmake", "-G", "Ninja", *arguments], cwd=ROOT, capture_output=True,
                              text=True)
    assert reported.returncode == 0, reported.stdout + reported.stderr


MINUTES = {"nightly.yml": 350, "test.yml": 120}  # that a job may take; others: an hour
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_have_minimal_permissions(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job.get("permissions", {}).get("contents", "read") == (
            "write" if file.name == "release.yml" else "read")
        assert job["timeout-minutes"] <= MINUTES.get(file.name, 60)
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"(actions|vmactions)/[\w-]+@[0-9a-f]{40}", step["uses"])
            elif step["run"] not in ('sh -c "$CHECKS"', 'sh -c "$LABS"'):
                assert step["run"].startswith("./scripts/hotpath ")


def commands(workflow: str) -> list[tuple[str, str]]:
    """The condition and the command of each step that runs our command."""
    text = (ROOT / ".github" / "workflows" / workflow).read_text(encoding="utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    return [(step.get("if", ""), step["run"].removeprefix("./scripts/hotpath "))
            for step in job["steps"] if "run" in step]


def test_a_pull_request_is_judged_first_by_what_it_can_affect() -> None:
    tests = [(when, run) for when, run in commands("test.yml") if run.startswith("test")]
    assert [run for _, run in tests] == ['test --since "$BASE"', 'test --since "$BASE" --rest',
                                         "test"]
    affected, rest, everything = (when for when, _ in tests)
    assert affected == "github.event_name == 'pull_request'"
    assert "!cancelled()" in rest and "steps.affected.outcome" in rest  # also if those failed
    assert everything == "github.event_name != 'pull_request'"


def test_everything_runs_every_night() -> None:
    assert ("", "test --long") in commands("nightly.yml")


def test_the_changelog_names_every_edition_and_its_last_commit() -> None:
    text = (ROOT / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## Edition (\d+)\b.*?(?:commit `([0-9a-f]{40})`)?$", text, re.M)
    assert headings == [(str(edition.number), edition.last_commit)
                        for edition in reversed(editions.editions())]


def mentions() -> list[tuple[str, str, str]]:
    """file, verb and options of every use of our command, wherever the repository names one."""
    found = []
    for file, text in texts("README.md", ".ci", ".github", "docker", "book/src", "chapters"):
        text = text.replace("\\\n", " ")
        for use in re.finditer(r"\./scripts/hotpath +([a-z][\w-]*)([^\n`|;&)]*)", text):
            found.append((str(file), use[1], use[2]))
    return found


def test_every_command_in_the_documents_exists() -> None:
    verbs = typer.main.get_command(cli.app).commands
    named = mentions()
    assert {"README.md", ".ci/run"} <= {file for file, _, _ in named}
    for file, verb, remainder in named:
        assert verb in verbs, f"{file}: there is no verb {verb}"
        known = {option for parameter in verbs[verb].params for option in parameter.opts}
        options = re.findall(r"(?<=\s)--[a-z][\w-]*", remainder.partition(" -- ")[0])
        free = verbs[verb].context_settings.get("ignore_unknown_options")
        assert free or set(options) <= known | {"--help"}, f"{file}: {verb}{remainder}"


@pytest.mark.parametrize("name", ["README.md", ".github/ARCHITECTURE.md",
                                  ".github/CONTRIBUTING.md"])
def test_every_linked_file_exists(name: str) -> None:
    document = ROOT / name
    text = document.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)|(?:src|srcset|href)=\"([^\"#]+)", text)
    paths = [link for pair in links for link in pair if link and ":" not in link]
    assert paths
    assert not [path for path in paths if not (document.parent / path).exists()]


def imports(folder: Path) -> list[str]:
    """Every `from … import …` of a folder's modules, not those within texts."""
    return [ast.unparse(node) for file in sorted(folder.rglob("*.py"))
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)]


def test_imports_go_down_the_layers_of_the_map() -> None:
    layers = re.findall(r"^\| `(\w+)/` \|",
                        (ROOT / ".github" / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.M)
    package = ROOT / "scripts" / "workbook"
    assert {*layers} == {path.parent.name for path in package.glob("*/__init__.py")}
    upwards = []
    for number, layer in enumerate(layers):
        above = "|".join(layers[:number])
        upwards += [line for line in imports(package / layer) if above and re.search(
            rf"^from workbook(?:\.| import )(?:{above})\b", line)]
    assert not upwards


def test_the_devcontainer_is_the_projects_own_image() -> None:
    file = ROOT / ".devcontainer" / "devcontainer.json"
    build = json.loads(file.read_text(encoding="utf-8"))["build"]
    image = (file.parent / build["dockerfile"]).resolve()
    assert image == ROOT / "docker" / "linux.Dockerfile"
    assert (file.parent / build["context"]).resolve() == ROOT
    assert re.search(rf"^FROM .* AS {build['target']}$", image.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("theme, classes", [("light", "html.light"), ("dark", "html.navy")])
def test_drawings_use_the_colours_of_the_book(theme: str, classes: str) -> None:
    css = (ROOT / "book" / "theme" / "hotpath.css").read_text(encoding="utf-8")
    rules = css.partition(f"{classes},")[2].partition("}")[0]
    of_the_book = dict(re.findall(r"--([\w-]+): (#\w+);", rules))
    assert colours.THEMES[theme].items() <= of_the_book.items()


@pytest.mark.parametrize("theme", colours.THEMES)
def test_readme_picture_shows_the_recorded_results(theme: str) -> None:
    drawn = picture.file(RESULTS, theme).read_text(encoding="utf-8")
    assert drawn == picture.draw(recorded.load(), theme), (
        "draw it anew: PYTHONPATH=scripts .venv/bin/python -m workbook.figures.picture")
