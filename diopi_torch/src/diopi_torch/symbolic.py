"""Numbers that follow from the sizes of a graph's inputs.

A `Symbolic` has an expression, and the value of it for the sizes at hand. It computes as a number does. A comparison
is decided by the bounds of its operands; where these leave it open, by the value, and it becomes a condition: the
plan is for sizes with the same outcome. Where only a number will do (`int`, `range`), the condition is that it has its
value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Union

Number = Union["Symbolic", bool, int, float]
Terms = dict[tuple[int, ...], int]
Bounds = tuple[float, float]

_ANY: Bounds = (-math.inf, math.inf)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
}
_OPPOSITE = {"equal": "not_equal", "not_equal": "equal"}
_BOOLEAN = (*_COMPARISONS, "both", "either", "negation")
_REAL = ("divide", "square_root", "to_real")
_INTEGER = ("floor_divide", "remainder", "floor", "ceiling", "truncate", "round")
_EVALUATED: dict[str, Callable[..., Any]] = {
    **_COMPARISONS,
    "add": lambda *each: sum(each),
    "multiply": lambda *each: reduce(operator.mul, each),
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "divide": operator.truediv,
    "power": operator.pow,
    "square_root": math.sqrt,
    "minimum": min,
    "maximum": max,
    "both": lambda *each: all(each),
    "either": lambda *each: any(each),
    "negation": operator.not_,
    "select": lambda condition, one, other: one if condition else other,
    "to_real": float,
    "floor": math.floor,
    "ceiling": math.ceil,
    "truncate": math.trunc,
    "round": round,
}


class Untranslated(Exception):
    """An expression that plans do not have; the text names it."""


class Table:
    """The expressions of a plan, each of them once, and its conditions. Operands come first."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.values: list[Any] = []
        self.kinds: list[str] = []
        self.bounds: list[Bounds] = []
        self.conditions: dict[int, None] = {}
        self._known: dict[tuple[Any, ...], int] = {}

    def symbol(self, number: int, value: int, least: float, most: float) -> Symbolic:
        """The symbol of a number, and what it may be."""
        return self._atom(self._node(("symbol", number), value, "integer", (least, most)))

    def literal(self, value: Any) -> int:
        """The expression of a number."""
        kind = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "real"
        return self._node(("literal", value), value, kind, (value, value))

    def apply(self, operation: str, *operands: Number) -> Any:
        """An operation of any operands: a number where all are."""
        if not any(isinstance(each, Symbolic) for each in operands):
            return _EVALUATED[operation](*operands)
        return self._atom(self.operation(operation, *(self.index(each) for each in operands)))

    def operation(self, operation: str, *operands: int) -> int:
        """The expression of an operation."""
        values = [self.values[k] for k in operands]
        kinds = [self.kinds[k] for k in operands]
        kind = "real" if "real" in kinds else "integer"
        if operation in _BOOLEAN:
            kind = "boolean"
        elif operation in _REAL or (operation == "power" and values[1] < 0):
            kind = "real"
        elif operation in _INTEGER:
            kind = "integer"
        bounds = _bounds(operation, [self.bounds[k] for k in operands]) if kind == "integer" else _ANY
        return self._node((operation, *operands), _EVALUATED[operation](*values), kind, bounds)

    def index(self, number: Number) -> int:
        """The expression of a number of any kind."""
        if not isinstance(number, Symbolic):
            return self.literal(number)
        terms = [self._term(atoms, factor) for atoms, factor in sorted(number.terms.items())]
        return terms[0] if len(terms) == 1 else self.operation("add", *terms)

    def require(self, operation: str, one: Number, other: Number, holds: bool) -> None:
        """Adds the condition that a comparison has this outcome."""
        if not holds and operation.startswith("less"):
            operation, one, other = "less" if operation == "less_equal" else "less_equal", other, one
        elif not holds:
            operation = _OPPOSITE[operation]
        self.conditions[self.operation(operation, self.index(one), self.index(other))] = None

    def _term(self, atoms: tuple[int, ...], factor: int) -> int:
        if not atoms:
            return self.literal(factor)
        factors = [*atoms, *([self.literal(factor)] if factor != 1 else [])]
        return factors[0] if len(factors) == 1 else self.operation("multiply", *factors)

    def _node(self, node: tuple[Any, ...], value: Any, kind: str, bounds: Bounds) -> int:
        key = (kind, *node)  # 1, 1.0 and True are one key otherwise
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
            self.values.append(value)
            self.kinds.append(kind)
            self.bounds.append(bounds)
        return self._known[key]

    def _atom(self, index: int) -> Symbolic:
        return Symbolic(self, {(index,): 1}, self.kinds[index])


def _product_of_bounds(one: Bounds, other: Bounds) -> Bounds:
    found = [0 if 0 in (a, b) else a * b for a in one for b in other]
    return min(found), max(found)


