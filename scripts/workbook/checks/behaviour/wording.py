"""A case in words: what is sent and received, and a shell command that does the same."""

from __future__ import annotations

from collections.abc import Sequence

from workbook.checks.behaviour.rows import Case
from workbook.checks.behaviour.suite import first_difference
from workbook.servers.client import Await, HalfClose, Pause, Sip, Step, Vanish

MAX_ONE_LINER = 800
LARGE = 240  # bytes; longer texts are abbreviated and their length is given


def sent_text(case: Case) -> str:
    """Returns what a case sends, abbreviated, with pauses in angle brackets."""
    lines = [f"first, another client: {_steps_text(steps)}" for steps in dict.fromkeys(
        case.neighbours)]
    lines.append(_steps_text(case.steps))
    size = sum(len(step) for step in case.steps if isinstance(step, bytes))
    if size > LARGE:
        lines.append(f"({size:,} bytes in all)")
    if case.copies > 1:
        lines.append(f"({case.copies} clients at once)")
    if case.narrow:
        lines.append("(with a small receive buffer)")
    return "\n".join(lines)


def _steps_text(steps: Sequence[Step]) -> str:
    if len(steps) > 12:
        whole = b"".join(step for step in steps if isinstance(step, bytes))
        return escaped(whole) + f"  ‹in {sum(isinstance(s, bytes) for s in steps)} pieces›"
    if not any(step and not isinstance(step, Pause) for step in steps):
        return "‹connects and is silent›"
    return " ".join(_step_text(step) for step in steps)


def _step_text(step: Step) -> str:
    match step:
        case bytes():
            return escaped(step)
        case Pause(seconds):
            return f"‹{seconds * 1000:g} ms›"
        case Await(data):
            return f"‹waits for {escaped(data)}›"
        case Sip(size, _):
            return f"‹reads {size} bytes at a time›"
        case HalfClose():
            return "‹half-close›"
        case Vanish():
            return "‹vanishes›"


def escaped(data: bytes, maximum: int = LARGE) -> str:
    """Returns bytes as in a C string, without the middle if there are many."""
    start = _escaped_until(data, maximum)
    if len(start) == len(data):
        return "".join(start)
    start, end = _escaped_until(data, maximum - 80), _escaped_until(data[::-1], 60)
    left_out = len(data) - len(start) - len(end)
    return f"{''.join(start)} … ‹{left_out} bytes› … {''.join(reversed(end))}"


def _escaped_until(data: bytes, maximum: int) -> list[str]:
    """Returns the first bytes, each escaped, up to `maximum` characters in total."""
    names = {0: "\\0", 39: "'"}
    texts: list[str] = []
    space = maximum
    for byte in data[:maximum]:
        text = names.get(byte) or repr(bytes([byte]))[2:-1]
        space -= len(text)
        if space < 0:
            break
        texts.append(text)
    return texts


def around(data: bytes, other: bytes) -> str:
    """Returns all of a short text, else what surrounds the first difference; less of binary data,
    so that it fits on a line or two.
    """
    text = data.isascii() and b"\0" not in data
    if len(data) <= (320 if text else 64):
        return escaped(data, 1300) or "‹nothing›"
    start = max(0, first_difference(data, other) - (40 if text else 16))
    before = f"‹{start} bytes› … " if start else ""
    after = f" … ‹{len(data)} bytes in all›"
    return before + "".join(_escaped_until(data[start:], 240 if text else 120)) + after


def one_liner(case: Case, port: int = 8080) -> str:
    """Returns a command for bash that sends the same and prints the answer; empty if bash can't, or
    if the line would be long.
    """
    simple = all(isinstance(step, (bytes, Pause)) for step in case.steps)
    size = sum(len(step) for step in case.steps if isinstance(step, bytes))
    if not simple or case.neighbours or case.narrow or len(case.steps) > 5 or size > MAX_ONE_LINER:
        return ""
    parts = [f"printf '{_for_printf(step)}'" if isinstance(step, bytes)
             else f"sleep {max(step.seconds, 0.1):g}" for step in case.steps]  # type: ignore
    return f"( exec 3<>/dev/tcp/127.0.0.1/{port}; {{ {'; '.join(parts)}; }} >&3; cat <&3 )"


def _for_printf(data: bytes) -> str:
    special = {b"\r": "\\r", b"\n": "\\n", b"\t": "\\t", b"%": "%%", b"\\": "\\\\", b"'": "'\\''"}

    def one(byte: bytes) -> str:
        plain = byte.decode("latin-1") if 0x20 <= byte[0] < 0x7f else f"\\{byte[0]:03o}"
        return special.get(byte, plain)

    return "".join(one(bytes([byte])) for byte in data)
