"""Records of all sizes, orderly and truncated ends, and the bytes of echoes and files."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from workbook.checks.behaviour.alone import TIMEOUT_S, alone
from workbook.checks.behaviour.deadlines import Limits
from workbook.checks.behaviour.log import logging, stop
from workbook.checks.behaviour.log_lines import Line, read
from workbook.checks.behaviour.rows import (
    BAD,
    BYTES,
    HOST,
    MIB,
    PAGE_ANSWER,
    Case,
    Unable,
    Unmet,
    answer,
    echoed,
    get,
    noise,
    post,
)
from workbook.checks.behaviour.tls_clients import (
    QUIET_S,
    VERSIONS,
    a_client,
    connection,
    in_records,
    must_be,
    must_have,
    of,
    s_client,
    secured,
)
from workbook.checks.behaviour.unchanged import GET, LAST, chain
from workbook.servers import certificates, tls
from workbook.servers.client import Await, Client, Pause, Sip, Step
from workbook.servers.process import Server
from workbook.servers.tls import Hello

STANDARDS = {"1.2": 5246, "1.3": 8446}
CLOSED, ENDS = "RFC 8446 §6.1, RFC 9112 §9.8 (MUST)", "RFC 8446 §6.1 (MUST), RFC 9112 §9.6 (ours)"
SITE_FILES = {"one.bin": 1, "record.bin": 1 << 14, "more.bin": (1 << 14) + 1, "large.bin": 3 * MIB}


def records() -> Iterator[Case]:
    for name in VERSIONS:
        for size in (1, 7, 1000):
            yield alone(f"sent-in-{size}-byte-pieces-{name}",
                        f"RFC {STANDARDS[name]} §1 (ours); SSL_read(3)",
                        f"all that a client of TLS {name} sends comes by {size} bytes, from the "
                        "first of the handshake on; two requests, a body among them",
                        "its answers", partial(cut, name=name, size=size))
    yield alone("records-of-one-byte", "RFC 8446 §5.1 (MAY)",
                "each byte of two requests has a record of its own; all come at once",
                "both answers", records_of_one_byte)
    yield alone("many-records-at-once", "RFC 8446 §5.1 (MAY); SSL_has_pending(3)",
                "300 requests, each in a record of its own, come at once", "300 answers in order",
                many_records)
    yield alone("records-and-a-partial-record", "SSL_pending(3)",
                "two requests and half of the record of a third come at once; when both answers "
                "are there, the other half", "the third answer", records_and_a_part)
    yield alone("pipelined", "RFC 9112 §9.3.2 (MUST)", "100 requests in as few records as can be",
                "100 answers in order", pipelined)
    for letter, what in (("k", "its own"), ("K", "both")):
        yield alone(f"key-update-of-{what.replace(' ', '-')}",
                    "RFC 8446 §4.6.3 (MUST); openssl-s_client(1)",
                    f"a client changes {what} keys between two requests", "both answers",
                    partial(key_update, letter=letter))
    yield alone("renegotiation", "RFC 5246 §7.2.2 (ours); SSL_OP_NO_RENEGOTIATION",
                "a client of TLS 1.2 asks for another handshake", "it is refused", renegotiation)
    yield alone("corrupt-record", "RFC 5246 §6.2.3.3 (MUST); ERR_clear_error(3)",
                "a client has the page; on another connection a corrupt record comes; "
                "the first sends a request in two pieces; all are of one worker",
                "the alert bad_record_mac for the other, an answer for the first", spoilt_record)


def ends() -> Iterator[Case]:
    reports = "close_notify, then the end"
    limits = Limits(idle=1).options()
    for what, does, arguments, steps, expect in [
        ("after-last-answer", "has its last answer", (), (get(),), PAGE_ANSWER),
        ("after-refusal", "is refused", (), (get(fields=b""),), BAD),
        ("after-idle-timeout", "is silent for longer than it may", limits, (GET[0], Await(GET[1])),
         GET[1]),
        ("without-request", "says nothing after the handshake", limits, (), b""),
    ]:
        yield alone(f"close-notify-{what}", CLOSED, f"a client {does}", reports,
                    partial(goodbye, arguments=arguments, steps=steps, expect=expect))
    yield alone("close-notify-on-stop", CLOSED, "a client has the page; SIGTERM", reports,
                goodbye_at_the_stop)
    yield alone("close-notify-from-client", ENDS,
                "a client sends three requests and close_notify, and leaves its socket open",
                f"three answers, {reports}", goodbye_of_a_client)
    yield alone("close-notify-in-a-body", "RFC 8446 §6.1, RFC 9112 §6.3 (MUST)",
                "a client sends close_notify in a body",
                f"no answer, but {reports}", goodbye_in_a_body)
    yield alone("incomplete-answer-is-cut-off", "RFC 9112 §8 (ours)",
                "an echo has begun; its client half-closes, or sends a malformed chunk",
                "what had come, and the end without a word", cut_in_an_answer)
    yield alone("close-notify-before-reading", ENDS,
                "a client asks for an echo of 1 MiB, sends close_notify, pauses, and reads",
                f"all of the echo, {reports}", goodbye_before_reading)
    yield alone("close-notify-with-request", ENDS,
                "a client asks for a file of 3 MiB and sends close_notify at once, pauses, and "
                "reads", f"all of the file, {reports}", goodbye_with_the_request)
    yield alone("truncated-in-a-head", "RFC 8446 §6.1, RFC 9112 §9.8 (ours)",
                "a client closes its side in a head, without close_notify",
                "the end without close_notify; the log shows no answer", truncated_in_a_head)
    yield alone("truncated-after-requests", "RFC 8446 §6.1, RFC 9112 §9.8 (ours)",
                "a client sends three whole requests and closes its side, without close_notify",
                "answers or a part of them, and the end without a word", truncated_after_requests)


def echoes() -> Iterator[Case]:
    for size in (1, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 1 << 17, MIB + 1):
        yield alone(f"echo-of-{size}", "RFC 8446 §5.1, RFC 5246 §6.2.1 (MUST)",
                    f"a client sends {size} bytes, and reads at once", "the same bytes",
                    partial(echo, size=size))
    yield alone("late-readers", "SSL_MODE_ENABLE_PARTIAL_WRITE; send(2), EAGAIN",
                "three clients of one worker ask for an echo of 2 MiB each, and begin to read "
                "when all have sent what their sockets take",
                "the same bytes for each", late_readers)
    yield alone("slow-reader", "send(2), EAGAIN",
                "a client asks for an echo of 1 MiB, and reads by 5000 bytes with pauses",
                "the same bytes", slow_reader)


def files_over_it() -> Iterator[Case]:
    yield alone("files", "RFC 9110 §14.2 (SHOULD); pread(2)",
                "files about the size of a record, one of 3 MiB, and parts of them",
                "their bytes", files)
    yield alone("file-late-reader", "pread(2); send(2), EAGAIN",
                "a client asks for a file of 3 MiB twice, and reads late", "its bytes, twice",
                file_late_reader)
    yield alone("file-truncated-while-sent", "pread(2)",
                "while a client does not read, the rest of its "
                "file is cut off", "a part of the answer, and the end without a word",
                file_that_shrinks)


def cut(server: Server, name: str, size: int) -> None:
    body = noise(3000)
    sent, expect = chain((post(body, fields=HOST), echoed(body, "")), LAST)
    how = tls.context(versions=[VERSIONS[name]])
    with secured(server) as other:
        with a_client(other, Hello(how, cut=size, pause_s=0.0002 if size > 1 else 0)) as client:
            client.perform((sent,))
            must_be(client, client.finish(), expect)


def records_of_one_byte(server: Server) -> None:
    sent, expect = chain(GET, LAST)
    with secured(server) as other, a_client(other) as client:
        in_records(client, [bytes([byte]) for byte in sent])
        must_be(client, client.finish(), expect)


def many_records(server: Server) -> None:
    count = 300
    with secured(server) as other, a_client(other) as client:
        in_records(client, [*[GET[0]] * (count - 1), LAST[0]])
        must_be(client, client.finish(), GET[1] * (count - 1) + LAST[1])


def records_and_a_part(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        remainder = in_records(client, [GET[0], GET[0], LAST[0]], keep=30)
        client.perform((Await(2 * GET[1]),))
        assert client.secure
        client.secure.send_sealed(remainder, time.monotonic() + TIMEOUT_S)
        must_be(client, client.finish(), 2 * GET[1] + LAST[1])


def pipelined(server: Server) -> None:
    sent, expect = chain(*[GET] * 99, LAST)
    with secured(server) as other, a_client(other) as client:
        client.perform((sent,))
        must_be(client, client.finish(), expect)


def key_update(server: Server, letter: str) -> None:
    step = f"{letter}\n".encode()
    pause = Pause(QUIET_S)
    with secured(server) as other:
        output = s_client(other, "-tls1_3", output=(pause, GET[0], pause, step, pause, GET[0], pause,
                                                    step, pause, LAST[0], Pause(2 * QUIET_S)))
    must_have(output.count("KEYUPDATE"), 2, "updates that the client made")
    must_have(output.count("<h1>Hot Path</h1>"), 3, "pages")


def renegotiation(server: Server) -> None:
    with secured(server) as other:
        output = s_client(other, "-tls1_2", output=(Pause(QUIET_S), b"R\n", Pause(QUIET_S), LAST[0],
                                                    Pause(QUIET_S)))
        connection(other, of("1.2"))
    if "RENEGOTIATING" not in output:
        raise Unable("this openssl does not renegotiate")
    if "no renegotiation" not in output or "<h1>Hot Path</h1>" in output:
        raise Unmet(f"openssl s_client says: {output[-300:]}")


def spoilt_record(server: Server) -> None:
    with secured(server, "--threads", "1") as other:
        with a_client(other, Hello(tls.context(), cut=20, pause_s=0.002)) as first:
            for iteration in range(1, 4):
                with a_client(other, of("1.2")) as second:
                    second.perform((GET[0], Await(GET[1])))
                    assert second.secure
                    second.secure.send_sealed(b"\x17\3\3\0\x40" + bytes(64),
                                              time.monotonic() + TIMEOUT_S)
                    second.finish()
                must_have(second.alert, "SSLV3_ALERT_BAD_RECORD_MAC", "the alert")
                first.perform((GET[0], Await(iteration * GET[1])))
            first.perform((LAST[0],))
            must_be(first, first.finish(), 3 * GET[1] + LAST[1])


def goodbye(server: Server, arguments: tuple[str, ...], steps: tuple[Step, ...],
            expect: bytes) -> None:
    with secured(server, *arguments) as other:
        for name in VERSIONS:
            with a_client(other, of(name)) as client:
                client.perform(steps)
                must_be(client, client.finish(), expect)


def goodbye_at_the_stop(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        client.perform((GET[0], Await(GET[1])))
        other.ask_to_stop()
        must_be(client, client.finish(), GET[1])
        client.close()
        stop(other)


def goodbye_of_a_client(server: Server) -> None:
    """The client sends no FIN, so only TLS shows that it has ended."""
    with secured(server) as other, a_client(other) as client:
        client.perform((GET[0] * 3,))
        assert client.secure
        client.secure.send_close_notify()
        must_be(client, client.finish(), GET[1] * 3)


def goodbye_in_a_body(server: Server) -> None:
    with secured(server) as other, a_client(other) as client:
        client.perform((post(b"x" * 10, b"/sink", length=b"20"), Pause(0.1)))
        assert client.secure
        client.secure.send_close_notify()
        must_be(client, client.finish(), b"")


def cut_in_an_answer(server: Server) -> None:
    """With close_notify, a truncated answer would look complete."""
    begun = b"POST /echo HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    with secured(server, *Limits(progress=1).options()) as other:
        for remainder in (b"", b"ZZ\r\n"):
            with a_client(other) as client:
                client.perform((begun + remainder,))
                received = client.finish()
            if received.end != "truncated" or not received.data.endswith(b"\r\n5\r\nhello\r\n"):
                raise Unmet(f"{received.data!r} came, and the end was: {received.end}")


def goodbye_before_reading(server: Server) -> None:
    body = noise(MIB)
    with secured(server) as other, a_client(other, narrow=True) as client:
        client.perform((post(body, fields=HOST),))
        assert client.secure
        client.secure.send_close_notify()
        client.perform((Pause(QUIET_S),))
        must_be(client, client.finish(), echoed(body, ""))


def goodbye_with_the_request(server: Server) -> None:
    with serving_files(server) as (other, _), a_client(other, narrow=True) as client:
        assert client.secure
        client.secure.tls.write(get(b"/large.bin", HOST))  # sent together with close_notify
        client.secure.send_close_notify()
        client.perform((Pause(QUIET_S),))
        expect = file_of(SITE_FILES["large.bin"]).replace(b"Connection: close\r\n", b"")
        must_be(client, client.finish(), expect)


def cut_off(client: Client) -> None:
    """Send FIN without close_notify."""
    assert client.secure
    client.secure.plain.shutdown(socket.SHUT_WR)


def truncated_in_a_head(server: Server) -> None:
    pair = certificates.localhost()
    with logging(server, *pair.options) as (other, file):
        with a_client(other) as client:
            client.perform((GET[0], Await(GET[1]), get(b"/half")[:-2], Pause(0.1)))
            cut_off(client)
            received = client.finish()
        stop(other)
        lines = read(file)
    if received.data != GET[1] or received.end not in ("truncated", "reset"):
        raise Unmet(f"{received.data.removeprefix(GET[1])!r} came, and the end was: {received.end}")
    must_have([line.status for line in lines], [200, None], "the log's lines")
    must_have(lines[1], Line(b"GET /half HTTP/1.1", None), "the second line")


def truncated_after_requests(server: Server) -> None:
    """Earlier requests may be answered before the truncation is noticed."""
    with secured(server) as other, a_client(other) as client:
        client.perform((GET[0] * 3,))
        cut_off(client)
        received = client.finish()
    whole = (GET[1] * 3).startswith(received.data)
    if received.end not in ("truncated", "reset") or not whole:
        raise Unmet(f"{len(received.data):,} bytes came, and the end was: {received.end}")


def echo(server: Server, size: int) -> None:
    body = noise(size)
    with secured(server) as other:
        for name in VERSIONS:
            with a_client(other, of(name)) as client:
                client.perform((post(body),))
                must_be(client, client.finish(), echoed(body))


def late_readers(server: Server) -> None:
    bodies = [noise(2 * MIB + number) for number in range(3)]
    with secured(server, "--threads", "1") as other, ExitStack() as stack:
        clients = [stack.enter_context(a_client(other, narrow=True)) for _ in bodies]
        left = [memoryview(post(body)) for body in bodies]
        left = [remainder[client.offer(remainder, QUIET_S):]
                for client, remainder in zip(clients, left, strict=True)]
        for client, remainder, body in zip(clients, left, bodies, strict=True):
            client.perform((bytes(remainder),))
            must_be(client, client.finish(), echoed(body))


def slow_reader(server: Server) -> None:
    body = noise(MIB)
    with secured(server) as other, a_client(other, narrow=True) as client:
        client.perform((Sip(5000, 0.001), post(body)))
        must_be(client, client.finish(), echoed(body))


def make_files(root: Path) -> None:
    for name, size in SITE_FILES.items():
        (root / name).write_bytes(noise(size))


@contextmanager
def serving_files(server: Server) -> Iterator[tuple[Server, Path]]:
    with TemporaryDirectory() as folder:
        make_files(Path(folder))
        with secured(server, "--root", folder, "--threads", "1") as other:
            yield other, Path(folder)


def file_of(size: int) -> bytes:
    return answer("200 OK", BYTES, noise(size))


def files(server: Server) -> None:
    with serving_files(server) as (other, _):
        for name, size in SITE_FILES.items():
            for first, last in ((0, size - 1), (size // 3, size - 1), (size // 2, size // 2)):
                with a_client(other) as client:
                    client.perform((get(f"/{name}".encode(), ranged(first, last)),))
                    received = client.finish()
                body = received.raw.partition(b"\r\n\r\n")[2]
                if body != noise(size)[first:last + 1] or received.end != "closed":
                    raise Unmet(f"of {name}, bytes {first} to {last}, {len(body):,} came, other "
                                f"ones among them, or the end was not: {received.end}")


def ranged(first: int, last: int) -> bytes:
    return HOST + b"Connection: close\r\nRange: bytes=%d-%d\r\n" % (first, last)


def file_late_reader(server: Server) -> None:
    with serving_files(server) as (other, _), a_client(other, narrow=True) as client:
        client.perform((get(b"/large.bin", HOST) + get(b"/large.bin"), Pause(QUIET_S)))
        size = SITE_FILES["large.bin"]
        expect = file_of(size).replace(b"Connection: close\r\n", b"") + file_of(size)
        must_be(client, client.finish(), expect)


def file_that_shrinks(server: Server) -> None:
    size = SITE_FILES["large.bin"]
    with serving_files(server) as (other, root), a_client(other, narrow=True) as client:
        client.perform((get(b"/large.bin"), Await(b"200 OK"), Pause(QUIET_S)))
        os.truncate(root / "large.bin", size // 2)
        received = client.finish()
    if received.end not in ("truncated", "reset"):
        raise Unmet(f"{len(received.data):,} bytes came, and the end was: {received.end}")
    if not file_of(size).startswith(received.data):
        raise Unmet("other bytes came")
