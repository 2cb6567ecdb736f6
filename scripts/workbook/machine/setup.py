"""Installs what the workbook needs and the system lacks. Standard library only."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from workbook.common import packages
from workbook.common.errors import UserError
from workbook.common.paths import TEST_REQUIREMENTS, VENV
from workbook.machine import probes
from workbook.machine.needs import NEEDS, Need, is_debian, path_command


@dataclass
class Consent:
    """Whether the system may be changed without asking; --yes sets it."""

    given: bool = field(default=False)


consent = Consent()


def ensure(names: Iterable[str]) -> None:
    """Install those of `names` that are missing; silent and fast when none is.

    What this system can't have (strace on macOS) is left out; the code that needs it reports that.
    Raises UserError with the command to run if we may not, or can't, install.
    """
    missing = [NEEDS[name] for name in names if not NEEDS[name].is_here()]
    if not missing:
        return
    _require_in_path(missing)
    if shutil.which("apt-get"):
        _install_with_apt(missing)
    elif shutil.which("brew"):
        _install_with_brew([need for need in missing if need.brew])
    elif sys.platform == "linux" or any(need.brew for need in missing):
        raise UserError("this needs what the system does not have:\n" + _listed(missing),
                        "install it with the system's own package manager, then run this again")
    still = [need for need in missing if not need.is_here() and (need.brew or is_debian())]
    if still:
        _require_in_path(still)
        raise UserError("still missing after the installation:\n" + _listed(still),
                        "look in the messages above for the folder where it was installed, add that "
                        "to PATH, then run the same command again")


def _require_in_path(missing: Iterable[Need]) -> None:
    """Raises UserError if some of these are installed in a folder that is not in PATH."""
    found = {need.program: place for need in missing if (place := need.off_path())}
    if found:
        raise UserError("\n".join(f"{program} is in {place}, which is not in PATH"
                                  for program, place in found.items()),
                        f"{path_command(*found.values())}, then run the same command again")


def ensure_test_packages(requirements: Path = TEST_REQUIREMENTS, venv: Path = VENV) -> None:
    """Add to .venv, once, what only the tests need. Raises UserError if pip fails."""
    stamp, wanted = venv / "stamp-test", hashlib.sha256(requirements.read_bytes()).hexdigest()
    from filelock import FileLock  # imported here, because .venv, which has it, may not exist yet

    with FileLock(venv / "test-packages.lock"):
        if stamp.exists() and stamp.read_text() == wanted:
            return
        _print("Adding what the tests need to .venv (once, about 155 MB to fetch)")
        install_packages(requirements, "the packages of the tests")
        stamp.write_text(wanted)


def install_packages(requirements: Path, what: str, *options: str) -> None:
    """Add packages to our environment. UserError if pip fails, or installs them elsewhere."""
    pip = packages.install_command(sys.executable, requirements, "--quiet", *options)
    if subprocess.run(pip, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                      env=packages.environment(sys.executable)).returncode != 0:
        raise UserError(f"Python could not install {what}",
                        "fix what the lines above report (the network?), then run this again")
    packages.require_installed(sys.executable, requirements)


def _listed(needs: Iterable[Need]) -> str:
    return "\n".join(f"  - {need.what}" for need in needs)


def _install_with_apt(missing: list[Need]) -> None:
    wanted = [package for need in missing for package in need.apt]
    llvm = ""
    if any("{llvm}" in package for package in wanted):
        llvm = _newest_llvm()
    packages = sorted({package.format(llvm=llvm) for package in wanted})
    root = [] if os.geteuid() == 0 else ["sudo"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o",
           "DPkg::Lock::Timeout=120"]
    _carry_out(missing, [[*apt, "update", "-q"],
                         [*apt, "install", "-y", "-q", "--no-install-recommends", *packages]])


def _newest_llvm() -> str:
    """Returns the preferred version that apt has; Debian 12 and later and Ubuntu 24.04 have 19."""
    known = (probes.answer(["apt-cache", "pkgnames", "clang-"]) or "").split()
    for version in ("19", "20", "21", "18"):
        if f"clang-{version}" in known or not known:
            return version
    raise UserError("this release has no clang 18 or newer, which the workbook's C++ needs",
                    "use Debian 12 or newer, Ubuntu 24.04 or newer, or set CXX to a compiler")


def _install_with_brew(missing: list[Need]) -> None:
    commands = [["brew", "install", *need.brew] for need in missing if "--cask" in need.brew]
    plain = [name for need in missing if "--cask" not in need.brew for name in need.brew]
    if plain:
        commands.insert(0, ["brew", "install", *plain])
    if commands:
        _carry_out(missing, commands)


def _carry_out(missing: list[Need], commands: list[list[str]]) -> None:
    """Show the commands, ask if necessary, run them. UserError if that's refused or fails."""
    shown = "\n".join("  " + " ".join(command) for command in commands)
    _print(f"Hot Path needs:\n{_listed(missing)}\nwhich takes:\n{shown}")
    _ask(shown)
    for command in commands:
        try:
            code = subprocess.run(command, stdout=sys.stderr).returncode
        except FileNotFoundError:
            raise UserError(f"there is no {command[0]} here", f"as root, run:\n{shown}") from None
        if code != 0:
            raise UserError(f"this failed with exit code {code}: {' '.join(command)}",
                            "see its messages above, fix that, then run the same command again")


def _ask(shown: str) -> None:
    """Return if installing is allowed: by --yes, by an answer, or by CI=true, without a user."""
    if consent.given or os.environ.get("CI", "").lower() in ("true", "1"):
        return
    if sys.stdin is not None and sys.stdin.isatty():
        print("Go ahead? [Y/n] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().lower() in ("\n", "y\n", "yes\n"):
            return
        raise UserError("nothing was installed", f"run this yourself:\n{shown}")
    raise UserError("nothing was installed, because there is no terminal to ask on",
                    f"run the same command again with --yes, or this yourself:\n{shown}")


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
