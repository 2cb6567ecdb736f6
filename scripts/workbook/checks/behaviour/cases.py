"""The whole table of cases, as the registry assembles it.

Every request that is answered with 200 asks for `Connection: close`, so that the same bytes are
expected from a server that keeps connections alive. A case that only holds for servers that never
keep them alive ends with `until`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from workbook.checks.behaviour import suite
from workbook.checks.behaviour.rows import Case
from workbook.checks.registry import CHECKS
from workbook.course.chapters import SERVER

GROUPS = tuple(check.name for check in CHECKS if check.cases and check.program == SERVER)


@cache
def table() -> tuple[Case, ...]:
    """Returns every case, in the order of the registry."""
    return tuple(case for check in CHECKS if check.cases for case in check.cases())


def select(level: int, checks: Iterable[str] = GROUPS, pattern: str = "*") -> list[Case]:
    """Returns the cases of these checks that hold at a level.

    Raises UserError if the pattern matches none.
    """
    wanted = set(checks)
    return suite.matching([case for case in table() if case.check in wanted], level, pattern)
