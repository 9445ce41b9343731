"""Boundaries between forms of an elementwise formula: the numbers that it compares operands with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from diopigen.ir.model import Kernel
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Unary, walk

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
EXTREMES = frozenset({"min", "max"})
ROUNDINGS = frozenset({"floor", "ceil", "trunc", "round"})
_STEPS = (-2.0, -1.5, -0.5, 0.0, 0.5, 1.0, 2.5)
"""Discontinuities of rounding: integers, and the halves between them."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A number that decides what becomes of an operand."""

    operand: str
    value: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two operands that are compared with each other."""

    one: str
    two: str


class Formula:
    """The kernel of an operator with the numbers of its scalar arguments."""

    def __init__(self, kernel: Kernel, numbers: Mapping[str, float], tensors: frozenset[str]) -> None:
        self.lets = {name: formula.expression for name, formula in kernel.lets}
        self.expressions = [*self.lets.values(), *(formula.expression for _, formula in kernel.results)]
        self.numbers, self.tensors = numbers, tensors

    def limits(self) -> tuple[list[Limit], list[Pair]]:
        """The limits of operands, and the pairs of operands that are compared, each once and in the order of the
        formula."""
        limits: dict[Limit, None] = {}
        pairs: dict[Pair, None] = {}
        for expression in (node for whole in self.expressions for node in walk(whole)):
            if isinstance(expression, Call) and expression.function in ROUNDINGS:
                limits.update({one: None for step in _STEPS for one in self.reached(expression.arguments[0], step)})
            for left, right in _compared(expression):
                for one, two in ((left, right), (right, left)):
                    value = self.value(two)
                    if value is not None:
                        limits.update(dict.fromkeys(self.reached(one, value)))
                if isinstance(left, Name) and isinstance(right, Name) and {left.name, right.name} <= self.tensors:
                    pairs[Pair(left.name, right.name)] = None
        return list(limits), list(pairs)

    def value(self, expression: Expression) -> float | None:
        """The number that an expression without tensors stands for, or None."""
        if isinstance(expression, Number):
            return float(expression.value)
        if isinstance(expression, Name):
            if expression.name in self.lets:
                return self.value(self.lets[expression.name])
            return math.pi if expression.name == "pi" else self.numbers.get(expression.name)
        if isinstance(expression, Unary) and expression.operator == "-":
            inner = self.value(expression.operand)
            return None if inner is None else -inner
        if isinstance(expression, Binary):
            left, right = self.value(expression.left), self.value(expression.right)
            if left is None or right is None:
                return None
            return _arithmetic(expression.operator, left, right)
        return None

    def reached(self, expression: Expression, target: float) -> Iterator[Limit]:
        """The operands that give an expression the value `target`, where it is a chain of operations on one of them."""
        if isinstance(expression, Name):
            if expression.name in self.lets:
                yield from self.reached(self.lets[expression.name], target)
            elif expression.name in self.tensors:
                yield Limit(expression.name, target)
        elif isinstance(expression, Unary) and expression.operator == "-":
            yield from self.reached(expression.operand, -target)
        elif isinstance(expression, Binary):
            yield from self._solved(expression, target)
        elif isinstance(expression, Call) and expression.function == "abs" and target >= 0:
            yield from self.reached(expression.arguments[0], target)
            yield from self.reached(expression.arguments[0], -target)
        elif isinstance(expression, Call) and expression.function in EXTREMES:
            for argument in expression.arguments:
                yield from self.reached(argument, target)

    def _solved(self, expression: Binary, target: float) -> Iterator[Limit]:
        left, right = self.value(expression.left), self.value(expression.right)
        if right is not None:
            inverse = {"+": target - right, "-": target + right, "*": _quotient(target, right), "/": target * right}
            solution = inverse.get(expression.operator)
            if solution is not None:
                yield from self.reached(expression.left, solution)
        elif left is not None:
            inverse = {"+": target - left, "-": left - target, "*": _quotient(target, left)}
            solution = inverse.get(expression.operator)
            if solution is not None:
                yield from self.reached(expression.right, solution)


def _compared(expression: Expression) -> Iterator[tuple[Expression, Expression]]:
    """The two sides of a comparison, or the arguments of an extreme."""
    if isinstance(expression, Binary) and expression.operator in COMPARISONS:
        yield expression.left, expression.right
    if isinstance(expression, Call) and expression.function in EXTREMES and len(expression.arguments) == 2:
        yield expression.arguments[0], expression.arguments[1]


def _arithmetic(operator: str, left: float, right: float) -> float | None:
    if operator == "/":
        return _quotient(left, right)
    return {"+": left + right, "-": left - right, "*": left * right}.get(operator)


def _quotient(dividend: float, divisor: float) -> float | None:
    return dividend / divisor if divisor else None
