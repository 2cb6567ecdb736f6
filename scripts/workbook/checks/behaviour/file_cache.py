"""Files that are requested repeatedly: a cache may show only in its speed.

Any change to a file is visible within a second. The memory used for cached files is bounded, and is
released when needed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate, parsedate_to_datetime
from functools import partial
from pathlib import Path

import psutil

from workbook.checks.behaviour import (
    codings,
    files,
    paths,
    ranges,
    site,
    start,
    suite,
    time_of_day,
    validators,
)
from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    must_be_plain,
)
from workbook.checks.behaviour.changing_files import must_have, root_of
from workbook.checks.behaviour.dialogue import Answer, ask, must_be
from workbook.checks.behaviour.exhaustion import may_grow_by
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BYTES,
    HOST,
    MIB,
    STAYS,
    Case,
    Unable,
    Unmet,
    answer,
    get,
    noise,
    post,
    sunk,
)
from workbook.servers.client import Await, Client, Vanish
from workbook.servers.process import Server

ALONE = ("--threads", "1", "--cache", str(64 * MIB))
WORKERS = ("--threads", "4", "--cache", str(64 * MIB))
SPREAD = 32  # clients; the kernel's hash gives each of four workers at least one of them
SETTLED_S = 3.2  # a file unchanged for this long may be cached, however its timestamp is rounded
AHEAD_S = 5.0  # longer than SETTLED_S, so that a file is cached before its own time
STALE_S = 1.1  # a change made this long ago must be visible
ROOT_STALE_S = 3.0  # the same for a replaced root, which is checked once a second before files
BETWEEN_S = 0.03
# cached with and without content; each is more than a narrow client's socket accepts
SMALL, LARGE = 5_000, 2 * MIB
OLD, NEW = b"o", b"n"
MANY, EACH = 300, 60_000
AT_ONCE_S = 3.0  # shorter than the time after which an unused file is forgotten
COLD_S = 15.0  # by then a file that is no longer requested is closed
BODIES, BODY = 24, 512 * 1024  # together more than the cache holds
NAMES = 20_000
DAY_S = 86_400.0  # with its clock this far ahead of the folder's, a server caches every file there
BACK_S, AGAIN_S = 2.0, 2.3  # set the clock back, and wait for the same second to come again
MARGIN = 4 * MIB  # bytes of memory, in addition to what is cached

Change = Callable[[Path], None]


def make(root: Path) -> None:
    (root / "it.bin").write_bytes(OLD * SMALL)
    (root / "large.bin").write_bytes(OLD * LARGE)
    (root / "page.html").write_bytes(OLD * SMALL)
    (root / "one").mkdir()
    (root / "other").mkdir()
    for directory, letter in (("one", OLD), ("other", NEW)):
        (root / directory / "it.bin").write_bytes(letter * SMALL)
        os.utime(root / directory / "it.bin", ns=(site.MODIFIED_NS, site.MODIFIED_NS))
    (root / "now").symlink_to("one")


def make_many(root: Path) -> None:
    for number in range(MANY):
        (root / f"{number}.bin").write_bytes(noise(EACH))


def make_many_large(root: Path) -> None:
    for number in range(100):
        with (root / f"{number}.bin").open("wb") as file:
            file.truncate(MIB)


def cases() -> Iterator[Case]:
    """Yields the cases that hold for a cache without bounds, too."""
    yield from options()
    yield from changes()
    yield from young()
    yield from being_sent()
    for module in (codings, files, paths, ranges, validators):
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        yield alone(f"cached-{name}", "RFC 9110 §9.3.1 (ours)",
                    f"all that is asked of {name}, of a folder whose files have been the same for "
                    "a while; then all of it again", "the right answers, both times",
                    partial(repeated, group=module), arguments=ALONE,
                    site=partial(_in_folder, make=site.make))


def _in_folder(root: Path, make: Callable[[Path], Path]) -> None:
    """Calls `make` with the folder of this module's cases and drops the result."""
    make(root)


