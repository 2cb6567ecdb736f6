"""The parsers under libFuzzer: no memory error, no way of cutting that changes a verdict, and the
same verdict from every checkpoint; and the same of the connections that make no system call. What
a path means is fuzzed too (it stays beneath the root), what the conditions of a request do (a part
lies within its file), where a body ends, what is logged, and what passes through TLS.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import programs
import pytest
from fixed_subset import evenly_spaced
from lengths import LONG, seconds

from workbook.authors import fuzzing
from workbook.checks.behaviour.cases import table
from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SCRIPTS
from workbook.course import mutants, trees
from workbook.course.chapters import all_chapters, fuzz_targets
from workbook.machine.cores import available_cpus

FUZZ = SCRIPTS / "fuzz"
SECONDS = int(seconds(3, 600))
PLANTED_SECONDS = 60  # far more than it takes
# How memory is bounded. The peak of a process begins with that of its parent, and ours holds every
# case (getrusage(2)), so not by that. What is not freed the leak sanitizer tells.
BY_BLOCK = ("-rss_limit_mb=0", "-malloc_limit_mb=512")
CLIMB = [chapter for chapter in all_chapters() if chapter.number is not None]
DECLARED = fuzzing.targets()
KEPT = [name for name, (_, target) in DECLARED.items() if target.name == "connection"]
PARTS = [name for name, (_, target) in DECLARED.items()
         if target.name not in (fuzzing.PARSER, "connection")]
PLANTED = {mutant.what: mutant for chapter in CLIMB for mutant in mutants.of(chapter)
           if mutant.check == "fuzz"}

Targets = Mapping[str, Path]

pytestmark = pytest.mark.timeout(1800)  # beside others the first build takes its time


def test_separately_fuzzed_files_exist() -> None:
    """A file that was renamed must not take its target away in silence."""
    assert not [f"{name}: {file}" for name, (chapter, target) in DECLARED.items()
                for file in fuzzing.sources(chapter, target)
                if not (chapter.solution_dir / file).exists()]
    assert not [f"{name}: {file}" for name, (_, target) in DECLARED.items()
                for file in target.harness if not (FUZZ / file).exists()]
    last = {target.name for target in fuzz_targets(CLIMB[-1])}
    assert last == {target.name for _, target in DECLARED.values()}


def test_a_target_is_inherited_until_it_is_declared_again() -> None:
    harness = {name: DECLARED[name][1].harness for name in ("01-naive", "02-fewer-syscalls",
                                                            CLIMB[-1].name)}
    assert harness == {"01-naive": ["whole_text_parser.cpp"],
                       "02-fewer-syscalls": ["resuming_parser.cpp"],
                       CLIMB[-1].name: ["resuming_parser.cpp"]}
    assert not [name for name in PARTS if name.endswith(CLIMB[0].name)]


def test_a_target_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no fuzz target “gone-01-naive”"):
        fuzzing.built(["gone-01-naive"], directory=tmp_path)


def sources(name: str) -> list[Path]:
    """What is fuzzed: a checkpoint's parser, its connection with all that this needs, or a part of
    it by itself.
    """
    chapter, target = DECLARED[name]
    return [chapter.solution_dir / file for file in fuzzing.sources(chapter, target)]


# Each program once: of those that are compiled from the same the last, with an id of them all.
ALL_TARGETS = programs.alike({name: programs.digest(
    str((name in KEPT, fuzzing.sources(chapter, target) if name in PARTS else None)),
    *programs.contents(*sources(name))) for name, (chapter, target) in DECLARED.items()})
COMPARED = PLANTED["host-not-validated"].chapter.name


def some() -> dict[str, str]:
    """Three targets of each harness, or all in a long run, and always COMPARED, whose verdicts are
    compared with those of a copy with a planted mistake.
    """
    of_harness: dict[str, list[str]] = {}
    for name in ALL_TARGETS:
        of_harness.setdefault(DECLARED[name][1].name, []).append(name)
    kept = {name for names in of_harness.values()
            for name in (names if LONG else evenly_spaced(names, 3))}
    return {name: alike for name, alike in ALL_TARGETS.items()
            if name in kept or COMPARED in alike.split("=")}


TARGETS = some()

each_target = pytest.mark.parametrize("name", [pytest.param(name, id=alike)
                                               for name, alike in TARGETS.items()])


def built(names: Iterable[str], *location: Path) -> Targets:
    """These fuzz targets; skips if the compiler cannot build them."""
    try:
        return fuzzing.built(names, *location)
    except UserError as error:
        if "no libFuzzer" in error.message:
            pytest.skip("this compiler has no libFuzzer")
        raise


@pytest.fixture(scope="module")
def targets() -> Targets:
    return built(TARGETS)


def target_of(mutant: mutants.Mutant) -> str:
    changed = re.search(r"^\+\+\+ b/(\S+)", mutant.patch.read_text(), re.M)
    known = {target.name: target for target in fuzz_targets(mutant.chapter)}
    for target in known.values():
        name = fuzzing.name(mutant.chapter, target)
        if name in PARTS and changed and changed[1] in fuzzing.sources(mutant.chapter, target):
            return name
    return fuzzing.name(mutant.chapter, known.get("connection", known[fuzzing.PARSER]))


@pytest.fixture(scope="module")
def planted() -> Targets:
    """Those with a mistake in their parser."""
    scratch = BUILD / "fuzz-planted"
    shutil.copytree(FUZZ, scratch / "scripts" / "fuzz", dirs_exist_ok=True)
    for mutant in PLANTED.values():
        trees.write(mutants.sources(mutant), scratch / "solutions" / mutant.chapter.name)
    return built(dict.fromkeys(target_of(mutant) for mutant in PLANTED.values()),
                 scratch / "scripts" / "fuzz", scratch / "build")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the behaviour table sends, and what fuzzing found before."""
    directory = tmp_path_factory.mktemp("corpus")
    shutil.copytree(FUZZ / "corpus", directory, dirs_exist_ok=True)
    for case in table():
        sent = b"".join(step for step in case.steps if isinstance(step, bytes))[:80_000]
        (directory / sha256(sent).hexdigest()).write_bytes(sent)
    return directory


