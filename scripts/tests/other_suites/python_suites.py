"""The messages in the tests of gunicorn, aiohttp and h11.

gunicorn keeps its messages in files. The tests of the other two are functions, which are run here
with a parser that only records what it is given: imports are left out, what they would name is a
`Stub`, and assertions are dropped.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import inspect
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from other_suites.message import Message, Verdict, numbered

MAX_CALLS = 1000  # of the recording parser: a loop that waits for a result would not end
FEEDING = {"feed_data", "receive_data"}
Namespace = dict[str, Any]


def gunicorn(sources: Path) -> list[Message]:
    """Each .http file has one message, and the .py file next to it what its parser returns."""
    files = sorted(sources.glob("gunicorn-*/tests/requests/*valid/*.http"))
    return [Message("gunicorn", f"{file.parent.name}/{file.stem}", _unescaped(file.read_bytes()),
                    _expected(file.with_suffix(".py"))) for file in files]


def _unescaped(text: bytes) -> bytes:
    """As gunicorn's treq.py does it: line ends of the file mean nothing."""
    data = text.replace(b"\n", b"")
    for written, meant in ((rb"\r\n", b"\r\n"), (rb"\0", b"\0"), (rb"\n", b"\n"), (rb"\t", b"\t")):
        data = data.replace(written, meant)
    return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda code: bytes([int(code[1], 16)]), data)


def _expected(file: Path) -> Verdict:
    """An invalid message has the name of an exception where a valid one has the request."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    values = {target.id: node.value for node in tree.body if isinstance(node, ast.Assign)
              for target in node.targets if isinstance(target, ast.Name)}
    request = values["request"]
    if not isinstance(request, ast.Name):
        return "accepted"
    return "incomplete" if request.id == "NoMoreData" else "refused"


def aiohttp(sources: Path) -> list[Message]:
    """What each test of the request parser feeds to it, all in one piece."""
    (file,) = sources.glob("aiohttp-*/tests/test_http_parser.py")
    recorder = Recorder()
    names = _module(file, {
        "HttpRequestParserC": Returning(recorder), "HttpRequestParserPy": Returning(recorder),
        "pytest": Pytest(recorder), "NO_EXTENSIONS": False})
    found = []
    for name, function in _tests(names):
        for arguments in _parameters(function):
            fixtures = {"parser": recorder, "request_cls": Returning(recorder)}
            data, refused = recorder.run(function, fixtures | arguments)
            if data:
                found.append(Message("aiohttp", name, data, "refused" if refused else "accepted"))
    return numbered(found)


def h11(sources: Path) -> list[Message]:
    """What the tests of its readers and of its connections read as a server."""
    (directory,) = sources.glob("h11-*/h11/tests")
    return numbered([*_h11_readers(directory / "test_io.py"),
                     *_h11_connections(directory / "test_connection.py")])


def _h11_readers(file: Path) -> Iterator[Message]:
    """`tr` reads a head and `t_body_reader` a body; the expected result is their third argument."""
    found: list[tuple[bytes, bool]] = []
    recorder = Recorder()

    def read_head(reader: object, data: bytes, expected: object) -> None:
        if reader == ("CLIENT", "IDLE"):
            found.append((bytes(data), recorder.refused))
            recorder.refused = False

    def read_body(reader: object, data: bytes, expected: object, do_eof: bool = False) -> None:
        if reader == "ChunkedReader":
            head = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            found.append((head + data, expected == ["LocalProtocolError"]))

    named = {name: name for name in ("CLIENT", "SERVER", "IDLE", "ChunkedReader",
                                     "LocalProtocolError")}
    names = _module(file, {**named, "READERS": Itself(), "pytest": Pytest(recorder)})
    names |= {"tr": read_head, "t_body_reader": read_body}
    for name, function in _tests(names):
        recorder.run(function, {})
        yield from (Message("h11", name, data, "refused" if refused else "accepted")
                    for data, refused in found)
        found.clear()


def _h11_connections(file: Path) -> Iterator[Message]:
    recorder = Recorder()

    def connection(role: object, *_: object, **__: object) -> object:
        return recorder if role == "SERVER" else Stub()

    names = _module(file, {"SERVER": "SERVER", "CLIENT": "CLIENT", "Connection": connection,
                           "pytest": Pytest(recorder)})
    for name, function in _tests(names):
        for arguments in _parameters(function):
            data, refused = recorder.run(function, arguments)
            if data:
                yield Message("h11", name, data, "refused" if refused else "accepted")


class Stub:
    """Stands for anything of the project: it can be called, indexed, awaited and compared."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub()

    def __call__(self, *_: object, **__: object) -> Any:
        return Stub()

    def __getitem__(self, _: object) -> Any:
        return Stub()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __await__(self) -> Generator[None, None, Any]:
        yield from ()
        return Stub()

    def __bool__(self) -> bool:
        return False

    def __instancecheck__(self, _: object) -> bool:
        return False


