"""Sends messages to a server, and compares what becomes of them with what their suites expect."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from other_suites.message import Message, Verdict, adapted
from workbook.common.toml import loads
from workbook.servers.client import Client, HalfClose, Received
from workbook.servers.process import Server

DIFFERENCES = Path(__file__).with_name("differences.toml")
TIMEOUT_S = 10.0
QUIET_S = 0.5  # a server that has not closed the connection by then waits for more
ANSWER = re.compile(rb"HTTP/1\.1 (?!1)(\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")
LENGTH = re.compile(rb"^content-length: (\d+)\r\n", re.I | re.M)
REFUSED = {400, 414, 431, 505}
# Length Required and Not Implemented (RFC 9110 §15.5.12, §15.6.2).
DECLINED = {411, 501}

Key = tuple[str, str]  # suite and name


@dataclass(frozen=True)
class Difference:
    """What a server made of a message that its suite expects to end otherwise."""

    expected: Verdict
    observed: Verdict

    def __str__(self) -> str:
        return f"{self.expected} there, {self.observed} here"


def differences(server: Server, messages: Iterable[Message]) -> dict[Key, Difference]:
    """What this server does otherwise than the suites expect."""
    found = {}
    for message in messages:
        expected, observed = message.expected, verdict(server, adapted(message))
        if observed not in (expected, "declined"):
            found[message.suite, message.name] = Difference(expected, observed)
    return found


def verdict(server: Server, message: Message) -> Verdict:
    """What the server makes of these bytes. Those that it does not answer in full are sent once
    more without closing our side: then it waits for more, or closes the connection.
    """
    head = message.data.lstrip(b"\r\n").startswith(b"HEAD ")
    if (result := _judged(_answer(server, message.data, close=True), head)) != "incomplete":
        return result
    again = _answer(server, message.data, close=False)
    if (result := _judged(again, head)) != "incomplete":
        return result
    return "incomplete" if again.end == "timeout" else "refused"


def _answer(server: Server, data: bytes, close: bool) -> Received:
    with Client((server.host, server.port), time.monotonic() + TIMEOUT_S) as client:
        client.perform([data, HalfClose()] if close else [data])
        if close:
            return client.finish()
        client.receive_for(QUIET_S)
        return client.received()


def _judged(received: Received, head: bool) -> Verdict:
    """One answer that refuses is enough, because other messages may precede the one in question."""
    answers = list(ANSWER.finditer(received.raw))
    statuses = [int(answer[1]) for answer in answers]
    if REFUSED & {*statuses}:
        return "refused"
    if not answers or not (head or _is_complete(answers[-1], received.raw)):
        return "incomplete"
    return "declined" if DECLINED & {*statuses} else "accepted"


def _is_complete(answer: re.Match[bytes], data: bytes) -> bool:
    body = data[answer.end():]
    if length := LENGTH.search(answer[2]):
        return len(body) >= int(length[1])
    return b"chunked" not in answer[2] or body.endswith(b"0\r\n\r\n")


def listed(server: str) -> dict[Key, Difference]:
    """The differences of this server, by its name, that differences.toml gives a reason for."""
    found = {}
    for group in loads(DIFFERENCES.read_text(encoding="utf-8"))["difference"]:
        assert group["reason"] and group["source"]
        if server in group.get("except_on", ()):
            continue
        for suite, names in group["messages"].items():
            for name in names:
                assert (suite, name) not in found, f"listed twice: {suite} {name}"
                found[suite, name] = Difference(group["expected"], group["observed"])
    return found


def unexplained(found: Mapping[Key, Difference], messages: Iterable[Message],
                reasons: Mapping[Key, Difference]) -> Iterator[str]:
    """A line for each difference without a reason, and for each reason without a difference."""
    sent = {(message.suite, message.name): message.data for message in messages}
    for key in sorted({*found, *reasons}):
        if found.get(key) != reasons.get(key) and key in sent:
            text = str(found[key]) if key in found else "listed, but no difference"
            yield f"{' '.join(key)}: {text}: {sent[key][:300]!r}"
    yield from (f"{' '.join(key)}: listed, but not in the suite"
                for key in sorted(reasons) if key not in sent)