def options() -> Iterator[Case]:
    for what, value in [("negative", "-1"), ("with-a-unit", "64M"), ("empty", ""),
                        ("not-a-number", "much"), ("out-of-range", "9" * 30)]:
        yield alone(f"bound-{what}", "getopt(3)", f"the server is started with --cache {value!r}",
                    "it names --cache on stderr, prints nothing on stdout, and ends with 1",
                    partial(refused, value=value), site=make)
    yield alone("bound-of-zero", "open(2)", "the server keeps nothing (--cache 0); a file is asked "
                "for, replaced, and asked for at once", "the old bytes, then the new ones; it is not "
                "open in between", nothing_kept, arguments=("--threads", "1", "--cache", "0"),
                site=make)


def refused(server: Server, value: str) -> None:
    code, out, err = start.started_in_vain(server, "--cache", value)
    if code is None:
        raise Unmet("it was started" if out else "it did not end")
    if code != 1 or out or "--cache" not in err:
        raise Unmet(start.reported(code, out, err))


def changes() -> Iterator[Case]:
    for size, name in (("small", "it.bin"), ("large", "large.bin")):
        for what, done, change, status in [
            ("replaced", "another is renamed over it", _replace, 200),
            ("rewritten", "other bytes are written over its own", _rewrite, 200),
            ("truncated", "it is truncated to nothing", partial(os.truncate, length=0), 200),
            ("grown", "it grows", _grow, 200),
            ("touched", "its time is set", partial(os.utime, times=(1_100_000_000, 1_100_000_000)), 200),
            ("removed", "it is removed", os.unlink, 404),
            ("becomes-a-directory", "it is replaced by a directory", _make_directory, 301),
            ("becomes-a-fifo", "it is replaced by a FIFO", _make_fifo, 404),
        ]:
            yield _change(f"{size}-{what}", f"/{name}", done, change, status)  # type: ignore[arg-type]
    yield _change("missing-file-created", "/new.bin", "it is made",
                  lambda file: _write(file, NEW * SMALL), 200)
    yield _change("directory-link-changed", "/now/it.bin",
                  "a link in its name leads elsewhere, to a file "
                  "of the same size and time", lambda file: _link(file.parent), 200)
    yield alone("replaced-in-all-workers", "socket(7), SO_REUSEPORT; stat(2)",
                f"{SPREAD} clients get /it.bin from four workers and stay; another file is renamed "
                f"over it; one of them asks all the time; {STALE_S:g} s later all of them do",
                "what is there now, for each", replaced_in_all_workers, arguments=WORKERS,
                site=make)
    yield _change("root-replaced", "/it.bin", "another folder takes the root's place",
                  _replace_root, 200, stale_s=ROOT_STALE_S)
    yield alone("clock-set-back", "clock_gettime(2), CLOCK_MONOTONIC",
                f"GET /it.bin; another is renamed over it, and the time of day is set {BACK_S:g} s "
                f"back; {AGAIN_S:g} s later it is the same second again, and the file is asked for",
                "200, and what is there now",
                seen_with_clock_set_back, arguments=ALONE, site=make)
    yield _change("coded-form-created", "/page.html", "a form in gzip is created next to it",
                  lambda file: _write(file.with_name("page.html.gz"), NEW * 100), 200,
                  "Accept-Encoding: gzip\r\n")


def _change(what: str, target: str, done: str, change: Change, status: int,
            fields: str = "", stale_s: float = STALE_S) -> Case:
    return alone(what, "stat(2)", f"GET {target}, again and again, which has been the same for a "
                 f"while; {done}; it is asked for all the time, and {stale_s:g} s later",
                 f"{status}, and what is there now", partial(
                     seen, target=target, change=change, status=status, fields=fields,
                     stale_s=stale_s),
                 arguments=ALONE, site=make)


def settle(server: Server) -> None:
    """Wait until nothing in the folder has changed for `SETTLED_S` seconds."""
    changed = max(file.lstat().st_ctime for file in root_of(server).rglob("*"))
    time.sleep(max(0.0, changed + SETTLED_S - time.time()))


def _ask(server: Server, target: str, fields: str = "") -> Answer:
    return ask((server.host, server.port), target, fields)


