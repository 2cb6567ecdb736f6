"""What is to run where these tests do not: the BSDs, an editor's container."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement

from workbook.common.paths import ROOT, SCRIPTS
from workbook.verbs import cli, listing

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/systems.yml").read_text())
BSDS = ("freebsd", "netbsd", "openbsd")
HEAVY = ("jinja2", "matplotlib", "numpy", "scipy", "tree_sitter", "tree_sitter_cpp")


def wanted(system: str) -> set[str]:
    """What pip would install there."""
    lines = (SCRIPTS / "requirements.txt").read_text().splitlines()
    requirements = [Requirement(line.rstrip("\\")) for line in lines if re.match(r"\w", line)]
    present = {**default_environment(), "sys_platform": system, "python_version": "3.12",
               "python_full_version": "3.12.0", "platform_system": system.rstrip("0123456789")}
    return {one.name for one in requirements if not one.marker or one.marker.evaluate(present)}


@pytest.mark.parametrize("system", ["freebsd14", "netbsd10", "openbsd7"])
def test_bsd_needs_only_psutil_compiled(system: str) -> None:
    """All others of these are Python alone."""
    assert wanted(system) == {"click", "filelock", "markdown-it-py", "mdurl", "psutil", "pygments",
                              "rich", "shellingham", "typer", "typing-extensions", "unidiff"}
    assert wanted("linux") > {"matplotlib", "numpy", "psutil"}


def test_a_chapter_is_judged_without_the_heavy_packages(tmp_path: Path) -> None:
    for name in HEAVY:
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{SCRIPTS}"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "workbook", *arguments], cwd=ROOT, text=True,
                              capture_output=True, env=environment, timeout=900)

    assert run("list").returncode == 0
    judged = run("check", "1", "--solution", "--case", "start/port-in-use")
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_package_missing_on_a_system_is_named(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def draw() -> None:
        raise ModuleNotFoundError(name="matplotlib")

    monkeypatch.setattr(listing, "all_chapters", draw)
    with pytest.raises(SystemExit) as ended:
        cli.app(["list"])
    assert ended.value.code == 1
    assert "error: matplotlib is not among" in capsys.readouterr().err


@pytest.mark.parametrize("system", [*BSDS, "macos", "arm64"])
def test_every_chapter_is_judged_on_every_system(system: str) -> None:
    checks = WORKFLOW["env"]["CHECKS"]
    assert 'in solutions/[0-9]*; do ./scripts/hotpath check "${solution#*/}" --solution' in checks
    last = WORKFLOW["jobs"][system]["steps"][-1]
    if system in BSDS:
        assert last["uses"].startswith(f"vmactions/{system}-vm@")
        assert last["with"]["envs"] == "CHECKS" and last["with"]["usesh"]
        assert "python3" in last["with"]["prepare"]
    assert last.get("with", last)["run"].endswith('sh -c "$CHECKS"')


def test_labs_are_validated_on_another_processor() -> None:
    job = WORKFLOW["jobs"]["arm64"]
    assert job["runs-on"].endswith("-arm")
    assert 'sh -c "$LABS"' in [step.get("run") for step in job["steps"]]
    assert 'in solutions/lab-*; do ./scripts/hotpath check "${lab#*/}" --solution --only validate' \
        in WORKFLOW["env"]["LABS"]


def test_devcontainer_runs_setup_and_allows_tracing() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert container["postCreateCommand"].endswith("./scripts/hotpath setup --yes")
    assert "--cap-add=SYS_PTRACE" in container["runArgs"]
