"""Kernel expressions over the elements of a call.

- Each value is accompanied by the size of the terms that were added up to it, which `compare` bounds the error by:
  sizes of
  sums add up, those of products multiply, and a function carries over the error of an argument that was computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert, rounded, widest
from diopigen.conformance.oracles.call import Call
from diopigen.conformance.oracles.kernel_functions import DOUBLE_ONLY, FUNCTIONS, OPERATORS, magnitude, trunc_div
from diopigen.conformance.oracles.uniform import Uniform
from diopigen.ir.clauses import Formula
from diopigen.spec import expression as spec
from diopigen.spec.expression import Expression, Name

ZERO_SIGN_OPEN = frozenset({"min", "max", "fmin", "fmax"})
"""Of 0.0 and -0.0 either may come back."""


def _arithmetic(dtype: str) -> str:
    """The dtype in which a computation runs: half precision is computed in float32."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


@dataclass(frozen=True, slots=True)
class Term:
    """The value of a part of an expression. `scale` is the size of what was added up (None: the value's own),
    `is_computed` says that it carries rounding errors, `is_number` that it depends on no element and takes the type of
    what it meets, `is_double` that no more than float64's precision is in it."""

    values: Array
    scale: Array | None = None
    is_computed: bool = False
    is_number: bool = False
    is_double: bool = False

    @property
    def size(self) -> Array:
        """The scale, or the size of the value; a float, so that nothing wraps."""
        return magnitude(self.values) if self.scale is None else self.scale


