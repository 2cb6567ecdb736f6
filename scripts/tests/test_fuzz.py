"""The parsers under libFuzzer: no memory error, no way of cutting that changes a verdict, and the
same verdict from every checkpoint; and the same of the connections that make no system call.
HOTPATH_FUZZ_SECONDS sets how long each is fuzzed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from workbook import build, mutants, starters
from workbook.behaviour.cases import table
from workbook.chapters import all_chapters
from workbook.errors import UserError
from workbook.paths import BUILD, SCRIPTS

FUZZ = SCRIPTS / "fuzz"
SECONDS = int(os.environ.get("HOTPATH_FUZZ_SECONDS", "10"))
PLANTED_SECONDS = 60  # far more than it takes
CLIMB = [chapter for chapter in all_chapters() if chapter.number is not None]
KEPT = [f"connection-{chapter.name}" for chapter in CLIMB
        if (chapter.solution_dir / "worker.cpp").exists()]
PLANTED = {mutant.what: mutant for chapter in CLIMB for mutant in mutants.of(chapter)
           if mutant.check == "fuzz"}

each_target = pytest.mark.parametrize("name", [*[chapter.name for chapter in CLIMB], *KEPT])
Targets = Mapping[str, Path]


def built(source: Path, directory: Path) -> Targets:
    """The fuzz targets by checkpoint; skips if the compiler cannot build them."""
    try:
        build.isolated(source, "asan", directory)
    except UserError as error:
        if "no libFuzzer" in error.message:
            pytest.skip("this compiler has no libFuzzer")
        raise
    names = [*[chapter.name for chapter in CLIMB], *KEPT]
    return {name: directory / f"fuzz-{name}" for name in names}


@pytest.fixture(scope="module")
def targets() -> Targets:
    return built(FUZZ, BUILD / "fuzz")


@pytest.fixture(scope="module")
def planted() -> Targets:
    """The same with a mistake in each parser."""
    scratch = BUILD / "fuzz-planted"
    shutil.copytree(FUZZ, scratch / "scripts" / "fuzz", dirs_exist_ok=True)
    for mutant in PLANTED.values():
        starters.write(mutants.sources(mutant), scratch / "solutions" / mutant.chapter.name)
    return built(scratch / "scripts" / "fuzz", scratch / "build")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the behaviour table sends, and what fuzzing found before."""
    directory = tmp_path_factory.mktemp("corpus")
    shutil.copytree(FUZZ / "corpus", directory, dirs_exist_ok=True)
    for case in table():
        sent = b"".join(step for step in case.steps if isinstance(step, bytes))[:80_000]
        (directory / sha256(sent).hexdigest()).write_bytes(sent)
    return directory


def fuzz(target: Path, found: Path, *seeds: Path, seconds: int) -> subprocess.CompletedProcess[str]:
    """Fuzz for a while; what is new goes into `found`, an input that fails beside it."""
    found.mkdir(exist_ok=True)
    return subprocess.run(
        [target, f"-max_total_time={seconds}", "-max_len=9000", "-timeout=10", "-seed=1",
         f"-dict={FUZZ / 'http.dict'}", f"-artifact_prefix={found.parent}/failed-", found, *seeds],
        capture_output=True, text=True, errors="replace", timeout=seconds + 60)


@pytest.fixture(scope="module")
def fuzzed(targets: Targets, corpus: Path, tmp_path_factory: pytest.TempPathFactory
           ) -> dict[str, tuple[subprocess.CompletedProcess[str], Path]]:
    """All targets, as many at a time as there are processors."""
    found = {name: tmp_path_factory.mktemp(name) / "found" for name in targets}
    with ThreadPoolExecutor(build.available_cpus()) as pool:
        runs = {name: pool.submit(fuzz, target, found[name], corpus, seconds=SECONDS)
                for name, target in targets.items()}
        return {name: (run.result(), found[name]) for name, run in runs.items()}


@each_target
def test_the_target_withstands(
        name: str, fuzzed: dict[str, tuple[subprocess.CompletedProcess[str], Path]]) -> None:
    done, found = fuzzed[name]
    assert done.returncode == 0, f"see {found.parent}\n{done.stderr[-3000:]}"


def verdicts(target: Path, files: list[Path]) -> set[str]:
    """One line for each input: its hash, the verdict's, and how that begins."""
    lines: set[str] = set()
    for start in range(0, len(files), 500):
        done = subprocess.run([target, *files[start:start + 500]], capture_output=True, text=True,
                              errors="replace", env={**os.environ, "HOTPATH_VERDICTS": "1"})
        assert done.returncode == 0, done.stderr[-3000:]
        lines.update(done.stdout.splitlines())
    return lines


@pytest.mark.parametrize("kind, least", [("", 400), ("connection-", 200)])
def test_every_checkpoint_gives_the_same_verdict(
        kind: str, least: int, targets: Targets, corpus: Path,
        fuzzed: dict[str, tuple[subprocess.CompletedProcess[str], Path]]) -> None:
    files = [file for directory in (corpus, *(found for _, found in fuzzed.values()))
             for file in directory.iterdir()]
    same = [target for name, target in targets.items()
            if (name in KEPT) == bool(kind)]
    with ThreadPoolExecutor(build.available_cpus()) as pool:
        first, *others = pool.map(lambda target: verdicts(target, files), same)
    assert len(first) > least
    for other in others:
        assert not first ^ other


@pytest.mark.parametrize("what", ["empty-value", "stale-view", "last-piece-forgotten",
                                  "leftover-bytes-dropped"])
def test_fuzzing_finds_what_was_planted(what: str, planted: Targets, tmp_path: Path) -> None:
    name = PLANTED[what].chapter.name
    target = planted[f"connection-{name}" if f"connection-{name}" in KEPT else name]
    done = fuzz(target, tmp_path / "found", FUZZ / "corpus", seconds=PLANTED_SECONDS)
    assert done.returncode != 0
    assert list(tmp_path.glob("failed-*"))


def test_a_checkpoint_that_differs_is_noticed(targets: Targets, planted: Targets,
                                              corpus: Path) -> None:
    name = PLANTED["host-of-any-character"].chapter.name
    files = list(corpus.iterdir())
    assert verdicts(targets[name], files) ^ verdicts(planted[name], files)
