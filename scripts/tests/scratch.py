"""Scratch repositories of tiny checkpoints, to try what must not be tried on the real ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

from workbook import starters
from workbook.chapters import all_chapters

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


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments],
                   cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "state")


def make_tiny(root: Path) -> Path:
    """Three checkpoints and a lab of two files each; starters have one stub."""
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


def make_checkpoint(root: Path, name: str, text: str) -> None:
    for directory in (root / "solutions" / name, root / "chapters" / name):
        directory.mkdir(parents=True)
        (directory / "a.cpp").write_text(text)
        (directory / "app.h").write_text("// the application\nvoid app();\n")
    (root / "chapters" / name / "chapter.toml").write_text(TOML)


def edit(file: Path, old: str, new: str) -> None:
    before = file.read_text()
    assert old in before
    file.write_text(before.replace(old, new))
