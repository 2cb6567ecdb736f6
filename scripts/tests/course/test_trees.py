"""Trees of sources: read, written, patched and merged, with files in folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scratch import commit, git

from workbook.course import trees

PARSER = b"".join(b"int parse_%d(int x) { return x + %d; }\n" % (i, i) for i in range(12))
TREE = {"CMakeLists.txt": b"add_executable(server main.cpp)\n", "main.cpp": b"int main() {}\n",
        "http/parser.cpp": PARSER}


def moved_to(path: str, tree: trees.Tree = TREE, old: str = "http/parser.cpp") -> trees.Tree:
    return {path if name == old else name: content for name, content in tree.items()}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    trees.write(TREE, tmp_path / "a")
    assert trees.read(tmp_path / "a") == TREE
    assert list(trees.read(tmp_path / "a")) == sorted(TREE)
    assert trees.read(tmp_path / "missing") == {}


def test_a_chapters_own_data_and_builds_are_no_sources(tmp_path: Path) -> None:
    trees.write(TREE, tmp_path)
    for path in ("chapter.toml", "starter.patch", "bench.cpp", "parts/1-a.patch", "main.cpp~",
                 "mutants/1-a/behaviour.a.patch", "build/release/x.cpp", ".cache/y.cpp",
                 "http/.parser.cpp.swp"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("not a source")
    assert trees.read(tmp_path) == TREE
    trees.write({}, tmp_path)
    assert (tmp_path / "build/release/x.cpp").exists() and (tmp_path / "parts/1-a.patch").exists()
    assert trees.read(tmp_path) == {} and not (tmp_path / "main.cpp").exists()


@pytest.mark.parametrize("name", [
    "#main.cpp#", ".#main.cpp", "main.cpp~", "main.cpp.orig", "main.cpp.rej", ".main.cpp.swp",
    "main.cpp.swp", "4913", "main.cpp.bak", "main.cpp___jb_tmp___", "main_BACKUP_12.cpp",
    "main_LOCAL_12.cpp", "flycheck_main.cpp", "main_flymake.cpp", ".DS_Store", ".idea"])
def test_files_of_editors_are_no_sources(tmp_path: Path, name: str) -> None:
    trees.write(TREE, tmp_path)
    for folder in (tmp_path, tmp_path / "http"):
        if name.startswith(".#"):
            (folder / name).symlink_to("user@host.1234:5")  # Emacs's lock leads nowhere
        else:
            (folder / name).write_text("not a source")
    assert trees.read(tmp_path) == TREE
    trees.write(TREE, tmp_path)
    assert os.path.lexists(tmp_path / name)


@pytest.mark.parametrize("name", ["original.cpp", "swap.h", "base.h", "x#.cpp", "rejected.cpp",
                                  "main_4913.cpp", "backup.cpp"])
def test_similar_names_are_sources(name: str) -> None:
    assert trees.is_source(name) and trees.is_source(f"{name.partition('.')[0]}/a.cpp")


def test_an_empty_folder_is_removed(tmp_path: Path) -> None:
    trees.write(TREE, tmp_path)
    trees.write(moved_to("net/parser.cpp"), tmp_path)
    assert not (tmp_path / "http").exists() and (tmp_path / "net/parser.cpp").exists()


def test_a_commit_is_read_with_its_folders(tmp_path: Path) -> None:
    trees.write(TREE, tmp_path / "solutions/09-a")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    (tmp_path / "solutions/09-a/main.cpp").write_text("changed")
    assert trees.read_commit(tmp_path, "HEAD", "solutions/09-a") == TREE
    assert trees.read_commit(tmp_path, "HEAD", "solutions/10-b") == {}


def test_a_patch_leads_from_one_tree_to_the_other_and_back() -> None:
    new = {**moved_to("net/parser.cpp"), "http/new.h": b"#pragma once\n", "main.cpp": b"int x;"}
    patch = trees.diff(TREE, new)
    assert b"+++ b/net/parser.cpp" in patch and b"index " not in patch
    assert trees.apply(TREE, patch) == new
    assert trees.apply(new, patch, "-R") == TREE
    with pytest.raises(ValueError, match="http/parser.cpp"):
        trees.apply(moved_to("files/parser.cpp"), patch)


def test_a_kept_patch_shows_a_move_as_one() -> None:
    old = {**TREE, "parser.cpp": PARSER.replace(b"parse", b"other")}
    new = {**moved_to("net/parser.cpp", old), "net/parser.cpp": PARSER.replace(b"+ 7", b"+ 70")}
    new["http/other.cpp"] = new.pop("parser.cpp")
    kept = trees.patch(old, new).decode()
    assert "rename from http/parser.cpp\nrename to net/parser.cpp\n" in kept
    assert kept.count("rename to ") == 2 and kept.count("\n@@ ") == 1 and "deleted" not in kept
    assert trees.apply(old, kept.encode()) == new
    assert trees.apply(new, kept.encode(), "-R") == old


@pytest.mark.parametrize("ours, theirs", [
    (moved_to("net/parser.cpp"), {**TREE, "http/parser.cpp": PARSER.replace(b"+ 7", b"+ 70")}),
    ({**TREE, "http/parser.cpp": PARSER.replace(b"+ 7", b"+ 70")}, moved_to("net/parser.cpp")),
])
def test_a_change_follows_a_file_that_moved(ours: trees.Tree, theirs: trees.Tree) -> None:
    merged = trees.merge(TREE, ours, theirs)
    assert merged.conflicts == []
    assert merged.tree == {**moved_to("net/parser.cpp"),
                           "net/parser.cpp": PARSER.replace(b"+ 7", b"+ 70")}


def test_both_changes_of_a_file_are_merged() -> None:
    ours = {**TREE, "http/parser.cpp": PARSER.replace(b"+ 1;", b"+ 10;"), "ours.h": b"1\n"}
    theirs = {**TREE, "http/parser.cpp": PARSER.replace(b"+ 9;", b"+ 90;"), "theirs.h": b"2\n"}
    both = PARSER.replace(b"+ 1;", b"+ 10;").replace(b"+ 9;", b"+ 90;")
    merged = trees.merge(TREE, ours, theirs)
    assert merged.tree == {**ours, **theirs, "http/parser.cpp": both} and not merged.conflicts


def test_a_conflict_has_markers_with_the_names_of_the_sides() -> None:
    ours, theirs = ({**TREE, "http/parser.cpp": PARSER.replace(b"+ 5;", value)}
                    for value in (b"+ 50;", b"+ 55;"))
    merged = trees.merge(TREE, ours, theirs, ("this checkpoint", "the change"))
    assert merged.conflicts == ["http/parser.cpp"] and merged.left_out == []
    text = merged.tree["http/parser.cpp"].decode()
    assert "<<<<<<< this checkpoint\n" in text and ">>>>>>> the change\n" in text
    assert "+ 50;" in text and "+ 55;" in text


def test_a_change_of_a_removed_file_is_a_conflict_that_names_the_side() -> None:
    changed = {**TREE, "main.cpp": b"int main() { return 1; }\n"}
    without = {path: content for path, content in TREE.items() if path != "main.cpp"}
    removed_by_us = trees.merge(TREE, without, changed)
    assert removed_by_us.conflicts == removed_by_us.left_out == ["main.cpp"]
    removed_by_them = trees.merge(TREE, changed, without)
    assert removed_by_them.conflicts == ["main.cpp"] and removed_by_them.left_out == []
    assert removed_by_them.tree == removed_by_us.tree == changed


def test_bytes_that_are_no_text_and_odd_names_survive_a_merge() -> None:
    odd = {**TREE, "a file.h": b"\0\xff\r\n", "f\u00fc\u00df.h": b"no line feed"}
    merged = trees.merge(TREE, odd, {**TREE, "main.cpp": b"int main() { return 1; }\n"})
    assert merged.tree == {**odd, "main.cpp": b"int main() { return 1; }\n"}


def test_moves_are_found_by_content() -> None:
    new = moved_to("net/parse.cpp", {**TREE, "http/parser.cpp": PARSER.replace(b"+ 7", b"+ 70")})
    assert trees.moved(TREE, new) == {"http/parser.cpp": "net/parse.cpp"}
    assert trees.moved(TREE, TREE) == {}


def test_moves_are_found_by_name_if_the_content_is_another() -> None:
    new = {**moved_to("net/parser.cpp"), "net/parser.cpp": b"// written anew\n"}
    assert trees.moved(TREE, new) == {"http/parser.cpp": "net/parser.cpp"}
    twice = {**new, "files/parser.cpp": b"another\n"}
    assert trees.moved_by_name(TREE, twice) == {}


def test_a_change_follows_a_file_that_moved_and_is_another_since() -> None:
    """As in chapters that were written anew in much of it: git alone would not know the file."""
    lines = b"".join(b"int other_%d();\n" % i for i in range(40))
    ours = {**moved_to("net/parser.cpp"), "net/parser.cpp": PARSER[:200] + lines}
    theirs = TREE | {"http/parser.cpp": b"// a fix\n" + PARSER}
    merged = trees.merge(TREE, ours, theirs)
    assert merged.tree["net/parser.cpp"].startswith(b"// a fix\n")
    assert "http/parser.cpp" not in merged.tree


def test_a_file_of_any_folder_is_found_by_its_name(tmp_path: Path) -> None:
    known = ["a.h", "net/b.h", "net/c.h", "http/c.h"]
    assert [trees.find(known, name) for name in ("a.h", "b.h", "c.h", "x/b.h", "http/c.h")] == [
        "a.h", "net/b.h", "c.h", "net/b.h", "http/c.h"]
    trees.write(TREE, tmp_path)
    assert trees.source(tmp_path, "parser.cpp") == tmp_path / "http/parser.cpp"
    assert trees.folders(tmp_path) == [tmp_path, tmp_path / "http"]
