"""Third-party servers compared with ours: each sends the same files with one thread."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from workbook.common.errors import UserError
from workbook.common.paths import BUILD, SOLUTIONS
from workbook.machine import needs
from workbook.machine.cores import Cores
from workbook.machine.probes import first_line
from workbook.measure import load
from workbook.measure.load import MIB, Phase, PhaseResult
from workbook.measure.sequence import Way, in_sequence
from workbook.servers import build
from workbook.servers.client import answers, connect
from workbook.servers.process import Server, running, running_other

Start = Callable[..., AbstractContextManager[Server]]
Rows = dict[str, dict[str, Any]]  # of a table: each has a label, and figures by key

SITE, CONFIGURED = BUILD / "files", BUILD / "rivals-files"
CLIENTS, FEW_CLIENTS, ROUNDS, SECONDS = 64, 8, 3, 1.0
PAGE_SIZE = 1500  # of the write-up's file
SIZES = {1 << 10: "1 KiB", 4 << 10: "4 KiB", 16 << 10: "16 KiB", 32 << 10: "32 KiB",
         64 << 10: "64 KiB", 128 << 10: "128 KiB", MIB: "1 MiB", 10 * MIB: "10 MiB"}
SHOWN = (1 << 10, 128 << 10)

NGINX = """\
daemon off;
master_process off;
pid {directory}/nginx-{port}.pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
    access_log {log};
    server_tokens off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_body_temp_path {directory}/nginx;
    proxy_temp_path {directory}/nginx;
    fastcgi_temp_path {directory}/nginx;
    uwsgi_temp_path {directory}/nginx;
    scgi_temp_path {directory}/nginx;
    {files}
    server {{
        listen 127.0.0.1:{port} backlog=4096{tls};
        {page}
    }}
}}
"""
NGINX_FILES = "sendfile on; tcp_nopush on; root {root};"
OPEN_FILE_CACHE = "open_file_cache max=1000 inactive=60s; open_file_cache_valid 1s;"
H2O = """\
{user}num-threads: 1
max-connections: 4096
error-log: /dev/null
crash-handler: /nonexistent
listen: {{host: 127.0.0.1, port: {port}}}
hosts: {{default: {{paths: {{/: {{file.dir: {root}}}}}}}}}
"""
LIGHTTPD = """\
server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.max-connections = 4096
server.max-fds = 8192
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 3600
server.network-backend = "sendfile"
server.errorlog = "/dev/null"
mimetype.assign = (".bin" => "application/octet-stream")
"""
CADDY = """\
{{
    admin off
    auto_https off
    log {{
        output discard
    }}
}}
http://:{port} {{
    bind 127.0.0.1
    root * {root}
    file_server
}}
"""


@dataclass(frozen=True)
class Rival:
    """A server, and how to start it for timing and for counting."""

    label: str
    timed: Start
    counted: Start


@dataclass(frozen=True)
class Other:
    """A third-party server: the commands for its version and to start it, its configuration."""

    label: str
    version: tuple[str, ...]
    command: tuple[str, ...]
    config: Callable[..., str]


def _nginx(directory: Path, root: Path, port: int, cache: str = "", **_: str) -> str:
    files = f"default_type application/octet-stream; {NGINX_FILES.format(root=root)} {cache}"
    return NGINX.format(directory=directory, port=port, page="", files=files, log="off", tls="")


OTHERS = {
    "nginx": Other("nginx {}", ("nginx", "-v"), ("nginx", "-e", "stderr", "-c"),
                   _nginx),
    "nginx-cache": Other("nginx {}, open_file_cache", ("nginx", "-v"),
                         ("nginx", "-e", "stderr", "-c"),
                         partial(_nginx, cache=OPEN_FILE_CACHE)),
    "h2o": Other("h2o {}", ("h2o", "--version"), ("h2o", "-c"), H2O.format),
    "lighttpd": Other("lighttpd {}", ("lighttpd", "-v"), ("lighttpd", "-D", "-f"), LIGHTTPD.format),
    "caddy": Other("Caddy {}", ("caddy", "version"),
                   ("caddy", "run", "--adapter", "caddyfile", "--config"), CADDY.format),
}


def name_of(size: int) -> str:
    return f"{size}.bin"


def site() -> Path:
    """Create the files that all servers send, and return their folder."""
    SITE.mkdir(parents=True, exist_ok=True)
    SITE.chmod(0o755)
    for size in (PAGE_SIZE, *SIZES):
        file = SITE / name_of(size)
        if not file.exists():
            file.write_bytes(random.Random(size).randbytes(size))
    return SITE


def asks_for(size: int, connections: int = 0, seconds: float = 0) -> Phase:
    """Return the load for one file. Fewer clients request large files, for longer."""
    few = size >= MIB
    return Phase(name_of(size), "plain", connections or (FEW_CLIENTS if few else CLIENTS),
                 seconds or (2 if few else SECONDS), path=f"/{name_of(size)}")


def figures_of(results: Sequence[PhaseResult]) -> tuple[int, float]:
    return (round(median(r.requests_per_second or 0 for r in results)),
            round(median(r.cpu_us_per_request or 0 for r in results), 2))


def our_server(binary: Path, threads: int = 1) -> Callable[..., AbstractContextManager[Server]]:
    return partial(running, binary, "--threads", str(threads), "--root", str(site()))


def way_of(label: str, start: Start, phase: Phase, on: Cores | None = None) -> Way:
    return Way(label, partial(load.placed, start, on), phase, on)


def version_of(other: Other) -> str:
    words = first_line(list(other.version)).replace("/", " ").split()
    return next((word.lstrip("v") for word in words if word.lstrip("v")[:1].isdigit()), "")


def start_other(key: str, other: Other, wrapper: Sequence[str] = (),
                root: Path | None = None) -> AbstractContextManager[Server]:
    """Start a third-party server on a free port, serving `root` or else the common files."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    file = CONFIGURED / f"{key}-{port}.conf"
    user = "user: root\n" if os.geteuid() == 0 else ""
    file.write_text(other.config(directory=CONFIGURED, root=root or site(), port=port, user=user))
    of_go = ("env", "GOMAXPROCS=1", f"HOME={CONFIGURED}") if key == "caddy" else ()
    return running_other([*other.command, str(file)], port, wrapper=[*wrapper, *of_go])


