"""Ranges of dtypes, for the functions of predicates."""

from __future__ import annotations

import math

from diopigen.contract import dtypes
from diopigen.contract.arguments import Undefined

_RANGES = {
    "bool": (0, 1), "uint8": (0, 2**8 - 1), "int8": (-(2**7), 2**7 - 1), "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1), "uint32": (0, 2**32 - 1), "int32": (-(2**31), 2**31 - 1),
    "uint64": (0, 2**64 - 1), "int64": (-(2**63), 2**63 - 1),
}  # fmt: skip


def can_hold(dtype: str, value: float) -> bool:
    if dtype in _RANGES:
        low, high = _RANGES[dtype]
        return math.isfinite(value) and low <= math.trunc(value) <= high
    return not math.isfinite(value) or abs(value) <= dtypes.LARGEST[dtypes.real_of(dtype)]


def lowest(dtype: str) -> int:
    if dtype not in _RANGES:
        raise Undefined
    return _RANGES[dtype][0]


def highest(dtype: str) -> int:
    if dtype not in _RANGES:
        raise Undefined
    return _RANGES[dtype][1]


def exact_integers(dtype: str) -> int:
    """The largest n for which every integer in [0, n] is an element of the dtype."""
    return _RANGES[dtype][1] if dtype in _RANGES else 2 ** dtypes.MANTISSA.get(dtype, 53)
