"""Every check there is, in the order in which they are run and told.

`check` runs what is here, the gate (scripts/tests/gate) holds every starter, solution and planted
mistake to it, chapter.toml names these names, and the book takes its words from here. To add one:

1. An entry in CHECKS. See `Check` for what an entry says: what it is called, what it is about,
   from which level of behaviour on it holds, for servers or labs, which builds and which tool it
   needs, whether it decides or only tells.
2. A module here (or one of cases in `behaviour`) with the function that judges. It is handed the
   `Subject` (the chapter, its source, its builds by preset) and its checks, and yields a `Verdict`
   for each. One that finds a figure hands it to `budgets.verdict`: the budget is in the chapter's
   `[cost]`, called after the check: `resident = 1024` for `cost.resident`.

Nothing else names a check, but for the chapters that have a budget for it, fail it in their starter
(`starter_fails`) or plant a mistake that it must catch (`mutants/CHECK.what.patch`). The gate asks
for such a mistake before it is content.

    Check("cost.resident", "resident bytes", resident.judge, unit="bytes", per="client", level=6)

is such an entry. Checks that stand together and have the same judge are judged in one go. What
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
    poller,
    resident,
    seam,
    sending,
)
from workbook.checks.behaviour import (
    bodies,
    changing_files,
    chunked,
    codings,
    connections,
    cuts,
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
    validators,
    workers,
)
from workbook.checks.behaviour.judge import group
from workbook.checks.model import BASE, KQUEUE, MEASURE, RELEASE, Check
from workbook.common.errors import UserError
from workbook.course.chapters import Chapter
from workbook.measure import costs
from workbook.measure import labs as benchmarks

AT_ONCE = " when sixteen come at once"
AN_ECHO = " to echo 200 kB that come in pieces"

GROUPS = (
    group("requests", "routes, methods and versions", requests.cases),
    group("framing", "malformed requests", framing.cases),
    group("limits", "limits of lines, fields and bodies", limits.cases),
    group("smuggling", "what could be read in two ways", smuggling.cases),
    group("bodies", "bodies of any size", bodies.cases),
    group("cuts", "requests cut at any byte", cuts.cases),
    group("connections", "clients that stop, say too much or vanish", connections.cases),
    group("idle-cpu", "processor time while nothing moves", idle_cpu.cases),
    group("idle-wakeups", "sleep until a client or a deadline", idle_wakeups.cases, level=5),
    group("descriptors", "descriptors, that they come back and run out", descriptors.cases),
    group("memory", "memory of clients that read nothing or have gone", memory.cases),
    group("exhaustion", "bodies that there is no memory for", exhaustion.cases),
    group("start", "a start, and one that fails", start.cases),
    group("stop", "an end that lets clients finish", stop.cases),
    group("threads", "slow clients beside others", threads.cases, level=4),
    group("keep-alive", "connections that stay open", keep_alive.cases, level=5),
    group("pipelining", "requests that come before an answer", pipelining.cases, level=5),
    group("slow-clients", "slow readers and writers", slow_clients.cases, level=5),
    group("many-clients", "a thousand idle neighbours", many_clients.cases, level=5),
    group("workers", "clients shared out among workers", workers.cases, level=7),
    group("deadlines", "clients that outstay their welcome", deadlines.cases, level=5),
    group("files", "files as answers", files.cases, level=9),
    group("paths", "what a path means, and what it must never reach", paths.cases, level=9),
    group("changing-files", "files that change while they are sent", changing_files.cases,
          level=9),
    group("root", "the folder that is served", root.cases, level=9),
    group("validators", "versions that a client has already", validators.cases, level=10),
    group("ranges", "parts of files", ranges.cases, level=10),
    group("codings", "coded forms of files", codings.cases, level=10),
    group("file-cache", "files that are asked for again and again", file_cache.cases, level=11),
    group("chunked", "bodies that come in chunks", chunked.cases, level=12),
    group("streaming", "bodies that nobody holds", streaming.cases, level=12),
    group("overload", "more clients, and slower ones, than there is room for", overload.cases,
          level=13),
    group("log", "lines of the log", log.cases, level=14),
    group("tls", "TLS on the one port", tls.cases, level=15),
)

CHECKS: tuple[Check, ...] = (
    *GROUPS,
    reported_fields.check(),
    echo.check(),
    other_builds.under_sanitizers(GROUPS),
    other_builds.under_thread_sanitizer(GROUPS),
    other_builds.on_kqueue(GROUPS),
    over_tls.check(GROUPS),
    Check("seam.connection", "system calls of the connection", seam.judge, level=5),
    Check("seam.poller", "changes that wait for the next call of kevent", poller.judge, level=6,
          builds=(KQUEUE,)),
    counted.check(costs.SYSCALLS),
    counted.check(costs.ALLOCATIONS),
    counted.check(costs.INSTRUCTIONS),
    counted.check(costs.CLOSING_ALLOCATIONS, level=6, per="client that asks once and leaves"),
    counted.check(costs.ECHO_ALLOCATIONS, level=6,
                  when=" to echo 100 bytes, of eight clients that were in mid-head at once"),
    counted.check(costs.PIPELINED_SYSCALLS, level=5, when=AT_ONCE),
    counted.check(costs.PIPELINED_INSTRUCTIONS, level=5, when=AT_ONCE),
    counted.check(costs.BODY_BYTES, level=3, when=AN_ECHO),
    counted.check(costs.BODY_INSTRUCTIONS, level=3, when=AN_ECHO),
    counted.check(costs.COOKIE_INSTRUCTIONS, level=6, when=" with a cookie of 4 KiB"),
    counted.check(costs.PIECES_INSTRUCTIONS, level=5, when=" of 60 kB that comes by the kilobyte"),
    counted.check(costs.FILE_SYSCALLS, level=9, per="file"),
    counted.check(costs.FILE_ALLOCATIONS, level=9, per="file"),
    counted.check(costs.FILE_INSTRUCTIONS, level=9, per="file"),
    counted.check(costs.LARGE_FILE_SYSCALLS, level=11, per="large file"),
    counted.check(costs.LARGE_FILE_ALLOCATIONS, level=11, per="large file"),
    counted.check(costs.NOT_MODIFIED_SYSCALLS, level=11, per="file that the client has"),
    counted.check(costs.MISSING_SYSCALLS, level=11, per="file that is not there"),
    counted.check(costs.REFUSAL_SYSCALLS, level=13, when=" beside the waits",
                  per="client that finds no place"),
    Check("cost.file-piece", "bytes asked for before the next wait", sending.judge,
          unit="bytes asked for before the next wait", per="large file", level=9, tool="strace",
          after="behaviour.files"),
    Check("cost.file-segments", "segments", sending.judge, unit="segments", per="small file",
          level=9, after="behaviour.files"),
    counted.check(costs.LOGGED_SYSCALLS, level=14, when=" with a log"),
    counted.check(costs.LOGGED_ALLOCATIONS, level=14, when=" with a log"),
    counted.check(costs.LOGGED_ECHO_ALLOCATIONS, level=14, when=" with a log, to echo 100 bytes"),
    counted.check(costs.LOGGED_INSTRUCTIONS, level=14, when=" with a log"),
    counted.check(costs.TLS_SYSCALLS, level=15, when=" by TLS"),
    counted.check(costs.TLS_ALLOCATIONS, level=15, when=" by TLS"),
    counted.check(costs.TLS_INSTRUCTIONS, level=15, when=" by TLS"),
    counted.check(costs.TLS_FILE_SYSCALLS, level=15, when=" by TLS", per="large file"),
    Check("cost.layout", "bytes of its fixed part", layout.judge, unit="bytes", per="Request",
          level=3, builds=(MEASURE,), after="behaviour.requests"),
    Check("cost.resident", "resident bytes", resident.judge, unit="resident bytes",
          per="silent client", level=5),
    Check("cost.resident-in-a-head", "resident bytes", resident.judge, unit="resident bytes",
          per="client that has stopped in a head", level=5),
    Check("cost.resident-lingering", "resident bytes", resident.judge, unit="resident bytes",
          per="client that has its last answer and does not close", level=5),
    Check("cost.resident-tls", "resident bytes", resident.judge, unit="resident bytes",
          per="silent client by TLS", level=15),
    Check("cost.kevents", "calls of kevent", kevents.judge, unit="calls of kevent",
          per="new client", level=6, builds=(KQUEUE,), tool="valgrind",
          after="behaviour.keep-alive"),
    Check("cost.futexes", "calls of futex", futexes.judge, unit="calls of futex", level=7,
          tool="strace", after="behaviour.keep-alive"),
    Check("build.allocator", "an allocator other than the C library's", allocator.judge, level=8),
    Check("speed", "requests a second beside the starting point", clock.judge,
          builds=(RELEASE, BASE), after="behaviour", because="a wrong answer is never fast",
          decides=False),
    labs.validation("memory", "what every form does, under the address and undefined-behaviour "
                    "sanitizers"),
    labs.validation("races", "the same under the thread sanitizer"),
    labs.validation("goal", "what only the form that is asked for does"),
    *map(labs.counted, benchmarks.MEASURES),
    labs.ratio(),
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
