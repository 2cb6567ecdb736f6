"""The result of the climb: the last server compared with the floor, and its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from workbook.authors.tools import (
    CLIMB,
    GET,
    LOOP,
    OPTIMISED,
    PAUSE_S,
    TLS,
    Finding,
    Rows,
    count,
    cpu_us,
    in_sequence,
    one_worker,
    ratios,
    rush,
    solution,
)
from workbook.common.errors import UserError
from workbook.common.paths import SOLUTIONS
from workbook.course import chapters
from workbook.measure import costs, crowd, load, stress
from workbook.measure.crowd import SHORT
from workbook.measure.load import Phase, PhaseResult
from workbook.measure.sequence import Way
from workbook.servers import build

ROUNDS = 7
LOADS = {
    "clients": ("64 clients", Phase("64 clients", "plain", 64, 1)),
    "many": ("5,000 clients", Phase("5,000 clients", "plain", 5000, 1.5)),
    "header": ("64 clients, a field of 30 kB", Phase("header", "header30k", 64, 1)),
    "pipelined": (f"64 clients, {costs.DEPTH} requests pipelined",
                  Phase("pipelined", "pipelined", 64, 1)),
}
RUSH = (Phase("plain", "plain", 1000, 1), Phase("headers", "headers", 500, 1),
        Phase("heavy", "heavy", 100, 3))
IDLE_CLIENTS = 8000
FIELD_SIZES = (0, 100, 1000, 10_000, 60_000)
FIELD_COUNTS = (1, 2, 5, 10, 20, 40, 80)
STREAMING = 12  # the chapter that later ones are compared with
LATER_ROUNDS = 45
DATED_FLOOR = "floor-dated"
FLOORS = {DATED_FLOOR: "the floor", build.FLOOR: "the floor, undated"}
LATER_LOADS = {key: LOADS[key] for key in ("clients", "pipelined")}
SHARED_LOADS = {"plain": LOADS["clients"][1], "header": LOADS["header"][1]}


def older() -> Finding:
    """How does every step perform in the published climb's older test?"""
    stress.raise_descriptor_limit()
    form = stress.FORMS["older"]
    rows: Rows = {}
    for name in CLIMB:
        with load.serving(solution(name)) as server:
            results = list(stress.measure(server, form.phases(), form.pause_s))
        rows[name] = {"label": name} | {
            result.phase: result.requests_per_second and round(result.requests_per_second, 1)
            for result in results} | {
            "reason": "; ".join(f"{result.phase}: {result.reason}" for result in results
                                if result.reason)}
    return Finding(
        "Requests/s of 400 clients, once, 10 s each: <code>GET /</code>; the same with a field of "
        "64 kB; <code>POST /sink</code> of 10 MB with that field.",
        {"plain": "Plain", "header": "Large header", "body": "And a large body"}, rows)


def floor() -> Finding:
    """How near does the last server come to one that parses nothing?"""
    stress.raise_descriptor_limit()
    sides = {"floor": build.floor("release"), "top": solution(OPTIMISED)}
    found = in_sequence({(key, side): Way(f"{label}, {side}", one_worker(binary), phase)
                         for key, (label, phase) in LOADS.items() for side, binary in sides.items()},
                        ROUNDS)
    us = cpu_us(found)
    rows: Rows = {}
    for key, (label, _) in LOADS.items():
        to = ratios(us[key, "top"], us[key, "floor"])
        rows[key] = {"label": label} | {side: round(median(us[key, side]), 2) for side in sides} | {
            "ratio": round(median(to), 2), "least": round(min(to), 2), "most": round(max(to), 2)}
    return Finding(
        f"<code>GET /</code>, one worker on one processor and wrk on another. The server’s own "
        f"processor time a request, the median of {ROUNDS} rounds in turn; the ratio is that of "
        "the two in the same round.",
        {"floor": "Floor, µs", "top": "08, µs", "ratio": "Ratio, median", "least": "Smallest",
         "most": "Largest"}, rows)


def floor_counts() -> Finding:
    """How near does it come in system calls and instructions?"""
    sides = {"floor": build.floor("measure"), "top": solution(OPTIMISED, "measure")}
    whats = {costs.SYSCALLS: 3, costs.INSTRUCTIONS: 0}  # and their decimal places
    rows: Rows = {}
    for key, label, measures in (
            ("alone", "one at a time", (costs.SYSCALLS, costs.INSTRUCTIONS)),
            ("pipelined", f"{costs.DEPTH} pipelined",
             (costs.PIPELINED_SYSCALLS, costs.PIPELINED_INSTRUCTIONS))):
        counted = {side: count(binary, OPTIMISED, SHORT, *measures)
                   for side, binary in sides.items()}
        rows[key] = {"label": label} | {
            f"{side}_{what.name}": round(counted[side][measure] or 0, digits)
            for (what, digits), measure in zip(whats.items(), measures, strict=True)
            for side in sides}
    return Finding(
        f"Per <code>GET /</code> of {len(SHORT)} bytes on a kept connection. Counted, not timed.",
        {f"{side}_{what.name}": f"{title}: {what.unit}" for what in whats
         for side, title in (("floor", "Floor"), ("top", "08"))}, rows)


