"""Carry a fix made in one solution, or in one part, through all that comes after it.

The change is what the working tree adds to HEAD. Each file is merged three ways: the next
tree's own text, HEAD's version of the tree before it as the base, and that tree's new text. A
conflict stops the walk; `sync --continue` takes it up behind it.

The trees after parts are kept as patches, so while a walk is under way they stand in build/sync.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, ROOT, STATE, shown, write_atomically
from workbook.course import parts, starters
from workbook.course.chapters import Chapter, Part, all_chapters, base_dir, find, previous
from workbook.course.starters import Tree, git

MARKER = b"<<<<<<< "


@dataclass(frozen=True)
class Node:
    """A tree that changes come from or go to: a starter, a solution, or one after a part."""

    directory: Path
    chapter: Chapter
    part: Part | None = None

    @property
    def is_starter(self) -> bool:
        return self.directory == self.chapter.starter_dir


@dataclass(frozen=True)
class Step:
    """Merge the change of `source` into `target`."""

    source: Node
    target: Node


@dataclass(frozen=True)
class Change:
    """One file of a tree, at HEAD and now; None where it does not exist."""

    name: str
    old: bytes | None
    new: bytes | None


class Sync:
    """One walk over the chapters of a repository."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.state = root / STATE.relative_to(ROOT) / "sync.json"
        self.workplace = root / "build" / "sync"
        self.chapters = all_chapters(root / "chapters")
        self.written: list[Path] = []
        self._committed: dict[Path, Tree] = {}

    def run(self, chapter: Chapter | None = None) -> list[Path]:
        """Carry the change of one solution, or of every changed one; returns what was written.

        Raises UserError at the first conflict, naming the one file that has its markers.
        """
        changed = [chapter] if chapter else [c for c in self.chapters if self._is_changed(c)]
        steps = list(self._steps({c.solution_dir for c in changed}))
        self._begin(steps)
        return self._walk(steps)

    def run_part(self, chapter: Chapter, number: int) -> list[Path]:
        """Take a part's tree from where an author edits it, and carry its change on."""
        part = parts.find(chapter, number)
        if part is chapter.parts[-1]:
            raise UserError(f"{chapter.name} ends with part {number}: its tree is the solution",
                            f"edit {shown(chapter.solution_dir)}, then: {COMMAND} sync")
        edited, location = parts.taken(chapter, part), self._location(chapter, part)
        steps = list(self._steps({location.directory}))
        self._begin(steps)
        starters.write(edited, location.directory)
        before = (self._location(chapter, chapter.parts[number - 2]).directory if number > 1
                  else parts.base(chapter))
        self._keep(before, location)
        return self._walk(steps)

    def resume(self) -> list[Path]:
        """Go on behind the conflict that the last walk stopped at."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
            conflict = self.root / state["conflict"]
            origins = {self.root / name for name in state["from"]}
            start, after = int(state["step"]), state["file"]
        except FileNotFoundError:
            raise UserError("there is no unfinished sync", f"{COMMAND} sync") from None
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{self._shown(self.state)} is damaged",
                            f"start again: {COMMAND} sync") from None
        if conflict.exists() and MARKER in conflict.read_bytes():
            raise UserError(f"{self._shown(conflict)} still has conflict markers",
                            f"resolve them, then: {COMMAND} sync --continue")
        steps = list(self._steps(origins))
        if lost := [s.target for s in steps if s.target.part and not s.target.directory.exists()]:
            raise UserError(f"{self._shown(lost[0].directory)} is gone, and with it the sync",
                            f"start again: {COMMAND} sync")
        self._require_starters(steps[start + 1:])
        return self._walk(steps, start, after)

    def _steps(self, origins: set[Path]) -> Iterator[Step]:
        """Every merge to make, each after the one that its source comes from."""
        reached = set(origins)
        for chapter in self.chapters:
            for step in self._links(chapter):
                if step.source.directory in reached:
                    self._require_at_head(step.source)
                    yield step
                    reached |= set() if step.target.is_starter else {step.target.directory}

    def _links(self, chapter: Chapter) -> Iterator[Step]:
        """The way from a chapter's base to its starter, and through its parts to its solution."""
        before = previous(chapter)
        base = Node(base_dir(chapter), before or chapter)
        yield Step(base, Node(chapter.starter_dir, chapter))
        if before is None:
            return
        way = [base, *(self._location(chapter, part) for part in parts.kept(chapter)),
               Node(chapter.solution_dir, chapter)]
        yield from (Step(*pair) for pair in zip(way, way[1:], strict=False))

    def _location(self, chapter: Chapter, part: Part) -> Node:
        return Node(self.workplace / chapter.name / part.slug, chapter, part)

    def _begin(self, steps: list[Step]) -> None:
        """Forget an earlier walk; put the trees after parts where they can be merged into."""
        self._require_starters(steps)
        self.state.unlink(missing_ok=True)
        shutil.rmtree(self.workplace, ignore_errors=True)
        for chapter in self.chapters:
            if any(location.part and location.chapter is chapter
                   for step in steps for location in (step.source, step.target)):
                for part, tree in zip(parts.kept(chapter), self._present(chapter), strict=True):
                    starters.write(tree, self._location(chapter, part).directory)

    def _present(self, chapter: Chapter) -> list[Tree]:
        """The trees after a chapter's parts as its patches have them now.

        A patch that is HEAD's fits HEAD's solution; one that was written since, today's.
        """
        locations = [self._location(chapter, part) for part in parts.kept(chapter)]
        patches = parts.patches(chapter, parts.kept(chapter))
        bases = [self._at_head(base_dir(chapter)), starters.sources(base_dir(chapter))]
        if patches != [self._patch_at_head(location) for location in locations]:
            bases.reverse()
        for base in bases:
            try:
                return parts.chain(base, patches)
            except ValueError as error:
                problem = error
        raise UserError(f"the parts of {chapter.name} fit {self._shown(base_dir(chapter))} neither "
                        f"as it is nor as it was committed:\n{problem}",
                        "git checkout -- " + self._shown(parts.patch_file(
                            chapter, chapter.parts[0]).parent))

    def _walk(self, steps: list[Step], start: int = 0, after: str = "") -> list[Path]:
        for index, step in enumerate(steps[start:], start):
            for change in self._changes(step.source):
                if index == start and change.name <= after:
                    continue
                if not self._merge(step, change):
                    self._stop(steps, index, step.target.directory / change.name)
            self._keep(step.source.directory, step.target)
        self.state.unlink(missing_ok=True)
        shutil.rmtree(self.workplace, ignore_errors=True)
        for step in steps:
            if step.target.is_starter:
                require_rule(step.target.chapter)
        return self.written

    def _keep(self, before: Path, location: Node) -> None:
        """Bring the patch of a starter or a part up to date, now that its tree is."""
        if location.is_starter and starters.write_patch(location.chapter):
            self.written.append(starters.patch_file(location.chapter))
        if location.part and parts.write_patch(location.chapter, location.part, starters.sources(before),
                                               starters.sources(location.directory)):
            self.written.append(parts.patch_file(location.chapter, location.part))

    def _require_starters(self, steps: list[Step]) -> None:
        """A reader's work must not be taken for a new starter."""
        for target in (step.target for step in steps):
            if target.is_starter and not self._is_starter(target.chapter):
                number = target.chapter.tag
                raise UserError(
                    f"{self._shown(target.directory)} is not the starter that its patch makes",
                    f"{COMMAND} reset {number} to drop the edits, or "
                    f"{COMMAND} sync {number} --starter to make them the new starter")

    def _is_starter(self, chapter: Chapter) -> bool:
        """Whether the directory is its patch on some base: today's may be ahead of the patch."""
        file = starters.patch_file(chapter)
        try:
            starters.apply(starters.sources(chapter.starter_dir), file.read_bytes(), "-R")
        except (FileNotFoundError, ValueError):
            return False
        return True

    def _merge(self, step: Step, change: Change) -> bool:
        """Carry one file's change into the step's target; False if it left a conflict there."""
        target = step.target.directory / change.name
        current = target.read_bytes() if target.exists() else None
        if current == change.new or (current is None and change.old is not None):
            return True  # there already, or left out by the target on purpose
        if current == change.old:
            merged, clean = change.new, True
        else:
            merged, clean = self._merge_text(current or b"", change.old or b"", change.new or b"")
        if merged is None:
            target.unlink()
        else:
            target.write_bytes(merged)
        if merged != current and not step.target.part:
            self.written.append(target)
        return clean

    def _merge_text(self, ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, bool]:
        with TemporaryDirectory() as scratch:
            for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
                Path(scratch, name).write_bytes(text)
            done = git("merge-file", "-p", "-L", "this checkpoint", "-L", "before the change",
                       "-L", "the change", "ours", "base", "theirs", cwd=Path(scratch))
        if done.returncode not in range(128):
            raise UserError(f"git cannot merge: {done.stderr.decode(errors='replace').strip()}",
                            "make the change by hand")
        return done.stdout, done.returncode == 0

    def _stop(self, steps: list[Step], index: int, target: Path) -> None:
        """Remember where we are and say what to do."""
        carried = {step.target.directory for step in steps}
        origins = {step.source.directory for step in steps} - carried
        state = {"from": sorted(str(location.relative_to(self.root)) for location in origins),
                 "step": index, "file": target.name,
                 "conflict": str(target.relative_to(self.root))}
        write_atomically(self.state, json.dumps(state))
        raise UserError(f"{self._shown(target)} needs a decision: the change conflicts there",
                        f"resolve the marked lines, then: {COMMAND} sync --continue")

    def _changes(self, location: Node) -> list[Change]:
        """What the working tree changes in one tree, by file name."""
        old, new = self._at_head_of(location), starters.sources(location.directory)
        return [Change(name, old.get(name), new.get(name))
                for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]

    def _is_changed(self, chapter: Chapter) -> bool:
        old = self._at_head(chapter.solution_dir)
        return bool(old) and old != starters.sources(chapter.solution_dir)

    def _require_at_head(self, location: Node) -> None:
        if not self._at_head_of(location):
            what = (parts.patch_file(location.chapter, location.part) if location.part
                    else location.directory)
            raise UserError(f"{self._shown(what)} is not committed, so there is no earlier "
                            "version to tell its change from", "commit it first")

    def _at_head_of(self, location: Node) -> Tree:
        """A tree as last committed; empty if it was not."""
        if not location.part:
            return self._at_head(location.directory)
        kept = location.chapter.parts[:location.part.number]
        patches = [self._patch_at_head(self._location(location.chapter, part)) for part in kept]
        base = self._at_head(base_dir(location.chapter))
        try:
            return parts.chain(base, patches)[-1] if all(patches) else {}
        except ValueError as error:
            raise UserError(f"the parts of {location.chapter.name}, as they were committed, do not "
                            f"fit:\n{error}", "mend and commit them first") from None

    def _patch_at_head(self, location: Node) -> bytes:
        """A part's patch as last committed; empty if it was not."""
        assert location.part
        relative = parts.patch_file(location.chapter, location.part).relative_to(self.root)
        return git("cat-file", "blob", f"HEAD:{relative.as_posix()}", cwd=self.root).stdout

    def _at_head(self, directory: Path) -> Tree:
        """The sources of a directory as last committed; empty if it was not."""
        if directory not in self._committed:
            self._committed[directory] = dict(self._blobs(directory))
        return self._committed[directory]

    def _blobs(self, directory: Path) -> Iterator[tuple[str, bytes]]:
        relative = directory.relative_to(self.root).as_posix()
        listed = git("ls-tree", "--name-only", "-z", "HEAD", f"{relative}/", cwd=self.root)
        for path in filter(None, listed.stdout.decode().split("\0")):
            name = Path(path).name
            content = git("cat-file", "blob", f"HEAD:{path}", cwd=self.root)
            if starters.is_source(name) and content.returncode == 0:
                yield name, content.stdout

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self.root))


