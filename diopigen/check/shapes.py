"""Shapes of outputs: each has a value whatever nullable operands are null."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.check.rule import Subject
from diopigen.contract.functions import FUNCTIONS, NULLABLE
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Call, Expression, Name, walk

RULES = {"shape-of-null": "The shape of an output has a value also where operands that may be null are null."}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for function in subject.functions:
        for param in function.params:
            # An output that may be null is left out together with what it follows from.
            if param.direction != "out" or param.nullable or "shape" in param.free:
                continue
            for name in sorted(_needed(function, param) & _nullable(function)):
                message = f"{function.name}: the shape of '{param.name}' has no value where '{name}' is null"
                fix = f"say what it is then, as in where(is_null({name}), ..., ...), or follow another operand"
                sink.error("shape-of-null", message, param.at("shape"), fix=fix)


def _nullable(function: Function) -> set[str]:
    return {param.name for param in function.params if param.nullable}


def _needed(function: Function, param: Parameter) -> set[str]:
    """Requirements of the shape of an output: parameters, and the one operand that binds a dimension."""
    if isinstance(param.shape, ShapeRule):
        return set(_read(param.shape.formula.expression, frozenset()))
    if not isinstance(param.shape, ShapeList):
        return set()
    names = {name for entry in param.shape.dimensions for name in _read(entry.formula.expression, frozenset())}
    bound: set[str] = set()
    for name in names:
        binding = [one.name for one in function.params if one.name != name and name in _binds(one)]
        bound.update(binding if len(binding) == 1 else ())
    return names | bound


def _binds(param: Parameter) -> set[str]:
    shape = param.shape
    return {entry.name for entry in shape.dimensions} if param.is_read and isinstance(shape, ShapeList) else set()


def _read(expression: Expression, guarded: frozenset[str]) -> Iterator[str]:
    """The names whose values are needed, but those that a condition asks for null."""
    if isinstance(expression, Name):
        yield from {expression.name} - guarded
        return
    arguments = list(_arguments(expression))
    if isinstance(expression, Call):
        if expression.function == "is_null":
            return
        if expression.function == "where":
            guarded |= set(_asked(arguments[0]))
        function = FUNCTIONS.get(expression.function)
        if function is not None:
            arguments = [one for i, one in enumerate(arguments) if function.kind(i) not in NULLABLE]
    for argument in arguments:
        yield from _read(argument, guarded)


def _arguments(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call):
        yield from expression.arguments
    else:
        yield from (
            side for key in ("operand", "left", "right") if (side := getattr(expression, key, None)) is not None
        )


def _asked(condition: Expression) -> Iterator[str]:
    for part in walk(condition):
        if isinstance(part, Call) and part.function == "is_null" and isinstance(part.arguments[0], Name):
            yield part.arguments[0].name
