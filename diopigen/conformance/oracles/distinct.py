"""Distinct elements and slices. NaN differs from itself and is above all numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, widest
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Property, oracle


def _rows(parts: Array) -> Array:
    """Flattens all dimensions but the first, which may be of no elements, to one."""
    return parts.reshape(parts.shape[0], math.prod(parts.shape[1:]))


def _groups(slices: Array) -> tuple[Array, Array]:
    """The first row of each group of equal rows, groups in lexicographic order, and how many rows each has."""
    missing = slices != slices
    numbers = np.where(missing, np.zeros_like(slices), slices)
    # The last key counts most: of each column first whether it is NaN, which is behind the numbers.
    keys = [key for column in reversed(range(slices.shape[1])) for key in (numbers[:, column], missing[:, column])]
    order = np.lexsort(keys) if keys else np.arange(slices.shape[0])
    ordered = slices[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    return order[starts], np.diff(np.append(starts, len(order)))


@oracle("Unique")
def _unique(call: Call) -> Answer:
    x, dim = call.wide("input"), call["dim"]
    parts = x.reshape(-1, 1) if dim is None or x.ndim == 0 else np.moveaxis(x, dim, 0)
    slices = _rows(parts)
    first, counts = _groups(slices)
    distinct = parts[first]
    found = distinct.reshape(-1) if dim is None or x.ndim == 0 else np.moveaxis(distinct, 0, dim)
    dtype = call.dtype("input")
    answer: dict[str, Any] = {"out": Allocated(Expected(found), dtype)}
    if call.has("indices"):
        answer["indices"] = _selects(slices, None if dim is None or x.ndim == 0 else dim)
    if call["return_counts"]:
        answer["counts"] = Allocated(Expected(counts.astype(np.int64)), "int64")
    return answer


def _selects(slices: Array, dim: int | None) -> Property:
    """Condition on indices: each leads to the entry of `out` of its element, or slice, in any order of the entries.
    Which NaN is which cannot be told from the values."""

    def check(found: Array, out: Array) -> str | None:
        entries = widest(out).reshape(-1) if dim is None else np.moveaxis(widest(out), dim, 0)
        entries = _rows(entries)
        positions = found.reshape(-1).astype(np.int64)
        if positions.size == 0:
            return None
        if positions.min() < 0 or positions.max() >= entries.shape[0]:
            return f"there are positions outside 0 to {entries.shape[0] - 1}: {positions.min()} to {positions.max()}"
        reached = entries[positions]
        same = (reached == slices) | ((reached != reached) & (slices != slices))
        if np.all(same):
            return None
        at = int(np.argwhere(~same.all(axis=1))[0, 0])
        return f"position {positions[at]} of element {at} leads to {reached[at].tolist()}, not {slices[at].tolist()}"

    return Property(check, ("out",))
