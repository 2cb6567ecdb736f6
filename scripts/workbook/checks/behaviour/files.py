"""Files as answers: their names, their lengths, the methods allowed, and pipelined requests for
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from workbook.checks.behaviour import site, start, suite
from workbook.checks.behaviour.alone import alone
from workbook.checks.behaviour.changing_files import root_of
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.rows import (
    BYTES,
    CLOSES,
    HOST,
    HTML,
    MIB,
    NEXT,
    NOT_FOUND,
    STAYS,
    STAYS_IN_1_0,
    TEXT,
    TINY,
    USUAL,
    Case,
    Unable,
    Unmet,
    answer,
    echoed,
    get,
    noise,
    not_allowed,
    post,
    refusal,
    sunk,
)
from workbook.checks.behaviour.rows import (
    row as any_row,
)
from workbook.checks.behaviour.unchanged import Exchange, chain, in_sequence
from workbook.servers.client import Await, HalfClose, Pause, Sip, Vanish, exchange
from workbook.servers.process import Server

row = partial(any_row, rooted=True)
A_TEXT = site.text_of(b"a.txt")
LARGE = "/" + site.sized(site.LARGE)
HUGE = 5 << 30  # bytes; its length doesn't fit into 32 bits
CROWD = 64
TIMEOUT_S = 20.0  # for large answers, on a busy machine


def file(name: str, connection: str = CLOSES, send_body: bool = True) -> bytes:
    """The answer with one of the files that are named after their size."""
    return answer("200 OK", BYTES, noise(int(name.removesuffix(".bin"))), send_body, connection)


def got(size: int) -> Exchange:
    name = site.sized(size)
    return get(b"/" + name.encode(), HOST), file(name, STAYS)


def asked(size: int, method: bytes = b"HEAD") -> Exchange:
    name = site.sized(size)
    return (method + b" /" + name.encode() + b" HTTP/1.1\r\n" + HOST + b"\r\n",
            file(name, STAYS, send_body=False))


SMALL: Exchange = (get(b"/a.txt", HOST), answer("200 OK", TEXT, A_TEXT, connection=STAYS))
SMALL_HEAD: Exchange = (b"HEAD /a.txt HTTP/1.1\r\n" + HOST + b"\r\n",
                        answer("200 OK", TEXT, A_TEXT, send_body=False, connection=STAYS))
LAST: Exchange = (get(b"/a.txt"), answer("200 OK", TEXT, A_TEXT))
LOST: Exchange = (get(b"/nowhere.txt", HOST), NOT_FOUND.replace(CLOSES.encode(), b""))
INDEX: Exchange = (get(b"/", HOST), answer("200 OK", HTML, site.INDEX, connection=STAYS))


def kept(what: str, *exchanges: Exchange, reference: str = "RFC 9112 §9.3 (SHOULD)") -> Case:
    """A case that sends these exchanges in turn on one connection, then one that closes it."""
    every = (*exchanges, LAST)
    return row(what, in_sequence(*every), chain(*every)[1], reference)


def at_once(what: str, *exchanges: Exchange, reference: str = "RFC 9112 §9.3.2 (MUST)") -> Case:
    """The same exchanges as `kept`, but all requests are sent before anything is answered."""
    sent, answers = chain(*exchanges, LAST)
    return row(what, sent, answers, reference)


def cases() -> Iterator[Case]:
    yield from types()
    yield from sizes()
    yield from methods()
    yield from connections()
    yield from readers()
    yield from without_sendfile()


def types() -> Iterator[Case]:
    for extension, media_type in site.TYPES.items():
        name, level = f"type.{extension}", "ours" if media_type == BYTES else "SHOULD"
        yield row(f"type-of-{extension}", get(f"/{name}".encode()),
                  answer("200 OK", media_type, site.text_of(name.encode())),
                  f"RFC 9110 §8.3 ({level})")
    for what, name, media_type in [("upper-case", "UPPER.TXT", TEXT),
                                   ("no-extension", "none", BYTES)]:
        yield row(f"type-of-{what}", get(f"/{name}".encode()),
                  answer("200 OK", media_type, site.text_of(name.encode())), "RFC 9110 §8.3 (ours)")


def sizes() -> Iterator[Case]:
    for size in site.SIZES:
        name = site.sized(size)
        yield row(f"file-of-{size}", get(f"/{name}".encode()), file(name),
                  "RFC 9110 §8.6 (SHOULD)")
        yield row(f"head-of-{size}", f"HEAD /{name} HTTP/1.1\r\n".encode() + USUAL + b"\r\n",
                  file(name, send_body=False), "RFC 9110 §9.3.2, §8.6 (MUST)")
    yield alone("head-of-5-GiB", "RFC 9110 §8.6 (MUST)", "a file with a hole of 5 GiB; HEAD",
                f"Content-Length: {HUGE}", head_of_a_huge_file, site=_huge_file)


def _huge_file(root: Path) -> None:
    with (root / "huge.bin").open("wb") as file, suppress(OSError):  # not on every file system
        file.truncate(HUGE)


def head_of_a_huge_file(server: Server) -> None:
    came = exchange((server.host, server.port), (
        b"HEAD /huge.bin HTTP/1.1\r\n" + USUAL + b"\r\n",), TIMEOUT_S).raw
    length = re.search(rb"^Content-Length: (\d+)\r$", came, re.MULTILINE)
    if length and int(length[1]) == 0:
        raise Unable("this file system has no file of 5 GiB")
    if not length or int(length[1]) != HUGE:
        raise Unmet(f"the answer begins with {came[:200]!r}")


def methods() -> Iterator[Case]:
    for method in (b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH"):
        what = method.decode().lower()
        yield row(f"{what}-to-a-file", method + b" /a.txt HTTP/1.1\r\n" + USUAL + b"\r\n",
                  (not_allowed(), refusal("501 Not Implemented")) if method == b"PATCH"
                  else not_allowed(), "RFC 9110 §9.1 (SHOULD), §15.5.6 (MUST)")
    refused = post(b"hello", b"/a.txt", HOST), not_allowed(connection=STAYS)
    yield kept("body-is-not-a-request", (post(NEXT, b"/a.txt", HOST), not_allowed(connection=STAYS)),
               reference="RFC 9112 §9.3 (MUST)")
    yield kept("refused-then-served", refused, SMALL, refused, LOST,
               reference="RFC 9112 §9.3 (SHOULD), RFC 9110 §15.5.6 (MUST)")
    yield row("head-of-missing-file", b"HEAD /nowhere.txt HTTP/1.1\r\n" + USUAL + b"\r\n",
              NOT_FOUND.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", "RFC 9110 §9.3.2 (MUST)")
    yield row("body-of-a-get-for-a-file",
              get(b"/a.txt", USUAL + b"Content-Length: 5\r\n") + b"hello", LAST[1],
              "RFC 9110 §9.3.1 (ours)")
    yield row("range-ignored", get(b"/a.txt", USUAL + b"Range: bytes=0-1\r\n"),
              LAST[1], "RFC 9110 §14.2 (MAY)", until=9)


def connections() -> Iterator[Case]:
    yield kept("ten-files", *[SMALL] * 10)
    yield kept("head-then-get", SMALL_HEAD, SMALL, SMALL_HEAD, SMALL)
    yield kept("head-of-a-large-file-then-get", asked(site.LARGE), got(1500), asked(0), got(0))
    yield kept("files-of-all-kinds", INDEX, got(0), LOST, got(131_072), SMALL_HEAD,
               (post(b"hello", fields=HOST), echoed(b"hello", STAYS)), got(1))
    yield kept("large-then-small", got(site.LARGE), SMALL, got(site.LARGE), got(1))
    old = b"HTTP/1.0"
    yield row("1.0-closes", get(b"/a.txt", b"", old), LAST[1],
              "RFC 9112 §9.3, §9.6 (SHOULD)")
    yield kept("1.0-keep-alive", (get(b"/1500.bin", b"Connection: keep-alive\r\n", old),
                             file("1500.bin", STAYS_IN_1_0)), reference="RFC 9112 §9.3 (ours)")
    yield at_once("pipelined-files", *[SMALL] * 20)
    yield at_once("pipelined-heads-and-files", SMALL_HEAD, SMALL, asked(site.LARGE), got(1500),
                  SMALL_HEAD)
    yield at_once("pipelined-large-and-small", got(131_072), SMALL, got(site.LARGE), got(0), SMALL)
    yield at_once("pipelined-empty-files", *[got(0)] * 5)
    yield at_once("pipelined-with-other-routes", SMALL, (post(b"hello", fields=HOST),
                  echoed(b"hello", STAYS)), LOST, got(16_384), (post(b"hey", b"/sink", HOST),
                  sunk(3, STAYS)), (post(b"x", b"/a.txt", HOST), not_allowed(connection=STAYS)), INDEX)
    large, small = got(MIB + 1), SMALL
    yield row("next-request-during-a-large-file",
              (large[0], Pause(0.02), small[0] + LAST[0]), large[1] + small[1] + LAST[1],
              "RFC 9112 §9.3.2 (MUST)", narrow=True, timeout_s=TIMEOUT_S)
    yield row("nothing-after-the-last-file", (LAST[0] + NEXT, Pause(0.01)), LAST[1],
              "RFC 9112 §9.6 (MUST)")
    for at in (3, 9, 17, len(LAST[0]) - 3):
        yield row(f"cut-at-{at}", (LAST[0][:at], TINY, LAST[0][at:]), LAST[1],
                  "RFC 9112 §2.2 (MUST)")


def readers() -> Iterator[Case]:
    whole = get(LARGE.encode())
    yield row("slow-reader", (Sip(65_536, 0.002), whole), file(LARGE[1:]),
              "tcp(7); sendfile(2)", timeout_s=TIMEOUT_S)
    yield row("pausing-reader", (*got(MIB + 1)[:1], Pause(0.3), LAST[0]),
              got(MIB + 1)[1] + LAST[1], "tcp(7); sendfile(2)", narrow=True, timeout_s=TIMEOUT_S)
    yield row("half-closed-reader", (get(LARGE.encode(), HOST), HalfClose()),
              file(LARGE[1:], STAYS), "RFC 9112 §9.6 (ours)")
    yield row("readers-at-once", get(b"/131072.bin"), file("131072.bin"), "sendfile(2)",
              copies=CROWD, enough=CROWD, timeout_s=TIMEOUT_S)
    resting = (get(LARGE.encode(), HOST), Await(b"200 OK"))
    yield row("while-readers-pause", LAST[0], LAST[1], "sendfile(2), EAGAIN",
              neighbours=(resting,) * 8)
    disconnected = (*resting, Vanish())
    yield row("after-readers-that-reset", LAST[0], LAST[1], "sendfile(2), EPIPE",
              neighbours=(disconnected,) * 8)
    yield row("while-others-request-a-fifo", LAST[0], LAST[1], "fifo(7)",
              neighbours=((get(b"/fifo", HOST),),) * 8)


def make_all(root: Path) -> None:
    site.make(root)


def without_sendfile() -> Iterator[Case]:
    """sendfile(2) recommends a fallback to read(2) and write(2), and some file systems need it."""
    for error in ("EINVAL", "ENOSYS", "EOPNOTSUPP", "EPERM"):
        yield alone(f"sendfile-fails-with-{error.lower()}",
                    f"sendfile(2), NOTES, {error}; RFC 9110 §8.6 (SHOULD)",
                    f"every sendfile fails with {error}; then all that is asked of the lengths of "
                    "files, of connections and of slow readers", "the same answers",
                    partial(copied, error=error), site=make_all)
    yield alone("sendfile-refused-once-per-file", "sendfile(2), NOTES; ours",
                f"every sendfile fails with EINVAL; a client asks for {site.LARGE:,} bytes",
                "all of them; sendfile is not called again for this file", refused_once,
                site=make_all)


def copied(server: Server, error: str) -> None:
    folder = root_of(server) / "site"
    with start.failing(server, "sendfile", error, "--root", str(folder)) as other:
        for case in (*sizes(), *connections(), *readers()):
            if case.alone:
                continue
            if failure := suite.perform(case, (other.host, other.port), suite.DATED_LEVEL):
                raise Unmet(f"{case.name}: {failure.problem}")


def refused_once(server: Server) -> None:
    folder = root_of(server)
    log = folder / "calls"
    with start.failing(server, "sendfile", "EINVAL", "--root", str(folder / "site"),
                       log=str(log)) as other:
        received = exchange((other.host, other.port), (get(LARGE.encode(), HOST), HalfClose()),
                            TIMEOUT_S)
    if received.data != file(LARGE[1:], STAYS):
        raise Unmet(f"{len(received.data):,} bytes came, not all of the answer")
    if (calls := log.read_text().count("sendfile(")) > 1:
        raise Unmet(f"{calls} calls of sendfile were refused")


CHECKS = (group("files", "serving files", cases, level=9),)
