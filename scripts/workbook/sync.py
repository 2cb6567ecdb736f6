"""Carry a fix made in one solution through every later starter and solution.

The change is what the working tree adds to HEAD. Each file is merged three ways: the next
checkpoint's own text, HEAD's version of the checkpoint before it as the base, and that
checkpoint's new text. A conflict stops the walk; `sync --continue` takes it up behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook import starters
from workbook.chapters import Chapter, all_chapters, base_dir, find, previous
from workbook.errors import UserError
from workbook.paths import COMMAND, ROOT, STATE, shown, write_atomically
from workbook.starters import Tree, git

MARKER = b"<<<<<<< "


@dataclass(frozen=True)
class Step:
    """Merge the change of the solution `source` into the directory `target`."""

    source: Path
    target: Path
    chapter: Chapter  # the one that target belongs to


@dataclass(frozen=True)
class Change:
    """One file of a solution, at HEAD and now; None where it does not exist."""

    name: str
    old: bytes | None
    new: bytes | None


class Sync:
    """One walk over the chapters of a repository."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.state = root / STATE.relative_to(ROOT) / "sync.json"
        self.chapters = all_chapters(root / "chapters")
        self.written: list[Path] = []

    def run(self, chapter: Chapter | None = None) -> list[Path]:
        """Carry the change of one solution, or of every changed one; returns what was written.

        Raises UserError at the first conflict, naming the one file that has its markers.
        """
        self.state.unlink(missing_ok=True)
        if chapter is None:
            changed = [c for c in self.chapters if self._is_changed(c)]
            return self._walk(list(self._steps(changed)))
        return self._walk(list(self._steps([chapter])))

    def resume(self) -> list[Path]:
        """Go on behind the conflict that the last walk stopped at."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
            conflict = self.root / state["conflict"]
            names, start, after = state["chapters"], int(state["step"]), state["file"]
        except FileNotFoundError:
            raise UserError("there is no unfinished sync", f"{COMMAND} sync") from None
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{self._shown(self.state)} is damaged",
                            f"start again: {COMMAND} sync") from None
        if conflict.exists() and MARKER in conflict.read_bytes():
            raise UserError(f"{self._shown(conflict)} still has conflict markers",
                            f"resolve them, then: {COMMAND} sync --continue")
        changed = [c for c in self.chapters if c.name in names]
        return self._walk(list(self._steps(changed)), start, after)

    def _steps(self, changed: list[Chapter]) -> Iterator[Step]:
        """Every merge to make, each after the one that its source comes from."""
        reached: set[Path] = {chapter.solution_dir for chapter in changed}
        for chapter in self.chapters:
            base = base_dir(chapter)
            if base not in reached:
                continue
            if not self._at_head(base):
                raise UserError(f"{self._shown(base)} is not committed, so there is no earlier "
                                "version to tell its change from", "commit it first")
            yield Step(base, chapter.starter_dir, chapter)
            if previous(chapter) is not None:
                yield Step(base, chapter.solution_dir, chapter)
                reached.add(chapter.solution_dir)

    def _walk(self, steps: list[Step], start: int = 0, after: str = "") -> list[Path]:
        self._require_starters(steps[start:] if not after else steps[start + 1:])
        for index, step in enumerate(steps[start:], start):
            for change in self._changes(step.source):
                if index == start and change.name <= after:
                    continue
                if not self._merge(step, change):
                    self._stop(steps, index, step.target / change.name)
            if step.target == step.chapter.starter_dir and starters.write_patch(step.chapter):
                self.written.append(starters.patch_file(step.chapter))
        self.state.unlink(missing_ok=True)
        for step in steps:
            if step.target == step.chapter.starter_dir:
                require_rule(step.chapter)
        return self.written

    def _require_starters(self, steps: list[Step]) -> None:
        """A reader's work must not be taken for a new starter."""
        for step in steps:
            if step.target == step.chapter.starter_dir and not self._is_starter(step.chapter):
                number = step.chapter.tag
                raise UserError(
                    f"{self._shown(step.target)} is not the starter that its patch makes",
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
        target = step.target / change.name
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
        if merged != current:
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
        names = sorted({step.source.name for step in steps})
        state = {"chapters": names, "step": index, "file": target.name,
                 "conflict": str(target.relative_to(self.root))}
        write_atomically(self.state, json.dumps(state))
        raise UserError(f"{self._shown(target)} needs a decision: the change conflicts there",
                        f"resolve the marked lines, then: {COMMAND} sync --continue")

    def _changes(self, solution: Path) -> list[Change]:
        """What the working tree changes in one solution, by file name."""
        old, new = self._at_head(solution), starters.sources(solution)
        return [Change(name, old.get(name), new.get(name))
                for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]

    def _is_changed(self, chapter: Chapter) -> bool:
        return bool(self._at_head(chapter.solution_dir) and self._changes(chapter.solution_dir))

    def _at_head(self, directory: Path) -> Tree:
        """The sources of a directory as last committed; empty if it was not."""
        relative = directory.relative_to(self.root).as_posix()
        listed = git("ls-tree", "--name-only", "-z", "HEAD", f"{relative}/", cwd=self.root)
        paths = [path for path in listed.stdout.decode().split("\0") if path]
        tree: Tree = {}
        for path in paths:
            name = Path(path).name
            content = git("cat-file", "blob", f"HEAD:{path}", cwd=self.root)
            if starters.is_source(name) and content.returncode == 0:
                tree[name] = content.stdout
        return tree

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self.root))


def take_starter(chapter: Chapter) -> None:
    """Make the chapter's directory, as it stands, its starter; UserError if it breaks the rule."""
    changed = starters.write_patch(chapter)
    print(f"{shown(starters.patch_file(chapter))} is {'written' if changed else 'up to date'}")
    require_rule(chapter)


def require_rule(chapter: Chapter) -> None:
    """UserError with the hunks of the starter that are not marked as the reader's work."""
    if breaches := starters.check_rule(chapter):
        raise UserError(f"these hunks of {chapter.name} lack a TODO({chapter.tag}):\n"
                        + "\n".join(str(breach) for breach in breaches),
                        f"mark or undo them, then: {COMMAND} sync {chapter.tag} --starter")


def run(name: str | None, go_on: bool, starter: bool) -> None:
    """`hotpath sync`: prints the files that it wrote."""
    if starter:
        if name is None:
            raise UserError("--starter needs a chapter", f"{COMMAND} sync 2 --starter")
        take_starter(find(name))
        return
    sync = Sync()
    written = sync.resume() if go_on else sync.run(find(name) if name else None)
    for file in written:
        print(f"  {shown(file)}")
    print(f"{len(written)} files written; look at them with git diff" if written
          else "Nothing to carry: all later chapters have it.")
