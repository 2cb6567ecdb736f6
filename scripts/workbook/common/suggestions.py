"""Finds the known names that a mistyped name may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

SIMILAR = 0.6
READ = 100  # characters that are compared; none of our names is longer


def nearest_first(asked: str, known: Iterable[str]) -> list[str]:
    """Returns the known names: first those similar to `asked`, the most similar first, then the
    others in their order.
    """
    names = list(known)
    near = similar(asked, names)
    return near + [name for name in names if name not in near]


def similar(asked: str, known: Iterable[str]) -> list[str]:
    """Returns the known names that are similar to `asked`, the most similar first."""
    likeness = {name: _likeness(asked[:READ].lower(), name) for name in known}
    return sorted((name for name, degree in likeness.items() if degree >= SIMILAR),
                  key=lambda name: -likeness[name])


def _likeness(asked: str, name: str) -> float:
    """Returns the similarity, 0 to 1. A name like behaviour.cuts also matches by its last word."""
    if not asked or asked in name:
        return float(bool(asked))
    words = {name, name.rpartition(".")[2], name.partition("-")[2]}
    return max(SequenceMatcher(None, asked, word).ratio() for word in words)


def shortened(asked: str) -> str:
    """Returns the typed text as one line that is safe to print, shortened for a message."""
    kept = "".join(letter if letter.isprintable() else
                   letter.encode("unicode_escape").decode() for letter in asked[:READ])
    return kept if len(asked) <= READ else f"{kept} …"
