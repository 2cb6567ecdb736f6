"""A log line for each request: what it contains, that clients can't forge one, and that none is
lost without being counted, whatever happens to the file.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    have_the_page,
    must_be_plain,
)
from workbook.checks.behaviour.buffered import send_at_once
from workbook.checks.behaviour.chunked import post as post_chunks
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.log_lines import READERS, Line, lost, read, whole
from workbook.checks.behaviour.rows import (
    CONTINUE,
    HOST,
    MAX_BODY,
    MAX_LINE,
    PAGE,
    STAYS,
    USUAL,
    Case,
    Unable,
    Unmet,
    chunks,
    get,
    post,
    sunk,
)
from workbook.checks.behaviour.start import repeated, reported, started_in_vain, traced
from workbook.checks.behaviour.unchanged import ASKS, GET
from workbook.common import children
from workbook.servers.client import Await, Client, HalfClose, Pause, Vanish, exchange
from workbook.servers.process import READY, Server

SOON_S = 1.2  # a line is in its file by then
SLOW_S = 6.0  # the same on a busy machine
MANY = 4000  # requests: their lines are more than a worker buffers before it writes
CLIENTS = 8
MAX_LOGGED_LINE, MAX_LOGGED_FIELD = 2048, 1024
ODD_BYTES = bytes(range(0x80, 0x100)) + b"\t\"\\ \\\"}\\x41{"
AT_ONCE, MAX_WRITES = 50, 12  # one write per wait, and some for requests that arrive later
MANY_CLIENTS, ENOUGH_EACH = 400, 2048
LIMIT = 60_000  # maximum size of the file in bytes
PAGE_LINE = Line(b"GET / HTTP/1.1", 200, len(PAGE))
FORMS = tuple(READERS)
MESSAGE = re.compile(rb"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\] info: .+")


def cases() -> Iterator[Case]:
    yield from what_it_reports()
    yield from any_input()
    yield from order_and_amount()
    yield from access_logs()


def what_it_reports() -> Iterator[Case]:
    for form in FORMS:
        yield alone(f"requests-{form}", "the chapter's page",
                    "requests of all kinds, one after another: GET, HEAD, POST, an echo in chunks, "
                    "404, HTTP/1.0, with Referer and User-Agent and without",
                    "a complete line for each of them", partial(requests, form=form))
        yield alone(f"refusals-{form}", "the chapter's page",
                    "requests that are refused with 400, 413, 414, 417, 431, 501 and 505",
                    "a line for each of them, with the request line as far as it came",
                    partial(refusals, form=form))
        yield alone(f"disconnected-{form}", "the chapter's page",
                    "clients that leave in a head, in a body, in an echo, and without a word",
                    "a line for the first three, with the status of the answer that had begun",
                    partial(cut_off, form=form))
    yield alone("ipv6", "RFC 5952 §4 (SHOULD), RFC 4291 §2.5.5.2 (ours)",
                "the server listens on ::; a client comes by IPv6, another by IPv4",
                "the address of each as it is usually written", ipv6)
    yield alone("one-client-too-many", "RFC 9110 §15.6.4 (ours)", "one client may come, and two do",
                "a line with 503 for the second", rejected, level=14)


def any_input() -> Iterator[Case]:
    for form in FORMS:
        yield alone(f"injection-{form}", "CWE-117; RFC 9110 §5.5 (ours)",
                    "targets and fields with quotes, backslashes, escapes, line ends as %0d%0a, "
                    "tabs and every byte above 0x7f; garbage with control characters instead of a "
                    "request",
                    "one line for each, from which the bytes can be had back",
                    partial(injection, form=form))
    yield alone("long-line", "the chapter's page",
                f"a target of {MAX_LINE - 20} quotes, and fields of "
                "thousands", f"{MAX_LOGGED_LINE} bytes of the line, {MAX_LOGGED_FIELD} of each field",
                long)


def order_and_amount() -> Iterator[Case]:
    yield alone("pipelined", "RFC 9112 §9.3.2 (ours)", f"{MANY} requests come at once",
                "their lines are in their order", pipelined)
    yield alone("burst", "RFC 9112 §9.3.2 (ours)",
                "a client sends 128 KiB of the shortest requests at once, again and again",
                "a line for each of them", burst)
    yield alone("body-while-others-are-served", "the chapter's page",
                "while the body of one request comes, others are asked on other connections",
                "its line shows its own head, when it has its answer", bodies_among_others)
    yield alone("long-heads-are-not-kept", "malloc(3), free",
                f"{MANY_CLIENTS} clients stay that each had an answer to a body whose head is as "
                "long as its line may be",
                f"each holds less than {ENOUGH_EACH} bytes in the server's memory",
                long_heads_given_back)
    yield alone("lines-are-complete", "write(2)",
                f"{CLIENTS} clients ask {MANY} times in all, with lines "
                "of very different length", "each line whole, those of each client in their order",
                never_torn)
    yield alone("written-within-a-second", "the chapter's page",
                "one request, and nothing after it",
                "its line is in the file a second later", within_a_second)
    yield alone("flushed-on-stop", "signal(7)", "requests, and SIGTERM at once after their answers",
                "all lines are in the file", at_the_end)


def other_files() -> Iterator[Case]:
    yield alone("renamed", "logrotate(8), SIGHUP", "the file is renamed and the server gets "
                "SIGHUP, several times, while clients ask",
                "all lines are in one file or another, whole", renamed)
    yield alone("sighup-without-traffic", "logrotate(8), SIGHUP",
                "the file is renamed and the server gets SIGHUP, with no client there",
                "there is a new file", hangup_without_traffic)
    yield alone("error-log-renamed", "logrotate(8), SIGHUP", "a server without an access log: the "
                "error log is renamed and the server gets SIGHUP",
                "there is a new file, and later messages are in it", error_log_renamed)
    yield alone("rotated", "the chapter's page", f"--log-size {LIMIT}, and clients that ask for "
                "three times as much", "all lines are in the file and in .1, .2 and .3; none is "
                "larger", rotated)
    yield alone("three-old-files-kept", "the chapter's page", "--log-size 2000, and many requests",
                "four files, the last lines in them", three_are_kept)
    yield alone("rotation-fails", "rename(2)",
                f"--log-size {LIMIT}, and .1, .2 and .3 are folders",
                "all lines are in the file, and the error log gives the reason", rotation_in_vain)
    yield wrong("bad-size", "--log-size", "1k")
    yield alone("one-file-for-both", "the chapter's page", "the server is started with the same "
                "file for --access-log and --error-log: by its name, by another spelling, by a "
                "link, and before it is there", "it names both options, and ends with 1; with "
                "/dev/null for both it starts", one_file_for_both)


def no_space() -> Iterator[Case]:
    yield alone("disk-full", "full(4)", "the log is /dev/full; many requests",
                "all are answered; the error "
                "log reports how many lines were lost", full)
    yield alone("disk-full-when-many-ask-at-once", "write(2), ENOSPC",
                f"the log is /dev/full; {MANY} requests, and then one of each of {AT_ONCE} clients, "
                "which one wait reports", f"for these {AT_ONCE}, at most {MAX_WRITES} of the "
                "server's writes fail", pauses_while_full)
    yield alone("disk-full-for-a-while", "write(2), EFBIG",
                "the file may not grow, in the middle of a line; later it may",
                "lines that are whole, and the number of those that are not there",
                full_for_a_while)
    yield alone("unread-pipe", "pipe(7), fifo(7)", "the log is a fifo that a process has open and "
                "does not read; more requests than it has room for",
                "all are answered; what can be read and what was lost is all", pipe_unread)
    yield alone("unread-standard-output", "pipe(7)", "the log is standard output, a pipe that "
                "no process reads", "the same", standard_output_unread)
    yield alone("reported-in-json", "full(4)", "--error-log, --log-format json; the log is "
                "/dev/full; a request", "an object that reports the lost line",
                reported_in_json)


def access_logs() -> Iterator[Case]:
    for what, name in [("access-log-in-missing-folder", "/nowhere/access.log"),
                       ("access-log-is-a-folder", "/"), ("access-log-with-empty-name", "")]:
        yield wrong(what, "--access-log", name)
    yield alone("no-access-log", "the chapter's page", "a request to a server without --access-log",
                "no line anywhere", off)
    yield alone("standard-output", "stdout(3)", "a request, --access-log -",
                "its line after the one that announces where the server listens", standard_output)


def wrong(what: str, option: str, value: str) -> Case:
    """The server must not start, and must name the option with its value."""
    words = option, f"{option} {value}".rstrip()
    return alone(what, "the chapter's page",
                 f"the server is started with {option} {value}, on a port that is taken",
                 "it names the wrong option, and ends with 1",
                 partial(in_vain, arguments=(option, value), words=words))


def error_logs() -> Iterator[Case]:
    yield wrong("error-log-in-missing-folder", "--error-log", "/nowhere/error.log")
    yield wrong("bad-format", "--log-format", "xml")
    yield wrong("bad-level", "--log-level", "loud")
    yield alone("messages", "the chapter's page",
                "--error-log, --log-level info; the server is stopped",
                "lines with time, level and message in the file, and nothing on standard error",
                error_log)
    yield alone("messages-in-json", "RFC 8259 §10 (MUST)",
                "--error-log, --log-format json, --log-level info",
                "objects with time, level and message", error_log_of_json)
    yield alone("level", "the chapter's page", "--error-log, and no --log-level",
                "an empty file: nothing happened that is a problem", error_log_without_problems)


@contextmanager
def logging(server: Server, *arguments: str) -> Iterator[tuple[Server, Path]]:
    """Start another server that logs; yields it and its log file, which is in a folder of its own.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder, "access.log")
        with repeated(server, "--access-log", str(file), *arguments) as other:
            yield other, file


