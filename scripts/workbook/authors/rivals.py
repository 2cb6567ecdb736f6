"""Third-party servers compared with ours: each serves our page with one thread."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from workbook.authors import crates
from workbook.authors.tools import (
    LOOP,
    OPTIMISED,
    TLS,
    Finding,
    Rows,
    address_of,
    in_sequence,
    solution,
)
from workbook.checks.behaviour.rows import PAGE
from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SCRIPTS
from workbook.machine import needs, setup
from workbook.machine.probes import first_line
from workbook.measure import costs, load, stress
from workbook.measure.crowd import SHORT
from workbook.measure.load import Phase
from workbook.measure.other_servers import NGINX, Rival
from workbook.measure.sequence import Way
from workbook.servers import build
from workbook.servers.client import answers, connect
from workbook.servers.process import Server, running, running_other

DIRECTORY = BUILD / "rivals"
INDEX = DIRECTORY / "index.html"
ROUNDS = 9
LOADS = {
    "clients": ("64 clients", Phase("64 clients", "plain", 64, 1)),
    "many": ("1,000", Phase("1,000 clients", "plain", 1000, 1)),
    "pipelined": (f"64, {costs.DEPTH} pipelined", Phase("pipelined", "pipelined", 64, 1)),
}
OFTEN = 16  # times the usual requests, because some servers also wake up without one
COUNTED = {
    replace(costs.SYSCALLS, rounds=OFTEN): ("System calls", 3),
    replace(costs.INSTRUCTIONS, rounds=OFTEN): ("Instructions", 0),
    replace(costs.PIPELINED_SYSCALLS, rounds=OFTEN): ("Pipelined: system calls", 3),
    replace(costs.PIPELINED_INSTRUCTIONS, rounds=OFTEN): ("Pipelined: instructions", 0),
}

NGINX_PAGE = f"""\
location = / {{
            default_type "text/html; charset=utf-8";
            return 200 '{PAGE.decode()}';
        }}"""
H2O = """\
num-threads: 1
max-connections: 4096
error-log: /dev/null
crash-handler: /nonexistent
listen: {{host: 127.0.0.1, port: {port}}}
hosts: {{default: {{paths: {{/: {{file.dir: {directory}}}}}}}}}
"""


def rivals() -> Finding:
    """How fast are third-party servers, on this machine and in the same run?"""
    stress.raise_descriptor_limit()
    known = _known()
    for rival in known.values():
        _answer_bytes(rival)
    found = in_sequence({(key, name): Way(f"{rival.label}, {label}",
                                          partial(load.placed, rival.timed), phase)
                         for name, (label, phase) in LOADS.items() for key, rival in known.items()},
                        ROUNDS)
    rows: Rows = {}
    for key, rival in known.items():
        rows[key] = {"label": rival.label}
        for name in LOADS:
            results = found[key, name]
            rows[key] |= {
                f"{name}_rps": round(median(r.requests_per_second or 0 for r in results)),
                f"{name}_us": round(median(r.cpu_us_per_request or 0 for r in results), 2)}
    return Finding(
        "<code>GET /</code> on kept connections, the same page from all, one thread on one "
        f"processor and wrk on another, median of {ROUNDS} rounds in turn; and the server’s own "
        f"processor time a request.{_note(rows)}",
        {f"{name}_{key}": f"{label}: {what}" for key, what in (("rps", "requests/s"), ("us", "µs"))
         for name, (label, _) in LOADS.items()}, rows)


def rivals_counts() -> Finding:
    """How many instructions and system calls do third-party servers need for a request?"""
    rows: Rows = {}
    for key, rival in _known().items():
        counted = costs.count_started(rival.counted, level=costs.KEEP_ALIVE_LEVEL,
                                      measures=tuple(COUNTED), request=SHORT)
        for reason in counted.skipped.values():
            raise UserError(f"{rival.label} cannot be counted: {reason}", "record where it can be")
        rows[key] = {"label": rival.label} | {
            measure.name: round(counted[measure] or 0, digits)
            for measure, (_, digits) in COUNTED.items()} | {"bytes": _answer_bytes(rival)}
    return Finding(
        f"Per <code>GET /</code> of {len(SHORT)} bytes on a kept connection, one at a time or "
        f"{costs.DEPTH} at once. Counted, not timed. The answers have the same body and differ in "
        f"their heads.{_note(rows)}",
        {measure.name: title for measure, (title, _) in COUNTED.items()}
        | {"bytes": "Answer, bytes"},
        rows)


def _known() -> dict[str, Rival]:
    """Return the floor, three servers of ours and the third-party ones, ready to be started."""
    setup.ensure(["nginx", "h2o"])
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    INDEX.write_bytes(PAGE)
    version_of_nginx = first_line(["nginx", "-v"]).rpartition("/")[2]
    h2o = first_line(["h2o", "--version"]).rpartition(" ")[2]
    program, version = _uwebsockets()
    return {"floor": _ours("the floor", *map(build.floor, ("release", "measure"))),
            "last": _ours("15", *(solution(TLS, p) for p in ("release", "measure"))),
            "top": _ours("08", *(solution(OPTIMISED, p) for p in ("release", "measure"))),
            "loop": _ours("05", *(solution(LOOP, p) for p in ("release", "measure"))),
            "nginx": _other(f"nginx {version_of_nginx}", partial(nginx, DIRECTORY, page=NGINX_PAGE)),
            "h2o": _other(f"h2o {h2o}", _h2o),
            "uwebsockets": _other(f"uWebSockets, from socketify {version}",
                                  lambda port: [str(program), str(port), str(INDEX)]),
            **{key: _other(crate.label, partial(_crate, crate.program))
               for key, crate in crates.available().items()}}


def _note(rows: Rows) -> str:
    return f" {crates.note()}" if crates.LABELS.keys() & rows.keys() else ""


def _crate(program: Path, port: int) -> list[str]:
    return [str(program), str(port), str(INDEX)]


def _ours(label: str, release: Path, measure: Path) -> Rival:
    return Rival(label, *(partial(running, binary, "--threads", "1")
                          for binary in (release, measure)))


def _other(label: str, command: Callable[[int], Sequence[str]]) -> Rival:
    def start(wrapper: Sequence[str] = ()) -> AbstractContextManager[Server]:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        return running_other(command(port), port, wrapper=wrapper)

    return Rival(label, start, start)


def nginx(directory: Path, port: int, *, page: str = "", files: str = "", log: str = "off",
          tls: str = "") -> list[str]:
    """Write nginx's configuration, with all settings that the experiments share; returns the
    command.
    """
    file = directory / f"nginx-{port}.conf"
    file.write_text(NGINX.format(directory=directory, port=port, page=page, files=files, log=log,
                                 tls=tls))
    return ["nginx", "-e", "stderr", "-c", str(file)]


def _h2o(port: int) -> list[str]:
    """Write h2o's configuration; returns the command. As root it must be told to stay root."""
    file = DIRECTORY / f"h2o-{port}.conf"
    user = "user: root\n" if os.geteuid() == 0 else ""
    file.write_text(user + H2O.format(directory=DIRECTORY, port=port))
    return ["h2o", "-c", str(file)]


