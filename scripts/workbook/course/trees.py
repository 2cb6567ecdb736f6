"""Trees: the source files of a checkpoint in memory, as path -> content.

A path is relative to the checkpoint and has slashes, as in `http/parser.cpp`. A tree is read from
a folder or from a commit, and written back. Git compares, patches and merges trees. A file
that moved from one folder to another is followed by its name, or else by its content.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from workbook.common.leftovers import is_leftover
from workbook.machine.git import git

Tree = dict[str, bytes]

# A chapter's own data, which no reader edits, and build results.
NOT_SOURCE = {"chapter.toml", "starter.patch", "validate.cpp", "bench.cpp"}
NOT_SOURCES = {"parts", "mutants", "build"}

# The files that a patch names, in either format of its headers.
_NAMES = re.compile(rb"^(?:diff --git [ab]/(\S+) [ab]/|--- a/|\+\+\+ b/)(\S+)", re.M)

SIMILARITY = 50  # per cent of a moved file's content that must match; git's default


@dataclass(frozen=True)
class Merged:
    """The result of a three-way merge."""

    tree: Tree
    conflicts: list[str]  # the files that need a decision; those that are text have markers
    left_out: list[str]  # conflicts about files that `ours` removed and `theirs` changed


def is_source(path: str) -> bool:
    *folders, name = PurePosixPath(path).parts
    return (name not in NOT_SOURCE
            and not any(is_leftover(part) for part in (*folders, name))
            and not (folders and folders[0] in NOT_SOURCES))


def read(directory: Path) -> Tree:
    """Returns the source files of a checkpoint on disk; empty if there is no such folder."""
    return {path: (directory / path).read_bytes() for path in paths(directory)}


def paths(directory: Path) -> list[str]:
    """Returns the paths of a checkpoint's source files, in order."""
    return sorted(_below(directory, ""))


def _below(directory: Path, prefix: str) -> Iterator[str]:
    for entry in directory.iterdir() if directory.is_dir() else ():
        path = prefix + entry.name
        if entry.is_dir() and not entry.is_symlink():
            if is_source(f"{path}/file"):
                yield from _below(entry, f"{path}/")
        elif is_source(path) and entry.is_file():
            yield path


def read_commit(root: Path, commit: str, folder: str) -> Tree:
    """Returns the source files of a checkpoint in a commit; empty if it lacks the folder."""
    archive = git("archive", "--format=tar", commit, folder, cwd=root)
    if archive.returncode != 0:
        return {}
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        files = {str(PurePosixPath(member.name).relative_to(folder)): tar.extractfile(member)
                 for member in tar.getmembers() if member.isfile()}
        return {path: file.read() for path, file in sorted(files.items())
                if file and is_source(path)}


