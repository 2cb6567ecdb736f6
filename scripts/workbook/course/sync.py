"""Carry a change of one solution, or of one part, through everything after it.

The change is the difference between the working tree and HEAD. It is merged three ways: HEAD's
version of the changed tree is the base, and the sides are that tree as it is now and the next tree.
A file that one side moved to another folder is followed there. A conflict stops the walk, and `sync
--continue` resumes it.

The trees after parts are stored as patches, so during a walk they are extracted to build/sync.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, ROOT, STATE, shown, write_atomically
from workbook.course import parts, starters, trees
from workbook.course.chapters import Chapter, Part, all_chapters, base_dir, previous
from workbook.course.trees import Tree
from workbook.machine.git import git

MARKER = b"<<<<<<< "
SIDES = ("this checkpoint", "the change")  # the names of the sides in conflict markers


@dataclass(frozen=True)
class Node:
    """A tree that changes are merged from or into: a starter, a solution, or one after a part."""

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
        """Carry the change of one solution, or of every changed one; returns the files written.

        Raises UserError at the first conflict, naming the file with its markers.
        """
        changed = [chapter] if chapter else [c for c in self.chapters if self._is_changed(c)]
        steps = list(self._steps({c.solution_dir for c in changed}))
        self._begin(steps)
        return self._walk(steps)

    def run_part(self, chapter: Chapter, number: int) -> list[Path]:
        """Take a part's tree from where an author edits it, and carry its change through."""
        part = parts.find(chapter, number)
        if part is chapter.parts[-1]:
            raise UserError(f"{chapter.name} ends with part {number}: its tree is the solution",
                            f"edit {shown(chapter.solution_dir)}, then: {COMMAND} sync")
        edited, location = parts.taken(chapter, part), self._location(chapter, part)
        steps = list(self._steps({location.directory}))
        self._begin(steps)
        trees.write(edited, location.directory)
        before = (self._location(chapter, chapter.parts[number - 2])
                  if number > 1 and previous(chapter) else Node(base_dir(chapter), chapter))
        self._keep(Step(before, location))
        return self._walk(steps)

    def resume(self) -> list[Path]:
        """Continue after the conflict that stopped the last walk."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
            conflict, *others = [self.root / name for name in state["conflicts"]]
            origins = {self.root / name for name in state["from"]}
            index = int(state["step"])
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
        self._require_starters(steps[index + 1:])
        if others:
            self._stop(steps, index, others)
        self._keep(steps[index])
        return self._walk(steps, index + 1)

    def _steps(self, origins: set[Path]) -> Iterator[Step]:
        """Yields every merge to make, after those that its source comes from."""
        reached = set(origins)
        for chapter in self.chapters:
            for step in self._links(chapter):
                if step.source.directory in reached:
                    self._require_at_head(step.source)
                    yield step
                    reached |= set() if step.target.is_starter else {step.target.directory}

    def _links(self, chapter: Chapter) -> Iterator[Step]:
        """Yields the steps from a chapter's base to its starter, and through its parts to its
        solution. In the first chapter, whose base is its own solution, each part starts from that.
        """
        before = previous(chapter)
        base = Node(base_dir(chapter), before or chapter)
        yield Step(base, Node(chapter.starter_dir, chapter))
        if before is None:
            yield from (Step(base, self._location(chapter, part)) for part in parts.kept(chapter))
            return
        way = [base, *(self._location(chapter, part) for part in parts.kept(chapter)),
               Node(chapter.solution_dir, chapter)]
        yield from (Step(*pair) for pair in zip(way, way[1:], strict=False))

    def _location(self, chapter: Chapter, part: Part) -> Node:
        return Node(self.workplace / chapter.name / part.slug, chapter, part)

    def _begin(self, steps: list[Step]) -> None:
        """Discard an earlier walk, and extract the trees after parts as merge targets."""
        self._require_starters(steps)
        self.state.unlink(missing_ok=True)
        shutil.rmtree(self.workplace, ignore_errors=True)
        for chapter in self.chapters:
            if any(location.part and location.chapter is chapter
                   for step in steps for location in (step.source, step.target)):
                for part, tree in zip(parts.kept(chapter), self._present(chapter), strict=True):
                    trees.write(tree, self._location(chapter, part).directory)

    def _present(self, chapter: Chapter) -> list[Tree]:
        """Returns the trees after a chapter's parts as its patches have them now.

        A patch that equals HEAD's applies to HEAD's solution; a newer one to today's.
        """
        locations = [self._location(chapter, part) for part in parts.kept(chapter)]
        patches = parts.patches(chapter, parts.kept(chapter))
        bases = [self._at_head(base_dir(chapter)), trees.read(base_dir(chapter))]
        if patches != [self._patch_at_head(location) for location in locations]:
            bases.reverse()
        for base in bases:
            try:
                return parts.ends(chapter, base, patches)
            except ValueError as error:
                problem = error
        raise UserError(f"the parts of {chapter.name} fit {self._shown(base_dir(chapter))} neither "
                        f"as it is nor as it was committed:\n{problem}",
                        "git checkout -- " + self._shown(parts.patch_file(
                            chapter, chapter.parts[0]).parent))

    def _walk(self, steps: list[Step], start: int = 0) -> list[Path]:
        for index, step in enumerate(steps[start:], start):
            if conflicts := self._merge(step):
                self._stop(steps, index, conflicts)
            self._keep(step)
        self.state.unlink(missing_ok=True)
        shutil.rmtree(self.workplace, ignore_errors=True)
        for step in steps:
            if step.target.is_starter:
                require_rule(step.target.chapter)
        return self.written

    def _keep(self, step: Step) -> None:
        """Update the patch of a starter or a part after its tree has changed."""
        target = step.target
        if target.is_starter and starters.write_patch(target.chapter):
            self.written.append(starters.patch_file(target.chapter))
        if target.part and parts.write_patch(target.chapter, target.part,
                                             trees.read(step.source.directory),
                                             trees.read(target.directory)):
            self.written.append(parts.patch_file(target.chapter, target.part))

    def _require_starters(self, steps: list[Step]) -> None:
        """Raises UserError if a directory has a reader's work, which must not become a starter."""
        for target in (step.target for step in steps):
            if target.is_starter and not self._is_starter(target.chapter):
                number = target.chapter.tag
                raise UserError(
                    f"{self._shown(target.directory)} is not the starter that its patch makes",
                    f"{COMMAND} reset {number} to drop the edits, or "
                    f"{COMMAND} sync {number} --starter to make them the new starter")

    def _is_starter(self, chapter: Chapter) -> bool:
        """Whether the patch can be undone in the directory, whose base may be newer than it."""
        file = starters.patch_file(chapter)
        try:
            trees.apply(trees.read(chapter.starter_dir), file.read_bytes(), "-R")
        except (FileNotFoundError, ValueError):
            return False
        return True

    def _merge(self, step: Step) -> list[Path]:
        """Merge the source's change into the target; returns the files that need a decision.

        What the target omits on purpose stays omitted.
        """
        directory, current = step.target.directory, trees.read(step.target.directory)
        try:
            merged = trees.merge(self._at_head_of(step.source), current,
                                 trees.read(step.source.directory), SIDES)
        except ValueError as error:
            raise UserError(f"git cannot merge: {error}", "make the change by hand") from None
        tree = {path: content for path, content in merged.tree.items()
                if path not in merged.left_out}
        trees.write(tree, directory)
        if not step.target.part:
            self.written += [directory / path for path in trees.differing(current, tree)]
        return [directory / path for path in merged.conflicts if path in tree]

    def _stop(self, steps: list[Step], index: int, conflicts: list[Path]) -> None:
        """Store the position in the walk, and raise UserError explaining the first conflict."""
        carried = {step.target.directory for step in steps}
        origins = {step.source.directory for step in steps} - carried
        state = {"from": sorted(self._shown(location) for location in origins), "step": index,
                 "conflicts": [self._shown(conflict) for conflict in conflicts]}
        write_atomically(self.state, json.dumps(state))
        raise UserError(f"{self._shown(conflicts[0])} needs a decision: the change conflicts there",
                        f"resolve the marked lines, then: {COMMAND} sync --continue")

    def _is_changed(self, chapter: Chapter) -> bool:
        old = self._at_head(chapter.solution_dir)
        return bool(old) and old != trees.read(chapter.solution_dir)

    def _require_at_head(self, location: Node) -> None:
        if not self._at_head_of(location):
            what = (parts.patch_file(location.chapter, location.part) if location.part
                    else location.directory)
            raise UserError(f"{self._shown(what)} is not committed, so there is no earlier "
                            "version to tell its change from", "commit it first")

    def _at_head_of(self, location: Node) -> Tree:
        """Returns a tree as last committed; empty if it was not committed."""
        if not location.part:
            return self._at_head(location.directory)
        kept = location.chapter.parts[:location.part.number]
        patches = [self._patch_at_head(self._location(location.chapter, part)) for part in kept]
        base = self._at_head(base_dir(location.chapter))
        try:
            return parts.ends(location.chapter, base, patches)[-1] if all(patches) else {}
        except ValueError as error:
            raise UserError(f"the parts of {location.chapter.name}, as they were committed, do not "
                            f"fit:\n{error}", "fix and commit them first") from None

    def _patch_at_head(self, location: Node) -> bytes:
        """Returns a part's patch as last committed; empty if it was not committed."""
        assert location.part
        relative = parts.patch_file(location.chapter, location.part).relative_to(self.root)
        return git("cat-file", "blob", f"HEAD:{relative.as_posix()}", cwd=self.root).stdout

    def _at_head(self, directory: Path) -> Tree:
        """Returns a directory's sources as last committed; empty if they were not committed."""
        if directory not in self._committed:
            self._committed[directory] = trees.read_commit(
                self.root, "HEAD", directory.relative_to(self.root).as_posix())
        return self._committed[directory]

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self.root))


def require_rule(chapter: Chapter) -> None:
    """Raises UserError with the starter's hunks that are not marked as the reader's work."""
    if violations := starters.check_rule(chapter):
        raise UserError(f"these hunks of {chapter.name} lack a TODO({chapter.tag}):\n"
                        + "\n".join(str(violation) for violation in violations),
                        f"mark or undo them, then: {COMMAND} sync {chapter.tag} --starter")
