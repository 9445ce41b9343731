"""The arguments of a case as predicates see them: shapes, dtypes, numbers, and elements where one asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diopigen.conformance.cases.values import draw, seed_of
from diopigen.conformance.dtypes import decode
from diopigen.conformance.model import Case, Number, Operand, Value
from diopigen.contract.arguments import Array, Described, Scalar, Tensor
from diopigen.contract.arrays import listed


def described(case: Case) -> Mapping[str, Described]:
    """The arguments of a case, described. Elements are sampled on their own: a predicate over them has to hold for
    whatever the recipe may give."""
    return describe(case.arguments, case.id)


def describe(arguments: Mapping[str, Value], label: str) -> Mapping[str, Described]:
    """Arguments, described; elements are sampled by the label."""
    return {name: _described(value, f"{label}:{name}") for name, value in arguments.items()}


def _described(value: Value, label: str) -> Any:
    if isinstance(value, Operand):
        return Tensor(value.shape, value.dtype, _Sampled(value, label))
    if isinstance(value, Number):
        return Scalar(value.value, value.dtype)
    if isinstance(value, tuple):
        return tuple(_described(item, f"{label}[{index}]") for index, item in enumerate(value))
    return value


class _Sampled:
    """The elements of an operand, drawn once a predicate reads them, which may do so several times."""

    __slots__ = ("elements", "label", "operand")

    def __init__(self, operand: Operand, label: str) -> None:
        self.operand = operand
        self.label = label
        self.elements: tuple[Any, ...] | Array | None = None

    def __call__(self) -> tuple[Any, ...] | Array:
        if self.elements is None:
            source = np.random.Generator(np.random.PCG64(seed_of(self.label, 0)))
            stored = draw(self.operand.values, self.operand.shape, self.operand.dtype, source)
            self.elements = listed(decode(stored, self.operand.dtype))
        return self.elements
