"""The defects of the published steps, planted in chapter 8: each has its place on the page. That
its case catches it is tried with the other planted mistakes, in test_gate.py.
"""

from __future__ import annotations

import re

import pytest

from workbook.authors.wrong import SHOWN
from workbook.common.errors import UserError
from workbook.common.paths import BOOK
from workbook.course.chapters import find
from workbook.servers import defects

PAGE = BOOK / "src" / "part2" / "fast-wrong-answer.md"


def test_page_shows_every_defect() -> None:
    page = PAGE.read_text(encoding="utf-8")
    reported = re.findall(r"^Run it: `--wrong ([\w-]+)`; caught by `([\w/.-]+)`\.$", page, re.M)
    assert reported == [(name, defect.case.removesuffix("@sanitizers"))
                        for name, defect in defects.known().items()]
    assert set(SHOWN) == set(defects.known())


def test_every_patch_of_a_defect_is_listed() -> None:
    folders = {defect.patch.parent for defect in defects.known().values()}
    patches = [patch.stem for folder in folders for patch in folder.glob("*.patch")]
    assert sorted(patches) == sorted(defect.patch.stem for defect in defects.known().values())
    assert patches


def test_an_unknown_defect_is_refused() -> None:
    with pytest.raises(UserError, match="no defect “gone”") as refused:
        defects.find("gone")
    assert "length-with-trailing-junk-accepted" in refused.value.fix


def test_a_chapter_without_defects_names_the_one_that_has_them() -> None:
    with pytest.raises(UserError, match="01-naive has no server with a defect") as refused:
        defects.of_chapter(find("1"), "length-with-trailing-junk-accepted")
    assert "run 8 --wrong length-with-trailing-junk-accepted" in refused.value.fix
