"""Set-up: the environment that scripts/hotpath makes, and what may be installed when."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from workbook.common import packages
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.machine import doctor, needs, setup

Result = subprocess.CompletedProcess[str]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The bootstrap with a package that only says hello, and no requirements."""
    scripts = tmp_path / "scripts"
    shutil.copytree(SCRIPTS / "workbook" / "common", scripts / "workbook" / "common")
    shutil.copy(SCRIPTS / "hotpath", scripts)
    (scripts / "requirements.txt").write_text("# none\n")
    (scripts / "workbook" / "__main__.py").write_text("import sys; print('hello', *sys.argv[1:])")
    return tmp_path


def start(clone: Path, *arguments: str, **environment: str) -> Result:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return subprocess.run([sys.executable, str(clone / "scripts" / "hotpath"), *arguments],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          env={**ours, **environment})


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with one small package, and a requirements file that names it."""
    wheel = tmp_path / "wheels" / "hotpath_greeting-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("hotpath_greeting.py", "")
        file.writestr("hotpath_greeting-1.0.dist-info/METADATA",
                      "Metadata-Version: 2.1\nName: hotpath_greeting\nVersion: 1.0\n")
        file.writestr("hotpath_greeting-1.0.dist-info/WHEEL",
                      "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("hotpath_greeting-1.0.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (wheel.parent / "requirements.txt").write_text(
        f"hotpath_greeting==1.0 ; python_version > '3' \\\n    --hash=sha256:{digest}\n"
        f"absent==1.0 ; python_version < '3' \\\n    --hash=sha256:{digest}\n")
    return wheel.parent


def test_environment_is_recreated_when_requirements_change(clone: Path) -> None:
    first = start(clone, "a", "--b")
    assert first.stdout == "hello a --b\n"
    assert "Setting up" in first.stderr
    repeated = start(clone)
    assert repeated.stdout == "hello\n"
    assert repeated.stderr == ""

    (clone / "scripts" / "requirements.txt").write_text("# changed\n")
    assert "Setting up" in start(clone).stderr
    (clone / ".venv" / "stamp").unlink()  # as an interrupted one leaves it
    assert "Setting up" in start(clone).stderr
    assert start(clone).stderr == ""


def test_failed_installation_is_reported_and_retried(clone: Path) -> None:
    (clone / "scripts" / "requirements.txt").write_text(
        "./nowhere-1.0-py3-none-any.whl --hash=sha256:" + "0" * 64 + "\n")
    failed = start(clone)
    assert failed.returncode == 1
    assert "error: Python could not install" in failed.stderr
    assert "next:" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not (clone / ".venv" / "stamp").exists()


@pytest.mark.parametrize("where", ["file", "variables"])
def test_pip_settings_change_no_destination(clone: Path, wheels: Path, where: str) -> None:
    """How packages are reached is the user's to set; where they go is not."""
    shutil.copy(wheels / "requirements.txt", clone / "scripts")
    (clone / "scripts/workbook/__main__.py").write_text("import hotpath_greeting; print('found')")
    settings = {"no-index": "true", "find-links": str(wheels), "target": str(clone / "away"),
                "user": "true", "quiet": "3"}
    if where == "file":
        (clone / "pip.conf").write_text("[global]\n" + "".join(
            f"{name} = {value}\n" for name, value in settings.items()))
        environment = {"PIP_CONFIG_FILE": str(clone / "pip.conf")}
    else:
        environment = {f"PIP_{name.upper().replace('-', '_')}": value
                       for name, value in settings.items()}
    first = start(clone, **environment, PIP_REQUIRE_VIRTUALENV="1", PYTHONOPTIMIZE="2")
    assert first.stdout == "found\n", first.stderr
    assert start(clone).stdout == "found\n"
    assert not (clone / "away").exists()


def test_misplaced_packages_are_reported(wheels: Path) -> None:
    with pytest.raises(UserError, match="does not find: hotpath_greeting$"):
        packages.require_installed(sys.executable, wheels / "requirements.txt")


@pytest.mark.parametrize("name", ["a;b", "a:b", 'a"b', "a\\b", "a\nb", "a[b]", "a|b", "${a}",
                                  "$ENV{a}", os.fsdecode(b"a\xff")])
def test_unusable_path_is_refused_at_once(clone: Path, name: str) -> None:
    moved = clone / name
    moved.mkdir()
    shutil.move(clone / "scripts", moved)
    refused = start(moved)
    assert refused.returncode == 1
    assert "error: the folder of this clone has" in refused.stderr and "next:" in refused.stderr
    assert not (moved / ".venv").exists()


@pytest.mark.parametrize("name", ["a b", "$a", "a'b", "a#b", "a,b", "(a)&<b>", "ä*?%"])
def test_unusual_path_is_usable(clone: Path, name: str) -> None:
    moved = clone / name
    moved.mkdir()
    shutil.move(clone / "scripts", moved)
    assert start(moved, "x").stdout == "hello x\n"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs a mount")
