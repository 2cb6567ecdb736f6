"""Sync is proved on scratch repositories: on tiny checkpoints, and on a copy of the real ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Hotpath
from scratch import THIRD, commit, edit, git, make_checkpoint, resolve

from workbook.common.errors import UserError
from workbook.common.paths import CHAPTERS, ROOT, SOLUTIONS
from workbook.course import parts, starters, trees
from workbook.course.chapters import Chapter, all_chapters
from workbook.course.sync import MARKER, Sync


def text(root: Path, path: str) -> str:
    return (root / path).read_text()


def test_a_fix_reaches_every_later_starter_and_solution(tiny: Path) -> None:
    edit(tiny / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    Sync(tiny).run()
    for directory in ("chapters/01-a", "chapters/02-b", "solutions/02-b", "chapters/03-c",
                      "solutions/03-c"):
        assert "return 11 - 10;" in text(tiny, f"{directory}/a.cpp"), directory
    assert "return 11 - 10;" not in text(tiny, "chapters/lab-x/a.cpp")
    assert "return 1 + 1;" in text(tiny, "solutions/02-b/a.cpp")
    assert "// TODO(3): four" in text(tiny, "chapters/03-c/a.cpp")
    assert_starters_hold(tiny)


def assert_starters_hold(root: Path) -> None:
    for chapter in all_chapters(root / "chapters"):
        assert starters.is_pristine(chapter), chapter.name
        assert starters.check_rule(chapter) == []


def test_second_sync_changes_nothing(tiny: Path) -> None:
    edit(tiny / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    assert Sync(tiny).run()
    assert Sync(tiny).run() == []


def test_a_second_change_follows_the_first_before_any_commit(tiny: Path) -> None:
    edit(tiny / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    Sync(tiny).run()
    edit(tiny / "solutions/01-a/a.cpp", "return 3;", "return 13 - 10;")
    Sync(tiny).run()
    for directory in ("chapters/01-a", "chapters/03-c", "solutions/03-c"):
        assert "return 13 - 10;" in text(tiny, f"{directory}/a.cpp"), directory
    assert_starters_hold(tiny)


def test_sync_changes_only_later_chapters(tiny: Path) -> None:
    edit(tiny / "solutions/02-b/a.cpp", "return 3;", "return 1 + 2;")
    before = text(tiny, "chapters/02-b/a.cpp")
    chapter = next(c for c in all_chapters(tiny / "chapters") if c.number == 2)
    Sync(tiny).run(chapter)
    assert text(tiny, "chapters/02-b/a.cpp") == before
    assert "return 1 + 2;" in text(tiny, "chapters/03-c/a.cpp")
    assert "return 1 + 2;" in text(tiny, "solutions/03-c/a.cpp")


def test_application_and_added_and_deleted_files_are_synced(tiny: Path) -> None:
    (tiny / "solutions/01-a/app.h").write_text("// the application\nvoid run_app();\n")
    (tiny / "solutions/01-a/new.h").write_text("#pragma once\n")
    Sync(tiny).run()
    for name in ("01-a", "02-b", "03-c"):
        assert text(tiny, f"chapters/{name}/new.h") == "#pragma once\n"
        assert "run_app" in text(tiny, f"solutions/{name}/app.h")
    commit(tiny)
    (tiny / "solutions/01-a/new.h").unlink()
    Sync(tiny).run()
    assert not list(tiny.rglob("new.h"))
    assert_starters_hold(tiny)


def test_a_lab_is_synced_alone(tiny: Path) -> None:
    edit(tiny / "solutions/lab-x/a.cpp", "return 1;", "return 2 - 1;")
    Sync(tiny).run()
    assert "return 2 - 1;" in text(tiny, "chapters/lab-x/a.cpp")
    assert "return 2 - 1;" not in text(tiny, "solutions/01-a/a.cpp")


def test_conflict_stops_sync_which_resumes_after_it(tiny: Path) -> None:
    edit(tiny / "solutions/01-a/a.cpp", "return 2;", "return 3 - 1;")
    edit(tiny / "solutions/01-a/app.h", "void app();", "void app(int);")
    reached = []
    while True:
        try:
            Sync(tiny).resume() if reached else Sync(tiny).run()
            break
        except UserError as error:
            marked = [file for file in tiny.rglob("*.cpp") if MARKER in file.read_bytes()]
            assert len(marked) == 1
            assert str(marked[0].relative_to(tiny)) in error.message
            assert "sync --continue" in error.fix
            with pytest.raises(UserError, match="still has conflict markers"):
                Sync(tiny).resume()
            resolve(marked[0])
            reached.append(marked[0].parent.relative_to(tiny).as_posix())
    assert reached == ["chapters/01-a", "chapters/02-b", "solutions/02-b"]
    for directory in (*reached, "chapters/03-c", "solutions/03-c"):
        assert "void app(int);" in text(tiny, f"{directory}/app.h"), directory
    assert "return 1 + 1;" in text(tiny, "solutions/03-c/a.cpp")
    assert_starters_hold(tiny)
    with pytest.raises(UserError, match="no unfinished sync"):
        Sync(tiny).resume()


def text_of_length(functions: int) -> str:
    return "".join(f"int function_{k}() {{\n    return {k};\n}}\n\n\n" for k in range(functions))


@pytest.fixture
def foldered(tiny: Path) -> Path:
    """The same with a file that the second solution moves into a folder; its starter has it moved
    already, without a mark.
    """
    for directory in ("chapters/01-a", "solutions/01-a"):
        (tiny / directory / "parser.cpp").write_text(text_of_length(9))
    for directory in ("chapters/02-b", "solutions/02-b", "chapters/03-c", "solutions/03-c"):
        (tiny / directory / "http").mkdir()
        (tiny / directory / "http/parser.cpp").write_text(text_of_length(9))
    edit(tiny / "solutions/03-c/http/parser.cpp", "return 5;", "return 2 + 3;")
    (tiny / "chapters/03-c/http/new.h").write_text("// TODO(3): write it\n")
    for chapter in all_chapters(tiny / "chapters"):
        starters.write_patch(chapter)
    commit(tiny)
    return tiny


def test_a_fix_follows_a_file_that_a_chapter_moves_into_a_folder(foldered: Path) -> None:
    assert_starters_hold(foldered)
    assert "rename to http/parser.cpp" in text(foldered, "chapters/02-b/starter.patch")
    edit(foldered / "solutions/01-a/parser.cpp", "return 1;", "return 11 - 10;")
    Sync(foldered).run()
    for directory in ("chapters/02-b", "solutions/02-b", "chapters/03-c", "solutions/03-c"):
        assert "return 11 - 10;" in text(foldered, f"{directory}/http/parser.cpp"), directory
        assert not (foldered / directory / "parser.cpp").exists(), directory
    assert "return 2 + 3;" in text(foldered, "solutions/03-c/http/parser.cpp")
    assert "TODO(3)" in text(foldered, "chapters/03-c/http/new.h")
    assert_starters_hold(foldered)


def test_the_diff_of_a_chapter_shows_a_move_as_one(hotpath: Hotpath, foldered: Path) -> None:
    step = hotpath("diff", "2", "--anyway", root=foldered).stdout
    assert "rename to 02-b/http/parser.cpp" in step and "return 1 + 1;" in step
    assert "function_8" not in step


def test_a_move_is_carried_to_the_later_chapters(foldered: Path) -> None:
    (foldered / "solutions/02-b/net").mkdir()
    (foldered / "solutions/02-b/http/parser.cpp").rename(
        foldered / "solutions/02-b/net/parser.cpp")
    written = Sync(foldered).run()
    for directory in ("chapters/03-c", "solutions/03-c"):
        assert "function_8" in text(foldered, f"{directory}/net/parser.cpp"), directory
        assert not (foldered / directory / "http/parser.cpp").exists(), directory
        assert foldered / directory / "net/parser.cpp" in written
    assert "return 2 + 3;" in text(foldered, "solutions/03-c/net/parser.cpp")
    assert (foldered / "chapters/03-c/http/new.h").exists()
    assert_starters_hold(foldered)


def test_conflicts_in_two_files_are_resolved_one_after_the_other(foldered: Path) -> None:
    for name in ("a.cpp", "http/parser.cpp"):
        edit(foldered / "solutions/03-c" / name, "return 3;", "return 2 + 1;")
    commit(foldered)
    for name in ("a.cpp", "http/parser.cpp"):
        edit(foldered / "solutions/02-b" / name, "return 3;", "return 0 + 3;")
    chapter = next(c for c in all_chapters(foldered / "chapters") if c.number == 2)
    with pytest.raises(UserError, match="solutions/03-c/a.cpp needs a decision"):
        Sync(foldered).run(chapter)
    resolve(foldered / "solutions/03-c/a.cpp")
    with pytest.raises(UserError, match="solutions/03-c/http/parser.cpp needs a decision"):
        Sync(foldered).resume()
    with pytest.raises(UserError, match="http/parser.cpp still has conflict markers"):
        Sync(foldered).resume()
    resolve(foldered / "solutions/03-c/http/parser.cpp")
    Sync(foldered).resume()
    assert "return 2 + 1;" in text(foldered, "solutions/03-c/http/parser.cpp")
    assert "return 0 + 3;" in text(foldered, "chapters/03-c/http/parser.cpp")


def test_a_change_of_a_file_that_was_left_out_stays_out(foldered: Path) -> None:
    for directory in ("chapters/03-c", "solutions/03-c"):
        (foldered / directory / "http/parser.cpp").unlink()
    commit(foldered)
    edit(foldered / "solutions/02-b/http/parser.cpp", "return 1;", "return 11 - 10;")
    chapter = next(c for c in all_chapters(foldered / "chapters") if c.number == 3)
    starters.write_patch(chapter)
    with pytest.raises(UserError, match="leaves out this whole file"):
        Sync(foldered).run()
    assert not (foldered / "solutions/03-c/http/parser.cpp").exists()
    assert not (foldered / "chapters/03-c/http/parser.cpp").exists()


def test_changed_starter_is_refused(tiny: Path) -> None:
    edit(tiny / "chapters/02-b/a.cpp", "// TODO(2): add", "// mine")
    edit(tiny / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    with pytest.raises(UserError, match="chapters/02-b is not the starter") as refused:
        Sync(tiny).run()
    assert "reset 2" in refused.value.fix
    assert "return 11 - 10;" not in text(tiny, "chapters/01-a/a.cpp")


def test_a_solution_that_was_never_committed_is_refused(tiny: Path) -> None:
    make_checkpoint(tiny, "04-d", THIRD)
    make_checkpoint(tiny, "05-e", THIRD)
    all_chapters.cache_clear()
    edit(tiny / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    with pytest.raises(UserError, match="solutions/04-d is not committed"):
        Sync(tiny).run()
    assert "return 11 - 10;" not in text(tiny, "chapters/01-a/a.cpp")


def test_hunks_without_a_todo_are_named(tiny: Path) -> None:
    edit(tiny / "chapters/02-b/app.h", "void app();", "void app();  // changed")
    chapter = next(c for c in all_chapters(tiny / "chapters") if c.number == 2)
    starters.write_patch(chapter)
    violations = starters.check_rule(chapter)
    assert [violation.file for violation in violations] == ["app.h"]
    assert "+void app();  // changed" in violations[0].hunk


def test_file_with_a_todo_on_its_first_line_is_exempt(tiny: Path) -> None:
    (tiny / "chapters/02-b/new.cpp").write_text("// TODO(2): write this file\n\nint x;\n")
    chapter = next(c for c in all_chapters(tiny / "chapters") if c.number == 2)
    starters.write_patch(chapter)
    assert starters.check_rule(chapter) == []


@pytest.mark.parametrize("chapter", all_chapters(), ids=lambda chapter: chapter.name)
def test_every_starter_marks_all_its_changes(chapter: Chapter) -> None:
    assert [str(violation) for violation in starters.check_rule(chapter)] == []


@pytest.mark.parametrize("chapter", all_chapters(), ids=lambda chapter: chapter.name)
def test_given_starter_files_equal_the_solution(chapter: Chapter) -> None:
    tree, solution = starters.starter(chapter), trees.read(chapter.solution_dir)
    for name in starters.given(chapter) & solution.keys():
        assert tree[name].split(b"\n", 1)[1] == solution[name], name


def test_application_change_reaches_the_real_chapters(tmp_path: Path) -> None:
    for tree in (CHAPTERS, SOLUTIONS):
        shutil.copytree(tree, tmp_path / tree.relative_to(ROOT))
    chapters = all_chapters(tmp_path / "chapters")
    for chapter in chapters:  # whatever its reader did
        trees.write(starters.starter(chapter), chapter.starter_dir)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    edit(tmp_path / "solutions/01-naive/app.cpp", "#include", "// a remark\n#include")
    Sync(tmp_path).run()
    for chapter in chapters:
        if chapter.number is not None:
            assert b"// a remark" in trees.read(chapter.solution_dir)["app.cpp"]
            starter_app = trees.read(chapter.starter_dir).get("app.cpp")
            assert starter_app is None or b"// a remark" in starter_app
        for part in parts.kept(chapter):
            assert b"// a remark" in parts.tree(chapter, part.number)["app.cpp"]
        assert starters.is_pristine(chapter)
        assert starters.check_rule(chapter) == []
