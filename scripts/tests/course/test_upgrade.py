"""A reader of the first edition, with work in three chapters, gets the tree of today."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Hotpath, assert_refused
from scratch import commit, edit, git, take_today

from workbook.checks import registry
from workbook.common.paths import BOOK, ROOT
from workbook.course import editions, trees, upgrade
from workbook.course.chapters import all_chapters

FIRST = editions.editions()[0].last_commit
MINE = "// mine\n"
PROGRESS = {
    "01-naive": {"passed": "2025-01-31", "unmet": ["behaviour.gone", "behaviour.framing"]},
    "05-event-loop": {"part": 3, "hints of part 2": 2, "hints of part 77": 1},
    "77-gone": {"part": 2},
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone as the first edition left it, with work in 1, 5 (in its third part) and 9."""
    root = tmp_path / "clone"
    known = subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", FIRST], capture_output=True)
    if known.returncode != 0:
        pytest.skip("this clone has no history back to the first edition: git fetch --unshallow")
    git(tmp_path, "clone", "--quiet", "--no-checkout", str(ROOT), str(root))
    git(root, "checkout", "--quiet", "-B", "main", FIRST)
    for name in ("01-naive/connection.cpp", "05-event-loop/main.cpp", "09-files/connection.cpp"):
        file = root / "chapters" / name
        file.write_text(file.read_text() + MINE)
    (root / "chapters/09-files/my_own.h").write_text(MINE)
    (root / ".hotpath").mkdir()
    (root / ".hotpath/progress.json").write_text(json.dumps(PROGRESS))
    return root


def take_edition_2(root: Path) -> None:
    """Make the clone's tree today's, as a pull would; chapters 1 and 5 get a change."""
    take_today(root)
    for tree in ("chapters", "solutions"):
        for file in (root / tree / "01-naive/app.h", root / tree / "05-event-loop/app.h"):
            file.write_text("// of edition 2\n" + file.read_text())
    commit(root)


def move_into_folders(root: Path) -> None:
    """Chapter 9's files move, as the second edition's do, unless they have moved already."""
    if trees.source(root / "solutions/09-files", "connection.cpp").parent.name == "http":
        return
    for tree in ("chapters", "solutions"):
        folder = root / tree / "09-files"
        for file in [*folder.glob("connection.*"), *folder.glob("http_*")]:
            (folder / "http").mkdir(exist_ok=True)
            file.rename(folder / "http" / file.name)
    commit(root)


def pull(root: Path) -> None:
    """What the changelog asks readers of the first edition to do."""
    git(root, "stash", "--include-untracked")
    take_edition_2(root)


def files(root: Path, name: str) -> trees.Tree:
    return trees.read(root / "chapters" / name)


def backups(root: Path) -> list[trees.Tree]:
    return [trees.read(folder) for folder in sorted((root / ".hotpath/backup").iterdir())
            if folder.is_dir()]


def test_work_is_carried_over_from_a_stash(hotpath: Hotpath, clone: Path) -> None:
    before = {name: files(clone, name) for name in ("01-naive", "05-event-loop", "09-files")}
    pull(clone)
    move_into_folders(clone)
    offer = hotpath("upgrade", root=clone)
    assert offer.returncode == 0 and "upgrade --from 'stash@{0}'" in offer.stdout
    done = hotpath("upgrade", "--from", "stash@{0}", root=clone)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in before:
        assert f"{name}: your work began in edition 1, commit {FIRST[:4]}" in done.stdout
    assert "connection.cpp → http/connection.cpp" in done.stdout
    assert files(clone, "01-naive")["connection.cpp"].endswith(MINE.encode())
    assert files(clone, "01-naive")["app.h"].startswith(b"// of edition 2\n")
    assert files(clone, "05-event-loop")["main.cpp"].endswith(MINE.encode())
    moved = files(clone, "09-files")
    assert moved["http/connection.cpp"].endswith(MINE.encode()) and "connection.cpp" not in moved
    assert moved["my_own.h"] == MINE.encode()
    assert all(tree in backups(clone) for tree in before.values())


