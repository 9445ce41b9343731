"""Element types as the suite handles them: bytes in memory, numbers in NumPy.

NumPy has no bfloat16 and no float8: such a tensor is uint16 or uint8 in memory (`encode`, `decode`) and float32 for
everyone who computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from diopigen.conformance.float8 import float8_bits, float8_values
from diopigen.contract.dtypes import FLOAT8, kind
from diopigen.ir.load import known_dtypes

Array = npt.NDArray[Any]

STORAGE: dict[str, np.dtype[Any]] = {name: np.dtype(info.numpy) for name, info in known_dtypes().items() if info.numpy}
"""Memory layout of an element. complex32 has no counterpart and is not tested."""


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
        if dtype in FLOAT8:
            return float8_bits(values.real, dtype)
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
    integral = np.where(fits, np.trunc(np.where(fits, values, 0)), 0).astype(np.int64)
    return np.asarray(np.where(fits, integral, np.iinfo(np.int64).min)).astype(STORAGE[dtype])


def decode(stored: Array, dtype: str) -> Array:
    """Elements in memory as numbers: bool_ for bool, float32 for bfloat16 and float8, the rest as it is."""
    if dtype == "bool":
        return np.asarray(stored != 0)
    if dtype == "bfloat16":
        return bfloat16_values(stored).reshape(stored.shape)
    if dtype in FLOAT8:
        return np.asarray(float8_values(dtype)[stored])
    return stored


def rounded(values: Array, dtype: str) -> Array:
    """Numbers after a stay in a dtype."""
    return decode(encode(values, dtype), dtype)


def widest(values: Array) -> Array:
    """Numbers in the type in which oracles compute: float64 or complex128, long double for what is in float64 already,
    so that the oracle's roundings are small compared with those of the dtype. Integers and bools stay."""
    if values.dtype.kind == "f":
        return values.astype(np.float64 if values.dtype.itemsize < 8 else np.longdouble)
    if values.dtype.kind == "c":
        return values.astype(np.complex128 if values.dtype.itemsize < 16 else np.clongdouble)
    return values


def convert(values: Array, dtype: str) -> Array:
    """Numbers cast to a dtype and then widened again for computing."""
    return widest(rounded(np.asarray(values), dtype))
