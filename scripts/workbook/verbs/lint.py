"""Find mistakes without running the code, with ruff, mypy, clang-format and clang-tidy, each with
its configuration file. `fix` repairs what ruff and clang-format can.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.leftovers import is_leftover
from workbook.common.paths import COMMAND, ROOT, SCRIPTS, SOLUTIONS, shown, venv_program
from workbook.course import trees
from workbook.machine import git

PYTHON = (SCRIPTS, ROOT / "book" / "preprocessor", SCRIPTS / "hotpath")
CPP = ("*.cpp", "*.h")
CLANG_TIDY = "clang-tidy-19"
LIBRARY = "-stdlib=libc++"
OWN_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
OTHER_SYSTEMS = ("_kqueue.cpp", "_macos.cpp", "_freebsd.cpp", "_bsd.cpp")  # compiled only there
BRANCHES = ("origin/main", "main")


@dataclass(frozen=True)
class Tool:
    """One tool, and how it is run from the root of the repository."""

    name: str
    command: tuple[str, ...]


def run(since: str = "", everything: bool = False) -> int:
    """Returns 0 if no tool finds anything. clang-tidy reads the solutions' files that changed
    `since` this commit, by default since main, or all of them.
    """
    failed = [tool.name for tool in tools() if not _passes(tool)]
    if not _tidy(None if everything else since or _base()):
        failed.append("clang-tidy")
    if failed:
        print(f"\n{', '.join(failed)}: see above. What can be fixed: {COMMAND} format")
    return 1 if failed else 0


def fix() -> int:
    """Let ruff and clang-format fix what they can; returns 1 if ruff leaves problems."""
    ruff, _, clang_format = tools()
    clean = _passes(Tool(ruff.name, (*ruff.command, "--fix")))
    command = [word for word in clang_format.command if word not in ("--dry-run", "--Werror")]
    formatted = _passes(Tool(clang_format.name, (command[0], "-i", *command[1:])))
    return 0 if clean and formatted else 1


def tools() -> tuple[Tool, Tool, Tool]:
    """The tools that read all files. Their versions are pinned in requirements-test.txt."""
    return (Tool("ruff", (_program("ruff"), "check", "--quiet", "--config",
                          str(SCRIPTS / "ruff.toml"), *map(str, PYTHON))),
            Tool("mypy", (_program("mypy"), "--no-error-summary", "--config-file",
                          str(SCRIPTS / "mypy.ini"), "--cache-dir", str(ROOT / "build" / "mypy"))),
            Tool("clang-format", (_program("clang-format"), "--dry-run", "--Werror",
                                  *_listed(*CPP))))


def _program(name: str) -> str:
    return str(venv_program(name))


def _passes(tool: Tool) -> bool:
    print(f"{tool.name}:", end=" ", flush=True)
    done = subprocess.run(tool.command, cwd=ROOT, capture_output=True, text=True)
    output = (done.stdout + done.stderr).replace(f"{ROOT}/", "").strip()
    print("nothing found" if done.returncode == 0 else f"\n{output}", flush=True)
    return done.returncode == 0


def _tidy(base: str | None) -> bool:
    """Whether clang-tidy finds nothing in the files that changed since `base`; None: in all."""
    print("clang-tidy:", end=" ", flush=True)
    if not shutil.which(CLANG_TIDY):
        print(f"not run, because this system has no {CLANG_TIDY}", flush=True)
        return True
    sources = unique(sorted(file for file in SOLUTIONS.rglob("*.cpp")
                            if not is_leftover(file.name)))
    readable = [file for file in sources if not file.name.endswith(OTHER_SYSTEMS)]
    chosen = readable if base is None else list(affected(readable, changed(base)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [output for output in pool.map(_findings, chosen) if output]
    print("\n" + "\n".join(found) if found else "nothing found", end="")
    print(f" in {len(chosen)} files of the solutions{_left_out(sources, readable, chosen, base)}",
          flush=True)
    return not found


def _left_out(sources: Sequence[Path], readable: Sequence[Path], chosen: Sequence[Path],
              base: str | None) -> str:
    unchanged, foreign = len(readable) - len(chosen), len(sources) - len(readable)
    why = f", unchanged since {base}: {unchanged} (all with --all)" if base is not None else ""
    return f"; left out{why}, for other systems: {foreign}"


def _findings(file: Path) -> str:
    """Returns what clang-tidy prints about one file; empty if it finds nothing."""
    flags = ("-std=c++23", LIBRARY, f"-I{SCRIPTS / 'lab'}",
             *(f"-iquote{folder}" for folder in trees.folders(_checkpoint(file))))
    done = subprocess.run([CLANG_TIDY, "--quiet", str(file), "--", *flags], cwd=ROOT,
                          capture_output=True, text=True)
    output = (done.stdout + done.stderr).replace(f"{ROOT}/", "")
    return output.strip() if done.returncode else ""


def unique(files: Sequence[Path]) -> list[Path]:
    """Returns the last of each set of files with equal contents, which later chapters inherit."""
    return sorted({file.read_bytes(): file for file in files}.values())


def affected(sources: Sequence[Path], changes: set[Path]) -> Iterator[Path]:
    """The sources that have changed, or that include a header that has."""
    return (source for source in sources if not changes.isdisjoint(_closure(source)))


def _closure(source: Path) -> set[Path]:
    """The file and the project's own headers that it includes, directly or through others."""
    found, left, folders = set(), [source], trees.folders(_checkpoint(source))
    while left:
        file = left.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        left += [folder / name for name in OWN_INCLUDE.findall(file.read_text(encoding="utf-8"))
                 for folder in {file.parent, *folders}]
    return found


def _checkpoint(source: Path) -> Path:
    """Returns the checkpoint of a source, which may be in a folder of the checkpoint."""
    return next((folder for folder in source.parents if folder.parent == SOLUTIONS), source.parent)


def changed(base: str) -> set[Path]:
    """The files that differ from the commit `base`, in later commits or in the working tree."""
    return {ROOT / name for command in (("diff", "--name-only", "-z", base, "--"),
                                        ("ls-files", "--others", "--exclude-standard", "-z"))
            for name in _git(*command).split("\0") if name}


def _base() -> str:
    """Returns the commit at which this branch left main, or the last commit if there is no main."""
    for branch in BRANCHES:
        if found := git.answer("merge-base", "HEAD", branch, cwd=ROOT):
            return found[:12]
    return _git("rev-parse", "--short=12", "HEAD").strip()


def _listed(*patterns: str) -> list[str]:
    """Returns the tracked files, and untracked ones that aren't ignored."""
    names = _git("ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *patterns)
    return sorted({name for name in names.split("\0") if name and (ROOT / name).is_file()})


def _git(*arguments: str) -> str:
    done = git.git(*arguments, cwd=ROOT)
    if done.returncode != 0:
        reason = os.fsdecode(done.stderr).strip()
        raise UserError(f"git {arguments[0]} failed in {shown(ROOT)}: {reason}",
                        "run this in a clone, with a commit that it has")
    return os.fsdecode(done.stdout)