def fuzz(target: Path, found: Path, *seeds: Path, time_s: int) -> subprocess.CompletedProcess[str]:
    """Fuzz for a while; what is new goes into `found`, an input that fails beside it."""
    found.mkdir(exist_ok=True)
    return subprocess.run(
        [target, f"-max_total_time={time_s}", "-max_len=9000", "-timeout=10", "-seed=1",
         *BY_BLOCK, f"-dict={FUZZ / 'http.dict'}",
         f"-artifact_prefix={found.parent}/failed-", found, *seeds],
        capture_output=True, text=True, errors="replace", timeout=time_s + 60)


@pytest.fixture(scope="module")
def fuzzed(targets: Targets, corpus: Path, tmp_path_factory: pytest.TempPathFactory
           ) -> dict[str, tuple[subprocess.CompletedProcess[str], Path]]:
    """All targets, as many at a time as there are processors."""
    found = {name: tmp_path_factory.mktemp(name) / "found" for name in targets}
    with ThreadPoolExecutor(available_cpus()) as pool:
        runs = {name: pool.submit(fuzz, target, found[name], corpus, time_s=SECONDS)
                for name, target in targets.items()}
        return {name: (run.result(), found[name]) for name, run in runs.items()}


@each_target
def test_fuzz_target_finds_no_crash(
        name: str, fuzzed: dict[str, tuple[subprocess.CompletedProcess[str], Path]]) -> None:
    done, found = fuzzed[name]
    assert done.returncode == 0, f"see {found.parent}\n{done.stderr[-3000:]}"


def verdicts(target: Path, files: list[Path]) -> set[str]:
    """One line for each input: its hash, the verdict's, and how that begins."""
    lines: set[str] = set()
    for start in range(0, len(files), 500):
        done = subprocess.run([target, *BY_BLOCK, *files[start:start + 500]],
                              capture_output=True, text=True, errors="replace",
                              env={**os.environ, "HOTPATH_VERDICTS": "1"})
        assert done.returncode == 0, done.stderr[-3000:]
        lines.update(done.stdout.splitlines())
    return lines


def streams(name: str) -> bool:
    """Whether it is a connection that may answer before its request has ended."""
    return name in KEPT and "body_parser.cpp" in [file.name for file in sources(name)]


@pytest.mark.parametrize("kind, minimum", [("", 400), ("connection-", 200)])
def test_all_checkpoints_parse_the_same(
        kind: str, minimum: int, targets: Targets, corpus: Path,
        fuzzed: dict[str, tuple[subprocess.CompletedProcess[str], Path]]) -> None:
    files = [file for directory in (corpus, *(found for _, found in fuzzed.values()))
             for file in directory.iterdir()]
    same = [target for name, target in targets.items()
            if name not in PARTS and (name in KEPT) == bool(kind) and not streams(name)]
    with ThreadPoolExecutor(available_cpus()) as pool:
        first, *others = pool.map(lambda target: verdicts(target, files), same)
    assert len(first) > minimum
    for other in others:
        assert not first ^ other, sorted(first ^ other)[:4]


@pytest.mark.parametrize("what", ["empty-value-out-of-range", "dangling-view-after-growth",
                                  "final-crlf-split-across-reads-missed",
                                  "leftover-bytes-dropped", "incomplete-escape-unchecked",
                                  "range-starts-at-end", "chunk-data-cut-short",
                                  "line-feed-not-escaped"])
def test_fuzzing_finds_planted_mistakes(what: str, planted: Targets, tmp_path: Path) -> None:
    target = planted[target_of(PLANTED[what])]
    done = fuzz(target, tmp_path / "found", FUZZ / "corpus", time_s=PLANTED_SECONDS)
    assert done.returncode != 0
    assert list(tmp_path.glob("failed-*"))


def test_differing_checkpoint_gives_other_verdicts(targets: Targets, planted: Targets,
                                                   corpus: Path) -> None:
    same = next(one for one, alike in TARGETS.items() if COMPARED in alike.split("="))
    files = list(corpus.iterdir())
    assert verdicts(targets[same], files) ^ verdicts(planted[COMPARED], files)
