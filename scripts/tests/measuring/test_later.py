"""What the later chapters are held against: the floor and chapter 12, in the same round."""

from __future__ import annotations

from pathlib import Path

from workbook.authors import top
from workbook.common.paths import SOLUTIONS
from workbook.course import chapters
from workbook.measure.load import PhaseResult


def results(*us: float) -> list[PhaseResult]:
    return [PhaseResult("plain", cpu_us_per_request=one) for one in us]


def test_every_chapter_from_12_on_is_measured() -> None:
    found = top.later_checkpoints()
    assert found[0] == "12-streaming"
    assert found == sorted(path.name for path in SOLUTIONS.iterdir()
                           if path.name[:2].isdigit() and int(path.name[:2]) >= 12)


def test_a_chapter_that_has_no_solution_yet_is_left_out(tmp_path: Path) -> None:
    last = [c.name for c in chapters.all_chapters() if c.number is not None][-1]
    for name in ("12-streaming", last):
        (tmp_path / name).mkdir()
    assert top.later_checkpoints(tmp_path) == ["12-streaming", last]


def test_ratio_uses_figures_of_the_same_round() -> None:
    found = {("clients", "floor-dated"): results(1, 10, 4),
             ("clients", "floor"): results(1, 5, 2),
             ("clients", "12-streaming"): results(2, 11, 5),
             ("clients", "15-tls"): results(3, 12, 9)}
    rows = top.against_the_floor(found, ["floor-dated", "floor", "12-streaming", "15-tls"])
    assert rows["floor-dated"]["label"] == "the floor"
    assert rows["floor-dated"]["clients_ratio"] == 1 and rows["floor"]["clients_ratio"] == 0.5
    last = rows["15-tls"]
    assert last["label"] == "15" and last["clients_us"] == 9
    assert (last["clients_ratio"], last["clients_least"], last["clients_most"]) == (2.25, 1.2, 3)
    assert last["clients_to_12"] == 1.5  # 9 ÷ 5 are the medians, of two rounds
    assert rows["12-streaming"]["clients_ratio"] == 1.25
