"""The experiments of part III: files, compared with other ways to send them and other servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from workbook.authors.tools import (
    FILES,
    LOOP,
    THREADS,
    Finding,
    Rows,
    in_sequence,
    solution,
    variant,
)
from workbook.common.errors import UserError
from workbook.common.paths import SOLUTIONS
from workbook.course import trees
from workbook.machine import setup
from workbook.machine.cores import Cores, cores
from workbook.measure import load
from workbook.measure.load import MIB, Phase, PhaseResult
from workbook.measure.other_servers import (
    CLIENTS,
    CONFIGURED,
    FEW_CLIENTS,
    OTHERS,
    PAGE_SIZE,
    ROUNDS,
    SECONDS,
    SIZES,
    Rival,
    asks_for,
    figures_of,
    must_serve,
    name_of,
    our_server,
    site,
    start_other,
    version_of,
    way_of,
)
from workbook.servers.process import running

OF_RIVALS = (1 << 10, 16 << 10, 128 << 10, MIB, 10 * MIB)
PUBLISHED = {"blocking": 15, "level": 34, "kept": 37.5, "sendfile": 41, "loops": 125}
LOOPS = 4
DOWNLOADS = 4

READ_FILE = """\
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace web {
namespace {

std::string file_of_the_site() {
    const int fd = ::open(\"%s\", O_RDONLY | O_CLOEXEC);
    struct stat status{};
    ::fstat(fd, &status);
    std::string text(static_cast<std::size_t>(status.st_size), ' ');
    const ssize_t count = ::read(fd, text.data(), text.size());
    ::close(fd);
    text.resize(static_cast<std::size_t>(count < 0 ? 0 : count));
    return text;
}

}  // namespace
}  // namespace web

"""
SENDS_FILE = """\
    ssize_t of_file =
        ::sendfile(socket.number(), range.file.fd().number(), &offset, std::min(range.size, limit));
    if (of_file < 0 && is_refused(errno)) [[unlikely]] {
        range.file.set_needs_copy();
        of_file = send_copy(socket, {}, range, limit);
    }
    return of_file < 0 && sent > 0 ? sent : sent + of_file;
"""
ONE_CALL = """\
    const std::size_t head_size = size_of(head);
    const ssize_t sent = head_size > 0 ? send_head(socket, head) : 0;
    if (static_cast<std::size_t>(sent) != head_size) return sent;
    off_t offset = range.offset;
"""
COPIES_IN_ONE_CALL = """\
    static thread_local char copy[64 * 1024];
    const ssize_t had = ::pread(range.file.fd().number(), copy,
                                std::min({range.size, limit, sizeof copy}), range.offset);
    if (had <= 0) return had;
    std::array<iovec, 4> parts{};
    auto end = std::ranges::copy(head, parts.begin()).out;
    *end++ = {copy, static_cast<std::size_t>(had)};
    return ::writev(socket.number(), parts.data(), static_cast<int>(end - parts.begin()));
"""


def _reads_file(checkpoint: str) -> AbstractContextManager[Path]:
    """Build the server of a chapter before 09 so that it reads its page from a file each time."""
    text = (SOLUTIONS / checkpoint / "app.cpp").read_text(encoding="utf-8")
    include = '#include <string_view>\n\n'
    changed = text.replace(include, include + READ_FILE % (site() / name_of(PAGE_SIZE)), 1)
    changed = changed.replace("response.body_reference(page);",
                              "response.body(file_of_the_site());", 1)
    changed = changed.replace("constexpr std::string_view page", "[[maybe_unused]] " +
                              "constexpr std::string_view page", 1)
    return variant(checkpoint, "app.cpp", None, changed)


def file_ladder() -> Finding:
    """What does each step of the write-up's ladder gain on a file of its size?"""
    every = cores().server | cores().client
    shared = Cores(every, every)
    page, file = "/", f"/{name_of(PAGE_SIZE)}"
    with _reads_file(THREADS) as threads, _reads_file(LOOP) as loop, copying() as copies:
        ways = {
            "blocking": way_of("one blocking thread, a connection each (04)",
                             partial(running, threads, "--threads", "1"),
                             Phase("file", "closing", CLIENTS, SECONDS, path=page)),
            "level": way_of("a level-triggered loop, a connection each (05)", partial(running, loop),
                          Phase("file", "closing", CLIENTS, SECONDS, path=page)),
            "kept": way_of("connections kept (05)", partial(running, loop),
                         Phase("file", "plain", CLIENTS, SECONDS, path=page)),
            "copied": way_of("09, with pread and writev", our_server(copies),
                           Phase("file", "plain", CLIENTS, SECONDS, path=file)),
            "sendfile": way_of("sendfile (09)", our_server(solution(FILES)),
                             Phase("file", "plain", CLIENTS, SECONDS, path=file)),
            "shared": way_of(f"one loop, wrk on the same {len(every)} processors",
                           our_server(solution(FILES)),
                           Phase("file", "plain", CLIENTS, SECONDS, path=file), shared),
            "loops": way_of(f"{LOOPS} loops, wrk on the same {len(every)} processors",
                          our_server(solution(FILES), LOOPS),
                          Phase("file", "plain", CLIENTS, SECONDS, path=file), shared),
        }
        found = in_sequence(ways, ROUNDS)
    rows: Rows = {}
    before = {"level": "blocking", "kept": "level", "copied": "kept", "sendfile": "copied",
              "loops": "shared"}
    published = {"level": "blocking", "kept": "level", "sendfile": "kept", "loops": "sendfile"}
    for key, way in ways.items():
        rps, us = figures_of(found[key])
        rows[key] = {"label": way.label, "rps": rps, "us": us, "gain": None,
                     "published": PUBLISHED.get(key), "published_gain": None,
                     "reason": "nothing to hold it against"}
        if key in before:
            rows[key]["gain"] = round(rps / rows[before[key]]["rps"], 2)
        if key in published:
            rows[key]["published_gain"] = round(PUBLISHED[key] / PUBLISHED[published[key]], 2)
    return Finding(
        f"A file of {PAGE_SIZE:,} bytes for {CLIENTS} clients, median of {ROUNDS} rounds in turn; "
        "before 09 the application opens and reads it for every request. Processors split, but in "
        "the last two rows. Beside it the write-up’s thousands of requests/s, of 10,000 clients on "
        "six cores.",
        {"rps": "Requests/s", "us": "Server’s µs a request", "gain": "× the row before",
         "published": "Published, thousands/s", "published_gain": "Published ×"}, rows)


@contextmanager
def copying() -> Iterator[Path]:
    """Build 09 without sendfile: pread into a buffer, one writev of head and body."""
    text = trees.source(SOLUTIONS / FILES, "sendfile_linux.cpp").read_text(encoding="utf-8")
    if ONE_CALL + SENDS_FILE not in text:
        raise UserError("09's sendfile_linux.cpp is not what an experiment expects", "fix it")
    changed = text.replace(ONE_CALL + SENDS_FILE, COPIES_IN_ONE_CALL, 1)
    start, end = changed.index("// MSG_MORE"), changed.index("}  // namespace\n")
    changed = changed[:start] + changed[end:]
    changed = changed.replace("#include <algorithm>\n", "#include <algorithm>\n#include <array>\n")
    with variant(FILES, "sendfile_linux.cpp", None, changed) as binary:
        yield binary


def file_sizes() -> Finding:
    """From which size on does sendfile pay off?"""
    with copying() as copies:
        kinds = {"sendfile": our_server(solution(FILES)), "copy": our_server(copies)}
        found = in_sequence({(kind, size): way_of(f"{kind}, {label}", start, asks_for(size))
                             for size, label in SIZES.items()
                             for kind, start in kinds.items()}, ROUNDS)
    rows: Rows = {}
    for size, label in SIZES.items():
        us = {kind: figures_of(found[kind, size])[1] for kind in kinds}
        rows[str(size)] = {"label": label, "sendfile_us": us["sendfile"], "copy_us": us["copy"],
                           "ratio": round(us["sendfile"] / us["copy"], 2)}
    return Finding(
        f"The server’s own processor time a file, of 09 and of 09 with <code>pread</code> into a "
        f"buffer of 64 KiB and one <code>writev</code> instead; {CLIENTS} clients on kept "
        f"connections, {FEW_CLIENTS} from 1 MiB on, median of {ROUNDS} rounds in turn.",
        {"sendfile_us": "sendfile, µs", "copy_us": "pread and writev, µs",
         "ratio": "sendfile ÷ copy"}, rows, {"the buffer": 1 << 16})


def rivals() -> dict[str, Rival]:
    """Return our server and the third-party ones, ready to serve the same files with one thread."""
    setup.ensure(["nginx", "h2o", "lighttpd", "caddy"])
    CONFIGURED.mkdir(parents=True, exist_ok=True)
    ours = our_server(solution(FILES))
    return {"ours": Rival("09", ours, ours)} | {
        key: Rival(other.label.format(version_of(other)), *[partial(start_other, key, other)] * 2)
        for key, other in OTHERS.items()}


def rivals_files() -> Finding:
    """How fast do third-party servers send the same files, in the same run?"""
    known = rivals()
    for rival in known.values():
        must_serve(rival)
    found = in_sequence({(key, size): way_of(f"{rival.label}, {SIZES[size]}", rival.timed, asks_for(size))
                         for size in OF_RIVALS for key, rival in known.items()}, ROUNDS)
    rows: Rows = {}
    for key, rival in known.items():
        rows[key] = {"label": rival.label}
        for size in OF_RIVALS:
            _, us = figures_of(found[key, size])
            rows[key][f"{size}_us"] = us
    return Finding(
        f"The same files from all, {CLIENTS} clients on kept connections, {FEW_CLIENTS} from 1 MiB "
        f"on, one thread on one processor and wrk on another, median of {ROUNDS} rounds in turn. "
        "nginx: sendfile and tcp_nopush on, no log; h2o: file.dir; lighttpd: sendfile; Caddy: file_server, "
        "GOMAXPROCS=1; keep-alive without end, no access log, in all.",
        {f"{size}_us": f"{SIZES[size]}: server’s µs a file" for size in OF_RIVALS}, rows)


def neighbours() -> Finding:
    """How long do small requests wait during large downloads?"""
    pieces = {"64k": "64 * 1024", "all": "1024 * 1024 * 1024"}
    with ExitStack() as stack:
        bounded = {key: stack.enter_context(variant(
            FILES, "worker.cpp", "file_piece = 1024 * 1024;", f"file_piece = {text};"))
            for key, text in pieces.items()}
        ways: Mapping[str, tuple[str, Path]] = {
            "1m": ("sendfile, at most 1 MiB a call (09)", solution(FILES)),
            "64k": ("sendfile, at most 64 KiB a call", bounded["64k"]),
            "all": ("sendfile, without a bound", bounded["all"]),
            "copy": ("pread and writev, 64 KiB a call", stack.enter_context(copying())),
        }
        found = {key: [during_downloads(binary) for _ in range(ROUNDS)]
                 for key, (_, binary) in ways.items()}
    rows: Rows = {}
    for key, (label, _) in ways.items():
        small, large = zip(*found[key], strict=True)
        rows[key] = {
            "label": label, "rps": round(median(r.requests_per_second or 0 for r in small)),
            **{name: round(median(getattr(r, name) or 0 for r in small), 2)
               for name in ("p50_ms", "p99_ms", "max_ms")},
            "large_mib_s": round(10 * median(r.requests_per_second or 0 for r in large))}
    return Finding(
        f"One client that asks for 1 KiB again and again, while {DOWNLOADS} others download 10 MiB "
        f"each; one loop, wrk on other processors, median of {ROUNDS} rounds.",
        {"rps": "Small requests/s", "p50_ms": "Wait: median, ms", "p99_ms": "99 %",
         "max_ms": "Longest", "large_mib_s": "Downloads, MiB/s"}, rows)


def during_downloads(binary: Path) -> tuple[PhaseResult, PhaseResult]:
    with load.placed(our_server(binary)) as server, ThreadPoolExecutor(1) as other:
        large = other.submit(load.run_phase, server, asks_for(10 * MIB, DOWNLOADS, seconds=3))
        small = load.run_phase(server, asks_for(1 << 10, 1, seconds=2))
        results = small, large.result()
    if reason := next((result.reason for result in results if result.reason), None):
        raise UserError(f"there is no figure: {reason}", "try again on a quieter machine")
    return results
