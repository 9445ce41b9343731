"""Results whose order is open: what `unordered` and `ties` in the spec leave to the library for this call.

Along an open dimension the entries of all such outputs form records, which both sides sort alike before they are
compared: as multisets. Where equal elements may stand for each other, indices are compared by the elements that they
select, and zeros of both signs are equal. What another output says of entries (a position in it) its oracle holds
against the results as they are, in the order that the library chose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from diopigen.chip.accuracy import Accuracy
from diopigen.conformance.cases.described import described
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import Array, decode, widest
from diopigen.conformance.model import Case, Fault
from diopigen.conformance.oracles import Allocated, Expected
from diopigen.contract.evaluate import Arguments
from diopigen.ir.model import Function


@dataclass(frozen=True, slots=True)
class Stored:
    """The elements of a tensor in memory form, with their dtype."""

    elements: Array
    dtype: str


@dataclass(frozen=True, slots=True)
class Arranged:
    """An output as it is compared. `selects` names the input whose elements stand for the indices of the output."""

    stored: Stored
    expected: Expected
    selects: str = ""


@dataclass(slots=True)
class Arrangement:
    """The outputs of a call whose order is open, and complaints about indices that select nothing."""

    outputs: dict[str, Arranged] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)

    def of(self, name: str, stored: Stored, expected: Expected) -> Arranged:
        """An output and what is expected of it, in one order."""
        return self.outputs.get(name, Arranged(stored, expected))

    def fault(
        self,
        name: str,
        stored: Stored,
        expected: Expected,
        tolerance: str | None,
        factor: float = 1.0,
        accuracy: Accuracy | None = None,
    ) -> Fault | None:
        """Describes the error of an output, whose order may be unspecified; see `compare`."""
        if name in self.complaints:
            return Fault("values", name, self.complaints[name])
        one = self.of(name, stored, expected)
        found = compare(one.stored.elements, one.stored.dtype, one.expected, tolerance, name, factor, accuracy)
        if found is not None and one.selects:
            return replace(found, message=f"elements of '{one.selects}' that it selects: {found.message}")
        return found


def selected_from(function: Function) -> set[str]:
    """The inputs that outputs of the function hold indices into."""
    return {param.ties.of for param in function.params if param.ties is not None and param.ties.of}


def arranged(
    case: Case,
    function: Function,
    results: Mapping[str, Stored],
    answer: Mapping[str, object],
    inputs: Mapping[str, Stored],
) -> Arrangement:
    """The outputs whose order is open in a call, each with what is expected, both in one order. `inputs` has those of
    `selected_from`. An output of a wrong shape stays out."""
    found = Arrangement()
    orders, ties = _open(case, function)
    for name in sorted({*orders, *ties}):
        expected = answer.get(name)
        expected = expected.expected if isinstance(expected, Allocated) else expected
        if not isinstance(expected, Expected) or name not in results:
            continue
        if results[name].elements.shape != expected.values.shape and name in orders:
            continue
        of, dim = ties.get(name, ("", 0))
        if of:
            _select(found, name, Arranged(results[name], expected, of), inputs[of], dim)
        else:
            found.outputs[name] = Arranged(results[name], replace(expected, signed_zero=name not in ties))
    _sort(found.outputs, orders)
    return found


def _open(case: Case, function: Function) -> tuple[dict[str, int], dict[str, tuple[str, int]]]:
    """The outputs of a call whose order is open, each with the dimension along which it is; and those in which equal
    elements may stand for each other, with the input that they select from and the dimension."""
    params = [param for param in function.params if param.unordered is not None or param.ties is not None]
    orders: dict[str, int] = {}
    ties: dict[str, tuple[str, int]] = {}
    if not params:
        return orders, ties
    arguments = Arguments(function, described(case))

    def dimension(along: str | int) -> int:
        dim = along if isinstance(along, int) else case.arguments.get(along)
        return dim if isinstance(dim, int) else -1

    for param in params:
        if param.unordered is not None and arguments.holds(param.unordered.where.expression):
            orders[param.name] = dimension(param.unordered.along)
        if param.ties is not None and arguments.holds(param.ties.where.expression):
            ties[param.name] = param.ties.of, dimension(param.ties.along)
    return orders, ties


# ---- indices --------------------------------------------------------------------------------------------------------


def _select(found: Arrangement, name: str, output: Arranged, source: Stored, dim: int) -> None:
    """Puts the elements that indices select in their place, on both sides; a complaint where they select none, or one
    twice. Tensors without dimensions count as vectors."""
    elements = np.atleast_1d(source.elements)
    dim %= elements.ndim
    expected = np.atleast_1d(output.expected.values).astype(np.int64)
    indices = output.stored.elements.astype(np.int64).reshape(expected.shape)
    complaint = _complaint(indices, elements.shape[dim], dim)
    if complaint:
        found.complaints[name] = complaint
        return
    shape = output.stored.elements.shape
    stored = Stored(np.take_along_axis(elements, indices, dim).reshape(shape), source.dtype)
    widened = np.atleast_1d(widest(decode(source.elements, source.dtype)))
    values = np.take_along_axis(widened, expected, dim).reshape(output.expected.values.shape)
    found.outputs[name] = Arranged(stored, Expected(values, signed_zero=False), output.selects)


def _complaint(indices: Array, size: int, dim: int) -> str | None:
    if indices.size == 0:
        return None
    if indices.min() < 0 or indices.max() >= size:
        return f"there are indices outside 0 to {size - 1}: {indices.min()} to {indices.max()}"
    if np.any(np.diff(np.sort(indices, axis=dim), axis=dim) == 0):
        return "an index occurs twice"
    return None


# ---- orders ---------------------------------------------------------------------------------------------------------


def _sort(outputs: dict[str, Arranged], orders: Mapping[str, int]) -> None:
    """Sorts the entries of outputs along their open dimensions, those of one shape and dimension together."""
    groups: dict[tuple[tuple[int, ...], int], list[str]] = {}
    for name, dim in orders.items():
        shape = outputs[name].stored.elements.shape if name in outputs else ()
        if shape:
            groups.setdefault((shape, dim % len(shape)), []).append(name)
    for (_, dim), names in groups.items():
        actual = [widest(decode(outputs[name].stored.elements, outputs[name].stored.dtype)) for name in names]
        widened = [widest(np.asarray(outputs[name].expected.values)) for name in names]
        # The first name is the first that records are sorted by, which is the last key of lexsort.
        own, agreed = np.lexsort(actual[::-1], axis=dim), np.lexsort(widened[::-1], axis=dim)
        for name in names:
            one = outputs[name]
            elements = np.take_along_axis(one.stored.elements, own, dim)
            stored = Stored(elements, one.stored.dtype)
            outputs[name] = Arranged(stored, _taken(one.expected, agreed, dim), one.selects)


def _taken(expected: Expected, order: Array, dim: int) -> Expected:
    """Reorders the expected values along a dimension."""

    def taken(array: Array | None) -> Array | None:
        return None if array is None else np.take_along_axis(np.broadcast_to(array, order.shape), order, dim)

    values = np.take_along_axis(expected.values, order, dim)
    scale, free, or_nan = taken(expected.scale), taken(expected.free), taken(expected.or_nan)
    return replace(expected, values=values, scale=scale, free=free, or_nan=or_nan, narrowed=taken(expected.narrowed))