class Evaluation(Uniform):
    """The evaluation of one output of a call."""

    def __init__(self, call: Call, target: str, lets: Mapping[str, Formula], result: Expression) -> None:
        super().__init__(call, target, lets, result)
        self.known: dict[str, Term] = {}

    def strong(self, expression: Expression) -> Term:
        """A part as elements of the compute dtype, also where it depends on none."""
        found = self.term(expression)
        return self.settled(found, convert(np.zeros(1), self.compute)) if found.is_number else found

    def settled(self, number: Term, other: Array) -> Term:
        """A number in the type of the elements that it meets."""
        value = number.values
        if other.dtype.kind in "iu" and value.dtype.kind == "f":
            return replace(number, is_number=False)
        if other.dtype.kind == "b" and value.dtype.kind in "iuf":
            return replace(number, values=np.asarray(value != 0), is_number=False)
        return replace(number, values=np.asarray(value).astype(other.dtype), is_number=False)

    def pair(self, left: Term, right: Term) -> tuple[Term, Term]:
        """Two terms in types that fit."""
        if left.is_number and not right.is_number:
            return self.settled(left, right.values), right
        if right.is_number and not left.is_number:
            return left, self.settled(right, left.values)
        return left, right

    def truth(self, expression: Expression) -> Array:
        """Positions at which a part is true. A tensor is tested in its own dtype: nothing is promoted."""
        if isinstance(expression, Name) and self.is_array(expression.name):
            return np.asarray(self.call[expression.name] != 0)
        return np.asarray(self.term(expression).values != 0)

    def term(self, expression: Expression) -> Term:
        """The value of a part."""
        if isinstance(expression, Name):
            return self.name(expression.name)
        if self.is_uniform(expression):
            return Term(np.asarray(self.number(expression)), is_number=True)
        if isinstance(expression, spec.Unary):
            if expression.operator == "not":
                return Term(~self.truth(expression.operand))
            operand = self.term(expression.operand)
            inverse: Any = np.negative if expression.operator == "-" else np.invert
            return replace(operand, values=np.asarray(inverse(operand.values)))
        if isinstance(expression, spec.Binary):
            return self.binary(expression)
        assert isinstance(expression, spec.Call)
        return self.apply(expression)

    def name(self, name: str) -> Term:
        """An operand in the compute dtype, or an intermediate value."""
        if name in self.lets:
            if name not in self.known:
                self.known[name] = self.term(self.lets[name])
            return self.known[name]
        if self.is_array(name):
            return Term(self.call.cast(name, self.compute))
        if name in self.params and self.params[name].type == "scalar":
            dtype = self.compute if name in self.promoted else _arithmetic(self.compute)
            return Term(self.call.cast(name, dtype))
        return Term(np.asarray(self._named(name)), is_number=True)

    def binary(self, expression: spec.Binary) -> Term:
        """An infix operator."""
        operator = expression.operator
        if operator in ("and", "or"):
            first, second = self.truth(expression.left), self.truth(expression.right)
            return Term(first & second if operator == "and" else first | second)
        left, right = self.pair(self.term(expression.left), self.term(expression.right))
        values = np.asarray(OPERATORS[operator](left.values, right.values))
        if values.dtype.kind not in "fc":
            return Term(values)
        is_double = left.is_double or right.is_double
        scale = None
        if operator in ("+", "-"):
            scale = left.size + right.size
        elif operator in ("*", "/") and (left.scale is not None or right.scale is not None):
            scale = left.size * right.size
            if operator == "/":
                scale = left.size / magnitude(right.values) * (right.size / magnitude(right.values))
        return Term(values, scale, is_computed=True, is_double=is_double)

    def apply(self, expression: spec.Call) -> Term:
        """A function."""
        function = expression.function
        if function in ("index", "linear_index"):
            return Term(self.coordinate(expression))
        if function == "to_bool":
            return Term(self.truth(expression.arguments[0]))
        if function == "where":
            if self.is_uniform(expression.arguments[0]):
                return self.term(self.selected(expression))
            first, second = self.pair(*map(self.term, expression.arguments[1:]))
            if first.is_number:
                first, second = self.strong(expression.arguments[1]), self.strong(expression.arguments[2])
            return self.select(self.truth(expression.arguments[0]), first, second)
        terms = [self.term(argument) for argument in expression.arguments]
        if len(terms) == 1:
            return self.unary(function, terms[0])
        left, right = self.pair(*terms)
        if function in ZERO_SIGN_OPEN:
            found = self.select(left.values == right.values, left, right)
            values = np.asarray(FUNCTIONS[function](left.values, right.values))
            if found.scale is None:
                return replace(found, values=values)
            is_left, is_right = values == left.values, values == right.values
            selected = np.maximum(np.where(is_left, left.size, 0), np.where(is_right, right.size, 0))
            return replace(found, values=values, scale=selected)
        if function == "trunc_div" and left.values.dtype.kind == "f":
            quotient = widest(rounded(left.values / right.values, _arithmetic(self.compute)))
            return Term(np.asarray(np.trunc(quotient)))
        scale: Array | None = None
        values = np.asarray((trunc_div if function == "trunc_div" else FUNCTIONS[function])(left.values, right.values))
        if function == "pow" and values.dtype.kind == "c":
            # A complex power goes through exp(exponent * log(base)), whose argument is rounded.
            turns = np.abs(right.values * np.log(np.where(left.values == 0, 1, left.values)))
            scale = np.abs(values) * (1 + turns)
        return Term(values, scale, is_computed=values.dtype.kind in "fc")

    def select(self, condition: Array, first: Term, second: Term) -> Term:
        """Elements of the first term where the condition holds, else of the second."""
        scale = None
        if first.scale is not None or second.scale is not None:
            scale = np.where(condition, first.size, second.size)
        return Term(
            np.asarray(np.where(condition, first.values, second.values)),
            scale,
            is_computed=first.is_computed or second.is_computed,
            is_double=first.is_double or second.is_double,
        )

    def unary(self, function: str, term: Term) -> Term:
        """A function of one argument."""
        if function == "to_int":
            return Term(np.trunc(term.values).astype(np.int64))
        apply = FUNCTIONS[function]
        values = np.asarray(apply(term.values))
        if values.dtype.kind not in "fc":
            return Term(values)
        scale = magnitude(values) + _carried(apply, term) if term.is_computed else None
        return Term(values, scale, is_computed=True, is_double=term.is_double or function in DOUBLE_ONLY)

    def coordinate(self, expression: spec.Call) -> Array:
        """The coordinate of each element in a dimension, or its position in row-major order, as int64."""
        shape = self.call.shapes[self.target]
        if expression.function == "linear_index":
            return np.asarray(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))
        dim = int(self.number(expression.arguments[0])) % len(shape)
        along = [1] * len(shape)
        along[dim] = shape[dim]
        positions = np.arange(shape[dim], dtype=np.int64)
        return np.asarray(positions.reshape(along))


_STEP = 2.0**-20
"""By how much of its size an argument is moved, to see what its error does to a function."""


def _carried(apply: Any, term: Term) -> Array:
    """Effect of a relative error of one unit in an argument on a function's value: |f'(x)| size, by a difference."""
    moved = _STEP * term.size
    slope = np.asarray(np.abs(apply(term.values + moved) - apply(term.values - moved)) / (2 * _STEP))
    return np.asarray(np.where(np.isfinite(slope), slope, 0))
