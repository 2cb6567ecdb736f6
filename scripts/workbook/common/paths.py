"""The project's paths. Every path in the package is derived from these."""

from __future__ import annotations

import os
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2]
ROOT = SCRIPTS.parent
BOOK = ROOT / "book"
RESULTS = BOOK / "results"
CHAPTERS = ROOT / "chapters"
SOLUTIONS = ROOT / "solutions"
BUILD = ROOT / os.environ.get("HOTPATH_BUILD", "build")  # a container may set another one
SITE = BUILD / "book"
STATE = ROOT / ".hotpath"
BACKUP = STATE / "backup"
VENV = ROOT / ".venv"
TEST_REQUIREMENTS = SCRIPTS / "requirements-test.txt"
COMMAND = "./scripts/hotpath"


def venv_program(name: str) -> Path:
    """Returns the path of a program that pip installed into our environment, such as mdbook."""
    return VENV / "bin" / name


def shown(path: Path) -> str:
    """Returns the path as the reader would type it: relative to the root if it's below the root."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)


def write_atomically(path: Path, text: str) -> None:
    """Write the whole file or keep the old one. Raises OSError, and leaves no temporary file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
