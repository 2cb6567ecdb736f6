"""Recorded figures: the files of book/results, looked up and formatted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from preprocessor.errors import DirectiveError
from workbook.common.errors import UserError
from workbook.figures import recorded


@dataclass(frozen=True)
class Figure:
    """A recorded number, or the reason why there is none."""

    number: float | None
    reason: str = ""
    key: str = ""  # its key where it was recorded

    def over(self, other: Figure) -> Figure:
        if self.number is None or other.number is None:
            return Figure(None, self.reason or other.reason)
        if other.number == 0:
            return Figure(None, "it would be divided by nothing")
        return Figure(self.number / other.number)

    def text(self, spec: str = "") -> str:
        """Returns the number in the Python format `spec`; by default whole, or three digits."""
        if self.number is None:
            return f"no figure ({self.reason})"
        try:
            shown = recorded.significant(self.number, self.key)
            return format(shown, spec or _default_format(self.number))
        except ValueError:
            raise DirectiveError(f"not a number format: {spec}") from None


def _default_format(number: float) -> str:
    """About three digits, and no more decimals than were recorded."""
    if float(number).is_integer() or abs(number) >= 100:
        return ",.0f"
    after = len(repr(number).partition(".")[2])
    return f".{min(1 if abs(number) >= 10 else 2, after)}f"


@cache
def load(file: Path) -> dict[str, Any]:
    name = f"book/results/{file.name}"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["kind"] == "ladder":
            recorded.validate(data, name)
        return data  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise DirectiveError(f"there is no {name}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise DirectiveError(f"{name} is damaged: {error}") from None
    except UserError as error:
        raise DirectiveError(error.message) from None


def look_up(data: dict[str, Any], path: str) -> Any:
    """Returns the value at `a.b.c`; raises DirectiveError naming the key that is missing."""
    value: Any = data
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            known = ", ".join(value) if isinstance(value, dict) else "a value, not a table"
            raise DirectiveError(f"no “{key}” in {path}; there is: {known}")
        value = value[key]
    return value


def figure(data: dict[str, Any], path: str) -> Figure:
    """Returns the number at `path`; a null comes with its recorded reason."""
    value = look_up(data, path)
    if value is None:
        where, _, key = path.rpartition(".")
        next_to = look_up(data, where) if where else data
        reason = next_to.get("reason") or next_to.get("skipped", {}).get(key)
        return Figure(None, reason or "not recorded")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DirectiveError(f"{path} is not a number")
    ours = "source" not in data  # published figures are quoted unchanged
    return Figure(value, key=path.rpartition(".")[2] if ours else "")


def evaluate(directory: Path, expression: str) -> str:
    """Evaluates `file:path`, or a ratio of two, with an optional `|format`; keeps text values."""
    operands, _, spec = expression.partition("|")
    names = [operand.strip() for operand in operands.split(" / ")]
    values = [_reference(directory, name) for name in names]
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    figures = [value for value in values if isinstance(value, Figure)]
    if len(figures) != len(values) or len(values) > 2:
        raise DirectiveError(f"not a figure or a ratio of two: {operands.strip()}")
    result = figures[0] if len(figures) == 1 else figures[0].over(figures[1])
    return result.text(spec.strip())


def _reference(directory: Path, name: str) -> Figure | str:
    file, colon, path = name.partition(":")
    if not colon:
        raise DirectiveError(f"a figure is written file:path, not “{name}”")
    data = load(directory / f"{file}.json")
    value = look_up(data, path)
    return value if isinstance(value, str) else figure(data, path)
