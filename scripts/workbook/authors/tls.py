"""The experiments of chapter 15: what TLS costs, in our server and in third-party ones."""

from __future__ import annotations

import errno
import os
import platform
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from workbook.authors import secured
from workbook.authors.secured import LARGE, form, h2o, nginx, ours
from workbook.authors.tools import (
    TLS,
    Finding,
    Rows,
    address_of,
    cpu_us,
    in_sequence,
    ratios,
    solution,
)
from workbook.checks.behaviour.rows import PAGE
from workbook.common import children
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS
from workbook.machine import network
from workbook.machine.cores import cores
from workbook.measure import costs, crowd, ladder, load
from workbook.measure.crowd import SHORT
from workbook.measure.load import Phase, PhaseResult
from workbook.measure.other_servers import Start
from workbook.measure.sequence import Way
from workbook.servers import certificates, tls
from workbook.servers.certificates import Pair
from workbook.servers.client import connect
from workbook.servers.process import Server

LEVEL = int(TLS[:2])
TCP_ULP = 31  # linux/tcp.h
ROUNDS = 5
LOG_ROUNDS = 15  # to find a difference of a few hundredths
COUNTS = 3
STRAY = 8  # allocations once per second, or of buffers that were released while idle
LARGE_REQUEST = f"GET /{LARGE} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n".encode()
EDITED = {"set-fd": "15 with SSL_set_fd", "set-fd-ahead": "the same, reading ahead",
          "kept": "15, buffers kept", "released": "15, SSL_MODE_RELEASE_BUFFERS"}
SECONDS = 3.0  # long enough that the 64 initial handshakes hardly count
LOADS = {"page": ("the page", Phase("64 clients", "plain", 64, SECONDS)),
         "large": ("128 KiB", Phase("128 KiB", "plain", 64, SECONDS, path=f"/{LARGE}"))}
VISITS, FEW, CLIENTS = 200, 16, 8
IDLE_S = 3.0
FLOOD_S, POLITE_S = 4.0, 3.0


@dataclass(frozen=True)
class Kept:
    """A server that keeps its connections, and the name of the same one without TLS."""

    label: str
    start: Start
    plain: str


def _kept() -> dict[str, Kept]:
    pair, names = certificates.localhost(), secured.versions()

    return {"plain": Kept("15 without TLS", ours(form("")), "plain"),
            "tls": Kept("15, TLS 1.3", ours(form(""), pair), "plain"),
            "tls12": Kept("15, TLS 1.2", ours(form(""), pair, at_most_12=True), "plain"),
            "set-fd": Kept("15 with SSL_set_fd", ours(form("set-fd"), pair), "plain"),
            "set-fd-ahead": Kept("the same, reading ahead", ours(form("set-fd-ahead"), pair),
                                 "plain"),
            "nginx-plain": Kept(f"{names['nginx']} without TLS", nginx(), "nginx-plain"),
            "nginx": Kept(f"{names['nginx']}, TLS 1.3", nginx(pair), "nginx-plain"),
            "h2o-plain": Kept(f"{names['h2o']} without TLS", h2o(), "h2o-plain"),
            "h2o": Kept(f"{names['h2o']}, TLS 1.3", h2o(pair), "h2o-plain")}


def kept() -> Finding:
    """What does TLS cost a request on a kept connection?"""
    known = _kept()
    for key, server in known.items():
        if key != server.plain:
            secured.must_speak(server.start, "TLSv1.2" if key == "tls12" else "TLSv1.3")
    found = in_sequence({(key, of): Way(f"{server.label}, {label}", partial(load.placed, server.start),
                                        phase)
                         for of, (label, phase) in LOADS.items() for key, server in known.items()},
                        ROUNDS)
    us = cpu_us(found)
    rows: Rows = {}
    for key, server in known.items():
        rows[key] = {"label": server.label}
        for of in LOADS:
            rows[key] |= {f"{of}_us": _digits(median(us[key, of])),
                          f"{of}_to_plain": _ratio(us[key, of], us[server.plain, of]),
                          f"{of}_to_ours": _ratio(us[key, of], us["tls", of]),
                          f"{of}_to_set_fd": _ratio(us[key, of], us["set-fd", of])}
    return Finding(
        "<code>GET /</code> and a file of 128 KiB, 64 clients on kept connections, one worker on "
        "one processor and wrk on another; a certificate of ECDSA P-256, AES-128-GCM. The "
        f"server’s own processor time a request, the median of {ROUNDS} rounds in turn, with the "
        "64 handshakes at their beginning; ratios are those to another in the same round.",
        {"page_us": "Page, µs", "page_to_plain": "÷ without TLS", "page_to_ours": "÷ 15 with TLS",
         "large_us": "128 KiB, µs", "large_to_plain": "÷ without TLS",
         "large_to_ours": "÷ 15 with TLS"}, rows)


