"""The experiments of part II: event loops, and what the compiler and an allocator add."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from unittest.mock import patch

from workbook.authors.blocking_servers import CLIENTS, ONE_QUEUE, OWN_QUEUES, answers
from workbook.authors.tools import (
    HOT,
    LOOP,
    OPTIMISED,
    PAUSE_S,
    PLAINLY,
    THREADS,
    WORKERS,
    Finding,
    Rows,
    Rush,
    address_of,
    after_part,
    count,
    cpu_us,
    in_sequence,
    kept_costs,
    one_worker,
    optimised,
    ratios,
    rush,
    solution,
    sweep,
    variant,
)
from workbook.common.paths import BUILD, SOLUTIONS
from workbook.course import chapters
from workbook.machine import setup
from workbook.measure import costs, crowd, fairness, ladder, load, pgo, stress
from workbook.measure.crowd import SHORT, ask_all, connect
from workbook.measure.load import MIB, Phase
from workbook.measure.sequence import Way
from workbook.servers import build
from workbook.servers.process import Server, running

HEAVY = Phase("heavy", "heavy", connections=32, seconds=2)
PLAIN = Phase("plain", "plain", connections=64, seconds=1)
AS_RECEIVED = "oversize_threshold:8388608,dirty_decay_ms:10000"  # jemalloc's own defaults
WITH_A_THREAD = "oversize_threshold:8388608,background_thread:true,dirty_decay_ms:500"
NOTHING_LARGE = "oversize_threshold:1000000,dirty_decay_ms:10000"
ASKS = "worker.cpp", "    purge_free_memory();\n"
THRESHOLD_FIXED = "glibc.malloc.mmap_threshold=131072"  # its initial value, which otherwise grows
NOTHING_TRIMMED = "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824"


def workers_sweep() -> Finding:
    """Do more event loops serve more requests, each on its own processor if there are enough?"""
    return sweep(WORKERS, counts=(1, 2, 3, 4, 6, 8), rounds=3)


def kqueue() -> Finding:
    """What does kqueue cost on top of epoll, and are many clients still served equally?"""
    clients = min(5000, stress.raise_descriptor_limit() - 200)
    rows: Rows = {}
    for key, label, preset in (("epoll", "epoll", "release"),
                               ("kqueue", "kqueue, in front of epoll", "kqueue")):
        binary = solution(LOOP, preset)
        counted = count(binary, LOOP, costs.KEPT, costs.SYSCALLS)
        with running(binary) as server:
            served = fairness.answers(address_of(server), clients, rounds=12, seconds=30)
        rows[key] = {"label": label, "syscalls": round(counted[costs.SYSCALLS] or 0),
                     "least": min(served), "median": round(median(served)), "most": max(served)}
    return Finding(
        "05, <code>GET /</code> on a kept connection: system calls per request, counted; and how "
        f"many answers each of {clients:,} clients got who ask again at once, when they had 12 on "
        "average.",
        {"syscalls": "System calls", "least": "Answers: fewest", "median": "Median",
         "most": "Most"}, rows)


def changes() -> Finding:
    """How often is kevent(2) called for a new client?"""
    binaries = {side: build.isolated(SOLUTIONS / name, "measure", BUILD / "experiments" / name,
                                     {"HOTPATH_POLLER": "kqueue"})
                for side, name in (("loop", LOOP), ("hot", HOT))}
    rows: Rows = {
        str(clients): {"label": label} | {
            side: round(crowd.kevents(binary, clients, rounds=1024 // clients), 2)
            for side, binary in binaries.items()}
        for clients, label in ((16, "16 at once"), (64, "64 at once"), (256, "256 at once"))}
    return Finding(
        "Calls of <code>kevent</code> for each client that connects, asks for the page once and "
        "leaves, the waits among them, on Linux through our library. Counted; how many clients the "
        "server finds ready at once is the scheduler’s to say.",
        {"loop": "05", "hot": "06"}, rows)


def keep_alive() -> Finding:
    """How much of the event loop's gain is the loop, and how much is keeping connections open?"""
    known = {"threads": ("04, a connection for each request", THREADS, "closing"),
             "closing": ("05, a connection for each request", LOOP, "closing"),
             "kept": ("05, connections kept", LOOP, "plain")}
    rounds, connections = 3, 64
    found = in_sequence({key: Way(label, one_worker(solution(checkpoint)),
                                  Phase(key, script, connections, 1.0))
                         for key, (label, checkpoint, script) in known.items()}, rounds)
    rows: Rows = {}
    for key, (label, checkpoint, script) in known.items():
        counted = kept_costs(checkpoint) if script == "plain" else costs.count(
            solution(checkpoint, "measure"), level=4, measures=[costs.SYSCALLS])
        rows[key] = {
            "label": label, "syscalls": counted[costs.SYSCALLS],
            "rps": round(median(r.requests_per_second or 0 for r in found[key])),
            "cpu_us": round(median(r.cpu_us_per_request or 0 for r in found[key]), 1)}
    return Finding(
        f"<code>GET /</code>, one thread serves. System calls are counted with one client, the "
        f"rest is timed with {connections}, median of {rounds} rounds.",
        {"syscalls": "System calls a request", "rps": "Requests/s",
         "cpu_us": "Server’s µs a request"}, rows)


