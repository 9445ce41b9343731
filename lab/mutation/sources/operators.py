"""The operators of mutation: what is changed in an expression or statement, derived from a libclang cursor.

Each returns edits: offsets, the new text, the kind of the fault. Whatever does not read as expected, as what comes out
of a macro, gives none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Cursor = Any


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the bytes from `start` to `end`."""

    start: int
    end: int
    replacement: str
    kind: str
    statement: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file."""

    data: bytes

    def text(self, start: int, end: int) -> str:
        """The text between two offsets."""
        return self.data[start:end].decode(errors="replace")

    def of(self, cursor: Cursor) -> str:
        """The text of a cursor."""
        return self.text(*span(cursor))


def span(cursor: Cursor) -> tuple[int, int]:
    """The offsets of a cursor."""
    return int(cursor.extent.start.offset), int(cursor.extent.end.offset)


def kind_of(cursor: Cursor) -> str:
    """The name of a cursor's kind, `BINARY_OPERATOR` say."""
    return str(cursor.kind.name)


_RELATIONAL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"}
_DROPPED = {"+": (0, 1), "-": (0,), "*": (0, 1), "/": (0,), "%": (0,), "|": (0,), "^": (0,)}
_NOT_COMMUTATIVE = frozenset({"-", "/", "%"})
_LOGICAL = frozenset({"&&", "||"})
_NAMES = {
    "floor": "ceil", "ceil": "floor", "round": "trunc", "trunc": "floor", "nearbyint": "round", "rint": "round",
    "lround": "lrint", "lrint": "lround", "min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin",
    "isnan": "isinf", "isinf": "isnan", "all_of": "any_of", "any_of": "all_of", "expm1": "exp", "log1p": "log",
    "lower_bound": "upper_bound", "upper_bound": "lower_bound", "stable_sort": "sort",
}  # fmt: skip
_SYMMETRIC = frozenset({"min", "max", "fmin", "fmax", "swap", "hypot", "equal", "complex"})
_ROUNDING = frozenset({"floor", "ceil", "round", "trunc", "nearbyint", "rint", "lround", "lrint"})
_CALLEE = re.compile(r"^((?:[\w]+::)*)(\w+)\s*\(")
_INTEGER = re.compile(r"^(\d+)([uUlL]*)$")
_FLOAT = re.compile(r"^(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?[fFlL]?$")
_COMPOUND = re.compile(r"^(\+|-|\*|/|%|&|\||\^|<<|>>)=$")


def operands(cursor: Cursor, source: Source) -> tuple[Cursor, str, Cursor] | None:
    """Both operands of a binary operator, built in or overloaded, and its sign; None for anything else."""
    children = list(cursor.get_children())
    if len(children) not in (2, 3) or (len(children) == 2 and kind_of(cursor) == "CALL_EXPR"):
        return None
    left, right = children[0], children[-1]
    if (span(left)[0], span(right)[1]) != span(cursor) or span(left)[1] > span(right)[0]:
        return None
    sign = source.text(span(left)[1], span(right)[0]).strip()
    return (left, sign, right) if re.fullmatch(r"[-+*/%&|^<>=!]{1,3}", sign) else None


