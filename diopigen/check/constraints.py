"""Constraints and argument recipes."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink, did_you_mean
from diopigen.ir.keys import written
from diopigen.ir.model import BASE, Function
from diopigen.ir.recipe import RecipeReader

RULES = {
    "constraint-order": "The ids of the constraints of an operator ascend.",
    "constraint-error": "A constraint names a value of diopiError_t other than success.",
    "constraint-without-case": "A constraint has a case that breaks it, or says why none can be written.",
    "constraint-without-predicate": "A constraint has a predicate, or says in words what only the library can know.",
    "bad-recipe": "An argument recipe names parameters of the operator and fits their types.",
}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    dtypes = frozenset(info.name for info in subject.interface.dtypes)
    for function in subject.functions:
        reader = RecipeReader(function, dtypes, subject.enum_values, sink)
        for case in function.cases:
            reader.read(case)
        base = subject.by_name.get(subject.interface.naming.full(function.operator))
        inherited = function.variant != BASE and base is not None and written(base) == written(function)
        if not inherited:
            _check_constraints(subject, function, reader, sink)


def _check_constraints(subject: Subject, function: Function, reader: RecipeReader, sink: Sink) -> None:
    last = 0
    for constraint in written(function):
        where = f"{function.name}: {constraint.id}"
        number = int(constraint.id.removeprefix("C"))
        if number <= last:
            message = f"{where} comes after C{last}"
            fix = f"call it C{last + 1}, or give it a number that no constraint had before"
            sink.error("constraint-order", message, constraint.span, fix=fix)
        last = max(last, number)
        if constraint.error not in subject.error_values or constraint.error == "diopiSuccess":
            fix = did_you_mean(constraint.error, subject.error_values) or "use diopiErrorOccurred"
            message = f"{where}: '{constraint.error}' is not an error of {subject.interface.naming.status}"
            sink.error("constraint-error", message, constraint.error_span or constraint.span, fix=fix)
        if constraint.checked == "library":
            if constraint.require is not None or not constraint.note.strip():
                fix = "write 'note' and no 'require', or leave 'checked' out"
                message = f"{where} is checked by the library alone"
                sink.error("constraint-without-predicate", message, constraint.span, fix=fix)
        elif constraint.require is None and not constraint.is_damaged:
            fix = "add 'require', or 'checked: by library' where no predicate can say it"
            sink.error("constraint-without-predicate", f"{where} has no predicate", constraint.span, fix=fix)
        if constraint.case is not None:
            reader.read(constraint.case)
            if constraint.untestable is not None:
                message = f"{where} has a case and is called untestable"
                sink.error("constraint-without-case", message, constraint.span, fix="remove one of the two")
        elif not (constraint.untestable or "").strip():
            message = f"{where} has no case that breaks it"
            fix = "add 'case' with such arguments, or the reason in 'untestable'"
            sink.error("constraint-without-case", message, constraint.span, fix=fix)