class Returning(Stub):
    """A class of the project whose instances are this."""

    def __init__(self, result: object) -> None:
        self.result = result

    def __call__(self, *_: object, **__: object) -> Any:
        return self.result


class Itself(Stub):
    """A table of the project, of which only the key matters."""

    def __getitem__(self, key: object) -> object:
        return key


class Recorder(Stub):
    """A parser that keeps what it is given, and whether the test expects an error."""

    def __init__(self) -> None:
        self.data, self.calls, self.refused = bytearray(), 0, False

    def run(self, function: Callable[..., Any], arguments: Namespace) -> tuple[bytes, bool]:
        """Runs a test; returns what it fed, and whether it expected an error. A test that needs
        what a stub does not have ends early.
        """
        self.data, self.calls, self.refused = bytearray(), 0, False
        given = {name: arguments.get(name, Stub()) for name in inspect.signature(function).parameters}
        with suppress(Exception, pytest.skip.Exception, pytest.xfail.Exception):
            result = function(**given)
            if inspect.iscoroutine(result):
                asyncio.run(result)
        return (b"", False) if self.calls > MAX_CALLS else (bytes(self.data), self.refused)

    def feed_data(self, data: bytes) -> Stub:
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise RuntimeError("an endless loop")
        self.data += data
        return Stub()

    receive_data = feed_data


class Marks:
    """pytest.mark, of which only the parameters matter."""

    def parametrize(self, names: str | Sequence[str], values: Iterable[Any],
                    **_: object) -> Callable[[Any], Any]:
        split = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
        rows = [_row(value, len(split)) for value in values]

        def decorate(function: Any) -> Any:
            table = [dict(zip(split, row)) for row in rows]
            function.tables = [*getattr(function, "tables", ()), table]
            return function

        return decorate

    def __getattr__(self, name: str) -> Any:
        """Marks are used as @mark and as @mark(…)."""
        return lambda *given, **_: given[0] if given and inspect.isfunction(given[0]) else _same


def _row(value: Any, count: int) -> Sequence[Any]:
    """The values of `count` parameters, which may be in a pytest.param with a name."""
    if isinstance(value, type(pytest.param())):
        return tuple(value.values)
    return value if count > 1 else (value,)


def _same(function: Any) -> Any:
    return function


class Pytest(Stub):
    """pytest, whose `raises` only notes that an error is expected."""

    mark = Marks()
    param = staticmethod(pytest.param)
    skip: Any = staticmethod(pytest.skip)
    xfail: Any = staticmethod(pytest.xfail)

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    @contextmanager
    def raises(self, *_: object, **__: object) -> Iterator[Stub]:
        self.recorder.refused = True
        yield Stub()

    def fixture(self, *given: Any, **_: object) -> Any:
        return given[0] if given else _same


class Simplified(ast.NodeTransformer):
    """Leaves out imports of what is not installed and all assertions, and assigns the result of the
    recording parser to each name of a tuple.
    """

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.Pass()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        known = (node.module or "").partition(".")[0] in sys.stdlib_module_names
        return node if known and not node.level else ast.Pass()

    def visit_Import(self, node: ast.Import) -> ast.AST:
        names = [name for name in node.names
                 if name.name.partition(".")[0] in sys.stdlib_module_names]
        return ast.Import(names) if names else ast.Pass()

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        feeds = any(isinstance(inner, ast.Attribute) and inner.attr in FEEDING
                    for inner in ast.walk(node.value))
        if isinstance(target, ast.Tuple) and feeds:
            return ast.Assign(list(target.elts), node.value)
        return node


def _module(file: Path, given: Namespace) -> Namespace:
    """The names of a module of tests, run with stubs for all that it does not define."""
    tree = Simplified().visit(ast.parse(file.read_text(encoding="utf-8")))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names: Namespace = {name: Stub() for name in used if not hasattr(builtins, name)}
    names |= {"__name__": file.stem, **given}
    exec(compile(ast.fix_missing_locations(tree), str(file), "exec", dont_inherit=True), names)
    return names


def _tests(names: Namespace) -> list[tuple[str, Callable[..., Any]]]:
    return [(name, value) for name, value in names.items()
            if name.startswith("test_") and inspect.isfunction(value)]


def _parameters(function: Any) -> Iterator[Namespace]:
    """The arguments of each run of a test."""
    for rows in product(*getattr(function, "tables", ())):
        yield {name: value for row in rows for name, value in row.items()}