def test_checkout_that_cannot_be_written_is_reported(clone: Path) -> None:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'mount --bind {clone} {clone} && '
         f'mount -o remount,bind,ro {clone} || exit 77; exec "$@"', "sh", sys.executable,
         clone / "scripts" / "hotpath"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 77:
        pytest.skip("this system grants no mount")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr and "where you may write" in done.stderr


def test_interrupted_setup_leaves_no_finished_environment(clone: Path) -> None:
    process = subprocess.Popen([sys.executable, str(clone / "scripts" / "hotpath")],
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(10) == 130
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert not (clone / ".venv" / "stamp").exists()


def test_packages_are_installed_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    requirements = tmp_path / "requirements-test.txt"
    requirements.write_text("./nowhere-1.0-py3-none-any.whl --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(UserError, match="could not install"):
        setup.ensure_test_packages(requirements, tmp_path)
    requirements.write_text("# none\n")
    for words in ("Adding what the tests need", ""):
        capfd.readouterr()
        setup.ensure_test_packages(requirements, tmp_path)
        reported = capfd.readouterr().err
        assert words in reported if words else not reported


def test_old_python_is_reported() -> None:
    program = ("import sys; sys.version_info = (3, 9, 2, 'final', 0)\n"
               f"exec(open({str(SCRIPTS / 'hotpath')!r}).read())")
    reported = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert reported.returncode == 1
    assert "needs Python 3.10 or newer; this is 3.9" in reported.stderr


def test_help_starts_quickly() -> None:
    """Counted, because other work may share the machine: with some 350 modules it takes a quarter of
    a second, of which most is for those that print.
    """
    command = [sys.executable, "-X", "importtime", "-m", "workbook", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(SCRIPTS)})
    modules = re.findall(r"^import time: .*\| +(\S+)$", done.stderr, re.M)
    assert 0 < len(modules) < 500
    assert not {"matplotlib", "numpy", "tree_sitter", "psutil"} & set(modules)


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with nothing but an apt-get that installs what it is asked for; returns its log."""
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    log.write_text("")
    apt = (f'#!/bin/sh\necho "apt-get $*" >> {log}\n'
           'case "$*" in *" install "*) for tool in wrk strace; do case "$*" in *$tool*)\n'
           f'printf "#!/bin/sh\\n" > {programs}/$tool; /bin/chmod +x {programs}/$tool;; '
           'esac; done;; esac\n')
    for name, text in (("apt-get", apt), ("apt-cache", "#!/bin/sh\necho clang-15 clang-19\n"),
                       ("sudo", f'#!/bin/sh\necho sudo >> {log}\nexec "$@"\n'),
                       ("env", '#!/bin/sh\nshift\nexec "$@"\n')):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(needs, "PLACES", ())
    monkeypatch.setattr(setup.consent, "given", False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return log


def be(monkeypatch: pytest.MonkeyPatch, root: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    terminal = io.StringIO(text)
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", terminal)


@pytest.mark.parametrize("root", [True, False])
def test_nothing_is_installed_without_a_terminal(
        debian: Path, monkeypatch: pytest.MonkeyPatch, root: bool) -> None:
    """README and the set-up page promise that the command asks."""
    be(monkeypatch, root=root)
    for names in (["wrk"], ["wrk", "ccache"], ["nginx"]):
        with pytest.raises(UserError, match="no terminal to ask on") as refused:
            setup.ensure(names)
        assert "again with --yes" in refused.value.fix and "install -y -q" in refused.value.fix
        assert ("sudo" in refused.value.fix) != root
    monkeypatch.setenv("CI", "false")
    with pytest.raises(UserError, match="no terminal"):
        setup.ensure(["wrk"])
    assert debian.read_text() == ""


def test_continuous_integration_installs_without_asking(
        debian: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    be(monkeypatch, root=True)
    monkeypatch.setenv("CI", "true")
    setup.ensure(["wrk", "strace"])
    lines = debian.read_text().splitlines()
    assert lines[0].endswith("update -q")
    assert lines[1].endswith("install -y -q --no-install-recommends strace wrk")
    assert "wrk, the load generator" in capfd.readouterr().err


def test_only_what_is_missing_is_installed(debian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be(monkeypatch, root=True)
    monkeypatch.setattr(setup.consent, "given", True)
    setup.ensure(["wrk"])
    debian.write_text("")
    setup.ensure(["wrk"])
    assert debian.read_text() == ""
    setup.ensure(["wrk", "strace"])
    assert debian.read_text().splitlines()[1].endswith("--no-install-recommends strace")


@pytest.mark.parametrize(("output", "continues_after"), [("\n", True), ("y\n", True), ("n\n", False),
                                               ("", False)])
def test_setup_asks_at_a_terminal(debian: Path, monkeypatch: pytest.MonkeyPatch, output: str,
                                  continues_after: bool) -> None:
    be(monkeypatch, root=False)
    answer(monkeypatch, output)
    if continues_after:
        setup.ensure(["wrk"])
        assert "sudo" in debian.read_text()
    else:
        with pytest.raises(UserError, match="nothing was installed"):
            setup.ensure(["wrk"])
        assert debian.read_text() == ""


def test_yes_option_skips_the_question(debian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be(monkeypatch, root=False)
    monkeypatch.setattr(setup.consent, "given", True)
    setup.ensure(["wrk"])
    assert "sudo" in debian.read_text()


def test_an_installation_that_does_not_help_is_an_error(
        debian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be(monkeypatch, root=True)
    monkeypatch.setattr(setup.consent, "given", True)
    with pytest.raises(UserError, match="still missing"):
        setup.ensure(["ninja"])


def test_program_outside_path_is_named_with_its_folder(
        debian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor must not send its reader to setup, which would find nothing to install."""
    sbin = debian.parent / "sbin"
    sbin.mkdir()
    (sbin / "wrk").write_text("#!/bin/sh\n")
    (sbin / "wrk").chmod(0o755)
    monkeypatch.setattr(needs, "PLACES", (sbin,))
    command = f'export PATH="{sbin}:$PATH"'
    with pytest.raises(UserError, match="wrk is in .*/sbin, which is not in PATH") as refused:
        setup.ensure(["wrk", "strace"])
    assert command in refused.value.fix
    assert debian.read_text() == ""
    row = next(finding for finding in doctor._needs() if finding.name == "wrk")
    assert row.state == doctor.MISSING and row.fix == command
    assert command in needs.lacking("wrk")
    monkeypatch.setenv("PATH", f"{sbin}:{os.environ['PATH']}")
    assert needs.lacking("wrk") == ""


def test_doctor_counts_both_ends_of_the_port_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_is_linux", lambda: True)
    monkeypatch.setattr(doctor, "_sysctl", lambda name: "32768\t60999")
    assert next(doctor._ports()).found == "28232 (32768 to 60999)"  # as chapter 0 counts them


def test_unsupported_system_lists_missing_programs(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError) as refused:
        setup.ensure(["wrk", "ninja"])
    assert "wrk, the load generator" in refused.value.message
    assert "ninja" in refused.value.message


def test_release_without_a_new_compiler_is_reported(
        debian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be(monkeypatch, root=True)
    (debian.parent / "bin" / "apt-cache").write_text("#!/bin/sh\necho clang-13 clang-15\n")
    monkeypatch.setattr(needs, "compiler", lambda: None)
    with pytest.raises(UserError, match="no clang 18"):
        setup.ensure(["compiler"])


@pytest.mark.parametrize(("files", "limit"), [
    ({"/sys/fs/cgroup/cpu.max": "150000 100000"}, 1.5),
    ({"/sys/fs/cgroup/cpu.max": "max 100000"}, None),
    ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000",
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 0.5),
    ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, None),
    ({}, None),
])
def test_cpu_limit_is_read_from_both_cgroup_versions(
        monkeypatch: pytest.MonkeyPatch, files: dict[str, str], limit: float | None) -> None:
    monkeypatch.setattr(doctor, "_read", lambda file: files.get(str(file), ""))
    assert doctor.cpu_limit() == limit


