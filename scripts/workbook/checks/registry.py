"""Every check there is, in the order in which they are run and shown.

`check` runs what is here, the gate (scripts/tests/gate) holds every starter, solution and planted
mistake to it, chapter.toml names these names, and the book takes its words from here. To add one,
write a module here (or one of cases in `behaviour`) with

1. the function that judges. It is handed the `Subject` (the chapter, its source, its builds by
   preset) and its checks, and yields a `Verdict` for each. One that finds a figure hands it to
   `budgets.verdict`: the budget is in the chapter's `[cost]`, called after the check:
   `resident = 1024` for `cost.resident`;
2. the tuple `CHECKS`. See `Check` for what an entry says: what it is called, what it is about,
   from which level of behaviour on it holds, for servers or labs, which builds and which tool it
   needs, whether it decides or only informs;

and name the module below.

Nothing else names a check, but for the chapters that have a budget for it, fail it in their starter
(`starter_fails`) or plant a mistake that it must catch (`mutants/CHECK.what.patch`). The gate asks
for such a mistake before it is content.

    CHECKS = (Check("cost.resident", "resident bytes", judge, unit="bytes", per="client", level=6),)

is such a tuple. Checks that stand together and have the same judge are judged in one go. What
needs a build that is not there yet (a sanitizer's, say) names the preset in `builds`.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbook.checks import (
    allocator,
    clock,
    counted,
    futexes,
    kevents,
    labs,
    layout,
    linking,
    log_format,
    poller,
    resident,
    seam,
    sending,
    tls_session,
)
from workbook.checks.behaviour import (
    bodies,
    buffered,
    changing_files,
    chunked,
    chunked_answers,
    codings,
    connections,
    cuts,
    date,
    deadlines,
    descriptors,
    echo,
    exhaustion,
    file_cache,
    files,
    framing,
    idle_cpu,
    idle_wakeups,
    keep_alive,
    limits,
    log,
    many_clients,
    memory,
    other_builds,
    over_tls,
    overload,
    paths,
    pipelining,
    ranges,
    rates,
    redirects,
    refused_bodies,
    reported_fields,
    requests,
    root,
    slow_clients,
    smuggling,
    start,
    stop,
    streaming,
    threads,
    tls,
    traversal,
    validators,
    workers,
)
from workbook.checks.model import Check
from workbook.common.errors import UserError
from workbook.course.chapters import Chapter

BEHAVIOUR = (
    requests, framing, limits, smuggling, bodies, cuts, connections, idle_cpu, idle_wakeups,
    descriptors, memory, exhaustion, start, stop, threads, keep_alive, pipelining, slow_clients, many_clients, workers,
    deadlines, date, files, traversal, paths, redirects, changing_files, root, validators, ranges,
    codings, file_cache, streaming, chunked, chunked_answers, refused_bodies, overload, buffered,
    rates, log, tls,
)
GROUPS: tuple[Check, ...] = tuple(check for module in BEHAVIOUR for check in module.CHECKS)
CHECKS: tuple[Check, ...] = (
    *GROUPS, *reported_fields.CHECKS, *echo.CHECKS,
    *other_builds.checks(GROUPS), *over_tls.checks(GROUPS),
    *seam.CHECKS, *poller.CHECKS, *log_format.CHECKS, *tls_session.CHECKS,
    *counted.CHECKS, *sending.CHECKS, *counted.LATER_CHECKS,
    *layout.CHECKS, *resident.CHECKS, *kevents.CHECKS, *futexes.CHECKS,
    *allocator.CHECKS, *linking.CHECKS, *clock.CHECKS, *labs.CHECKS,
)
NAMES = tuple(check.name for check in CHECKS)


def named(name: str) -> Check:
    """The check of that name; else UserError listing them all."""
    for check in CHECKS:
        if check.name == name:
            return check
    raise UserError(f"there is no check “{name}”", "use one of: " + ", ".join(NAMES))


def of(chapter: Chapter, names: Iterable[str] = NAMES) -> list[Check]:
    """Those of these names that are for the chapter."""
    wanted = set(names)
    return [check for check in CHECKS if check.name in wanted and check.applies(chapter)]
