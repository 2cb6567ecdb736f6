"""--root itself: what can't be a root, what is served without an index, what happens when the
folder is replaced, and when no descriptor is left to open a file with.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from subprocess import run

from workbook.checks.behaviour import files, paths, redirects, site, start, suite, traversal
from workbook.checks.behaviour.alone import TIMEOUT_S, alone, connected, must_be_idle
from workbook.checks.behaviour.changing_files import root_of
from workbook.checks.behaviour.descriptors import receive_until_quiet
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BYTES,
    HOST,
    NOT_FOUND,
    PAGE_ANSWER,
    STAYS,
    Case,
    Unable,
    Unmet,
    answer,
    get,
    post,
    sunk,
)
from workbook.servers.client import Await, exchange
from workbook.servers.process import Server

FEW_DESCRIPTORS = 48
NOBODY_UID = 65_534
REPLACED_S = 5.0  # by then a replaced root is served; the server may check once a second
UNTOUCHED_S = 2.2  # by then the server has checked the root again
BETWEEN_S = 0.1
SMALL = b"small\n"
SMALL_ANSWER = answer("200 OK", BYTES, SMALL)
UNAVAILABLE = b"HTTP/1.1 503 "


def make(root: Path) -> None:
    (root / "small.bin").write_bytes(SMALL)


def make_all(root: Path) -> None:
    """Create the folder for all cases; this module's cases have a folder of their own in it."""
    site.make(root)


def cases() -> Iterator[Case]:
    for what, done in [("missing", "a folder that is not there"), ("file", "a file"),
                       ("unreadable", "a folder that it may not read"), ("empty", "no name")]:
        yield alone(f"{what}-root", "openat(2)", f"the server is started again with {done} as "
                    "--root, on a port that is taken", "it asks for no port, names --root and the "
                    "folder on stderr, prints nothing on stdout, and ends with 1",
                    partial(refused, what=what), site=make)
    yield alone("without-an-index", "RFC 9110 §9.3.1 (ours)", "the folder has no index.html",
                "GET / is answered with the page, a file with the file, another with 404",
                without_an_index, site=make)
    yield alone("replaced-root", "rename(2), symlink(7); ours: at most a few seconds later",
                "the folder is renamed, and a link to another is put in its place; then the link "
                "is switched to a third", "the files of the one that has the name now", replaced,
                site=make)
    yield alone("renamed-root", "rename(2), open(2)", "the folder is renamed; a file is asked for "
                "until the server has looked for the folder again", "the file, each time", renamed,
                site=make)
    yield alone("out-of-descriptors", "open(2), EMFILE; RFC 9110 §15.6.4 (ours)",
                f"the server may have {FEW_DESCRIPTORS} descriptors; as many clients take them; "
                "one of them asks for a file; the others disconnect, and a client asks again",
                "503 to that client; while it can only wait it uses no processor; then the file",
                out_of_descriptors, FEW_DESCRIPTORS, site=make)
    for error in ("EMFILE", "ENFILE", "ENOMEM", "EIO", "EINTR"):
        yield alone(f"openat2-fails-with-{error.lower()}",
                    f"openat2(2), {error}; RFC 9110 §15.6.4 (ours)",
                    f"every openat2 fails with {error}; a client asks for a file, another for "
                    "the sink", "503 to the one, an answer to the other",
                    partial(unavailable, error=error), site=make)
    yield alone("openat2-fails-with-eacces", "openat2(2), EACCES; RFC 9110 §15.5.4 (MAY)",
                "every openat2 fails with EACCES; a client asks for a file",
                "404, as if it were not there", forbidden, site=make)
    for error in ("ENOSYS", "EPERM", "EAGAIN"):
        yield alone(f"openat2-fails-with-{error.lower()}",
                    f"openat2(2), {error}; openat(2), O_NOFOLLOW",
                    f"every openat2 fails with {error}; then all that is asked of paths, and of "
                    "the types of files", "the same answers", partial(walked, error=error),
                    site=make_all)


