"""A loopback network of our own, where the system permits one.

On the host's, thousands of short connections a second fill the connection-tracking table of a
firewall such as Docker's. Once it's full the kernel drops packets, and what is measured is TCP's
retransmission. A new network namespace has no firewall, and no other program's connections.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

TABLE = Path("/proc/sys/net/netfilter")
CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCSIFADDR = 0x8916  # linux/sockios.h

# Brings `lo` up (netdevice(7)), reports that, and keeps the namespace until our end of the pipe
# closes.
HOLDER = """\
import fcntl, socket, struct, sys
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
print("up", flush=True)
sys.stdin.read()
"""
_holders: list[subprocess.Popen[str]] = []


@cache
def prefix() -> tuple[str, ...]:
    """Returns what to put before a command to run it on our own loopback; empty without one."""
    if not sys.platform.startswith("linux") or not all(map(shutil.which, ("unshare", "nsenter"))):
        return ()
    for make, enter in ((["--net"], ["--net"]),
                        (["--user", "--map-root-user", "--net"],
                         ["--user", "--preserve-credentials", "--net"])):
        if pid := _hold(make):
            return ("nsenter", f"--target={pid}", *enter, "--")
    return ()


@contextmanager
def own() -> Iterator[None]:
    """Within the block, this thread and the threads and programs that it starts are on our own
    loopback (setns(2)). Without root, or if that fails, they stay where they are.
    """
    command = prefix() if os.geteuid() == 0 else ()
    target = next((part.partition("=")[2] for part in command if part.startswith("--target=")), "")
    if not target:
        yield
        return
    setns = ctypes.CDLL(None).setns  # Python 3.12 has os.setns
    with open("/proc/thread-self/ns/net") as before, open(f"/proc/{target}/ns/net") as network:
        entered = setns(network.fileno(), CLONE_NEWNET) == 0
        try:
            yield
        finally:
            if entered:
                setns(before.fileno(), CLONE_NEWNET)


def add_addresses(*addresses: str) -> bool:
    """Add IPv6 addresses to this thread's loopback (netdevice(7)); returns False if that isn't our
    own, or the addresses can't be added.
    """
    if not _is_own():
        return False
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
            for address in addresses:
                with suppress(FileExistsError):
                    fcntl.ioctl(control, SIOCSIFADDR, struct.pack(
                        "=16sIi", socket.inet_pton(socket.AF_INET6, address), 128,
                        socket.if_nametoindex("lo")))
    except OSError:
        return False
    return True


def _is_own() -> bool:
    """Whether this thread is on the network that the holder process keeps."""
    networks = [Path("/proc/thread-self/ns/net"),
                *(Path(f"/proc/{holder.pid}/ns/net") for holder in _holders)]
    with suppress(OSError):
        here, *ours = (network.readlink() for network in networks)
        return here in ours
    return False


def space() -> float:
    """Returns the free fraction of the kernel's connection-tracking table, 0 to 1.

    Always 1 on a network of our own, and where connections are not tracked.
    """
    if prefix():
        return 1.0
    try:
        used, size = (int((TABLE / f"nf_conntrack_{end}").read_text()) for end in ("count", "max"))
    except (OSError, ValueError):
        return 1.0
    return 1 - used / size


def _hold(options: list[str]) -> int | None:
    """Start a process that keeps a new network until we exit; its pid, None if not permitted."""
    command = ["unshare", *options, "--", sys.executable, "-I", "-c", HOLDER]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    assert holder.stdout is not None
    if holder.stdout.readline() != "up\n":
        holder.wait()
        return None
    _holders.append(holder)
    return holder.pid


@atexit.register
def _release() -> None:
    for holder in _holders:
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait()
