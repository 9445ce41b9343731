"""Numbers and lists of numbers, for the functions of predicates."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from diopigen.contract.arguments import Undefined

Ints = Sequence[int]


def item(values: Ints, index: int) -> int:
    if not -len(values) <= index < len(values):
        raise Undefined
    return values[index]


def extreme(choose: Callable[[Sequence[Any]], Any]) -> Callable[..., Any]:
    """The largest or smallest of numbers and of the entries of lists; undefined for nothing."""

    def evaluate(*values: Any) -> Any:
        entries = [entry for value in values for entry in (value if isinstance(value, tuple) else (value,))]
        if not entries:
            raise Undefined
        return choose(entries)

    return evaluate


def ceil_div(value: float, divisor: float) -> float:
    """Exact for integers; the quotient of floats is rounded to a float first, as kernels compute it."""
    if isinstance(value, int) and isinstance(divisor, int):
        return -(-value // divisor)
    quotient = value / divisor
    return math.ceil(quotient) if math.isfinite(quotient) else quotient


def nondecreasing(values: Ints) -> bool:
    return all(first <= second for first, second in itertools.pairwise(values))


def is_permutation(values: Ints) -> bool:
    return sorted(values) == list(range(len(values)))


def row_counts(values: Ints, length: int) -> Ints:
    """Undefined where the entries are no rows of that length."""
    if length < 1 or len(values) % length != 0:
        raise Undefined
    return tuple(sum(map(bool, values[first : first + length])) for first in range(0, len(values), length))


def row_heads(values: Ints, length: int, counts: Ints) -> Ints:
    """Undefined where the entries are no rows of that length, one for each count, or a count is no integer."""
    if len(values) != length * len(counts) or not all(isinstance(count, int) for count in counts):
        raise Undefined
    return tuple(
        entry for row, count in enumerate(counts) for entry in values[row * length : row * length + max(count, 0)]
    )


def pick(values: Ints, indices: Ints) -> Ints:
    return tuple(item(values, index) for index in indices)


def repeat_each(values: Ints, counts: Ints) -> Ints:
    """Undefined where there is not one count for each entry, or one for all."""
    if len(counts) == 1:
        counts = (counts[0],) * len(values)
    if len(counts) != len(values) or any(count < 0 for count in counts):
        raise Undefined
    return tuple(value for value, count in zip(values, counts, strict=True) for _ in range(count))


def differences(values: Ints) -> Ints:
    return tuple(second - first for first, second in itertools.pairwise(values))


def equal(first: Ints, second: Ints) -> bool:
    return len(first) == len(second) and all(map(operator.eq, first, second))


def distinct(values: Ints) -> bool:
    numbers = [value for value in values if value == value]  # NaN is unlike any other
    return len(set(numbers)) == len(numbers)


def one_of(value: Any, *others: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(one_of(entry, *others) for entry in value)
    return any(value == other for other in others)