def refused(server: Server, what: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        name = Path(folder, "site")
        wrapper: tuple[str, ...] = ()
        if what == "file":
            name.write_bytes(b"")
        if what == "unreadable":
            name.mkdir(mode=0)
            wrapper = without_rights(server)
        named = "" if what == "empty" else str(name)
        code, out, err = start.started_in_vain(server, "--port", str(server.port), "--root", named,
                                               wrapper=wrapper)
    if code is None:
        raise Unmet("it was started" if out else "it did not end")
    if code != 1 or out or "--root" not in err or named not in err:
        raise Unmet(start.reported(code, out, err))


def without_rights(server: Server) -> tuple[str, ...]:
    """Returns a command that drops the rights of a privileged user."""
    if os.geteuid() != 0:
        return ()
    if not shutil.which("setpriv"):
        raise Unable("no setpriv(1) here, and root may read everything")
    wrapper = ("setpriv", f"--reuid={NOBODY_UID}", f"--regid={NOBODY_UID}", "--clear-groups")
    if run([*wrapper, server.command[0], "--help"], capture_output=True).returncode != 0:
        raise Unable("only root may run this program where it is")
    return wrapper


def ask(server: Server, request: bytes) -> bytes:
    return exchange((server.host, server.port), (request,), TIMEOUT_S).data


def without_an_index(server: Server) -> None:
    for request, expected in [(get(), PAGE_ANSWER), (get(b"/small.bin"), SMALL_ANSWER),
                              (get(b"/index.html"), NOT_FOUND), (get(), PAGE_ANSWER)]:
        if (received := ask(server, request)) != expected:
            raise Unmet(f"{request.partition(b' HTTP')[0].decode()} got {received[:60]!r}")


def replaced(server: Server) -> None:
    root = root_of(server)
    must_serve(server, SMALL)
    root.rename(root.with_name("first"))
    for name in ("second", "third"):
        release = root.with_name(name)
        release.mkdir()
        (release / "small.bin").write_bytes(name.encode())
        site.age(release)
        link = root.with_name("link")
        link.symlink_to(name)
        link.rename(root)
        end = time.monotonic() + REPLACED_S
        while ask(server, get(b"/small.bin")) != answer("200 OK", BYTES, name.encode()):
            if time.monotonic() > end:
                must_serve(server, name.encode())
            time.sleep(BETWEEN_S)


def renamed(server: Server) -> None:
    root = root_of(server)
    root.rename(root.with_name("renamed"))
    end = time.monotonic() + UNTOUCHED_S
    while time.monotonic() < end:
        must_serve(server, SMALL)
        time.sleep(BETWEEN_S)


def must_serve(server: Server, content: bytes) -> None:
    received = ask(server, get(b"/small.bin"))
    if received != answer("200 OK", BYTES, content):
        raise Unmet(f"not {content!r}, but {received[-60:]!r} came")


def out_of_descriptors(server: Server) -> None:
    asks = post(b"", b"/sink", HOST)
    with connected(server, FEW_DESCRIPTORS) as clients:
        for client in clients:
            client.perform((asks,))
        receive_until_quiet(clients)
        served = [client for client in clients if client.received().data]
        if not served or len(served) == len(clients):
            raise Unmet(f"{len(served)} of {len(clients)} clients were answered")
        first, *others = served
        first.perform((get(b"/small.bin", HOST), Await(UNAVAILABLE)))
        received = first.received()
        if not received.data.startswith(sunk(0, STAYS) + UNAVAILABLE):
            raise Unmet(f"the client that asked for a file got {received.data[-60:]!r}")
        must_be_idle(server)
        for client in (*others, *(client for client in clients if client not in served)):
            client.close()
    with connected(server, 1) as (client,):
        client.perform((get(b"/small.bin"),))
        if client.finish().data != SMALL_ANSWER:
            raise Unmet("when there were descriptors again, the file did not come")


def unavailable(server: Server, error: str) -> None:
    with start.failing(server, "openat2", error) as other:
        must_print(other, UNAVAILABLE)
        if ask(other, post(b"hello", b"/sink")) != sunk(5):
            raise Unmet("the client that asked for something else was not answered")


def forbidden(server: Server) -> None:
    with start.failing(server, "openat2", "EACCES") as other:
        must_print(other, b"HTTP/1.1 404 ")


def must_print(server: Server, status: bytes) -> None:
    """The server must answer a request for a file that it can't open with `status`."""
    received = ask(server, get(b"/small.bin"))
    if received == SMALL_ANSWER:
        raise Unable("this server does not open files by openat2")
    if not received.startswith(status):
        raise Unmet(f"{received[:60]!r} came")


def walked(server: Server, error: str) -> None:
    rows = [*traversal.cases(), *paths.cases(), *redirects.cases(), *files.types()]
    folder = root_of(server) / "site"
    with start.failing(server, "openat2", error, "--root", str(folder)) as other:
        for case in rows:
            if failure := suite.perform(case, (other.host, other.port), suite.DATED_LEVEL):
                raise Unmet(f"{case.name}: {failure.problem}")


CHECKS = (group("root", "the folder served with --root", cases, level=9),)
