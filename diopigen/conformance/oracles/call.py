"""A call as an oracle sees it, and what an oracle answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from diopigen.conformance.dtypes import Array, convert, widest
from diopigen.contract.dtypes import promote
from diopigen.ir.model import Function

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected content of an output.

    `values` are exact integers, bools, or floats before the last rounding. `scale` is the size of what was added up
    (default: the size of the result), `terms` how many numbers: both widen the bound. `narrowed` is the size of terms
    of which the class of the operator lets a kernel round one factor to the operands' dtype. `precision` is the dtype
    that the computation ran in where it is less precise than the output. Where `free` holds, any value is accepted,
    where `or_nan` holds, NaN as well as the value of a float.
    """

    values: Array
    scale: Array | None = None
    terms: int = 1
    precision: str | None = None
    signed_zero: bool = True
    free: Array | None = None
    or_nan: Array | None = None
    narrowed: Array | None = None


@dataclass(frozen=True, slots=True)
class Property:
    """Condition on outputs without a single expected value, such as random numbers: `check` accepts them, then the
    outputs that `others` names, and returns an error, or None. `varies` holds where a large sample is never the same
    twice: not for a chance of 1, say."""

    check: Callable[..., str | None]
    others: tuple[str, ...] = ()
    varies: bool = False


@dataclass(frozen=True, slots=True)
class Allocated:
    """A tensor that the operator allocates: what it must hold, and its dtype."""

    expected: Expected | Property
    dtype: str
    order: tuple[int, ...] | None = None
    """Its dimensions from the outermost in memory to the innermost, without gaps; None where the operator chooses."""


Answer = Mapping[
    str, Union[Expected, Property, Allocated, Sequence["Expected | Allocated | None"], int, float, bool, None]
]
"""Expectation by output name. An output that is left out is not compared."""


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call as an oracle sees them: tensors as arrays of numbers already rounded to their dtype."""

    function: Function
    values: Mapping[str, Any]
    dtypes: Mapping[str, Any]
    shapes: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def has(self, name: str) -> bool:
        """Returns whether a parameter is there and not null."""
        return self.values.get(name) is not None

    def wide(self, name: str) -> Array:
        """A tensor or number as float64 or complex128; integers and bools stay what they are."""
        return widest(np.asarray(self.values[name]))

    def dtype(self, name: str) -> str:
        """The dtype of a tensor or number."""
        return str(self.dtypes[name])

    def promoted(self, *names: str) -> str:
        """The dtype that operands are computed in; null operands do not count."""
        found: list[tuple[str, int | None]] = []
        for name in names:
            value = self.values.get(name)
            if value is None:
                continue
            is_tensor = isinstance(value, np.ndarray)
            found.append((self.dtype(name), value.ndim if is_tensor else None))
        return promote(found)

    def cast(self, name: str, dtype: str) -> Array:
        """An operand cast to a dtype, widened for computing."""
        return convert(np.asarray(self.values[name]), dtype)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what the call writes, in order, null ones left out."""
        names = (param.name for param in self.function.params if param.is_written)
        return tuple(name for name in names if name in self.dtypes)

    @property
    def target(self) -> str:
        """The first of them."""
        return self.outputs[0]


Oracle = Callable[[Call], Answer]
