"""Fairness among many clients: each asks again as soon as it is answered, and answers are counted.
"""

from __future__ import annotations

import select
import socket
import time
from contextlib import ExitStack

from workbook.servers.client import answers as client_answers
from workbook.servers.client import connect

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def answers(address: tuple[str, int], clients: int, rounds: int, seconds: float) -> list[int]:
    """Return the number of answers that each client got on its kept connection, once the average
    reaches `rounds` or `seconds` have passed. Linux only.

    Raises OSError if a connection fails, and ValueError if the server closes one.
    """
    with ExitStack() as stack:
        poller = stack.enter_context(select.epoll())
        sockets = [stack.enter_context(connect(address)) for _ in range(clients)]
        by_number = {each.fileno(): each for each in sockets}
        size = _answer_size(sockets[0])
        got = dict.fromkeys(by_number, 0)
        for number, client in by_number.items():
            poller.register(number, select.EPOLLIN)
            client.sendall(REQUEST)
        left, end = clients * rounds * size, time.monotonic() + seconds
        while left > 0 and time.monotonic() < end:
            for number, _ in poller.poll(1.0):
                count = len(by_number[number].recv(65_536))
                if count == 0:
                    raise ValueError(f"a client was closed after {got[number]} bytes")
                left -= count
                got[number] += count
                if got[number] % size == 0:
                    by_number[number].sendall(REQUEST)
    return [count // size for count in got.values()]


def _answer_size(client: socket.socket) -> int:
    """Return the bytes of one answer; ValueError unless it is a 200 that keeps the connection."""
    client.sendall(REQUEST)
    [answer] = client_answers(client, 1)
    if not answer.startswith(b"HTTP/1.1 200 ") or b"\r\nConnection: close" in answer:
        raise ValueError(f"not an answer that keeps the connection: {answer[:100]!r}")
    return len(answer)
