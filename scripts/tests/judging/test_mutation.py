"""The judge of the judge: it draws mutants, catches what behaviour can, goes on where it stopped, and
lists who was not caught.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from workbook.authors import mutation
from workbook.authors.mutation import BEHAVES, KILLED, REFUSED, SAME, SURVIVED, Memory, Mutant
from workbook.checks.behaviour import suite
from workbook.common.paths import BUILD, SOLUTIONS

PARSER = mutation.Target("01-naive", files=("http_parser.cpp",))
NAME = "01-naive/http_parser.cpp"
METHOD = 'if (name == "GET") return Method::get;'
SPACE = "c <= 0x20"


def planted() -> list[Mutant]:
    """One of each fate, as long as only the cases of requests are asked."""
    lines = (SOLUTIONS / NAME).read_text(encoding="utf-8").splitlines(keepends=True)

    def change(old: str, new: str) -> Mutant:
        (location,) = [location for location, line in enumerate(lines) if old in line]
        return Mutant("http_parser.cpp", location + 1,
                      lines[location], lines[location].replace(old, new))

    return [change(METHOD, METHOD + " break;"), change(METHOD, METHOD + "  // so"),
            change(METHOD, METHOD.replace("GET", "GOT")), change(SPACE, "c < 0x20")]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(mutation, "WORKSPACE", BUILD / "mutation-test")
    monkeypatch.setattr(mutation, "AT_LEAST", len(planted()))
    monkeypatch.setattr(mutation, "mutants", lambda *_: planted())
    return tmp_path / "verdicts.json"


def fates(memory: Path) -> dict[str, tuple[str, str]]:
    return {mutant.new.strip(): (verdict.outcome, verdict.by) for _, mutant, verdict
            in mutation.judged(PARSER, Memory(memory), "requests/*")}


def test_mutants_are_judged_once_and_remembered(memory: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    found = fates(memory)
    wrong, *others = (found.pop(key) for key in list(found) if "GOT" in key)
    assert not others and wrong[0] == KILLED and wrong[1].startswith("requests/")
    assert sorted(outcome for outcome, _ in found.values()) == [REFUSED, SAME, SURVIVED]
    monkeypatch.setattr(mutation.Bench, "_build", lambda *_: pytest.fail("it was known"))
    assert sorted(fates(memory).values()) == sorted([wrong, *found.values()])


def test_case_that_fails_the_solution_catches_no_mutant(
        memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "requests/page"
    monkeypatch.setattr(suite, "first_failure", lambda _, asked, __:
                        page if page in [case.name for case in asked] else "")
    assert {outcome for outcome, _ in fates(memory).values()} == {REFUSED, SAME, SURVIVED}


def test_surviving_mutants_are_listed() -> None:
    wrong, space = planted()[2:]
    found = [(PARSER, wrong, mutation.Verdict(KILLED, "requests/page")),
             (PARSER, wrong, mutation.Verdict(KILLED, "cost.pieces")),
             (PARSER, space, mutation.Verdict(BEHAVES))]
    row = mutation.rows_of(found, {})["01-naive"]
    assert (row["judged"], row["behaviour"], row["others"], row["missed"]) == (3, 1, 1, 1)
    assert row["percent"] == 66.7
    assert row["survivors"] == [{"file": "http_parser.cpp", "line": space.line,
                                 "old": space.change[0],
                                 "new": space.change[1], "because": ""}]
    every = mutation.rows_of(found, {(NAME, *space.change): "so"})["all"]
    assert (every["equivalent"], every["missed"], every["percent"]) == (1, 0, 100)


def test_mutation_changes_one_line_at_a_time() -> None:
    made = mutation.mutants("a.cpp", "// a + b\nreturn a + b;\n")
    assert {mutant.line for mutant in made} == {2}
    assert "return a - b;\n" in {mutant.new for mutant in made}


def test_explained_survivors_exist_in_the_sources() -> None:
    for (name, old, new), because in mutation.explained().items():
        lines = (SOLUTIONS / name).read_text(encoding="utf-8").splitlines()
        assert old in {" ".join(line.split()) for line in lines}, f"{name} has no {old}"
        assert because and new != old
