"""Values of a parameter just outside of what one of its keys allows: each end of a range crossed by one, a list with an
entry too few or too many, a tensor with a dimension too few or too many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from diopigen.conformance.model import Number, Value
from diopigen.ir.clauses import Key
from diopigen.ir.keys import bounds
from diopigen.ir.model import Function, Parameter
from diopigen.ir.recipe import Argument, TensorRecipe
from diopigen.ir.types import INTEGERS
from diopigen.spec.expression import Expression
from diopigen.spec.interval import Interval

Evaluate = Callable[[Expression], Any]
"""The value of an expression over the arguments of a legal call, or None."""

_LARGEST = {"int": 2**31, "int32": 2**31, "int64": 2**63, "uint64": 2**64, "size_t": 2**64}
_UNSIGNED = frozenset({"uint64", "size_t"})


def violations(
    function: Function, key: Key, side: int, provided: Argument, before: Value, evaluate: Evaluate
) -> Iterator[Argument]:
    """Values that violate a key: `side` is -1 for what is too small, 1 for what is too large.

    `given` is what the recipe of a legal call says of the parameter, `before` what it has in that call.
    """
    param = function.param(key.parameter)
    assert param is not None
    if key.name in ("range", "dim_of"):
        interval = bounds(param, key, {other.name: other.type for other in function.params})
        assert interval is not None
        yield from _numbers(param, interval, side, before, evaluate)
        return
    for count in _counts(key.form, side, evaluate):
        if key.name == "length":
            yield _list_of(_entries(before), count)
        else:
            yield from _tensors(provided, count)


def _end(interval: Interval, side: int) -> tuple[Expression, bool]:
    """An end, and whether it is legal itself."""
    return (interval.low, interval.has_low) if side < 0 else (interval.high, interval.has_high)


# ---- numbers --------------------------------------------------------------------------------------------------------


def _numbers(param: Parameter, interval: Interval, side: int, before: Value, evaluate: Evaluate) -> Iterator[Argument]:
    end, is_legal = _end(interval, side)
    found = evaluate(end)
    is_whole = param.type in INTEGERS or param.type == "sizes" or _is_whole(before)
    for limit in found if isinstance(found, tuple) else (found,):
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not math.isfinite(limit):
            continue
        nearest = (math.ceil(limit) if side < 0 else math.floor(limit)) if is_whole else float(limit)
        number = nearest + side if is_legal or nearest != limit else nearest
        if param.type == "sizes":
            yield from _lists_with(_entries(before), int(number))
        elif param.type not in INTEGERS:
            yield number
        elif number < _LARGEST[param.type] and (number >= 0 or param.type not in _UNSIGNED):
            yield int(number)


def _is_whole(before: Value) -> bool:
    return isinstance(before, Number) and isinstance(before.value, int)


def _lists_with(entries: tuple[int, ...], number: int) -> Iterator[Argument]:
    """A list in which one entry is the number: the last one first, as a library may look at the first one only."""
    if entries:
        yield (*entries[:-1], number)
        yield (number, *entries[1:])
    else:
        yield from ((number,) * count for count in (1, 2, 3))


# ---- lengths and ranks ----------------------------------------------------------------------------------------------


def _counts(form: object, side: int, evaluate: Evaluate) -> Iterator[int]:
    """Numbers of entries or dimensions next to those that are legal."""
    if isinstance(form, tuple):
        adjacent = (number + side for number in sorted(form, reverse=True))
        yield from (count for count in adjacent if count >= 0 and count not in form)
        return
    end, is_legal = _end(form, side) if isinstance(form, Interval) else (form, True)
    limit = evaluate(end)  # type: ignore[arg-type]  # a key of another form has one expression
    if isinstance(limit, (int, float)) and math.isfinite(limit):
        count = int(limit) + (side if is_legal else 0)
        yield from (count,) if count >= 0 else ()


def _entries(value: Value) -> tuple[int, ...]:
    return tuple(entry for entry in value if isinstance(entry, int)) if isinstance(value, tuple) else ()


def _list_of(entries: tuple[int, ...], count: int) -> Argument:
    """The list with another number of entries: its last one is repeated."""
    return (*entries, *(entries[-1:] or (1,)) * count)[:count]


def _tensors(provided: Argument, rank: int) -> Iterator[Argument]:
    """A tensor, or the last one of an array, with another number of dimensions."""
    tensor = provided[-1] if isinstance(provided, tuple) and provided else provided
    if not isinstance(tensor, TensorRecipe):
        return
    values = 1 if isinstance(tensor.values, tuple) else tensor.values
    for shape in _shapes(tensor.shape, rank):
        changed = replace(tensor, shape=shape, values=values)
        yield (*provided[:-1], changed) if isinstance(provided, tuple) else changed


def _shapes(shape: tuple[int, ...], rank: int) -> Iterator[tuple[int, ...]]:
    """Shapes of another rank, made of one by leaving out dimensions or adding some."""
    if rank < len(shape):
        yield shape[len(shape) - rank :]
        yield shape[:rank]
    for size in (2, 1) if rank > len(shape) else ():
        more = (size,) * (rank - len(shape))
        yield (*more, *shape)
        yield (*shape, *more)
