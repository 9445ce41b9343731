"""Shapes, dtypes and elements of tensors, for the functions of predicates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from diopigen.contract import dtypes, shapes
from diopigen.contract.arguments import Scalar, Tensor, Undefined

Ints = Sequence[int]


def size_of(tensor: Tensor, dim: int) -> int:
    """A 0-d tensor counts as 1-d with one element."""
    sizes = tensor.shape or (1,)
    if not -len(sizes) <= dim < len(sizes):
        raise Undefined
    return sizes[dim]


def sizes_in(tensors: Sequence[Tensor], dim: int) -> Ints:
    return tuple(size_of(tensor, dim) for tensor in tensors)


def have_shape(tensors: Sequence[Tensor], shape: Ints) -> bool:
    return all(tensor.shape == tuple(shape) for tensor in tensors)


def same_but(tensors: Sequence[Tensor], shape: Ints, dim: int) -> bool:
    """Returns whether ranks are equal, and all sizes but that in one dimension."""
    axis = shapes.axis(dim, len(shape))
    sizes = {(*one[:axis], *one[axis + 1 :], len(one)) for one in (tuple(shape), *(t.shape for t in tensors))}
    return len(sizes) == 1


def same_dtype(tensors: Sequence[Tensor]) -> bool:
    return len({tensor.dtype for tensor in tensors}) <= 1


def same_shape(tensors: Sequence[Tensor]) -> bool:
    return len({tensor.shape for tensor in tensors}) <= 1


def _power(base: float, exponent: float) -> float:
    """The power of a number that is not negative, infinite where it overflows."""
    try:
        return float(base**exponent)
    except (OverflowError, ZeroDivisionError):
        return math.inf


def norm(tensors: Sequence[Tensor], order: float) -> float:
    sizes = [abs(value) for tensor in tensors for value in tensor.elements()]
    if order == 0:
        return float(sum(size != 0 for size in sizes))
    if any(map(math.isnan, sizes)):
        return math.nan
    if math.isinf(order):
        return float(max(sizes, default=0.0) if order > 0 else min(sizes, default=math.inf))
    return _power(sum(_power(size, order) for size in sizes), 1 / order)


def axis_of(shape: Ints, dim: int) -> int:
    return shapes.axis(dim, len(shape))


def coordinates(tensor: Tensor, dim: int) -> Ints:
    """A 0-d tensor counts as 1-d with one element."""
    sizes = tensor.shape or (1,)
    axis = axis_of(sizes, dim)
    outer, inner = math.prod(sizes[:axis]), math.prod(sizes[axis + 1 :])
    return tuple(index for _ in range(outer) for index in range(sizes[axis]) for _ in range(inner))


def select(tensor: Tensor, dim: int, index: int) -> tuple[Any, ...]:
    size = size_of(tensor, dim)
    if not -size <= index < size:
        raise Undefined
    pairs = zip(tensor.elements(), coordinates(tensor, dim), strict=True)
    return tuple(element for element, coordinate in pairs if coordinate == index % size)


def _operands(values: Sequence[Any]) -> Iterator[tuple[str, int | None]]:
    for value in values:
        if isinstance(value, Tensor):
            yield value.dtype, len(value.shape)
        elif isinstance(value, Scalar):
            yield value.dtype, None
        elif isinstance(value, tuple):
            yield from _operands(value)
        elif value is not None:
            yield {bool: "bool", int: "int64"}.get(type(value), "float64"), None


def promoted(*operands: Any) -> str:
    """Undefined for no operands, and where no dtype holds them."""
    known = list(_operands(operands))
    found = dtypes.promote(known) if known else ""
    if not found:
        raise Undefined
    return found


def broadcast_of(*extents: Any) -> tuple[int, ...]:
    """Numbers count as 0-d."""
    members = chain.from_iterable(one if is_array(one) else (one,) for one in extents)
    sizes = (one.shape if isinstance(one, Tensor) else one for one in members)
    return shapes.broadcast(*(one if isinstance(one, tuple) else () for one in sizes))


def is_array(value: Any) -> bool:
    """Returns whether a value is an array of tensors, of which there is one."""
    return isinstance(value, tuple) and any(isinstance(one, Tensor) for one in value)


def concat(tensors: Sequence[Tensor], dim: int) -> tuple[int, ...]:
    return shapes.concat([tensor.shape for tensor in tensors], dim)
