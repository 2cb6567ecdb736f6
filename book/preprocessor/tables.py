"""Tables of recorded figures, as HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from preprocessor.errors import DirectiveError
from preprocessor.results import Figure, figure, load, look_up
from workbook.course.chapters import Chapter
from workbook.measure import costs

PHASES = {
    "warm-up": "Warm-up",
    "baseline": "Baseline",
    "headers": "Large headers",
    "heavy": "Heavy bodies",
}
MACHINE = {
    "cpu": "Processor",
    "cores": "Cores",
    "memory_gib": "Memory, GiB",
    "os": "System",
    "kernel": "Kernel",
    "compiler": "Compiler",
    "flags": "Flags",
    "commit": "Commit",
    "date": "Date",
}
RATE = "requests_per_second"
UNPUBLISHED = "not published"  # the reason in published.json
NO_FIGURE = '<span class="none">no figure</span>'


class Tables:
    """The recorded ladder and the published one, as the tables that pages use."""

    def __init__(self, results: Path, chapters: Sequence[Chapter]) -> None:
        self._results = results
        self._titles = {chapter.name: chapter.title for chapter in chapters}
        self._notes: list[str] = []
        self._output: set[str] = set()

    def make(self, kind: str, names: Sequence[str], output: set[str]) -> str:
        """Returns the table called `kind`; `names` is empty or one checkpoint. Machines in `output`
        have been described on the page, and are not described again.
        """
        whole: dict[str, Callable[[], str]] = {
            "ladder": self._ladder, "published": self._published, "older": self._older,
            "machine": self._machine}
        single: dict[str, Callable[[str], str]] = {
            "costs": self._costs, "calls": self._calls, "phases": self._phases,
            "published": self._published_step, "experiment": self._experiment}
        self._notes, self._output = [], output
        if kind in whole and not names:
            return whole[kind]()
        if kind in single and len(names) == 1:
            return single[kind](names[0])
        raise DirectiveError(f"no table “{' '.join([kind, *names])}”; there are: "
                             f"{', '.join(whole)}, and with a name: {', '.join(single)}")

    @property
    def _recorded(self) -> dict[str, Any]:
        return load(self._results / "ladder.json")

    def _ladder(self) -> str:
        servers = look_up(self._recorded, "servers")
        rows = []
        for server in servers:
            rate = self._rate(server, "baseline")
            times = rate.over(self._rate("01-naive", "baseline"))
            counted = [self._cost(server, measure.figure) for measure in costs.ALONE]
            rows.append([self._title(server), _times(times),
                         self._noted(rate, f"{server}, baseline"), *map(_cell, counted)])
        head = ["", "Times the naive", "Requests/s",
                *(costs.LABELS[measure.figure] for measure in costs.ALONE)]
        return self._table(head, rows, "Counted, in a build for counting: per <code>GET /</code>. "
                           "Requests/s: the stress test’s baseline, median of its rounds. 1 to 4 "
                           "on a connection for each request, the others on ones that are kept.")

    def _costs(self, name: str) -> str:
        before = self._before(name)
        rows = []
        for cost, label in costs.LABELS.items():
            old, new = self._cost(before, cost), self._cost(name, cost)
            rows.append([label, _change(old, new), _cell(old), _cell(new)])
        head = ["Per <code>GET /</code>", "Change", self._short(before), self._short(name)]
        return self._table(head, rows, "Counted, not timed.")

    def _calls(self, name: str) -> str:
        before = self._before(name)
        old, new = (look_up(self._recorded, f"servers.{server}.costs.by_call")
                    for server in (before, name))
        calls = sorted(old.keys() | new.keys(),
                       key=lambda call: (-max(old.get(call, 0), new.get(call, 0)), call))
        rows = [[f"<code>{escape(call)}</code>", *(_cell(Figure(side.get(call, 0)))
                                                   for side in (old, new))] for call in calls]
        return self._table(["Calls per <code>GET /</code>", self._short(before),
                            self._short(name)], rows, "Counted, not timed.")

    def _phases(self, name: str) -> str:
        before = self._before(name)
        rows = []
        for phase, label in PHASES.items():
            old, new = self._rate(before, phase), self._rate(name, phase)
            rows.append([label, _times(new.over(old)),
                         self._noted(old, f"{before}, {phase}") + self._range(before, phase),
                         self._noted(new, f"{name}, {phase}") + self._range(name, phase),
                         *(_cell(self._phase(name, phase, key), missing="–")
                           for key in ("p50_ms", "p99_ms", "cpu_us_per_request")),
                         self._busy(name, phase, "cpu", "server"),
                         self._busy(name, phase, "wrk", "client"),
                         _cell(self._phase(name, phase, "peak_rss_mib"), missing="–")])
        head = ["Phase", "Ratio", f"{self._short(before)}, requests/s",
                f"{self._short(name)}, requests/s", "p50, ms", "p99, ms", "CPU, µs a request",
                "Busy", "wrk busy", "Peak, MiB"]
        return self._table(head, rows, "The range below a rate is that of its rounds. p50 and what "
                           f"follows it: {self._short(name)}. Busy: how much of its processors’ "
                           "time the server’s process used, and wrk of its own. What wrk "
                           "does before its clock starts counts too, so it can be above 100 %.")

    def _range(self, server: str, phase: str) -> str:
        """Returns the rates of the slowest and the fastest round, as a second line of the cell."""
        measured = look_up(self._recorded, f"servers.{server}.phases.{phase}")
        rounds = (measured or {}).get("rounds") or []
        if len(rounds) < 2 or None in rounds:
            return ""
        least, most = (_cell(Figure(bound)) for bound in (min(rounds), max(rounds)))
        return f'<small class="range">{least}–{most}</small>'

    def _busy(self, name: str, phase: str, time: str, side: str) -> str:
        """Returns how busy the processors of the server or of wrk were, from its µs a request."""
        measured = look_up(self._recorded, f"servers.{name}.phases.{phase}")
        rate, cpu_us = self._rate(name, phase), Figure(measured.get(f"{time}_us_per_request"))
        if rate.number is None or cpu_us.number is None:
            return "–"
        cores = len(look_up(self._recorded, f"method.{side}_cores"))
        return f"{rate.number * cpu_us.number / 1e4 / cores:.0f}&nbsp;%"

    def _published(self) -> str:
        published = load(self._results / "published.json")
        steps = [name for name in look_up(self._recorded, "servers")
                 if name in published["servers"]]
        rows = []
        for name in steps:
            cells = [self._ratio(data, name, "01-naive", phase)
                     for phase in PHASES for data in (published, self._recorded)]
            rows.append([self._short_title(name), *cells])
        top = "<th></th>" + "".join(f'<th colspan="2">{label}</th>' for label in PHASES.values())
        head = ["Times the naive server’s", *(["published", "ours"] * len(PHASES))]
        return self._table(head, rows, self._published_source(), top)

    def _published_step(self, name: str) -> str:
        published, before = load(self._results / "published.json"), self._before(name)
        rows = [[label, *(self._ratio(data, name, before, phase)
                          for data in (published, self._recorded))]
                for phase, label in PHASES.items()]
        head = [f"Compared with {self._short(before)}", "Published", "Ours"]
        return self._table(head, rows, self._published_source())

    def _older(self) -> str:
        """Returns the older test's table: requests per second of four steps, published and ours."""
        published = look_up(load(self._results / "published.json"), "older")
        found = load(self._results / "older.json")
        columns, rows = look_up(found, "columns"), []
        for name, ours in look_up(found, "rows").items():
            cells = [self._title(name)]
            for phase in columns:
                theirs = published.get(name, {})
                mark = "†" if phase == "body" and "refused_percent" in theirs else ""
                cells += [_cell(Figure(theirs.get(phase)), missing="–") + mark,
                          self._noted(figure(ours, phase), name)]
            rows.append(cells)
        top = "<th></th>" + "".join(f'<th colspan="2">{label}</th>' for label in columns.values())
        caption = f"{look_up(found, 'what')} † Nearly all answers were refusals."
        return self._table(["", *(["published", "ours"] * len(columns))], rows, caption, top,
                           machine=look_up(found, "machine"))

    def _experiment(self, name: str) -> str:
        """Returns the table of an experiment of `record`; its texts are HTML already."""
        found = load(self._results / f"{name}.json")
        columns = look_up(found, "columns")
        rows = [[row["label"], *(_value(row, column) for column in columns)]
                for row in look_up(found, "rows").values()]
        return self._table(["", *columns.values()], rows, look_up(found, "what"),
                           machine=look_up(found, "machine"))

    def _published_source(self) -> str:
        source = look_up(load(self._results / "published.json"), "source")
        return (f"Published: {escape(source)}, with socket errors or unexpected answers in the "
                "figures marked †. Ours: without any.")

    def _ratio(self, data: dict[str, Any], name: str, other: str, phase: str) -> str:
        """Returns how many times as fast; marked if one of the runs had errors."""
        rates, mark = [], ""
        for server in (name, other):
            path = f"servers.{server}.phases.{phase}"
            rates.append(figure(data, f"{path}.{RATE}"))
            if rates[-1].number is not None and any(look_up(data, path)["errors"].values()):
                mark = "†"
            if rates[-1].reason == UNPUBLISHED:
                self._note(f"{server} wasn’t published.")
            else:
                self._noted(rates[-1], f"{server}, {phase}")
        ratio = rates[0].over(rates[1])
        return _times(ratio) + (mark if ratio.number is not None else "")

    def _machine(self) -> str:
        machine = look_up(self._recorded, "machine")
        rows = [[MACHINE.get(key, key), escape(str(value))] for key, value in machine.items()]
        others = look_up(self._recorded, "method.others_percent")
        rows.append(["Taken by other programs meanwhile", f"{others:g} %"])
        return self._table(["", "Recorded on"], rows,
                           "From <code>book/results/ladder.json</code>.", numbers=False)

    def _provenance(self, machine: dict[str, Any]) -> str:
        """Returns processor, compiler, commit and date; after its first use on a page, a machine is
        named by its processor alone.
        """
        where = "{cpu}, {cores} cores; {compiler}".format_map(machine)
        when = "commit {commit}, {date:.10}.".format_map(machine)
        text = f"{machine['cpu'] if where in self._output else where}; {when}"
        self._output.add(where)
        return escape(text)

    def _before(self, name: str) -> str:
        """Returns the server recorded before this one; the floor is before the first."""
        servers = list(look_up(self._recorded, "servers"))
        if name not in servers or servers.index(name) == 0:
            raise DirectiveError(f"nothing was recorded before “{name}”: {', '.join(servers)}")
        return servers[servers.index(name) - 1]  # type: ignore[no-any-return]

    def _title(self, server: str) -> str:
        if server not in self._titles:
            return escape(server.capitalize())
        return f"{int(server[:2])}&nbsp;·&nbsp;{escape(self._titles[server])}"

    def _short_title(self, server: str) -> str:
        """Returns the title up to its colon, for a table with many columns."""
        return self._title(server).partition(":")[0]

    def _short(self, server: str) -> str:
        """Returns the chapter's number, a short heading for a narrow column."""
        return server[:2] if server in self._titles else escape(server.capitalize())

    def _cost(self, server: str, cost: str) -> Figure:
        return figure(self._recorded, f"servers.{server}.costs.{cost}")

    def _phase(self, server: str, phase: str, key: str) -> Figure:
        return figure(self._recorded, f"servers.{server}.phases.{phase}.{key}")

    def _rate(self, server: str, phase: str) -> Figure:
        return self._phase(server, phase, RATE)

    def _noted(self, value: Figure, what: str) -> str:
        """Returns the cell; the reason for a missing figure is noted below the table."""
        if value.number is None:
            self._note(f"No figure for {what}: {value.reason}.")
        return _cell(value)

    def _note(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)

    def _table(self, head: Sequence[str], rows: Iterable[Sequence[str]], caption: str,
               top: str = "", numbers: bool = True,
               machine: dict[str, Any] | None = None) -> str:
        machine = machine or look_up(self._recorded, "machine")
        lines = ['<figure class="table">', '<div class="scroll" tabindex="0">',
                 f'<table class="{"numbers" if numbers else "facts"}">', "<thead>"]
        lines += [f"<tr>{top}</tr>"] if top else []
        lines.append("<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>")
        lines += ["</thead>", "<tbody>"]
        for first, *cells in rows:
            values = "".join(f"<td>{cell}</td>" for cell in cells)
            lines.append(f'<tr><th scope="row">{first}</th>{values}</tr>')
        notes = "".join(f" {escape(note)}" for note in self._notes)
        lines += ["</tbody>", "</table>", "</div>",
                  f"<figcaption>{caption}{notes} {self._provenance(machine)}</figcaption>", "</figure>"]
        return "\n".join(lines)