def shared_listener() -> Finding:
    """What do the wake-ups cost if all loops wait for one listener?"""
    threads, rounds = 4, 7
    started = ("--threads", str(threads))
    rows: Rows = {}
    with variant(WORKERS, *OWN_QUEUES[1:], ONE_QUEUE) as shared, \
            variant(WORKERS, *OWN_QUEUES[1:], ONE_QUEUE, "measure") as counted_shared:
        ways = {"own": ("a listener each", solution(WORKERS), solution(WORKERS, "measure")),
                "shared": ("one listener", shared, counted_shared)}
        us = cpu_us(in_sequence({key: Way(label, partial(load.serving, binary, *started),
                                          Phase(key, "closing", 64, 1.5))
                                 for key, (label, binary, _) in ways.items()}, rounds))
        for key, (label, _, binary) in ways.items():
            counted = costs.count_started(partial(running, binary, *started), level=4,
                                          measures=[costs.SYSCALLS])
            to = ratios(us[key], us["own"])
            rows[key] = {"label": label, "syscalls": counted[costs.SYSCALLS],
                         "waits": counted.by_call.get("epoll_wait", 0),
                         "ratio": round(median(to), 2),
                         "least": round(min(to), 2), "most": round(max(to), 2)}
    return Finding(
        f"07 with {threads} workers, a connection for each <code>GET /</code>. Calls are counted with "
        f"one client, the time is measured with 64, median of {rounds} rounds; ratios are those of the "
        "same round.",
        {"syscalls": "System calls a request", "waits": "Of these, epoll_wait",
         "ratio": "Processor time, times the first’s", "least": "Least", "most": "Most"}, rows)


def staying() -> Finding:
    """Is it enough that connections stay open, if a thread waits for each?"""
    chapter = chapters.find(LOOP)
    stay = 64
    ways = {"threads": (3, 4, "after part 3, 4 threads"),
            "worker": (4, 1, "after part 4, 1 thread")}
    rows: Rows = {}
    for key, (number, threads, label) in ways.items():
        binary = after_part(chapter, number)
        counted = count(binary, LOOP, costs.KEPT, costs.SYSCALLS)
        with running(binary, "--threads", str(threads)) as server, ExitStack() as stack:
            for client in connect(server, stay, stack):
                client.sendall(SHORT)
            time.sleep(PAUSE_S)
            rows[key] = {"label": label, "syscalls": round(counted[costs.SYSCALLS] or 0, 2),
                         "answered": answers(address_of(server))}
    return Finding(
        f"{stay} clients ask for the page and stay; then {CLIENTS} others ask at once. How many of "
        "these have their answer within a second; and the calls of one client that stays, counted.",
        {"syscalls": "System calls a request", "answered": f"Answered, of {CLIENTS}"}, rows)


