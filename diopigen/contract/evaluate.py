"""Predicates of the spec, evaluated over described arguments.

`holds` returns whether a predicate is satisfied. A predicate without a value for some arguments (it reads a null, a
dimension that the tensor lacks, or elements that are not known) is satisfied: what makes it undefined is the subject of
another check, or allowed. `and`, `or`, `implies` and `where` evaluate from the left and stop as soon as they can.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from diopigen.contract import dtypes
from diopigen.contract.arguments import Described, Scalar, Tensor, Undefined
from diopigen.contract.functions import FUNCTIONS
from diopigen.contract.shape_evaluation import Evaluator, aligned
from diopigen.contract.shapes import ShapeError, broadcasts_to
from diopigen.ir.model import Dimension, Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.types import TENSORS
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary

CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "inf": float("inf")}


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison that has no value for complex numbers."""

    def apply(left: Any, right: Any) -> Any:
        if isinstance(left, complex) or isinstance(right, complex):
            raise Undefined
        return compare(left, right)

    return apply


_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": _ordered(operator.lt), "<=": _ordered(operator.le),
    ">": _ordered(operator.gt), ">=": _ordered(operator.ge),
}  # fmt: skip
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "/": operator.truediv, "**": operator.pow,
}  # fmt: skip


class Arguments:
    """The arguments of one call, with the dimensions that the shapes of inputs bind."""

    def __init__(self, function: Function, values: Mapping[str, Described]) -> None:
        """`values` has an entry for every parameter; outputs are described as inputs are."""
        self.function = function
        self.values = values

    @cached_property
    def dimensions(self) -> Mapping[str, int]:
        """The names that the shapes of inputs bind; a tensor of another rank than its list binds none."""
        sizes = {}
        for param in self.function.params:
            value = self.values.get(param.name)
            if (
                isinstance(value, Tensor)
                and isinstance(param.shape, ShapeList)
                and aligned(param.shape, value.shape) is not None
            ):
                sizes[param.name] = value.shape
        return Evaluator(self.function, {**sizes, **self._plain_values}, lenient=True).names

    @cached_property
    def shapes(self) -> Evaluator:
        """The shapes that follow from what is read."""
        tensors = {p.name: _shapes(self.values.get(p.name)) for p in self.function.params if p.is_read}
        return Evaluator(self.function, {**tensors, **self._plain_values}, lenient=True)

    @cached_property
    def _plain_values(self) -> Mapping[str, Any]:
        names = (param.name for param in self.function.params if param.type not in TENSORS)
        return {name: _plain(self.values.get(name)) for name in names}

    def holds(self, predicate: Expression) -> bool:
        """Whether the predicate is satisfied."""
        try:
            return bool(self.value(predicate))
        except (Undefined, ArithmeticError):
            return True

    def agree(self) -> bool:
        """Whether the shapes of inputs agree with their lists of dimensions: in rank, in numbers, and in the sizes that
        one name stands for."""
        return all(self._agrees(param) for param in self.function.params if param.is_read and "shape" not in param.free)

    def _agrees(self, param: Parameter) -> bool:
        value, shape = self.values.get(param.name), param.shape
        if isinstance(shape, ShapeRule) and isinstance(value, Tensor):
            return self._follows(param, shape, value)
        if not isinstance(shape, ShapeList) or not isinstance(value, Tensor) or math.prod(value.shape) == 1:
            return True
        stands_for_null = param.nullable and value.shape == (0,)
        pairs = aligned(shape, value.shape)
        return stands_for_null or (pairs is not None and all(self._has_size(entry, size) for entry, size in pairs))

    def _has_size(self, entry: Dimension, size: int) -> bool:
        """Whether a dimension has the size of its entry, where that has a value."""
        if entry.kind != "formula":
            return True
        try:
            return bool(self.value(entry.formula.expression) == size)
        except (Undefined, ArithmeticError):
            return True

    def _follows(self, param: Parameter, rule: ShapeRule, value: Tensor) -> bool:
        """Whether an input has the shape of its rule; one that follows from other arguments only."""
        expression = rule.formula.expression
        try:
            wanted = self.shapes.shape(param)
        except (LookupError, ShapeError, ValueError, ArithmeticError):
            return True
        if wanted is None or value.shape in ((0,), tuple(wanted)):
            return True
        if isinstance(expression, Call) and expression.function == "broadcastable":
            return broadcasts_to(value.shape, tuple(wanted))
        if isinstance(expression, Call) and expression.function == "reduce" and len(expression.arguments) == 2:
            squeezed = [[size for size in shape if size != 1] for shape in (value.shape, wanted)]
            return squeezed[0] == squeezed[1]
        return math.prod(value.shape) == 1 == math.prod(wanted)

    # ---- values -----------------------------------------------------------------------------------------------------

    def value(self, expression: Expression) -> Any:
        """The value of an expression. Raises `Undefined`."""
        if isinstance(expression, (Number, Text)):
            return expression.value
        if isinstance(expression, Name):
            return self._name(expression.name)
        if isinstance(expression, Unary):
            inner = self._plain(expression.operand)
            change = operator.not_ if expression.operator == "not" else operator.neg
            return tuple(map(change, inner)) if isinstance(inner, tuple) else change(inner)
        if isinstance(expression, Binary):
            return self._binary(expression)
        return self._call(expression)

    def _name(self, name: str) -> Any:
        if name in self.values:
            found = self.values[name]
            if found is None:
                raise Undefined
            return found
        if name in self.dimensions:
            return self.dimensions[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if self.function.param(name) is not None or _is_dimension(self.function, name):
            raise Undefined
        return name  # the value of an enum

    def _plain(self, expression: Expression) -> Any:
        """A value to compute with: numbers without dtype, tensors by their elements."""
        value = self.value(expression)
        if isinstance(value, Scalar):
            return value.value
        return value.elements() if isinstance(value, Tensor) else value

    def _binary(self, expression: Binary) -> Any:
        if expression.operator in ("and", "or"):
            left = self._plain(expression.left)
            if isinstance(left, tuple):
                join = operator.and_ if expression.operator == "and" else operator.or_
                return _each(join, left, self._plain(expression.right))
            if bool(left) == (expression.operator == "or"):
                return left
            return self._plain(expression.right)
        apply = _COMPARE.get(expression.operator) or _ARITHMETIC[expression.operator]
        return _each(apply, self._plain(expression.left), self._plain(expression.right))

    def _call(self, call: Call) -> Any:
        name, arguments = call.function, call.arguments
        if name == "dtype":
            return self._dtype(arguments[0])
        if name == "promote":
            try:
                return dtypes.evaluate(call, self._operands)
            except LookupError as error:  # all are null
                raise Undefined from error
        if name == "implies":
            return not self._plain(arguments[0]) or self._plain(arguments[1])
        if name == "where":
            return self.value(arguments[1] if self._plain(arguments[0]) else arguments[2])
        if name == "one_of":
            first = self._plain(arguments[0])
            others = [self._plain(argument) for argument in arguments[1:]]
            return tuple(item in others for item in first) if isinstance(first, tuple) else first in others
        if name == "is_null":
            assert isinstance(arguments[0], Name)
            return self.values.get(arguments[0].name) is None
        function = FUNCTIONS[name]
        kinds = function.arguments
        values = [self._argument(a, kinds[min(place, len(kinds) - 1)]) for place, a in enumerate(arguments)]
        if function.by_entry:
            places = [k for k, value in enumerate(values) if kinds[k] == "number" and isinstance(value, tuple)]
            if places:
                return _by_entry(function.evaluate, values, places)
        return function.evaluate(*values)

    def _argument(self, expression: Expression, kind: str) -> Any:
        if kind == "dtype":
            value = self.value(expression)
            return value.dtype if isinstance(value, (Tensor, Scalar)) else value
        if kind == "indices":
            return self.value(expression)
        if kind in ("tensor", "tensors", "items"):
            value = self.value(expression)
            if kind != "tensor" and isinstance(value, tuple):
                return tuple(item for item in value if item is not None)
            return (value,) if kind == "tensors" else value
        if kind == "list":
            value = self.value(expression)
            # Where a shape is wanted, a tensor stands for its own.
            return value.shape if isinstance(value, Tensor) else _as_list(value)
        value = self._plain(expression)
        return _as_list(value) if kind == "bools" else value

    def _dtype(self, argument: Expression) -> str:
        value = self.value(argument)
        if isinstance(value, tuple):
            value = next((item for item in value if item is not None), None)
        if not isinstance(value, (Tensor, Scalar)):
            raise Undefined
        return value.dtype

    def _operands(self, name: str) -> Sequence[tuple[str, int | None]]:
        value = self.values.get(name)
        items = value if isinstance(value, tuple) else (value,)
        found: list[tuple[str, int | None]] = []
        for item in items:
            if isinstance(item, Tensor):
                found.append((item.dtype, len(item.shape)))
            elif isinstance(item, Scalar):
                found.append((item.dtype, None))
        return found


def _is_dimension(function: Function, name: str) -> bool:
    lists = (param.shape for param in function.params if isinstance(param.shape, ShapeList))
    return any(entry.name == name for shape in lists for entry in shape.dimensions)


def _shapes(value: Described) -> Any:
    if isinstance(value, tuple):
        return tuple(item.shape for item in value if isinstance(item, Tensor))
    return value.shape if isinstance(value, Tensor) else None


def _plain(value: Described) -> Any:
    return value.value if isinstance(value, Scalar) else value


def _as_list(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _by_entry(evaluate: Callable[..., Any], values: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    """The results for each entry of the lists at `places`; a list of one entry belongs to every entry."""
    counts = {len(values[place]) for place in places}
    count = 0 if 0 in counts else max(counts)
    if not counts <= {count, 1}:
        raise Undefined
    entries = [[*values]] * count
    return tuple(
        evaluate(*(v[k % len(v)] if place in places else v for place, v in enumerate(row)))
        for k, row in enumerate(entries)
    )


def _each(apply: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The operation on numbers, or entry by entry: a number, or a list of one entry, belongs to every entry."""
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        return apply(left, right)
    first, second = _as_list(left), _as_list(right)
    if first and len(second) == 1:
        return tuple([apply(entry, second[0]) for entry in first])
    count = max(len(first), len(second)) if first and second else 0
    if len(first) not in (count, 1) or len(second) not in (count, 1):
        raise Undefined
    first = first * count if len(first) == 1 else first
    second = second * count if len(second) == 1 else second
    return tuple(apply(a, b) for a, b in zip(first, second, strict=True))
