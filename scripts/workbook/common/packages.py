"""Installs Python packages with pip, whatever the user's pip settings. Standard library only.

Settings about how packages are reached (index, proxy, certificates) are kept. Settings about where
they are installed (`target`, `prefix`, `user`) are dropped, or .venv would stay empty.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from workbook.common import inherited
from workbook.common.errors import UserError

# Settings that would silence `pip config list` or restrict it to one file.
LIST_ALL = {"PIP_QUIET": "0", "PIP_USER": "0", "PIP_GLOBAL": "0", "PIP_SITE": "0"}

# Prints each package of the requirements that this interpreter should have but doesn't find.
MISSING = """\
import sys
from importlib.metadata import PackageNotFoundError, version
from pip._vendor.packaging.requirements import Requirement
for line in open(sys.argv[1], encoding="utf-8"):
    text = line.split(" --hash")[0].rstrip("\\\\\\n ")
    if not line[:1].isalnum():
        continue
    wanted = Requirement(text)
    if wanted.marker and not wanted.marker.evaluate():
        continue
    try:
        if wanted.specifier.contains(version(wanted.name), prereleases=True):
            continue
    except PackageNotFoundError:
        pass
    print(wanted.name)
"""


def install_command(python: str, requirements: Path, *options: str) -> list[str]:
    """Returns the command that installs exactly these packages; run it with environment()."""
    return [python, "-m", "pip", "install", "--require-hashes", "--no-compile",
            "--disable-pip-version-check", *options, "-r", str(requirements)]


def environment(python: str) -> dict[str, str]:
    """Returns the environment for pip: of the user's settings, in variables and files, only those
    about how packages are reached.
    """
    ours = dict(os.environ)
    inherited.clean(ours)
    for name, value in _settings(python, ours).items():
        if name in inherited.FAMILIES["PIP_"]:
            ours[name] = value
    return {**ours, "PIP_CONFIG_FILE": os.devnull, "PYTHONUNBUFFERED": "1"}


def _settings(python: str, variables: dict[str, str]) -> dict[str, str]:
    """Returns pip's settings as variables; a later source overrides an earlier one."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    with suppress(OSError, subprocess.TimeoutExpired):
        listed = subprocess.run(
            [python, "-m", "pip", "--disable-pip-version-check", "config", "list"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            env={**variables, **LIST_ALL}, timeout=60)
        for line in listed.stdout.splitlines() if listed.returncode == 0 else ():
            if match := re.match(r"(global|install|:env:)\.([\w-]+)=(.*)", line):
                with suppress(ValueError, SyntaxError):
                    name = "PIP_" + match[2].upper().replace("-", "_")
                    found[match[1]][name] = " ".join(str(ast.literal_eval(match[3])).split())
    return {**found["global"], **found["install"], **found[":env:"]}


def require_installed(python: str, requirements: Path) -> None:
    """Raises UserError unless this interpreter finds what pip claims to have installed."""
    done = subprocess.run([python, "-I", "-c", MISSING, str(requirements)], capture_output=True,
                          stdin=subprocess.DEVNULL, text=True, errors="replace")
    if done.returncode != 0 or done.stdout.strip():
        found = ", ".join(done.stdout.split()) or (done.stderr.strip() or "?").splitlines()[-1]
        raise UserError(f"pip reported success, but {python} does not find: {found}",
                        "look for a setting that sends packages elsewhere, such as target or "
                        f"prefix: {python} -m pip config debug")
