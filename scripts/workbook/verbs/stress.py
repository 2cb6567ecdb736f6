"""Load one server, and show how it bore it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
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
from workbook.measure import load, stress
from workbook.measure.load import Phase, PhaseResult, Remote
from workbook.servers import build
from workbook.servers.process import Server

DEFAULT_PORT = 8080
ANSWER_S = 5.0


def run(chapter: Chapter, *, solution: bool = False, form: str = "short", as_json: bool = False,
        phases: Sequence[str] = (), preset: str = "release", at: str | None = None) -> int:
    """Build a chapter's server, load it, print a table or JSON. `phases` picks some of the form's.
    The server may also run already, `at` an address.
    """
    if form not in stress.FORMS:
        raise UsageError(f"there is no form {shortened(form)}",
                         "use one of: " + ", ".join(nearest_first(form, stress.FORMS)))
    every, pause_s = stress.FORMS[form].phases(), stress.FORMS[form].pause_s
    names = [phase.name for phase in every]
    if unknown := set(phases) - set(names):
        raise UsageError(f"there is no phase {shortened(', '.join(sorted(unknown)))}",
                         "use one of: " + ", ".join(names))
    if preset not in build.presets():
        raise UsageError(f"there is no preset {shortened(preset)}",
                         "use one of: " + ", ".join(nearest_first(preset, build.presets())))
    directory = chapter.directory(solution)
    wanted = [phase for phase in every if not phases or phase.name in phases]
    fitted, remark = stress.fit(wanted, stress.raise_descriptor_limit())
    if remark:
        print(remark, file=sys.stderr)
    name = shown(directory)
    if at is not None:
        server = remote(at, chapter)
        results, name = _with_progress(server, fitted, pause_s), server.address
    else:
        with load.serving(build.build_server(directory, preset)) as started:
            results = _with_progress(started, fitted, pause_s)
    if as_json:
        print(json.dumps(_report(name, preset, form, fitted, results), indent=2))
    else:
        report.print_phases(name if at is not None or preset == "release" else f"{name} ({preset})", fitted,
                            results)
    if any(result.requests_per_second is not None for result in results):
        return 0
    flag = " --solution" if solution else ""
    raise UserError("no phase has a figure: the server did not answer every request as it must",
                    f"{COMMAND} check {chapter.tag}{flag} shows where it fails"
                    + ("" if solution else
                       f"; ours under the same load: {COMMAND} stress {chapter.tag} --solution"))


def remote(address: str, chapter: Chapter) -> Remote:
    """The server at HOST, HOST:PORT or http://HOST:PORT, after it has answered a GET. UserError if
    it doesn't, UsageError if that is no address.
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
    try:
        with build_opener(ProxyHandler({})).open(f"{root}/", timeout=ANSWER_S):
            pass
    except (OSError, HTTPException) as error:
        raise UserError(f"no answer from {host}, port {port}: {getattr(error, 'reason', error)}",
                        f"start it on that machine: {COMMAND} run {chapter.tag} --solution -- "
                        f"--host 0.0.0.0 --port {port}") from None
    return Remote(chapter.name, root, host, port)


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