def seen(server: Server, target: str, change: Change, status: int, fields: str,
         stale_s: float) -> None:
    file = root_of(server) / target[1:]
    settle(server)
    for _ in range(3):
        before = _ask(server, target, fields)
        time.sleep(BETWEEN_S)
    change(file)
    end = time.monotonic() + stale_s
    while time.monotonic() < end:
        _request_repeatedly(server, target, fields)
        time.sleep(BETWEEN_S)
    now = _ask(server, target, fields)
    must_be(now, status)
    if status != 200:
        return
    present = file.with_name("page.html.gz") if fields else file
    if now.body != present.read_bytes():
        raise Unmet(f"{stale_s:g} s later other bytes came than there are in the file: "
                    f"{now.body[:20]!r} and so on, {len(now.body):,}")
    if "etag" in now.fields and before.fields.get("etag") == now.tag and "now" not in target:
        raise Unmet(f"the ETag is still {now.tag}")


def replaced_in_all_workers(server: Server) -> None:
    """Each worker has its own cache and must check the file, however busy another worker is."""
    file, asks = root_of(server) / "it.bin", get(b"/it.bin", HOST)
    settle(server)
    with connected(server, SPREAD, timeout_s=2 * TIMEOUT_S) as clients:
        for client in clients:
            _next_body(client, asks)
        _replace(file)
        end = time.monotonic() + STALE_S
        while time.monotonic() < end:
            _next_body(clients[0], asks)
            time.sleep(BETWEEN_S)
        bodies = [_next_body(client, asks) for client in clients]
    if stale := bodies.count(OLD * SMALL):
        raise Unmet(f"{stale} of {SPREAD} clients got the old bytes {STALE_S:g} s later")


def _next_body(client: Client, asks: bytes) -> bytes:
    """Returns the body of the client's next answer: the old or the new version of the file."""
    before = len(client.received().raw)
    client.perform((asks,))
    while not client.ended:
        raw = client.received().raw
        body = raw[before:].partition(b"\r\n\r\n")[2]
        if body in (OLD * SMALL, NEW * (SMALL - 1)):
            return body
        client.receive_in_all(len(raw) + 1)
    raise Unmet("a client was not answered with the file")


def seen_with_clock_set_back(server: Server) -> None:
    """The server's clock is a day ahead at first, which shows that the clock can be set at all."""
    must_be_plain(server)  # ASan must be loaded before any other library
    file = root_of(server) / "it.bin"
    with time_of_day.settable() as clock:
        clock.set_ahead(DAY_S)
        with start.repeated(server, wrapper=clock.wrapper) as other:
            time.sleep(1.0 - time.time() % 1.0)  # at the beginning of a second
            first_s = time.time()
            date = _ask(other, "/it.bin").field("Date")
            if parsedate_to_datetime(date).timestamp() < first_s + DAY_S / 2:
                raise Unable("this server's time of day cannot be set")
            _replace(file)
            clock.set_ahead(DAY_S - BACK_S)
            time.sleep(AGAIN_S)
            if _ask(other, "/it.bin").body != file.read_bytes():
                raise Unmet("the old bytes came")


def _request_repeatedly(server: Server, target: str, fields: str) -> None:
    """Request the file; the answer must end, but its content is not checked.

    For a second either version may arrive, and only the beginning of a file that shrinks.
    """
    with connected(server, 1) as (client,):
        client.perform((get(target.encode(), HOST + b"Connection: close\r\n" + fields.encode()),))
        if client.finish().end == "timeout":
            raise Unmet("a request was not answered to its end")


def _write(file: Path, data: bytes) -> None:
    file.write_bytes(data)


def _replace(file: Path) -> None:
    other = file.with_suffix(".new")
    other.write_bytes(NEW * (file.stat().st_size - 1))
    other.rename(file)


def _rewrite(file: Path) -> None:
    with file.open("r+b") as known:
        known.write(NEW * file.stat().st_size)


def _grow(file: Path) -> None:
    with file.open("ab") as more:
        more.write(NEW * 1000)


def _make_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _make_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _link(link: Path) -> None:
    other = link.with_name("later")
    other.symlink_to("other")
    other.rename(link)


def _replace_root(file: Path) -> None:
    root = file.parent
    root.rename(root.with_name("before"))
    root.mkdir()
    file.write_bytes(NEW * SMALL)


