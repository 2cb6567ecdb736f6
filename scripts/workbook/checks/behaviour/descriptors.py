"""More clients than descriptors, at once or one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from workbook.checks.behaviour.alone import PATIENCE_S, alone, connected, must_rest
from workbook.checks.behaviour.kept import GET
from workbook.checks.behaviour.rows import Case, Unmet
from workbook.checks.behaviour.visitors import OF_ALL, OF_KEPT, Visitor, page_still_comes, visit
from workbook.servers.client import Await, Client, readable
from workbook.servers.process import Server

FEW_DESCRIPTORS = 64


MORE_CLIENTS = 70


def cases() -> Iterator[Case]:
    for what, visitors, level in [("given-back", OF_ALL, 1),
                                  ("given-back-after-a-reset", OF_KEPT, 5)]:
        yield alone(what, "close(2)",
                    f"the server may have {FEW_DESCRIPTORS} descriptors; one after another come "
                    + "; ".join(f"{MORE_CLIENTS} clients each of which {visitor.does}"
                                for visitor in visitors),
                    "whoever comes after them is served", partial(in_turn, visitors=visitors),
                    FEW_DESCRIPTORS, level=level)
    yield alone("fewer-than-clients", "accept(2), EMFILE",
                f"the server may have {FEW_DESCRIPTORS} descriptors; as many clients ask for the "
                "page and stay; when nobody else is answered, those who were leave",
                "while it can only wait it uses no processor; when the first clients have left, "
                "those who waited are answered", fewer_descriptors_than_clients, FEW_DESCRIPTORS,
                level=5)


def in_turn(server: Server, visitors: Sequence[Visitor]) -> None:
    for visitor in visitors:
        visit(server, visitor, MORE_CLIENTS)
        page_still_comes(server, f"{MORE_CLIENTS} clients each of which {visitor.does}")


def fewer_descriptors_than_clients(server: Server) -> None:
    with connected(server, FEW_DESCRIPTORS) as clients:
        for client in clients:
            client.perform((GET[0],))
        receive_until_quiet(clients)
        ended = sum(client.ended for client in clients)
        served = [client for client in clients if client.received().data]
        if ended or not served:
            raise Unmet(f"{len(served)} of {FEW_DESCRIPTORS} clients were answered, and {ended} "
                        "were closed")
        must_rest(server)
        for client in served:
            client.close()
        waiting = [client for client in clients if client not in served]
        for client in waiting:
            client.perform((Await(GET[1]),))
        late = sum(client.received().data != GET[1] for client in waiting)
        if late:
            raise Unmet(f"{late} of the {len(waiting)} clients that had waited were not answered")


def receive_until_quiet(clients: list[Client]) -> None:
    """Until nobody has been answered for a while: who comes first is the server's choice."""
    patience_s = PATIENCE_S
    while ready := readable([c for c in clients if not c.ended], patience_s):
        patience_s = 0.5
        for client in ready:
            client.receive()
