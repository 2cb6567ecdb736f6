"""A cable between two network namespaces whose packets take a while: DELAY_S NAME ADDRESS NAME ADDRESS.

Makes a TUN device in each namespace and passes packets from one to the other after the delay. Prints
`ready`, and goes on until it is ended.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA  # linux/if_tun.h
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MAX_PACKET = 65_536


def device(namespace: str, address: str, name: str) -> int:
    """The descriptor from which the packets come that are sent in this namespace, and for those that
    are to arrive there.
    """
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    for command in (["ip", "link", "set", name, "netns", namespace],
                    ["ip", "-n", namespace, "addr", "add", address, "dev", name],
                    ["ip", "-n", namespace, "link", "set", name, "up"]):
        subprocess.run(command, check=True)
    return descriptor


def carry(ends: tuple[int, int], delay_s: float) -> None:
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    held: deque[tuple[float, int, bytes]] = deque()
    while True:
        wait_s = max(0.0, held[0][0] - time.monotonic()) if held else None
        for end in select.select(ends, [], [], wait_s)[0]:
            held.append((time.monotonic() + delay_s, other[end], os.read(end, MAX_PACKET)))
        while held and held[0][0] <= time.monotonic():
            _, end, packet = held.popleft()
            os.write(end, packet)


if __name__ == "__main__":
    delay, one, one_address, two, two_address = sys.argv[1:]
    both = (device(one, one_address, f"slow{os.getpid()}a"), device(two, two_address, f"slow{os.getpid()}b"))
    print("ready", flush=True)
    carry(both, float(delay))