def young() -> Iterator[Case]:
    for size, name in (("small", "it.bin"), ("large", "large.bin")):
        yield alone(f"recently-modified-{size}", "inode(7), st_mtim and st_ctim",
                    f"for {SETTLED_S / 2:g} s /{name} is written anew, in place, in the same size, "
                    "and asked for at once", "each time what was written last",
                    partial(written_anew, name=name), arguments=ALONE, site=make)
    yield alone("recently-modified-with-old-mtime", "utimensat(2); inode(7), st_ctim",
                "the same with /it.bin, whose time is set back each time",
                "each time what was written last", partial(
                    written_anew, name="it.bin", set_back=True),
                arguments=ALONE, site=make)
    yield alone("recently-modified-is-not-kept-open", "close(2)",
                "a large file is asked for that was made just now",
                "afterwards it is not open", young_is_not_open, arguments=ALONE, site=make)
    yield alone("validators-come-with-age", "RFC 9110 §8.8.2.1, §8.8.3.1 (SHOULD)",
                f"/it.bin, whose time is {AHEAD_S:g} s ahead, is asked for all the time until "
                f"{SETTLED_S:g} s after that time", "at the end it has ETag, and the time as "
                "Last-Modified", come_with_age, arguments=ALONE, site=make)


def written_anew(server: Server, name: str, set_back: bool = False) -> None:
    file, letter = root_of(server) / name, 0
    size, end = file.stat().st_size, time.monotonic() + SETTLED_S / 2
    while time.monotonic() < end:
        letter = (letter + 1) % 26
        with file.open("r+b") as known:
            known.write(bytes([97 + letter]) * size)
        if set_back:
            os.utime(file, (10**9, 10**9))
        body = _ask(server, f"/{name}").body
        if set(body) != {97 + letter}:
            raise Unmet(f"{chr(97 + letter)} was written, and {body[:1]!r} came")


def come_with_age(server: Server) -> None:
    """The file's time is in the future, so it's cached before that time is old enough."""
    due_s = int(time.time() + AHEAD_S)
    os.utime(root_of(server) / "it.bin", (due_s, due_s))
    while time.time() < due_s + SETTLED_S:
        _ask(server, "/it.bin")
        time.sleep(0.2)
    answer = _ask(server, "/it.bin")
    if not answer.tag or answer.field("Last-Modified") != formatdate(due_s, usegmt=True):
        raise Unmet(f"Last-Modified: {answer.field('Last-Modified')}")


def young_is_not_open(server: Server) -> None:
    file = root_of(server) / "large.bin"
    _replace(file)
    _ask(server, "/large.bin")
    if time.time() - file.stat().st_ctime < 1.5 and (open_now := open_files(server)):
        raise Unmet(f"{open_now[0]} is open")


def open_files(server: Server) -> list[str]:
    """Returns the server's open files below its root."""
    folder = Path(f"/proc/{server.pid}/fd")
    if not folder.exists():
        raise Unable("only Linux shows which files a process has open")
    found = [os.readlink(link) for link in folder.iterdir() if link.is_symlink()]
    return [name for name in found if name.startswith(f"{root_of(server).resolve()}/")]


def being_sent() -> Iterator[Case]:
    begun = f"a client reads the first bytes of a file of {LARGE // MIB} MiB that is kept"
    for what, change, status in [("replaced", _replace, 200), ("removed", os.unlink, 404)]:
        yield alone(f"{what}-while-sent", "rename(2), unlink(2)",
                    f"{begun}; it is {what}; {STALE_S:g} s later another asks, and the first reads on",
                    f"{status} for the other; the old bytes to their end for the first",
                    partial(old_to_the_end, change=change, status=status), arguments=ALONE,  # type: ignore[arg-type]
                    site=make)
    yield alone("replaced-while-sent-from-memory", "free(3)",
                f"a client asks forty times for a file of {EACH:,} bytes and reads nothing; it is "
                f"replaced; {STALE_S:g} s later another asks; the first reads",
                "whole answers, of one version each, the first of the old one", old_from_memory,
                arguments=ALONE, site=make)
    yield alone("two-readers-at-once", "sendfile(2)", f"{begun}, and another does; both read on",
                "all of it for both", two_at_once, arguments=ALONE, site=make)
    yield alone("client-resets-while-sent", "close(2)", f"{begun}, and vanishes; another asks",
                "all of it for the other", given_up, arguments=ALONE, site=make)
    yield alone("truncated-while-sent", "sendfile(2)",
                f"{begun}; it is truncated; the client reads on, others ask",
                "the end for the first, before the announced length; the others are answered",
                cut_off, arguments=ALONE, site=make)


