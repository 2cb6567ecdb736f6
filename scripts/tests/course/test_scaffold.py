"""A chapter is added to a scratch clone, where its gate passes before its author wrote a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Hotpath, assert_refused
from scratch import commit, git, take_today

from workbook.common.errors import UserError
from workbook.common.paths import ROOT
from workbook.course import scaffold, starters
from workbook.course.chapters import SERVER, Chapter, all_chapters
from workbook.verbs import book

NAME = "brand-new"
CHECK = f"behaviour.{NAME}"
NUMBER = 1 + max(chapter.number or 0 for chapter in all_chapters() if chapter.kind == SERVER)
FOLDER = f"{NUMBER:02}-{NAME}"
# What the gate asks of the chapter alone: its mistakes are caught, there are enough, and they fit.
GATE = f"{FOLDER} and (applies or three or caught_by) or caught_by_its_check and {CHECK}"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--shared", str(ROOT), str(root))
    take_today(root)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "today")
    return root


def added(root: Path) -> Chapter:
    return next(chapter for chapter in all_chapters(root / "chapters") if chapter.name == FOLDER)


def changed(root: Path) -> str:
    return subprocess.run(["git", "status", "--short"], cwd=root, check=True, text=True,
                          capture_output=True).stdout


@pytest.mark.late
@pytest.mark.xdist_group("late scaffold")
def test_a_new_chapter_passes_its_gate(hotpath: Hotpath, clone: Path) -> None:
    done = hotpath("new-chapter", str(NUMBER), NAME, root=clone)
    assert done.returncode == 0 and f"sync {NUMBER} --starter" in done.stdout, done.stderr
    begun = hotpath("check", str(NUMBER), "--only", CHECK, root=clone)
    assert begun.returncode == 1 and f"✗ {CHECK}" in begun.stdout, begun.stdout + begun.stderr
    solved = hotpath("check", str(NUMBER), "--solution", "--only", CHECK, root=clone)
    assert solved.returncode == 0, solved.stdout + solved.stderr
    tests = clone / "scripts/tests"
    gate = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", str(tests / "pytest.ini"), f"--rootdir={clone}",
         "-p", "no:cacheprovider", "-q", "-k", GATE, str(tests / "gate/test_gate.py")],
        cwd=clone, text=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(clone / "scripts"), "HOTPATH_LONG": "1"})
    assert gate.returncode == 0, gate.stdout + gate.stderr
    assert "6 passed" in gate.stdout, gate.stdout


def test_new_chapter_keeps_the_rules(clone: Path) -> None:
    scaffold.make(NUMBER, NAME, clone)
    chapter = added(clone)
    assert starters.is_pristine(chapter) and starters.check_rule(chapter) == []
    assert chapter.starter_fails == [CHECK]
    before = [c for c in all_chapters(clone / "chapters") if c.kind == SERVER][-2]
    assert chapter.cost == before.cost and chapter.platforms == before.platforms
    commit(clone)
    book.build(clone / "book", clone / "site", searched=False)
    assert (clone / "site" / chapter.page.replace(".md", ".html")).is_file()


@pytest.mark.parametrize("number, name, words", [
    (NUMBER + 1, NAME, f"the next chapter is {NUMBER}"), (NUMBER, "Not_Kebab", "cannot be called"),
    (NUMBER, "../up", "cannot be called"), (NUMBER, "import", "cannot be called"),
    (NUMBER, "naive", "01-naive already"), (NUMBER, "requests", "requests.py already"),
])
def test_invalid_chapter_name_or_number_is_refused(hotpath: Hotpath, clone: Path, number: int,
                                                   name: str,
                                                   words: str) -> None:
    assert_refused(hotpath("new-chapter", str(number), name, root=clone), words)
    assert changed(clone) == ""


def test_failed_scaffold_leaves_no_files(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / scaffold.SUMMARY).write_text("# Another summary\n")
    commit(clone)
    with pytest.raises(UserError, match="SUMMARY.md"):
        scaffold.make(NUMBER, NAME, clone)
    assert changed(clone) == ""
    git(clone, "reset", "--quiet", "--hard", "HEAD~1")
    page = clone / "book/src" / [c for c in all_chapters(clone / "chapters")
                                 if c.kind == SERVER][-1].page
    blocked = page.with_name(f"{FOLDER}.md")
    blocked.mkdir()  # so that the page cannot be written, after the sources were
    monkeypatch.setattr(Path, "exists", lambda path: path != blocked and os.path.exists(path))
    with pytest.raises(OSError):
        scaffold.make(NUMBER, NAME, clone)
    assert changed(clone) == "" and not (clone / "solutions" / FOLDER).exists()
