"""The arguments of a case as predicates see them: shapes, dtypes, numbers, and elements where one asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import decode
from diopigen.conformance.model import Case, Number, Operand, Value
from diopigen.conformance.values import draw, seed_of
from diopigen.contract.arguments import Described, Scalar, Tensor
from diopigen.contract.evaluate import Arguments
from diopigen.ir.model import Function


def described(case: Case) -> Mapping[str, Described]:
    """The arguments of a case, described. Elements are sampled on their own: a predicate over them has to hold for
    whatever the recipe may give."""
    return describe(case.arguments, case.id)


def describe(arguments: Mapping[str, Value], label: str) -> Mapping[str, Described]:
    """Arguments, described; elements are sampled by the label."""
    return {name: _described(value, f"{label}:{name}") for name, value in arguments.items()}


def keeps_contract(function: Function, case: Case) -> bool:
    """Whether a case that was derived is a legal call: shapes agree with the lists of dimensions, and each constraint
    holds."""
    arguments = Arguments(function, described(case))
    predicates = (c.require.expression for c in function.constraints if c.require is not None)
    return arguments.agree() and all(map(arguments.holds, predicates))


def _described(value: Value, label: str) -> Any:
    if isinstance(value, Operand):
        # A predicate may read the elements several times.
        return Tensor(value.shape, value.dtype, cache(lambda: _elements(value, label)))
    if isinstance(value, Number):
        return Scalar(value.value, value.dtype)
    if isinstance(value, tuple):
        return tuple(_described(item, f"{label}[{index}]") for index, item in enumerate(value))
    return value


def _elements(operand: Operand, label: str) -> tuple[Any, ...]:
    source = np.random.Generator(np.random.PCG64(seed_of(label, 0)))
    stored = draw(operand.values, operand.shape, operand.dtype, source)
    return tuple(decode(stored, operand.dtype).reshape(-1).tolist())
