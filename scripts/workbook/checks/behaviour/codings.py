"""Which encoding of a file a client gets, depending on what it accepts (RFC 9110 §12.5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbook.checks.behaviour import site
from workbook.checks.behaviour.dialogue import Address, Answer, ask, must_be, must_have
from workbook.checks.behaviour.judge import group
from workbook.checks.behaviour.ranges import must_be_part
from workbook.checks.behaviour.rows import Case, Unmet
from workbook.checks.behaviour.validators import must_describe_no_body, talk

ALL, PLAIN = "all.html", ""
CODED = ("br", "zstd", "gzip")

# For each file: Accept-Encoding values and the encodings that are correct for them.
FORMS: tuple[tuple[str, str, str, tuple[str, ...], str], ...] = (
    ("gzip", ALL, "gzip", ("gzip",), "RFC 9110 §8.4.1.3 (ours)"),
    ("br", ALL, "br", ("br",), "RFC 7932 §13 (ours)"),
    ("zstd", ALL, "zstd", ("zstd",), "RFC 8878 §7.2 (ours)"),
    ("x-gzip", ALL, "x-gzip", ("gzip", PLAIN), "RFC 9110 §8.4.1.3 (SHOULD)"),
    ("upper-case", ALL, "GZIP", ("gzip",), "RFC 9110 §8.4.1 (ours)"),
    ("one-of-several", ALL, "deflate, gzip, br, zstd", CODED, "RFC 9110 §12.5.3 (ours)"),
    ("any", ALL, "*", CODED, "RFC 9110 §12.5.3 (ours)"),
    ("best-first", ALL, "gzip;q=0.5, br;q=0.9, zstd;q=0.7", ("br",),
     "RFC 9110 §12.4.2, §12.5.3 (ours)"),
    ("best-last", ALL, "br;q=0.2, zstd;q=0.3, gzip", ("gzip",), "RFC 9110 §12.4.2, §12.5.3 (ours)"),
    ("best-by-a-thousandth", ALL, "br;q=0.998, gzip;q=0.999", ("gzip",),
     "RFC 9110 §12.4.2, §12.5.3 (ours)"),
    ("lowest-weight", ALL, "gzip;q=0.001", ("gzip",), "RFC 9110 §12.4.2, §12.5.3 (ours)"),
    ("spaces-around", ALL, "\tbr ; q=0 ,\tgzip ; q=1.000 ", ("gzip",),
     "RFC 9110 §5.6.1.2 (MUST), §12.4.2 (ours)"),
    ("empty-elements", ALL, ",, gzip,", ("gzip",), "RFC 9110 §5.6.1.2 (MUST), §12.5.3 (ours)"),
    ("all-refused-except-one", ALL, "*;q=0, gzip", ("gzip",), "RFC 9110 §12.5.3 (ours)"),
    ("all-accepted-except-one", ALL, "br;q=0, *", ("zstd", "gzip"), "RFC 9110 §12.5.3 (ours)"),
    ("weight-zero", ALL, "gzip;q=0", (PLAIN,), "RFC 9110 §12.4.2, §12.5.3 (SHOULD)"),
    ("weight-zero-in-thousandths", ALL, "gzip;q=0.000", (PLAIN,),
     "RFC 9110 §12.4.2, §12.5.3 (SHOULD)"),
    ("all-weight-zero", ALL, "*;q=0", (PLAIN,), "RFC 9110 §12.4.1 (ours)"),
    ("identity-preferred", ALL, "gzip;q=0.5, identity", (PLAIN,), "RFC 9110 §12.5.3 (ours)"),
    ("identity-only", ALL, "identity", (PLAIN,), "RFC 9110 §12.5.3 (SHOULD)"),
    ("empty-field", ALL, "", (PLAIN,), "RFC 9110 §12.5.3 (ours)"),
    ("unknown-coding", ALL, "deflate", (PLAIN,), "RFC 9110 §12.5.3 (SHOULD)"),
    ("longer-coding-names", ALL, "gzipped, xbr", (PLAIN,), "RFC 9110 §5.6.2, §12.5.3 (SHOULD)"),
    ("invalid-weight", ALL, "br;q=x, gzip;q=0.5", ("gzip",), "RFC 9110 §12.4.2 (ours)"),
    ("only-gzip-exists", "gzip.css", "br, zstd, gzip;q=0.1", ("gzip",), "RFC 9110 §12.5.3 (ours)"),
    ("only-another-exists", "br.js", "gzip", (PLAIN,), "RFC 9110 §12.5.3 (SHOULD)"),
    ("no-coded-form-exists", "plain.txt", "br, zstd, gzip", (PLAIN,), "RFC 9110 §12.5.3 (SHOULD)"),
    ("next-best-exists", "two.json", "br, gzip;q=0.2, zstd;q=0.4", ("zstd",),
     "RFC 9110 §12.4.2, §12.5.3 (ours)"),
)


def cases() -> Iterator[Case]:
    for what, name, accepted, right, reference in FORMS:
        forms = " or ".join(coding or "plain" for coding in right)
        yield talk(what, f"GET and HEAD /{name} with Accept-Encoding: {accepted}",
                   f"the form {forms}, with its Content-Encoding", reference,
                   partial(forms_are, name=name, fields=f"Accept-Encoding: {accepted}", right=right))
    yield talk("no-accept-encoding", f"GET and HEAD /{ALL} without Accept-Encoding",
               "the form plain",
               "RFC 9110 §12.5.3 (ours)", partial(forms_are, name=ALL, fields="", right=(PLAIN,)))
    yield talk("two-field-lines",
               f"GET /{ALL} with Accept-Encoding: br;q=0.1 and, in another line, gzip",
               "the form gzip", "RFC 9110 §5.2, §12.5.3 (ours)",
               partial(forms_are, name=ALL, right=("gzip",),
                       fields="Accept-Encoding: br;q=0.1\r\nAccept-Encoding: gzip"))
    yield talk("vary", f"GET /{ALL} plain, and in every coding", "Vary: Accept-Encoding each time",
               "RFC 9110 §12.5.5 (SHOULD)", partial(vary))
    yield talk("etag-of-each-coding", f"GET /{ALL} plain, and in every coding",
               "four different ETags",
               "RFC 9110 §8.8.3, §8.8.3.3 (MUST)", partial(tags_differ))
    yield talk("type-of-each-coding", f"GET /{ALL} in every coding",
               "the media type of what is coded",
               "RFC 9110 §8.3 (SHOULD), §8.4 (MUST)", partial(types))
    yield talk("not-modified-in-same-coding", f"/{ALL} in gzip, with that form's ETag",
               "304 with Vary and that ETag", "RFC 9110 §15.4.5 (MUST)", partial(known))
    yield talk("not-modified-names-no-coding", f"/{ALL} in every coding, with that form's ETag",
               "304 without Content-Encoding: its empty body is not coded",
               "RFC 9110 §15.4.5 (SHOULD)", partial(names_no_coding))
    yield talk("modified-in-another-coding", f"/{ALL} in gzip, with the plain form's ETag",
               "200, the form gzip", "RFC 9110 §13.1.2, §8.8.3.3 (MUST)",
               partial(known_otherwise))
    yield talk("range-of-a-coding", f"bytes 10 to 19 of /{ALL} in gzip",
               "206, these bytes of what is coded",
               "RFC 9110 §14.1.2, §14.2 (SHOULD), §15.3.7 (MUST)", partial(part_of_form))
    yield talk("coded-file-by-name", f"GET /{ALL}.gz", "these bytes, not coded",
               "RFC 9110 §8.4 (ours)", partial(by_name))


def forms_are(address: Address, *, name: str, fields: str, right: tuple[str, ...]) -> None:
    lines = f"{fields}\r\n" if fields else ""
    answer = ask(address, f"/{name}", lines)
    must_be(answer, 200)
    coding = coding_of(answer)
    if coding not in right:
        raise Unmet(f"the form is {coding or 'plain'}")
    must_have(answer, form(name, coding))
    head = ask(address, f"/{name}", lines, "HEAD")
    if (coding_of(head), head.tag) != (coding, answer.tag):
        raise Unmet(f"HEAD is answered with the form {coding_of(head) or 'plain'}, ETag {head.tag}; "
                    f"GET with {coding or 'plain'}, {answer.tag}")
    if head.field("Content-Length") != str(len(answer.body)):
        raise Unmet(f"HEAD is answered with Content-Length: {head.field('Content-Length')}, GET with "
                    f"{len(answer.body)} bytes")


def coding_of(answer: Answer) -> str:
    return answer.fields.get("content-encoding", PLAIN)


def form(name: str, coding: str) -> bytes:
    return site.form_of(name, coding) if coding else site.text_of(name.encode())


def _each_form(address: Address) -> dict[str, Answer]:
    answers = {coding: ask(address, f"/{ALL}", f"Accept-Encoding: {coding}\r\n")
               for coding in CODED}
    for coding, answer in answers.items():
        if coding_of(answer) != coding:
            raise Unmet(f"Accept-Encoding: {coding} brings the form {coding_of(answer) or 'plain'}")
    return {PLAIN: ask(address, f"/{ALL}"), **answers}


def vary(address: Address) -> None:
    for coding, answer in _each_form(address).items():
        must_vary(answer, coding)


def must_vary(answer: Answer, coding: str) -> None:
    names = [name.strip().lower() for name in answer.fields.get("vary", "").split(",")]
    if "accept-encoding" not in names:
        raise Unmet(f"the {answer.status} with the form {coding or 'plain'} does not have Vary: "
                    "Accept-Encoding")


def tags_differ(address: Address) -> None:
    tags = [answer.tag for answer in _each_form(address).values()]
    if len(set(tags)) < len(tags):
        raise Unmet(f"the ETags are {', '.join(tags)}")


def types(address: Address) -> None:
    for coding, answer in _each_form(address).items():
        if not answer.field("Content-Type").startswith("text/html"):
            raise Unmet(f"the form {coding} has Content-Type: {answer.field('Content-Type')}")


def known(address: Address) -> None:
    accepts = "Accept-Encoding: gzip\r\n"
    first = ask(address, f"/{ALL}", accepts)
    repeated = ask(address, f"/{ALL}", f"{accepts}If-None-Match: {first.tag}\r\n")
    must_be(repeated, 304)
    must_vary(repeated, "gzip")
    if repeated.tag != first.tag:
        raise Unmet(f"the 304 has ETag: {repeated.tag}")


def names_no_coding(address: Address) -> None:
    for coding, answer in _each_form(address).items():
        fields = f"Accept-Encoding: {coding}\r\nIf-None-Match: {answer.tag}\r\n"
        must_describe_no_body(ask(address, f"/{ALL}", fields))


def known_otherwise(address: Address) -> None:
    plain = ask(address, f"/{ALL}")
    coded = ask(address, f"/{ALL}", f"Accept-Encoding: gzip\r\nIf-None-Match: {plain.tag}\r\n")
    must_be(coded, 200)
    must_have(coded, form(ALL, "gzip"))


def part_of_form(address: Address) -> None:
    answer = ask(address, f"/{ALL}", "Accept-Encoding: gzip\r\nRange: bytes=10-19\r\n")
    must_be_part(answer, form(ALL, "gzip"), 10, 19)
    if coding_of(answer) != "gzip":
        raise Unmet(f"the part has Content-Encoding: {coding_of(answer)}")


def by_name(address: Address) -> None:
    answer = ask(address, f"/{ALL}.gz", "Accept-Encoding: gzip\r\n")
    must_be(answer, 200)
    must_have(answer, form(ALL, "gzip"))
    if coding_of(answer):
        raise Unmet(f"the file is announced as coded: {coding_of(answer)}")


CHECKS = (group("codings", "content codings of files", cases, level=10),)
