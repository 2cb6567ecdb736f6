"""A message that another project's test parses, and what that test expects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

# "declined" is an answer that reports a limit of the server and not a fault of the message.
Verdict = Literal["accepted", "refused", "incomplete", "declined"]

# Kept as it is, because that it has no Host is what the test is about.
WITHOUT_HOST = re.compile(r"missing.host")
REQUEST_LINE = re.compile(rb"(?:\r?\n)*(?P<method>[A-Z]+) (?P<target>\S+) HTTP/1\.(?P<minor>\d)"
                          rb"(?P<end>\r?\n)")
LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,4})[ \t]*\r?$", re.I | re.M)
CHUNKED = re.compile(rb"^transfer-encoding:.*chunked[ \t]*\r?$", re.I | re.M)
BODY = re.compile(rb"^(?:content-length|transfer-encoding)[ \t]*:", re.I | re.M)


@dataclass(frozen=True)
class Message:
    suite: str
    name: str
    data: bytes
    expected: Verdict


def numbered(messages: Iterable[Message]) -> list[Message]:
    """These messages with a number in each name that another before has."""
    count: Counter[tuple[str, str]] = Counter()
    result = []
    for message in messages:
        key = (message.suite, message.name)
        count[key] += 1
        name = message.name if count[key] == 1 else f"{message.name}-{count[key]}"
        result.append(replace(message, name=name))
    return result


def adapted(message: Message) -> Message:
    """The message as it is sent to one of our servers.

    Parsers do not require a Host, and tests of parsers often end at the head. Both would hide what
    the test is about: a server refuses the one and waits for the rest of the other. So a Host is
    added, and an accepted head gets its body. A message with a body goes to /echo, because our
    servers read a body to its end only there.
    """
    data = message.data
    line = REQUEST_LINE.match(data)
    if line is None:
        return message
    head, _, body = data.partition(line["end"] * 2)
    if message.expected == "accepted" and not body and data.endswith(line["end"] * 2):
        data += _body_of(head)
    if BODY.search(head) and line["method"] not in (b"CONNECT", b"OPTIONS"):
        target = b"POST /echo HTTP/1." + line["minor"] + line["end"]
        data = target + data[line.end():]
        line = REQUEST_LINE.match(data)
        assert line
    if line["minor"] != b"0" and not re.search(rb"^host[ \t]*:", head, re.I | re.M) \
            and not WITHOUT_HOST.search(message.name):
        data = data[:line.end()] + b"Host: a" + line["end"] + data[line.end():]
    return replace(message, data=data)


def _body_of(head: bytes) -> bytes:
    """A body for this head, where the head announces one."""
    if CHUNKED.search(head):
        return b"0\r\n\r\n"
    length = LENGTH.search(head)
    return b"x" * int(length[1]) if length else b""
