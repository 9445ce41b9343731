"""Numbers of one byte: float8_e4m3fn, float8_e5m2 and float8_e8m0fnu, after the OCP Microscaling Formats 1.0.

The bytes of the finite numbers without a sign are 0, 1, ... in the order of the numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from diopigen.contract.dtypes import LIMIT
from diopigen.ir.load import known_dtypes

Array = npt.NDArray[Any]


def _is_signed(dtype: str) -> bool:
    info = known_dtypes()[dtype]
    return info.digits + info.exponent == 8


@cache
def float8_values(dtype: str) -> Array:
    """The float32 numbers of the 256 bytes."""
    info = known_dtypes()[dtype]
    bits = np.arange(256)
    mantissa, bias = info.digits - 1, 2 ** (info.exponent - 1) - 1
    exponent, fraction = bits >> mantissa & 2**info.exponent - 1, bits & 2**mantissa - 1
    if not _is_signed(dtype):  # without zero and subnormal numbers
        numbers = np.ldexp(1.0, exponent - bias)
        numbers[255] = np.nan
        return np.asarray(numbers.astype(np.float32))
    numbers = np.ldexp(np.where(exponent > 0, 2**mantissa, 0) + fraction, np.maximum(exponent, 1) - bias - mantissa)
    if info.largest:
        numbers[numbers > info.largest] = np.nan
    else:
        last = exponent == 2**info.exponent - 1
        numbers[last] = np.where(fraction[last] == 0, np.inf, np.nan)
    return np.asarray(np.where(bits >= 128, -numbers, numbers).astype(np.float32))


def float8_bits(values: Array, dtype: str) -> Array:
    """The bytes of the numbers next to those given, of two the one with an even byte. Beyond the range it is infinity,
    or the largest number in float8_e4m3fn, as in PyTorch. A dtype without a sign has the number of the magnitude, of
    two the larger."""
    values = np.asarray(values, dtype=np.float64)
    size = np.abs(values)
    table = float8_values(dtype).astype(np.float64)
    finite = table[: int(np.argmin(np.isfinite(table)))]
    middles = (finite[:-1] + finite[1:]) / 2
    bits = np.searchsorted(middles, size)
    ties = middles[np.minimum(bits, len(middles) - 1)] == size
    bits += ties & (bits % 2 == 1 if _is_signed(dtype) else True)
    bits = np.where(size > LIMIT[dtype], len(finite) - (known_dtypes()[dtype].largest > 0), bits)
    sign = 128 * np.signbit(values) if _is_signed(dtype) else 0
    bits = np.where(np.isnan(values), 127 if _is_signed(dtype) else 255, bits)
    return np.asarray(bits | sign, dtype=np.uint8)
