"""The functions and types of kernel expressions.

Kinds of a value: `bool`, `number` (integral or floating, as the operands have it), `complex`, `text`, `enum`, `any`.
The table is the one place where a function is introduced; a backend's printer and the checker both read it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function of kernel expressions: kinds of its arguments and of its value."""

    name: str
    arguments: tuple[str, ...]
    result: str
    doc: str


def _unary(names: str, doc: str, result: str = "number") -> tuple[KernelFunction, ...]:
    return tuple(KernelFunction(name, ("number",), result, doc.replace("{}", name)) for name in names.split())


KERNEL_FUNCTIONS: dict[str, KernelFunction] = {
    function.name: function
    for function in (
        KernelFunction(
            "where", ("bool", "any", "any"), "same", "the second argument where the first holds, else the third"
        ),
        KernelFunction("min", ("number", "number"), "number", "the smaller one; NaN where either is NaN"),
        KernelFunction("max", ("number", "number"), "number", "the larger one; NaN where either is NaN"),
        KernelFunction("fmin", ("number", "number"), "number", "the smaller one; a NaN loses"),
        KernelFunction("fmax", ("number", "number"), "number", "the larger one; a NaN loses"),
        KernelFunction("pow", ("number", "number"), "number", "a power; integral operands wrap"),
        KernelFunction("atan2", ("number", "number"), "number", "the angle of a point"),
        KernelFunction("fmod", ("number", "number"), "number", "the remainder with the sign of the dividend"),
        KernelFunction("hypot", ("number", "number"), "number", "the length of a vector without overflow"),
        KernelFunction("trunc_div", ("number", "number"), "number", "division rounded towards zero"),
        KernelFunction("floor_div", ("number", "number"), "number", "division rounded down"),
        KernelFunction("complex", ("number", "number"), "complex", "a complex number from its parts"),
        KernelFunction("polar", ("number", "number"), "complex", "a complex number from length and angle"),
        *_unary("abs sign sgn floor ceil round trunc square reciprocal", "{} of a number; round is half to even"),
        *_unary("sqrt rsqrt exp exp2 expm1 log log2 log10 log1p", "{} in the compute dtype"),
        *_unary("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh", "{} in radians"),
        *_unary("erf erfc erfinv lgamma sigmoid", "{} in the compute dtype"),
        *_unary("conj real imag", "{} of a complex number"),
        *_unary("isnan isinf isfinite is_integral", "whether the value is so", "bool"),
        KernelFunction("is_null", ("param",), "bool", "whether a nullable parameter is null"),
        KernelFunction("index", ("literal",), "number", "the coordinate in a dimension; negative counts from the end"),
        KernelFunction("linear_index", (), "number", "the position in row-major order"),
        *_unary("to_float", "the value in the compute floating dtype"),
        *_unary("to_int", "the value as int64, rounded towards zero"),
        *_unary("to_bool", "whether the value differs from zero", "bool"),
    )
}

CONSTANTS: dict[str, float | bool] = {"pi": math.pi, "inf": math.inf, "nan": math.nan, "true": True, "false": False}