def ask(server: Server, sent: bytes, answers: int = 1) -> None:
    """Send all requests, the last of which closes; raises Unmet unless there are `answers` answers.
    """
    received = exchange((server.host, server.port), (sent,), TIMEOUT_S)
    came = received.raw.count(b"HTTP/1.1 ")
    if came != answers or received.end != "closed":
        raise Unmet(f"{came} of {answers} answers came; then the connection was "
                    f"{'still open' if received.end == 'timeout' else received.end}")


def stop(server: Server) -> str:
    """Stop the server and return its standard error; raises Unmet if it doesn't stop cleanly."""
    ended = server.stop()
    if ended.killed or ended.exit_code != 0:
        raise Unmet(f"it did not end well after SIGTERM: {ended.stderr[-300:]}")
    return ended.stderr


def numbered(client: int, count: int, agent: bytes = b"") -> bytes:
    """Requests that can be distinguished, the last of which closes the connection."""
    field = b"User-Agent: " + agent + b"\r\n" if agent else b""
    return b"".join(get(b"/%d/%d" % (client, i), USUAL + field if i + 1 == count else HOST + field)
                    for i in range(count))


def of_client(lines: list[Line], client: int) -> list[int]:
    found = (re.fullmatch(rb"GET /%d/(\d+) HTTP/1\.1" % client, line.request or b"")
             for line in lines)
    return [int(each[1]) for each in found if each]


