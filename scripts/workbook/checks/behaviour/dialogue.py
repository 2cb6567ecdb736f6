"""Request a file and parse the answer.

It's for cases in which one request depends on the answer to another, because each server may choose
the format of its entity tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from workbook.checks.behaviour.rows import Unmet
from workbook.servers.client import exchange
from workbook.servers.heads import HEAD

Address = tuple[str, int]
TIMEOUT_S = 10.0
NO_BODY = (204, 304)  # RFC 9110 §6.4.1
STRONG_TAG = re.compile(r'"[\x21\x23-\x7e]*"')  # RFC 9110 §8.8.3


@dataclass(frozen=True)
class Answer:
    """One answer; the names of its fields are in lower case."""

    status: int
    fields: Mapping[str, str]
    body: bytes

    def field(self, name: str) -> str:
        """Returns the field's value; raises Unmet if there is none."""
        if name.lower() not in self.fields:
            raise Unmet(f"the answer {self.status} has no {name}")
        return self.fields[name.lower()]

    @cached_property
    def tag(self) -> str:
        """Returns the entity tag; raises Unmet unless it's a strong one."""
        tag = self.field("ETag")
        if not STRONG_TAG.fullmatch(tag):
            raise Unmet(f"ETag: {tag} is not a strong entity tag")
        return tag


def ask(address: Address, target: str, fields: str = "", method: str = "GET") -> Answer:
    """Send one request on a connection of its own; `fields` are complete lines.

    Raises Unmet if the answer is not complete.
    """
    request = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n"
    answers = ask_all(address, [request], [method])
    return answers[0]


def ask_all(address: Address, requests: list[str], methods: list[str]) -> list[Answer]:
    """Send all requests at once on one connection and return their answers; the last request must
    close it.
    """
    sent = "".join(requests).encode("latin-1")
    received = exchange(address, [sent], TIMEOUT_S)
    answers, remainder = [], received.raw
    for method in methods:
        answer, remainder = _first_of(remainder, method)
        answers.append(answer)
    if remainder:
        raise Unmet(f"{len(remainder)} bytes came after the last answer: {remainder[:60]!r}")
    if received.end != "closed":
        raise Unmet(f"the connection was not closed after the answer, but: {received.end}")
    return answers


def _first_of(data: bytes, method: str) -> tuple[Answer, bytes]:
    """Returns the first answer, and the bytes after it."""
    head = HEAD.match(data)
    if not head:
        raise Unmet(f"what came is no answer: {data[:80]!r}")
    lines = head[3].decode("latin-1").splitlines()
    pairs = [(name.lower(), value.strip()) for name, _, value in
             (line.partition(":") for line in lines)]
    names = [name for name, _ in pairs]
    if twice := {name for name in names if names.count(name) > 1}:
        raise Unmet(f"the answer has {', '.join(sorted(twice))} twice")
    fields, status = dict(pairs), int(head[1])
    if method == "HEAD" or status in NO_BODY:
        return Answer(status, fields, b""), data[head.end():]
    size = int(fields.get("content-length", "0"))
    end = head.end() + size
    if len(data) < end:
        raise Unmet(
            f"the answer has Content-Length: {size}, and {len(data) - head.end()} bytes came")
    return Answer(status, fields, data[head.end():end]), data[end:]


def must_be(answer: Answer, status: int) -> None:
    if answer.status != status:
        raise Unmet(f"the answer is {answer.status} instead of {status}")


def must_have(answer: Answer, body: bytes) -> None:
    if answer.body != body:
        raise Unmet(f"the body has {len(answer.body)} bytes, {answer.body[:60]!r}, instead of "
                    f"{len(body)}, {body[:60]!r}")