def nothing_lost() -> Finding:
    """Has the page become more expensive since chapter 12, through features that are off?"""
    floor = build.floor("release")
    starts = {DATED_FLOOR: one_worker(floor, "--dated"), build.FLOOR: one_worker(floor)} | {
        name: one_worker(solution(name)) for name in later_checkpoints()}
    found = in_sequence({(load, name): Way(f"{label}, {name}", start, phase)
                         for load, (label, phase) in LATER_LOADS.items()
                         for name, start in starts.items()}, LATER_ROUNDS)
    return Finding(
        f"<code>GET /</code>, one worker on one processor and wrk on another, without log and "
        f"TLS: 64 clients with a request each, and with {costs.DEPTH} pipelined. The server’s own "
        f"processor time a request, the median of {LATER_ROUNDS} slices of a second in turn; "
        "the ratios are those of the same round. The floor’s answers are as long as theirs.",
        {f"{load}_{key}": f"{title}: {what}"
         for load, title in (("clients", "64 clients"), ("pipelined", "Pipelined"))
         for key, what in (("us", "µs"), ("ratio", "× the floor"), ("to_12", "× 12"))},
        against_the_floor(found, list(starts)))


def later_checkpoints(solutions: Path = SOLUTIONS) -> list[str]:
    """Return the names of 12 and the later checkpoints whose solutions exist."""
    return [chapter.name for chapter in chapters.all_chapters()
            if (chapter.number or 0) >= STREAMING and (solutions / chapter.name).is_dir()]


def against_the_floor(found: Mapping[tuple[str, str], Sequence[PhaseResult]],
                      names: Sequence[str]) -> Rows:
    """Return a row per name, with ratios to the floor whose answers are as long, and to 12."""
    first = next(name for name in names if name not in FLOORS)
    rows: Rows = {name: {"label": FLOORS.get(name, name[:2])} for name in names}
    us = cpu_us(found)
    for asked in dict.fromkeys(asked for asked, _ in found):
        for name in names:
            to_floor, to_first = (ratios(us[asked, name], us[asked, other])
                                  for other in (DATED_FLOOR, first))
            rows[name] |= {f"{asked}_us": round(median(us[asked, name]), 2),
                           f"{asked}_ratio": round(median(to_floor), 2),
                           f"{asked}_least": round(min(to_floor), 2),
                           f"{asked}_most": round(max(to_floor), 2),
                           f"{asked}_to_12": round(median(to_first), 2)}
    return rows


def builds() -> Finding:
    """Does the build that is counted need as many instructions as the one that is shipped?"""
    presets = {"counted": "measure", "shipped": "release"}
    rows: Rows = {}
    for name in CLIMB:
        kept = int(name[:2]) >= costs.KEEP_ALIVE_LEVEL
        large = (SHORT if kept else GET).replace(
            b"\r\n\r\n", b"\r\nX-Large: " + b"h" * 10_000 + b"\r\n\r\n")
        binaries = {side: solution(name, preset) for side, preset in presets.items()}
        browser = {side: count(binary, name, costs.KEPT if kept else costs.CLOSING, *costs.ALONE)
                   for side, binary in binaries.items()}
        heads = {side: count(binary, name, large, costs.INSTRUCTIONS)
                 for side, binary in binaries.items()}
        rows[name] = {"label": name[:2], "differ": sum(
            browser["counted"][measure] != browser["shipped"][measure]
            for measure in (costs.SYSCALLS, costs.ALLOCATIONS))} | {
            f"{key}{side}": round(found[side][costs.INSTRUCTIONS] or 0)
            for key, found in (("", browser), ("large_", heads)) for side in presets}
    other = [row["label"] for row in rows.values() if row["differ"]]
    same = (f"System calls or allocations differ in {', '.join(other)}." if other else
            "System calls and allocations are the same in both.")
    return Finding(
        "Instructions for a browser’s <code>GET /</code>, and for one with a field of 10,000 "
        f"bytes, in the build that is counted and in the one that is timed. {same} Counted, not "
        "timed.",
        {"counted": "Browser’s, counted", "shipped": "Browser’s, timed",
         "large_counted": "10 kB field, counted", "large_shipped": "10 kB field, timed"}, rows)


def field_sizes() -> Finding:
    """How do the instructions of a request grow with its head?"""
    rows: Rows = {}
    for size in FIELD_SIZES:
        rows[str(size)] = {"label": f"{size:,} bytes"}
        for name in CLIMB:
            request = (SHORT if int(name[:2]) >= costs.KEEP_ALIVE_LEVEL else GET).replace(
                b"\r\n\r\n", b"\r\nX-Large: " + b"h" * size + b"\r\n\r\n")
            counted = count(solution(name, "measure"), name, request, costs.INSTRUCTIONS)
            rows[str(size)][name[:2]] = round(counted[costs.INSTRUCTIONS] or 0)
    return Finding(
        "Instructions for a short <code>GET /</code> that has one field of this many bytes "
        "besides. Counted, not timed.", {name[:2]: name[:2] for name in CLIMB}, rows)