def must_be(lines: list[Line], expected: list[Line]) -> None:
    for number, (line, wanted) in enumerate(zip(lines, expected, strict=False), 1):
        if line != wanted:
            raise Unmet(f"line {number} is {line}, and should be {wanted}")
    if len(lines) != len(expected):
        raise Unmet(f"{len(lines)} lines are there, {len(expected)} should be")


def must_count(lines: list[Line], missing: int, asked: int) -> None:
    if len(lines) + missing != asked:
        raise Unmet(f"{asked} requests were answered; {len(lines)} lines are there, {missing} are "
                    "reported as lost")


def requests(server: Server, form: str) -> None:
    named = USUAL + b"Referer: http://a/?b=c\r\nUser-Agent: x/1.0 (y; z)\r\n"
    lower = USUAL + b"user-agent:  a  \r\nREFERER:b\r\n"
    lost_size = len(page_of_404(server))
    uri = f"{server.address}/?a=b".encode()
    asked = [
        (get(), PAGE_LINE),
        (get(fields=named), PAGE_LINE._replace(referer=b"http://a/?b=c", agent=b"x/1.0 (y; z)")),
        (get(fields=lower), PAGE_LINE._replace(referer=b"b", agent=b"a")),
        (get(fields=USUAL + b"User-Agent:\r\n"), PAGE_LINE),
        (b"\r\n" + get(), PAGE_LINE),
        (get(uri), PAGE_LINE._replace(request=b"GET " + uri + b" HTTP/1.1")),
        (get(version=b"HTTP/1.0"), PAGE_LINE._replace(request=b"GET / HTTP/1.0")),
        (get().replace(b"GET", b"HEAD"), Line(b"HEAD / HTTP/1.1", 200, 0)),
        (get(b"/nowhere"), Line(b"GET /nowhere HTTP/1.1", 404, lost_size)),
        (get(b"/nowhere").replace(b"GET", b"HEAD"), Line(b"HEAD /nowhere HTTP/1.1", 404, 0)),
        (post(b"hello", fields=named), Line(b"POST /echo HTTP/1.1", 200, 5, b"http://a/?b=c",
                                            b"x/1.0 (y; z)")),
        (post(b""), Line(b"POST /echo HTTP/1.1", 200, 0)),
        (post(b"x" * 300_000), Line(b"POST /echo HTTP/1.1", 200, 300_000)),
        (post(b"x" * 300_000, b"/sink"), Line(b"POST /sink HTTP/1.1", 200, 6)),
        (post(b"x" * 100, b"/nowhere"), Line(b"POST /nowhere HTTP/1.1", 404, lost_size)),
        (post_chunks(chunks(b"x" * 5000, 700), b"/echo"), Line(b"POST /echo HTTP/1.1", 200, 5000)),
    ]
    with logging(server, "--log-format", form) as (other, file):
        for sent, _ in asked:
            ask(other, sent)
        stop(other)
        in_workers_order(read(file, form), [line for _, line in asked])


def in_workers_order(lines: list[Line], expected: list[Line]) -> None:
    """Compare lines in any order: successive clients may reach different workers, and each writes
    its own.
    """
    must_be(sorted(lines, key=repr), sorted(expected, key=repr))


def page_of_404(server: Server) -> bytes:
    received = exchange((server.host, server.port), (get(b"/nowhere"),), TIMEOUT_S)
    return received.raw.partition(b"\r\n\r\n")[2]


def refusals(server: Server, form: str) -> None:
    target = b"/" + b"a" * MAX_LINE
    asked = [
        (b"GET\r\n\r\n", b"GET", 400),
        (get(fields=b""), b"GET / HTTP/1.1", 400),
        (get(fields=USUAL + b"X y: z\r\n"), b"GET / HTTP/1.1", 400),
        (b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1", 400),
        (get(target), (b"GET " + target)[:MAX_LOGGED_LINE], 414),
        (get(fields=USUAL + b"X: " + b"y" * 70_000 + b"\r\n"), b"GET / HTTP/1.1", 431),
        (post(b"", length=b"%d" % (MAX_BODY + 1)), b"POST /echo HTTP/1.1", 413),
        (get(fields=USUAL + b"Expect: more\r\n"), b"GET / HTTP/1.1", 417),
        (get().replace(b"GET", b"BREW"), b"BREW / HTTP/1.1", 501),
        (get(version=b"HTTP/2.0"), b"GET / HTTP/2.0", 505),
        (post_chunks(b"zz\r\n", b"/sink"), b"POST /sink HTTP/1.1", 400),
    ]
    expected = []
    with logging(server, "--log-format", form) as (other, file):
        for sent, line, status in asked:
            received = exchange((other.host, other.port), (sent, HalfClose()), TIMEOUT_S)
            body = received.raw.partition(b"\r\n\r\n")[2]
            expected.append(Line(line, status, len(body)))
        stop(other)
        in_workers_order(read(file, form), expected)


def cut_off(server: Server, form: str) -> None:
    length = b"1000"
    with logging(server, "--log-format", form) as (other, file):
        with connected(other, 7) as (head, body, echo, silent, after, fed, served):
            head.perform((get(b"/head")[:-2], Pause(0.1), Vanish()))
            body.perform((post(b"x" * 10, b"/sink", length=length), Pause(0.1), Vanish()))
            echo.perform((post(b"x" * 10, length=length), Await(b"x" * 10), Vanish()))
            silent.perform((Pause(0.05), Vanish()))
            have_the_page([after])
            after.close()
            fed.perform((post(b"", b"/fed", HOST, length), Await(b"404"), Vanish()))
            have_the_page([served], get(fields=HOST))
            other.sleeps(1.0)
            served.close()
        stop(other)
        lines = read(file, form)
        size = len(page_of_404(server))
        in_workers_order(lines, [
            Line(b"GET /head HTTP/1.1", None), Line(b"POST /sink HTTP/1.1", None),
            Line(b"POST /echo HTTP/1.1", 200, 10), PAGE_LINE, PAGE_LINE,
            Line(b"POST /fed HTTP/1.1", 404, size)])


def ipv6(server: Server) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        raise Unable("this system has no IPv6 loopback") from None
    with logging(server, "--host", "::") as (other, file):
        for address in ("::1", "127.0.0.1"):
            with suppress(OSError), socket.create_connection((address, other.port), 5) as client:
                client.sendall(get())
                while client.recv(65_536):
                    pass
        stop(other)
        lines = read(file)
    in_workers_order(lines, [PAGE_LINE._replace(address="::1"), PAGE_LINE])


def rejected(server: Server) -> None:
    with logging(server, "--max-clients", "1") as (other, file):
        with connected(other, 1) as first:
            have_the_page(first)
            received = exchange((other.host, other.port), (Pause(0.1),), TIMEOUT_S)
            if b" 503 " not in received.raw:
                raise Unmet("the second was not refused")
        stop(other)
        in_workers_order(read(file), [PAGE_LINE, Line(None, 503)])


def injection(server: Server, form: str) -> None:
    expected = []
    with logging(server, "--log-format", form) as (other, file):
        for target in (b'/"', b"/\\", b'/\\"\\x22+-+"', b"/%0d%0a%22", b"/\\n\\r",
                       b"/\\u000a", b'/","status":200,"x":"', b"/{}[]|^`<>"):
            ask(other, get(target))
            size = len(page_of_404(server))
            expected.append(Line(b"GET " + target + b" HTTP/1.1", 404, size))
        for value in (ODD_BYTES, b'" 200 0 "-" "-', b'"', b"\\", b'a"', b"\xff", b"a\tb",
                      b'7 bytes', b'8 "bytes', b'"9 bytes ', b"\\x0a", b"\xc3\xa9\xe2\x80\xa8"):
            ask(other, get(fields=USUAL + b"Referer: " + value + b"\r\nUser-Agent: " + value[::-1]
                           + b"\r\n"))
            expected.append(PAGE_LINE._replace(referer=value.strip(),
                                               agent=value[::-1].strip()))
        for garbage in (bytes(range(1, 10)) + bytes(range(11, 13)) + bytes(range(14, 256)),
                        b"\x16\x03\x01\x02\x00\x01\xfc\x03\x03\x7f", b"\x00\x00\x00 / HTTP/1.1"):
            received = exchange((other.host, other.port), (garbage + b"\r\n\r\n",), TIMEOUT_S)
            expected.append(Line(garbage, 400,
                                 len(received.raw.partition(b"\r\n\r\n")[2])))
        stop(other)
        in_workers_order(read(file, form), expected)


def long(server: Server) -> None:
    target = b"/" + b'"' * (MAX_LINE - 20)
    value = b"\xfe" * 20_000
    for form in FORMS:
        with logging(server, "--log-format", form) as (other, file):
            size = len(page_of_404(server))
            ask(other, get(target, USUAL + b"Referer: " + value + b"\r\nUser-Agent: \\" + value
                           + b"\r\n"))
            stop(other)
            must_be(read(file, form), [Line(
                (b"GET " + target)[:MAX_LOGGED_LINE], 404, size, value[:MAX_LOGGED_FIELD],
                (b"\\" + value)[:MAX_LOGGED_FIELD])])


def pipelined(server: Server) -> None:
    with logging(server) as (other, file):
        ask(other, numbered(0, MANY), MANY)
        stop(other)
        if of_client(read(file), 0) != list(range(MANY)):
            raise Unmet("the lines are others, or in another order")


def burst(server: Server) -> None:
    """Send many requests whose answers are heads without a body."""
    request = b"HEAD / HTTP/1.1\r\nHost:\r\n\r\n"
    count = 128 * 1024 // len(request) * 4
    with logging(server) as (other, file):
        ask(other, request * count + get().replace(b"GET", b"HEAD"), count + 1)
        reported_lost = lost(stop(other))
        must_count(read(file), 0, count + 1)
        if reported_lost:
            raise Unmet(f"{reported_lost} lines are reported lost")


def bodies_among_others(server: Server) -> None:
    named = HOST + b"User-Agent: the-first\r\n"
    with logging(server, "--threads", "1") as (other, file):
        with connected(other, 2) as (slow, quick):
            slow.perform((post(b"x" * 10, fields=named, length=b"30"), Await(b"x" * 10)))
            have_the_page([quick], get(fields=HOST + b"User-Agent: the-other\r\n"))
            slow.perform((b"x" * 20 + get(fields=USUAL),))
            slow.finish()
        stop(other)
        must_be(read(file), [PAGE_LINE._replace(agent=b"the-other"),
                             Line(b"POST /echo HTTP/1.1", 200, 30, agent=b"the-first"), PAGE_LINE])


def at_once(server: Server, each: int, agents: bool = False) -> None:
    """Send requests from many clients at once; returns when all have their answers."""
    def one(number: int) -> None:
        ask(server, numbered(number, each, b"a\"" * (number * 60) if agents else b""), each)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one, range(CLIENTS)))  # raises the first exception of any client


def must_be_all(lines: list[Line], each: int) -> None:
    """The lines of each client must be complete and in order; several files may come in any order.
    """
    for number in range(CLIENTS):
        came = of_client(lines, number)
        if came != list(range(each)):
            raise Unmet(f"client {number} asked {each} times, and {len(came)} lines tell of it"
                        + (", in another order" if len(came) == each else ""))
    must_count(lines, 0, CLIENTS * each)


def long_heads_given_back(server: Server) -> None:
    """The first clients account for memory that is allocated once, such as the server's buffers."""
    must_be_plain(server)
    target = b"/sink?" + b"q" * (MAX_LOGGED_LINE - 100)
    field = b"v" * MAX_LOGGED_FIELD
    head = post(b"", target, ASKS + b"Referer: " + field + b"\r\nUser-Agent: " + field + b"\r\n",
                length=b"2")
    with repeated(server, "--access-log", os.devnull, "--threads", "1") as other, \
            connected(other, MANY_CLIENTS // 10) as first, connected(other, MANY_CLIENTS) as clients:
        for client in (*first, *clients):
            if client is clients[0]:
                before = other.own_bytes()
            client.perform((head, Await(CONTINUE), b"xx", Await(sunk(2, STAYS))))
            if client.ended:
                raise Unmet("one of them was not answered")
        each = (other.own_bytes() - before) / MANY_CLIENTS
    if each >= ENOUGH_EACH:
        raise Unmet(f"each holds {each:,.0f} bytes")


def never_torn(server: Server) -> None:
    with logging(server) as (other, file):
        at_once(other, MANY // CLIENTS, agents=True)
        stop(other)
        must_be_all(read(file), MANY // CLIENTS)


def until(done: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + SLOW_S
    while not done():
        if time.monotonic() > deadline:
            raise Unmet(f"{SLOW_S:g} s later {problem}")
        time.sleep(0.05)


def within_a_second(server: Server) -> None:
    with logging(server) as (other, file):
        ask(other, get())
        until(lambda: file.stat().st_size > 0, "the file was empty")
        must_be(read(file), [PAGE_LINE])


def at_the_end(server: Server) -> None:
    with logging(server) as (other, file):
        at_once(other, 20)
        stop(other)
        must_be_all(read(file), 20)


def renamed(server: Server) -> None:
    rounds, each = 4, 200
    with logging(server) as (other, file), ThreadPoolExecutor(1) as pool:
        files = [file.with_name(f"old-{number}") for number in range(rounds)]
        for old in files:
            asking = pool.submit(at_once, other, each)
            time.sleep(0.02)
            file.rename(old)
            os.kill(other.pid, signal.SIGHUP)
            asking.result()
            until(file.exists, "there was no new file")
        stop(other)
        lines = read([*files, file])
    must_count(lines, 0, rounds * CLIENTS * each)
    for number in range(CLIENTS):
        if sorted(of_client(lines, number)) != sorted([*range(each)] * rounds):
            raise Unmet("other requests are logged than were sent")


def hangup_without_traffic(server: Server) -> None:
    with logging(server) as (other, file):
        ask(other, get())
        until(lambda: file.stat().st_size > 0, "the file was empty")
        old = file.rename(file.with_name("old"))
        os.kill(other.pid, signal.SIGHUP)
        until(file.exists, "there was no new file")
        ask(other, get(b"/new"))
        stop(other)
        must_be(read(old), [PAGE_LINE])
        if [line.request for line in read(file)] != [b"GET /new HTTP/1.1"]:
            raise Unmet("the requests sent then are not in the new file")


def error_log_renamed(server: Server) -> None:
    with error_logging(server, "--log-level", "info") as (other, file):
        old = file.rename(file.with_name("old"))
        os.kill(other.pid, signal.SIGHUP)
        until(file.exists, "there was no new file")
        ask(other, get())
        must_be_silent(other)
        if not whole(file.read_bytes()) or not whole(old.read_bytes()):
            raise Unmet("a message was not in the file of its time")


def rotated(server: Server) -> None:
    each = 3 * LIMIT // 75 // CLIENTS
    with logging(server, "--log-size", str(LIMIT)) as (other, file):
        at_once(other, each)
        stop(other)
        files = sorted(file.parent.iterdir(), reverse=True)
        names = [one.name for one in files]
        if names[-1] != "access.log" or names[-2:-1] != ["access.log.1"]:
            raise Unmet(f"the files are called {names}")
        if large := [one.name for one in files if one.stat().st_size > LIMIT]:
            raise Unmet(f"{large[0]} is larger than {LIMIT} bytes")
        must_be_all(read(files), each)


def three_are_kept(server: Server) -> None:
    with logging(server, "--log-size", "2000", "--threads", "1") as (other, file):
        ask(other, numbered(0, 500), 500)
        stop(other)
        files = sorted(file.parent.iterdir(), reverse=True)
        expected = ["access.log.3", "access.log.2", "access.log.1", "access.log"]
        if [one.name for one in files] != expected:
            raise Unmet(f"the files are called {[one.name for one in files]}")
        numbers = of_client(read(files), 0)
        if numbers != list(range(500))[-len(numbers):] or len(numbers) < 60:
            raise Unmet("they do not hold the last lines")


def rotation_in_vain(server: Server) -> None:
    each = 2 * LIMIT // 75 // CLIENTS
    with TemporaryDirectory() as folder:
        file = Path(folder, "access.log")
        for number in range(1, 4):
            file.with_name(f"access.log.{number}").mkdir()
        file.with_name("access.log.3").joinpath("something").touch()
        with repeated(server, "--access-log", str(file), "--log-size", str(LIMIT)) as other:
            at_once(other, each)
            output = stop(other)
        must_be_all(read(file), each)
    if "access log, rename" not in output:
        raise Unmet("it does not report that it could not rename the file")


def must_have_full() -> None:
    if not Path("/dev/full").exists():
        raise Unable("this system has no /dev/full")


def full(server: Server) -> None:
    must_have_full()
    with repeated(server, "--access-log", "/dev/full") as other:
        at_once(other, MANY)
        output = stop(other)
    must_count([], lost(output), CLIENTS * MANY)


def pauses_while_full(server: Server) -> None:
    must_be_plain(server)  # LeakSanitizer fails at exit under strace
    must_have_full()
    with TemporaryDirectory() as folder:
        log = Path(folder, "calls")
        with traced(server, "write,writev", "--access-log", "/dev/full", "--threads", "1",
                    log=str(log), options=("-P", "/dev/full")) as other:
            ask(other, numbered(0, MANY), MANY)
            with connected(other, AT_ONCE) as clients:
                have_the_page(clients)
                before = log.read_text().count("ENOSPC")
                send_at_once(other, clients, GET[0])
                for client in clients:
                    client.perform((Await(2 * GET[1]),))
                writes = log.read_text().count("ENOSPC") - before
            stop(other)
    if writes > MAX_WRITES:
        raise Unmet(f"it wrote {writes} times")


def may_write(server: Server, size: int) -> None:
    """Limit the files that the server writes to `size` bytes from now on; pipes are not affected.
    """
    if not hasattr(resource, "prlimit"):
        raise Unable("only Linux limits the files of a program that runs")
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def full_for_a_while(server: Server) -> None:
    with logging(server, "--threads", "1") as (other, file):
        may_write(other, 33_333)
        at_once(other, MANY)
        until(lambda: file.stat().st_size == 33_333, "it did not write as much as it may")
        may_write(other, resource.RLIM_INFINITY)
        until(lambda: file.stat().st_size > 33_333, "it wrote nothing, though it might")
        ask(other, numbered(CLIENTS, 1))
        output = stop(other)
        lines = read(file)
    must_count(lines, lost(output), CLIENTS * MANY + 1)
    if of_client(lines, CLIENTS) != [0]:
        raise Unmet("the requests sent when there was space again are not logged")
    if not lost(output):
        raise Unmet("no line was lost: the server keeps any number of them")


def pipe_unread(server: Server) -> None:
    with TemporaryDirectory() as folder:
        fifo = Path(folder, "fifo")
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        try:
            with repeated(server, "--access-log", str(fifo)) as other:
                at_once(other, MANY)
                output = stop(other)
            data = b"".join(iter(lambda: os.read(reader, 65_536), b""))
        finally:
            os.close(reader)
    must_count_pipe(data, lost(output))


def must_count_pipe(data: bytes, missing: int) -> None:
    """Lines and counted losses must add up; the last line may be incomplete because the pipe was
    full.
    """
    lines = [READERS["combined"](text) for text in whole(data[:data.rfind(b"\n") + 1])]
    must_count(lines, missing, CLIENTS * MANY)


def standard_output_unread(server: Server) -> None:
    process = children.start([*server.command, "--access-log", "-"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    assert process.stdout and process.stderr
    try:
        ready = process.stdout.readline()
        found = READY.match(ready)
        if not found:
            raise Unmet(f"it printed {ready!r} instead of its address")
        address = found[1].decode(), int(found[2])
        for number in range(CLIENTS):
            with Client(address, time.monotonic() + TIMEOUT_S) as client:
                client.perform((numbered(number, MANY),))
                came = client.finish().raw.count(b"HTTP/1.1 ")
                if came != MANY:
                    raise Unmet(f"{came} of {MANY} requests were answered")
        process.terminate()
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Unmet("it did not end after SIGTERM") from None
        data, output = process.communicate()
    finally:
        process.kill()
        process.wait()
    must_count_pipe(data, lost(output.decode()))


def in_vain(server: Server, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    """The server must refuse to start with these arguments.

    It must do so before it listens, otherwise the taken port would be reported first.
    """
    code, out, err = started_in_vain(server, "--port", str(server.port), *arguments)
    if code is None:
        raise Unmet("it did not end")
    if code != 1 or out or not all(word in err for word in words):
        raise Unmet(reported(code, out, err))


def one_file_for_both(server: Server) -> None:
    options = "--access-log", "--error-log"
    with TemporaryDirectory() as folder:
        file, link = Path(folder, "a.log"), Path(folder, "link.log")
        link.symlink_to(file)
        for other in (file, Path(folder, ".", "..", Path(folder).name, "a.log"), link):
            in_vain(server, (options[0], str(file), options[1], str(other)), options)
            in_vain(server, (options[1], str(file), options[0], str(other)), options)
    with repeated(server, options[0], os.devnull, options[1], os.devnull) as both:
        ask(both, get())


def off(server: Server) -> None:
    with repeated(server, "--log-format", "json") as other:
        ask(other, get())
        time.sleep(SOON_S)
        output = stop(other)
        other._out.seek(0)
        printed = other._out.read()
    # From chapter 16 on, a server to which io_uring is refused says so.
    lines = [line for line in output.splitlines() if "io_uring" not in line]
    if lines or b"GET" in printed:
        raise Unmet("there is a line, though none was requested")


def standard_output(server: Server) -> None:
    with repeated(server, "--access-log", "-") as other:
        ask(other, get())
        stop(other)
        other._out.seek(0)
        ready, *lines = whole(other._out.read())
    if not READY.match(ready + b"\n"):
        raise Unmet("its first line does not announce where it listens")
    must_be([READERS["combined"](line) for line in lines], [PAGE_LINE])


@contextmanager
def error_logging(server: Server, *arguments: str) -> Iterator[tuple[Server, Path]]:
    """Start another server with an error log; yields it and that file."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "error.log")
        with repeated(server, "--error-log", str(file), *arguments) as other:
            yield other, file


def logged(file: Path) -> list[bytes]:
    """The lines of an error log, without that of a server to which io_uring is refused."""
    return [line for line in whole(file.read_bytes()) if b"io_uring" not in line]


def must_be_silent(server: Server) -> None:
    """Stop the server; raises Unmet if it printed something on standard error."""
    if stop(server):
        raise Unmet("something was printed on standard error")


def error_log(server: Server) -> None:
    with error_logging(server, "--log-level", "info") as (other, file):
        ask(other, get())
        must_be_silent(other)
        lines = logged(file)
    if not lines:
        raise Unmet("the error log is empty")
    for line in lines:
        if not MESSAGE.fullmatch(line):
            raise Unmet(f"this is no line of the error log: {line[:300]!r}")


def error_log_of_json(server: Server) -> None:
    arguments = "--log-format", "json", "--log-level", "info"
    with error_logging(server, *arguments) as (other, file):
        ask(other, get())
        must_be_silent(other)
        if {one["level"] for one in messages(file)} != {"info"}:
            raise Unmet("it logs problems where there are none, or nothing")


def error_log_without_problems(server: Server) -> None:
    with error_logging(server) as (other, file):
        ask(other, get())
        must_be_silent(other)
        if lines := logged(file):
            raise Unmet(f"the error log holds {lines[0][:300]!r}")


def messages(file: Path) -> list[dict[str, str]]:
    """The objects in an error log; raises Unmet if one has other keys."""
    output: list[dict[str, str]] = [json.loads(line) for line in logged(file)]
    for one in output:
        if list(one) != ["time", "level", "message"]:
            raise Unmet(f"the error log holds {one}")
    return output


def reported_in_json(server: Server) -> None:
    must_have_full()
    arguments = "--log-format", "json", "--log-level", "info", "--access-log", "/dev/full"
    with error_logging(server, *arguments) as (other, file):
        ask(other, get())
        must_be_silent(other)
        output = messages(file)
    if lost(" ".join(one["message"] for one in output)) != 1:
        raise Unmet("it does not report the lost line")
    if {one["level"] for one in output} != {"error", "info"}:
        raise Unmet("it logs nothing but errors")


CHECKS = (
    group("error-log", "the error log and its options", error_logs, level=14),
    group("log", "a line for each request", cases, level=14),
    group("log-rotation", "log files that are renamed", other_files, level=14),
    group("log-full", "a log that cannot be written", no_space, level=14),
)
