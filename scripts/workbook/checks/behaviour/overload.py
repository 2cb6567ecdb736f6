"""The number of clients is bounded, in total and per address. A client that is rejected learns when
to retry, and leaves nothing behind.

The memory that clients make the server hold is bounded in buffered.py, and how slow they may be in
rates.py.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from time import monotonic, sleep

from workbook.checks.behaviour.alone import (
    TIMEOUT_S,
    alone,
    connected,
    have_the_page,
    must_be_idle,
    must_end,
)
from workbook.checks.behaviour.deadlines import Limits
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.memory import returns
from workbook.checks.behaviour.pausing_clients import ANSWERED, PausingClient
from workbook.checks.behaviour.rows import (
    BAD,
    HOST,
    NO_SLOT,
    PAGE_ANSWER,
    Case,
    Unable,
    Unmet,
    get,
    noise,
    post,
)
from workbook.checks.behaviour.start import bad_option, repeated
from workbook.checks.behaviour.unchanged import GET, LAST
from workbook.machine import network
from workbook.servers.client import Await, Client, HalfClose, Step, Vanish, readable
from workbook.servers.process import Server

STATUS = "RFC 9110 §15.6.4 (MAY)"
OF_ONE = "RFC 9112 §9.4 (ours), RFC 9110 §15.6.4 (MAY)"
NETWORKS = "RFC 4291 §2.5.4 (ours)"
CLIENTS = 8  # enough that most workers have some of them
MORE = 16
RUSH, OF_THEM = 300, 50
FLOOD, ASKS = 5, 40
SOON_S = 0.02
LONG_S = 120.0
EACH = 2  # clients per address
ENTRY = 32  # bytes: less than storing an address takes
# A client that has begun its next head is not idle, so the idle limit may be short.
STAYS = (GET[0] + GET[0][:5], Await(GET[1]))
REPORTED = ((NO_SLOT, "closed"),)
WITHOUT_READERS = ((b"", "closed"), (b"", "reset"))  # over TLS: rejected before the handshake
TURNED_AWAY = PausingClient("is turned away", (), NO_SLOT)
CLIENT_1, CLIENT_2, CLIENT_3, CLIENT_4 = ("127.0.0.2", "127.0.0.3", "127.0.1.2", "127.1.0.2")
NETWORK = ("fd00:0:0:2::1", "fd00:0:0:2:8000::1", "fd00:0:0:2:ffff:ffff:ffff:ffff")  # one /64
NEXT_NETWORK = "fd00:0:0:3::1"  # differs from it only in the last bit of the /64


def cases() -> Iterator[Case]:
    yield from locations()
    yield from rejected()
    yield from addresses()
    yield from ends()


def locations() -> Iterator[Case]:
    for threads in (1, 2, 4):
        yield alone(f"max-clients-with-threads-{threads}", STATUS,
                    f"the server is started with --threads {threads} --max-clients {CLIENTS}; so "
                    f"many get the page and stay; {MORE} more connect",
                    "503, with Retry-After, and the end for the others; the first are served on",
                    more_than_clients, arguments=("--threads", str(threads), *max_clients(CLIENTS)))
    soon = Limits(idle=1, progress=1, linger=1)
    body = noise(300_000)
    for what, does, limits, steps, closes in [
        ("close", "closes", Limits(), (), True),
        ("last-answer", "has its last answer and closes", Limits(),
         (LAST[0], Await(PAGE_ANSWER)), True),
        ("refusal", "is refused and closes", Limits(), (get(fields=b""), Await(BAD)), True),
        ("reset", "resets its connection", Limits(), (Vanish(),), False),
        ("reset-in-a-head", "resets its connection in a head", Limits(), (GET[0][:9], Vanish()),
         False),
        ("reset-in-a-body", "resets its connection in a body", Limits(),
         (post(body, fields=HOST)[:9000], Vanish()), False),
        ("half-close", "says that it will send no more", Limits(), (HalfClose(),), False),
        ("linger-timeout", "is refused and does not close", soon, (get(fields=b""), Await(BAD)),
         False),
        ("idle-timeout", "is silent for too long", soon, (), False),
        ("body-timeout", "stops in a body", soon, (post(body, fields=HOST)[:9000],), False),
    ]:
        yield alone(f"slot-released-after-{what}", STATUS,
                    f"{CLIENTS} clients, as many as are accepted, have the page; then each {does}",
                    f"{CLIENTS} others are served instead of them, and no more",
                    partial(give_back, steps=steps, closes=closes),
                    arguments=(*max_clients(CLIENTS), *limits.options()))


def rejected() -> Iterator[Case]:
    yield alone("burst-of-connections", STATUS,
                f"there is place for {OF_THEM} clients; {RUSH} connect at once",
                f"{OF_THEM} are served, all others get 503 and the end", rush,
                arguments=max_clients(OF_THEM))
    yield alone("rejected-clients-are-not-counted", STATUS,
                f"there is place for {CLIENTS} clients, who are served; {MORE} are turned away and "
                "do not close, as many send a request at once; then the first leave",
                f"none of the others is served before, and {CLIENTS} are afterwards",
                do_not_count, arguments=max_clients(CLIENTS))
    yield alone("rejected-clients-leave-nothing", "close(2), malloc(3)",
                f"there is place for {CLIENTS} clients, who are served, and the server may have 64 "
                "descriptors; thousands are turned away, one after another",
                "less than 64 bytes of memory are left of each; the first are served on",
                leave_nothing, 64, arguments=(*max_clients(CLIENTS), *Limits(idle=600).options()))
    yield alone("rejections-while-one-is-served", STATUS,
                f"there is place for one client, which asks {ASKS} times; after each of its "
                f"requests {FLOOD} others are turned away",
                f"{ASKS} answers for the one; then the server has nothing to do", flood,
                arguments=max_clients(1))


def addresses() -> Iterator[Case]:
    yield alone("per-address-limit", OF_ONE,
                f"the server is started with --per-address {EACH}; from each of two addresses come "
                f"{EACH} clients and one more; the first leave, and come again",
                f"{EACH} of each address are served, and one more gets 503 and the end",
                of_one_address, arguments=each(EACH))
    yield alone("per-address-limit-with-4-threads", OF_ONE,
                f"the server has four threads, and --per-address {CLIENTS}; from one address come "
                f"{CLIENTS} clients and {MORE} more, and then one from another",
                f"{CLIENTS} are served, as is the other", by_four, arguments=each(CLIENTS))
    yield alone("per-address-and-total-limit", OF_ONE,
                f"--per-address {EACH} --max-clients {3 * EACH}; {EACH} clients of three addresses "
                f"are served; of the first one, and of a fourth, {MORE} each are turned away; "
                "those of the third leave",
                f"{EACH} of the fourth are served instead of them: a rejected client is not "
                "counted", of_both, arguments=(*each(EACH), *max_clients(3 * EACH)))
    yield alone("per-address-unlimited", "RFC 9112 §9.4 (ours)",
                f"the server is started with --per-address {EACH} --per-address 0; {MORE} clients "
                "come from one address", "all are served", any_number,
                arguments=(*each(EACH), *each(0)))
    yield alone("addresses-are-forgotten", "malloc(3), free",
                f"the server is started with --per-address {EACH}; one client stays, and thousands "
                "come one after another, each from an address of its own",
                f"each leaves less than {ENTRY} bytes in the server's memory", are_forgotten,
                arguments=each(EACH))
    yield alone("per-ipv6-network-limit", NETWORKS,
                f"the server is started with --host ::1 --per-address {EACH}; clients come from "
                "addresses of one /64, and from another /64",
                f"{EACH} of each /64 are served, and one more gets 503 and the end",
                of_one_network)
    yield alone("ipv4-mapped-addresses-counted-singly", "RFC 4291 §2.5.5.2 (ours)",
                f"the server is started with --host :: --per-address {EACH}; clients come to it by "
                "IPv4, from two addresses",
                f"{EACH} of each address are served, and one more gets 503 and the end",
                of_mapped_addresses)


def ends() -> Iterator[Case]:
    yield alone("stops-while-full", "signal(7)",
                f"there is place for {CLIENTS} clients, who are served; {MORE} are turned away and "
                "do not close; SIGTERM", "the server ends at once, with 0", stops_while_full,
                arguments=max_clients(CLIENTS))
    for option, more in [("--max-clients", ("0",)), ("--per-address", ()), ("--timeout", ())]:
        yield bad_option(option, *more)


def max_clients(clients: int) -> tuple[str, str]:
    return "--max-clients", str(clients)


def each(clients: int) -> tuple[str, str]:
    return "--per-address", str(clients)


def must_be_turned_away(server: Server, number: int = 1, source: str = "") -> None:
    with connected(server, number, source=source) as clients:
        are_turned_away(clients)


def are_turned_away(clients: Sequence[Client]) -> None:
    for client in clients:
        received = client.finish()
        if (received.raw, received.end) not in (WITHOUT_READERS if client.secure else REPORTED):
            raise Unmet(f"one that came when there was no place got {received.raw[:120]!r}; then "
                        "its connection was "
                        f"{'still open' if received.end == 'timeout' else received.end}")


@contextmanager
def has_slots(server: Server, number: int, source: str = "") -> Iterator[None]:
    """Exactly `number` new clients are served and stay, and the next one is rejected.

    Some may be served only once the server has noticed that others disconnected.
    """
    with ExitStack() as stack:
        deadline = monotonic() + TIMEOUT_S
        for location in range(number):
            while not _is_admitted(stack, server, source):
                if monotonic() > deadline:
                    raise Unmet(f"{location} of {number} places were free")
                sleep(SOON_S)
        must_be_turned_away(server, source=source)
        yield


def _is_admitted(stack: ExitStack, server: Server, source: str) -> bool:
    (client,) = stack.enter_context(connected(server, 1, source=source))
    client.perform(STAYS)
    return not client.ended


def more_than_clients(server: Server) -> None:
    with connected(server, CLIENTS) as clients:
        have_the_page(clients)
        must_be_turned_away(server, MORE)
        have_the_page(clients, times=2)


def give_back(server: Server, steps: tuple[Step, ...], closes: bool) -> None:
    with connected(server, CLIENTS) as clients:
        for client in clients:
            client.perform((GET[0], Await(GET[1]), *steps))
            if closes:
                client.close()
        with has_slots(server, CLIENTS):
            pass


def rush(server: Server) -> None:
    with connected(server, RUSH) as clients:
        inside, deadline = clients, monotonic() + TIMEOUT_S
        while len(inside) > OF_THEM and monotonic() < deadline:
            for client in readable(inside, SOON_S):
                client.receive_for(SOON_S)
            inside = [client for client in clients if not client.ended]
        if len(inside) != OF_THEM:
            raise Unmet(f"{len(inside)} were let in")
        are_turned_away([client for client in clients if client.ended])
        have_the_page(inside)


def do_not_count(server: Server) -> None:
    with connected(server, CLIENTS) as clients:
        have_the_page(clients)
        with connected(server, MORE) as others:
            are_turned_away(others)
            request_in_vain(server)
            for client in clients:
                client.close()
            with has_slots(server, CLIENTS):
                pass


def request_in_vain(server: Server) -> None:
    """More clients send requests than are admitted, and those rejected may receive no answer.

    Closing a socket that holds unread bytes resets the connection (RFC 9112 §9.6).
    """
    with connected(server, MORE) as clients:
        for client in clients:
            client.perform((post(noise(100_000)),))
        for client in clients:
            if (got := client.finish().raw) not in (b"", NO_SLOT):
                raise Unmet(f"one that came when there was no place got {got[:120]!r}")


def leave_nothing(server: Server) -> None:
    with connected(server, CLIENTS, timeout_s=LONG_S) as clients:
        have_the_page(clients)
        returns(server, TURNED_AWAY)
        have_the_page(clients, times=2)


def flood(server: Server) -> None:
    with connected(server, 1, timeout_s=LONG_S) as clients:
        for number in range(1, ASKS + 1):
            have_the_page(clients, times=number)
            must_be_turned_away(server, FLOOD)
        must_be_idle(server)


def of_one_address(server: Server) -> None:
    must_be_ours(CLIENT_1, CLIENT_2)
    for _ in range(2):
        with has_slots(server, EACH, CLIENT_1), has_slots(server, EACH, CLIENT_2):
            pass


def by_four(server: Server) -> None:
    must_be_ours(CLIENT_1, CLIENT_2)
    with connected(server, CLIENTS, source=CLIENT_1) as clients:
        have_the_page(clients)
        must_be_turned_away(server, MORE, CLIENT_1)
        with connected(server, 1, source=CLIENT_2) as other:
            have_the_page(other)
        have_the_page(clients, times=2)


def of_both(server: Server) -> None:
    must_be_ours(CLIENT_1, CLIENT_2, CLIENT_3, CLIENT_4)
    with has_slots(server, EACH, CLIENT_1), has_slots(server, EACH, CLIENT_2):
        must_be_turned_away(server, MORE, CLIENT_1)
        with has_slots(server, EACH, CLIENT_3):
            must_be_turned_away(server, MORE, CLIENT_4)
        with has_slots(server, EACH, CLIENT_4):
            pass


def any_number(server: Server) -> None:
    with connected(server, MORE) as clients:
        have_the_page(clients)


def are_forgotten(server: Server) -> None:
    must_be_ours(CLIENT_1, CLIENT_2, CLIENT_3)
    with connected(server, 1) as clients:
        have_the_page(clients)
        returns(server, ANSWERED, map(loopback, count()), ENTRY)


def loopback(number: int) -> str:
    """One of the many addresses that Linux's loopback has."""
    return f"127.{2 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"


