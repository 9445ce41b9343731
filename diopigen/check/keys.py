"""Keys of parameters that say which values are legal: what each says is possible, and the default is one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diopigen.check.rule import Subject
from diopigen.contract.arguments import Described, Scalar
from diopigen.contract.evaluate import Arguments
from diopigen.diagnostics import Sink, Span
from diopigen.ir.keys import KEY_TYPES
from diopigen.ir.model import Default, Function, Parameter
from diopigen.ir.recipe import DISTRIBUTIONS, drawn_of
from diopigen.spec.interval import Interval

RULES = {
    "empty-range": "A range holds a number, and leaves some out.",
    "bad-domain": "A domain is a way to draw values that recipes know.",
    "default-out-of-range": "A default value and an example satisfy the keys of their parameter.",
}

Report = Callable[[str, Function, str, Span, str], None]


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    seen: set[tuple[Span, str]] = set()

    def error(rule: str, function: Function, message: str, span: Span, fix: str) -> None:
        # A variant that inherits a parameter repeats its faults.
        if (span, rule) not in seen:
            seen.add((span, rule))
            sink.error(rule, f"{function.name}: {message}", span, fix=fix)

    for function in subject.functions:
        keys = [constraint.key for constraint in function.constraints]
        for param in function.params:
            for key in param.keys:
                if isinstance(key.form, Interval) and key.form.is_empty:
                    message = f"no number is in the '{key.name}' of '{param.name}'"
                    error("empty-range", function, message, key.span, "put the smaller end first")
                elif key not in keys and isinstance(key.form, Interval) and param.type in KEY_TYPES[key.name]:
                    message = f"every number is in the '{key.name}' of '{param.name}'"
                    error("empty-range", function, message, key.span, f"remove '{key.name}'")
            if param.domain is not None and drawn_of(param.domain.expression) is None:
                message = f"'{param.domain.text}' is not a way to draw values"
                error("bad-domain", function, message, param.domain.span, f"use one of: {', '.join(DISTRIBUTIONS)}")
            _check_value(function, param, "default", param.default, error)
            _check_value(function, param, "example", param.example, error)


def _check_value(function: Function, param: Parameter, what: str, provided: Default | None, error: Report) -> None:
    if provided is None or provided.value is None:
        return
    value: Any = provided.value
    if any(isinstance(entry, str) for entry in (value if isinstance(value, list | tuple) else (value,))):
        return  # a name is in no range of numbers; whether the parameter may have one is a rule of its own
    described: Described = Scalar(value, "float64") if param.type == "scalar" else value
    arguments = Arguments(function, {other.name: None for other in function.params} | {param.name: described})
    for constraint in function.constraints:
        key = constraint.key
        if key is None or key.parameter != param.name or constraint.require is None:
            continue
        if not arguments.holds(constraint.require.expression):
            message = f"the {what} of '{param.name}' does not satisfy '{key.name}'"
            fix = f"change one of the two: {constraint.note}"
            error("default-out-of-range", function, message, provided.span, fix)
