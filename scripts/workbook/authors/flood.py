"""A flood of handshakes, in a process of its own: python -m workbook.authors.flood PORT SECONDS

Each client begins a handshake, receives the server's answer and disconnects; then another connects.
All send the same ClientHello, made once, so a handshake costs the clients almost nothing, but the
server a key exchange and a signature. Prints how many were answered. Ends by itself.
"""

from __future__ import annotations

import select
import socket
import ssl
import sys
import time
from contextlib import suppress

STRANGERS = 256  # at a time
MAXIMUM = 50_000
ITERATION_S = 0.1


def hello() -> bytes:
    """Return the ClientHello of a client without a session."""
    how = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    continues = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        how.wrap_bio(ssl.MemoryBIO(), continues, server_hostname="localhost").do_handshake()
    return continues.read()


def flood(port: int, seconds: float) -> int:
    """Return how many clients were answered, of at most MAXIMUM that connected in this time."""
    output, until, came, answered = hello(), time.monotonic() + seconds, 0, 0
    waiting, poller = dict[int, socket.socket](), select.epoll()
    while time.monotonic() < until:
        while len(waiting) < STRANGERS and came < MAXIMUM:
            came += 1
            stranger = socket.create_connection(("127.0.0.1", port))
            stranger.sendall(output)
            waiting[stranger.fileno()] = stranger
            poller.register(stranger, select.EPOLLIN)
        for number, _ in poller.poll(ITERATION_S):
            with waiting.pop(number) as stranger, suppress(OSError):
                answered += bool(stranger.recv(65_536))
    for stranger in waiting.values():
        stranger.close()
    return answered


if __name__ == "__main__":
    print(flood(int(sys.argv[1]), float(sys.argv[2])), flush=True)
