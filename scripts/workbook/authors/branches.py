"""Branches and their simulated mispredictions: in the lab, in forms of one function, and in a
server's requests.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TypeVar

from workbook.authors.tools import (
    Finding,
    Rows,
    address_of,
    compiled,
    optimised,
    output_of,
)
from workbook.common.errors import UserError
from workbook.common.paths import SCRIPTS, SOLUTIONS
from workbook.course import chapters, starters, trees
from workbook.machine import needs, setup
from workbook.measure import costs, labs
from workbook.servers.client import answers, connect
from workbook.servers.process import running

LAB = "lab-branches"
SHARE, FORMS, LIKELY = (SCRIPTS / "lab" / f"{name}.cpp" for name in (
    "branch_share", "method_forms", "likely"))
ELEMENTS = 65_536  # in each of these programs
ORDERS, SECONDS = {"sorted": "Sorted", "shuffled": "Shuffled"}, 5.0
ROUNDS, PASSES = 15, 60
FEW, MORE = 1, 4  # passes that are counted; the difference excludes start and stop
SHARES = (0, 1, 2, 5, 10, 15, 20, 30, 40, 50)  # per cent
WAYS = {"chain": "Chain of comparisons", "length": "<code>switch</code> on the length",
        "byte": "<code>switch</code> on the first byte", "integers": "Chain of integers",
        "table": "Table"}
TRAFFIC = {"mostly": (20, "one in 20 drawn from all nine"), "mixed": (1, "all nine equally often")}
VARIANTS = {"plain": ("", "No attribute"), "likely": ("likely", "<code>[[likely]]</code>"),
            "unlikely": ("unlikely", "<code>[[unlikely]]</code>"), "profile": ("", "Profile")}
REQUESTS, TIMEOUT_S = 400, 5.0
BROWSER = b"GET / HTTP/1.1\r\n" + costs.FIELDS + b"\r\n"
SHORT = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CURL = b"Host: localhost\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
MIX = (BROWSER, SHORT, b"GET /nowhere HTTP/1.1\r\n" + CURL + b"\r\n",
       b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
       b"POST /sink HTTP/1.1\r\n" + CURL + b"Content-Length: 11\r\n\r\nhello=world")
TRAFFICS = {"short": ("One request with one field, again and again", (SHORT,)),
            "browser": ("A browser’s request, again and again", (BROWSER,)),
            "mix": ("Five different requests in random order", MIX)}
FUNCTIONS = {"method": "find_method", "fields": "parse_field|process_field|memchr",
             "others": ""}  # everything else

Key = TypeVar("Key")


def orders() -> Finding:
    """How does the order of the deadlines, sorted or shuffled, affect the starter's sweep?"""
    chapter = chapters.find(LAB)
    rows: Rows = {}
    counts = labs.starter(chapter, "measure")
    for key, label in ORDERS.items():
        found = labs.count(counts, f"expired_{key}", (labs.INSTRUCTIONS, labs.MISPREDICTIONS))
        if found.skipped:
            raise UserError(f"this cannot be counted: {found.skipped}", "record where it can be")
        rows[key] = {"label": label, "instructions": round(found.figures["instructions"]),
                     "missed": round(found.figures["mispredictions"], 1)}
    times = labs.one_against_another(labs.starter(chapter), "expired_sorted", "expired_shuffled",
                                     SECONDS)
    for key, ns in zip(ORDERS, (times.base_ns, times.others[0].ns), strict=True):
        rows[key]["ns"] = round(ns, 1)
    return Finding(
        "The starter looks at 64 clients, of which half have expired: instructions and simulated "
        f"mispredictions, counted, and nanoseconds of processor time, both in turn. {busy()}",
        {"instructions": "Instructions", "missed": "Mispredictions", "ns": "ns"}, rows)


