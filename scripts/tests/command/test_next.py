"""`next` names the part to work on, and a bare `check` judges that one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Hotpath, assert_refused
from scratch import edit


def remember(root: Path, **chapters: dict[str, Any]) -> None:
    """What earlier checks found; a chapter's name has _ instead of its hyphens."""
    (root / ".hotpath").mkdir(exist_ok=True)
    named = {name.lstrip("c").replace("_", "-"): entry for name, entry in chapters.items()}
    (root / ".hotpath/progress.json").write_text(json.dumps({"version": 2, "chapters": named}))


def begin(root: Path, name: str) -> Path:
    file = root / "chapters" / name / "a.cpp"
    file.write_text(file.read_text() + "// mine\n")
    return file


def following(hotpath: Hotpath, root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(hotpath("next", "--json", root=root).stdout)
    return found


def test_fresh_clone_begins_with_the_first_chapter(hotpath: Hotpath, tiny: Path) -> None:
    shown = hotpath("next", root=tiny).stdout
    assert shown.startswith("01-a, ")
    assert "chapters/01-a/a.cpp:" in shown and "hotpath check 1\n" in shown
    assert "hotpath hint 1\n" in shown and "book/src/" in shown


def test_next_names_the_part_its_check_file_and_page(hotpath: Hotpath, parted: Path) -> None:
    begin(parted, "05-e")
    shown = hotpath("next", root=parted).stdout
    assert shown.startswith("05-e, ") and "part 1 of 2, About seven" in shown
    assert "turn green   behaviour.cuts: " in shown and "book/src/" in shown
    assert "chapters/05-e/a.cpp" in shown and "hotpath check 5 --part 1\n" in shown


def test_check_that_failed_last_comes_before_those_of_later_parts(hotpath: Hotpath,
                                                                  parted: Path) -> None:
    begin(parted, "05-e")
    remember(parted, c05_e={"unmet": ["behaviour.requests", "behaviour.smuggling"], "part": 1})
    step = following(hotpath, parted)
    assert step["failed"] == ["behaviour.requests"]
    assert "failed last  behaviour.requests: " in hotpath("next", root=parted).stdout


def test_chapter_whose_parts_all_hold_is_left_to_be_checked(hotpath: Hotpath,
                                                            parted: Path) -> None:
    begin(parted, "05-e")
    remember(parted, c05_e={"part": 3})
    step = following(hotpath, parted)
    assert step["part"] is None and step["command"] == "./scripts/hotpath check 5"
    assert "all 2 parts hold" in hotpath("next", root=parted).stdout


def test_chapter_that_was_edited_last_is_taken_up(hotpath: Hotpath, parted: Path) -> None:
    first, second = begin(parted, "02-b"), begin(parted, "05-e")
    os.utime(second, (1, 1))
    for name in ("app.h", "a.cpp"):
        os.utime(parted / "chapters/05-e" / name, (1, 1))
    assert following(hotpath, parted)["chapter"] == "02-b"
    for file in first.parent.glob("*.*"):
        os.utime(file, (0, 0))
    assert following(hotpath, parted)["chapter"] == "05-e"


def test_nothing_is_left_when_all_are_passed(hotpath: Hotpath, tiny: Path) -> None:
    names = ("01_a", "02_b", "03_c", "lab_x")
    for name in names:
        begin(tiny, name.replace("_", "-"))
    remember(tiny, **{f"c{name}".replace("clab", "lab"): {"passed": "2026-01-31"}
                      for name in names})
    assert_refused(hotpath("next", root=tiny), "every chapter is passed")


@pytest.mark.parametrize("words, judged", [
    ([], "check 5 --part 1"), (["--part", "2"], "check 5 --part 2"), (["--solution"], "check 5\n"),
    (["--only", "behaviour.cuts"], "check 5\n"),
])
def test_bare_check_takes_up_what_next_names(hotpath: Hotpath, parted: Path, words: list[str],
                                             judged: str) -> None:
    """The scratch repository has nothing that could be built."""
    begin(parted, "05-e")
    assert judged in hotpath("check", *words, root=parted).stderr


def test_list_shows_how_many_parts_hold(hotpath: Hotpath, parted: Path) -> None:
    begin(parted, "05-e")
    remember(parted, c05_e={"part": 2})
    lines = hotpath("list", root=parted).stdout.splitlines()
    assert any("05-e" in line and "●○" in line and "part 2 of 2" in line for line in lines)
    assert any("04-d" in line and "○○○" in line for line in lines)
    labs = next(index for index, line in enumerate(lines) if line.startswith("lab-x"))
    assert not lines[labs - 1].strip()


def test_files_are_named_without_a_line_once_no_mark_is_left(hotpath: Hotpath, tiny: Path) -> None:
    edit(tiny / "chapters/02-b/a.cpp", "// TODO(2): add", "// done")
    files = following(hotpath, tiny)["files"]
    assert files == ["chapters/02-b/a.cpp"]
