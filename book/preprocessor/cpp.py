"""Find functions, types and constants in C++ sources by their name."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from preprocessor.errors import DirectiveError, NotFound

PARSER = Parser(Language(tree_sitter_cpp.language()))
TYPES = {"class_specifier", "struct_specifier", "union_specifier", "enum_specifier"}
NAMED = {"alias_declaration", "concept_definition", "type_definition"}
DECLARATIONS = {"declaration", "field_declaration"}
# These enclose a definition, and are included with it.
WRAPPERS = {"template_declaration", "friend_declaration", *DECLARATIONS}


@dataclass(frozen=True)
class Symbol:
    """A named piece of a file. `name` is qualified; `parameters` is None unless a function."""

    name: str
    parameters: str | None
    defined: bool
    first_line: int
    end_line: int


def cut(path: Path, name: str) -> str:
    """Returns the source of `name` in the file, unindented, with the comment directly above it."""
    symbol = choose(path, name)
    lines = path.read_text(encoding="utf-8").splitlines()
    return textwrap.dedent("\n".join(lines[symbol.first_line:symbol.end_line])) + "\n"


def without(code: str, text: str) -> str:
    """Returns the code without each line that contains `text`, and without the block that such a
    line opens. A comment marks every gap, except one before the first line.

    Raises NotFound if no line contains it.
    """
    kept: list[str] = []
    end = ""  # the line that ends the block being left out
    for line in code.splitlines():
        indent = line[:len(line) - len(line.lstrip())]
        if end:
            end = "" if line == end else end
        elif text not in line:
            kept.append(line)
        else:
            end = f"{indent}}}" if line.endswith("{") else ""
            gap = f"{indent}// …"
            if kept and kept[-1] != gap:
                kept.append(gap)
    if text not in code:
        raise NotFound(f"no line contains {text}")
    return "\n".join(kept) + "\n"


def choose(path: Path, name: str) -> Symbol:
    """Returns the only matching symbol; a definition is preferred to a declaration."""
    name, parameters = _split(name)
    fitting = [symbol for symbol in symbols(path) if _fits(symbol, name, parameters)]
    fitting = [symbol for symbol in fitting if symbol.defined] or fitting
    # The name of a class also names its constructor; the class is meant.
    fitting = [s for s in fitting if not any(s.name.startswith(f"{t.name}::") for t in fitting)]
    if not fitting:
        close = sorted({s.name for s in symbols(path) if s.name.endswith(name.split("::")[-1])})
        hint = f"; it has {', '.join(close)}" if close else ""
        raise NotFound(f"{path.name} has no {name}{parameters or ''}{hint}")
    if len(fitting) > 1:
        choices = ", ".join(f"{s.name}{s.parameters or ''} (line {s.first_line + 1})"
                            for s in fitting)
        raise DirectiveError(f"{name} is ambiguous in {path.name}: {choices}")
    return fitting[0]


def _split(name: str) -> tuple[str, str | None]:
    """Splits `f(int)` into the name `f` and the parameters `(int)`."""
    match = re.fullmatch(r"(.*?operator\(\)|[^(]+)(\(.*\))?", name.strip())
    if match is None:
        raise DirectiveError(f"not a name: {name}")
    return match[1].strip(), match[2]


def _fits(symbol: Symbol, name: str, parameters: str | None) -> bool:
    if symbol.name != name and not symbol.name.endswith("::" + name):
        return False
    return parameters is None or _squeezed(parameters) == _squeezed(symbol.parameters or "")


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@cache
def symbols(path: Path) -> tuple[Symbol, ...]:
    """Returns every function, type, alias and constant of the file, in order."""
    return tuple(_walk(PARSER.parse(path.read_bytes()).root_node, ""))


def _walk(node: Node, scope: str) -> Iterator[Symbol]:
    for child in node.named_children:
        if child.type == "function_definition":
            yield from _function(child, scope, defined=True)
        elif child.type in TYPES:
            yield from _type(child, scope)
        elif child.type in NAMED:
            yield from _plain(child, child.child_by_field_name("name"), scope)
        elif child.type in DECLARATIONS:
            yield from _declared(child, scope)
        elif child.type == "namespace_definition":
            yield from _walk(child, _join(scope, _text(child.child_by_field_name("name"))))
        elif child.type != "compound_statement":
            yield from _walk(child, scope)


def _function(node: Node, scope: str, defined: bool) -> Iterator[Symbol]:
    declarator = _find(node.child_by_field_name("declarator"), {"function_declarator"})
    if declarator is None:
        return
    name = _join(scope, _text(declarator.child_by_field_name("declarator")))
    parameters = _text(declarator.child_by_field_name("parameters"))
    yield Symbol(name, parameters, defined, *_lines(node))


def _type(node: Node, scope: str) -> Iterator[Symbol]:
    body = node.child_by_field_name("body")
    if body is None:
        return
    name = _join(scope, _text(node.child_by_field_name("name")))
    yield from _plain(node, node.child_by_field_name("name"), scope)
    yield from _walk(body, name)


def _declared(node: Node, scope: str) -> Iterator[Symbol]:
    """Yields what a declaration declares: a type with a body, functions, or variables."""
    yield from _walk(node, scope)
    for declarator in node.children_by_field_name("declarator"):
        if _find(declarator, {"function_declarator"}) is not None:
            yield from _function(node, scope, defined=False)
        else:
            yield from _plain(node, _find(declarator, {"identifier", "field_identifier"}), scope)


def _plain(node: Node, name: Node | None, scope: str) -> Iterator[Symbol]:
    if name is not None:
        yield Symbol(_join(scope, _text(name)), None, True, *_lines(node))


def _find(node: Node | None, kinds: set[str]) -> Node | None:
    """Returns the outermost node of one of the kinds, along the chain of declarators."""
    while node is not None and node.type not in kinds:
        inner = node.child_by_field_name("declarator")
        node = inner or (node.named_children[-1] if node.type == "reference_declarator" else None)
    return node


def _lines(node: Node) -> tuple[int, int]:
    """Returns the first line and the one after the last, with wrappers and the comment above."""
    while node.parent is not None and node.parent.type in WRAPPERS:
        node = node.parent
    first = node.start_point.row
    above = node.prev_named_sibling
    while above is not None and above.type == "comment" and above.end_point.row == first - 1:
        before = above.prev_named_sibling
        if before is not None and before.end_point.row == above.start_point.row:
            break  # a comment at the end of another line
        first, above = above.start_point.row, before
    return first, node.end_point.row + 1


def _join(scope: str, name: str) -> str:
    return f"{scope}::{name}" if scope and name else scope or name


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""