def together() -> Finding:
    """What does a request cost when many are ready at once?"""
    binary = solution(LOOP, "measure")
    rows: Rows = {}
    for key, label, clients, depth in (("1", "1 client", 1, 1), ("4", "4 clients", 4, 1),
                                       ("16", "16 clients", 16, 1), ("64", "64 clients", 64, 1),
                                       ("pipelined", "1 client, 16 requests pipelined", 1, 16)):
        calls = _calls_together(binary, clients, depth)
        wait, receive, send = (sum(calls.get(name, 0) for name in names) for names in (
            ("epoll_wait", "epoll_pwait"), ("recvfrom",), ("writev", "sendto")))
        rows[key] = {"label": label, "wait": round(wait, 3), "receive": round(receive, 3),
                     "send": round(send, 3), "all": round(sum(calls.values()), 3)}
    return Finding(
        "System calls a request of 05 when every client has one request out, or sixteen. Counted; "
        "how many clients are ready at once is the scheduler’s to say.",
        {"wait": "<code>epoll_wait</code>", "receive": "<code>recv</code>",
         "send": "<code>writev</code>", "all": "All"}, rows)


def hot_path() -> Finding:
    """How does a request's cost depend on its size, and how much memory does an idle client use?"""
    requests = {"short": ("instructions, 41 bytes", SHORT),
                "browser": ("instructions, a browser’s", costs.KEPT),
                "large": ("instructions, with a field of 10,000 bytes", SHORT.replace(
                    b"\r\n\r\n", b"\r\nX-Large: " + b"h" * 10_000 + b"\r\n\r\n"))}
    sides = {"loop": LOOP, "hot": HOT}
    rows: Rows = {
        key: {"label": label} | {side: _instructions(kept_costs(name, request, costs.INSTRUCTIONS))
                                 for side, name in sides.items()}
        for key, (label, request) in requests.items()}
    rows["idle"] = {"label": "bytes of memory for an idle client"} | {
        side: crowd.resident_bytes(solution(name)) for side, name in sides.items()}
    return Finding(
        f"For one <code>GET /</code> on a kept connection, counted; and the growth of the resident "
        f"memory from {crowd.FEW} clients that had an answer and are silent to {crowd.MANY}, for "
        "each of them.",
        {"loop": "05", "hot": "06"}, rows)


def parts_of_hot_path() -> Finding:
    """What does each part of the step from 05 to 06 change?"""
    chapter = chapters.find(HOT)
    requests = {"alone": costs.INSTRUCTIONS, "pipelined": costs.PIPELINED_INSTRUCTIONS,
                "allocations": costs.ALLOCATIONS}
    rows: Rows = {}
    for number, title in enumerate(["05", *(f"{part.number}. {part.title}"
                                            for part in chapter.parts)]):
        binary = after_part(chapter, number)
        counted = count(binary, HOT, costs.KEPT, *requests.values())
        rows[str(number)] = {"label": title, "resident": crowd.resident_bytes(binary)} | {
            key: round(counted[measure] or 0, 2) for key, measure in requests.items()}
    return Finding(
        "After each part: for a browser’s <code>GET /</code> on a kept connection, which comes "
        f"alone or with {costs.DEPTH - 1} more, counted; and the growth of resident memory from "
        f"{crowd.FEW} clients that had an answer and are silent to {crowd.MANY}, for each of them.",
        {"alone": "Instructions", "pipelined": f"{costs.DEPTH} at once",
         "allocations": "Allocations", "resident": "Bytes of an idle client"}, rows)


def allocators() -> Finding:
    """What does another allocator change for small requests, large bodies, and memory?"""
    setup.ensure(["jemalloc", "mimalloc"])
    sides = {"system": ("the system’s", "system", ""),
             "untuned": ("jemalloc as it comes", "unasked", AS_RECEIVED),
             "thread": ("jemalloc with a thread", "unasked", WITH_A_THREAD),
             "nothing": ("jemalloc that keeps nothing large", "unasked", NOTHING_LARGE),
             "jemalloc": ("jemalloc that we ask", "jemalloc", ""),
             "mimalloc": ("mimalloc", "mimalloc", "")}
    with _unasked() as unasked:
        return _allocators(sides, {"unasked": unasked} | {
            name: optimised(name, {"HOTPATH_ALLOCATOR": name})
            for name in ("system", "jemalloc", "mimalloc")})


