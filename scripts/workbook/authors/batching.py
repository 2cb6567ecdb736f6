"""The experiments of chapter 16: what one call for many answers saves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median

from workbook.authors.tools import (
    BATCHING,
    TLS,
    Finding,
    Rows,
    cpu_us,
    in_sequence,
    one_worker,
    ratios,
    solution,
    variant,
)
from workbook.common.errors import UserError
from workbook.measure import costs, stress
from workbook.measure.load import Phase
from workbook.measure.sequence import Way
from workbook.servers import build

RING = "net/send_ring_linux.cpp"
ENTRY = "    rings_->submit(sends);\n"
EACH = """    for (Send& each : sends) {
        const auto count = ::send(each.fd, each.bytes.data(), each.bytes.size(),
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
        each.sent = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    if (!sends.empty()) return true;
"""
CROWDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LOADS = (1, 4, 16, 64, 512, 5000)


def batched_calls() -> Finding:
    """How many system calls does an answer take if so many requests are there at once?"""
    rows: Rows = {}
    for clients in CROWDS:
        rows[str(clients)] = {"label": f"{clients} client{'s' * (clients > 1)}"}
        for side, name in (("before", TLS), ("after", BATCHING)):
            measure = replace(costs.BATCHED_SYSCALLS, clients=clients)
            counted = costs.count(solution(name, "measure"), level=int(name[:2]),
                                  measures=[measure])
            if (calls := counted[measure]) is None:
                raise UserError(f"not counted: {counted.skipped[measure.name]}",
                                "record where it can be counted")
            rows[str(clients)][side] = round(calls, 2)
    return Finding(
        "System calls of an answer if so many clients have each sent a request while the server "
        "was suspended. Counted, with one worker.",
        {"before": "15", "after": "16"}, rows)


def batching() -> Finding:
    """How much processor time does the ring save, and how much of that is the new order?"""
    rounds = 9
    stress.raise_descriptor_limit()
    with variant(BATCHING, RING, ENTRY, EACH + ENTRY) as plain:
        binaries = {"floor": build.floor("release"), "before": solution(TLS), "order": plain,
                    "after": solution(BATCHING)}
        rows: Rows = {}
        for clients in LOADS:
            us = cpu_us(in_sequence({
                key: Way(f"{key}, {clients} clients", one_worker(binary),
                         Phase(key, "plain", clients, 1.0))
                for key, binary in binaries.items()}, rounds))
            rows[str(clients)] = {"label": f"{clients} client{'s' * (clients > 1)}"}
            for key in binaries:
                to = ratios(us[key], us["before"])
                rows[str(clients)] |= {
                    f"{key}_us": round(median(us[key]), 2), key: round(median(to), 3),
                    f"{key}_least": round(min(to), 2), f"{key}_most": round(max(to), 2)}
    return Finding(
        "Processor time of a server with one worker for a request, as a ratio to 15’s in the same "
        f"round, by the number of clients, which keep their connections open; median of {rounds} "
        "rounds. “Plain sends” is 16 with one <code>send</code> for each answer of a batch instead "
        "of the ring.",
        {"before_us": "15: µs", "order": "Plain sends ÷ 15", "after": "16 ÷ 15",
         "after_least": "Least", "after_most": "Most", "floor": "Floor ÷ 15"}, rows)


EXPERIMENTS: dict[str, Callable[[], Finding]] = {
    "batched-calls": batched_calls,
    "batching": batching,
}
