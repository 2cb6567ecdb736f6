"""Building blocks of rows about connections that stay open.

An exchange is what a client sends and the answer that must follow. Rows are chains of exchanges;
the last one closes the connection, so that every row has an end.
"""

from __future__ import annotations

import random

from workbook.checks.behaviour.rows import (
    HOST,
    HTML,
    MAX_BODY,
    PAGE,
    PAGE_ANSWER,
    STAYS,
    TEXT,
    TINY,
    Case,
    answer,
    echoed,
    get,
    post,
    row,
    sunk,
)
from workbook.servers.client import Await, Step

PERSISTENCE = "RFC 9112 §9.3 (SHOULD)"
Exchange = tuple[bytes, bytes]


def page(connection: str = STAYS) -> bytes:
    return answer("200 OK", HTML, PAGE, connection=connection)


def head(connection: str = STAYS) -> bytes:
    return answer("200 OK", HTML, PAGE, send_body=False, connection=connection)


def not_found(send_body: bool = True) -> bytes:
    return answer("404 Not Found", TEXT, b"404 Not Found\n", send_body, STAYS)


def echo(body: bytes) -> Exchange:
    return post(body, fields=HOST), echoed(body, STAYS)


def sink(body: bytes) -> Exchange:
    return post(body, b"/sink", HOST), sunk(len(body), STAYS)


GET: Exchange = (get(fields=HOST), page())
HEAD: Exchange = (b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n", head())
LOST: Exchange = (get(b"/nowhere", HOST), not_found())
LAST: Exchange = (get(), PAGE_ANSWER)
ASKS = HOST + b"Expect: 100-continue\r\n"
TOO_MUCH = post(b"", fields=HOST, length=str(MAX_BODY + 1).encode())


def chain(*exchanges: Exchange) -> Exchange:
    """Several exchanges as one: all requests are sent at once, and the answers come in order."""
    return b"".join(sent for sent, _ in exchanges), b"".join(got for _, got in exchanges)


def in_sequence(*exchanges: Exchange) -> tuple[Step, ...]:
    """Send each request only after the previous answer has arrived."""
    steps: list[Step] = []
    answers = b""
    for sent, got in exchanges:
        answers += got
        steps += [sent, Await(answers)]
    return tuple(steps)


def kept(what: str, *exchanges: Exchange, reference: str = PERSISTENCE) -> Case:
    """These exchanges in turn, then one that closes the connection."""
    every = (*exchanges, LAST)
    return row(what, in_sequence(*every), chain(*every)[1], reference)


def pieces(sent: bytes, seed: int) -> tuple[Step, ...]:
    """Split `sent` at random positions, with an occasional pause."""
    rng = random.Random(seed)
    steps: list[Step] = []
    while sent:
        size = rng.choice([1, 2, 3, 7, 100, 5000, 70_000])
        steps.append(sent[:size])
        sent = sent[size:]
        if rng.random() < 0.05:
            steps.append(TINY)
    return tuple(steps)
