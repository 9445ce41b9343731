"""Predicates of constraints and open orders, and the sizes of `work`: known operands and functions, kinds that fit, and
elements read only where a kernel checks."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.check.rule import Subject
from diopigen.contract.kinds import Kinds
from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.clauses import Formula
from diopigen.ir.model import BASE, Function
from diopigen.ir.types import TENSORS
from diopigen.spec.grammar_operators import OPERATIONS

RULES = {
    "predicate-operand": "An operand of a predicate is a parameter, a dimension that an input names, or a constant.",
    "predicate-function": "A function of a predicate is in the table of docs/expressions.md.",
    "predicate-arity": "A function of a predicate has as many arguments as it takes.",
    "predicate-kind": "Operands of a predicate are of a kind that the operator or function takes.",
    "predicate-elements": "A predicate reads elements of tensors exactly where it says 'checked: by kernel'.",
}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    enums = frozenset(enum.name for enum in subject.interface.enums)
    seen: set[tuple[Span, str]] = set()
    for function in subject.functions:
        for label, formula, by_kernel in (*_predicates(function), *_work(function, sink)):
            kinds = Kinds(function, subject.enum_values, enums)
            if by_kernel is None:
                kinds.check_number(formula.expression)
            else:
                kinds.check(formula.expression, by_kernel=by_kernel)
            for one in kinds.faults:
                span = formula.at(one.at.offset, one.length)
                # A variant that inherits a predicate repeats its faults.
                if (span, one.message) not in seen:
                    seen.add((span, one.message))
                    sink.error(one.rule, f"{function.name}: {label}: {one.message}", span, fix=one.fix)


def _work(function: Function, sink: Sink) -> Iterator[tuple[str, Formula, None]]:
    """The expressions of `work`, which are numbers; in a variant they may be about parameters that it does not have."""
    tensors = [param.name for param in function.params if param.type in TENSORS]
    for name, formula in function.work if function.variant == BASE else ():
        if name not in (OPERATIONS, *tensors):
            fix = did_you_mean(name, [OPERATIONS, *tensors]) or f"tensors: {', '.join(tensors)}"
            sink.error("predicate-operand", f"{function.name}: work: '{name}' is no tensor", formula.span, fix=fix)
        yield f"work of '{name}'", formula, None


def _predicates(function: Function) -> Iterator[tuple[str, Formula, bool]]:
    """The predicates of a function: what each is called, and whether it reads elements."""
    for constraint in function.constraints:
        if constraint.require is not None:
            yield constraint.id, constraint.require, constraint.checked == "kernel"
    for param in function.params:
        if param.unordered is not None:
            yield f"order of '{param.name}'", param.unordered.where, False
        if param.ties is not None:
            yield f"ties of '{param.name}'", param.ties.where, False
