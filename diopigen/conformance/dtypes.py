"""Element types as the suite handles them: bytes in memory, numbers in NumPy, promotion, the dtype rules of the spec.

NumPy has no bfloat16, so such a tensor is uint16 in memory (`encode`, `decode`) and float32 for everyone who computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from diopigen.spec.expression import Call, Expression, Name

Array = npt.NDArray[Any]

STORAGE: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "bool": "u1", "uint8": "u1", "int8": "i1", "uint16": "u2", "int16": "i2", "uint32": "u4", "int32": "i4",
        "uint64": "u8", "int64": "i8", "float16": "f2", "bfloat16": "u2", "tfloat32": "f4", "float32": "f4",
        "float64": "f8", "complex64": "c8", "complex128": "c16",
    }.items()
}  # fmt: skip
"""How an element lies in memory. complex32 has no counterpart and is not tested."""

_KIND = {"bool": 0, "int": 1, "float": 2, "complex": 3}
MANTISSA = {"bfloat16": 8, "float16": 11, "tfloat32": 11, "float32": 24, "float64": 53}
"""Bits of the significand, the hidden one included."""
LARGEST = {
    "bfloat16": 3.3895313892515355e38,
    "float16": 65504.0,
    "tfloat32": 3.4028234663852886e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}
SMALLEST_NORMAL = {
    "bfloat16": 2.0**-126,
    "float16": 2.0**-14,
    "tfloat32": 2.0**-126,
    "float32": 2.0**-126,
    "float64": 2.0**-1022,
}
_REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_COMPLEX = {"float16": "complex32", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}


def kind(dtype: str) -> str:
    """`bool`, `int`, `float` or `complex`."""
    if dtype == "bool":
        return "bool"
    if dtype.startswith("complex"):
        return "complex"
    return "int" if "int" in dtype else "float"


def category(dtype: str) -> int:
    """The order of the kinds: 0 for bool, 1 integral, 2 floating, 3 complex."""
    return _KIND[kind(dtype)]


def real_of(dtype: str) -> str:
    """The dtype of the real part."""
    return _REAL.get(dtype, dtype)


def complex_of(dtype: str) -> str:
    """The complex dtype with that real part; bfloat16 has none of its own and goes to complex64."""
    return _COMPLEX.get(dtype, dtype)


def to_float(dtype: str) -> str:
    """The dtype, or float32 where it is integral or bool."""
    return dtype if category(dtype) >= 2 else "float32"


def accumulate(dtype: str) -> str:
    """The dtype, or int64 where it is integral or bool."""
    return dtype if category(dtype) >= 2 else "int64"


def epsilon(dtype: str) -> float:
    """Distance from 1 to the next number of a floating or complex dtype."""
    return float(2.0 ** (1 - MANTISSA[real_of(dtype)]))


# ---- bytes and numbers ----------------------------------------------------------------------------------------------


def bfloat16_bits(values: Array) -> Array:
    """The upper halves of float32 numbers as uint16, rounded half to even; NaN stays NaN."""
    single = np.ascontiguousarray(values, dtype=np.float32)
    bits = single.view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.asarray(np.where(np.isnan(single), quiet, rounded), dtype=np.uint16)


def bfloat16_values(bits: Array) -> Array:
    """The float32 numbers whose upper halves are given."""
    return np.asarray((np.ascontiguousarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32))


def encode(values: Array, dtype: str) -> Array:
    """Numbers as elements of a dtype in memory: floats rounded, integers wrapped, bool as byte 0 or 1."""
    values = np.asarray(values)
    with np.errstate(all="ignore"):
        if dtype == "bool":
            return np.asarray(np.asarray(values, dtype=np.bool_).view(np.uint8))
        if dtype == "bfloat16":
            return bfloat16_bits(_nearest_single(values)).reshape(np.shape(values))
        if kind(dtype) == "int" and values.dtype.kind == "f":
            return float_to_int(values, dtype)
        if kind(dtype) != "complex" and values.dtype.kind == "c":
            values = values.real
        return np.asarray(values).astype(STORAGE[dtype])


def _nearest_single(values: Array) -> Array:
    """float64 or wider to float32 rounded to odd, so that a second rounding to bfloat16 gives what one alone would."""
    if values.dtype.kind == "c":
        values = values.real
    if values.dtype.kind != "f" or values.dtype.itemsize < 8:
        return values.astype(np.float32)
    single = values.astype(np.float32)
    inexact = np.isfinite(values) & np.isfinite(single) & (single.astype(values.dtype) != values)
    if not np.any(inexact):
        return single
    bits = np.ascontiguousarray(single).view(np.uint32)
    away = np.abs(single.astype(values.dtype)) > np.abs(values)
    toward_zero = np.where(away, bits - 1, bits)
    return np.where(inexact, toward_zero | 1, bits).astype(np.uint32).view(np.float32)


def float_to_int(values: Array, dtype: str) -> Array:
    """Rounded towards zero; what does not fit into int64 becomes its lowest value, narrower dtypes wrap."""
    fits = np.abs(values) < 9.2233720368547748e18
    whole = np.where(fits, np.trunc(np.where(fits, values, 0)), 0).astype(np.int64)
    return np.asarray(np.where(fits, whole, np.iinfo(np.int64).min)).astype(STORAGE[dtype])


def decode(stored: Array, dtype: str) -> Array:
    """Elements in memory as numbers: bool_ for bool, float32 for bfloat16, the rest as it is."""
    if dtype == "bool":
        return np.asarray(stored != 0)
    if dtype == "bfloat16":
        return bfloat16_values(stored).reshape(stored.shape)
    return stored


def rounded(values: Array, dtype: str) -> Array:
    """Numbers after a stay in a dtype."""
    return decode(encode(values, dtype), dtype)


def widest(values: Array) -> Array:
    """Numbers in the type in which oracles compute: float64 or complex128, long double for what is in float64 already,
    so that the oracle's roundings are small beside those of the dtype. Integers and bools stay."""
    if values.dtype.kind == "f":
        return values.astype(np.float64 if values.dtype.itemsize < 8 else np.longdouble)
    if values.dtype.kind == "c":
        return values.astype(np.complex128 if values.dtype.itemsize < 16 else np.clongdouble)
    return values


