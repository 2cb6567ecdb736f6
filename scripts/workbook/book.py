"""Build the book, check its links, and show it to the reader."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from workbook.errors import UserError
from workbook.paths import BOOK, BUILD, SCRIPTS, shown

SITE = BUILD / "book"


def build() -> Path:
    """Build into build/book and check every link; returns the first page.

    UserError lists what is wrong, as page:line where the fault is on a page.
    """
    log = _run("mdbook", "build", str(BOOK), "--dest-dir", str(SITE))
    if faults := _faults(log):  # mdBook only warns of some, and exits with 0
        raise UserError(f"the book has faults:\n{faults}", "mend them and build again")
    _run("lychee", "--offline", "--include-fragments", "--no-progress", "--quiet",
         "--root-dir", str(SITE), str(SITE))
    return SITE / "index.html"


def serve(port: int = 3000) -> None:
    """Build, then serve on loopback until interrupted; port 0 takes a free one."""
    directory = build().parent
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port),
                                     partial(_Quiet, directory=str(directory)))
    except (OSError, OverflowError) as error:
        raise UserError(f"port {port} cannot be used: {error}",
                        "choose another, or 0 for a free one") from None
    with server:
        print(f"the book is at http://127.0.0.1:{server.server_port} (Ctrl-C ends it)", flush=True)
        server.serve_forever()


def show(page: Path) -> None:
    """Open a built page in the reader's browser."""
    if not webbrowser.open(page.as_uri()):
        raise UserError("no browser could be opened", f"open {shown(page)} in one yourself")


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _run(program: str, *arguments: str) -> str:
    """What the program printed; UserError with its complaints if it failed."""
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS), "NO_COLOR": "1",
                   "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    try:
        done = subprocess.run([programs / program, *arguments], env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except FileNotFoundError:
        raise UserError(f"{program} is missing from the environment",
                        "make it again: rm -r .venv, then run this again") from None
    if done.returncode != 0:
        raise UserError(f"the book does not build:\n{_faults(done.stdout) or done.stdout.strip()}",
                        "mend what is named above and build again")
    return done.stdout


def _faults(log: str) -> str:
    """The lines that say what is wrong: the preprocessor's own, else mdBook's warnings."""
    ours = re.findall(r"^(?:book/src/\S+?:\d+: |error: ).*", log, re.M)
    return "\n".join(ours or re.findall(r"^ *(?:WARN|ERROR) .*(?:\n(?! *[A-Z]{4,5} ).*)*", log, re.M))