def _uwebsockets() -> tuple[Path, str]:
    """Compile its server against the library from pip; returns it and the package's version."""
    wanted, program = SCRIPTS / "requirements-rivals.txt", DIRECTORY / "uwebsockets"
    packages = DIRECTORY / "packages"
    library = packages / "socketify" / "libsocketify_linux_amd64.so"
    if not library.exists():
        _run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
              "--no-deps", "--require-hashes", "--target", str(packages), "-r", str(wanted)])
    _run([str(needs.compiler()), "-std=c++20", "-O2", "-o", str(program),
          str(SCRIPTS / "rivals" / "uwebsockets.cpp"), str(library),
          f"-Wl,-rpath,{library.parent}"])
    return program, wanted.read_text().partition("==")[2].partition(" ")[0]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise UserError(f"{command[0]} failed:\n{done.stderr.strip()[-500:]}",
                        "fix what the lines above report, then run this again")


def _answer_bytes(rival: Rival) -> int:
    """Return the size of its answer in bytes. UserError unless that is our page, sent as HTML."""
    with rival.timed() as server, connect(address_of(server)) as client:
        client.sendall(SHORT)
        [received] = answers(client, 1)
        server.kill()  # h2o may hang on a signal so soon after its start
    head, _, body = received.partition(b"\r\n\r\n")
    if (not head.startswith(b"HTTP/1.1 200 ") or b"\r\ncontent-type: text/html" not in head.lower()
            or body != PAGE):
        raise UserError(f"{rival.label} sends something else than our page",
                        "fix its configuration")
    return len(received)
