"""All checks, in the order in which they are run and shown.

`check` runs them, the gate (scripts/tests/gate) applies them to every starter, solution and planted
mistake, chapter.toml refers to them by name, and the book quotes their descriptions. To add one,
write a module here (or a module of cases in `behaviour`) with

1. the function that judges. It's called with the `Subject` (the chapter, its source, its builds by
   preset) and its checks, and yields a `Verdict` for each. A check that measures a figure passes it
   to `budgets.verdict`: its budget is in the chapter's `[cost]`, under the check's name:
   `resident = 1024` for `cost.resident`;
2. the tuple `CHECKS`. `Check` documents an entry's fields, such as its name and description, the
   first level of behaviour at which it applies, whether it's for servers or labs, the builds and
   the tool that it needs, and whether it decides or only informs;

and list the module below.

Only chapters name a check otherwise: those that have a budget for it, fail it in their starter
(`starter_fails`) or plant a mistake that it must catch (`mutants/CHECK.what.patch`). The gate fails
if a check has no such mistake.

    CHECKS = (Check("cost.resident", "resident bytes", judge, unit="bytes", per="client", level=6),)

is such a tuple. Adjacent checks with the same judge are judged in one call. A check that needs
another build (a sanitizer's, say) names its preset in `builds`.
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
    send_ring,
    sending,
    tls_session,
)
from workbook.checks.behaviour import (
    batching,
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
    rates, log, tls, batching,
)
GROUPS: tuple[Check, ...] = tuple(check for module in BEHAVIOUR for check in module.CHECKS)
CHECKS: tuple[Check, ...] = (
    *GROUPS, *reported_fields.CHECKS, *echo.CHECKS,
    *other_builds.checks(GROUPS), *over_tls.checks(GROUPS),
    *seam.CHECKS, *poller.CHECKS, *log_format.CHECKS, *tls_session.CHECKS,
    *send_ring.CHECKS,
    *counted.CHECKS, *sending.CHECKS, *counted.LATER_CHECKS,
    *layout.CHECKS, *resident.CHECKS, *kevents.CHECKS, *futexes.CHECKS,
    *allocator.CHECKS, *linking.CHECKS, *clock.CHECKS, *labs.CHECKS,
)
NAMES = tuple(check.name for check in CHECKS)


def named(name: str) -> Check:
    """Returns the check with that name; raises UserError listing all checks if there is none."""
    for check in CHECKS:
        if check.name == name:
            return check
    raise UserError(f"there is no check “{name}”", "use one of: " + ", ".join(NAMES))


def of(chapter: Chapter, names: Iterable[str] = NAMES) -> list[Check]:
    """Returns those of the named checks that apply to the chapter."""
    wanted = set(names)
    return [check for check in CHECKS if check.name in wanted and check.applies(chapter)]
