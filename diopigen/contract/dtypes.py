"""Element types as the spec sees them: kinds, ranges, promotion; names, no data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from diopigen.ir.c_types import DtypeInfo
from diopigen.ir.load import known_dtypes

_KINDS = {"bool": "bool", "unsigned": "int", "signed": "int", "floating": "float", "complex": "complex"}
_CATEGORY = {"bool": 0, "int": 1, "float": 2, "complex": 3}
MANTISSA = {name: info.digits for name, info in known_dtypes().items() if info.digits}
"""Bits of the significand, the hidden one included."""

FLOAT8 = frozenset(name for name, info in known_dtypes().items() if info.kind == "floating" and info.bytes == 1)
"""Floating dtypes of one byte, which only functions that name them accept."""


def _stored(name: str) -> DtypeInfo:
    """The dtype that bounds the elements of a floating dtype; tfloat32 is stored as float32."""
    info = known_dtypes()[name]
    return known_dtypes()[info.numpy] if info.numpy in MANTISSA else info


def _largest(info: DtypeInfo) -> float:
    return info.largest or math.ldexp(2.0 - 2.0 ** (1 - info.digits), 2 ** (info.exponent - 1) - 1)


def _limit(info: DtypeInfo) -> float:
    largest = _largest(info)
    if info.bytes == 8:
        return largest
    half_a_step = math.ldexp(0.5, math.frexp(largest)[1] - info.digits)
    # A tie is rounded to an even mantissa, which the largest element only has where its last neighbour is NaN.
    return largest + half_a_step if info.largest else math.nextafter(largest + half_a_step, 0.0)


LARGEST = {name: _largest(_stored(name)) for name in MANTISSA}
"""The largest finite element."""
LIMIT = {name: _limit(_stored(name)) for name in MANTISSA}
"""The largest float64 that does not round to infinity, or is not limited to the largest number."""
SMALLEST_NORMAL = {name: 2.0 ** (2 - 2 ** (known_dtypes()[name].exponent - 1)) for name in MANTISSA}


@cache
def kind(dtype: str) -> str:
    """`bool`, `int`, `float` or `complex`; `float` for the suite's `none`, a call without a dtype."""
    info = known_dtypes().get(dtype)
    return "float" if info is None else _KINDS[info.kind]


@cache
def category(dtype: str) -> int:
    """The order of the kinds: 0 for bool, 1 integral, 2 floating, 3 complex."""
    return _CATEGORY[kind(dtype)]


def real_of(dtype: str) -> str:
    """The dtype of the real part."""
    return known_dtypes()[dtype].real or dtype


def complex_of(dtype: str) -> str:
    """The complex dtype with that real part; bfloat16 has none of its own and becomes complex64."""
    return known_dtypes()[dtype].complex or dtype


def to_float(dtype: str) -> str:
    """The dtype, or float32 where it is integral or bool."""
    return dtype if category(dtype) >= 2 else "float32"


def accumulate(dtype: str) -> str:
    """The dtype, or int64 where it is integral or bool."""
    return dtype if category(dtype) >= 2 else "int64"


def opmath(dtype: str) -> str:
    """The dtype that elements are computed in, as `at::opmath_type`: float32 for halves, else the same."""
    return known_dtypes()[dtype].compute


# ---- promotion ------------------------------------------------------------------------------------------------------


def _holds(wide: DtypeInfo, narrow: DtypeInfo) -> bool:
    """Returns whether each number of one integral or floating dtype is an element of another of the same kind."""
    if wide.kind == "floating":
        return wide.digits >= narrow.digits and wide.exponent >= narrow.exponent
    if wide.kind == narrow.kind:
        return wide.bytes >= narrow.bytes
    return wide.kind == "signed" and wide.bytes > narrow.bytes


@cache
def promote_types(first: str, second: str) -> str:
    """The dtype that holds both, as `torch.promote_types`; it raises for uint16, uint32, uint64 with other integers,
    which here become the smallest signed dtype that holds both. Empty where there is none: uint64 with a signed dtype,
    and float8, with which nothing is computed, with any other.
    """
    if first == second:
        return first
    if first in FLOAT8 or second in FLOAT8:
        return ""
    low, high = sorted((first, second), key=category)
    if kind(high) == "complex" and category(low) >= 2:
        return complex_of(promote_types(real_of(low), real_of(high)))
    if category(low) < category(high):
        return high
    both = known_dtypes()[low], known_dtypes()[high]
    if fitting := [info for info in both if all(_holds(info, one) for one in both)]:
        return fitting[0].name
    wider = [
        info
        for info in known_dtypes().values()
        if info.aten and kind(info.name) == kind(high) and all(_holds(info, one) for one in both)
    ]
    return min(wider, key=lambda info: info.bytes).name if wider else ""


def _combine(higher: str | None, lower: str | None) -> str | None:
    """The dtype of two priority classes: the lower one counts only where it is of a higher kind."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if not higher or not lower:
        return ""
    if kind(higher) == "float" and kind(lower) == "complex":
        return complex_of(higher)
    if category(higher) >= 2 or category(lower) <= category(higher):
        return higher
    return promote_types(higher, lower)


def promote(operands: Sequence[tuple[str, int | None]]) -> str:
    """The dtype of a result as PyTorch promotes: operands are (dtype, rank), rank None for a number.

    Tensors with dimensions come before 0-d tensors and those before numbers; a floating number counts as float32.
    Empty where no dtype holds the operands of a class.
    """
    classes: list[str | None] = [None, None, None]
    for dtype, rank in operands:
        position = 2 if rank is None else (0 if rank > 0 else 1)
        if rank is None and kind(dtype) == "float":
            dtype = "float32"
        known = classes[position]
        classes[position] = dtype if known is None else known and promote_types(known, dtype)
    found = _combine(classes[0], _combine(classes[1], classes[2]))
    assert found is not None, "promotion of nothing"
    return found
