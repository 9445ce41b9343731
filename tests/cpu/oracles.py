"""What elementwise operators compute, in NumPy's words: written for these tests, independent of the spec's kernels.

Each takes arrays that are already in the type to compute in (float64 or complex128 for floating operands).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Oracle = Callable[..., Array]

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def sign(x: Array) -> Array:
    return x if x.dtype == np.bool_ else np.sign(x)


def sgn(x: Array) -> Array:
    return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x))) if np.iscomplexobj(x) else sign(x)


UNARY: dict[str, Oracle] = {
    "Relu": lambda x: np.maximum(x, 0), "Sign": sign, "Abs": np.abs, "Neg": np.negative, "Floor": np.floor,
    "Ceil": np.ceil, "Sqrt": np.sqrt, "Rsqrt": lambda x: 1 / np.sqrt(x), "Sin": np.sin, "Asin": np.arcsin,
    "Cos": np.cos, "Acos": np.arccos, "Tan": np.tan, "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh,
    "Atan": np.arctan, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh, "Sigmoid": sigmoid,
    "Silu": lambda x: x * sigmoid(x), "Exp": np.exp, "Expm1": np.expm1, "Log": np.log, "Log2": np.log2,
    "Log10": np.log10, "Log1p": np.log1p, "Erf": erf, "Reciprocal": lambda x: 1 / x, "Conj": np.conj,
    "Real": np.real, "Imag": np.imag, "Sgn": sgn, "LogicalNot": np.logical_not, "BitwiseNot": np.invert,
    "IsNan": np.isnan, "CastDtype": lambda x: x, "Expand": lambda x: x,
    "Hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}  # fmt: skip

BINARY: dict[str, Oracle] = {
    "Mul": lambda a, b: a * b, "Maximum": np.maximum, "Minimum": np.minimum, "RemainderTensor": np.mod,
    "PowTensor": lambda a, b: np.power(a, b), "ClampMax": np.minimum, "ClampMin": np.maximum,
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or, "Eq": np.equal, "Ne": np.not_equal, "Ge": np.greater_equal, "Gt": np.greater,
    "Le": np.less_equal, "Lt": np.less,
}  # fmt: skip

POSITIVE = {"Sqrt", "Rsqrt", "Log", "Log2", "Log10", "Log1p", "PowTensor"}
INSIDE_ONE = {"Asin", "Acos", "Atanh"}
ABOVE_ONE = {"Acosh"}
