"""The forms of fused kernels that go over the columns of a row: sums, extremes, softmax and the like.

An operator of the spec names its form (`fused`). Every fact about a form is in its entry of `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .fused_chain import RowBuilder

Value = tuple[str, Any]


@dataclass(frozen=True)
class Form:
    """Builder of a form. `made` appends its operations and returns its value."""

    made: Callable[[RowBuilder, list[Value]], Value]
    gives_row: bool = False
    """True if it gives one value for a row, not one for each column."""
    operands: tuple[str, ...] = ("self",)
    """The arguments of the overload that it reads."""
    computed: str = "floating"
    """The dtype that it is computed in: `floating`, that of the `operand`, `bool`, or that of a `sum`."""
    is_corrected: bool = False
    """True if the overload has a correction of the number of columns."""


def _reduced(form: str) -> Callable[[RowBuilder, list[Value]], Value]:
    return lambda build, operands: build.reduce(form, operands[0], build.own)


def _of_masks(form: str) -> Callable[[RowBuilder, list[Value]], Value]:
    return lambda build, operands: build.reduce(form, build.converted(operands[0], torch.bool), build.own)


def _squares(build: RowBuilder, x: Value) -> Value:
    distance = build.call_wide("diopiSub", (x, build.reduce("mean", x, build.wide)))
    return build.call_wide("diopiMul", (distance, distance))


def _variance(build: RowBuilder, operands: list[Value]) -> Value:
    return build.reduce_wide("variance", _squares(build, operands[0]), build.own)


def _deviation(build: RowBuilder, operands: list[Value]) -> Value:
    variance = build.reduce_wide("variance", _squares(build, operands[0]))
    return build.call_wide("diopiSqrt", (variance,), build.own, is_row=True)


def _powers(build: RowBuilder, x: Value) -> tuple[Value, Value, Value]:
    """Distances to the largest element, their exponentials, and the sum of these."""
    distance = build.call("diopiSub", (x, build.reduce("max", x)))
    power = build.call("diopiExp", (distance,))
    return distance, power, build.reduce("sum", power)


def _softmax(build: RowBuilder, operands: list[Value]) -> Value:
    _, power, total = _powers(build, operands[0])
    return build.call("diopiDiv", (power, total), build.own)


def _log_softmax(build: RowBuilder, operands: list[Value]) -> Value:
    distance, _, total = _powers(build, operands[0])
    return build.call("diopiSub", (distance, build.call("diopiLog", (total,), is_row=True)), build.own)


def _softmax_backward(build: RowBuilder, operands: list[Value]) -> Value:
    x, output = operands
    total = build.reduce_wide("sum", build.call_wide("diopiMul", (x, output)))
    return build.call_wide("diopiMul", (output, build.call_wide("diopiSub", (x, total))), build.own)


def _log_softmax_backward(build: RowBuilder, operands: list[Value]) -> Value:
    x, output = operands
    total = build.reduce("sum", x, build.wide)
    share = build.call_wide("diopiMul", (build.call("diopiExp", (output,)), total))
    return build.call_wide("diopiSub", (x, share), build.own)


_GRADIENT = ("grad_output", "output")
FORMS: Mapping[str, Form] = {
    "sum": Form(_reduced("sum"), gives_row=True, computed="sum"),
    "mean": Form(_reduced("mean"), gives_row=True),
    "max": Form(_reduced("max"), gives_row=True, computed="operand"),
    "min": Form(_reduced("min"), gives_row=True, computed="operand"),
    "any": Form(_of_masks("any"), gives_row=True, computed="bool"),
    "all": Form(_of_masks("all"), gives_row=True, computed="bool"),
    "variance": Form(_variance, gives_row=True, is_corrected=True),
    "deviation": Form(_deviation, gives_row=True, is_corrected=True),
    "softmax": Form(_softmax),
    "log_softmax": Form(_log_softmax),
    "softmax_backward": Form(_softmax_backward, operands=_GRADIENT),
    "log_softmax_backward": Form(_log_softmax_backward, operands=_GRADIENT),
}