def test_second_upgrade_changes_nothing(hotpath: Hotpath, clone: Path) -> None:
    pull(clone)
    hotpath("upgrade", "--from", "stash@{0}", root=clone)
    carried, copies = files(clone, "01-naive"), len(backups(clone))
    repeated = hotpath("upgrade", root=clone)
    assert repeated.returncode == 0 and "carried" not in repeated.stdout, repeated.stdout
    hotpath("upgrade", "--from", "stash@{0}", root=clone)
    assert files(clone, "01-naive") == carried and len(backups(clone)) == copies


def test_files_left_in_place_are_carried_over(hotpath: Hotpath, clone: Path) -> None:
    """Where the pull left the chapter's folder as it was, for instance when it was copied back."""
    git(clone, "stash", "--include-untracked")
    take_edition_2(clone)
    git(clone, "stash", "drop")
    mine = trees.read_commit(clone, FIRST, "chapters/01-naive")
    mine["connection.cpp"] += MINE.encode()
    trees.write(mine, clone / "chapters/01-naive")
    report = hotpath("upgrade", "--report", root=clone)
    assert "01-naive: your work began in edition 1" in report.stdout
    assert not (clone / ".hotpath/backup").exists()
    done = hotpath("upgrade", "1", root=clone)
    assert done.returncode == 0, done.stdout
    assert files(clone, "01-naive")["app.h"].startswith(b"// of edition 2\n")
    assert files(clone, "01-naive")["connection.cpp"].endswith(MINE.encode())


def test_a_conflict_is_marked_and_named(hotpath: Hotpath, clone: Path) -> None:
    edit(clone / "chapters/05-event-loop/app.h", "#pragma once", "// mine, too\n#pragma once")
    mine = files(clone, "05-event-loop")
    pull(clone)
    edit(
    clone /
    "chapters/05-event-loop/app.h",
    "// of edition 2\n",
     "// changed at the same place\n")
    edit(clone / "solutions/05-event-loop/app.h", "// of edition 2\n",
         "// changed at the same place\n")
    commit(clone)
    done = hotpath("upgrade", "5", "--from", "stash@{0}", root=clone)
    assert done.returncode == 1 and "chapters/05-event-loop/app.h" in done.stdout, done.stdout
    marked = files(clone, "05-event-loop")["app.h"].decode()
    assert "<<<<<<< your work" in marked and f">>>>>>> edition {editions.current().number}" in marked
    assert mine in backups(clone)
    repeated = hotpath("upgrade", root=clone)
    assert repeated.returncode == 1 and "chapters/05-event-loop/app.h" in repeated.stdout
    assert files(clone, "05-event-loop")["app.h"].decode() == marked


def test_a_chapter_can_be_kept_on_its_edition(hotpath: Hotpath, clone: Path) -> None:
    mine = files(clone, "05-event-loop")
    pull(clone)
    done = hotpath("upgrade", "5", "--keep", "--from", "stash@{0}", root=clone)
    assert done.returncode == 0 and "check 5" in done.stdout, done.stdout
    (kept,) = (clone / ".hotpath/editions").iterdir()
    assert f"cd .hotpath/editions/{kept.name}" in done.stdout
    assert files(kept, "05-event-loop") == mine
    rows = json.loads(hotpath("list", "--json", root=kept).stdout)
    assert [row["part"] for row in rows if row["chapter"] == "05-event-loop"] == [3]
    assert files(clone, "05-event-loop")["app.h"].startswith(b"// of edition 2\n")


def test_progress_names_only_what_exists(hotpath: Hotpath, clone: Path) -> None:
    pull(clone)
    hotpath("upgrade", "--from", "stash@{0}", root=clone)
    known = json.loads((clone / ".hotpath/progress.json").read_text())
    assert known["version"] == editions.current().number
    assert known["chapters"].keys() <= {path.name for path in (clone / "chapters").iterdir()}
    assert known["chapters"]["01-naive"]["passed"] == "2025-01-31"
    assert "hints of part 77" not in known["chapters"]["05-event-loop"]
    old = json.loads((clone / ".hotpath/backup/progress-edition-1.json").read_text())
    assert old == PROGRESS