def _begin(server: Server, clients: list[Client], target: str = "/large.bin") -> None:
    _ask(server, target)
    for client in clients:
        client.perform((get(target.encode()), Await(b"Content-Length: ")))
        if client.ended:
            raise Unmet("the file was not answered with")


def old_to_the_end(server: Server, change: Change, status: int) -> None:
    settle(server)
    with connected(server, 1, narrow=True) as (client,):
        _begin(server, [client])
        change(root_of(server) / "large.bin")
        time.sleep(STALE_S)
        must_be(_ask(server, "/large.bin"), status)
        must_have(client, answer("200 OK", BYTES, OLD * LARGE), "the client that had begun")


def old_from_memory(server: Server) -> None:
    file = root_of(server) / "page.bin"
    file.write_bytes(OLD * EACH)
    settle(server)
    with connected(server, 1, narrow=True) as (client,):
        _ask(server, "/page.bin")
        client.perform((get(b"/page.bin", HOST) * 39 + get(b"/page.bin"), Await(b"200 OK")))
        other = file.with_suffix(".new")
        other.write_bytes(NEW * EACH)
        other.rename(file)
        time.sleep(STALE_S)
        must_be(_ask(server, "/page.bin"), 200)
        remainder = client.finish().data
    old, new = (answer("200 OK", BYTES, letter * EACH, connection=STAYS) for letter in (OLD, NEW))
    last = answer("200 OK", BYTES, NEW * EACH)
    whole = 0
    while remainder.startswith((old, new)):
        remainder = remainder[len(old):]
        whole += 1
    if remainder not in (last, answer("200 OK", BYTES, OLD * EACH)) or whole != 39:
        raise Unmet(f"{whole} whole answers came, and then {len(remainder):,} bytes that are none")


def two_at_once(server: Server) -> None:
    settle(server)
    with connected(server, 2, narrow=True) as clients:
        _begin(server, clients)
        for client in clients:
            must_have(client, answer("200 OK", BYTES, OLD * LARGE), "one of the two")


def given_up(server: Server) -> None:
    settle(server)
    with connected(server, 1, narrow=True) as clients:
        _begin(server, clients)
        clients[0].perform((Vanish(),))
    for _ in range(3):
        body = _ask(server, "/large.bin").body
        if body != OLD * LARGE:
            raise Unmet(f"{len(body):,} bytes came")


def cut_off(server: Server) -> None:
    settle(server)
    with connected(server, 1, narrow=True) as clients:
        _begin(server, clients)
        os.truncate(root_of(server) / "large.bin", 0)
        received = clients[0].finish()
        if received.end == "timeout" or len(received.raw) >= LARGE:
            raise Unmet(f"{len(received.raw):,} bytes came; then the connection was {received.end}")
    time.sleep(STALE_S)
    if body := _ask(server, "/large.bin").body:
        raise Unmet(f"{len(body):,} bytes came of a file that has none")
    must_be(_ask(server, "/it.bin"), 200)


def bounds() -> Iterator[Case]:
    yield alone("bound-of-one-byte", "open(2)", "the server may keep one byte (--cache 1); a file is "
                "asked for, replaced, and asked for at once", "the old bytes, then the new ones; it is "
                "not open in between", nothing_kept, arguments=("--threads", "1", "--cache", "1"),
                site=make)
    yield alone("few-descriptors", "getrlimit(2), RLIMIT_NOFILE",
                "the server may have 64 descriptors; 100 large files are asked for, one after the "
                "other", "all are answered; no more than 16 of them are open", few_descriptors,
                few_descriptors=64, arguments=ALONE, site=make_many_large)
    yield alone("few-descriptors-with-huge-bound", "getrlimit(2), RLIMIT_NOFILE",
                f"the same with --cache {2**64 - 1}", "the same", few_descriptors,
                few_descriptors=64, arguments=("--threads", "1", "--cache", str(2**64 - 1)),
                site=make_many_large)
    yield alone("memory-is-bounded", "malloc(3)",
                f"with --cache {4 * MIB}, {MANY} files of {EACH:,} bytes are asked for, twice",
                "the server’s own memory grows by no more than that and "
                f"{MARGIN // MIB} MiB", memory_is_bounded,
                arguments=("--threads", "1", "--cache", str(4 * MIB)), site=make_many)
    yield alone("names-are-bounded", "malloc(3)",
                f"with --cache {MIB}, {NAMES:,} files are asked for that are not there",
                f"the server’s own memory grows by no more than that and {MARGIN // MIB} MiB",
                names_are_bounded, arguments=("--threads", "1", "--cache", str(MIB)), site=make)
    yield alone("visited-file-is-kept", "SIEVE (NSDI 2024)",
                "there is room for fifteen large files; one is asked for again after every twenty "
                "others that are asked for once", "it is open at the end, without having been opened "
                "again", visited_stays, arguments=("--threads", "1", "--cache", str(MIB)),
                site=make_many_large)


