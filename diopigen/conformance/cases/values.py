"""The numbers in a tensor: drawn from a seed, or literal. Whatever comes out is exactly representable in the dtype."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array, decode, encode
from diopigen.conformance.products import adjoint, product
from diopigen.contract.dtypes import LARGEST, MANTISSA, SMALLEST_NORMAL, kind, real_of
from diopigen.ir.boxes import PLACED, rows_of
from diopigen.ir.recipe import Drawn, Literal, peak_indices

POISON = 0x7B
"""Every byte of an output before the call: huge as a float, far from 0 and 1 as a bool."""

_SPANS = {"uint8": (0, 201), "int8": (-100, 101), "int16": (-9999, 10000), "int32": (-(2**30), 2**30)}
_WIDE = (-(2**62), 2**62)


class RecipeError(Exception):
    """The values cannot be had in the dtype: a fraction in an integer, a negative number in an unsigned one."""


def seed_of(case_id: str, seed: int) -> int:
    """The seed of a case: the same on every machine and in every process."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{case_id}".encode(), digest_size=8).digest(), "little")


def specials(dtype: str) -> list[Any]:
    """The values at the edges of a dtype: zeros, infinities, NaN, denormals, the ends of the range, and neighbours that
    a float of as many bits or fewer does not tell apart."""
    if dtype == "bool":
        return [False, True]
    if kind(dtype) == "int":
        info = np.iinfo(STORAGE[dtype])
        ends = [int(info.min), int(info.min) + 1, int(info.max) - 1, int(info.max)]
        joined = [number for number in (2**8 + 1, 2**24 + 1, 2**53 + 1) if number < info.max]
        neighbours = [number - step for number in joined[-2:] for step in (0, 1)]
        return sorted({0, 1, 2, 3, 7, 100, *neighbours, *ends, *((-1, -2, -7) if info.min < 0 else ())})
    real = real_of(dtype)
    tiny = SMALLEST_NORMAL[real]
    denormal = tiny * 2.0 ** (1 - MANTISSA[real])
    numbers = [0.0, 1.0, 0.5, 2.5, 3.0, LARGEST[real], tiny, denormal, math.inf]
    return [sign * number for number in numbers for sign in (1.0, -1.0)] + [math.nan]


def storable(literal: Literal, dtype: str) -> bool:
    """Returns whether a literal, nested or not, keeps its value in the dtype's kind and range."""
    if isinstance(literal, tuple):
        return all(storable(item, dtype) for item in literal)
    if isinstance(literal, bool):
        return True
    if kind(dtype) == "bool":
        return literal in (0, 1)
    if kind(dtype) == "int":
        if not isinstance(literal, int):
            return isinstance(literal, float) and literal.is_integer() and storable(int(literal), dtype)
        info = np.iinfo(STORAGE[dtype])
        return bool(info.min <= literal <= info.max)
    if isinstance(literal, float) and math.isfinite(literal):
        return abs(literal) <= LARGEST[real_of(dtype)]
    return isinstance(literal, (int, float)) and (
        not isinstance(literal, int) or abs(literal) <= LARGEST[real_of(dtype)]
    )


def fits(values: Drawn | Literal, dtype: str) -> bool:
    """Returns whether `draw` can make these values in the dtype."""
    return _can_draw(values, dtype) if isinstance(values, Drawn) else storable(values, dtype)


@cache
def _can_draw(values: Drawn, dtype: str) -> bool:
    name, arguments = values.distribution, values.arguments
    if name == "integers" and kind(dtype) in ("int", "bool"):
        return storable(int(arguments[0]), dtype) and storable(int(arguments[1]) - 1, dtype)
    if name == "uniform" and kind(dtype) == "int":
        low, high = math.ceil(arguments[0]), math.floor(arguments[1])
        return low <= high and storable(low, dtype) and storable(high, dtype)
    if name == "uniform" and kind(dtype) == "bool":
        return False
    if name == "definite":
        return kind(dtype) in ("float", "complex")
    if name in PLACED:
        return kind(dtype) == "float"
    if name == "bits":
        return kind(dtype) == "float" and STORAGE[dtype].itemsize == 2
    if name == "peaks":
        return kind(dtype) in ("float", "int") and storable(arguments[0], dtype)
    return name != "bools" or kind(dtype) in ("bool", "int")


def draw(values: Drawn | Literal, shape: tuple[int, ...], dtype: str, source: np.random.Generator) -> Array:
    """Elements in memory form (see `dtypes.encode`) of the shape. Raises `RecipeError`."""
    if not isinstance(values, Drawn):
        if not storable(values, dtype):
            raise RecipeError(f"{values!r} in {dtype}")
        exact = np.array(values, dtype=_literal_type(dtype))
        return np.array(np.broadcast_to(encode(exact, dtype), shape))
    if not fits(values, dtype):
        raise RecipeError(f"{values.distribution} in {dtype}")
    if values.distribution == "definite":
        return encode(_definite(shape, dtype, source), dtype)
    if values.distribution == "peaks":
        return encode(_peaks(shape, dtype, values.arguments[0], source), dtype)
    if values.distribution == "bits":
        return _bits(shape, dtype, *values.arguments)
    if values.distribution in PLACED:
        rows = rows_of(values.distribution, shape, values.arguments)
        if rows is None:
            raise RecipeError(f"no {values.distribution} in {list(shape)}")
        return encode(np.array(rows, dtype=np.float64).reshape(shape), dtype)
    count = math.prod(shape)
    if count <= _PART or values.distribution not in _ONE_BY_ONE:
        return encode(_drawn(values, count, dtype, source), dtype).reshape(shape)
    stored = np.empty(count, dtype=STORAGE[dtype])
    for start in range(0, count, _PART):
        part = stored[start : start + _PART]
        part[...] = encode(_drawn(values, part.size, dtype, source), dtype)
    return stored.reshape(shape)


