"""Creates a new chapter with everything that it needs: it builds, and passes its gate, before its
author has written a line.

It teaches a placeholder. The solution has an option that prints the chapter's name, the starter
lacks it, a check tests it, and each planted mistake breaks it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, ROOT
from workbook.course import trees
from workbook.course.chapters import SERVER, Chapter, all_chapters

Plan = dict[Path, bytes]  # every file to write, with its content

MAIN = "main.cpp"
OPENING = "int main(int argc, char** argv) {\n"
BEHAVIOUR = Path("scripts/workbook/checks/behaviour")
REGISTRY = Path("scripts/workbook/checks/registry.py")
SUMMARY = Path("book/src/SUMMARY.md")

TOML = '''title = "{title}"
minutes = 60
edit = ["main.cpp"]
page = "{page}"
level = {number}
platforms = [{platforms}]
starter_fails = ["behaviour.{name}"]
solution = """
What the solution does, and why in this way.
"""

{cost}[[hint]]
text = """
Where to begin.
"""

[[hint]]
text = """
What is easily overlooked.
"""

[[hint]]
text = """
Almost the solution: the option --{name} prints the name, and nothing else.
"""

[[section]]
check = "behaviour.{name}"
anchor = "#your-turn"
'''

PAGE = """{{{{#chapter {folder}}}}}

What a reader can see: a command, its output, a graph with a bad shape, a client that hangs.

## The idea

One concept, with a picture.

## Your turn

1. In `main.cpp`, print `{name}` if the server is started with `--{name}`.

## Our version

{{{{#diff {before} {folder}}}}}

## What we know now

What surprised us, and when the technique doesn't help.
"""

MODULE = '''"""{title}."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from workbook.checks.behaviour.alone import TIMEOUT_S, alone
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import Case, Unmet
from workbook.servers.process import Server


def cases() -> Iterator[Case]:
    yield alone("prints-its-name", "ours", "the server is started with --{name}",
                "it prints {name}, and ends", prints_its_name)


def prints_its_name(server: Server) -> None:
    try:
        done = subprocess.run([server.command[0], "--{name}"], capture_output=True, text=True,
                              timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Unmet("it does not end") from None
    if done.stdout != "{name}\\n":
        raise Unmet(f"it prints {{done.stdout!r}}")


CHECKS = (group("{name}", "{title}", cases, level={number}),)
'''


def make(number: int, name: str, root: Path = ROOT) -> list[Path]:
    """Write a new chapter, and its name into other files; returns the files, relative to the root.

    Raises UserError, with nothing written, if the number or the name isn't possible.
    """
    plan = planned(number, name, root)
    _write(plan, root)
    all_chapters.cache_clear()
    return list(plan)


def planned(number: int, name: str, root: Path) -> Plan:
    """Returns the content of all files of the new chapter, by their path relative to the root."""
    before = _last(root)
    _require_new(number, name, before, root)
    folder = f"{number:02}-{name}"
    words = {"name": name, "number": number, "folder": folder, "before": before.name,
             "title": name.replace("-", " ").capitalize(),
             "page": f"{Path(before.page).parent.as_posix()}/{folder}.md",
             "platforms": ", ".join(f'"{platform}"' for platform in before.platforms),
             "cost": _cost(before)}
    return {**_sources(words, before), **_descriptions(words), **_entries(words, before, root)}


def _last(root: Path) -> Chapter:
    """Returns the last numbered chapter."""
    servers = [chapter for chapter in all_chapters(root / "chapters")
               if chapter.kind == SERVER and chapter.number is not None]
    if not servers:
        raise UserError("there is no chapter to begin from", "git checkout -- chapters")
    return servers[-1]


def _require_new(number: int, name: str, before: Chapter, root: Path) -> None:
    following = (before.number or 0) + 1
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise UserError(f"a chapter cannot be called “{name}”",
                        "use small letters and digits, with hyphens between words: zero-copy")
    if number != following:
        raise UserError(f"the next chapter is {following}, not {number}",
                        f"{COMMAND} new-chapter {following} {name}")
    taken = [chapter.name for chapter in all_chapters(root / "chapters")
             if re.sub(r"^(\d+|lab)-", "", chapter.name) == name]
    module = BEHAVIOUR / f"{_module(name)}.py"
    taken += [str(path) for path in (module,) if (root / path).exists()]
    if taken:
        raise UserError(f"there is {taken[0]} already", "choose another name")


def _sources(words: Mapping[str, object], before: Chapter) -> Plan:
    """Returns the solution, the starter and the planted mistakes."""
    base = trees.read(before.solution_dir)
    text = base.get(MAIN, b"").decode()
    if text.count(OPENING) != 1:
        raise UserError(f"{before.name}/{MAIN} has no “{OPENING.strip()}”",
                        "the scaffold puts its placeholder there: see course/scaffold.py")
    name, number = words["name"], words["number"]
    mark = f"    // TODO({number}): print {name} if the server is started with --{name}.\n"
    option = (f'    if (argc > 1 && std::strcmp(argv[1], "--{name}") == 0) {{\n'
              f'        return std::puts("{name}") < 0;\n    }}\n')
    solved = _including(text, "cstdio", "cstring").replace(OPENING, OPENING + option)
    tree = {**base, MAIN: solved.encode()}
    begun = {**base, MAIN: text.replace(OPENING, OPENING + mark).encode()}
    chapter = Path("chapters", str(words["folder"]))
    return {
        **{Path("solutions", chapter.name, path): content for path, content in tree.items()},
        **{chapter / path: content for path, content in begun.items()},
        chapter / "starter.patch": trees.diff({MAIN: base[MAIN]}, {MAIN: begun[MAIN]}),
        **_mistakes(str(name), solved, chapter / "mutants"),
    }


def _mistakes(name: str, solved: str, folder: Path) -> Plan:
    """Returns three mistakes, which is the number that the gate requires of a chapter."""
    right = f'std::puts("{name}") < 0'
    wrong = {"prints-nothing": "0", "prints-another-name": 'std::puts("another") < 0',
             "prints-to-stderr": f'std::fputs("{name}\\n", stderr) < 0'}
    remembered = "".join(f'"behaviour.{name}.{what}" = "{name}/prints-its-name"\n'
                         for what in sorted(wrong))
    return {folder / "caught-by.toml": remembered.encode(), **{
        folder / f"behaviour.{name}.{what}.patch": trees.diff(
            {MAIN: solved.encode()}, {MAIN: solved.replace(right, instead).encode()})
        for what, instead in wrong.items()}}


def _including(text: str, *headers: str) -> str:
    """Returns the source with these standard headers added, in alphabetical order."""
    for header in headers:
        line = f"#include <{header}>\n"
        if line not in text:
            others = re.findall(r"^#include <[a-z_]+>\n", text, re.M)
            after = max((other for other in others if other < line), default="")
            at = text.index(after) + len(after) if after else 0
            text = text[:at] + line + text[at:]
    return text


def _descriptions(words: Mapping[str, object]) -> Plan:
    """Returns chapter.toml, the page and the module of cases."""
    return {Path("chapters", str(words["folder"]), "chapter.toml"): TOML.format(**words).encode(),
            Path("book/src", str(words["page"])): PAGE.format(**words).encode(),
            BEHAVIOUR / f"{_module(str(words['name']))}.py": MODULE.format(**words).encode()}


def _entries(words: Mapping[str, object], before: Chapter, root: Path) -> Plan:
    """Returns the registry and the summary, each with a line about the chapter."""
    module = _module(str(words["name"]))
    registry = (root / REGISTRY).read_text(encoding="utf-8")
    registry = _inserted(registry, f"    {module},\n",
                         ")\nfrom workbook.checks.model import", REGISTRY)
    registry = _inserted(registry, f"    {module},\n", ")\nGROUPS: tuple", REGISTRY)
    summary = (root / SUMMARY).read_text(encoding="utf-8")
    remainder = summary.partition(f"({before.page})\n")[2]
    summary = _inserted(summary, f"- [{words['title']}]({words['page']})\n", remainder, SUMMARY)
    return {REGISTRY: registry.encode(), SUMMARY: summary.encode()}


def _inserted(text: str, line: str, location: str, file: Path) -> str:
    """Returns the text with a line inserted before a location that occurs once."""
    if not location or text.count(location) != 1:
        raise UserError(f"{file} is not as new-chapter knows it, so it cannot add “{line.strip()}”",
                        "see course/scaffold.py")
    return text.replace(location, line + location)


def _cost(chapter: Chapter) -> str:
    """Returns the previous chapter's budgets, which still hold."""
    if not chapter.cost:
        return ""
    return "[cost]\n" + "".join(f"{name} = {budget}\n"
                                for name, budget in chapter.cost.items()) + "\n"


def _module(name: str) -> str:
    return name.replace("-", "_")


def _write(plan: Plan, root: Path) -> None:
    """Write all files or none: if one fails, those already written are restored."""
    before: dict[Path, bytes | None] = {
        path: (root / path).read_bytes() if (root / path).exists() else None
        for path in plan}
    try:
        for path, content in plan.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
    except OSError:
        for path, old in before.items():
            _restore(root / path, old, root)
        raise


def _restore(path: Path, content: bytes | None, root: Path) -> None:
    if content is not None:
        path.write_bytes(content)
        return
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == root or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()
