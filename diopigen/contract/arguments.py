"""Descriptions of arguments: what a predicate knows of a call, without its memory.

A tensor is a `Tensor`, an array of tensors a tuple of `Tensor` (None for null members), a scalar a `Scalar`; the rest
are Python's integers, floats, booleans, texts (strings and the names of enum values), tuples of integers, and None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union

LEAST = 64
"""Elements from which on a list of numbers is an array."""


class Undefined(Exception):
    """An expression has no value for these arguments: it reads a null, or a dimension that a tensor lacks."""


@dataclass(frozen=True, eq=False)
class Array:
    """A long list of numbers: a one-dimensional array of NumPy with elements of bool, int64 or float64 (`arrays`)."""

    numbers: Any

    @cached_property
    def entries(self) -> tuple[Any, ...]:
        """The same list of Python's numbers."""
        return tuple(self.numbers.tolist())


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor: its shape, its dtype, and where they are known its elements in row-major order."""

    shape: tuple[int, ...]
    dtype: str
    values: Callable[[], tuple[Any, ...] | Array] | None = None

    def elements(self) -> tuple[Any, ...]:
        """The elements. Raises `Undefined` where they are not known, as on a device."""
        values = self.array()
        return values.entries if isinstance(values, Array) else values

    def array(self) -> tuple[Any, ...] | Array:
        """The elements, as an array where there are many of them. Raises `Undefined` as `elements` does."""
        if self.values is None:
            raise Undefined
        return self.values()


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number with the dtype that it is passed with."""

    value: int | float
    dtype: str


Described = Union[Tensor, Scalar, tuple[Union[Tensor, None], ...], tuple[int, ...], int, float, bool, str, None]
