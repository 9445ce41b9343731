"""The axis `exhaustive`, which only a run that asks for it has: elementwise operators for all 65,536 numbers of float16
and bfloat16.

Kernels approximate by parts, or look results up, so that a wrong number may have right neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from diopigen.conformance.cases.axes import Maker
from diopigen.conformance.cases.choices import Choice, primary_dtypes
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Case, Operand
from diopigen.contract.dtypes import kind
from diopigen.ir.model import Function
from diopigen.ir.recipe import Drawn

NAMES = ("exhaustive",)

_SHAPE = (256, 256)


def cases(function: Function, resolver: Resolver) -> Iterator[Case]:
    """For each tensor that an elementwise operator reads and each 16-bit floating dtype a case in which it has all
    numbers, and other tensors have drawn ones."""
    if function.kernel is None or function.tolerance == "random" or "special_values" in function.unspecified:
        return
    maker = Maker(function, resolver)
    # Large numbers have no specified result where products on the way to it may overflow. IEEE 754 has another result
    # for a signaling NaN where a NaN does not count, as in 1 ** NaN.
    limit = 10.0 if "overflow" in function.unspecified else math.inf
    values = Drawn("bits", (limit, int(len(maker.operands) > 1)))
    for step, dtype in enumerate(primary_dtypes(function)):
        if kind(dtype) != "float" or STORAGE[dtype].itemsize != 2:
            continue
        try:
            arguments = maker.resolved({}, _SHAPE, Choice(dtype, step))
        except RecipeError:
            continue
        for param in maker.operands:
            operand = arguments[param.name]
            if not isinstance(operand, Operand) or (operand.shape, operand.dtype) != (_SHAPE, dtype):
                continue
            changed = {**arguments, param.name: replace(operand, values=values)}
            if resolver.calls.admits(changed):
                yield maker.created("exhaustive", f"exhaustive-{param.name}", dtype, changed)
