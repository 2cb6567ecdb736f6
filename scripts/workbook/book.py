"""Build the book with the environment's own mdbook."""

from __future__ import annotations

import os
import re
import subprocess
import webbrowser
from pathlib import Path

from workbook.errors import UserError
from workbook.paths import BOOK, BUILD, VENV, shown, venv_program

SITE = BUILD / "book"


def build() -> Path:
    """Build the book into build/book; returns its first page. UserError if anything is wrong."""
    done = subprocess.run(_mdbook("build"), cwd=BOOK, env=_environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    # mdbook 0.5 only logs some failures, such as a missing include, and still exits with 0.
    errors = [line for line in done.stdout.splitlines() if re.search(r"\bERROR\b", line)]
    if done.returncode != 0 or errors:
        said = "\n".join(errors or done.stdout.splitlines()[-15:])
        raise UserError(f"the book does not build:\n{said}",
                        "mend what is named above in book/, then run this again")
    return SITE / "index.html"


def serve(port: int) -> int:
    """Serve the book on this machine, rebuilt on every change, until Ctrl-C."""
    command = [*_mdbook("serve"), "--hostname", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, cwd=BOOK, env=_environment())
    try:
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        process.terminate()
        process.wait()


def show(page: Path) -> None:
    """Open the built book in the reader's browser."""
    if not webbrowser.open(page.as_uri()):
        raise UserError("no browser could be opened", f"open {shown(page)} in one yourself")


def _mdbook(verb: str) -> list[str]:
    program = venv_program("mdbook")
    if not program.exists():
        raise UserError("mdbook is missing from the environment",
                        "make it again: rm -r .venv, then run this again")
    return [str(program), verb, "--dest-dir", str(SITE)]


def _environment() -> dict[str, str]:
    """With our Python first, so that the book's preprocessor finds the package."""
    return {**os.environ, "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
