"""C++ text of expressions: how strongly operators bind, literals, and the names of each backend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from diopigen.ir.kernels import CONSTANTS
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary, to_text, walk

# How strongly the C++ operators bind, weak to strong.
TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, ORDER, SUM, PRODUCT, PREFIX, ATOM = range(12)

_STRENGTH = {
    "or": OR, "and": AND, "|": BIT_OR, "^": BIT_XOR, "&": BIT_AND, "==": EQUAL, "!=": EQUAL,
    "<": ORDER, "<=": ORDER, ">": ORDER, ">=": ORDER, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT,
}  # fmt: skip
SPELLING = {"or": "||", "and": "&&", "not": "!"}
LOGICAL = frozenset({"and", "or"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
# GCC and clang ask for parentheses where these meet.
_CONFUSABLE = {(OR, AND), (BIT_OR, BIT_XOR), (BIT_OR, BIT_AND), (BIT_XOR, BIT_AND)}

NAMED_OPERATORS = {"//": "floor_divide", "%": "remainder", "**": "power"}
"""Operators of the expression language that C++ has no operator for."""
OF_ELEMENTS = {"and": "both", "or": "either"}
"""Functions for operators of elements. The right side of `&&` is a branch: it is not computed for several elements at
once."""


@dataclass(frozen=True, slots=True)
class Backend:
    """Spelling of the functions of kernel expressions in a backend; a missing name is used unchanged."""

    names: Mapping[str, str]
    subscript: str = "[i]"
    """Suffix that makes an element of an operand's name: loops over arrays have a subscript, functions of one element
    none."""
    pair: str = "std::complex<T>"
    """The type of a complex number of two T."""
    coordinates: tuple[str, str] = ("block.linear()", "block.coordinate({})")
    """The position of an element in row-major order, and its coordinate in a dimension."""

    def name(self, function: str) -> str:
        """The C++ function for a function or operator of the expression language."""
        return self.names.get(function, NAMED_OPERATORS.get(function, function))


CPU = Backend(
    {"abs": "absolute", "min": "minimum", "max": "maximum", "trunc_div": "trunc_divide", "floor_div": "floor_divide",
     "pow": "power", "to_bool": "is_true"}
)  # fmt: skip
CUDA = Backend(CPU.names, "", "numeric::complex<T>", ("item.linear()", "item.coordinate({})"))


class UnsupportedExpressionError(Exception):
    """The expression needs something that a printed kernel cannot do; the text says what."""


@dataclass(frozen=True, slots=True)
class Printed:
    """C++ text with what it is.

    `kind` is `element` (T), `real` (the real part's type), `pair` (complex of T), `bool` (bool), `integer` (int64_t),
    `float` (double, only on the host), `text` or `enum`.
    """

    text: str
    kind: str
    strength: int = ATOM


def is_literal(expression: Expression) -> bool:
    """Returns whether the expression has a value that is known now: numbers and constants only."""
    return all(map(_is_known, walk(expression)))


def _is_known(part: Expression) -> bool:
    if isinstance(part, Name):
        return part.name in CONSTANTS
    return part.function == "sqrt" if isinstance(part, Call) else not isinstance(part, Text)


def literal_value(expression: Expression) -> float | int | bool:
    """The value of a literal expression."""
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, Name):
        return CONSTANTS[expression.name]
    if isinstance(expression, Unary) and expression.operator == "-":
        return -literal_value(expression.operand)
    if isinstance(expression, Call) and expression.function == "sqrt":
        return math.sqrt(literal_value(expression.arguments[0]))
    if isinstance(expression, Binary):
        left, right = literal_value(expression.left), literal_value(expression.right)
        operations = {"+": left + right, "-": left - right, "*": left * right}
        if expression.operator in operations:
            return operations[expression.operator]
        if expression.operator == "/":
            return left / right
    raise UnsupportedExpressionError(f"the value of '{to_text(expression)}'")


def literal_text(value: float | int | bool) -> str:
    """A number as a C++ literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        limit = "quiet_NaN" if math.isnan(value) else "infinity"
        return f"{'-' if value < 0 else ''}std::numeric_limits<double>::{limit}()"
    return repr(value)


def wrap(printed: Printed, weakest: int) -> str:
    """The text, in parentheses where it binds more weakly than `weakest`."""
    return f"({printed.text})" if printed.strength < weakest else printed.text


def infix(operator: str, left: Printed, right: Printed, kind: str) -> Printed:
    """`left operator right` with the parentheses that C++ needs and those that compilers ask for."""
    strength = _STRENGTH[operator]
    texts = []
    for side, weakest in ((left, strength), (right, strength + 1)):
        confusing = (strength, side.strength) in _CONFUSABLE
        texts.append(f"({side.text})" if confusing else wrap(side, weakest))
    return Printed(f"{texts[0]} {SPELLING.get(operator, operator)} {texts[1]}", kind, strength)
