"""Checks that a page's claims about speed name the figures that support them.

Whether a sentence gives a cause can't be recognised by its words. But a sentence that calls
something faster can be, and so can a number that was typed, and a figure of a run that had errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from preprocessor import results
from preprocessor.errors import DirectiveError

COMPARED = re.compile(r"\b(?:faster|slower|quicker|cheaper|dearer)\b")
TYPED = re.compile(r"\d[\d,.]*\s*(?:µs|requests a second|instructions)\b")
NAMED = re.compile(r"\{\{#figure |\bwe (?:think|expect)\b", re.I)
SHOWN = re.compile(r"\{\{#(?:table|chart|curve|latency) ")  # in the block before or after the claim
DIRECTIVE = re.compile(r"\{\{.*?\}\}")
RATE = re.compile(r"\b(\w+):(servers\.[\w-]+\.phases\.[\w-]+)\.requests_per_second\b")


def unproved(text: str, directory: Path) -> Iterator[tuple[int, str]]:
    """Yields each claim that names no result, with its line. `directory` has the results."""
    blocks = [(0, ""), *_blocks(text), (0, "")]
    for (_, before), (line, block), (_, after) in zip(blocks, blocks[1:], blocks[2:]):
        prose = DIRECTIVE.sub("", block)
        if found := TYPED.search(prose):
            yield line, f"“{found[0]}” is typed; a measured number is a {{{{#figure}}}}"
        if not NAMED.search(block) and not SHOWN.match(before) and not SHOWN.match(after):
            for sentence in re.split(r"(?<=[.?!:])\s", prose):
                if (found := COMPARED.search(sentence)) and not sentence.rstrip().endswith("?"):
                    yield line, (f"“{found[0]}” names no result: no figure, no table beside it, "
                                 "no “we think”")
    yield from _of_failed_runs(text, directory)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yields the text between blank lines, with the number of its first line; skips fences."""
    text = re.sub(r"^(`{3,}).*?^\1$", lambda fence: "\n" * fence[0].count("\n"), text,
                  flags=re.M | re.S)
    for found in re.finditer(r"(?:^.*\S.*(?:\n|\Z))+", text, re.M):
        yield text.count("\n", 0, found.start()) + 1, found[0].strip()


def _of_failed_runs(text: str, directory: Path) -> Iterator[tuple[int, str]]:
    """Yields the figures of runs with errors, unless their section also shows the errors."""
    borders = [0, *(heading.start() for heading in re.finditer(r"^#+ ", text, re.M)), len(text)]
    for start, end in pairwise(borders):
        for file, run in dict.fromkeys(RATE.findall(text[start:end])):
            if f"{file}:{run}.errors." not in text[start:end] and _failed(directory, file, run):
                line = text.count("\n", 0, text.index(f"{file}:{run}.", start)) + 1
                yield line, f"{file}:{run} had errors, and this section does not name them"


def _failed(directory: Path, file: str, run: str) -> bool:
    try:
        recorded = results.load(directory / f"{file}.json")
        return any(results.look_up(recorded, f"{run}.errors").values())
    except DirectiveError:
        return False  # the figure directive itself will be rejected
