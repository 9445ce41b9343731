"""The numbers and modes that automatic cases pass, and the operators that only recipes suit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diopigen.ir.model import Function, Interface, Parameter, ShapeList, ShapeRule
from diopigen.ir.recipe import Argument
from diopigen.ir.types import NUMBERS
from diopigen.spec.expression import Call, Expression, Name, children, walk

_PLAIN = 3
"""Value of a scalar without an example in the spec: no neutral element, and no power of two."""
_MEASURES = frozenset({"numel", "rank", "size", "sizes"})
"""Functions of predicates that read the shape of a tensor."""


def example(param: Parameter) -> int | float:
    """The number that automatic cases pass for a scalar."""
    value = param.example.value if param.example is not None else _PLAIN
    assert isinstance(value, (int, float))
    return value


def other_modes(interface: Interface, function: Function) -> Iterator[Mapping[str, Argument]]:
    """The values of each mode other than its default, in the order of the spec: what is left where the default breaks a
    constraint."""
    for param in function.params:
        if param.default is None:
            continue
        enum = interface.enum(param.type)
        members = tuple(value.name for value in enum.values) if enum is not None else param.values
        yield from ({param.name: member} for member in members if member != param.default.value)


def is_sized_by_numbers(function: Function) -> bool:
    """Returns whether the shape of an output depends on the values of numbers, by its rule or by a constraint."""
    numbers = {param.name for param in function.params if param.type == "scalar" or param.type in NUMBERS}
    outputs = {param.name for param in function.params if param.direction == "out"}
    rules = (formula for param in function.params if param.name in outputs for formula in _shape(param))
    if any(_values(formula) & numbers for formula in rules):
        return True
    predicates = (c.require.expression for c in function.constraints if c.require is not None)
    return any(_measured(one) & outputs and _names(one) & numbers for one in predicates)


def _shape(param: Parameter) -> Iterator[Expression]:
    if isinstance(param.shape, ShapeRule):
        yield param.shape.formula.expression
    elif isinstance(param.shape, ShapeList):
        yield from (dimension.formula.expression for dimension in param.shape.dimensions)


def _names(expression: Expression) -> set[str]:
    return {part.name for part in walk(expression) if isinstance(part, Name)}


def _values(expression: Expression) -> set[str]:
    """The names whose values an expression reads. In `broadcast` a number is a 0-d tensor, whatever its value."""
    if isinstance(expression, Call) and expression.function == "broadcast":
        return set()
    return {expression.name} if isinstance(expression, Name) else {n for c in children(expression) for n in _values(c)}


def _measured(expression: Expression) -> set[str]:
    """The tensors whose shapes an expression reads."""
    calls = (part for part in walk(expression) if isinstance(part, Call) and part.function in _MEASURES)
    return {name for call in calls for argument in call.arguments for name in _names(argument)}
