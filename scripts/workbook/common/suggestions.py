"""Which of the known names was meant by an unknown one that was typed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

SIMILAR = 0.6
READ = 100  # characters of what was typed; nothing that we know has a longer name


def nearest_first(asked: str, known: Iterable[str]) -> list[str]:
    """The known names: those that are similar to what was asked, the most similar first, then the
    others in their order.
    """
    names = list(known)
    near = similar(asked, names)
    return near + [name for name in names if name not in near]


def similar(asked: str, known: Iterable[str]) -> list[str]:
    """The known names that are similar to what was asked, the most similar first."""
    likeness = {name: _likeness(asked[:READ].lower(), name) for name in known}
    return sorted((name for name, degree in likeness.items() if degree >= SIMILAR),
                  key=lambda name: -likeness[name])


def _likeness(asked: str, name: str) -> float:
    """From 0 to 1. A name such as behaviour.cuts is also known by the word after its dot."""
    if not asked or asked in name:
        return float(bool(asked))
    words = {name, name.rpartition(".")[2], name.partition("-")[2]}
    return max(SequenceMatcher(None, asked, word).ratio() for word in words)


def shortened(asked: str) -> str:
    """What was typed, as far as a message should repeat it: one line that is safe to print."""
    kept = "".join(letter if letter.isprintable() else
                   letter.encode("unicode_escape").decode() for letter in asked[:READ])
    return kept if len(asked) <= READ else f"{kept} …"
