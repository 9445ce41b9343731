"""Argument recipes: what a case says about each parameter, as typed values.

A recipe is small on purpose: it names a shape and the way values are drawn, and the suite makes the data from a seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.model import Case, Function, Parameter
from diopigen.ir.types import INTEGERS, NUMBERS, TENSORS
from diopigen.spec.expression import Call, Expression, ExpressionError, Name, Number, Unary, parse
from diopigen.spec.nodes import MappingNode, Node, Scalar, ScalarNode, SequenceNode

Literal = Union[Scalar, tuple["Literal", ...]]

DISTRIBUTIONS = {
    "normal": 0,
    "uniform": 2,
    "integers": 2,
    "permutation": 0,
    "distinct": 0,
    "definite": 0,
    "peaks": 1,
    "ascending": 0,
    "descending": 0,
    "boxes": 2,
    "regions": 3,
    "points": 3,
    "zeros": 0,
    "ones": 0,
    "bools": 0,
    "nonzero": 0,
    "special": 0,
}
"""Distributions, and the number of their arguments."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Values drawn from a distribution."""

    distribution: str
    arguments: tuple[int | float, ...] = ()


def peak_indices(shape: tuple[int, ...]) -> list[int]:
    """The row-major indices of the elements that `peaks` raises, one in each row of the last dimension, which must not
    be empty: in the first row the first element, in the last row the last one, between them evenly."""
    rows, length = math.prod(shape[:-1]), shape[-1]
    return [row * length + row * (length - 1) // max(rows - 1, 1) for row in range(rows)]


@dataclass(frozen=True, slots=True)
class TensorRecipe:
    """A tensor: its shape, its dtype where it is fixed, and its values (drawn, or a literal nested tuple)."""

    shape: tuple[int, ...]
    dtype: str | None = None
    values: Drawn | Literal = Drawn("normal")


Argument = Union[TensorRecipe, tuple["Argument", ...], Literal]


class Rejected:
    """Stands for an argument with a fault, which is reported already."""


class RecipeReader:
    """Reads the recipes of one function. Faults go to the sink under `bad-recipe`."""

    def __init__(self, function: Function, dtypes: frozenset[str], enum_values: Mapping[str, str], sink: Sink) -> None:
        """`dtypes` are the names of all dtypes, `enum_values` gives the enum of every enum value."""
        self.function = function
        self.dtypes = dtypes
        self.enum_values = enum_values
        self.sink = sink

    def read(self, case: Case) -> dict[str, Argument]:
        """The arguments that a case gives, by parameter; those at fault are left out."""
        found: dict[str, Argument] = {}
        for name, node in case.arguments.items():
            param = self.function.param(name)
            if param is None:
                names = [param.name for param in self.function.params]
                self._fault(
                    f"'{name}' is not a parameter", case.key_spans.get(name, case.span), did_you_mean(name, names)
                )
                continue
            argument = self._argument(param, node)
            if not isinstance(argument, Rejected):
                found[name] = argument
        return found

    def _fault(self, message: str, span: Span, fix: str | None = None) -> Rejected:
        fix = fix or "see the argument recipes in docs/spec.md"
        self.sink.error("bad-recipe", f"{self.function.name}: {message}", span, fix=fix)
        return Rejected()

    def _argument(self, param: Parameter, node: Node) -> Argument | Rejected:
        if isinstance(node, ScalarNode) and node.value is None:
            return None
        if param.type in ("tensors", "new_tensors"):
            if not isinstance(node, SequenceNode):
                return self._fault(f"'{param.name}' is an array: give a list of tensors", node.span)
            tensors = [self._null_or_tensor(param, item) for item in node]
            good = tuple(item for item in tensors if not isinstance(item, Rejected))
            return good if len(good) == len(tensors) else Rejected()
        if param.type in TENSORS:
            return self._tensor(param, node)
        if param.type == "sizes":
            items = node.items if isinstance(node, SequenceNode) else ()
            values = [item.value for item in items if isinstance(item, ScalarNode) and type(item.value) is int]
            if not isinstance(node, SequenceNode) or len(values) != len(items):
                return self._fault(f"'{param.name}' is a list of integers", node.span)
            return tuple(values)
        return self._value(param, node)

    def _value(self, param: Parameter, node: Node) -> Argument | Rejected:
        if not isinstance(node, ScalarNode):
            return self._fault(f"'{param.name}' is of type {param.type}: give a single value", node.span)
        value = node.value
        if param.type == "bool":
            good = isinstance(value, bool)
        elif param.type in INTEGERS:
            good = type(value) is int
        elif param.type in NUMBERS or param.type == "scalar":
            good = isinstance(value, (int, float))
        elif param.type == "string":
            good = isinstance(value, str)
        elif param.type in ("generator", "generators", "opaque", "stream", "context"):
            return self._fault(f"'{param.name}' is made by the suite", node.span, "leave it out")
        else:
            good = isinstance(value, str) and self.enum_values.get(value) == param.type
        return (
            value
            if good
            else self._fault(f"'{node.text}' is no value of type {param.type} ('{param.name}')", node.span)
        )

    def _null_or_tensor(self, param: Parameter, node: Node) -> Argument | Rejected:
        if isinstance(node, ScalarNode) and node.value is None:
            return None
        return self._tensor(param, node)

    def _tensor(self, param: Parameter, node: Node) -> TensorRecipe | Rejected:
        if isinstance(node, SequenceNode):
            shape = _shape(node)
            if shape is None:
                return self._fault(f"the shape of '{param.name}' is a list of sizes", node.span)
            return TensorRecipe(shape)
        if not isinstance(node, MappingNode):
            return self._fault(f"'{param.name}' is a tensor: give a shape or a mapping", node.span)
        for key, entry in node.entries.items():
            if key not in ("shape", "dtype", "values"):
                fix = did_you_mean(key, ("shape", "dtype", "values"))
                return self._fault(f"unknown key '{key}' in the tensor '{param.name}'", entry.key_span, fix)
        values_node = node.get("values")
        values: Drawn | Literal = Drawn("normal")
        if isinstance(values_node, SequenceNode):
            values = _literal(values_node)
        elif isinstance(values_node, ScalarNode) and isinstance(values_node.value, str):
            drawn = _drawn(values_node.value)
            if drawn is None:
                fix = f"use one of: {', '.join(DISTRIBUTIONS)}"
                return self._fault(f"'{values_node.text}' is not a way to draw values", values_node.span, fix)
            values = drawn
        elif isinstance(values_node, ScalarNode):
            values = values_node.value
        elif values_node is not None:
            return self._fault(f"the values of '{param.name}' are a mapping", values_node.span)
        shape_node = node.get("shape")
        shape = _shape(shape_node) if shape_node is not None else _shape_of(values)
        if shape is None:
            return self._fault(f"the tensor '{param.name}' needs a shape", node.span, "add 'shape'")
        if values_node is not None and not isinstance(values, Drawn):
            if not _is_numeric(values):
                return self._fault(f"the values of '{param.name}' are numbers or bools", values_node.span)
            if isinstance(values, tuple) and _shape_of(values) != shape:
                message = f"the values of '{param.name}' do not have the shape {list(shape)}"
                return self._fault(message, values_node.span, "leave 'shape' out, or correct the values")
        dtype_node = node.get("dtype")
        if dtype_node is None:
            return TensorRecipe(shape, None, values)
        if not isinstance(dtype_node, ScalarNode):
            return self._fault(f"the dtype of '{param.name}' is one word", dtype_node.span)
        if dtype_node.text not in self.dtypes:
            fix = did_you_mean(dtype_node.text, self.dtypes)
            return self._fault(f"unknown dtype '{dtype_node.text}'", dtype_node.span, fix)
        return TensorRecipe(shape, dtype_node.text, values)


def _shape(node: Node) -> tuple[int, ...] | None:
    if not isinstance(node, SequenceNode):
        return None
    sizes = [item.value for item in node if isinstance(item, ScalarNode)]
    if len(sizes) != len(node.items) or not all(type(size) is int and size >= 0 for size in sizes):
        return None
    return tuple(size for size in sizes if isinstance(size, int))


def _literal(node: Node) -> Literal:
    if isinstance(node, SequenceNode):
        return tuple(_literal(item) for item in node)
    return node.value if isinstance(node, ScalarNode) else None


def _shape_of(values: Drawn | Literal) -> tuple[int, ...] | None:
    """The shape of a literal; None for drawn values and ragged lists."""
    if isinstance(values, Drawn):
        return None
    if not isinstance(values, tuple):
        return ()
    inner = {_shape_of(item) for item in values}
    if len(inner) > 1 or None in inner:
        return None
    below = inner.pop() if inner else ()
    return (len(values), *(below or ()))


def _is_numeric(values: Literal) -> bool:
    if isinstance(values, tuple):
        return all(_is_numeric(item) for item in values)
    return isinstance(values, (bool, int, float))


def _drawn(text: str) -> Drawn | None:
    """`uniform(0, 1)` and the like."""
    try:
        return drawn_of(parse(text))
    except ExpressionError:
        return None


def drawn_of(expression: Expression) -> Drawn | None:
    """The way to draw values that an expression names; None where there is no such way."""
    if isinstance(expression, Name):
        return Drawn(expression.name) if DISTRIBUTIONS.get(expression.name) == 0 else None
    if not isinstance(expression, Call) or DISTRIBUTIONS.get(expression.function) != len(expression.arguments):
        return None
    numbers: list[int | float] = []
    for argument in expression.arguments:
        sign = 1
        if isinstance(argument, Unary) and argument.operator == "-":
            sign, argument = -1, argument.operand
        if not isinstance(argument, Number):
            return None
        numbers.append(sign * argument.value)
    return Drawn(expression.function, tuple(numbers))
