"""Operands of comparisons in predicates: the limits of ranges, and the tensors that dimensions belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from diopigen.ir.model import Function
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary, walk

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of a parameter: `operator` is one of < <= > >=, with the parameter on its left. `of_entries`: it is the
    limit of each entry of a list, or of each element of a tensor."""

    parameter: str
    operator: str
    end: Expression
    of_entries: bool = False


def limits(function: Function) -> Iterator[Limit]:
    """The limits that hold for every call: comparisons that a predicate joins by `and`."""
    for constraint in function.constraints:
        if constraint.require is not None:
            yield from _limits(constraint.require.expression, function, False)


def _limits(expression: Expression, function: Function, of_entries: bool) -> Iterator[Limit]:
    if isinstance(expression, Binary) and expression.operator == "and":
        yield from _limits(expression.left, function, of_entries)
        yield from _limits(expression.right, function, of_entries)
    elif isinstance(expression, Call) and expression.function == "all":
        yield from _limits(expression.arguments[0], function, True)
    elif isinstance(expression, Binary) and expression.operator in _MIRRORED:
        for one, other, operator in (
            (expression.left, expression.right, expression.operator),
            (expression.right, expression.left, _MIRRORED[expression.operator]),
        ):
            yield from _of(one, operator, other, function, of_entries)


def _of(one: Expression, operator: str, end: Expression, function: Function, of_entries: bool) -> Iterator[Limit]:
    """The limits of a parameter, or of several: all in a list, the smallest above an end, or the largest below it."""
    if isinstance(one, Name) and function.param(one.name) is not None:
        yield Limit(one.name, operator, end, of_entries)
    elif isinstance(one, Call) and one.function in ("list", "min" if operator[0] == ">" else "max"):
        for argument in one.arguments:
            yield from _of(argument, operator, end, function, of_entries)


def tensors_of_dims(function: Function) -> dict[str, str]:
    """The parameters that name dimensions from either end, each with the tensor that they are of: a predicate compares
    them with both ends of its rank."""
    ends: dict[tuple[str, str], set[str]] = {}
    for limit in _all_limits(function):
        tensor = _rank_of(limit.end)
        if tensor is not None:
            ends.setdefault((limit.parameter, tensor), set()).add(limit.operator[0])
    return {parameter: tensor for (parameter, tensor), found in ends.items() if found == {"<", ">"}}


def _all_limits(function: Function) -> Iterator[Limit]:
    """Every comparison of a parameter, under whichever condition."""
    for constraint in function.constraints:
        for part in walk(constraint.require.expression) if constraint.require is not None else ():
            if isinstance(part, Binary) and part.operator in _MIRRORED:
                yield from _limits(part, function, False)


def _rank_of(expression: Expression) -> str | None:
    """The tensor whose rank an end of a range is."""
    if isinstance(expression, Unary):
        return _rank_of(expression.operand)
    ranks = [part for part in walk(expression) if isinstance(part, Call) and part.function == "rank"]
    names = {argument.name for call in ranks for argument in call.arguments if isinstance(argument, Name)}
    return names.pop() if len(names) == 1 else None
