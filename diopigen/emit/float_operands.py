"""Kernels that compute integral operands as floating numbers: always, never, or under a condition of the call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from diopigen.emit.cpp_text import COMPARISONS, LOGICAL
from diopigen.emit.element_expression import PREDICATES, ElementPrinter
from diopigen.ir.clauses import Formula
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary

FLOAT_FUNCTIONS = frozenset(
    {
        "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
        "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma",
        "sigmoid", "reciprocal", "atan2", "hypot", "to_float"
    }
)  # fmt: skip
"""Functions that compute integral operands as float32."""

Condition = Union[bool, Expression]
"""A uniform expression, or what it is known to be."""


def float_condition(expression: Expression, printer: ElementPrinter, lets: Mapping[str, Formula]) -> bool | str:
    """Condition under which a kernel computes integral operands as float32: `True`, `False`, or its C++ text."""
    condition = _FloatOperands(printer, lets).of(expression)
    return condition if isinstance(condition, bool) else printer.host.show(condition).text


@dataclass(frozen=True, slots=True)
class _FloatOperands:
    """Finds what makes the value of an expression a floating number."""

    printer: ElementPrinter
    lets: Mapping[str, Formula]

    def of(self, expression: Expression) -> Condition:
        """The condition for an expression: that of any of its operands, unless the operation decides."""
        if isinstance(expression, Name):
            return self.name(expression)
        if isinstance(expression, Number):
            return isinstance(expression.value, float)
        if isinstance(expression, Text):
            return False
        if isinstance(expression, Unary):
            return False if expression.operator == "not" else self.of(expression.operand)
        if isinstance(expression, Binary):
            if expression.operator in COMPARISONS or expression.operator in LOGICAL:
                return False
            return expression.operator == "/" or _either(self.of(expression.left), self.of(expression.right))
        return self.call(expression)

    def name(self, name: Name) -> Condition:
        """An operand that is an array has any dtype; a number is one by its type."""
        if name.name in self.lets and not self.printer.is_uniform(name):
            return self.of(self.lets[name.name].expression)
        param = self.printer.host.params.get(name.name)
        return name.name not in self.printer.arrays and param is not None and param.type in ("float", "double")

    def call(self, call: Call) -> Condition:
        """A function of the expression language. Which branch of a uniform `where` is computed is known on the host."""
        if call.function in FLOAT_FUNCTIONS:
            return True
        if call.function in ("is_null", "index", "linear_index") or call.function in PREDICATES:
            return False
        if call.function == "where":
            condition, *branches = call.arguments
            first, second = map(self.of, branches)
            if first == second or not self.printer.is_uniform(condition):
                return _either(first, second)
            return _either(_both(condition, first), _both(_negated(condition), second))
        found: Condition = False
        for argument in call.arguments:
            found = _either(found, self.of(argument))
        return found


def _either(left: Condition, right: Condition) -> Condition:
    if left is True or right is True:
        return True
    if left is False or left == right:
        return right
    return left if right is False else Binary("or", left, right)


def _both(condition: Expression, other: Condition) -> Condition:
    if isinstance(other, bool):
        return condition if other else False
    return Binary("and", condition, other)


def _negated(condition: Expression) -> Expression:
    if isinstance(condition, Binary) and condition.operator == "==":
        return Binary("!=", condition.left, condition.right)
    return Unary("not", condition)
