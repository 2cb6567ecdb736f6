"""Load one server, and show the results."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from workbook.common.errors import UsageError, UserError
from workbook.common.paths import COMMAND, shown
from workbook.common.suggestions import nearest_first, shortened
from workbook.course.chapters import Chapter
from workbook.figures import report
from workbook.machine import facts
from workbook.measure import load, second_machine, stress
from workbook.measure.load import Phase, PhaseResult, Remote
from workbook.measure.open_loop import MAX_REQUESTS, Plan
from workbook.servers import build
from workbook.servers.process import Server
from workbook.verbs import latency

DEFAULT_PORT = 8080
ANSWER_S = 5.0


@dataclass(frozen=True)
class Where:
    """The server to load: built and started here; or already running, `at` an address; or built
    here and started by ssh on another machine, `there`.
    """

    chapter: Chapter
    solution: bool = False
    preset: str = "release"
    at: str | None = None
    there: str | None = None

    @contextmanager
    def serving(self) -> Iterator[tuple[Server | Remote, str]]:
        """Yields the running server, and its name in a report."""
        directory = self.chapter.directory(self.solution)
        name = shown(directory) + ("" if self.preset == "release" else f" ({self.preset})")
        if self.at is not None:
            server = remote(self.at, self.chapter)
            yield server, server.address
        elif self.there is not None:
            there = second_machine.resolved(self.there)
            binary = build.build_server(directory, self.preset)
            with second_machine.serving(there, self.chapter.name, binary) as server:
                _require_answer(server, f"is there a firewall on {self.there}? If so, open a port, run "
                                "the server there, and give its address with --at")
                yield server, f"{name} on {self.there}"
        else:
            with load.serving(build.build_server(directory, self.preset)) as started:
                yield started, name


def run(where: Where, form: str = "short", phases: Sequence[str] = (), as_json: bool = False) -> int:
    """Load a chapter's server with a form's phases, or some of them; print a table or JSON."""
    if form not in stress.FORMS:
        raise UsageError(f"there is no form {shortened(form)}",
                         "use one of: " + ", ".join(nearest_first(form, stress.FORMS)))
    every, pause_s = stress.FORMS[form].phases(), stress.FORMS[form].pause_s
    names = [phase.name for phase in every]
    if unknown := set(phases) - set(names):
        raise UsageError(f"there is no phase {shortened(', '.join(sorted(unknown)))}",
                         "use one of: " + ", ".join(names))
    _require_preset(where.preset)
    wanted = [phase for phase in every if not phases or phase.name in phases]
    fitted, remark = stress.fit(wanted, stress.raise_descriptor_limit())
    if remark:
        print(remark, file=sys.stderr)
    with where.serving() as (server, name):
        results = _with_progress(server, fitted, pause_s)
    if as_json:
        print(json.dumps(_report(name, where.preset, form, fitted, results), indent=2))
    else:
        report.print_phases(name, fitted, results)
    if any(result.requests_per_second is not None for result in results):
        return 0
    tag, flag = where.chapter.tag, " --solution" if where.solution else ""
    raise UserError("no phase has a figure: the server did not answer every request as it must",
                    f"{COMMAND} check {tag}{flag} shows where it fails"
                    + ("" if where.solution else
                       f"; ours under the same load: {COMMAND} stress {tag} --solution"))


def run_at_rate(where: Where, plan: Plan, as_json: bool = False) -> int:
    """Load a chapter's server at a fixed rate; print how its latencies are distributed."""
    _require_preset(where.preset)
    if plan.requests > MAX_REQUESTS:
        raise UsageError(f"{plan.requests:,} requests are too many to keep the latency of each",
                         f"ask for {MAX_REQUESTS:,} at most: --seconds "
                         f"{max(1, int(MAX_REQUESTS / plan.rate))}")
    with where.serving() as (server, name):
        return latency.run(server, name, plan, as_json)


def _require_preset(preset: str) -> None:
    if preset not in build.presets():
        raise UsageError(f"there is no preset {shortened(preset)}",
                         "use one of: " + ", ".join(nearest_first(preset, build.presets())))


def remote(address: str, chapter: Chapter) -> Remote:
    """Returns the server at HOST, HOST:PORT or http://HOST:PORT, once it has answered a GET. Raises
    UserError if it doesn't, and UsageError if that is no address.
    """
    text = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != "http" or parts.path not in ("", "/") or parts.query:
        raise UsageError(f"{shortened(address)} is no address of a server",
                         f"give a host and a port: {COMMAND} stress {chapter.tag} --at 192.0.2.1:8080")
    root = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    server = Remote(chapter.name, root, host, port)
    _require_answer(server, f"start it on that machine: {COMMAND} run {chapter.tag} --solution -- "
                    f"--host 0.0.0.0 --port {port}")
    return server


def _require_answer(server: Remote, fix: str) -> None:
    try:
        with build_opener(ProxyHandler({})).open(f"{server.address}/", timeout=ANSWER_S):
            pass
    except (OSError, HTTPException) as error:
        raise UserError(f"no answer from {server.host}, port {server.port}: "
                        f"{getattr(error, 'reason', error)}", fix) from None


def _with_progress(server: Server | Remote, phases: Sequence[Phase], pause_s: float) -> list[PhaseResult]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    results = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(phases[0].name, total=sum(phase.seconds + pause_s for phase in phases))
        for result in stress.measure(server, phases, pause_s,
                                     lambda phase: bar.update(task, description=phase.name)):
            results.append(result)
            bar.advance(task, result.seconds + pause_s)
    return results


def _report(name: str, preset: str, form: str, phases: Sequence[Phase],
            results: Sequence[PhaseResult]) -> dict[str, Any]:
    return {
        "kind": "stress",
        "server": name,
        "preset": preset,
        "form": form,
        "machine": facts.collect(),
        "phases": {result.phase: {"connections": phase.connections, **result.to_json()}
                   for phase, result in zip(phases, results, strict=True)},
    }