def test_doctor_has_a_row_for_every_need(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [finding.name for finding in doctor._needs()]
    assert rows == ["C++ compiler", *needs.FOR_READERS[1:]]
    monkeypatch.setattr(needs, "PLACES", ())
    nothing = {name: dataclasses.replace(need, is_here=lambda: False)
               for name, need in needs.NEEDS.items()}
    monkeypatch.setattr(needs, "NEEDS", nothing)
    found = {finding.name: finding for finding in doctor._needs()}
    assert found["patch"].state == found["strace"].state == doctor.MISSING
    monkeypatch.setattr(doctor, "_is_linux", lambda: False)
    found = {finding.name: finding for finding in doctor._needs()}
    assert found["wrk"].state == doctor.MISSING and found["valgrind"].state == doctor.WARN
    assert found["valgrind"].found == "not on this system: allocations are not counted"
    assert "./scripts/hotpath check 2 --in linux" in found["valgrind"].fix


@pytest.mark.parametrize("makes", ["exit 1", "echo '#!/bin/sh\nexit 66' > \"$last\""],
                         ids=["does-not-link", "does-not-run"])
def test_unusable_thread_sanitizer_is_reported_missing(
        makes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\nfor last; do :; done\n{makes} && chmod +x "$last"\n')
    compiler.chmod(0o755)
    monkeypatch.setattr(needs, "compiler", lambda: compiler)
    monkeypatch.setattr(needs, "finds_races", needs.finds_races.__wrapped__)
    assert "no program runs under the thread sanitizer" in needs.lacking(needs.THREAD_SANITIZER)