def test_upgrade_without_history_is_refused(hotpath: Hotpath, clone: Path, tmp_path: Path) -> None:
    pull(clone)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{clone}", str(shallow))
    assert_refused(hotpath("upgrade", root=shallow), "lacks the history", "--unshallow")
    shutil.rmtree(shallow / ".git")
    assert_refused(hotpath("upgrade", root=shallow), "no clone")
    assert_refused(hotpath("upgrade", "--from", "nowhere", root=clone), "nowhere")


RENAMED = """
[[edition]]
number = 1
last_commit = "abc"
[[edition]]
number = 2
[edition.chapters]
"05-poll" = "05-event-loop"
"77-gone" = ""
[edition.checks]
"behaviour.reported-fields" = "behaviour.reported_fields"
"behaviour.gone" = ""
[edition.parts]
"05-event-loop" = [1, 2, 4]
"""


def test_old_names_in_progress_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "editions.toml"
    file.write_text(RENAMED)
    known = editions.editions(file)
    monkeypatch.setattr(editions, "editions", lambda: known)
    old = {"05-poll": {"part": 3, "hints of part 3": 2, "hints of part 2": 1,
                       "unmet": ["behaviour.reported-fields", "behaviour.gone", "speed"]},
           "77-gone": {"passed": "2025-01-31"}, "lab-object-pool": {"part": 3, "hints": 1}}
    assert editions.migrated(old, all_chapters()) == {
        "05-event-loop": {"part": 4, "hints of part 4": 2, "hints of part 2": 1,
                          "unmet": ["behaviour.reported_fields", "speed"]},
        "lab-object-pool": {"hints": 1}}
    assert editions.former_names("05-event-loop") == ["05-event-loop", "05-poll"]
    finished = editions.migrated({"05-poll": {"part": 4}}, all_chapters())
    parts = len(next(c for c in all_chapters() if c.name == "05-event-loop").parts)
    assert finished["05-event-loop"]["part"] == parts + 1


def test_progress_of_a_later_edition_is_left_alone(hotpath: Hotpath, tiny: Path) -> None:
    file = tiny / ".hotpath/progress.json"
    file.parent.mkdir()
    file.write_text('{"version": 99, "chapters": {}}')
    assert_refused(hotpath("list", root=tiny), "edition 99", "git pull")


def test_a_file_that_one_side_removed_is_a_conflict() -> None:
    base = {"a.cpp": b"one\ntwo\nthree\n", "b.cpp": b"other\n"}
    merged, conflicts = upgrade.merge(base, {**base, "a.cpp": b"one\ntwo\nmine\n"},
                                      {"b.cpp": b"other\n"})
    assert conflicts == ["a.cpp"] and merged["a.cpp"] == b"one\ntwo\nmine\n"


NAMES_OF_FIRST = """
import json
from workbook.checks.registry import NAMES
from workbook.course.chapters import all_chapters
print(json.dumps({"checks": NAMES, "chapters": {
    chapter.name: [part.name for part in chapter.parts] for chapter in all_chapters()}}))
"""


def test_every_first_edition_name_is_mapped_or_kept(clone: Path) -> None:
    """What editions.toml does not rename must still be here."""
    git(clone, "checkout", "--quiet", "--force", FIRST)
    asked = subprocess.run([sys.executable, "-c", NAMES_OF_FIRST], text=True, capture_output=True,
                           env={**os.environ, "PYTHONPATH": str(clone / "scripts")}, check=True)
    first, second = json.loads(asked.stdout), editions.editions()[1]
    here = {chapter.name: [part.name for part in chapter.parts] for chapter in all_chapters()}
    checks = {second.checks.get(name, name) for name in first["checks"]}
    assert checks <= {*registry.NAMES, ""}
    chapters = {name: second.chapters.get(name, name) for name in first["chapters"]}
    assert set(chapters.values()) <= {*here, ""}
    for old, new in chapters.items():
        parts = first["chapters"][old]
        if new and parts and parts != here[new]:
            assert len(second.parts.get(new, ())) == len(parts), f"parts of {new}"
            assert set(second.parts[new]) <= set(range(1, len(here[new]) + 1))
    pages = {path.relative_to(clone / "book/src").as_posix()
             for path in (clone / "book/src").rglob("*.md")}
    assert all((BOOK / "src" / second.pages.get(page, page)).is_file() for page in pages)