def _value(row: dict[str, Any], column: str) -> str:
    """Returns an experiment's number, or its text."""
    value = row.get(column)
    return value if isinstance(value, str) else _cell(figure(row, column))


def _cell(value: Figure, missing: str = NO_FIGURE) -> str:
    return value.text() if value.number is not None else missing


def _change(old: Figure, new: Figure) -> str:
    """51× fewer, 17 % fewer, 2 % more, 6.1× as many, the same."""
    if old.number == new.number:
        return "the same"
    if not old.number or not new.number:
        return "–"
    fewer = new.number < old.number
    ratio = old.over(new) if fewer else new.over(old)
    if (ratio.number or 0) >= (10 if fewer else 2):
        return f"{_times(ratio)} {'fewer' if fewer else 'as many'}"
    percent = 100 * abs(new.number / old.number - 1)
    digits = 0 if percent >= 1 else 1
    return f"{percent:.{digits}f}&nbsp;% {'fewer' if fewer else 'more'}"


def _times(value: Figure) -> str:
    """A ratio: 46×, 4.1×, 1.06×, 0.0015×."""
    if value.number is None:
        return "–"
    if value.number < 0.1:
        return f"{value.number:.2g}×"
    digits = 0 if value.number >= 10 else 1 if value.number >= 2 else 2
    return f"{value.number:,.{digits}f}×"
