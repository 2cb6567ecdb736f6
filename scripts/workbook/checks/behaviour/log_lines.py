"""Reads access logs strictly: a line that deviates from the format is not accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from workbook.checks.behaviour.rows import Unmet

TEXT = rb'"((?:[ !#-\[\]-~]|\\x[0-9A-F]{2})*)"'
COMBINED = re.compile(
    rb"([0-9a-f.:]+) - - \[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000)\] " + TEXT
    + rb" (\d{3}|-) (\d+) " + TEXT + b" " + TEXT)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
KEYS = ["address", "time", "request", "status", "bytes", "referer", "user_agent"]
LOST = re.compile(r"access log: (\d+) lines lost")


class Line(NamedTuple):
    """The content of a log line, except the time. Texts are the bytes received; None is a `-`."""

    request: bytes | None
    status: int | None
    size: int = 0
    referer: bytes | None = None
    agent: bytes | None = None
    address: str = "127.0.0.1"


def combined(text: bytes) -> Line:
    found = COMBINED.fullmatch(text)
    if not found:
        raise Unmet(f"this is no line of the combined form: {text[:300]!r}")
    address, _, request, status, size, referer, agent = found.groups()
    return Line(_text(request), None if status == b"-" else int(status), int(size),
                _text(referer), _text(agent), address.decode())


def of_json(text: bytes) -> Line:
    try:
        output = json.loads(text.decode("ascii"))
    except ValueError as error:
        raise Unmet(f"this is no JSON ({error}): {text[:300]!r}") from None
    if not isinstance(output, dict) or list(output) != KEYS or not TIME.fullmatch(output["time"]):
        raise Unmet(f"this is not the object that it should be: {text[:300]!r}")
    request, referer, agent = (None if output[key] is None else output[key].encode("latin-1")
                               for key in ("request", "referer", "user_agent"))
    return Line(request, output["status"], output["bytes"], referer, agent, output["address"])


READERS: dict[str, Callable[[bytes], Line]] = {"combined": combined, "json": of_json}


def whole(data: bytes) -> list[bytes]:
    """Returns the lines of a file; the last one must be complete."""
    if data and not data.endswith(b"\n"):
        raise Unmet(f"the last line has no end: {data[-100:]!r}")
    return data.split(b"\n")[:-1]


def read(files: Iterable[Path] | Path, form: str = "combined") -> list[Line]:
    """Returns all lines of these files, one file after the other. Raises Unmet on anything else."""
    paths = [files] if isinstance(files, Path) else files
    return [READERS[form](text) for file in paths for text in whole(file.read_bytes())]


def lost(output: str) -> int:
    """Returns how many lines were lost according to the error log."""
    return sum(map(int, LOST.findall(output)))


def _text(escaped: bytes) -> bytes | None:
    if escaped == b"-":
        return None
    return re.sub(rb"\\x(..)", lambda found: bytes([int(found[1], 16)]), escaped)
