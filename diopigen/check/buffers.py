"""Buffers of collectives: how many elements they hold, of which dtype, on which ranks, and where they may overlap."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.contract.kinds import Kinds
from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.clauses import Formula
from diopigen.ir.model import Function, Parameter

RULES = {
    "bad-buffer": "A buffer has a number of elements and a parameter that is their dtype, in terms of what there is.",
}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for function in subject.functions:
        for param in function.params:
            if param.type == "buffer":
                _check(subject, function, param, sink)


def _check(subject: Subject, function: Function, param: Parameter, sink: Sink) -> None:
    def report(text: str, span: Span, fix: str) -> None:
        sink.error("bad-buffer", f"{function.name}: buffer '{param.name}' {text}", span, fix=fix)

    held = param.elements
    if held is None:
        if "elements" not in param.spans:
            report("has no 'elements'", param.span, "say how many it holds: 'elements: count * nranks'")
        return
    dtypes = [other.name for other in function.params if other.type == "diopiDtype_t"]
    if held.of not in dtypes:
        fix = did_you_mean(held.of, dtypes) or f"'of' names a diopiDtype_t: {', '.join(dtypes) or 'there is none'}"
        report(f"has no dtype '{held.of}'", param.at("of"), fix)
    formulas: list[tuple[Formula, str]] = [(held.count, "number")]
    if held.on is not None:
        formulas.append((held.on, "bool"))
    if held.in_place is not None:
        formulas.append((held.in_place.offset, "number"))
        others = [other.name for other in function.params if other.type == "buffer" and other is not param]
        if held.in_place.buffer not in others:
            fix = did_you_mean(held.in_place.buffer, others) or "name another buffer of the function"
            report(f"is in place of '{held.in_place.buffer}', which is no other buffer", held.in_place.span, fix)
    enums = frozenset(enum.name for enum in subject.interface.enums)
    for formula, expected in formulas:
        kinds = Kinds(function, subject.enum_values, enums)
        found = kinds.infer(formula.expression)
        for fault in kinds.faults:
            report(f"has an expression that cannot be read: {fault.message}", formula.span, fault.fix)
        if not kinds.faults and found != expected:
            report(f"has '{formula.text}', which is no {expected}", formula.span, "see buffers in docs/spec.md")
