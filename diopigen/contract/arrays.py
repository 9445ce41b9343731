"""Operations of predicates on long lists, evaluated with NumPy. Results equal those on tuples of Python's numbers: what
NumPy would compute otherwise (integers beyond int64, NaN, division by zero, integers that float64 rounds) is evaluated
entry by entry.

An operation returns `NotImplemented` where it has to be evaluated on tuples.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from diopigen.contract.arguments import LEAST, Array, Tensor, Undefined

_INTEGERS = 1 << 63
_EXACT = 1 << 53
"""Integers up to which float64 has each."""

Numbers = npt.NDArray[Any]

_COMPARISONS: Mapping[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.eq: np.equal, operator.ne: np.not_equal, operator.lt: np.less, operator.le: np.less_equal,
    operator.gt: np.greater, operator.ge: np.greater_equal,
}  # fmt: skip
_ARITHMETIC: Mapping[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply,
}  # fmt: skip
_DIVISIONS: Mapping[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.floordiv: np.floor_divide, operator.mod: np.remainder,
}  # fmt: skip
_LOGICAL: Mapping[Callable[[Any, Any], Any], Callable[[Any, Any], Any]] = {
    operator.and_: np.logical_and, operator.or_: np.logical_or,
}  # fmt: skip


def listed(elements: Numbers) -> tuple[Any, ...] | Array:
    """Elements as a list of predicates: an array where there are many real numbers without NaN, else a tuple."""
    flat = elements.reshape(-1)
    kind = flat.dtype.kind
    if len(flat) >= LEAST and (kind in "bi" or (kind == "u" and int(flat.max()) < _INTEGERS)):
        return Array(flat if kind == "b" else flat.astype(np.int64, copy=False))
    if len(flat) >= LEAST and kind == "f" and flat.dtype.itemsize <= 8 and not np.isnan(flat).any():
        return Array(flat.astype(np.float64, copy=False))
    return tuple(flat.tolist())


def _numbers(value: Any) -> Numbers | None:
    """A list as numbers to compute with; None for one that has to stay a tuple."""
    if isinstance(value, Array):
        numbers: Numbers = value.numbers
        return numbers
    kinds = set(map(type, value)) if isinstance(value, tuple) else set()
    if kinds == {int} and min(value) >= -_INTEGERS and max(value) < _INTEGERS:
        return np.array(value, dtype=np.int64)
    if kinds in ({bool}, {float}):
        numbers = np.array(value)
        return None if np.isnan(numbers).any() else numbers
    return None


def _integers(value: Any) -> Numbers | None:
    numbers = _numbers(value)
    if numbers is None or numbers.dtype.kind == "f":
        return None
    return numbers.astype(np.int64, copy=False)


def _bounds(numbers: Numbers) -> tuple[int, int]:
    return int(numbers.min()), int(numbers.max())


def _fits(*results: int) -> bool:
    return all(-_INTEGERS < result < _INTEGERS for result in results)


# ---- operators ------------------------------------------------------------------------------------------------------


def _operand(value: Any) -> Numbers | None:
    """A list of at least two entries, or a number as an array of one."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, Array):
        return _numbers(value) if len(value.numbers) > 1 else None
    return _numbers((value,)) if not isinstance(value, tuple) else None