def share() -> Finding:
    """How do both forms of the sweep depend on the share of clients that have expired?"""
    setup.ensure(["compiler", "valgrind"])
    with tempfile.TemporaryDirectory() as scratch:
        trees.write(starters.starter(chapters.find(LAB)), Path(scratch, "starter"))
        programs = {side: compiled(SHARE, Path(scratch, side), f"-I{folder}")
                    for side, folder in (("branch", Path(scratch, "starter")),
                                         ("free", SOLUTIONS / LAB))}
        commands = {(size, side): [str(program), str(10 * size)]
                    for size in SHARES for side, program in programs.items()}
        events = {key: counted(command) for key, command in commands.items()}
        times, load = timed(commands)
    rows: Rows = {}
    for size in SHARES:
        rows[str(size)] = {"label": f"{size} %"}
        for side in programs:
            found = times[size, side]
            rows[str(size)] |= {
                f"{side}_missed": round(events[size, side]["missed"], 3),
                f"{side}_ns": round(median(found), 2),
                f"{side}_ns_least": round(min(found), 2), f"{side}_ns_most": round(max(found), 2)}
    return Finding(
        f"{ELEMENTS:,} clients in random order. Mispredictions for each, simulated by cachegrind; "
        f"nanoseconds of processor time, median of {ROUNDS} rounds in turn. {load}",
        {"branch_missed": "Branch: mispredictions", "free_missed": "No branch: mispredictions",
         "branch_ns": "Branch: ns", "free_ns": "No branch: ns"}, rows)


def method_forms() -> Finding:
    """Five ways to recognise a method, each with mostly one method and with all of them."""
    setup.ensure(["compiler", "valgrind"])
    with tempfile.TemporaryDirectory() as scratch:
        program = compiled(FORMS, Path(scratch, "forms"), f"-I{SOLUTIONS / LAB}")
        commands = {(way, traffic): [str(program), way, str(others)]
                    for way in WAYS for traffic, (others, _) in TRAFFIC.items()}
        events = {key: counted(command) for key, command in commands.items()}
        times, load = timed(commands)
    rows: Rows = {}
    for way, label in WAYS.items():
        rows[way] = {"label": label}
        for traffic in TRAFFIC:
            key = way, traffic
            rows[way] |= {f"{traffic}_instructions": round(events[key]["Ir"], 1),
                          f"{traffic}_missed": round(events[key]["missed"], 2),
                          f"{traffic}_ns": round(median(times[key]), 2)}
    what = "; ".join(f"{traffic}: {words}" for traffic, (_, words) in TRAFFIC.items())
    return Finding(
        f"{ELEMENTS:,} request lines in random order, {what}. Counted by cachegrind for a line, its "
        f"simulated predictor included; nanoseconds of processor time, median of {ROUNDS} rounds in "
        f"turn. {load}",
        {f"{traffic}_{column}": f"{traffic.capitalize()}{words}" for traffic in (
            "mostly", "mixed") for column, words in (
            ("instructions", ": instructions"), ("missed", ": mispredictions"), ("ns", ": ns"))},
        rows)


def likely() -> Finding:
    """The same function with either attribute, with none, and compiled with a profile."""
    setup.ensure(["compiler", "valgrind"])
    rows: Rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        for key, (attribute, label) in VARIANTS.items():
            options = _profile(Path(scratch)) if key == "profile" else [f"-DRARE={attribute}"]
            events = counted([str(compiled(LIKELY, Path(scratch, key), *options))])
            rows[key] = {"label": label, "instructions": round(events["Ir"], 2),
                         "missed": round(100 * events["missed"], 2)}
    return Finding(
        f"Counted by cachegrind: {ELEMENTS:,} bytes, of which one in a hundred is rare. The "
        "attribute is on the branch of the rare ones, so <code>[[likely]]</code> is wrong.",
        {"instructions": "Instructions for a byte",
         "missed": "Simulated mispredictions for 100 bytes"}, rows)


def _profile(scratch: Path) -> Sequence[str]:
    """Profile the program; returns clang's options to use it. UserError without llvm-profdata."""
    merger = shutil.which(output_of(
        [str(needs.compiler()), "-print-prog-name=llvm-profdata"]).strip())
    if not merger:
        raise UserError("a profile is merged by llvm-profdata, which this compiler lacks",
                        "record with clang")
    program = compiled(LIKELY, scratch / "trained", f"-fprofile-generate={scratch / 'raw'}")
    output_of([str(program), str(FEW)])
    output_of([merger, "merge", "-o", str(scratch / "merged"), str(scratch / "raw")])
    return [f"-fprofile-use={scratch / 'merged'}"]