def _bounds(operation: str, operands: list[Bounds]) -> Bounds:
    lows, highs = [low for low, _ in operands], [high for _, high in operands]
    if operation == "minimum":
        return min(lows), min(highs)
    if operation == "maximum":
        return max(lows), max(highs)
    if operation == "add":
        return sum(lows), sum(highs)
    if operation == "multiply":
        return reduce(_product_of_bounds, operands)
    if operation == "floor_divide" and lows[0] >= 0 and lows[1] >= 1:
        least = 0 if highs[1] == math.inf or lows[0] == math.inf else lows[0] // highs[1]
        return least, math.inf if highs[0] == math.inf else highs[0] // lows[1]
    if operation == "remainder" and lows[1] >= 1:
        return 0, highs[1] - 1
    return _ANY


class Symbolic:
    """A number: an integer as a sum of products of expressions, anything else as one expression."""

    __slots__ = ("kind", "table", "terms")

    def __init__(self, table: Table, terms: Terms, kind: str) -> None:
        self.table = table
        self.terms = terms
        self.kind = kind

    @property
    def value(self) -> Any:
        """For the sizes at hand."""
        values = self.table.values
        if self.kind != "integer":
            ((atom,),) = self.terms
            return values[atom]
        return sum(factor * math.prod(values[k] for k in atoms) for atoms, factor in self.terms.items())

    @property
    def bounds(self) -> Bounds:
        """The least and the largest value that it may have, as far as is known."""
        least, most = 0.0, 0.0
        for atoms, factor in self.terms.items():
            start: Bounds = (factor, factor)
            low, high = reduce(_product_of_bounds, (self.table.bounds[k] for k in atoms), start)
            least, most = least + low, most + high
        return least, most

    # Arithmetic.

    def __add__(self, other: Number) -> Any:
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Number) -> Any:
        return self._sum(other, -1)

    def __rsub__(self, other: Number) -> Any:
        return -self + other

    def __neg__(self) -> Any:
        return self * -1

    def __mul__(self, other: Number) -> Any:
        theirs = self._terms_of(other)
        if theirs is None:
            return self.table.apply("multiply", self, other)
        terms: Terms = {}
        for atoms, factor in self.terms.items():
            for others, by in theirs.items():
                both = tuple(sorted((*atoms, *others)))
                terms[both] = terms.get(both, 0) + factor * by
        return self._made(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Number) -> Any:
        return self._divided(other)[0]

    def __mod__(self, other: Number) -> Any:
        return self._divided(other)[1]

    def __divmod__(self, other: Number) -> Any:
        return self._divided(other)

    def __rfloordiv__(self, other: Number) -> Any:
        return self.table.apply("floor_divide", other, self)

    def __rmod__(self, other: Number) -> Any:
        return self.table.apply("remainder", other, self)

    def __truediv__(self, other: Number) -> Any:
        return self.table.apply("divide", self, other)

    def __rtruediv__(self, other: Number) -> Any:
        return self.table.apply("divide", other, self)

    def __pow__(self, other: Number) -> Any:
        if self.kind == "integer" and isinstance(other, int) and 0 <= other <= 4:
            return reduce(operator.mul, [self] * other, 1)
        if isinstance(other, Symbolic):
            raise Untranslated("a power whose exponent follows from sizes")
        return self.table.apply("power", self, other)

    def __rpow__(self, other: Number) -> Any:
        raise Untranslated("a power whose exponent follows from sizes")

    def _sum(self, other: Number, by: int) -> Any:
        theirs = self._terms_of(other)
        if theirs is None:
            return self.table.apply("add", self, other * by)
        terms = dict(self.terms)
        for atoms, factor in theirs.items():
            terms[atoms] = terms.get(atoms, 0) + by * factor
        return self._made(terms)

    def _terms_of(self, other: Number) -> Terms | None:
        """Those of an integer; none unless both are."""
        if self.kind != "integer":
            return None
        if isinstance(other, Symbolic):
            return other.terms if other.kind == "integer" else None
        return {(): int(other)} if isinstance(other, int) else None

    def _made(self, terms: Terms) -> Any:
        left = {atoms: factor for atoms, factor in terms.items() if factor}
        if not left or set(left) == {()}:
            return left.get((), 0)
        return Symbolic(self.table, left, "integer")

    def _divided(self, other: Number) -> tuple[Any, Any]:
        """Quotient and remainder. What the divisor divides for all sizes comes out of both."""
        theirs = self._terms_of(other)
        if theirs is None:
            raise Untranslated("a quotient of real numbers")
        whole: Terms = {}
        rest = dict(self.terms)
        is_nonzero = other != 0 if not isinstance(other, Symbolic) else other.bounds[0] > 0
        if len(theirs) == 1 and is_nonzero:
            ((divisor, by),) = theirs.items()
            for atoms, factor in self.terms.items():
                left = _without(atoms, divisor)
                if left is not None and factor % by == 0:
                    whole[left] = whole.get(left, 0) + factor // by
                    del rest[atoms]
        outside, inside = self._made(whole), self._made(rest)
        return (
            outside + self.table.apply("floor_divide", inside, other) if rest else outside,
            self.table.apply("remainder", inside, other) if rest else 0,
        )

    # Comparisons.

    def __eq__(self, other: object) -> bool:
        return self._compared("equal", other)

    def __ne__(self, other: object) -> bool:
        return not self._compared("equal", other)

    def __lt__(self, other: Number) -> bool:
        return self._compared("less", other)

    def __le__(self, other: Number) -> bool:
        return self._compared("less_equal", other)

    def __gt__(self, other: Number) -> bool:
        return not self._compared("less_equal", other)

    def __ge__(self, other: Number) -> bool:
        return not self._compared("less", other)

    def _compared(self, operation: str, other: Any) -> bool:
        if not isinstance(other, (Symbolic, bool, int, float)):
            if operation == "equal":
                return False
            raise TypeError(f"a size is compared with {other!r}")
        holds = _COMPARISONS[operation]
        if self._terms_of(other) is None:
            outcome = holds(self.value, other.value if isinstance(other, Symbolic) else other)
            self.table.require(operation, self, other, outcome)
            return outcome
        difference = self - other
        if not isinstance(difference, Symbolic):
            return holds(difference, 0)
        least, most = difference.bounds
        decided = {"equal": least > 0 or most < 0, "less": most < 0 or least >= 0, "less_equal": most <= 0 or least > 0}
        outcome = holds(difference.value, 0)
        if not decided[operation]:
            self.table.require(operation, difference, 0, outcome)
        return outcome

    def __hash__(self) -> int:
        return hash((self.kind, frozenset(self.terms.items())))

    def __bool__(self) -> bool:
        return not self._compared("equal", 0)

    def fixed(self) -> Any:
        """Its value; the plan is for no other."""
        value = self.value
        self.table.require("equal", self, value, True)
        return value

    def __int__(self) -> int:
        return int(self.fixed())

    def __index__(self) -> int:
        if self.kind == "real":
            raise TypeError("a real number is no index")
        return int(self.fixed())

    def __float__(self) -> float:
        return float(self.fixed())

    def __repr__(self) -> str:
        return f"Symbolic({self.value})"


