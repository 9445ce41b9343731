"""Results whose order is open: outputs that `unordered` in the spec leaves to the library for this call.

Along the open dimension the entries of all such outputs form records, which both sides sort alike before they are
compared: as multisets. What another output says of these entries (an index that selects them) its oracle holds against
the results as they are, in the order that the library chose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from diopigen.conformance.cases.described import described
from diopigen.conformance.dtypes import Array, decode, widest
from diopigen.conformance.model import Case
from diopigen.conformance.oracles import Allocated, Expected
from diopigen.contract.evaluate import Arguments
from diopigen.ir.model import Function


@dataclass(frozen=True, slots=True)
class Stored:
    """The elements of an output in memory form, with their dtype."""

    elements: Array
    dtype: str


def arranged(
    case: Case, function: Function, results: Mapping[str, Stored], answer: Mapping[str, object]
) -> dict[str, tuple[Array, Expected]]:
    """Of the outputs whose order is open in a call: the elements (in memory form) and what is expected, both in one
    order, for `compare`. An output of a wrong shape, or without dimensions, stays out, as it needs none."""
    expected: dict[str, Expected] = {}
    groups: dict[tuple[tuple[int, ...], int], list[str]] = {}
    for name, dim in _open(case, function).items():
        wanted = answer.get(name)
        wanted = wanted.expected if isinstance(wanted, Allocated) else wanted
        if isinstance(wanted, Expected) and name in results:
            shape = results[name].elements.shape
            if shape and shape == wanted.values.shape:
                expected[name] = wanted
                groups.setdefault((shape, dim % len(shape)), []).append(name)
    found = {}
    for (_, dim), names in groups.items():
        actual = [widest(decode(results[name].elements, results[name].dtype)) for name in names]
        wide = [widest(np.asarray(expected[name].values)) for name in names]
        # The first name is the first that records are sorted by, which is the last key of lexsort.
        own, agreed = np.lexsort(actual[::-1], axis=dim), np.lexsort(wide[::-1], axis=dim)
        for name in names:
            elements = np.take_along_axis(results[name].elements, own, dim)
            found[name] = elements, _taken(expected[name], agreed, dim)
    return found


def _open(case: Case, function: Function) -> dict[str, int]:
    """The outputs of a call whose order is open, each with the dimension along which it is."""
    found = {param.name: param.unordered for param in function.params if param.unordered is not None}
    if not found:
        return {}
    arguments = Arguments(function, described(case))
    dims: dict[str, int] = {}
    for name, order in found.items():
        dim = order.along if isinstance(order.along, int) else case.arguments.get(order.along)
        if isinstance(dim, int) and arguments.holds(order.where.expression):
            dims[name] = dim
    return dims


def _taken(expected: Expected, order: Array, dim: int) -> Expected:
    """What is expected, in another order along a dimension."""

    def taken(array: Array | None) -> Array | None:
        return None if array is None else np.take_along_axis(np.broadcast_to(array, order.shape), order, dim)

    values = np.take_along_axis(expected.values, order, dim)
    scale, free, or_nan = taken(expected.scale), taken(expected.free), taken(expected.or_nan)
    return replace(expected, values=values, scale=scale, free=free, or_nan=or_nan, narrowed=taken(expected.narrowed))