def each(apply: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A binary operator, entry by entry. A number, or a list of one entry, belongs to every entry."""
    first, second = _operand(left), _operand(right)
    if first is None or second is None or (len(first) != len(second) and 1 not in (len(first), len(second))):
        return NotImplemented
    if apply in _LOGICAL:
        return Array(_LOGICAL[apply](first, second)) if first.dtype.kind == second.dtype.kind == "b" else NotImplemented
    first, second = (n.astype(np.int64) if n.dtype.kind == "b" else n for n in (first, second))
    kinds = first.dtype.kind + second.dtype.kind
    if apply in _COMPARISONS:
        if len(set(kinds)) == 2 and not _is_exact(first if kinds[0] == "i" else second):
            return NotImplemented
        return Array(_COMPARISONS[apply](first, second))
    if apply in _ARITHMETIC:
        if kinds == "ii" and not _fits(*_extremes(apply, first, second)):
            return NotImplemented
        with np.errstate(all="ignore"):
            return Array(_ARITHMETIC[apply](first, second))
    if apply in _DIVISIONS and kinds == "ii" and second.all() and first.min() > -_INTEGERS:
        return Array(_DIVISIONS[apply](first, second))
    return NotImplemented


def _is_exact(integers: Numbers) -> bool:
    low, high = _bounds(integers)
    return low >= -_EXACT and high <= _EXACT


def _extremes(apply: Callable[[Any, Any], Any], first: Numbers, second: Numbers) -> list[int]:
    """The results for all pairs of the smallest and largest integers of two arrays, which bound all others."""
    return [apply(one, other) for one in _bounds(first) for other in _bounds(second)]


def negated(values: Array) -> Any:
    """Unary minus."""
    numbers = _numbers(values)
    if numbers is None or not len(numbers):
        return NotImplemented
    if numbers.dtype.kind != "f":
        numbers = numbers.astype(np.int64, copy=False)
        if int(numbers.min()) == -_INTEGERS:
            return NotImplemented
    return Array(-numbers)


def inverted(values: Array) -> Array:
    """`not` of each entry."""
    return Array(np.logical_not(values.numbers))


# ---- functions ------------------------------------------------------------------------------------------------------


def coordinates(tensor: Tensor, dim: int) -> Any:
    sizes = tensor.shape
    if math.prod(sizes) < LEAST or not isinstance(dim, int) or not -len(sizes) <= dim < len(sizes):
        return NotImplemented
    axis = dim % len(sizes)
    shape = [size if index == axis else 1 for index, size in enumerate(sizes)]
    return Array(np.broadcast_to(np.arange(sizes[axis]).reshape(shape), sizes).reshape(-1))


def select(tensor: Tensor, dim: int, index: int) -> Any:
    values, sizes = tensor.array(), tensor.shape
    if not (isinstance(values, Array) and isinstance(dim, int) and isinstance(index, int)):
        return NotImplemented
    if not -len(sizes) <= dim < len(sizes):
        return NotImplemented
    if not -sizes[dim] <= index < sizes[dim]:
        raise Undefined
    return Array(values.numbers.reshape(sizes).take(index, axis=dim).reshape(-1))


def pick(values: Any, indices: Any) -> Any:
    numbers, positions = _numbers(values), _integers(indices)
    if numbers is None or positions is None or not len(positions):
        return NotImplemented
    low, high = _bounds(positions)
    if low < -len(numbers) or high >= len(numbers):
        raise Undefined
    return Array(numbers[positions])


def repeat_each(values: Any, counts: Any) -> Any:
    numbers, times = _numbers(values), _integers(counts)
    if numbers is None or times is None or not len(times):
        return NotImplemented
    if len(times) not in (1, len(numbers)) or int(times.min()) < 0:
        return NotImplemented
    return Array(np.repeat(numbers, times))


def differences(values: Array) -> Any:
    numbers = _numbers(values)
    if numbers is None or len(numbers) < 2:
        return NotImplemented
    return each(operator.sub, Array(numbers[1:]), Array(numbers[:-1]))


def total(values: Array) -> Any:
    """The sum of integers; that of floats depends on the order."""
    numbers = _integers(values)
    if numbers is None or not len(numbers) or not _fits(*(len(numbers) * bound for bound in _bounds(numbers))):
        return NotImplemented
    return int(numbers.sum())


def _extreme(name: str) -> Callable[..., Any]:
    def evaluate(*values: Any) -> Any:
        numbers = _numbers(values[0]) if len(values) == 1 else None
        if numbers is None or numbers.dtype.kind != "i" or not len(numbers):
            return NotImplemented  # of floats that are equal, as 0.0 and -0.0, the first one counts
        return int(getattr(numbers, name)())

    return evaluate


def distinct(values: Array) -> Any:
    numbers = _integers(values)
    return NotImplemented if numbers is None else len(np.unique(numbers)) == len(numbers)


def is_permutation(values: Array) -> Any:
    numbers = _integers(values)
    return NotImplemented if numbers is None else bool(np.array_equal(np.sort(numbers), np.arange(len(numbers))))


def nondecreasing(values: Array) -> Any:
    return bool((values.numbers[:-1] <= values.numbers[1:]).all())


def equal(first: Any, second: Any) -> Any:
    one, other = _integers(first), _integers(second)
    return NotImplemented if one is None or other is None else bool(np.array_equal(one, other))


def row_counts(values: Any, length: int) -> Any:
    if not isinstance(values, Array) or not isinstance(length, int):
        return NotImplemented
    if length < 1 or len(values.numbers) % length != 0:
        raise Undefined
    return Array(np.count_nonzero(values.numbers.reshape(-1, length), axis=1))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "all": lambda values: bool(values.numbers.all()),
    "any": lambda values: bool(values.numbers.any()),
    "count": lambda values: int(np.count_nonzero(values.numbers)),
    "coordinates": coordinates, "differences": differences, "distinct": distinct, "elements": lambda values: values,
    "equal": equal, "is_permutation": is_permutation, "max": _extreme("max"), "min": _extreme("min"),
    "nondecreasing": nondecreasing, "pick": pick, "repeat_each": repeat_each, "row_counts": row_counts,
    "select": select, "sum": total,
}  # fmt: skip
"""Functions of predicates (`functions.FUNCTIONS`) by name, for arguments of which one is an array or a tensor."""