_PART = 1 << 22
"""Elements that are drawn at once: float64 numbers of a large tensor would take several times its memory."""
_ONE_BY_ONE = frozenset({"normal", "uniform", "integers", "bools", "zeros", "ones", "nonzero"})


def _literal_type(dtype: str) -> Any:
    by_kind = {"bool": np.bool_, "int": STORAGE[dtype], "float": np.float64, "complex": np.complex128}
    return by_kind[kind(dtype)]


def _drawn(values: Drawn, count: int, dtype: str, source: np.random.Generator) -> Array:
    name, arguments = values.distribution, values.arguments
    of_kind = kind(dtype)
    if name == "zeros" or name == "ones":
        return np.full(count, name == "ones", dtype=np.int64)
    if name == "bools" or (of_kind == "bool" and name in ("normal", "nonzero")):
        return source.integers(0, 2, count) if name != "nonzero" else np.ones(count, dtype=np.int64)
    if name == "normal":
        return _normal(count, dtype, source)
    if name == "nonzero":
        found = _normal(count, dtype, source)
        small = np.abs(found) < (0.25 if of_kind in ("float", "complex") else 1)
        return np.asarray(np.where(small, 3, found))
    if name == "uniform":
        low, high = arguments
        if of_kind == "int":
            return source.integers(math.ceil(low), math.floor(high) + 1, count)
        drawn: Array = source.uniform(low, high, count)
        return drawn + 1j * source.uniform(low, high, count) if of_kind == "complex" else drawn
    if name == "integers":
        drawn = source.integers(int(arguments[0]), int(arguments[1]), count)
        if of_kind == "complex":
            return drawn + 1j * source.integers(int(arguments[0]), int(arguments[1]), count)
        return drawn
    if name in ("ascending", "descending"):
        return np.arange(count) if name == "ascending" else np.arange(count, 0, -1)
    if name in ("permutation", "distinct"):
        return source.permutation(count) - (count // 2 if name == "distinct" and _signed(dtype) else 0)
    if name in ("special", "small-special"):
        period, without_zero = arguments or (1, 0)
        numbers = [value for value in specials(dtype) if value != 0 or not without_zero]
        if name == "small-special":
            numbers = [value for value in numbers if not math.isfinite(value) or abs(value) < 10]
        return _special(count, dtype, int(period), numbers)
    raise RecipeError(f"unknown distribution {name}")


def _signed(dtype: str) -> bool:
    return kind(dtype) in ("float", "complex") or dtype.startswith("int")


def _normal(count: int, dtype: str, source: np.random.Generator) -> Array:
    if kind(dtype) == "int":
        low, high = _SPANS.get(dtype, _WIDE)
        return source.integers(low, high, count)
    drawn: Array = source.standard_normal(count)
    return drawn + 1j * source.standard_normal(count) if kind(dtype) == "complex" else drawn


def _definite(shape: tuple[int, ...], dtype: str, source: np.random.Generator) -> Array:
    """Symmetric (Hermitian) positive definite matrices with eigenvalues between 1 and some 5."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise RecipeError(f"no square matrices in {list(shape)}")
    root = _normal(math.prod(shape), dtype, source).reshape(shape)
    squares = product(root, adjoint(root)) / max(shape[-1], 1)
    return np.asarray(squares / (2 if kind(dtype) == "complex" else 1) + np.eye(shape[-1]))


def _peaks(shape: tuple[int, ...], dtype: str, height: float, source: np.random.Generator) -> Array:
    """Normal numbers, but one element of each row is `height`."""
    if not shape or shape[-1] == 0:
        raise RecipeError(f"no peaks in {list(shape)}")
    numbers = _normal(math.prod(shape), dtype, source)
    numbers[peak_indices(shape)] = height
    return numbers.reshape(shape)


def _bits(shape: tuple[int, ...], dtype: str, limit: float, is_quiet: float) -> Array:
    """All bit patterns of a 16-bit dtype in order, over and over; 0 for numbers from `limit` on, and with `is_quiet`
    no signaling NaN."""
    bits = np.arange(math.prod(shape)).astype(STORAGE["bfloat16"])
    stored = bits.view(STORAGE[dtype])
    numbers = decode(stored, dtype).copy()
    bits[np.isfinite(numbers) & (np.abs(numbers) >= limit)] = 0
    if is_quiet:
        bits[np.isnan(numbers)] |= 1 << (MANTISSA[dtype] - 2)
    return stored.reshape(shape)


def _special(count: int, dtype: str, period: int, numbers: list[Any]) -> Array:
    """The numbers, each repeated `period` times, over and over: several operands meet in all pairs."""
    positions = (np.arange(count) // period) % len(numbers)
    return np.array(numbers, dtype=_literal_type(dtype))[positions]