def _unasked() -> AbstractContextManager[Path]:
    """Build 08 with jemalloc, but without the call that returns memory to the system."""
    return variant(OPTIMISED, *ASKS, "", "measure", PLAINLY)


def _allocators(sides: Mapping[str, tuple[str, str, str]], binaries: Mapping[str, Path]) -> Finding:
    plain = in_sequence({key: Way(label, partial(_configured, conf, one_worker(binaries[name])), PLAIN)
                         for key, (label, name, conf) in sides.items()}, rounds=7)
    rushes: dict[str, list[Rush]] = {key: [] for key in sides}
    for number in range(3):
        for key in ladder.rotated(list(sides), number):
            _, name, conf = sides[key]
            with patch.dict(os.environ, {"MALLOC_CONF": conf}):
                rushes[key].append(rush(binaries[name], (HEAVY,)))
    rows: Rows = {key: {
        "label": label, "page": _page(binaries[name], conf),
        "plain_us": round(median(one.cpu_us_per_request or 0 for one in plain[key]), 2),
        "us": round(median(one.us for one in rushes[key])),
        "peak": round(median(one.peaks_mib[0] for one in rushes[key])),
        "after": round(median(one.after_mib for one in rushes[key]))}
        for key, (label, name, conf) in sides.items()}
    return Finding(
        f"08 without LTO and profile, one worker. Counted: a <code>GET /</code> of {len(SHORT)} "
        f"bytes. Timed: {PLAIN.connections} clients that ask for the page, the median of seven "
        f"rounds in turn; {HEAVY.connections} clients with bodies of 1 to 9.4 MB, and the resident "
        f"memory at their peak and {PAUSE_S} s after them, the medians of three.",
        {"page": "GET /: instructions", "plain_us": "GET /: µs", "us": "Heavy: µs",
         "peak": "MiB, peak", "after": "MiB, after"}, rows)


def _page(binary: Path, conf: str) -> int:
    """Return the instructions of GET /, without jemalloc's thread, which wakes by the clock."""
    with patch.dict(os.environ, {"MALLOC_CONF": f"{conf},background_thread:false".lstrip(",")}):
        return _instructions(count(binary, OPTIMISED, SHORT, costs.INSTRUCTIONS))


def _instructions(counted: costs.Costs) -> int:
    return round(counted[costs.INSTRUCTIONS] or 0)


@contextmanager
def _configured(conf: str, start: Callable[[], AbstractContextManager[Server]]) -> Iterator[Server]:
    """A server whose jemalloc has these settings."""
    with patch.dict(os.environ, {"MALLOC_CONF": conf}), start() as server:
        yield server


def giving_back() -> Finding:
    """How is the memory of large bodies allocated and returned, and what does that cost?"""
    setup.ensure(["jemalloc", "strace"])
    clients, waves = 16, 8
    sides = {"system": ("the system’s", "system", {}),
             "fixed": ("its threshold fixed", "system", {"GLIBC_TUNABLES": THRESHOLD_FIXED}),
             "kept": ("nothing trimmed", "system", {"GLIBC_TUNABLES": NOTHING_TRIMMED}),
             "untuned": ("jemalloc as it comes", "unasked", {"MALLOC_CONF": AS_RECEIVED}),
             "nothing": ("jemalloc that keeps nothing large", "unasked",
                         {"MALLOC_CONF": NOTHING_LARGE}),
             "jemalloc": ("jemalloc that we ask", "jemalloc", {})}
    rows: Rows = {}
    with _unasked() as unasked:
        binaries = {"unasked": unasked} | {name: optimised(name, {"HOTPATH_ALLOCATOR": name})
                                           for name in ("system", "jemalloc")}
        for key, (label, name, environment) in sides.items():
            with patch.dict(os.environ, environment):
                rows[key] = {"label": label, **_giving_back(binaries[name], clients, waves)}
    return Finding(
        f"08 without LTO and profile, one worker. {clients} clients, each with a body of 1 to 9.4 "
        f"MB that all have begun before one ends; {waves} times. For a body, counted; and what is "
        f"resident {PAUSE_S} s later.",
        {"munmap": "<code>munmap</code>", "brk": "<code>brk</code>",
         "madvise": "<code>madvise</code>", "faults": "Page faults", "after": "MiB, after"}, rows)


