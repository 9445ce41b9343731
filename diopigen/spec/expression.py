"""The expression language of the spec: kernels, dtype rules, shape rules and dimensions share one grammar.

Expressions are parsed to immutable nodes that know their place in the text, and printed again by `to_text`
(`parse(to_text(e)) == e`). What an operand or a function means is decided by the room that uses it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Union


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number; `value` is an int where it was written without a point or exponent."""

    value: int | float
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted literal."""

    value: str
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A word: an operand, a dimension, a constant."""

    name: str
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """A prefix operator: `-`, `~` or `not`."""

    operator: str
    operand: Expression
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """An infix operator."""

    operator: str
    left: Expression
    right: Expression
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to arguments."""

    function: str
    arguments: tuple[Expression, ...]
    offset: int = field(default=0, compare=False)


Expression = Union[Number, Text, Name, Unary, Binary, Call]


class ExpressionError(Exception):
    """The text is not an expression. `offset` counts characters from the start of the text."""

    def __init__(self, message: str, offset: int, length: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.length = length


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<symbol>\*\*|//|==|!=|<=|>=|[-+*/%()<>,|^&~]))"
)

# Binding strength of the infix operators, weak to strong; `**` alone groups to the right.
_STRENGTH = {
    "or": 1, "and": 2,
    "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
    "|": 5, "^": 6, "&": 7,
    "+": 8, "-": 8,
    "*": 9, "/": 9, "//": 9, "%": 9,
    "**": 11,
}  # fmt: skip
_NOT, _PREFIX, _ATOM = 3, 10, 12
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_MAX_DEPTH = 64
# Readers of expressions recurse: a chain of additions nests as deeply as parentheses do, without looking so.
_MAX_HEIGHT = 100


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:]
            if not rest.strip():
                break
            offset = position + len(rest) - len(rest.lstrip())
            raise ExpressionError(f"unexpected character '{text[offset]}'", offset)
        kind = match.lastgroup or ""
        value, start = match.group(kind), match.start(kind)
        if kind == "name" and value in ("and", "or", "not"):
            kind = "symbol"
        yield _Token(kind, value, start)
        position = match.end()
    yield _Token("end", "end of the expression", len(text))


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.position = 0
        self.depth = 0

    @property
    def current(self) -> _Token:
        return self.tokens[self.position]

    def advance(self) -> _Token:
        token = self.current
        self.position += 1
        return token

    def expect(self, symbol: str) -> None:
        if self.current.text != symbol or self.current.kind != "symbol":
            raise self.unexpected(f"expected '{symbol}'")
        self.advance()

    def unexpected(self, expected: str) -> ExpressionError:
        token = self.current
        shown = token.text if token.kind == "end" else f"'{token.text}'"
        return ExpressionError(
            f"{expected}, found {shown}", token.offset, max(1, len(token.text) if token.kind != "end" else 1)
        )

    def parse(self) -> Expression:
        expression = self.binary(0)
        if self.current.kind != "end":
            raise self.unexpected("expected an operator")
        if len(self.tokens) > _MAX_HEIGHT and _is_higher(expression, _MAX_HEIGHT):
            message = f"nested too deeply (at most {_MAX_HEIGHT} operators inside each other)"
            raise ExpressionError(message, expression.offset)
        return expression

    def binary(self, weakest: int) -> Expression:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ExpressionError("nested too deeply", self.current.offset)
        left = self.prefix()
        while self.current.kind == "symbol":
            operator = self.current.text
            strength = _STRENGTH.get(operator, 0)
            if not strength or strength <= weakest:
                break
            token = self.advance()
            right = self.binary(strength - 1 if operator == "**" else strength)
            left = self.chain(Binary(operator, left, right, token.offset))
        self.depth -= 1
        return left

    def chain(self, first: Binary) -> Expression:
        """A comparison with those that follow it: `a <= b < c` is `a <= b and b < c`."""
        joined: Expression = first
        left = first.right
        while first.operator in _COMPARISONS and self.current.kind == "symbol" and self.current.text in _COMPARISONS:
            token = self.advance()
            right = self.binary(_STRENGTH[token.text])
            joined = Binary("and", joined, Binary(token.text, left, right, token.offset), token.offset)
            left = right
        return joined

    def prefix(self) -> Expression:
        token = self.advance()
        if token.kind == "number":
            if float(token.text) == math.inf:
                raise ExpressionError("number out of range", token.offset, len(token.text))
            is_integer = token.text.isdigit()
            return Number(int(token.text) if is_integer else float(token.text), token.offset)
        if token.kind == "text":
            return Text(token.text[1:-1], token.offset)
        if token.kind == "name":
            if self.current.text == "(" and self.current.kind == "symbol":
                return Call(token.text, self.arguments(), token.offset)
            return Name(token.text, token.offset)
        if token.text in ("-", "~"):
            return Unary(token.text, self.binary(_PREFIX), token.offset)
        if token.text == "not":
            return Unary("not", self.binary(_NOT), token.offset)
        if token.text == "(":
            inner = self.binary(0)
            self.expect(")")
            return inner
        self.position -= 1
        raise self.unexpected("expected an operand")

    def arguments(self) -> tuple[Expression, ...]:
        self.expect("(")
        found: list[Expression] = []
        if self.current.text != ")":
            found.append(self.binary(0))
            while self.current.text == ",":
                self.advance()
                found.append(self.binary(0))
        self.expect(")")
        return tuple(found)


def children(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Unary):
        return (expression.operand,)
    if isinstance(expression, Binary):
        return (expression.left, expression.right)
    return expression.arguments if isinstance(expression, Call) else ()


def _is_higher(expression: Expression, limit: int) -> bool:
    """Returns whether an expression nests more than `limit` levels deep, found without recursion."""
    level: list[Expression] = [expression]
    for _ in range(limit):
        level = [child for parent in level for child in children(parent)]
    return bool(level)


@lru_cache(maxsize=1 << 14)
def parse(text: str) -> Expression:
    """The expression that `text` holds. Raises `ExpressionError`."""
    return _Parser(text).parse()


def _strength(expression: Expression) -> int:
    if isinstance(expression, Binary):
        return _STRENGTH[expression.operator]
    if isinstance(expression, Unary):
        return _NOT if expression.operator == "not" else _PREFIX
    return _ATOM


def to_text(expression: Expression) -> str:
    """The expression in its canonical spelling, with parentheses only where needed and around prefix operators."""

    def wrapped(inner: Expression, weakest: int) -> str:
        text = to_text(inner)
        return f"({text})" if _strength(inner) < weakest else text

    if isinstance(expression, Number):
        return repr(expression.value)
    if isinstance(expression, Text):
        quote = '"' if "'" in expression.value else "'"
        return f"{quote}{expression.value}{quote}"
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Call):
        return f"{expression.function}({', '.join(map(to_text, expression.arguments))})"
    if isinstance(expression, Unary):
        space = " " if expression.operator == "not" else ""
        return f"{expression.operator}{space}{wrapped(expression.operand, _strength(expression))}"
    strength = _STRENGTH[expression.operator]
    rightwards = expression.operator == "**"
    # `not` and comparisons need parentheses on either side of an operator that binds as strongly.
    level = strength + 1 if expression.operator in _COMPARISONS or rightwards else strength
    left = wrapped(expression.left, level)
    right = wrapped(expression.right, strength if rightwards else strength + 1)
    return f"{left} {expression.operator} {right}"


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, in the order of the text."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def head_length(expression: Expression) -> int:
    """Length of the head at an offset of an expression: a name, a function or an operator."""
    if isinstance(expression, Name):
        return len(expression.name)
    if isinstance(expression, Call):
        return len(expression.function)
    return len(expression.operator) if isinstance(expression, (Unary, Binary)) else 1
