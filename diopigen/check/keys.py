"""Keys of parameters that say which values are legal: what each says is possible."""

from __future__ import annotations

from collections.abc import Callable

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink, Span
from diopigen.ir.keys import ANY, KEY_TYPES
from diopigen.ir.model import Function
from diopigen.ir.recipe import DISTRIBUTIONS, drawn_of
from diopigen.ir.types import INTEGERS
from diopigen.spec.interval import Interval

RULES = {
    "empty-range": "A range holds a number, and leaves some out.",
    "bad-domain": "A domain is a way to draw values that recipes know.",
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
                elif key.text == ANY and param.type in INTEGERS | {"sizes"}:
                    continue
                elif key not in keys and isinstance(key.form, Interval) and param.type in KEY_TYPES[key.name]:
                    message = f"every number is in the '{key.name}' of '{param.name}'"
                    error("empty-range", function, message, key.span, f"remove '{key.name}'")
            for way in (param.domain, param.typical):
                if way is not None and drawn_of(way.expression) is None:
                    message = f"'{way.text}' is not a way to draw values"
                    error("bad-domain", function, message, way.span, f"use one of: {', '.join(DISTRIBUTIONS)}")