def release() -> Iterator[Case]:
    yield alone("eviction-frees-descriptors-for-clients", "accept(2), EMFILE",
                "the server may have 64 descriptors and has large files open; 70 clients come that ask for none",
                "clients have all the descriptors that it has not from the beginning on",
                descriptors_are_released, few_descriptors=64, arguments=ALONE, site=make_many_large)
    yield alone("eviction-frees-descriptors-for-files", "open(2), EMFILE",
                "the same; so many come that one descriptor is left; three of them ask for other files",
                "the files", files_are_released, few_descriptors=64, arguments=ALONE,
                site=make_many_large)
    yield alone("eviction-frees-memory",
                "operator new, std::set_new_handler; RFC 9110 §15.6.4 (ours)",
                f"{MANY} files of {EACH:,} bytes are kept; from then on the server may take as good as "
                f"no memory; {BODIES} clients post {BODY // 1024} KiB each, at the same time",
                "an answer for all of them, for what is kept gives way", memory_is_released, arguments=ALONE, site=make_many)
    yield alone("missing-file-evicts-nothing", "open(2), ENOENT (ours)",
                "a large file is asked for, then one that doesn't exist", "the first is still open",
                still_kept, arguments=ALONE, site=make)
    yield alone("unused-file-is-closed", "unlink(2)",
                f"{SPREAD} clients ask four workers for a large file, which is removed; no client "
                "asks for it again, but one of them asks for another file all the time",
                f"within {COLD_S:g} s no worker has it open any more", without_requests,
                arguments=WORKERS, site=make)


def nothing_kept(server: Server) -> None:
    settle(server)
    for _ in range(2):
        if _ask(server, "/large.bin").body != OLD * LARGE:
            raise Unmet("other bytes came")
    if open_now := open_files(server):
        raise Unmet(f"{open_now[0]} is open")
    _replace(root_of(server) / "large.bin")
    if set(_ask(server, "/large.bin").body) != set(NEW):
        raise Unmet("the old bytes came")


def few_descriptors(server: Server) -> None:
    settle(server)
    for number in range(100):
        must_be(_ask(server, f"/{number}.bin"), 200)
    if len(found := open_files(server)) > 16:
        raise Unmet(f"{len(found)} are open")
    if not found:
        raise Unmet("none is open")


def descriptors_are_released(server: Server) -> None:
    when_idle = psutil.Process(server.pid).num_fds()
    settle(server)
    for number in range(12):
        must_be(_ask(server, f"/{number}.bin"), 200)
    with connected(server, 70) as clients:
        for client in clients:
            client.perform((post(b"", b"/sink", HOST),))
        wanted = 64 - when_idle - 1
        deadline = time.monotonic() + AT_ONCE_S
        while (served := _answered(clients)) < wanted and time.monotonic() < deadline:
            time.sleep(BETWEEN_S)
    if served < wanted:
        raise Unmet(f"{served} clients were answered, and {wanted} would have had room")


def still_kept(server: Server) -> None:
    settle(server)
    must_be(_ask(server, "/large.bin"), 200)
    if not open_files(server):
        raise Unmet("it is not kept open")
    must_be(_ask(server, "/missing.bin"), 404)
    if not open_files(server):
        raise Unmet("the server has closed it")