def convert(values: Array, dtype: str) -> Array:
    """Numbers cast to a dtype and then widened again for computing."""
    return widest(rounded(np.asarray(values), dtype))


# ---- promotion ------------------------------------------------------------------------------------------------------

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def promote_types(first: str, second: str) -> str:
    """The dtype that holds both, as `torch.promote_types`."""
    if first == second:
        return first
    low, high = sorted((first, second), key=category)
    if category(low) < category(high):
        if kind(high) != "complex" or kind(low) != "float":
            return high
        return "complex128" if low == "float64" else high
    if kind(high) == "int":
        if "uint8" in (low, high) and "int8" in (low, high):
            return "int16"
        return max(low, high, key=_INTEGERS.index)
    if kind(high) == "float":
        if {low, high} == {"float16", "bfloat16"}:
            return "float32"
        return max(low, high, key=lambda dtype: MANTISSA[dtype])
    return max(low, high, key=lambda dtype: STORAGE[dtype].itemsize)


def _combine(higher: str | None, lower: str | None) -> str | None:
    """The dtype of two priority classes: the lower one counts only where it is of a higher kind."""
    if higher is None or lower is None:
        return higher or lower
    if kind(higher) == "float" and kind(lower) == "complex":
        return complex_of(higher)
    if category(higher) >= 2 or category(lower) <= category(higher):
        return higher
    return promote_types(higher, lower)


def promote(operands: Sequence[tuple[str, int | None]]) -> str:
    """The dtype of a result as PyTorch promotes: operands are (dtype, rank), rank None for a number.

    Tensors with dimensions come before 0-d tensors and those before numbers; a floating number counts as float32.
    """
    classes: list[str | None] = [None, None, None]
    for dtype, rank in operands:
        place = 2 if rank is None else (0 if rank > 0 else 1)
        if rank is None and kind(dtype) == "float":
            dtype = "float32"
        known = classes[place]
        classes[place] = dtype if known is None else promote_types(known, dtype)
    found = _combine(classes[0], _combine(classes[1], classes[2]))
    assert found is not None, "promotion of nothing"
    return found


# ---- rules of the spec ----------------------------------------------------------------------------------------------

Operands = Callable[[str], Sequence[tuple[str, "int | None"]]]
"""The dtypes and ranks behind a parameter's name: one for a tensor or number, several for an array, none for null."""

_DERIVED: dict[str, Callable[[str], str]] = {
    "to_float": to_float,
    "accumulate": accumulate,
    "to_real": real_of,
    "to_complex": complex_of,
}


def evaluate(rule: Expression, operands: Operands) -> str:
    """The dtype that a rule gives. Raises `LookupError` where a parameter that it needs is null."""
    if isinstance(rule, Name):
        return evaluate(Call("same", (rule,)), operands)
    if not isinstance(rule, Call):
        raise LookupError("not a dtype rule")
    if rule.function == "promote":
        found = [one for name in rule.arguments if isinstance(name, Name) for one in operands(name.name)]
        if not found:
            raise LookupError("nothing to promote")
        return promote(found)
    if rule.function == "same":
        name = rule.arguments[0]
        found = list(operands(name.name)) if isinstance(name, Name) else []
        if not found:
            raise LookupError("the parameter is null")
        return found[0][0]
    return _DERIVED[rule.function](evaluate(rule.arguments[0], operands))
