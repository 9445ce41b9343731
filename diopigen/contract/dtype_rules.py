"""The dtypes that a rule of the spec allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diopigen.contract.dtypes import promote
from diopigen.contract.functions import FUNCTIONS, ONE_OF
from diopigen.ir.load import known_dtypes
from diopigen.spec.expression import Call, Expression, Name

NAMED = frozenset(known_dtypes())
"""The dtypes that a rule may name among alternatives."""

Operands = Callable[[str], Sequence[tuple[str, "int | None"]]]
"""The dtypes and ranks behind a parameter's name: one for a tensor or number, several for an array, none for null."""


def literal(argument: Expression) -> str:
    """The dtype that an alternative names; empty where it is a parameter or a rule."""
    return argument.name if isinstance(argument, Name) and argument.name in NAMED else ""


def alternatives(rule: Expression, operands: Operands) -> tuple[str, ...]:
    """The dtypes that a rule allows, each once and in its order: several for `one_of`. Raises as `evaluate`."""
    if not (isinstance(rule, Call) and rule.function == ONE_OF):
        return (evaluate(rule, operands),)
    return tuple(dict.fromkeys(literal(one) or evaluate(one, operands) for one in rule.arguments))


def evaluate(rule: Expression, operands: Operands) -> str:
    """The dtype of a rule, the first of alternatives. Raises `LookupError` where a parameter that it needs is null."""
    if isinstance(rule, Name):
        known = operands(rule.name)
        if not known:
            raise LookupError("the parameter is null")
        return known[0][0]
    if not isinstance(rule, Call):
        raise LookupError("not a dtype rule")
    if rule.function == ONE_OF:
        return alternatives(rule, operands)[0]
    if rule.function == "same":
        return evaluate(rule.arguments[0], operands)
    if rule.function != "promote":
        return str(FUNCTIONS[rule.function].evaluate(evaluate(rule.arguments[0], operands)))
    known = [one for name in rule.arguments if isinstance(name, Name) for one in operands(name.name)]
    if not known:
        raise LookupError("nothing to promote")
    return promote(known)
