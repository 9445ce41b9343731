"""Predicates of constraints: known operands and functions, kinds that fit, elements read only where a kernel checks."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.contract.kinds import Kinds
from diopigen.diagnostics import Sink, Span
from diopigen.ir.model import Constraint, Function

RULES = {
    "predicate-operand": "An operand of a predicate is a parameter, a dimension that an input names, or a constant.",
    "predicate-function": "A function of a predicate is in the table of docs/spec.md.",
    "predicate-arity": "A function of a predicate has as many arguments as it takes.",
    "predicate-kind": "Operands of a predicate are of a kind that the operator or function takes.",
    "predicate-elements": "A predicate reads elements of tensors exactly where it says 'checked: by kernel'.",
}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    enums = frozenset(enum.name for enum in subject.interface.enums)
    seen: set[tuple[Span, str]] = set()
    for function in subject.functions:
        for constraint in function.constraints:
            for rule, message, span, fix in _faults(subject, function, constraint, enums):
                # A variant that inherits a constraint repeats its faults.
                if (span, message) not in seen:
                    seen.add((span, message))
                    sink.error(rule, f"{function.name}: {constraint.id}: {message}", span, fix=fix)


def _faults(
    subject: Subject, function: Function, constraint: Constraint, enums: frozenset[str]
) -> list[tuple[str, str, Span, str]]:
    formula = constraint.require
    if formula is None:
        return []
    kinds = Kinds(function, subject.enum_values, enums)
    kinds.check(formula.expression, by_kernel=constraint.checked == "kernel")
    at = formula.at
    return [(one.rule, one.message, at(one.at.offset, one.length), one.fix) for one in kinds.faults]
