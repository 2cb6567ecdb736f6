"""The defects of the published steps, planted in chapter 8: each has its case, and its place on the
page.
"""

from __future__ import annotations

import re

import programs
import pytest

from workbook.authors.wrong import SHOWN
from workbook.checks.behaviour import cases, suite
from workbook.common.errors import UserError
from workbook.common.paths import BOOK
from workbook.course import wrong

LEVEL = 8
# What is freed mostly has its bytes still: a sanitizer sees what the answer shows by chance.
UNDER_SANITIZERS = ("views-of-freed-memory",)
PAGE = BOOK / "src" / "part2" / "fast-wrong-answer.md"


@pytest.mark.timeout(900)
def test_the_case_that_the_page_names_catches_each_defect() -> None:
    """One copy, in which only what differs is compiled."""
    known = {case.name: case for case in cases.select(LEVEL)}
    missed = []
    for name, case in wrong.CAUGHT_BY.items():
        preset = "asan" if name in UNDER_SANITIZERS else "measure"
        server = programs.aside("wrong", wrong.sources(name), preset, lean=True)
        if suite.run(server, [known[case]], LEVEL).ok:
            missed.append(name)
    assert not missed


def test_the_page_shows_every_defect() -> None:
    page = PAGE.read_text(encoding="utf-8")
    reported = re.findall(r"^Run it: `--wrong ([\w-]+)`; caught by `([\w/.-]+)`\.$", page, re.M)
    assert reported == list(wrong.CAUGHT_BY.items())
    assert set(SHOWN) == set(wrong.CAUGHT_BY)
    assert sorted(wrong.CAUGHT_BY) == sorted(file.stem for file in wrong.PATCHES.glob("*.patch"))


def test_an_unknown_defect_is_refused() -> None:
    with pytest.raises(UserError, match="no defect “gone”") as refused:
        wrong.sources("gone")
    assert "five-abc" in refused.value.fix
