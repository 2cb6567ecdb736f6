"""How the pages are written: sentences that can be read once, and one form of negation a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from workbook.common.paths import BOOK

PAGES = sorted(str(page.relative_to(BOOK / "src")) for page in (BOOK / "src").rglob("*.md"))
MAX_WORDS = 50  # in a sentence
MAX_FIGURES = 3  # in a paragraph; more belong into a table or a picture
# Pages in their first form, with the number of paragraphs that have more: it may only fall.
CROWDED = {"beyond/past-one-machine.md": 1, "labs/thread-pool.md": 1, "part2/in-a-box.md": 1,
           "part3/11-hot-files.md": 3, "part3/12-streaming.md": 1, "part3/13-overload.md": 2}
MAX_HEDGES = 10  # in the book: what isn't known is measured, dropped, or called unknown

FENCE = re.compile(r"^(`{3,}).*?^\1$", re.M | re.S)
HEDGE = re.compile(r"\b(?:we (?:think|believe|suspect|guess)|probably|presumably|it seems|perhaps|"
                   r"may well)\b", re.IGNORECASE)
NOT_PROSE = re.compile(r"^(?:\{\{.*\}\}|[|#>].*)$", re.M)
SENTENCE = re.compile(r"(?<=[.!?:;])[)*”]*\s+(?=[(*“]*[A-Z`])")
FULL = re.compile(r"\b(?:is|are|was|were|does|do|did|has|have|would|could|should) not\b(?! only)|"
                  r"\bcannot\b")
CONTRACTED = re.compile(r"\b(?:is|are|was|were|does|do|did|has|have|would|could|should|ca)n[’']t\b")


def prose(text: str) -> str:
    """The text without code, figures, tables, headings and quotations."""
    text = NOT_PROSE.sub("", FENCE.sub("", text))
    text = re.sub(r"\{\{#figure [^}]*\}\}", "7", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`[^`]*`", "`code`", text)


def sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n|^(?:\d+\.|[-*]) ", prose(text), flags=re.M):
        yield from SENTENCE.split(" ".join(paragraph.split()))


def page(name: str) -> str:
    return (BOOK / "src" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_no_sentence_is_too_long(name: str) -> None:
    too_long = [sentence for sentence in sentences(page(name))
                if len(re.findall(r"[\w’'-]+", sentence)) > MAX_WORDS]
    assert not too_long


@pytest.mark.parametrize("name", PAGES)
def test_page_contracts_all_its_negations_or_none(name: str) -> None:
    text = prose(page(name))
    mixed = FULL.findall(text) if CONTRACTED.search(text) else []
    assert not mixed


@pytest.mark.parametrize("name", PAGES)
def test_no_paragraph_has_too_many_figures(name: str) -> None:
    crowded = [paragraph for paragraph in re.split(r"\n\s*\n", FENCE.sub("", page(name)))
               if not paragraph.lstrip().startswith("|")
               and paragraph.count("{{#figure") > MAX_FIGURES]
    assert len(crowded) == CROWDED.get(name, 0), crowded


@pytest.mark.parametrize("name", PAGES)
def test_no_section_appears_twice(name: str) -> None:
    headings = re.findall(r"^## .+", FENCE.sub("", page(name)), re.MULTILINE)
    assert not {heading for heading in headings if headings.count(heading) > 1}


def test_hedges_are_rare() -> None:
    found = [hedge[0] for name in PAGES for hedge in HEDGE.finditer(prose(page(name)))]
    assert len(found) <= MAX_HEDGES, found


@pytest.mark.parametrize(("text", "count"), [
    ("One. Two: three is lower case.", 2), ("- One\n- Two\n\n1. Three", 3),
    ("```text\nIs not. Prose.\n```\n\nBut this is.", 1), ("It’s in `a. B` here.", 1),
])
def test_prose_is_split_into_sentences(text: str, count: int) -> None:
    assert len([sentence for sentence in sentences(text) if sentence.strip()]) == count
