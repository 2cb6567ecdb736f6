"""Clients that are cut off in time."""

from __future__ import annotations

import time
from collections.abc import Iterator

from workbook.checks.behaviour.alone import PATIENCE_S, alone
from workbook.checks.behaviour.rows import BAD, HOST, Case, Unmet
from workbook.servers.client import connect
from workbook.servers.process import Server


def cases() -> Iterator[Case]:
    yield alone("a-byte-now-and-then-after-a-refusal", "RFC 9112 §9.6",
                "a client sends a bad request, reads 400 and the end, and goes on sending a byte "
                "four times a second",
                "it is cut off after two seconds, at the next sweep "
                f"({PATIENCE_S:g} s are allowed)", a_byte_now_and_then)


def a_byte_now_and_then(server: Server) -> None:
    with connect((server.host, server.port), PATIENCE_S) as client:
        client.sendall(b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n")
        answer = b""
        try:
            while data := client.recv(65_536):
                answer += data
        except OSError as error:
            raise Unmet(f"{len(answer)} bytes came, and then no end: {error}") from None
        if answer != BAD:
            raise Unmet(f"{answer[:40]!r} came")
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                client.sendall(b"x")
            except OSError:
                return
            time.sleep(0.25)
    raise Unmet(f"it could still send after {PATIENCE_S:g} s")