def _digits(us: float) -> float:
    return round(us, 2 if us < 100 else 1)


def _ratio(these: Sequence[float], those: Sequence[float]) -> float:
    return round(median(ratios(these, those)), 2)


def counts() -> Finding:
    """How many instructions and system calls does TLS cost?"""
    pair = certificates.localhost()
    forms: Mapping[str, tuple[str, Callable[..., Start]]] = {
        "before": ("14", partial(ours, solution("14-log"))),
        "plain": ("15 without TLS", partial(ours, form(""))),
        "asked-before": ("the same, which asks before the loop", partial(
            ours, form("asked-before"))),
        "tls": ("15, TLS 1.3", partial(ours, form(""), pair)),
        "tls12": ("15, TLS 1.2", partial(ours, form(""), pair, at_most_12=True))} | {
        name: (label, partial(ours, form(name), pair)) for name, label in EDITED.items()}
    rows: Rows = {}
    for key, (label, serving) in forms.items():
        rows[key] = {"label": label} | _counted(serving(rooted=False), SHORT, "") | _counted(
            serving(), LARGE_REQUEST, "large_")
    return Finding(
        f"Per <code>GET /</code> of {len(SHORT)} bytes to a server without files, and for a file "
        "of 128 KiB, on a kept connection, one at a time. Counted in the build that is timed, in "
        f"whole numbers, the median of {COUNTS}: whether the end of a handshake comes with the "
        "first request is for the clock to say, and so are the calls that a large answer takes, by "
        "who reads it when.",
        {"syscalls": "System calls", "instructions": "Instructions",
         "allocations": "Allocations", "large_syscalls": "128 KiB: system calls",
         "large_instructions": "Instructions"}, rows)


def _counted(start: Start, request: bytes, prefix: str) -> dict[str, float]:
    """Return medians, because some runs include work done once per second or for a slow reader."""
    measures = (costs.SYSCALLS, costs.INSTRUCTIONS, replace(
        costs.ALLOCATIONS, tool=replace(costs.MEMCHECK, stray=STRAY)))
    found = [costs.count_started(start, level=LEVEL, request=request, measures=measures)
             for _ in range(COUNTS)]
    for measure, reason in found[0].skipped.items():
        raise UserError(f"{measure} cannot be counted: {reason}", "record where they can be")
    return {f"{prefix}{name}": round(median(counted.figures[name] for counted in found))
            for name in ("syscalls", "instructions", "allocations")}


@dataclass(frozen=True)
class ConnectionKind:
    """Connections to measure one after another: the version of TLS, the certificate, and whether
    each resumes an earlier session.
    """

    title: str
    version: ssl.TLSVersion | None = None
    make_pair: Callable[[], Pair] = certificates.localhost
    resumes: bool = False


CONNECTION_KINDS = {
    "plain": ConnectionKind("Without TLS"),
    "ecdsa": ConnectionKind("ECDSA P-256", ssl.TLSVersion.TLSv1_3),
    "rsa": ConnectionKind("RSA-2048", ssl.TLSVersion.TLSv1_3, certificates.rsa),
    "resumed13": ConnectionKind("Resumed, 1.3", ssl.TLSVersion.TLSv1_3, resumes=True),
    "ecdsa12": ConnectionKind("ECDSA, 1.2", ssl.TLSVersion.TLSv1_2),
    "resumed12": ConnectionKind("Resumed, 1.2", ssl.TLSVersion.TLSv1_2, resumes=True),
}


def handshakes() -> Finding:
    """What does a new client cost, and one that resumes a session?"""
    names = secured.versions()
    servers: dict[str, tuple[str, Callable[[Pair | None], Start]]] = {
        "ours": ("15", partial(ours, solution(TLS))), "nginx": (names["nginx"], nginx),
        "h2o": (names["h2o"], h2o)}
    us: dict[tuple[str, str], list[float]] = {(key, kind): [] for key in servers
                                              for kind in CONNECTION_KINDS}
    for number in range(ROUNDS):
        for key, kind in ladder.rotated(list(us), number):
            connection = CONNECTION_KINDS[kind]
            start = servers[key][1](connection.make_pair() if connection.version else None)
            us[key, kind].append(_visits_us(start, connection))
    rows: Rows = {key: {"label": label} for key, (label, _) in servers.items()}
    for (key, kind), all_us in us.items():
        rows[key] |= {f"{kind}_us": round(median(all_us)),
                      f"{kind}_to_ours": _ratio(all_us, us["ours", kind]),
                      f"{kind}_to_full": _ratio(all_us, us[key, "ecdsa12" if kind == "resumed12"
                                                           else "ecdsa"])}
    return Finding(
        f"The server’s own processor time a client, µs, who connects, asks for the page, is "
        f"answered and closed: {VISITS}, {CLIENTS} at a time, median of {ROUNDS} rounds in turn, "
        "one thread. TLS 1.3 but where 1.2 is said. The client offers X25519 first; h2o takes P-256 "
        "with TLS 1.2.",
        {f"{kind}_us": connection.title for kind, connection in CONNECTION_KINDS.items()}, rows)