def against(checkpoint: str, rounds: int,
            on_round: Callable[[str], None]) -> tuple[Rows, list[str]]:
    """Return the µs per file of a checkpoint and of the installed third-party servers, for a small
    and a large file; and a remark on each server that is not installed.
    """
    lacking = {other.command[0]: needs.lacking(other.command[0]) for other in OTHERS.values()}
    CONFIGURED.mkdir(parents=True, exist_ok=True)
    start = our_server(build.build_server(SOLUTIONS / checkpoint))
    known = {"ours": Rival(checkpoint, start, start)} | {
        key: Rival(other.label.format(version_of(other)), *[partial(start_other, key, other)] * 2)
        for key, other in OTHERS.items() if not lacking[other.command[0]]}
    for rival in known.values():
        must_serve(rival)
    found = in_sequence({(key, size): way_of(f"{rival.label}, {SIZES[size]}", rival.timed, asks_for(size))
                         for size in SHOWN for key, rival in known.items()}, rounds,
                        on_round)
    rows: Rows = {key: {"label": rival.label} | {
        SIZES[size]: figures_of(found[key, size])[1] for size in SHOWN}
        for key, rival in known.items()}
    return rows, [f"{name} is not beside them: {why}" for name, why in lacking.items() if why]


def must_serve(rival: Rival) -> None:
    """Raise UserError unless the server sends the smallest of the common files."""
    size = min(SIZES)
    with rival.timed() as server, connect((server.host, server.port)) as client:
        client.sendall(f"GET /{name_of(size)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        [received] = answers(client, 1)
        server.kill()  # h2o may hang on a signal so soon after its start
    if not received.endswith((site() / name_of(size)).read_bytes()):
        raise UserError(f"{rival.label} does not send the file", "fix its configuration")
