"""The frame of elementwise oracles: operands cast to the compute dtype, a NumPy expression, a cast to the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.contract.dtypes import MANTISSA, category, kind, real_of, to_float

Expression = Callable[..., Any]
"""Takes the operands in the compute dtype, and gives the result or (result, scale)."""


def same(dtype: str) -> str:
    """The promoted dtype itself as the compute dtype."""
    return dtype


def arithmetic(dtype: str) -> str:
    """The dtype in which a computation runs: half precision is computed in float32."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def finish(
    call: Call, values: Any, compute: str, scale: Any = None, *, signed_zero: bool = True, free: Array | None = None
) -> Expected:
    """The result of a computation in a dtype, cast to the dtype and shape of the target."""
    out = call.dtype(call.target)
    found = np.asarray(values)
    precision = None
    if kind(compute) in ("bool", "int") or found.dtype.kind == "b" or category(out) < category(compute):
        found = convert(found, out)
    elif (category(out) == 2 and MANTISSA[out] > MANTISSA[real_of(compute)]) or (
        category(out) == 3 and MANTISSA[real_of(out)] > MANTISSA[real_of(compute)]
    ):
        precision = real_of(compute)
    shape = call.shapes[call.target]
    wide = (
        None
        if scale is None
        else np.broadcast_to(np.asarray(scale, np.result_type(np.asarray(scale), np.float64)), shape)
    )
    return Expected(np.broadcast_to(found, shape), wide, 1, precision, signed_zero, free)


def elementwise(
    operators: str,
    names: str,
    expression: Expression,
    compute: Callable[[str], str] = same,
    *,
    numbers: str = "",
    signed_zero: bool = True,
) -> None:
    """Registers an elementwise oracle for one operator or several (words).

    `names` (words) are the operands that take part in promotion, `numbers` further ones that are cast to its result.
    The expression receives all of them in order; null ones as None.
    """
    operands, others = names.split(), numbers.split()

    def answer(call: Call) -> Answer:
        dtype = compute(call.promoted(*operands))
        arguments = [call.cast(name, dtype) if call.given(name) else None for name in operands + others]
        with np.errstate(all="ignore"):
            found = expression(*arguments)
            values, scale = found if isinstance(found, tuple) else (found, None)
            return {call.target: finish(call, values, dtype, scale, signed_zero=signed_zero)}

    oracle(*operators.split())(answer)


def unary(
    operators: str, expression: Expression, compute: Callable[[str], str] = same, *, signed_zero: bool = True
) -> None:
    """Registers an elementwise oracle of one operand, `input`."""
    elementwise(operators, "input", expression, compute, signed_zero=signed_zero)


def magnitude(value: Array) -> Array:
    """The absolute value, a float also for integers, so that nothing wraps."""
    return np.asarray(np.abs(value.astype(np.result_type(value, np.float64))))


__all__ = ["arithmetic", "elementwise", "finish", "magnitude", "same", "to_float", "unary"]