def write(tree: Tree, directory: Path) -> None:
    """Make the folder's source files exactly these; its other files are kept."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in set(paths(directory)) - tree.keys():
        _remove(directory / path, directory)
    for path, content in tree.items():
        file = directory / path
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _remove(file: Path, top: Path) -> None:
    """Delete a file, and the folders below `top` that are then empty."""
    file.unlink()
    for folder in file.parents:
        if folder == top or any(folder.iterdir()):
            return
        folder.rmdir()


def folders(directory: Path) -> list[Path]:
    """Returns the folders of a checkpoint's sources: itself, then the others in order. An #include
    names no folder, so a header may be in any of them.
    """
    return [directory, *sorted({(directory / path).parent for path in paths(directory)}
                               - {directory})]


def find(known: Iterable[str], name: str) -> str:
    """Returns `name` if it is a known path; else, because files move, the path of the only file
    with this name in another folder; else `name` unchanged.
    """
    known = list(known)
    found = [path for path in known if PurePosixPath(path).name == PurePosixPath(name).name]
    return found[0] if name not in known and len(found) == 1 else name


def source(directory: Path, name: str) -> Path:
    """Returns the path of the file with this name in a checkpoint, whatever its folder."""
    return directory / find(paths(directory), name)


def differing(old: Tree, new: Tree) -> list[str]:
    """Returns the paths of the files that differ, in order."""
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def diff(old: Tree, new: Tree, *options: str) -> bytes:
    """Returns the output of `git diff` from old to new, with paths relative to the checkpoint, and
    without the hashes of the files, which would change with every edit.
    """
    differ = set(differing(old, new))
    with TemporaryDirectory() as scratch:
        write(_only(old, differ), Path(scratch, "a"))
        write(_only(new, differ), Path(scratch, "b"))
        done = git("diff", "--no-index", "--no-prefix", "--no-renames", "--no-color",
                   "--diff-algorithm=histogram", *options, "a", "b", cwd=Path(scratch))
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    patch = re.sub(rb"^index [0-9a-f]+\.\.[0-9a-f]+.*\n", b"", done.stdout, flags=re.M)
    return re.sub(rb"^(rename from |rename to )[ab]/", rb"\1", patch, flags=re.M)


def _only(tree: Tree, names: Set[str]) -> Tree:
    return {path: content for path, content in tree.items() if path in names}


def patch(old: Tree, new: Tree) -> bytes:
    """Returns the diff in the form that is stored: a file that only moved takes a line or two."""
    return diff(old, new, f"--find-renames={SIMILARITY}%")


def apply(tree: Tree, patch: bytes, *options: str) -> Tree:
    """Returns the tree with a git diff applied, or reversed with -R; ValueError if that fails."""
    if not patch.strip():
        return dict(tree)
    touched = {name.decode() for names in _NAMES.findall(patch) for name in names if name}
    with TemporaryDirectory() as scratch:
        write(_only(tree, touched), Path(scratch))
        done = git("apply", "--whitespace=nowarn", "-p1", *options, "-", cwd=Path(scratch),
                   stdin=patch)
        if done.returncode != 0:
            raise ValueError(done.stderr.decode(errors="replace").strip())
        return _only(tree, tree.keys() - touched) | read(Path(scratch))


def merge(base: Tree, ours: Tree, theirs: Tree, names: tuple[str, str] = ("ours", "theirs"),
          similarity: int = SIMILARITY) -> Merged:
    """Returns a tree with both changes of `base`; conflict markers have the two names.

    If one side changed what the other removed, the changed file is kept. A file that one side moved
    and the other changed is at its new path, with the change. Raises ValueError if git fails.
    """
    if theirs in (base, ours):
        return Merged(dict(ours), [], [])
    if ours == base:
        return Merged(dict(theirs), [], [])
    base, ours, theirs = _at_one_place(base, ours, theirs)
    with _repository(base, ours=ours, theirs=theirs) as repository:
        _git(repository, "checkout", "--quiet", "ours")
        done = git(*_SETTINGS, "merge", "--quiet", "--no-edit", f"-Xfind-renames={similarity}",
                   "theirs", cwd=repository)
        stages = _unmerged(repository)
        if done.returncode != 0 and not stages:
            raise ValueError(done.stderr.decode(errors="replace").strip())
        tree = read(repository)
    tree |= {path: _named(tree[path], names) for path in stages.keys() & tree.keys()}
    return Merged(tree, sorted(stages),
                  sorted(path for path in stages if _OURS not in stages[path]))


def moved_by_name(old: Iterable[str], new: Iterable[str]) -> dict[str, str]:
    """Returns the files with the same name in another folder of `new`: old path -> new path."""
    gone, come = (_by_name(set(these) - set(those)) for these, those in ((old, new), (new, old)))
    return {gone[name][0]: come[name][0] for name in sorted(gone.keys() & come.keys())
            if len(gone[name]) == len(come[name]) == 1}


def _by_name(known: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in known:
        found.setdefault(PurePosixPath(path).name, []).append(path)
    return found


def renamed(tree: Tree, moves: Mapping[str, str]) -> Tree:
    """Returns the tree with these files at their new paths, unless another file is there."""
    return {new if (new := moves.get(path, path)) not in tree else path: content
            for path, content in tree.items()}


def _at_one_place(base: Tree, ours: Tree, theirs: Tree) -> tuple[Tree, Tree, Tree]:
    """Returns the three trees with each file at the path that the side that moved it gave it. A
    file that changed too much for git to recognise is matched by its name.
    """
    moves = moved_by_name(base, theirs)
    base, ours = renamed(base, moves), renamed(ours, moves)
    moves = moved_by_name(base, ours)
    return renamed(base, moves), ours, renamed(theirs, moves)


def moved(old: Tree, new: Tree, similarity: int = SIMILARITY) -> dict[str, str]:
    """Returns the files that have another path in `new`: old path -> new path. They are matched by
    name if they keep it, otherwise by content.
    """
    named = moved_by_name(old, new)
    return named | moved_by_content({path: old[path] for path in old.keys() - named.keys()},
                                     {path: new[path] for path in new.keys() - {*named.values()}},
                                     similarity)


def moved_by_content(old: Tree, new: Tree, similarity: int = SIMILARITY) -> dict[str, str]:
    """The same, but only for files whose content git recognises."""
    if not (old.keys() - new.keys() and new.keys() - old.keys()):
        return {}
    with _repository({}, old=old, new=new) as repository:
        listed = os.fsdecode(_git(repository, "diff", "--name-status", "-z", "-l0",
                                  f"--find-renames={similarity}%", "--diff-filter=R",
                                  "old", "new")).split("\0")
    return dict(zip(listed[1::3], listed[2::3], strict=False))


# The rename of a folder says nothing about a new file in it: here files move into several folders.
_SETTINGS = ("-c", "user.name=hotpath", "-c", "user.email=hotpath@localhost",
             "-c", "merge.directoryRenames=false", "-c", "merge.renameLimit=0",
             "-c", "core.autocrlf=false", "-c", "commit.gpgSign=false")
_OURS = "2"  # git's stage number of our side of a conflict


@contextmanager
def _repository(base: Tree, **branches: Tree) -> Iterator[Path]:
    """Yields a scratch repository in which each of these trees is a branch based on `base`."""
    with TemporaryDirectory() as scratch:
        repository = Path(scratch)
        _git(repository, "init", "--quiet")
        stream = _commit("base", base) + b"".join(
            _commit(name, tree, "from refs/heads/base\n") for name, tree in branches.items())
        _git(repository, "fast-import", "--quiet", stdin=stream)
        yield repository


def _commit(branch: str, tree: Tree, parent: str = "") -> bytes:
    """Returns a commit of exactly these files, in the format of `git fast-import`."""
    head = (f"commit refs/heads/{branch}\ncommitter hotpath <hotpath@localhost> 0 +0000\n"
            f"data 0\n{parent}deleteall\n")
    return head.encode() + b"".join(
        b"M 100644 inline %b\ndata %d\n%b\n" % (os.fsencode(path), len(content), content)
        for path, content in tree.items())


def _unmerged(repository: Path) -> dict[str, set[str]]:
    """Returns the files in conflict, with their stages: 1 (base), 2 (ours), 3 (theirs)."""
    stages: dict[str, set[str]] = {}
    listed = os.fsdecode(_git(repository, "ls-files", "--unmerged", "-z"))
    for entry in filter(None, listed.split("\0")):
        state, path = entry.split("\t", 1)
        stages.setdefault(path, set()).add(state.split()[2])
    return stages


def _named(text: bytes, names: tuple[str, str]) -> bytes:
    """Returns a text in conflict, with these names in its markers instead of the branches'."""
    ours, theirs = (name.encode() for name in names)
    text = re.sub(rb"^<{7} HEAD", lambda _: b"<<<<<<< " + ours, text, flags=re.M)
    return re.sub(rb"^>{7} theirs", lambda _: b">>>>>>> " + theirs, text, flags=re.M)


def _git(repository: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    done = git(*_SETTINGS, *arguments, cwd=repository, stdin=stdin)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout
