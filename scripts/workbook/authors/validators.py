"""The experiments of chapter 10: what is saved by not sending, and what other servers answer."""

from __future__ import annotations

import gzip
import os
import tempfile
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from workbook.authors.tools import Finding, Rows, address_of, solution
from workbook.checks.behaviour import site
from workbook.checks.behaviour.dialogue import Address, ask
from workbook.common.errors import UserError
from workbook.common.paths import SOLUTIONS
from workbook.machine import setup
from workbook.measure import costs, other_servers
from workbook.measure.costs import CALLGRIND, STRACE, Measure
from workbook.servers.client import exchange
from workbook.servers.process import Server, running

VALIDATORS = "10-validators"
LEVEL = 10


def not_sent() -> Finding:
    """What does one page of text cost, by what the client already has of it?"""
    rows: Rows = {}
    with tempfile.TemporaryDirectory() as folder:
        root = _page(Path(folder))
        release = ("--threads", "1", "--root", str(root))
        with running(solution(VALIDATORS), *release) as server:
            for key, (label, fields) in _asked(address_of(server)).items():
                rows[key] = {"label": label, "bytes": _answer_bytes(server, fields)}
                rows[key] |= _counted(partial(running, solution(VALIDATORS, "measure"), *release),
                                      fields)
    return Finding(
        "The sources of chapter 9 as one page of text, by what the client says of it. Bytes of the "
        "answer with its head; calls and instructions of the server for a request on a kept "
        "connection. (Under valgrind files are opened by the walk, which is dearer.)",
        {"bytes": "Bytes sent", "syscalls": "System calls", "instructions": "Instructions"}, rows)


def _page(folder: Path) -> Path:
    text = b"".join(file.read_bytes() for file in sorted((SOLUTIONS / "09-files").rglob("*.[ch]*")))
    (folder / "page.html").write_bytes(text)
    (folder / "page.html.gz").write_bytes(gzip.compress(text, 9, mtime=0))
    site.age(folder)
    return folder


def _asked(address: Address) -> dict[str, tuple[str, str]]:
    """Return a label and the fields of each request, by key."""
    plain = ask(address, "/page.html")
    last = len(plain.body) - 1
    return {
        "plain": ("nothing", ""),
        "coded": ("that it can undo gzip", "Accept-Encoding: gzip\r\n"),
        "looked": ("that it can undo br, which is not there, and gzip",
                   "Accept-Encoding: br, gzip;q=0.5\r\n"),
        "part": ("that it lacks the last 1,000 bytes", f"Range: bytes={last - 999}-{last}\r\n"
                 f"If-Range: {plain.tag}\r\n"),
        "tag": ("that it has this version, by its tag", f"If-None-Match: {plain.tag}\r\n"),
        "date": ("the same by its date",
                 f"If-Modified-Since: {plain.field('Last-Modified')}\r\n"),
    }


def _request(fields: str, remainder: str = "") -> bytes:
    return f"GET /page.html HTTP/1.1\r\nHost: localhost\r\n{fields}{remainder}\r\n".encode()


def _answer_bytes(server: Server, fields: str) -> int:
    sent = [_request(fields, "Connection: close\r\n")]
    return len(exchange(address_of(server), sent, 10).raw) - len("Connection: close\r\n")


def _counted(start: partial[AbstractContextManager[Server]], fields: str) -> dict[str, float]:
    measures = [Measure("syscalls", STRACE, {"syscalls": "system calls"}),
                Measure("instructions", CALLGRIND, {"instructions": "instructions"})]
    counted = costs.count_started(start, level=LEVEL, measures=measures, request=_request(fields))
    for measure, reason in counted.skipped.items():
        raise UserError(f"{measure} cannot be counted: {reason}", "record where they can be")
    return {name: round(value) if name == "instructions" else value
            for name, value in counted.figures.items()}


# Requests for /it.bin, and the right status; {tag} is the file's tag, {date} its time.
QUESTIONS: dict[str, tuple[str, str, str, int]] = {
    "this": ("its tag in If-None-Match", "GET", "If-None-Match: {tag}", 304),
    "weak": ("the same, as a weak one", "GET", "If-None-Match: W/{bare}", 304),
    "list": ("the same, behind another", "GET", 'If-None-Match: "x", {tag}', 304),
    "any": ("If-None-Match: *", "GET", "If-None-Match: *", 304),
    "both": ("another tag, but its date", "GET",
             'If-None-Match: "x"\r\nIf-Modified-Since: {date}', 200),
    "match": ("another tag in If-Match", "GET", 'If-Match: "x"', 412),
    "match-weak": ("its tag in If-Match, as a weak one", "GET", "If-Match: W/{bare}", 412),
    "head": ("HEAD with a Range", "HEAD", "Range: bytes=0-1", 200),
    "unit": ("a Range in another unit", "GET", "Range: lines=0-1", 200),
    "if-range": ("a Range, if another tag holds", "GET", 'Range: bytes=0-1\r\nIf-Range: "x"', 200),
    "if-range-weak": ("a Range, if its tag as a weak one holds", "GET",
                      "Range: bytes=0-1\r\nIf-Range: W/{bare}", 200),
}
REWRITTEN = "its tag, after other bytes were written within the same second"


def rivals_validators() -> Finding:
    """What do third-party servers answer to conditional and partial requests?"""
    setup.ensure(["nginx", "h2o", "lighttpd", "caddy"])
    other_servers.CONFIGURED.mkdir(parents=True, exist_ok=True)
    rows: Rows = {key: {"label": label, "right": status}
                  for key, (label, _, _, status) in QUESTIONS.items()}
    rows["rewritten"] = {"label": REWRITTEN, "right": 200}
    columns = {"right": "RFC 9110", "ours": "10"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "it.bin"
        Path(folder).chmod(0o755)
        with running(solution(VALIDATORS), "--root", folder) as server:
            _ask_all(server, file, rows, "ours")
        for key, other in other_servers.OTHERS.items():
            if key == "nginx-cache":
                continue
            with other_servers.start_other(key, other, root=Path(folder)) as server:
                _ask_all(server, file, rows, key)
            columns[key] = other.label.format(other_servers.version_of(other))
    return Finding("The status that each answers with when a file is asked for with these fields. "
                   "Settings as in <em>Serving files</em>.", columns, rows)


def _ask_all(server: Server, file: Path, rows: Rows, key: str) -> None:
    address = address_of(server)
    _write(file, b"first", 0)
    first = ask(address, "/it.bin")
    tag = first.fields.get("etag", '"it has none"')
    reported = {"tag": tag, "bare": tag.removeprefix("W/"), "date": first.field("Last-Modified")}
    for question, (_, method, fields, _) in QUESTIONS.items():
        answer = ask(address, "/it.bin", fields.format(**reported) + "\r\n", method)
        rows[question][key] = answer.status
    _write(file, b"other", 1000)
    rows["rewritten"][key] = ask(address, "/it.bin", f"If-None-Match: {reported['tag']}\r\n").status


def _write(file: Path, text: bytes, later_ns: int) -> None:
    file.write_bytes(text)
    file.chmod(0o644)
    when = site.MODIFIED_NS + later_ns
    os.utime(file, ns=(when, when))