def _visits_us(start: Start, connection: ConnectionKind) -> float:
    """Return the server's µs per connection, over many connections after a few to warm up."""
    with network.own(), load.placed(start) as server:
        print(f"{server.name}: {connection.title}", file=sys.stderr, flush=True)
        use_server = _pausing_client(server, connection)
        _connect(use_server, FEW)
        before = _used_us(server)
        _connect(use_server, VISITS)
        used = _used_us(server) - before
        server.kill()
    return used / VISITS


def _connect(use_server: Callable[[], None], connections: int) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        for connection in [pool.submit(use_server) for _ in range(connections)]:
            connection.result()


def _used_us(server: Server) -> float:
    """Return the processor time of all its threads in µs, with a finer resolution than Server.cpu_s
    (Linux, Documentation/scheduler/sched-stats: the first number is in ns).
    """
    return sum(int(file.read_text().split()[0]) / 1000
               for file in Path(f"/proc/{server.pid}/task").glob("*/schedstat"))


def _pausing_client(server: Server, connection: ConnectionKind) -> Callable[[], None]:
    if connection.version is None:
        return partial(_connect_plainly, server)
    how = tls.context(connection.make_pair(), versions=(connection.version,))
    session = _connection(server, how, None)[1] if connection.resumes else None

    def use_server() -> None:
        resumed, _ = _connection(server, how, session)
        if resumed != connection.resumes:
            raise UserError(f"{server.name} {'did not resume' if connection.resumes else 'resumed'} a "
                            "session", "fix its configuration")

    return use_server


def _connection(server: Server, how: ssl.SSLContext,
                session: ssl.SSLSession | None) -> tuple[bool, ssl.SSLSession | None]:
    """Connect and ask; return whether a session was resumed, and the session to resume next."""
    plain = socket.create_connection(address_of(server), 5)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with how.wrap_socket(plain, server_hostname="localhost", session=session) as client:
        _ask(client)
        return bool(client.session_reused), client.session


def _connect_plainly(server: Server) -> None:
    with connect(address_of(server)) as client:
        _ask(client)


def _ask(client: socket.socket) -> None:
    client.sendall(costs.CLOSING)
    answer = b"".join(iter(lambda: client.recv(65_536), b""))
    if not answer.endswith(PAGE):
        raise UserError(f"a visitor got {answer[:20]!r}", "make the behaviour checks pass")


MEMORY_FORMS = {"rest": ("15: buffers are freed when a client has rested", ""),
                "kept": ("buffers are kept", "kept"),
                "released": ("SSL_MODE_RELEASE_BUFFERS", "released")}


def memory() -> Finding:
    """How much memory does an idle client use?"""
    pair = certificates.localhost()
    rows: Rows = {key: {"label": label, "idle": _idle_kib(form(name), *pair.options)}
                  for key, (label, name) in MEMORY_FORMS.items()}
    rows["plain"] = {"label": "15 without TLS", "idle": _idle_kib(form(""))}
    return Finding(
        f"Resident memory of a client that had an answer {IDLE_S:.0f} s ago: the growth of one "
        f"worker from {crowd.FEW} of them to {crowd.MANY}, median of three.",
        {"idle": "KiB an idle client"}, rows)


def _idle_kib(binary: Path, *arguments: str) -> float:
    return round(crowd.resident_bytes(binary, crowd.MANY, *arguments, pause_s=IDLE_S) / 1024, 1)


def neighbours() -> Finding:
    """How long does a connected client wait while others do their handshakes?"""
    pair = certificates.localhost()
    ways = {"alone": ("no other client", form(""), False),
            "bounded": ("a flood; 8 steps a turn (15)", form(""), True),
            "unbounded": ("a flood; as many as come", form("unbounded"), True)}
    found: dict[str, list[tuple[PhaseResult, float]]] = {key: [] for key in ways}
    for number in range(ROUNDS):
        for key in ladder.rotated(list(ways), number):
            label, binary, flooded = ways[key]
            print(f"round {number + 1} of {ROUNDS}: {label}", file=sys.stderr, flush=True)
            found[key].append(_during_flood(ours(binary, pair), flooded))
    rows: Rows = {}
    for key, (label, _, _) in ways.items():
        polite, answered = zip(*found[key], strict=True)
        rows[key] = {"label": label, "rps": round(median(r.requests_per_second or 0
                                                         for r in polite)),
                     **{name: round(median(getattr(r, name) or 0 for r in polite), 2)
                        for name in ("p50_ms", "p99_ms", "max_ms")},
                     "handshakes_s": round(median(answered))}
    return Finding(
        f"One client that asks for the page again and again for {POLITE_S:.0f} s on a connection "
        "that it has, while 256 at a time begin a handshake, take the server’s answer and leave; "
        "one worker on one processor, all clients on another, median of "
        f"{ROUNDS} rounds in turn.",
        {"p50_ms": "Wait: median, ms", "p99_ms": "99 %", "max_ms": "Longest",
         "rps": "His requests/s", "handshakes_s": "Handshakes/s beside him"}, rows)