def take_starter(chapter: Chapter) -> None:
    """Make the chapter's directory, as it stands, its starter; UserError if it breaks the rule."""
    changed = starters.write_patch(chapter)
    print(f"{shown(starters.patch_file(chapter))} is {'written' if changed else 'up to date'}")
    require_rule(chapter)


def take_patches(chapter: Chapter) -> None:
    """Keep the trees that stand in build/parts as the chapter's parts."""
    written = parts.write_patches(chapter)
    for file in written:
        print(f"  {shown(file)}")
    print(f"{len(written)} of {len(parts.kept(chapter))} patches written")


def lay_out(chapter: Chapter, number: int) -> None:
    """Put the tree after a part where an author can edit it."""
    part = parts.find(chapter, number)
    directory = parts.workplace(chapter, part)
    if copy := starters.replace(parts.tree(chapter, number), directory,
                                f"{chapter.name}-{part.slug}"):
        print(f"What was in {shown(directory)} is in {shown(copy)}.")
    print(f"The tree after part {number} is in {shown(directory)}. When it is as you want it:\n"
          f"{COMMAND} sync {chapter.tag} --part {number}")


def require_rule(chapter: Chapter) -> None:
    """UserError with the hunks of the starter that are not marked as the reader's work."""
    if violations := starters.check_rule(chapter):
        raise UserError(f"these hunks of {chapter.name} lack a TODO({chapter.tag}):\n"
                        + "\n".join(str(violation) for violation in violations),
                        f"mark or undo them, then: {COMMAND} sync {chapter.tag} --starter")


def run(name: str | None, go_on: bool = False, starter: bool = False, patches: bool = False,
        edit: int | None = None, part: int | None = None) -> None:
    """`hotpath sync`: prints the files that it wrote."""
    needing = {"--starter": starter, "--patches": patches, f"--edit {edit}": edit is not None,
               f"--part {part}": part is not None}
    if name is None and (flags := [flag for flag, given in needing.items() if given]):
        raise UserError(f"{flags[0]} needs a chapter", f"{COMMAND} sync 2 {flags[0]}")
    chapter = find(name) if name else None
    if chapter and starter:
        return take_starter(chapter)
    if chapter and patches:
        return take_patches(chapter)
    if chapter and edit is not None:
        return lay_out(chapter, edit)
    sync = Sync()
    if chapter and part is not None:
        return _report(sync.run_part(chapter, part))
    _report(sync.resume() if go_on else sync.run(chapter))


def _report(written: list[Path]) -> None:
    for file in written:
        print(f"  {shown(file)}")
    print(f"{len(written)} files written; look at them with git diff" if written
          else "Nothing to carry: all later chapters have it.")