def _giving_back(binary: Path, clients: int, waves: int) -> dict[str, float]:
    """Return figures per body. The difference to a run without bodies excludes start and stop."""
    without, found = (_waves(binary, clients, times) for times in (0, waves))
    a_body = {name: (found[name] - without[name]) / (clients * waves)
              for name in ("munmap", "brk", "madvise", "faults")}
    return {name: round(count, 2) for name, count in a_body.items()} | {
        "faults": round(a_body["faults"]), "after": round(found["after"] / MIB)}


def _waves(binary: Path, clients: int, waves: int) -> Counter[str]:
    """Return system calls by name, page faults, and the bytes that are resident afterwards."""
    tool = costs.STRACE
    with tempfile.TemporaryDirectory() as scratch:
        report, sizes = Path(scratch, "calls"), Random(1)
        with (running(binary, "--threads", "1", wrapper=tool.wrapper(report)) as server,
              ExitStack() as stack):
            connected = connect(server, clients, stack)
            for _ in range(waves):
                crowd.post_together(connected, sizes)
            time.sleep(PAUSE_S)
            seen = {"faults": server.page_faults(), "after": server.resident_bytes()}
            server.stop()
        return tool.read(report.read_text(errors="replace")) + Counter(seen)


def compilers() -> Finding:
    """What do LTO and a profile save, each alone and together?"""
    rows: Rows = {}
    for key, label, lto, rounds in (
            ("plain", "neither", "OFF", 0), ("lto", "LTO", "ON", 0),
            ("profile", "a profile", "OFF", 1), ("context", "a profile, two rounds", "OFF", 2),
            ("both", "LTO and a profile, two rounds", "ON", 2)):
        settings = {"HOTPATH_ALLOCATOR": "system", "HOTPATH_LTO": lto}
        binary = _profiled(key, settings, rounds) if rounds else optimised(key, settings)
        small, browser = (_instructions(count(binary, OPTIMISED, request, costs.INSTRUCTIONS))
                          for request in (SHORT, costs.KEPT))
        rows[key] = {"label": label, "small": small, "browser": browser,
                     "size": round(binary.stat().st_size / 1024)}
    return Finding(
        "08 with the system’s allocator. Instructions per <code>GET /</code> on a kept connection, "
        f"of {len(SHORT)} bytes with only a Host, and as a browser sends it. Counted, not timed.",
        {"small": f"{len(SHORT)} bytes", "browser": "A browser’s", "size": "KiB of program"}, rows)


def _profiled(name: str, settings: dict[str, str], rounds: int) -> Path:
    """Build 08 with a profile of the stress test, collected in this many rounds."""
    directory = BUILD / "experiments" / name
    phases = [replace(phase, seconds=0.5) for phase in stress.short_form()]
    pgo.gather(SOLUTIONS / OPTIMISED, directory, phases, settings, "measure", rounds)
    return pgo.use(SOLUTIONS / OPTIMISED, directory, settings, "measure")


def _calls_together(binary: Path, clients: int, depth: int) -> dict[str, float]:
    """Return system calls per request by name: the clients each send `depth` requests, then all
    read.

    It is the difference to a run in which they ask only once. The number of clients that are ready
    at once differs from run to run, so the difference of two long runs would be noise.
    """
    tool, rounds = costs.STRACE, 8192 // clients
    totals: list[Counter[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for times in (0, rounds):
            report = Path(scratch, str(times))
            with running(binary, wrapper=tool.wrapper(report)) as server, ExitStack() as stack:
                connected = connect(server, clients, stack)
                ask_all(connected, 1)  # so that all are accepted
                for _ in range(times):
                    ask_all(connected, depth)
                server.stop()
            totals.append(tool.read(report.read_text(errors="replace")))
    return {name: (totals[1][name] - totals[0][name]) / (rounds * clients * depth)
            for name in totals[1]}
