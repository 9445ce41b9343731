"""The file about Relax: what it names exists, and every call has its arguments."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.emit.tvm.entries import argument, by_aten_name, counted, names_of, operators_of, read
from diopigen.ir.model import Function
from diopigen.ir.relax_model import FusedOperators, RelaxOperator
from diopigen.spec.expression import Expression, ExpressionError, parse

RULES = {
    "relax-entry": "An entry about Relax calls a function of the interface, with all arguments that it needs.",
}
EVALUATES = True
"""It follows what the interface has: it is silent where that is in error."""


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    relax = subject.interface.relax
    if not subject.complete:
        return
    for operator, name in relax.named.items():
        if by_aten_name(subject.interface, name) is None:
            message = f"{operator}: no function of tensors alone serves '{name}' of ATen"
            _report(sink, message, relax.named_spans[operator], "list it under operators, with a function")
    for entry in relax.operators:
        _check_operator(subject, entry, sink)
    for fused in relax.fused:
        _check_fused(subject, fused, sink)


def _report(sink: Sink, message: str, span: Span, fix: str) -> None:
    sink.error("relax-entry", message, span, fix=fix)


def _function(subject: Subject, who: str, name: str, span: Span, sink: Sink) -> Function | None:
    function = subject.by_name.get(name)
    if function is None:
        fix = subject.suggestion(name, list(subject.by_name)) or "name a function of the interface, without diopi"
        _report(sink, f"{who}: there is no function '{name}'", span, fix)
    return function


def _check_operator(subject: Subject, entry: RelaxOperator, sink: Sink) -> None:
    function = _function(subject, entry.relax, entry.function, entry.span, sink)
    if function is None:
        return
    for value in entry.arguments.values():
        try:
            argument(value) if isinstance(value, str) else None
        except ExpressionError as error:
            _report(sink, f"{entry.relax}: '{value}': {error.message}", entry.span, "docs/tvm.md has the forms")
    if not entry.several:
        _check_parameters(function, entry.relax, tuple(entry.arguments), entry.span, sink)


def _check_parameters(function: Function, who: str, names: tuple[str, ...], span: Span, sink: Sink) -> None:
    parameters = {param.name: param for param in read(function)}
    for name in names:
        if name not in parameters:
            fix = did_you_mean(name, parameters) or f"it reads {', '.join(parameters)}"
            _report(sink, f"{who}: {function.name} reads no parameter '{name}'", span, fix)
    lists = counted(function)
    for name, param in parameters.items():
        if name not in names and name not in lists and param.default is None and not param.nullable:
            _report(sink, f"{who}: {function.name} needs '{name}'", span, "add it to arguments")


def _check_fused(subject: Subject, fused: FusedOperators, sink: Sink) -> None:
    function = _function(subject, fused.match, fused.function, fused.span, sink)
    try:
        match: Expression = parse(fused.match)
    except ExpressionError as error:
        _report(sink, f"'{fused.match}' is no expression: {error.message}", fused.span, "write operators as calls")
        return
    found = operators_of(match)
    for name in (*fused.where, *((fused.operator,) if fused.operator else ())):
        if name not in found:
            _report(sink, f"{fused.match}: it has no operator '{name}'", fused.span, f"it has {', '.join(found)}")
    if function is not None:
        inner = (entry for entry in subject.interface.relax.operators if entry.relax == fused.operator)
        names = {*names_of(match), *(name for entry in inner for name in entry.arguments)}
        _check_parameters(function, fused.match, tuple(sorted(names)), fused.span, sink)