def in_server() -> Finding:
    """How many branches of a request are mispredicted in 08, and in which of its functions?"""
    setup.ensure(["valgrind"])
    binary = optimised("system", {"HOTPATH_ALLOCATOR": "system"})
    rows: Rows = {}
    for key, (label, kinds) in TRAFFICS.items():
        drawn = random.Random(7).choices(kinds, k=2 * REQUESTS)
        few, many = (_served(binary, drawn[:count]) for count in (REQUESTS, 2 * REQUESTS))
        each = {name: (many[name] - few[name]) / REQUESTS for name in many}
        rows[key] = {"label": label, **{
            column: round(sum(value for name, value in each.items() if name.startswith(prefix)), 1)
            for column, prefix in (("branches", "branches "), ("missed", "missed "),
                                   ("fields", "missed fields"), ("others", "missed others"))},
            "method": round(each.get("missed method", 0), 2)}
    return Finding(
        "08 without LTO and profile, kept connection: branches in the program for a request, and "
        "how many the simulated predictor of cachegrind gets wrong. The fields: "
        "<code>parse_field</code>, <code>process_field</code> and the <code>memchr</code> that they "
        "call; the method: <code>find_method</code>.",
        {"branches": "Branches", "missed": "Mispredicted", "fields": "in the fields",
         "method": "in the method", "others": "elsewhere"}, rows)


def _served(binary: Path, requests: Sequence[bytes]) -> Counter[str]:
    """Return the branches, by function, of a run in which the server gets these requests."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report")
        with running(binary, "--threads", "1",
                     wrapper=labs.BRANCHES.wrapper(report)) as server:
            with connect(address_of(server), TIMEOUT_S) as client:
                server.sleeps(TIMEOUT_S)
                for request in requests:
                    client.sendall(request)
                    next(iter(answers(client, 1)))
            server.sleeps(TIMEOUT_S)
            server.stop()
        return by_function(report.read_text(errors="replace"))


def by_function(report: str) -> Counter[str]:
    """Return branches and mispredicted branches by the groups of FUNCTIONS."""
    found: Counter[str] = Counter()
    group = "others"
    for line in report.splitlines():
        if line.startswith("fn="):
            group = next((name for name, pattern in FUNCTIONS.items()
                          if pattern and re.search(pattern, line)), "others")
        elif re.match(r"\d+ \d", line):
            _, _, conditional, missed, indirect, missed_indirect = map(int, line.split())
            found[f"branches {group}"] += conditional + indirect
            found[f"missed {group}"] += missed + missed_indirect
    return found


def counted(command: Sequence[str]) -> dict[str, float]:
    """Return cachegrind's events per element, and as `missed` both kinds of mispredicted branches.
    The program gets its number of passes as the last argument.
    """
    few, many = (_events([*command, str(passes)]) for passes in (FEW, MORE))
    each = {name: (many[name] - few[name]) / ((MORE - FEW) * ELEMENTS) for name in many}
    return {**each, "missed": each["Bcm"] + each["Bim"]}


def _events(command: Sequence[str]) -> Counter[str]:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report")
        done = subprocess.run([*labs.BRANCHES.wrapper(report), *command], capture_output=True)
        if done.returncode != 0:
            raise UserError(f"{command[0]} fails under valgrind", "run it alone")
        return labs.branch_events(report.read_text(errors="replace"))


def timed(commands: dict[Key, list[str]]) -> tuple[dict[Key, list[float]], str]:
    """Run the programs in turn; returns the nanoseconds that each prints, and the load average."""
    times: dict[Key, list[float]] = {key: [] for key in commands}
    for number in range(ROUNDS):
        keys = list(commands)
        for key in keys if number % 2 else reversed(keys):
            times[key].append(float(output_of([*commands[key], str(PASSES)])))
    return times, busy()


def busy() -> str:
    return f"Load average {os.getloadavg()[1]:.1f} meanwhile."


EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    f"{LAB}-orders": orders, f"{LAB}-share": share, f"{LAB}-methods": method_forms, f"{LAB}-likely": likely,
    f"{LAB}-server": in_server}