def files_are_released(server: Server) -> None:
    settle(server)
    for number in range(12):
        must_be(_ask(server, f"/{number}.bin"), 200)
    time.sleep(SETTLED_S / 10)  # until the last client has disconnected
    free = 64 - psutil.Process(server.pid).num_fds()
    with connected(server, free - 1) as clients:
        for client in clients:
            client.perform((get(b"/", HOST), Await(b"\r\n\r\n")))
        for client, number in zip(clients, (50, 51, 52), strict=False):
            client.perform((get(b"/%d.bin" % number, HOST), Await(bytes(MIB))))
            if not client.received().data.endswith(bytes(MIB)):
                raise Unmet("a file did not come")


def _answered(clients: list[Client]) -> int:
    for client in clients:
        if not client.ended:
            client.receive()
    return sum(bool(client.received().data) for client in clients)


def memory_is_bounded(server: Server) -> None:
    must_be_plain(server)
    settle(server)
    before = server.own_bytes()
    for _ in range(2):
        for number in range(MANY):
            must_be(_ask(server, f"/{number}.bin"), 200)
    _must_have_grown_by(server, before, 4 * MIB)


def _must_have_grown_by(server: Server, before: int, maximum: int) -> None:
    if (grown := server.own_bytes() - before) > maximum + MARGIN:
        raise Unmet(f"it grew by {grown / MIB:.1f} MiB")


def names_are_bounded(server: Server) -> None:
    must_be_plain(server)
    before = server.own_bytes()
    for first in range(0, NAMES, 1000):
        asked = b"".join(get(b"/%d-%s" % (number, b"x" * 200), HOST)
                         for number in range(first, first + 1000))
        with connected(server, 1) as (client,):
            client.perform((asked + get(),))
            if client.finish().end != "closed":
                raise Unmet("not all were answered")
    _must_have_grown_by(server, before, MIB)


def memory_is_released(server: Server) -> None:
    must_be_plain(server)
    settle(server)
    for number in range(MANY):
        must_be(_ask(server, f"/{number}.bin"), 200)
    may_grow_by(server, MIB)
    body = post(bytes(BODY), b"/sink")
    with connected(server, BODIES) as clients:
        for client in clients:
            client.perform((body[:-1],))
        server.sleeps(TIMEOUT_S)
        for client in clients:
            client.perform((body[-1:],))
        refused = sum(client.finish().data != sunk(BODY) for client in clients)
    if refused:
        raise Unmet(f"{refused} of the {BODIES} were not answered so")


def visited_stays(server: Server) -> None:
    settle(server)
    for _ in range(2):
        _ask(server, "/0.bin")
    for number in range(1, 100):
        must_be(_ask(server, f"/{number}.bin"), 200)
        if number % 20 == 0:
            _ask(server, "/0.bin")
    found = open_files(server)
    if not any(name.endswith("/0.bin") for name in found):
        raise Unmet(f"it is not among the {len(found)} files that are open")


def without_requests(server: Server) -> None:
    settle(server)
    asked = b"HEAD" + get(b"/large.bin", HOST)[3:]
    with connected(server, SPREAD, timeout_s=2 * COLD_S) as clients:
        for client in clients:
            client.perform((asked, Await(b"\r\n\r\n")))
        if not open_files(server):
            raise Unmet("it is not kept open while it is asked for")
        os.unlink(root_of(server) / "large.bin")
        deadline = time.monotonic() + COLD_S
        while still_open := open_files(server):
            if time.monotonic() > deadline:
                raise Unmet(f"{COLD_S:g} s later it was still open, {len(still_open)} times")
            clients[0].perform((get(b"/it.bin", HOST),))
            clients[0].receive_for(0.2)


def repeated(server: Server, group: object) -> None:
    rows = [case for case in group.cases()  # type: ignore[attr-defined]
            if not case.alone and case.until is None]
    folder = root_of(server) / "site"
    with start.repeated(server, "--root", str(folder)) as other:
        settle(server)
        for _ in range(2):
            for case in rows:
                if failure := suite.perform(case, (other.host, other.port), suite.DATED_LEVEL):
                    raise Unmet(f"{case.name}: {failure.problem}")


CHECKS = (
    group("file-cache", "cached files", cases, level=11),
    group("cache-bounds", "the bounds of the cache", bounds, level=11),
    group("cache-release", "what the cache gives back", release, level=11),
)
