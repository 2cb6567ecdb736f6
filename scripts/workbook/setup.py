"""What the workbook needs from the system, and how to get it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable


def ensure(needs: Iterable[str]) -> None:
    """Make sure that the named tools are here; silent and fast when they are."""
