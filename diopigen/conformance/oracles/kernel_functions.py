"""The functions of kernel expressions over NumPy arrays, as docs/spec.md lists them.

Operands are in the type that an oracle computes in (`dtypes.widest`) or exact integers and bools. NumPy's own functions
follow C: -0.0 keeps its sign through odd functions, NaN goes through, and integers wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array


def magnitude(value: Array) -> Array:
    """The absolute value, a float also for integers, so that nothing wraps."""
    return np.asarray(np.abs(value.astype(np.result_type(value, np.float64))))


def _each(function: Any, x: Array) -> Array:
    """A function of one float from `math`, applied to every element: float64 even where the operand is wider."""
    return np.array([function(float(value)) for value in x.ravel()], dtype=np.float64).reshape(x.shape)


def erf(x: Array) -> Array:
    """The error function."""
    return _each(math.erf, x)


def erfc(x: Array) -> Array:
    """1 - erf(x) without cancellation."""
    return _each(math.erfc, x)


def _erfinv_of_one(y: float) -> float:
    """Newton's method on erf, from Winitzki's approximation; the tail uses erfc so that no digits cancel."""
    if math.isnan(y) or abs(y) > 1:
        return math.nan
    if abs(y) == 1 or y == 0:
        return math.copysign(math.inf, y) if y else y
    size = abs(y)
    logarithm = math.log1p(-size * size)
    half = 2 / (math.pi * 0.147) + logarithm / 2
    x = math.sqrt(max(math.sqrt(half * half - logarithm / 0.147) - half, 0.0))
    for _ in range(60):
        error = math.erf(x) - size if size < 0.5 else (1 - size) - math.erfc(x)
        step = error / (2 / math.sqrt(math.pi) * math.exp(-x * x))
        x -= step / (1 + x * step)
        if abs(step) <= 1e-16 * abs(x):
            break
    return math.copysign(x, y)


def erfinv(x: Array) -> Array:
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""
    return _each(_erfinv_of_one, x)


def _lgamma_of_one(x: float) -> float:
    """Infinite at the poles and where the result overflows."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    if x.dtype.kind == "c":
        return np.asarray(1 / (1 + np.exp(-x)))
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1 / (1 + small), small / (1 + small)))


def _sign(x: Array) -> Array:
    """True stays true, and the sign of NaN is 0."""
    return x if x.dtype == np.bool_ else np.where(np.isnan(x), 0, np.sign(x)).astype(x.dtype)


def _sgn(x: Array) -> Array:
    if x.dtype.kind != "c":
        return _sign(x)
    length = np.abs(x)
    return np.asarray(np.where(length == 0, 0, x / np.where(length == 0, 1, length)))


def _whole(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """A rounding function, which leaves integers and bools as they are."""
    return lambda x: x if x.dtype.kind in "iub" else np.asarray(function(x))


def _is_integral(x: Array) -> Array:
    return np.asarray(np.isfinite(x) & (np.trunc(x) == x)) if x.dtype.kind == "f" else np.ones(x.shape, np.bool_)


def complex_of(real: Array, imag: Array) -> Array:
    """Put together part by part: `real + 1j * imag` would turn an infinite part into NaN."""
    wide: Any = np.result_type(real, imag, np.complex64)
    found = np.empty(np.broadcast_shapes(real.shape, imag.shape), wide)
    found.real, found.imag = real, imag
    return found


def _polar(length: Array, angle: Array) -> Array:
    return complex_of(np.asarray(length * np.cos(angle)), np.asarray(length * np.sin(angle)))


def trunc_div(x: Array, y: Array) -> Array:
    """Division towards zero. Of integers: the lowest number by -1 wraps. A floating quotient must have been rounded to
    the compute dtype before: the caller does it, who knows that dtype."""
    if x.dtype.kind not in "iu":
        return np.asarray(np.trunc(x / y))
    quotient = np.floor_divide(x, y)
    inexact = (np.remainder(x, y) != 0) & ((x < 0) != (y < 0))
    return np.asarray(quotient + inexact.astype(quotient.dtype))


def _integer_power(base: Array, exponent: Array) -> Array:
    """Powers of integers modulo the range of the dtype; negative exponents leave only 1 and -1 something."""
    base, exponent = np.broadcast_arrays(base, exponent)
    result, factor, left = np.ones_like(base), base.copy(), np.where(exponent < 0, 0, exponent)
    while np.any(left > 0):
        result = np.where(left % 2 == 1, result * factor, result).astype(base.dtype)
        factor = (factor * factor).astype(base.dtype)
        left = left // 2
    odd = exponent % 2 != 0
    inverse = np.where(base == 1, 1, np.where((base == -1) if base.dtype.kind == "i" else False, 1 - 2 * odd, 0))
    return np.asarray(np.where(exponent < 0, inverse, result)).astype(base.dtype)


def power(base: Array, exponent: Array) -> Array:
    """A power; integers wrap, and a complex base or exponent of 1 and 0 gives 1."""
    if base.dtype.kind in "iu":
        return _integer_power(base, exponent)
    found = np.power(base, exponent)
    if base.dtype.kind != "c":
        return np.asarray(found)
    return np.asarray(np.where((exponent == 0) | (base == 1), 1, found))


def _one(x: Array) -> Array:
    return np.asarray(1, x.dtype)


DOUBLE_ONLY = frozenset({"erf", "erfc", "erfinv", "lgamma"})
"""Functions whose results are as precise as float64, also where the operand is wider."""

FLOATING = frozenset({
    "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "sigmoid",
    "atan2", "hypot", "to_float", "polar", "complex",
})  # fmt: skip
"""Functions that compute integers as float32."""

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": np.minimum, "max": np.maximum, "fmin": np.fmin, "fmax": np.fmax, "pow": power, "atan2": np.arctan2,
    "fmod": np.fmod, "hypot": np.hypot, "abs": np.abs, "sign": _sign, "sgn": _sgn, "floor": _whole(np.floor),
    "ceil": _whole(np.ceil), "round": _whole(np.rint), "trunc": _whole(np.trunc), "sqrt": np.sqrt,
    "rsqrt": lambda x: _one(x) / np.sqrt(x), "reciprocal": lambda x: _one(x) / x, "square": lambda x: x * x,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": erf, "erfc": erfc, "erfinv": erfinv, "lgamma": lambda x: _each(_lgamma_of_one, x),
    "sigmoid": sigmoid, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "conj": np.conj,
    "real": np.real, "imag": np.imag, "is_integral": _is_integral, "trunc_div": trunc_div,
    "floor_div": np.floor_divide, "complex": complex_of, "polar": _polar, "to_float": lambda x: x,
    "to_bool": lambda x: x != 0,
}  # fmt: skip
"""By name, except what needs the call: `where`, `is_null`, `index`, `linear_index`, `to_int`."""

OPERATORS: Mapping[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
    "**": power, "|": np.bitwise_or, "^": np.bitwise_xor, "&": np.bitwise_and, "==": np.equal, "!=": np.not_equal,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