def binary(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """Relations at their limit, other signs, terms left out, operands exchanged."""
    found = operands(cursor, source)
    if found is None or _is_text(cursor):
        return
    left, sign, right = found
    start, end = span(cursor)
    texts = (source.of(left), source.of(right))
    if sign in _RELATIONAL:
        yield Edit(start, end, f"{texts[0]} {_RELATIONAL[sign]} {texts[1]}", "relation")
    if sign in _ARITHMETIC:
        yield Edit(start, end, f"({texts[0]}) {_ARITHMETIC[sign]} ({texts[1]})", "operator")
    for operand in _DROPPED.get(sign, ()):
        yield Edit(start, end, texts[operand], "dropped term")
    if sign in _NOT_COMMUTATIVE and texts[0].split() != texts[1].split():
        yield Edit(start, end, f"({texts[1]}) {sign} ({texts[0]})", "swapped operands")
    if sign in _LOGICAL:
        for operand in (0, 1):
            yield Edit(start, end, f"static_cast<bool>({texts[operand]})", "dropped condition")


def _is_text(cursor: Cursor) -> bool:
    return "string" in cursor.type.spelling


def constant(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """A whole number off by one, a fraction off by an eighth."""
    start, end = span(cursor)
    text = source.of(cursor)
    integral = _INTEGER.match(text)
    if integral is not None:
        yield Edit(start, end, f"{int(integral[1]) + 1}{integral[2]}", "constant")
        if int(integral[1]) > 0:
            yield Edit(start, end, f"{int(integral[1]) - 1}{integral[2]}", "constant")
    elif _FLOAT.match(text):
        bare = text.rstrip("fFlL")
        changed = f"{text} * 1.125" if float(bare) else "1.0"
        suffix = "f" if text[-1] in "fF" else ""
        yield Edit(start, end, f"{changed}{suffix}", "constant")


def conditional(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """A choice that always takes the same side."""
    children = list(cursor.get_children())
    if len(children) == 3:
        for operand in (1, 2):
            yield Edit(*span(cursor), source.of(children[operand]), "removed condition")


def unary(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """A sign or a negation left out."""
    children = list(cursor.get_children())
    text = source.of(cursor)
    if len(children) == 1 and text[:1] in "-!" and text[:2] != "--" and "LITERAL" not in kind_of(children[0]):
        bare = source.of(children[0])
        yield Edit(*span(cursor), f"static_cast<bool>({bare})" if text[0] == "!" else bare, "dropped sign")


def call(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """Another rounding, the other extreme, two arguments exchanged."""
    start, end = span(cursor)
    text = source.of(cursor)
    callee = _CALLEE.match(text)
    if callee is None:
        return
    prefix, name = callee[1], callee[2]
    if name in _NAMES and prefix in ("std::", "numeric::", ""):
        rest = text[callee.end(2) :]
        yield Edit(start, end, f"{prefix}{_NAMES[name]}{rest}", "rounding" if name in _ROUNDING else "other function")
    arguments = list(cursor.get_arguments())
    for first, second in itertools.pairwise(arguments):
        kinds = {first.type.get_canonical().spelling, second.type.get_canonical().spelling}
        texts = source.of(first), source.of(second)
        if len(kinds) != 1 or "dependent" in kinds.pop() or texts[0] == texts[1] or not all(texts):
            continue
        if name in _SYMMETRIC or span(first)[1] > span(second)[0] or span(second)[1] > end:
            continue
        between = source.text(span(first)[1], span(second)[0])
        swapped = source.text(start, span(first)[0]) + texts[1] + between + texts[0] + source.text(span(second)[1], end)
        yield Edit(start, end, swapped, "swapped arguments")


def narrowing(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """A conversion to double that keeps what float has."""
    start, end = span(cursor)
    text = source.of(cursor)
    if text.startswith("static_cast<double>(") and text.endswith(")"):
        inner = text[len("static_cast<double>(") : -1]
        yield Edit(start, end, f"static_cast<double>(static_cast<float>({inner}))", "narrowed")


def condition(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """An `if` that is always or never taken; `cursor` is its condition."""
    if kind_of(cursor) in ("VAR_DECL", "DECL_STMT") or not source.of(cursor):
        return
    for value in ("true", "false"):
        yield Edit(*span(cursor), value, "removed condition")


def bound(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """A loop that leaves the last element out; `cursor` is the condition of a `for`."""
    found = operands(cursor, source)
    if found is not None and found[1] == "<":
        left, _, right = found
        yield Edit(*span(cursor), f"{source.of(left)} + 1 < {source.of(right)}", "off by one")


def statement(cursor: Cursor, source: Source) -> Iterator[Edit]:
    """A statement left out, an accumulator of float instead of double; `cursor` is where a statement may."""
    kind = kind_of(cursor)
    start, end = span(cursor)
    after = re.match(rb"\s*;", source.data[end : end + 40])
    if after is None or kind not in (*_STATEMENTS, "UNEXPOSED_EXPR"):
        return
    end += after.end()
    yield Edit(start, end, ";", "dropped statement", statement=True)
    if kind == "COMPOUND_ASSIGNMENT_OPERATOR":
        children = list(cursor.get_children())
        sign = source.text(span(children[0])[1], span(children[1])[0]).strip() if len(children) == 2 else ""
        compound = _COMPOUND.match(sign)
        if compound is None:
            return
        left, right = source.of(children[0]), source.of(children[1])
        if compound[1] in _ARITHMETIC:
            yield Edit(start, end, f"{left} {_ARITHMETIC[compound[1]]}= {right};", "operator", statement=True)
        if children[0].type.get_canonical().spelling == "double":
            narrow = f"{left} = static_cast<float>({left} {compound[1]} ({right}));"
            yield Edit(start, end, narrow, "narrowed", statement=True)


_STATEMENTS = ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "CALL_EXPR", "BREAK_STMT", "CONTINUE_STMT")
