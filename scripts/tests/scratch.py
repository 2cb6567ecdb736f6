"""Scratch repositories of tiny checkpoints, for tests that must not touch the real ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from workbook.common.paths import ROOT
from workbook.course import parts, starters, trees
from workbook.course.chapters import Chapter, all_chapters

TOML = """title = "T"
minutes = 1
edit = ["a.cpp"]
page = "p.md"
level = 1
platforms = ["linux"]
starter_fails = []
solution = "The *idea* of it."
[[hint]]
text = "the first hint"
[[hint]]
text = "the second hint"
[[hint]]
text = "the third hint"
"""

LAB_TOML = """kind = "lab"
lab = {counted = "a", timed = "b", validated = ["memory"]}
"""

FIRST = """int one() {
    return 1;
}


int two() {
    return 2;
}


int three() {
    return 3;
}
"""
SECOND = FIRST.replace("return 2;", "return 1 + 1;")
THIRD = SECOND + "\n\nint four() {\n    return 4;\n}\n"

# A fourth checkpoint in three parts, and a fifth in two. Each part adds a function, except the
# third of the fourth checkpoint, which only changes one.
FOURTH = THIRD.replace("return 4;", "return 2 + 2;")
PARTS = {
    "04-d": (("five", FOURTH + "\n\nint five() {\n    return 5;\n}\n"),
             ("six", FOURTH + "\n\nint five() {\n    return 5;\n}\n"
              "\n\nint six() {\n    return 6;\n}\n"),
             ("sums", FOURTH + "\n\nint five() {\n    return 2 + 3;\n}\n"
              "\n\nint six() {\n    return 6;\n}\n")),
}
PARTS["05-e"] = (("seven", PARTS["04-d"][2][1] + "\n\nint seven() {\n    return 7;\n}\n"),
                 ("eight", PARTS["04-d"][2][1] + "\n\nint seven() {\n    return 7;\n}\n"
                  "\n\nint eight() {\n    return 8;\n}\n"))
PART_TOML = """
[[part]]
name = "{name}"
title = "About {name}"
edit = ["a.cpp"]
checks = ["behaviour.{check}"]
anchor = "#{name}"
[[part.hint]]
text = "a hint for {name}"
[[part.hint]]
text = "more about {name}"
"""
PART_CHECKS = {"five": "framing", "six": "limits", "sums": "bodies",
               "seven": "cuts", "eight": "smuggling"}


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments],
                   cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "state")


def take_today(root: Path) -> None:
    """Replace a repository's files by those of ours, committed or not."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"],
                            check=True, capture_output=True).stdout.decode()
    git(root, "rm", "-r", "--quiet", ".")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)


def make_tiny(root: Path) -> Path:
    """Make three checkpoints and a lab of two files each; starters have one stub."""
    for name, text in (("01-a", FIRST), ("02-b", SECOND), ("03-c", THIRD), ("lab-x", FIRST)):
        make_checkpoint(root, name, text)
    stubs = {"01-a": FIRST.replace("return 2;", "return 0;  // TODO(1)"),
             "02-b": FIRST.replace("return 2;", "return 2;  // TODO(2): add"),
             "03-c": SECOND + "\n// TODO(3): four\n",
             "lab-x": FIRST.replace("return 3;", "return 0;  // TODO(lab-x)")}
    for chapter in all_chapters(root / "chapters"):
        (chapter.starter_dir / "a.cpp").write_text(stubs[chapter.name])
        starters.write_patch(chapter)
    git(root, "init", "-q")
    commit(root)
    return root


def make_parted(root: Path) -> Path:
    """The same, with a fourth checkpoint in three parts and a fifth in two."""
    make_tiny(root)
    for name, steps in PARTS.items():
        make_checkpoint(root, name, steps[-1][1])
        toml = root / "chapters" / name / "chapter.toml"
        toml.write_text(TOML.partition("[[hint]]")[0] + "".join(
            PART_TOML.format(name=part, check=PART_CHECKS[part]) for part, _ in steps))
    all_chapters.cache_clear()
    for chapter in all_chapters(root / "chapters"):
        if chapter.parts:
            _make_parts(chapter)
    commit(root)
    return root


def _make_parts(chapter: Chapter) -> None:
    """Make a starter with stubs for the first part and the last, and all patches but the last's.

    The stub of the fourth checkpoint's last part is where earlier parts change the file.
    """
    base, last = parts.tree(chapter, 0), chapter.parts[-1].number
    stub, first = f"// TODO({chapter.number}.{last})\n".encode(), f"TODO({chapter.number}.1)"
    text = base["a.cpp"]
    trees.write({"app.h": f"// {first}\n".encode() + base["app.h"],
                    "a.cpp": text + b"\n" + stub if chapter.number == 4 else stub + text},
                   chapter.starter_dir)
    starters.write_patch(chapter)
    for part in parts.kept(chapter):
        text = PARTS[chapter.name][part.number - 1][1].encode()
        trees.write({**base, "a.cpp": text}, parts.workplace(chapter, part))
    parts.write_patches(chapter)


def make_checkpoint(root: Path, name: str, text: str) -> None:
    for directory in (root / "solutions" / name, root / "chapters" / name):
        directory.mkdir(parents=True)
        (directory / "a.cpp").write_text(text)
        (directory / "app.h").write_text("// the application\nvoid app();\n")
    lab = name.startswith("lab-")
    (root / "chapters" / name / "chapter.toml").write_text(LAB_TOML + TOML if lab else TOML)


def edit(file: Path, old: str, new: str) -> None:
    before = file.read_text()
    assert old in before
    file.write_text(before.replace(old, new))


def resolve(file: Path) -> None:
    """Keep the checkpoint's own side of each conflict."""
    kept, side = [], "both"
    for line in file.read_text().splitlines(keepends=True):
        if line.startswith("<<<<<<< "):
            side = "ours"
        elif line.startswith("======="):
            side = "theirs"
        elif line.startswith(">>>>>>> "):
            side = "both"
        elif side != "theirs":
            kept.append(line)
    file.write_text("".join(kept))
