"""What `bench --share` makes of a run, what is refused of it, and the files that readers sent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Hotpath, assert_refused

from workbook.common.errors import UserError
from workbook.common.paths import RESULTS
from workbook.figures import charts, machines


@pytest.fixture
def ladder() -> dict[str, Any]:
    return json.loads((RESULTS / "ladder.json").read_text(encoding="utf-8"))


def test_shared_ladder_has_no_identifying_data(
        ladder: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(machines, "WRITTEN", tmp_path)
    ladder["machine"]["kernel"] = "Linux 6.18.44-of-somebody"
    file = machines.write(ladder)
    assert machines.load(file) == json.loads(capsys.readouterr().out)
    text = file.read_text(encoding="utf-8")
    kept = machines.load(file)
    assert kept["kernel"] == "Linux 6.18" and "somebody" not in text + file.name
    assert ladder["machine"]["commit"] not in text and ladder["machine"]["date"] not in text
    assert kept["ladder"]["02-fewer-syscalls"]["syscalls"] == 6
    assert 1 < kept["ladder"]["08-allocator-pgo"]["beside_floor"]["baseline"] < 1.2
    assert "floor" not in kept["ladder"] and re.fullmatch(r"[a-z0-9-]+\.json", file.name)


@pytest.mark.parametrize(("spoil", "problem"), [
    (lambda data: data.pop("cores"), "it has not just"),
    (lambda data: data.update(host="mine"), "it has not just"),
    (lambda data: data["ladder"].clear(), "its ladder is empty"),
    (lambda data: data["ladder"].update({"mine/02": {}}), "“mine/02” is no chapter"),
    (lambda data: data["ladder"]["01-naive"].pop("syscalls"), "01-naive has not just"),
    (lambda data: data["ladder"]["01-naive"]["beside_floor"].pop("heavy"), "not just the loads"),
    (lambda data: data["ladder"]["01-naive"].update(syscalls=None), "no figure for syscalls"),
    (lambda data: data["ladder"]["01-naive"]["beside_floor"].update(heavy=None), "for heavy"),
])
def test_incomplete_shared_ladder_is_refused(ladder: dict[str, Any], tmp_path: Path, spoil: Any,
                                             problem: str) -> None:
    data = machines.of(ladder)
    spoil(data)
    file = tmp_path / "one.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UserError, match=problem):
        machines.load(file)


def test_invalid_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be read"):
        machines.load(file)


def test_partial_ladder_is_not_shared(hotpath: Hotpath) -> None:
    assert_refused(hotpath("bench", "1", "--share"), "--share is for the whole ladder")


def test_submitted_ladders_are_complete() -> None:
    machines.all_shared()


def test_every_machine_has_a_dot(ladder: dict[str, Any]) -> None:
    ours = machines.of(ladder)
    one, two = charts.machines([ours]), charts.machines([ours, ours])
    assert two.count("<use") == one.count("<use") + len(ours["ladder"])
    assert f"01-naive {ours['ladder']['01-naive']['beside_floor']['baseline']:.3g};" in one