def _without(atoms: tuple[int, ...], divisor: tuple[int, ...]) -> tuple[int, ...] | None:
    left = list(atoms)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def maximum(one: Number, other: Number) -> Any:
    """Without a condition."""
    return _extreme("maximum", one, other)


def minimum(one: Number, other: Number) -> Any:
    """Without a condition."""
    return _extreme("minimum", one, other)


def _extreme(operation: str, one: Number, other: Number) -> Any:
    table = next((each.table for each in (one, other) if isinstance(each, Symbolic)), None)
    if table is None:
        return _EVALUATED[operation](one, other)
    (low, high), (least, most) = (each.bounds if isinstance(each, Symbolic) else (each, each) for each in (one, other))
    larger = operation == "maximum"
    if all(not isinstance(each, Symbolic) or each.kind == "integer" for each in (one, other)):
        if low >= most:
            return one if larger else other
        if high <= least:
            return other if larger else one
    return table.apply(operation, one, other)


def truncated(number: Number) -> Any:
    """Towards zero."""
    return number.table.apply("truncate", number) if isinstance(number, Symbolic) else int(number)


def as_real(number: Number) -> Any:
    """The same number as a real one."""
    if not isinstance(number, Symbolic):
        return float(number)
    return number if number.kind == "real" else number.table.apply("to_real", number)


class Encoder:
    """Writes numbers as a plan's document has them, and the expressions that they need."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.expressions: list[list[Any]] = []
        self._written: dict[int, int] = {}

    def encoded(self, value: Any) -> Any:
        """A value with `{"expression": k}` in the place of numbers that follow from sizes."""
        if isinstance(value, Symbolic):
            return {"expression": self._expression(self.table.index(value))}
        if isinstance(value, Mapping):
            return {key: self.encoded(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.encoded(each) for each in value]
        return value

    def conditions(self) -> list[Any]:
        """The conditions of the plan."""
        return [{"expression": self._expression(index)} for index in self.table.conditions]

    def _expression(self, index: int) -> int:
        if index not in self._written:
            operation, *operands = self.table.nodes[index]
            if operation not in ("symbol", "literal"):
                operands = [self._expression(each) for each in operands]
            self.expressions.append([operation, *operands])
            self._written[index] = len(self.expressions) - 1
        return self._written[index]
