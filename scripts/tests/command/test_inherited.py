"""What a shell hands down: variables, descriptors, an encoding, a clone that git complains about."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Hotpath
from scratch import git

from workbook.common import inherited
from workbook.common.paths import ROOT, SCRIPTS
from workbook.machine import doctor, facts, needs, probes
from workbook.machine import git as machine_git

HOSTILE = {
    "PYTHONHOME": "/nowhere", "PYTHONSTARTUP": "/nowhere", "PYTHONWARNINGS": "error",
    "PYTHONOPTIMIZE": "2", "PYTHONINSPECT": "1", "PYTHONIOENCODING": "ascii",
    "PIP_TARGET": "/nowhere", "PIP_PREFIX": "/nowhere", "PIP_USER": "1", "VIRTUAL_ENV": "/nowhere",
    "GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere", "GIT_INDEX_FILE": "/nowhere",
    "GIT_CONFIG_COUNT": "0", "CMAKE_GENERATOR": "Unix Makefiles", "CMAKE_BUILD_TYPE": "Debug",
    "CMAKE_TOOLCHAIN_FILE": "/nowhere", "CXXFLAGS": "-O0", "LDFLAGS": "-static",
    "MAKEFLAGS": "-j1 --jobserver-auth=3,4", "NINJA_STATUS": "%", "LD_PRELOAD": "/nowhere.so",
    "MALLOC_CONF": "tcache:false", "GTEST_FILTER": "-*", "BENCHMARK_FILTER": "none",
    "ASAN_OPTIONS": "detect_leaks=0", "VALGRIND_OPTS": "--tool=none", "CDPATH": "/",
    "LANGUAGE": "de"}
HARMLESS = {"CXX": "g++-14", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CMAKE_PREFIX_PATH": "/opt",
            "CMAKE_BUILD_PARALLEL_LEVEL": "1", "PIP_INDEX_URL": "https://localhost/simple",
            "PIP_CERT": "/c.pem", "http_proxy": "http://localhost:3128", "HOTPATH_LONG": "1",
            "PATH": "/bin", "HOME": "/root", "GIT_PAGER": "cat"}


def test_only_harmless_variables_are_inherited() -> None:
    environment = {**HOSTILE, **HARMLESS, "LC_ALL": "de_DE.ISO-8859-1", "no_proxy": "example.org"}
    inherited.clean(environment)
    assert environment == {
        **HARMLESS, "LC_CTYPE": "de_DE.ISO-8859-1", "LC_MESSAGES": "C", "LC_NUMERIC": "C",
        "PYTHONUTF8": "1", "no_proxy": "example.org,127.0.0.1,localhost,::1",
        "NO_PROXY": "127.0.0.1,localhost,::1"}
    before = dict(environment)
    inherited.clean(environment)
    assert environment == before


def test_launcher_passes_on_only_harmless_variables(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    shutil.copytree(SCRIPTS / "workbook" / "common", scripts / "workbook" / "common")
    shutil.copy(SCRIPTS / "hotpath", scripts)
    (scripts / "requirements.txt").write_text("# none\n")
    (scripts / "workbook" / "__main__.py").write_text(
        "import os; print(*os.environ, sep='\\n'); print('caf\\u00e9 \\u2026')")
    hostile = {name: value for name, value in HOSTILE.items() if name not in
               ("PYTHONHOME", "LD_PRELOAD")}  # the system's own Python would not start with them
    done = subprocess.run([sys.executable, scripts / "hotpath"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env={**os.environ, **hostile}, timeout=120)
    *names, text = done.stdout.splitlines()
    assert text == "caf? ?", done.stderr
    assert not hostile.keys() & set(names) - {"PYTHONIOENCODING"}


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_closed_descriptors_do_not_receive_output(tmp_path: Path, closed: tuple[int, ...]) -> None:
    file = tmp_path / "file"
    program = ("import os, sys; from workbook.common import inherited; inherited.settle()\n"
               f"file = open({str(file)!r}, 'w')\n"
               "print('stray', flush=True); print('stray', file=sys.stderr, flush=True)\n"
               "os.system('echo stray; echo stray >&2')")
    shell = " ".join(f"{number}>&-" for number in closed)
    done = subprocess.run(["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-c", program],
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(SCRIPTS)})
    assert done.returncode == 0
    assert file.read_text() == ""


def test_verb_runs_with_closed_descriptors() -> None:
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m",
                           "workbook", "list"], env={**os.environ, "PYTHONPATH": str(SCRIPTS)})
    assert done.returncode == 0


def test_terminal_without_utf8_is_no_error(hotpath: Hotpath) -> None:
    reported = hotpath("run", "--help", PYTHONIOENCODING="ascii")  # it has quotation marks
    assert reported.returncode == 0, reported.stderr
    assert "?fast wrong" in reported.stdout


def test_folder_without_git_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "ROOT", tmp_path)
    assert facts._commit() == "none"
    git(tmp_path, "init", "-q")
    assert facts._commit() == "none"
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    assert len(facts._commit()) == 12
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "new.cpp").touch()
    assert facts._commit().endswith("+")
    (tmp_path / "download").mkdir()  # unpacked inside another repository
    monkeypatch.setattr(facts, "ROOT", tmp_path / "download")
    assert facts._commit() == "none"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert facts._commit() == "none"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a clone to another user")
def test_clone_of_another_user_has_its_commit(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 12345, 12345)
    monkeypatch.setattr(facts, "ROOT", tmp_path)
    assert len(facts._commit()) == 12


def test_git_ignores_the_settings_of_its_user(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitconfig").write_text("[color]\nui = always\n[status]\nshort = true\n"
                                         "branch = true\n[commit]\ngpgSign = true\n"
                                         "[diff]\nnoprefix = true\nexternal = false\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    clone = tmp_path / "clone"
    clone.mkdir()
    assert machine_git.answer("init", "-q", cwd=clone) == ""
    (clone / "a").write_text("1\n")
    assert machine_git.answer("add", "a", cwd=clone) == ""
    assert machine_git.answer("status", "--porcelain", cwd=clone) == "A  a"
    assert "\x1b" not in (patch := machine_git.answer("diff", "--cached", cwd=clone) or "")
    assert "+++ b/a" in patch


@pytest.mark.parametrize("program", ["exit 3", "echo fatal: broken >&2; exit 128", "kill $$",
                                     "sleep 60"])
def test_failed_probe_is_no_answer(tmp_path: Path, program: str) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\n{program}\n")
    tool.chmod(0o755)
    assert probes.answer([tool], seconds=0.5) is None
    assert probes.answer([tmp_path / "missing"]) is None
    assert probes.answer([tmp_path]) is None


def test_program_that_does_not_run_is_reported(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ninja", "wrk"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'error while loading libssl' >&2\nexit 127\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    rows = {finding.name: finding for finding in doctor._needs()}
    for name in ("ninja", "wrk"):
        assert rows[name].state == doctor.MISSING
        assert "does not run" in rows[name].found and f"{name} --version" in rows[name].fix


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs a mount")
def test_programs_run_where_tmp_is_noexec(tmp_path: Path) -> None:
    program = ("import pathlib\nfrom workbook.machine import probes\nwith probes.scratch() as folder:\n"
               "    file = pathlib.Path(folder, 'program'); file.write_text('#!/bin/sh\\necho ran')\n"
               "    file.chmod(0o755); print(probes.answer([file]))")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o noexec tmpfs {tmp_path} || exit 0; '
         'exec "$@"', "sh", sys.executable, "-c", program], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(SCRIPTS), "TMPDIR": str(tmp_path)})
    assert done.stdout in ("ran\n", ""), done.stderr
    assert done.returncode == 0


def test_thread_sanitizer_is_tried_outside_tmp(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\nfor last; do :; done\necho "$last" > {tmp_path}/place\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setattr(needs, "compiler", lambda: compiler)
    assert not needs.finds_races.__wrapped__()
    assert (tmp_path / "place").read_text().startswith(str(probes.BUILD))


def test_clone_with_autocrlf_has_lf(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    shutil.copy(ROOT / ".gitattributes", tmp_path / "from")
    for name in ("hotpath", "a.patch", "chapter.toml"):
        (tmp_path / "from" / name).write_bytes(b"#!/bin/sh\none\n")
    git(tmp_path / "from", "init", "-q")
    git(tmp_path / "from", "add", "-A")
    git(tmp_path / "from", "commit", "-qm", "state")
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", "from", "to")
    for name in ("hotpath", "a.patch", "chapter.toml"):
        assert (tmp_path / "to" / name).read_bytes() == b"#!/bin/sh\none\n"


def test_compiler_of_single_checkpoints_is_the_one_that_cmake_chooses(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(facts, "BUILD", tmp_path)  # where nothing was built
    chosen = needs.compiler()
    assert chosen
    assert facts.collect()["compiler"] == probes.first_line([str(chosen), "--version"])
