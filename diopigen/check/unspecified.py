"""`unspecified` names only properties that the operator has."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink
from diopigen.ir.model import BASE, Function

RULES = {"unspecified-nothing": "What an operator leaves open is something that it has."}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for function in subject.functions:
        if function.variant != BASE:
            continue  # a variant has the list of its operator
        if "overflow" in function.unspecified and function.kernel is None:
            _report(function, "overflow", "only an operator with a kernel expression has steps", sink)
        if "indices" in function.unspecified and function.backward_of is None:
            _report(function, "indices", "only a gradient has a forward operator that returned them", sink)


def _report(function: Function, word: str, reason: str, sink: Sink) -> None:
    message = f"{function.name}: '{word}' is unspecified: {reason}"
    sink.error("unspecified-nothing", message, function.at("unspecified"), fix=f"remove '{word}'")