def of_one_network(server: Server) -> None:
    first, second, third = NETWORK
    if not network.add_addresses(*NETWORK, NEXT_NETWORK):
        raise Unable("it takes a loopback network of our own, with IPv6")
    with repeated(server, "--host", "::1", *each(EACH)) as other, \
            connected(other, 1, source=first) as one, \
            connected(other, 1, source=second) as two:
        have_the_page([*one, *two])
        must_be_turned_away(other, 1, third)
        with has_slots(other, EACH, NEXT_NETWORK), has_slots(other, EACH, "::1"):
            pass


def of_mapped_addresses(server: Server) -> None:
    must_be_ours(CLIENT_1, CLIENT_2, "::1")
    with repeated(server, "--host", "::", *each(EACH)) as other:
        other.host = CLIENT_1
        with has_slots(other, EACH, CLIENT_1), has_slots(other, EACH, CLIENT_2):
            pass


def must_be_ours(*sources: str) -> None:
    """Raises Unable unless clients can connect from these addresses."""
    for source in sources:
        family = socket.AF_INET6 if ":" in source else socket.AF_INET
        try:
            socket.create_server((source, 0), family=family).close()
        except OSError:
            raise Unable(f"{source} is no address of this machine") from None


def stops_while_full(server: Server) -> None:
    with connected(server, CLIENTS) as clients:
        have_the_page(clients)
        with connected(server, MORE) as others:
            are_turned_away(others)
            server.ask_to_stop()
            must_end(server)


CHECKS = (group("overload", "more clients than there is room for", cases, level=13),)
