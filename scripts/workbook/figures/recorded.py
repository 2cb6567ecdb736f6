"""The figures that the book shows: read from book/results and validated."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from workbook.common.errors import UserError
from workbook.common.paths import COMMAND, RESULTS, shown
from workbook.measure import costs
from workbook.measure.load import WRK_ERRORS

LADDER = RESULTS / "ladder.json"
MACHINE = ("cpu", "cores", "memory_gib", "os", "kernel", "compiler", "flags", "commit", "date")
COSTS = (*costs.LABELS, "by_call")
TIMED = re.compile(r"(?:^|_)(?:rps|us|ms|ns|mib_s|p\d\d)(?:_\d+)?$|per_second$|_per_request$")
FIGURES = ("requests_per_second", "p50_ms", "p99_ms", "cpu_us_per_request", "peak_rss_mib")


def significant(number: float, key: str) -> float:
    """Round timed figures to three digits, because more are not reproducible; keep counts exact."""
    if not number or not TIMED.search(key):
        return number
    return round(number, 2 - math.floor(math.log10(abs(number))))


def load(file: Path = LADDER) -> dict[str, Any]:
    """Recorded results; UserError naming the file and the next step if they are damaged."""
    fix = f"git checkout -- {shown(file)}, or measure again: {COMMAND} record"
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no {shown(file)}", fix) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{shown(file)} is damaged: {error}", fix) from None
    validate(results, shown(file), fix)
    return results  # type: ignore[no-any-return]


def validate(results: Any, name: str, fix: str = "") -> None:
    """UserError naming the first thing that is missing or not what it should be."""
    try:
        if results["kind"] != "ladder":
            raise ValueError(f"kind is {results['kind']!r}, not 'ladder'")
        _require(results["machine"], "machine", MACHINE)
        for server, measured in results["servers"].items():
            _require(measured["costs"], f"servers.{server}.costs", COSTS)
            for phase, figures in measured["phases"].items():
                _validate_phase(figures, f"servers.{server}.phases.{phase}")
    except KeyError as error:
        raise UserError(f"{name} is damaged: it lacks {error}", fix) from None
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{name} is damaged: {error}", fix) from None


def _validate_phase(figures: dict[str, Any], where: str) -> None:
    _require(figures, where, (*FIGURES, "rounds", "errors", "reason"))
    _require(figures["errors"], f"{where}.errors", WRK_ERRORS)
    for key in FIGURES:
        if figures[key] is None and not figures["reason"]:
            raise ValueError(f"{where}.{key} has neither a figure nor a reason")
        if figures[key] is not None and not isinstance(figures[key], (int, float)):
            raise ValueError(f"{where}.{key} is not a number")


def _require(table: Any, where: str, keys: tuple[str, ...]) -> None:
    if not isinstance(table, dict):
        raise ValueError(f"{where} is not a table")
    if missing := [key for key in keys if key not in table]:
        raise ValueError(f"{where} lacks {', '.join(missing)}")
