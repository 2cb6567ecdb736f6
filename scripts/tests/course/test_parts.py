"""The parts of a chapter: the trees between two solutions, and what an author does to them."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Hotpath, assert_refused
from scratch import FIRST, PART_TOML, PARTS, commit, edit, git, resolve

from workbook.common.errors import UserError
from workbook.course import parts, starters, trees
from workbook.course.chapters import Chapter, all_chapters
from workbook.course.sync import MARKER, Sync


def chapter_of(root: Path, number: int) -> Chapter:
    all_chapters.cache_clear()
    return next(c for c in all_chapters(root / "chapters") if c.number == number)


def text(chapter: Chapter, part: int) -> str:
    return parts.tree(chapter, part)["a.cpp"].decode()


@pytest.mark.parametrize("number", [4, 5])
def test_each_part_ends_at_its_tree_and_the_last_at_solution(parted: Path, number: int) -> None:
    chapter = chapter_of(parted, number)
    steps = PARTS[chapter.name]
    assert [text(chapter, k) for k in range(1, len(steps) + 1)] == [step[1] for step in steps]
    assert parts.tree(chapter, len(steps)) == trees.read(chapter.solution_dir)
    assert parts.tree(chapter, 0) == trees.read(parted / "solutions" / {
        4: "03-c", 5: "04-d"}[number])
    kept = sorted(file.name for file in (chapter.starter_dir / "parts").iterdir())
    assert kept == [f"{k}-{name}.patch" for k, (name, _) in enumerate(steps[:-1], 1)]


def first_in_parts(root: Path) -> Chapter:
    """The first chapter, whose starter lacks two functions, in three parts."""
    toml = root / "chapters/01-a/chapter.toml"
    toml.write_text(toml.read_text().partition("[[hint]]")[0] + "".join(
        PART_TOML.format(name=name, check=check)
        for name, check in [("two", "framing"), ("three", "limits"), ("end", "bodies")]))
    chapter = chapter_of(root, 1)
    starter = FIRST.replace("return 2;", "return 0;  // TODO(1.1)").replace(
        "return 3;", "return 0;  // TODO(1.2)")
    edit(chapter.starter_dir / "a.cpp", (chapter.starter_dir / "a.cpp").read_text(), starter)
    starters.write_patch(chapter)
    half = {**trees.read(chapter.starter_dir), "a.cpp": starter.replace(
        "return 0;  // TODO(1.1)", "return 2;").encode()}
    trees.write(half, parts.workplace(chapter, chapter.parts[0]))
    trees.write(trees.read(chapter.solution_dir), parts.workplace(chapter, chapter.parts[1]))
    parts.write_patches(chapter)
    commit(root)
    return chapter


def test_parts_of_the_first_chapter_begin_at_its_starter(parted: Path) -> None:
    chapter = first_in_parts(parted)
    assert parts.tree(chapter, 0) == starters.starter(chapter) == parts.beginning(chapter, 1)
    assert "return 2;" in text(chapter, 1) and "TODO(1.2)" in text(chapter, 1)
    assert parts.beginning(chapter, 2) == parts.tree(chapter, 1)
    assert parts.tree(chapter, 3) == trees.read(chapter.solution_dir)
    assert [parts.label(chapter, k) for k in (0, 1, 3)] == ["starter", "1-two", "01-a"]


def test_a_fix_reaches_the_parts_of_the_first_chapter(parted: Path) -> None:
    chapter = first_in_parts(parted)
    edit(parted / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    Sync(parted).run()
    assert all("return 11 - 10;" in text(chapter, k) for k in range(4))
    assert "TODO(1.2)" in text(chapter, 1) and "TODO" not in text(chapter, 2)
    assert_starters_hold(parted)


def test_an_edited_part_of_the_first_chapter_is_taken(hotpath: Hotpath, parted: Path) -> None:
    chapter = first_in_parts(parted)
    edit(parted / "build/parts/01-a/1-two/a.cpp", "return 2;", "return 1 + 1;")
    done = hotpath("sync", "1", "--part", "1", root=parted)
    assert done.returncode == 0, done.stderr
    assert "return 1 + 1;" in text(chapter, 1) and "return 1 + 1;" not in text(chapter, 2)


def test_changed_part_trees_rewrite_their_patches(hotpath: Hotpath, parted: Path) -> None:
    chapter = chapter_of(parted, 4)
    edit(parted / "build/parts/04-d/2-six/a.cpp", "return 6;", "return 3 + 3;")
    (chapter.starter_dir / "parts" / "7-gone.patch").write_text("")
    done = hotpath("sync", "4", "--patches", root=parted)
    assert "1 of 2 patches written" in done.stdout and "2-six.patch" in done.stdout, done.stderr
    assert "return 3 + 3;" in text(chapter, 2) and "return 3 + 3;" not in text(chapter, 3)
    assert not (chapter.starter_dir / "parts" / "7-gone.patch").exists()


def test_writing_patches_without_trees_is_refused(hotpath: Hotpath, parted: Path) -> None:
    (parted / "build/parts/04-d/1-five/a.cpp").unlink()
    (parted / "build/parts/04-d/1-five/app.h").unlink()
    assert_refused(hotpath("sync", "4", "--patches", root=parted), "build/parts/04-d/1-five")
    assert_refused(hotpath("sync", "1", "--patches", root=parted), "01-a has no parts")
    assert_refused(hotpath("sync", "--patches", root=parted), "--patches needs a chapter")


def test_unknown_part_is_refused(parted: Path) -> None:
    chapter = chapter_of(parted, 4)
    with pytest.raises(UserError, match="04-d has no part 4") as refused:
        parts.tree(chapter, 4)
    assert "1, About five; 2, About six; 3, About sums" in refused.value.fix
    parts.patch_file(chapter, chapter.parts[0]).unlink()
    with pytest.raises(UserError, match="there is no .*1-five.patch"):
        parts.tree(chapter, 1)


def test_a_patch_that_does_not_fit_names_the_solution_before(parted: Path) -> None:
    edit(parted / "solutions/03-c/a.cpp", "return 4;", "return 5 - 1;")
    with pytest.raises(UserError, match="04-d do not fit .*03-c") as refused:
        parts.tree(chapter_of(parted, 4), 2)
    assert "sync" in refused.value.fix


@pytest.mark.parametrize("old, new, message", [
    ('name = "five"', 'name = "Fünf"', "no part can be called “Fünf”"),
    ('["behaviour.framing"]', '["behaviour.limits"]', "more than one part turns behaviour.limits"),
    ('anchor = "#six"', 'anchor = "#six"\ncost = { instructions = 5 }',
     r"\[cost\] has no budget for cost.instructions"),
    ('anchor = "#six"', 'anchor = "#six"\nbreaks = ["behaviour.cuts"]',
     "part 2 breaks behaviour.cuts, and no later one turns it green"),
    ('anchor = "#six"', "", "has no 'anchor'"),
    ('anchor = "#six"', 'anchor = "#six"\ncases = { cuts = ["cuts/get-*"] }',
     "no part turns all cases of behaviour.cuts green"),
    ('starter_fails = []', '[[hint]]\ntext = "of none"', "a hint belongs to no part"),
])
def test_invalid_part_descriptions_are_refused(parted: Path, old: str, new: str,
                                               message: str) -> None:
    edit(parted / "chapters/04-d/chapter.toml", old, new)
    with pytest.raises(UserError, match=message):
        chapter_of(parted, 4)


def test_starter_fails_the_checks_of_its_parts_and_names_sections(
        parted: Path) -> None:
    chapter = chapter_of(parted, 4)
    assert chapter.starter_fails == ["behaviour.framing", "behaviour.limits", "behaviour.bodies"]
    assert chapter.sections["behaviour.limits"] == "#six"


# An author's changes.

def at_each_part(root: Path, wanted: str) -> list[str]:
    """The trees of the way from 03-c on that have these words, in order."""
    way = [(chapter_of(root, 3), 0)] + [
        (chapter_of(root, number), part) for number, last in ((4, 3), (5, 2))
        for part in range(1, last + 1)]
    ends = [(f"{chapter.number}.{part}", parts.tree(chapter, part) if part
             else trees.read(chapter.solution_dir)) for chapter, part in way]
    return [name for name, tree in ends if wanted in tree["a.cpp"].decode()]


def assert_starters_hold(root: Path) -> None:
    all_chapters.cache_clear()
    for chapter in all_chapters(root / "chapters"):
        assert starters.is_pristine(chapter), chapter.name
        assert starters.check_rule(chapter) == []


def test_a_fix_goes_through_every_part(parted: Path) -> None:
    edit(parted / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    written = Sync(parted).run()
    assert at_each_part(parted, "return 11 - 10;") == ["3.0", "4.1", "4.2", "4.3", "5.1", "5.2"]
    assert at_each_part(parted, "return 7;") == ["5.1", "5.2"]
    assert not (parted / "build/sync").exists()
    assert not [file for file in written if "build" in file.parts]
    assert_starters_hold(parted)
    assert Sync(parted).run() == []


def test_a_second_fix_follows_the_first_before_any_commit(parted: Path) -> None:
    for old, new in (("return 1;", "return 11 - 10;"), ("return 4;", "return 5 - 1;")):
        edit(parted / "solutions/03-c/a.cpp", old, new)
        with suppress(UserError):  # the fourth's first part changes that line too
            Sync(parted).run()
    while (parted / ".hotpath/sync.json").exists():
        resolve(conflict_of(parted))
        with suppress(UserError):
            Sync(parted).resume()
    assert at_each_part(parted, "return 11 - 10;") == ["3.0", "4.1", "4.2", "4.3", "5.1", "5.2"]
    assert at_each_part(parted, "return 2 + 2;") == ["4.1", "4.2", "4.3", "5.1", "5.2"]
    assert_starters_hold(parted)


def conflict_of(root: Path) -> Path:
    marked = [file for file in root.rglob("*.cpp") if MARKER in file.read_bytes()]
    assert len(marked) == 1
    return marked[0]


def test_conflict_in_a_part_stops_sync_which_resumes_after_it(parted: Path) -> None:
    edit(parted / "solutions/03-c/a.cpp", "return 4;", "return 5 - 1;")
    edit(parted / "solutions/03-c/app.h", "void app();", "void app(int);")
    stopped = []
    with pytest.raises(UserError) as refused:
        Sync(parted).run()
    while (parted / ".hotpath/sync.json").exists():
        conflict = conflict_of(parted)
        stopped.append(conflict.parent.relative_to(parted).as_posix())
        assert f"{stopped[-1]}/a.cpp" in refused.value.message
        with pytest.raises(UserError, match="still has conflict markers"):
            Sync(parted).resume()
        resolve(conflict)
        with suppress(UserError):
            Sync(parted).resume()
    assert stopped[0] == "build/sync/04-d/1-five"
    assert at_each_part(parted, "return 2 + 2;") == ["4.1", "4.2", "4.3", "5.1", "5.2"]
    for part in range(1, 4):
        assert b"void app(int);" in parts.tree(chapter_of(parted, 4), part)["app.h"]
    assert_starters_hold(parted)


def test_an_author_edits_one_part_and_the_rest_follows(hotpath: Hotpath, parted: Path) -> None:
    shutil.rmtree(parted / "build/parts")
    reported = hotpath("sync", "4", "--edit", "2", root=parted)
    assert "build/parts/04-d/2-six" in reported.stdout and "sync 4 --part 2" in reported.stdout
    file = parted / "build/parts/04-d/2-six/a.cpp"
    edit(file, "return 3;", "return 1 + 2;")
    done = hotpath("sync", "4", "--part", "2", root=parted)
    assert done.returncode == 0 and "chapters/04-d/parts/2-six.patch" in done.stdout, done.stderr
    assert at_each_part(parted, "return 1 + 2;") == ["4.2", "4.3", "5.1", "5.2"]
    assert at_each_part(parted, "return 2 + 3;") == ["4.3", "5.1", "5.2"]
    assert_starters_hold(parted)
    repeated = hotpath("sync", "4", "--part", "2", root=parted)
    assert "Nothing to carry" in repeated.stdout
    edit(file, "return 6;", "return 9;")
    kept = hotpath("sync", "4", "--edit", "2", root=parted)
    assert ".hotpath/backup/04-d-2-six" in kept.stdout and "return 6;" in file.read_text()


def test_edit_of_the_first_part_resumes_after_a_conflict(parted: Path) -> None:
    edit(parted / "build/parts/04-d/1-five/a.cpp", "return 5;", "return 4 + 1;")
    with pytest.raises(UserError, match="solutions/04-d/a.cpp needs a decision"):
        Sync(parted).run_part(chapter_of(parted, 4), 1)
    resolve(conflict_of(parted))
    Sync(parted).resume()
    assert at_each_part(parted, "return 4 + 1;") == ["4.1", "4.2"]
    assert at_each_part(parted, "return 2 + 3;") == ["4.3", "5.1", "5.2"]
    assert_starters_hold(parted)


def test_sync_that_cannot_start_is_refused(hotpath: Hotpath, parted: Path) -> None:
    assert_refused(hotpath("sync", "4", "--part", "3", root=parted), "its tree is the solution",
                   "edit solutions/04-d")
    assert_refused(hotpath("sync", "--edit", "3", root=parted), "--edit 3 needs a chapter")
    shutil.rmtree(parted / "build/parts")
    assert_refused(hotpath("sync", "4", "--part", "2", root=parted),
                   "there is no tree in build/parts/04-d/2-six", "sync 4 --edit 2")


def test_sync_without_its_work_folder_restarts(parted: Path) -> None:
    edit(parted / "solutions/03-c/a.cpp", "return 4;", "return 5 - 1;")
    with pytest.raises(UserError, match="needs a decision"):
        Sync(parted).run()
    shutil.rmtree(parted / "build/sync")
    with pytest.raises(UserError, match="build/sync/04-d/1-five is gone"):
        Sync(parted).resume()
    with pytest.raises(UserError, match="needs a decision"):
        Sync(parted).run()


def test_patches_that_fit_no_tree_are_reported(parted: Path) -> None:
    edit(parted / "chapters/04-d/parts/1-five.patch", "return 2 + 2;", "return 2 + 2;\n mine")
    edit(parted / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    with pytest.raises(UserError, match="the parts of 04-d fit solutions/03-c neither"):
        Sync(parted).run()


def test_a_part_that_was_never_committed_is_refused(parted: Path) -> None:
    git(parted, "rm", "-q", "--cached", "chapters/04-d/parts/1-five.patch")
    git(parted, "commit", "-qm", "state")
    edit(parted / "solutions/01-a/a.cpp", "return 1;", "return 11 - 10;")
    with pytest.raises(UserError, match="1-five.patch is not committed"):
        Sync(parted).run()


# What a reader does with a part.

def test_reset_restores_a_part_with_its_open_todos(hotpath: Hotpath,
                                                   parted: Path) -> None:
    chapter = chapter_of(parted, 5)
    (chapter.starter_dir / "a.cpp").write_text("mine\n")
    done = hotpath("reset", "5", "--part", "2", root=parted)
    assert "is where part 2 begins; your files are in .hotpath/backup/05-e-" in done.stdout
    now = trees.read(chapter.starter_dir)
    assert now["a.cpp"].decode() == "// TODO(5.2)\n" + text(chapter, 1)
    assert b"TODO" not in now["app.h"]
    backup, = (parted / ".hotpath/backup").iterdir()
    assert (backup / "a.cpp").read_text() == "mine\n"
    assert f"back: cp {backup.relative_to(parted)}/* chapters/05-e/" in done.stdout
    repeated = hotpath("reset", "5", "--part", "2", root=parted)
    assert repeated.stdout == "chapters/05-e is where part 2 begins already.\n"
    (chapter.starter_dir / "app.h").unlink()
    without = hotpath("reset", "5", "--part", "1", root=parted)
    assert starters.is_pristine(chapter)
    assert "back: rm chapters/05-e/app.h; cp " in without.stdout


def test_todos_without_their_place_move_to_the_top(parted: Path) -> None:
    chapter = chapter_of(parted, 4)
    file = chapter.starter_dir / "a.cpp"
    edit(file, "    return 4;", "    // TODO(4.2): done\n    // TODO(4.3): as a sum\n"
         "    // of two\n    return 4;")
    starters.write_patch(chapter)
    assert parts.beginning(chapter, 3)["a.cpp"].decode() == (
        "// TODO(4.3): as a sum\n// of two\n// TODO(4.3)\n" + text(chapter, 2))


@pytest.mark.parametrize("chapter, number", [
    (chapter, part.number) for chapter in all_chapters() for part in chapter.parts],
    ids=lambda it: it.name if isinstance(it, Chapter) else str(it))
def test_part_start_has_exactly_the_open_todos(chapter: Chapter,
                                               number: int) -> None:
    def found(tree: trees.Tree) -> list[tuple[str, int, str]]:
        return sorted((name, int(mark[1]), mark[0].strip()) for name, content in tree.items()
                      for mark in re.finditer(rf"TODO\({chapter.number}\.(\d)\).*",
                                              content.decode()))

    assert found(parts.beginning(chapter, number)) == [
        mark for mark in found(starters.starter(chapter)) if mark[1] >= number]


def test_only_todos_in_comments_are_inserted(parted: Path) -> None:
    chapter = chapter_of(parted, 5)
    edit(chapter.starter_dir / "app.h", "void app();", "void app();  // TODO(5.2): more")
    edit(chapter.starter_dir / "a.cpp", "int one() {", "int stub();  // TODO(5.2)\nint one() {")
    (chapter.starter_dir / "given.h").write_text("// TODO(5.2): given\nint given();\n")
    (chapter.starter_dir / "early.h").write_text("// TODO(5.1): given\nint early();\n")
    starters.write_patch(chapter)
    tree = parts.beginning(chapter, 2)
    assert set(tree) == {"a.cpp", "app.h", "given.h"}
    assert b"TODO" not in tree["app.h"]
    assert tree["a.cpp"].decode() == "// TODO(5.2)\n" + text(chapter, 1)


def test_a_part_begins_with_the_marks_of_files_that_the_chapter_moves(parted: Path) -> None:
    chapter = chapter_of(parted, 5)
    after_first = text(chapter, 1)
    for directory in (chapter.starter_dir, parts.workplace(chapter, chapter.parts[0]),
                      chapter.solution_dir):
        (directory / "http").mkdir()
        (directory / "a.cpp").rename(directory / "http/a.cpp")
    starters.write_patch(chapter)
    parts.write_patches(chapter)
    assert "rename to http/a.cpp" in parts.patch_file(chapter, chapter.parts[0]).read_text()
    tree = parts.beginning(chapter, 2)
    assert set(tree) == {"app.h", "http/a.cpp"}
    assert tree["http/a.cpp"].decode() == "// TODO(5.2)\n" + after_first
    assert starters.check_rule(chapter) == []


def test_diff_of_a_part_shows_its_changes(hotpath: Hotpath, parted: Path) -> None:
    shown = [hotpath("diff", "4", "--part", str(k), "--anyway", root=parted).stdout for k in (1, 2, 3)]
    assert "--- 03-c/a.cpp\n+++ 1-five/a.cpp" in shown[0] and "+    return 5;" in shown[0]
    assert "--- 1-five/a.cpp\n+++ 2-six/a.cpp" in shown[1] and "+int five" not in shown[1]
    assert "--- 2-six/a.cpp\n+++ 04-d/a.cpp" in shown[2] and "-    return 5;" in shown[2]
    assert "1 file changed" in hotpath("diff", "4", "--part", "1", "--stat", root=parted).stdout
    hotpath("reset", "5", "--part", "2", root=parted)
    mine = hotpath("diff", "5", "--part", "2", "--mine", root=parted)
    assert mine.stdout == "chapters/05-e is still where part 2 begins.\n"
    edit(parted / "chapters/05-e/a.cpp", "// TODO(5.2)", "// mine")
    mine = hotpath("diff", "5", "--part", "2", "--mine", root=parted)
    assert "-// TODO(5.2)\n+// mine" in mine.stdout


def test_hint_is_for_the_reached_part(hotpath: Hotpath, parted: Path) -> None:
    def reported(*arguments: str) -> str:
        return hotpath("hint", "4", *arguments, root=parted).stdout

    first, second = reported(), reported()
    assert "part 1 of 04-d: About five" in first and "a hint for five" in first
    assert "hint 4 --part 1" in first
    assert "more about five" in second and "solution 4 --part 1 --anyway" in second
    (parted / ".hotpath/progress.json").write_text('{"04-d": {"part": 2}}')
    assert "a hint for six" in reported() and "more about six" in reported()
    assert "a hint for sums" in reported("--part", "3")
    assert "a hint for five" in reported("--part", "1", "--level", "1")
    (parted / ".hotpath/progress.json").write_text('{"04-d": {"part": 4}}')
    done = reported()
    assert "All parts of 04-d hold" in done and "check 4\n" in done
    assert "a hint for sums" in reported("--level", "1")


def test_solution_of_a_part_needs_the_next_part_reached(hotpath: Hotpath,
                                                        parted: Path) -> None:
    assert_refused(hotpath("solution", "5", "--part", "1", root=parted),
                   "not passed part 1 of 05-e yet", "solution 5 --part 1 --anyway")
    progress_file = parted / ".hotpath/progress.json"
    progress_file.parent.mkdir()
    progress_file.write_text('{"05-e": {"part": 2}}')
    assert "+    return 7;" in hotpath("solution", "5", "--part", "1", root=parted).stdout
    assert_refused(hotpath("solution", "5", "--part", "2", root=parted), "not passed part 2")
    anyway = hotpath("solution", "5", "--part", "2", "--anyway", root=parted).stdout
    assert "+    return 8;" in anyway and "+    return 7;" not in anyway
    edit(parted / "chapters/05-e/a.cpp", "// TODO(5.2)", "// mine")
    assert "part 2 of 2" in hotpath("list", root=parted).stdout
    rows = json.loads(hotpath("list", "--json", root=parted).stdout)
    assert [(row["part"], row["parts"]) for row in rows if row["chapter"] in ("04-d", "05-e")] == [
        (None, 3), (2, 2)]
    progress_file.write_text('{"05-e": {"part": 3}}')
    assert "all 2 parts" in hotpath("list", root=parted).stdout


@pytest.mark.parametrize("verb", ["reset", "diff", "solution", "hint"])
def test_unknown_part_lists_the_known_ones(hotpath: Hotpath, parted: Path,
                                           verb: str) -> None:
    assert_refused(hotpath(verb, "4", "--part", "4", root=parted), "04-d has no part 4",
                   "1, About five")
    assert_refused(hotpath(verb, "1", "--part", "1", root=parted), "01-a has no parts")
