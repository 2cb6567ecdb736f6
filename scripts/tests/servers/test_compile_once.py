"""The compiler launcher: a file that two checkpoints share is compiled once, and neither ninja nor a
reader notices whose it was.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from workbook.machine import needs
from workbook.servers import build

pytestmark = [
    pytest.mark.skipif(bool(reason := needs.lacking("ccache")), reason=reason),
    pytest.mark.skipif(not build.faster(), reason="the launcher is for Linux")]


@pytest.fixture
def checkpoints(tmp_path: Path) -> tuple[Path, Path]:
    """Two with the same source and header; the second has one folder more."""
    for name in ("one", "two"):
        (tmp_path / name / "net").mkdir(parents=True)
        (tmp_path / name / "CMakeLists.txt").touch()
        (tmp_path / name / "net" / "page.cpp").write_text('#include "page.h"\nint page = SIZE;\n')
        (tmp_path / name / "page.h").write_text("#define SIZE 7\n")
    (tmp_path / "two" / "tls").mkdir()
    return tmp_path / "one", tmp_path / "two"


def compiled(checkpoint: Path, cache: str = "") -> subprocess.CompletedProcess[str]:
    """What CMake would run in the checkpoint's build folder."""
    directory = checkpoint.parent / f"build-{checkpoint.name}"
    directory.mkdir(exist_ok=True)
    folders = (path for path in sorted(checkpoint.iterdir()) if path.is_dir())
    launcher = build.faster()["CMAKE_CXX_COMPILER_LAUNCHER"].split(";")
    return subprocess.run(
        [*launcher, "clang++-19", f"-iquote{checkpoint}", *(f"-iquote{one}" for one in folders),
         "-MD", "-MT", f"{checkpoint.name}.o", "-MF", "page.d", "-o", "page.o", "-c",
         str(checkpoint / "net" / "page.cpp")],
        cwd=directory, env=os.environ | build.faster() | {
            "CCACHE_DIR": cache or str(checkpoint.parent / "cache")},
        capture_output=True, text=True)


def hits(checkpoint: Path) -> int:
    done = subprocess.run(["ccache", "--print-stats"], check=True, capture_output=True, text=True,
                          env=os.environ | {"CCACHE_DIR": str(checkpoint.parent / "cache")})
    counts = dict(line.split("\t") for line in done.stdout.splitlines())
    return int(counts["direct_cache_hit"])


def test_shared_file_is_compiled_once(checkpoints: tuple[Path, Path]) -> None:
    one, two = checkpoints
    assert compiled(one).returncode == compiled(two).returncode == 0
    assert hits(two) == 1
    objects = [path.read_bytes() for path in sorted(one.parent.glob("build-*/page.o"))]
    assert len(objects) == 2


def test_headers_are_those_of_the_own_checkpoint(checkpoints: tuple[Path, Path]) -> None:
    one, two = checkpoints
    compiled(one)
    compiled(two)
    rule = (two.parent / "build-two" / "page.d").read_text().replace("\\\n", " ").split()
    assert rule == ["two.o:", str(two / "net" / "page.cpp"), str(two / "page.h")]


def test_changed_header_is_compiled_again(checkpoints: tuple[Path, Path]) -> None:
    one, two = checkpoints
    (two / "page.h").write_text("#define SIZE 8\n")
    compiled(one)
    compiled(two)
    assert hits(two) == 0
    first, second = (path.read_bytes() for path in sorted(one.parent.glob("build-*/page.o")))
    assert first != second


def test_error_names_the_whole_path(checkpoints: tuple[Path, Path]) -> None:
    one, _ = checkpoints
    (one / "page.h").write_text("#error no size\n")
    done = compiled(one)
    assert done.returncode != 0
    assert done.stderr.count(f"{one}/page.h:1:2: error: no size") == 1


@pytest.mark.parametrize("name", ["one", "with a space"])
def test_cache_that_cannot_be_written_costs_only_time(checkpoints: tuple[Path, Path],
                                                      name: str) -> None:
    place = checkpoints[0].rename(checkpoints[0].with_name(name))
    done = compiled(place, cache="/proc/none")
    assert done.returncode == 0, done.stderr
    assert (place.parent / f"build-{name}" / "page.o").exists()
