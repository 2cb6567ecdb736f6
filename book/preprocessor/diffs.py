"""The differences between two solutions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from preprocessor import cpp
from preprocessor.errors import DirectiveError, NotFound
from workbook.course import trees
from workbook.course.trees import Tree

SOURCES = {".cmake", ".cpp", ".h", ".txt"}
ALL = 1_000_000  # lines of context, more than any file has


@dataclass(frozen=True)
class Diff:
    """A unified diff without file headers."""

    file: str
    text: str
    added: int
    removed: int


def between(old: Path, new: Path) -> list[Diff]:
    """Returns a Diff for each file that differs between two directories, in order of path.

    A file that moved to another folder and kept its name counts as the same file.
    """
    before, after = _sources(old), _sources(new)
    before = trees.renamed(before, trees.moved_by_name(before, after))
    return _nonempty(_diffs(before, after), f"{old.name} and {new.name}")


def of_file(old: Path, new: Path, name: str) -> Diff:
    files = located(old, new, name)
    if not any(file.is_file() for file in files):
        raise DirectiveError(f"neither {old.name} nor {new.name} has a file {name}")
    before, after = ({name: file.read_bytes()} if file.is_file() else {} for file in files)
    return _nonempty(_diffs(before, after), f"{name} in {old.name} and {new.name}")[0]


def of_function(old: Path, new: Path, name: str, function: str) -> Diff:
    """Returns the diff of one function. If one side lacks it, all of it was added or removed."""
    before, after = (_cut_or_none(file, function) for file in located(old, new, name))
    if before is None and after is None:
        raise DirectiveError(f"neither {old.name} nor {new.name} has {function} in {name}")
    found = _diffs({name: (before or "").encode()}, {name: (after or "").encode()}, whole=True)
    return _nonempty(found, f"{function} in {old.name} and {new.name}")[0]


def located(old: Path, new: Path, name: str) -> tuple[Path, Path]:
    """Returns the file's path on each side. `name` is the path on the new side."""
    back = {there: here for here, there in
            trees.moved_by_name(trees.paths(old), trees.paths(new)).items()}
    return old / back.get(name, name), new / name


def _sources(directory: Path) -> Tree:
    if not directory.is_dir():
        raise DirectiveError(f"there is no solutions/{directory.name}")
    return {path: content for path, content in trees.read(directory).items()
            if Path(path).suffix in SOURCES}


def _nonempty(diffs: list[Diff], what: str) -> list[Diff]:
    if not diffs:
        raise DirectiveError(f"nothing differs between {what}")
    return diffs


def _cut_or_none(path: Path, function: str) -> str | None:
    """Returns None if the file or the name is missing; an ambiguous name is still an error."""
    if not path.is_file():
        return None
    try:
        return cpp.cut(path, function)
    except NotFound:
        return None


def _diffs(old: Tree, new: Tree, whole: bool = False) -> list[Diff]:
    """Returns the diffs with three lines of context, or with the whole file."""
    output = trees.diff(old, new, f"-U{ALL if whole else 3}").decode()
    files = re.findall(r"^diff --git [ab]/(.+) [ab]/\1\n(.*?)(?=^diff --git |\Z)", output,
                       re.M | re.S)
    return [_diff(name, text, whole) for name, text in files if "\n@@ " in text]


def _diff(name: str, output: str, whole: bool) -> Diff:
    """Makes a Diff from git's output, without file headers, function names in hunk headers and "no
    newline" notes; for a `whole` file also without the hunk header.
    """
    lines = output[output.index("\n@@ ") + 1:].rstrip("\n").split("\n")
    lines = [re.sub(r"^(@@ .+? @@).*", r"\1", line) for line in lines]
    lines = [line for line in lines[1 if whole else 0:] if not line.startswith("\\")]
    return Diff(
        file=name,
        text="\n".join(lines),
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
    )
