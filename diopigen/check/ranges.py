"""Integers: what bounds each. A kernel multiplies sizes by them, adds them to positions and counts loops by them, so
that one without a bound is memory out of bounds or a loop without an end."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink, Span
from diopigen.ir.model import Function, Parameter, ShapeList
from diopigen.ir.types import INTEGERS
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary, walk

EVALUATES = True
"""Predicates that are not sound bound nothing."""

RULES = {
    "missing-range": "Every integer that an operator reads is bounded from both sides, or any value of it is legal.",
}

_LOW, _HIGH = "below", "above"
_BOTH = frozenset({_LOW, _HIGH})
_NONE: frozenset[str] = frozenset()
_UNSIGNED = frozenset({"uint64", "size_t"})
_NAMED = frozenset({"one_of", "equal"})
"""Functions that name the values or lists that an argument may be."""


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    seen: set[Span] = set()
    for function in subject.functions:
        is_service = not function.context and not function.is_collective
        if function.family == "runtime" or is_service or function.draft:
            continue
        sizes = set(_named_sizes(function))
        for param in function.params:
            is_integer = param.type in INTEGERS or param.type == "sizes"
            # A variant that inherits a parameter repeats its faults.
            if not is_integer or not param.is_read or param.name in sizes or param.span in seen:
                continue
            missing = _BOTH - _bounds(function, param)
            if missing:
                seen.add(param.span)
                sides = " or ".join(sorted(missing, reverse=True))
                message = f"{function.name}: nothing bounds the integer '{param.name}' from {sides}"
                fix = "add 'range' with the values that are legal, 'range: any' where all are"
                sink.error("missing-range", message, param.span, fix=fix)


def _named_sizes(function: Function) -> Iterator[str]:
    """Parameters that are a size of a tensor which cannot be null: its shape requires them to be that size."""
    for param in function.params:
        if isinstance(param.shape, ShapeList) and not param.nullable and param.type in ("tensor", "tensors"):
            for dimension in param.shape.dimensions:
                if dimension.kind == "formula" and isinstance(dimension.formula.expression, Name):
                    yield dimension.formula.expression.name


def _bounds(function: Function, param: Parameter) -> frozenset[str]:
    """The sides from which constraints bound a parameter; a range on purpose without an end counts as both."""
    if any(key.name in ("range", "dim_of") for key in param.keys):
        return _BOTH
    found = frozenset({_LOW}) if param.type in _UNSIGNED else _NONE
    for constraint in function.constraints:
        if constraint.require is not None and (constraint.key is None or constraint.key.name == "range"):
            found |= _implied(constraint.require.expression, param.name)
    return found


def _implied(predicate: Expression, name: str) -> frozenset[str]:
    """The sides from which a predicate bounds a parameter whenever it holds and the parameter is not null."""
    if isinstance(predicate, Call):
        if predicate.function == "all":
            return _implied(predicate.arguments[0], name)
        if predicate.function in _NAMED or (predicate.function == "divides" and _reads(predicate.arguments[0], name)):
            return _BOTH if any(_reads(argument, name) for argument in predicate.arguments[:2]) else _NONE
        return _NONE
    if not isinstance(predicate, Binary):
        return _NONE
    left, right = predicate.left, predicate.right
    if predicate.operator == "and":
        return _implied(left, name) | _implied(right, name)
    if predicate.operator == "or":
        null = Call("is_null", (Name(name),))
        parts = [_implied(part, name) for part in (left, right) if part != null]
        return frozenset.intersection(*parts) if parts else _BOTH
    if predicate.operator == "==":
        return _BOTH if _reads(left, name) or _reads(right, name) else _NONE
    if predicate.operator in ("<", "<="):
        return _sides(left, name, _HIGH) | _sides(right, name, _LOW)
    if predicate.operator in (">", ">="):
        return _sides(left, name, _LOW) | _sides(right, name, _HIGH)
    return _NONE


def _sides(term: Expression, name: str, side: str) -> frozenset[str]:
    """The side of a parameter that a bound of a sum or product on `side` is a bound of."""
    other = _LOW if side == _HIGH else _HIGH
    if isinstance(term, Name):
        return frozenset({side}) if term.name == name else _NONE
    if isinstance(term, Unary) and term.operator == "-":
        return _sides(term.operand, name, other)
    if isinstance(term, Binary) and term.operator in ("+", "-", "*", "/", "//"):
        right = other if term.operator in ("-", "/", "//") else side
        return _sides(term.left, name, side) | _sides(term.right, name, right)
    if isinstance(term, Call) and term.function in ("list", "join", "min", "max", "sum", "prod", "abs"):
        return frozenset().union(*(_sides(argument, name, side) for argument in term.arguments))
    return _NONE


def _reads(expression: Expression, name: str) -> bool:
    return any(isinstance(part, Name) and part.name == name for part in walk(expression))
