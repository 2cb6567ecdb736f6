"""Verdicts on figures that have, or could have, a budget in the chapter's [cost]."""

from __future__ import annotations

from dataclasses import replace

from workbook.checks.model import Check, Status, Verdict
from workbook.common.errors import UserError
from workbook.course.chapters import Chapter


def verdict(check: Check, chapter: Chapter, value: float, detail: str = "") -> Verdict:
    """Returns the verdict on a figure, followed by `detail`; only information without a budget."""
    article = "an" if check.per[0] in "aeiou" else "a"
    measured = f"{number(value)} {check.unit} {article} {check.per}{detail}"
    found = Verdict(check.name, "info", f"{measured} (no budget in this chapter)",
                    figures={"value": value, "budget": None}, measured=measured)
    budget = chapter.cost.get(check.key)
    return found if budget is None else against(found, budget)


def against(found: Verdict, budget: float) -> Verdict:
    """Returns the verdict by another budget; unchanged if it has no figure."""
    if not found.measured:
        return found
    status: Status = "pass" if found.figures["value"] <= budget else "fail"
    return replace(found, status=status, figures={**found.figures, "budget": budget},
                   summary=f"{found.measured}, budget {number(budget)}")


def missing(check: Check, chapter: Chapter, error: UserError | OSError) -> Verdict:
    """Returns a verdict with `error` instead of a figure: a failure if there is a budget."""
    message = error.message if isinstance(error, UserError) else str(error)
    status: Status = "fail" if check.key in chapter.cost else "info"
    return Verdict(check.name, status, message.splitlines()[0], message)


def number(value: float) -> str:
    return f"{round(value, 2):,g}" if value < 1000 else f"{value:,.0f}"
