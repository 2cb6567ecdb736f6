"""The finished server with one of the published steps' defects: scripts/wrong/NAME.patch.

Which case of the behaviour checks notices each is in scripts/wrong/caught-by.toml, in the order of
the book's page about them.
"""

from __future__ import annotations

from workbook.common import toml
from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, SCRIPTS, SOLUTIONS, shown
from workbook.course import trees

CHAPTER = "08-allocator-pgo"
PATCHES = SCRIPTS / "wrong"
_LIST = PATCHES / "caught-by.toml"
CAUGHT_BY: dict[str, str] = (toml.loads(_LIST.read_text(encoding="utf-8")) if _LIST.exists()
                             else {})


def sources(name: str) -> trees.Tree:
    """Chapter 8's solution with this defect; UserError if there is none of the name, or its patch
    does not apply.
    """
    if name not in CAUGHT_BY:
        raise UserError(f"there is no defect “{name}”", "use one of: " + ", ".join(CAUGHT_BY))
    patch = PATCHES / f"{name}.patch"
    try:
        return trees.apply(trees.read(SOLUTIONS / CHAPTER), patch.read_bytes())
    except ValueError as error:
        raise UserError(f"{shown(patch)} does not apply:\n{error}",
                        f"plant the defect again in a copy of {shown(SOLUTIONS / CHAPTER)}, "
                        f"and see {COMMAND} sync") from None
