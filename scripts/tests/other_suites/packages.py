"""Downloads the projects, at fixed versions with fixed hashes, into the build directory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from workbook.common import packages
from workbook.common.paths import BUILD, SCRIPTS

REQUIREMENTS = SCRIPTS / "requirements-suites.txt"
CRATES = {  # name: version, SHA-256 of the package
    "httparse": ("1.10.1", "6dbf3de79e51f3d586ab4cb9d5c3e2c14aa28ed23d180cf89b4df0454a69cc87"),
    "hyper": ("1.12.0", "2c3e324da4c95177d6291d4c8730197c0d1822f8a9766814a4a44fa5ab797c9c"),
}
PROJECT = '[package]\nname = "suites"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'
DIRECTORY = BUILD / "other-suites"
TIMEOUT_S = 300


class Unavailable(Exception):
    """A package cannot be downloaded; the text is the reason."""


def python_sources() -> Path:
    """The directory with the unpacked source distributions. Raises Unavailable."""
    directory, archives = DIRECTORY / "python", DIRECTORY / "archives"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not _is_current(directory, wanted):
        archives.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "pip", "download", "--require-hashes", "--no-deps", "--quiet",
              "--disable-pip-version-check", "--dest", str(archives), "-r", str(REQUIREMENTS)],
             DIRECTORY, packages.environment(sys.executable))
        shutil.rmtree(directory, ignore_errors=True)
        for archive in archives.glob("*.tar.gz"):
            with tarfile.open(archive) as file:
                file.extractall(directory, filter="data")
        shutil.rmtree(archives)
        _mark_current(directory, wanted)
    return directory


def crates() -> Path:
    """The directory with the sources of the crates, one folder each. Raises Unavailable.

    Cargo fetches a crate only as a dependency of a project, so it gets one that is never built.
    """
    directory = DIRECTORY / "rust"
    project = PROJECT + "".join(f'{name} = {{ version = "={version}", default-features = false }}\n'
                                for name, (version, _) in CRATES.items())
    if not shutil.which("cargo"):
        raise Unavailable("there is no cargo")
    if not _is_current(directory, project):
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "src").mkdir(parents=True)
        (directory / "src" / "main.rs").write_text("fn main() {}\n", encoding="utf-8")
        (directory / "Cargo.toml").write_text(project, encoding="utf-8")
        _run(["cargo", "vendor", "--quiet", "."], directory)
        _require_hashes(directory)
        _mark_current(directory, project)
    return directory


def _require_hashes(directory: Path) -> None:
    """Cargo has compared each package with this hash."""
    for name, (_, digest) in CRATES.items():
        listed = (directory / name / ".cargo-checksum.json").read_text(encoding="utf-8")
        assert json.loads(listed)["package"] == digest, f"{name} has another hash"


def _run(command: list[str], directory: Path, environment: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(str(error)) from None
    if done.returncode != 0:
        # A package that is there but has another hash is no lack of a network.
        assert "DO NOT MATCH THE HASHES" not in done.stderr, done.stderr
        raise Unavailable((done.stderr.strip() or "no message").splitlines()[-1])


def _is_current(directory: Path, wanted: str) -> bool:
    """Whether the directory is complete, and was made for these versions."""
    mark = directory / "wanted"
    return mark.exists() and mark.read_text(encoding="utf-8") == wanted


def _mark_current(directory: Path, wanted: str) -> None:
    (directory / "wanted").write_text(wanted, encoding="utf-8")