def fields() -> Finding:
    """How do the instructions of a request grow with the number of its fields?"""
    steps = (*CLIMB, TLS)
    rows: Rows = {}
    for number in FIELD_COUNTS:
        request = SHORT.replace(b"\r\n\r\n", b"\r\n" + _more_fields(number - 1) + b"\r\n")
        rows[str(number)] = {"label": f"{number} field{'s' * (number > 1)}"} | {
            name[:2]: round(count(solution(name, "measure"), name, request,
                                  costs.INSTRUCTIONS)[costs.INSTRUCTIONS] or 0)
            for name in steps}
    few, many = (rows[str(number)] for number in (FIELD_COUNTS[0], FIELD_COUNTS[-1]))
    rows["each"] = {"label": "each further field, on average"} | {
        name[:2]: round((many[name[:2]] - few[name[:2]]) / (FIELD_COUNTS[-1] - FIELD_COUNTS[0]), 1)
        for name in steps}
    return Finding(
        "Instructions that the server itself executes, without the kernel, for a "
        "<code>GET /</code> with this many fields: <code>Host</code>, and further ones of "
        f"{len(_more_fields(1))} bytes, whose names are all different and unknown to the server. "
        "15 serves over plain TCP. Counted, not timed.",
        {name[:2]: name[:2] for name in steps}, rows)


def _more_fields(number: int) -> bytes:
    """Return fields of one length, with names that no server looks up."""
    return b"".join(b"X-Field-%02d: twenty bytes of text\r\n" % i for i in range(number))


def shares() -> Finding:
    """How much of a request's processor time is the kernel's, and how does each step compare with
    the floor?
    """
    binaries = {"floor": build.floor("release")} | {name: solution(name) for name in CLIMB}
    found = in_sequence({(kind, name): Way(f"{name}, {kind}", one_worker(binary), phase)
                         for kind, phase in SHARED_LOADS.items() for name, binary in binaries.items()},
                        ROUNDS)
    rows: Rows = {}
    for name in binaries:
        rows[name] = {"label": "the floor" if name == "floor" else name[:2]}
        for kind in SHARED_LOADS:
            pairs = list(zip(found[kind, name], found[kind, "floor"], strict=True))
            whole = [one.cpu_us_per_request or 0 for one, _ in pairs]
            kernel = [one.kernel_us_per_request or 0 for one, _ in pairs]
            to_floor = ratios(whole, [floor.cpu_us_per_request or 1 for _, floor in pairs])
            rows[name] |= {f"{kind}_us": round(median(whole), 2),
                           f"{kind}_kernel": round(100 * sum(kernel) / sum(whole), 1),
                           f"{kind}_ratio": round(median(to_floor), 2),
                           f"{kind}_least": round(min(to_floor), 2),
                           f"{kind}_most": round(max(to_floor), 2)}
    return Finding(
        f"<code>GET /</code> from 64 clients, short and with a field of 30 kB, one worker on one "
        f"processor and wrk on another: the server’s own processor time a request, the median of "
        f"{ROUNDS} rounds in turn; how much of it the kernel took; and how many times the floor’s "
        "of the same round it is.",
        {f"{kind}_{key}": f"{title}: {what}" for kind, title in (("plain", "Short"),
                                                                 ("header", "30 kB"))
         for key, what in (("us", "µs"), ("kernel", "kernel, %"), ("ratio", "× the floor"))}, rows)


def memory() -> Finding:
    """How much memory does an idle client use, and how much is left after a rush?"""
    if stress.raise_descriptor_limit() < IDLE_CLIENTS + stress.SPARE_DESCRIPTORS:
        raise UserError(f"the descriptor limit has no room for {IDLE_CLIENTS:,} clients",
                        f"ulimit -n {IDLE_CLIENTS + 2 * stress.SPARE_DESCRIPTORS}")
    rows: Rows = {}
    for key, label, checkpoint in (("loop", "05", LOOP), ("top", "08", OPTIMISED)):
        binary = solution(checkpoint)
        found = rush(binary, RUSH)
        before, peak = max(found.peaks_mib[:-1]), found.peaks_mib[-1]
        rows[key] = {"label": label,
                     "idle": round(crowd.resident_bytes(binary, IDLE_CLIENTS) / 1024, 1),
                     "before": round(before, 1), "peak": round(peak, 1),
                     "after": round(found.after_mib, 1),
                     "ratio": round(found.after_mib / before, 1)}
    *small, heavy = RUSH
    return Finding(
        f"Resident memory of one worker. Idle: its growth from {crowd.FEW} clients that have had "
        f"an answer to {IDLE_CLIENTS:,}. Then a rush: the peak with {small[0].connections:,} "
        f"clients that ask for the page and {small[1].connections} that send large headers, the "
        f"peak while {heavy.connections} send bodies of 1 to 9.4 MB, and what is left "
        f"{PAUSE_S} s later.",
        {"idle": "KiB an idle client", "before": "MiB: peak before", "peak": "Peak with bodies",
         "after": "After them", "ratio": "After ÷ before"}, rows)
