"""The messages in the tests of the crates httparse and hyper, found in their source text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from other_suites.message import Message, Verdict, numbered

STRING = r'b?"((?:[^"\\]|\\.)*)"'
ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|\n\s*|(.))", re.S)
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0"}

# req! { name, b"…", |r| … } expects a complete request, req! { name, b"…", Err(…), … } an error.
REQUEST = re.compile(r"req! ?\{\s*(?://[^\n]*\s*)*(\w+),\s*" + STRING + r"\s*,\s*(\S*)", re.S)
FUNCTION = re.compile(r"^    (?:async )?fn (test_\w+|parse_\w+)\(\) \{\n(.*?)^    \}\n", re.S | re.M)
PARSED = re.compile(r"\b(parse|parse_err)\(\s*" + STRING, re.S)
WHOLE = re.compile(r"BytesMut::from\(\s*" + STRING, re.S)
SIZE = re.compile(r"(?:assert_eq!\((?P<size>\d+), read|(?P<error>read_err))\(" + STRING
                  + r"(?:, (?P<kind>\w+))?\)", re.S)
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


def httparse(crates: Path) -> list[Message]:
    files = [crates / "httparse" / "src" / "lib.rs", crates / "httparse" / "tests" / "uri.rs"]
    return numbered(
        Message("httparse", name, _bytes(text), _expected(then))
        for file in files for name, text, then in REQUEST.findall(file.read_text(encoding="utf-8")))


def _expected(then: str) -> Verdict:
    if then.startswith("Err("):
        return "refused"
    return "incomplete" if "Partial" in then else "accepted"


def hyper(crates: Path) -> list[Message]:
    """Heads from the tests of its server's parser, chunk sizes from those of its decoder."""
    sources = crates / "hyper" / "src" / "proto" / "h1"
    return numbered([*_heads((sources / "role.rs").read_text(encoding="utf-8")),
                     *_chunk_sizes((sources / "decode.rs").read_text(encoding="utf-8"))])


def _heads(source: str) -> Iterator[Message]:
    for name, body in FUNCTION.findall(source):
        if "Client::parse" in body or "Server::parse" not in body:
            continue
        for function, text in PARSED.findall(body):
            yield Message("hyper", name, _bytes(text),
                          "refused" if function == "parse_err" else "accepted")
        for text in () if PARSED.search(body) else WHOLE.findall(body):
            yield Message("hyper", name, _bytes(text),
                          "refused" if "unwrap_err()" in body else "accepted")


def _chunk_sizes(source: str) -> Iterator[Message]:
    """Each accepted size with a chunk of this size after it, and with the last chunk."""
    for found in SIZE.finditer(source):
        line = _bytes(found[3])
        if found["error"]:
            expected: Verdict = "incomplete" if found["kind"] == "UnexpectedEof" else "refused"
            yield Message("hyper", "chunk_size", CHUNKED + line, expected)
        else:
            size = int(found["size"])
            rest = b"x" * size + b"\r\n0\r\n\r\n" if size else b"\r\n"
            yield Message("hyper", "chunk_size", CHUNKED + line + rest, "accepted")


def _bytes(text: str) -> bytes:
    """The bytes that a string or byte string of Rust means."""

    def meant(escape: re.Match[bytes]) -> bytes:
        if escape[1]:
            return bytes([int(escape[1], 16)])
        return ESCAPED.get(escape[2], escape[2]) if escape[2] else b""

    return ESCAPE.sub(meant, text.encode())
