"""Four phases of load on one server: warm-up, baseline, large headers, heavy bodies."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from workbook import build, load, machine
from workbook.chapters import Chapter
from workbook.errors import UserError
from workbook.load import Phase, PhaseResult
from workbook.paths import shown
from workbook.servers import Server

NAMES = ("warm-up", "baseline", "headers", "heavy")
FULL_REST_S = 2.0
FULL_DESCRIPTORS = 65_536
STILL_BUSY = "the server was still at work for clients of an earlier phase, which had gone"
SPARE_DESCRIPTORS = 64  # what wrk and a server hold beside their connections


def short_form() -> tuple[Phase, ...]:
    """Phases that a server which serves one client at a time gets through without an error."""
    threads = min(len(load.cores().client), 4)
    return (Phase("warm-up", "plain", 32, 1, threads), Phase("baseline", "plain", 64, 1.5, threads),
            Phase("headers", "headers", 16, 1, threads), Phase("heavy", "heavy", 4, 1, threads))


def full_form() -> tuple[Phase, ...]:
    """The sizes of the published climb: TDiblik, cpp-web-server."""
    return (Phase("warm-up", "plain", 1_000, 5, 8), Phase("baseline", "plain", 10_000, 10, 8),
            Phase("headers", "headers", 5_000, 10, 4), Phase("heavy", "heavy", 100, 15, 4))


def run(chapter: Chapter, *, solution: bool = False, full: bool = False, as_json: bool = False,
        phases: Sequence[str] = (), preset: str = "release") -> int:
    """Build a chapter's server, load it, print a table or JSON. `phases` picks some of the four."""
    from workbook import report

    if unknown := set(phases) - set(NAMES):
        raise UserError(f"there is no phase {', '.join(sorted(unknown))}",
                        "use one of: " + ", ".join(NAMES))
    if preset not in build.presets():
        raise UserError(f"there is no preset {preset}", "use one of: " + ", ".join(build.presets()))
    directory = chapter.directory(solution)
    binary = build.build_server(directory, preset)
    wanted = [phase for phase in (full_form() if full else short_form())
              if not phases or phase.name in phases]
    fitted, remark = fit(wanted, raise_descriptor_limit())
    if remark:
        print(remark, file=sys.stderr)
    with load.serving(binary) as server:
        results = _with_progress(server, fitted, FULL_REST_S if full else 0.2)
    if as_json:
        print(json.dumps(_report(shown(directory), preset, full, fitted, results), indent=2))
    else:
        name = shown(directory) if preset == "release" else f"{shown(directory)} ({preset})"
        report.print_phases(name, fitted, results)
    return 0


def measure(server: Server, phases: Sequence[Phase], rest_s: float = 0.2,
            on_phase: Callable[[Phase], None] = lambda _: None) -> Iterator[PhaseResult]:
    """Each phase in turn, with `rest_s` seconds or more between them for sockets to clear."""
    fresh = True
    for phase in phases:
        on_phase(phase)
        if fresh:
            yield load.run_phase(server, phase)
        else:
            yield PhaseResult(phase.name, reason=STILL_BUSY)
        fresh = load.settle(server, rest_s)


def raise_descriptor_limit() -> int:
    """Take all that the system permits; servers and wrk inherit it. The limit that now holds."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FULL_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, FULL_DESCRIPTORS)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return FULL_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def fit(phases: Sequence[Phase], limit: int) -> tuple[list[Phase], str]:
    """The phases with no more connections than `limit` descriptors permit, and a remark if cut.

    Raises UserError when a phase would be left with fewer connections than threads.
    """
    most = limit - SPARE_DESCRIPTORS
    if most < max(phase.threads for phase in phases):
        raise UserError(f"the descriptor limit of {limit} leaves no room for a stress test",
                        f"ulimit -n {FULL_DESCRIPTORS}, or as high as the system permits")
    cut = [phase for phase in phases if phase.connections > most]
    fitted = [replace(phase, connections=min(phase.connections, most)) for phase in phases]
    if not cut:
        return fitted, ""
    changes = ", ".join(f"{phase.name} {most:,} instead of {phase.connections:,}" for phase in cut)
    return fitted, (f"note: the descriptor limit is {limit:,}, so there are fewer connections: "
                    f"{changes}.\n      To raise it: ulimit -Hn {FULL_DESCRIPTORS} as root, or "
                    "nofile in /etc/security/limits.conf; in a container --ulimit nofile="
                    f"{FULL_DESCRIPTORS}")


def _with_progress(server: Server, phases: Sequence[Phase], rest_s: float) -> list[PhaseResult]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    results = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(phases[0].name, total=sum(phase.seconds + rest_s for phase in phases))
        for result in measure(server, phases, rest_s,
                              lambda phase: bar.update(task, description=phase.name)):
            results.append(result)
            bar.advance(task, result.seconds + rest_s)
    return results


def _report(name: str, preset: str, full: bool, phases: Sequence[Phase],
            results: Sequence[PhaseResult]) -> dict[str, Any]:
    return {
        "kind": "stress",
        "server": name,
        "preset": preset,
        "form": "full" if full else "short",
        "machine": machine.facts(),
        "phases": {result.phase: {"connections": phase.connections, **result.to_json()}
                   for phase, result in zip(phases, results, strict=True)},
    }
