"""Build the book, check its links, and show it to the reader."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from workbook.common.errors import UserError
from workbook.common.heartbeat import heartbeat
from workbook.common.leftovers import is_leftover
from workbook.common.paths import BOOK, BUILD, COMMAND, ROOT, SCRIPTS, SITE, shown
from workbook.course import editions
from workbook.machine import git

EDITORS = {"github.com": "edit", "gitlab.com": "-/edit", "codeberg.org": "_edit"}


def build(book: Path = BOOK, site: Path = SITE, searched: bool = True) -> Path:
    """Build the site, and check every link in it if lychee is installed; returns its first page.
    Unless `searched`, its search also finds the contents of diffs and drawings.

    Raises UserError listing the problems, as page:line if they are on a page.
    """
    with _sources(book) as settings:
        log = _run("pages", "mdbook", "build", str(book), "--dest-dir", str(site), **settings)
    if faults := _warnings(log):  # mdBook only logs some of them, and exits with 0
        raise UserError(f"the book has faults:\n{faults}", "fix them and build again")
    if searched:
        _index(book, site)
    if _path("lychee").exists():
        _run("links", "lychee", "--offline", "--include-fragments", "--no-progress", "--quiet",
             "--root-dir", str(site), str(site))
    else:
        print(f"note: links are not checked; {COMMAND} setup --for-authors fetches what does that",
              file=sys.stderr)
    return site / "index.html"


@contextmanager
def _sources(book: Path) -> Iterator[dict[str, str]]:
    """Yields the environment variables that make mdBook read the pages without editors' leftovers:
    it would copy a backup into the site, and fail on Emacs's lock, a dangling symbolic link.
    """
    pages = book / "src"
    names = (name for _, folders, files in os.walk(pages) for name in (*folders, *files))
    if not any(map(is_leftover, names)):
        yield _redirects(book)
        return
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(pages, Path(scratch, "src"),
                        ignore=lambda _, names: set(filter(is_leftover, names)))
        yield {"MDBOOK_BOOK__SRC": f"{scratch}/src", **_redirects(book)}


def _redirects(book: Path) -> dict[str, str]:
    """Returns the redirects of earlier editions' addresses. Anchors are redirected only from a page
    that this book has, or that moved as a whole, because mdBook refuses others.
    """
    every = editions.redirects()

    def is_known(address: str) -> bool:
        page = address.partition("#")[0]
        return page in every or (book / "src" / page[1:]).with_suffix(".md").exists()

    found = {old: new for old, new in every.items() if is_known(old)}
    return {"MDBOOK_OUTPUT__HTML__REDIRECT": json.dumps(found)}


def _index(book: Path, site: Path) -> None:
    """Replace the search index by one of the book without diffs and drawings."""
    with tempfile.TemporaryDirectory() as scratch, _sources(book) as settings:
        _run("search index", "mdbook", "build", str(book), "--dest-dir", scratch,
             HOTPATH_INDEXING="1", **settings)
        (index,), (crowded,) = (folder.glob("searchindex*.js") for folder in (Path(scratch), site))
        shutil.copyfile(index, crowded)


def serve(port: int = 3000) -> int:
    """Serve the book on loopback, rebuilding it on every change, until interrupted."""
    build()
    _require_free(port)
    command = [_program("mdbook"), "serve", str(BOOK), "--dest-dir", str(BUILD / "book-live"),
               "--hostname", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, env=_environment() | _redirects(BOOK))
    try:
        return process.wait()
    finally:
        process.terminate()
        process.wait()


def show(page: Path) -> None:
    """Open a built page in the reader's browser."""
    if not webbrowser.open(page.as_uri()):
        raise UserError("no browser could be opened", f"open {shown(page)} in one yourself")


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise UserError(f"port {port} cannot be used: {error}",
                            "choose another: --port 3001") from None


def _run(stage: str, program: str, *arguments: str, **environment: str) -> str:
    """Returns what the program printed; raises UserError with its messages if it failed. The
    progress line shows the stage.
    """
    doing = f"building the book: {stage}"
    with heartbeat(lambda: doing), Console(stderr=True).status(doing):
        done = subprocess.run([_program(program), *arguments], env=_environment() | environment,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise UserError(f"the book does not build:\n{_located(done.stdout) or done.stdout.strip()}",
                        "fix what is named above and build again")
    return done.stdout


def _program(name: str) -> str:
    """Returns the path of a program that pip installed next to this Python."""
    program = _path(name)
    if not program.exists():
        raise UserError(f"{name} is missing from the environment",
                        "make it again: rm -r .venv, then run this again")
    return str(program)


def _path(name: str) -> Path:
    return Path(sys.executable).with_name(name)


def _environment() -> dict[str, str]:
    """Returns an environment with this Python first in PATH; mdBook runs the preprocessor in it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    editor = edit_address()
    return {**os.environ, "PATH": path, "PYTHONPATH": str(SCRIPTS), "NO_COLOR": "1",
            **({"MDBOOK_OUTPUT__HTML__EDIT_URL_TEMPLATE": editor} if editor else {})}


def edit_address() -> str:
    """Returns where a page can be edited online, if the clone's origin is on a known forge."""
    address = git.answer("remote", "get-url", "origin", cwd=ROOT)
    found = re.fullmatch(r"(?:https://|(?:ssh://)?git@)([\w.-]+)[:/]([\w./-]+?)(?:\.git)?/?",
                         address or "")
    if not found or found[1] not in EDITORS:
        return ""
    return f"https://{found[1]}/{found[2]}/{EDITORS[found[1]]}/main/book/{{path}}"


def _located(log: str) -> str:
    """Returns the preprocessor's own messages, without what mdBook adds."""
    return "\n".join(re.findall(r"^(?:book/src/\S+?:\d+: |error: ).*", log, re.M))


def _warnings(log: str) -> str:
    """Returns mdBook's warnings and errors, with their continuation lines."""
    return "\n".join(re.findall(r"^ *(?:WARN|ERROR) .*(?:\n(?! *[A-Z]{4,5} ).*)*", log, re.M))