def _during_flood(start: Start, flooded: bool) -> tuple[PhaseResult, float]:
    """Return the polite client's result, and the answered handshakes of the flood per second."""
    with load.placed(start) as server:
        strangers = _flood(server) if flooded else None
        polite = load.run_phase(server, Phase("polite", "plain", 1, POLITE_S))
        answered = int(strangers.communicate(timeout=30)[0]) if strangers else 0
    if polite.reason or (flooded and not answered):
        raise UserError(f"there is no figure: {polite.reason or 'no client was answered'}",
                        "try again on a quieter machine")
    return polite, answered / FLOOD_S


def _flood(server: Server) -> subprocess.Popen[str]:
    """Start a flood on the clients' processors; it ends by itself after FLOOD_S."""
    processors = ",".join(map(str, sorted(cores().client)))
    return children.start(
        [*network.prefix(), "taskset", "--cpu-list", processors, sys.executable, "-m",
         "workbook.authors.flood", str(server.port), str(FLOOD_S)],
        cwd=SCRIPTS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def rivals_logs() -> Finding:
    """What does a log line cost, in our server and in third-party ones?"""
    names = secured.versions()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)  # some servers write as another user
        log = Path(folder, "access.log")
        known = _logging(names, log)
        found = in_sequence({key: Way(label, partial(load.placed, start), Phase(
            "64 clients", "plain", 64, 1)) for key, (label, _, start) in known.items()}, LOG_ROUNDS)
    us = cpu_us(found)
    rows: Rows = {key: {"label": label, "us": round(median(us[key]), 2),
                        "ratio": _ratio(us[key], us[without]),
                        "more": round(median(a - b for a, b in zip(
                            us[key], us[without], strict=True)), 2)}
                  for key, (label, without, _) in known.items()}
    return Finding(
        "<code>GET /</code> on 64 kept connections, without TLS, one worker on one processor and "
        "wrk on another; the log, where there is one, a file in the combined form. The server’s "
        f"own processor time a request, median of {LOG_ROUNDS} rounds in turn; ratio and "
        "difference are those to the same without a log, in the same round.",
        {"us": "µs", "ratio": "÷ without", "more": "µs more"}, rows)


def _logging(names: Mapping[str, str], log: Path) -> dict[str, tuple[str, str, Start]]:
    """Return by name a label, the name of the same server without a log, and how to start it."""
    binary = solution(TLS)
    logged = "--access-log", str(log), "--log-size", str(1 << 28)
    return {"ours": ("15", "ours", ours(binary)),
            "ours-on": ("15 with its log", "ours", partial(ours(binary), *logged)),
            "nginx": (names["nginx"], "nginx", nginx()),
            "nginx-on": (f"{names['nginx']} with its log", "nginx", nginx(log=str(log))),
            "nginx-buffered": (f"{names['nginx']} with its log, buffer=64k flush=1s", "nginx",
                               nginx(log=f"{log} combined buffer=64k flush=1s")),
            "h2o": (names["h2o"], "h2o", h2o()),
            "h2o-on": (f"{names['h2o']} with its log", "h2o", h2o(log=log))}


def kernel() -> Finding:
    """Does this kernel encrypt TLS (kTLS)?"""
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as client:
        try:
            client.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
            answer = "0: it does"
        except OSError as error:
            answer = f"{errno.errorcode[error.errno or 0]}: {os.strerror(error.errno or 0)}"
    rows: Rows = {"kernel": {"label": f"Linux {platform.release()}", "answer": answer}}
    return Finding(
        "What setsockopt(2) says when a connection is to have the upper layer “tls” (TCP_ULP), "
        "with which the kernel would make the records and sendfile could be used.",
        {"answer": "setsockopt"}, rows)


EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    "tls-kept": kept, "tls-counts": counts, "tls-handshakes": handshakes, "tls-memory": memory,
    "tls-neighbours": neighbours, "rivals-logs": rivals_logs, "tls-kernel": kernel}
