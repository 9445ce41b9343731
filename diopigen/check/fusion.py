"""Compiled graphs of PyTorch: operators are fused over the last dimensions, or called by their planner."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.diagnostics import Note, Sink, Span, did_you_mean
from diopigen.emit.torch.schema import functional_overloads, schema_of
from diopigen.ir.aten_model import FusedOverload
from diopigen.ir.model import Function

RULES = {
    "bad-fusion": "What compiled graphs fuse is an overload of ATen that writes nothing, fused by one operator.",
    "bad-plan": "A handwritten kernel that compiled graphs replace makes one call.",
}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    if not subject.interface.aten.schemas:
        return
    first: dict[str, tuple[str, Span]] = {}
    for function in subject.functions:
        for fused in function.fused:
            for name in _overloads(subject, function, fused, sink):
                owner, span = first.setdefault(name, (function.name, fused.span))
                if span is not fused.span:
                    message = f"{function.name}: '{name}' is fused by {owner} already"
                    notes = [Note("first fused here", span)]
                    sink.error("bad-fusion", message, fused.span, notes=notes, fix="keep it where it fits best")
    for entry in subject.interface.aten.handwritten:
        if entry.planned and len(entry.calls) != 1:
            message = f"'{entry.overload}' is planned as one call, but makes {len(entry.calls)}"
            sink.error("bad-plan", message, entry.span, fix="remove 'planned', or name the one function in 'calls'")


def _overloads(subject: Subject, function: Function, fused: FusedOverload, sink: Sink) -> list[str]:
    """The overloads that an entry is about; none where it is wrong."""
    if not fused.name:
        found = functional_overloads(subject.interface, function)
        if not found:
            message = f"{function.name} is fused as {fused.form}, but names no overload that makes its results"
            fix = "name one in 'aten', or write a list of overloads and forms"
            sink.error("bad-fusion", message, fused.span, fix=fix)
        return found
    schema = schema_of(subject.interface, fused.name)
    if fused.name in subject.interface.aten.damaged:
        return []
    if schema is None:
        fix = did_you_mean(fused.name, subject.interface.aten.schemas) or "see native_functions.yaml of torch"
        message = f"{function.name}: {subject.interface.aten.torch} has no overload '{fused.name}'"
        sink.error("bad-fusion", message, fused.span, fix=fix)
    elif any(argument.written for argument in schema.arguments):
        message = f"{function.name}: '{fused.name}' writes to an argument, which no fused kernel does"
        sink.error("bad-fusion", message, fused.span, fix="name the overload that makes its results")
    else:
        return [fused.name]
    return []
