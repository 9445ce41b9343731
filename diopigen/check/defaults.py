"""Default values and examples: they are in the ranges of their parameters."""

from __future__ import annotations

from typing import Any

from diopigen.check.rule import Subject
from diopigen.check.types import misfit
from diopigen.contract.arguments import Described, Scalar
from diopigen.contract.evaluate import Arguments
from diopigen.diagnostics import Sink, Span
from diopigen.ir.clauses import Default
from diopigen.ir.model import Function, Parameter

EVALUATES = True

RULES = {"default-out-of-range": "A default value and an example satisfy the keys of their parameter."}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    seen: set[Span] = set()
    for function in subject.functions:
        for param in function.params:
            for what, provided in (("default", param.default), ("example", param.example)):
                if provided is None or misfit(subject, param, provided) or provided.span in seen:
                    continue  # a variant that inherits a parameter repeats its faults
                broken = _broken(function, param, provided)
                if broken is not None:
                    seen.add(provided.span)
                    key, note = broken
                    message = f"{function.name}: the {what} of '{param.name}' does not satisfy '{key}'"
                    sink.error("default-out-of-range", message, provided.span, fix=f"change one of the two: {note}")


def _broken(function: Function, param: Parameter, provided: Default) -> tuple[str, str] | None:
    """The key that a value which the type admits does not satisfy, and what it asks for."""
    value: Any = provided.value
    if value is None or isinstance(value, str):
        return None  # a name is in no range of numbers
    described: Described = Scalar(value, "float64") if param.type == "scalar" else value
    arguments = Arguments(function, {other.name: None for other in function.params} | {param.name: described})
    for constraint in function.constraints:
        key = constraint.key
        if key is None or key.parameter != param.name or constraint.require is None:
            continue
        if not arguments.holds(constraint.require.expression):
            return key.name, constraint.note
    return None
