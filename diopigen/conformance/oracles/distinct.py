"""Distinct elements and slices. NaN differs from itself and is above all numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, widest
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Property, oracle


def _rank(number: Any) -> tuple[bool, Any]:
    """What orders elements: NaN behind the numbers."""
    return (True, 0) if number != number else (False, number)


def _groups(slices: Array) -> list[list[int]]:
    """The numbers of equal rows together, in lexicographic order of the rows."""
    rows = slices.tolist()
    groups: list[list[int]] = []
    for position in sorted(range(len(rows)), key=lambda position: [_rank(number) for number in rows[position]]):
        if groups and rows[groups[-1][0]] == rows[position] and all(number == number for number in rows[position]):
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


@oracle("Unique")
def _unique(call: Call) -> Answer:
    x, dim = call.wide("input"), call["dim"]
    parts = x.reshape(-1, 1) if dim is None or x.ndim == 0 else np.moveaxis(x, dim, 0)
    slices = parts.reshape(parts.shape[0], -1)
    groups = _groups(slices)
    distinct = parts[np.array([group[0] for group in groups], dtype=np.int64)]
    found = distinct.reshape(-1) if dim is None or x.ndim == 0 else np.moveaxis(distinct, 0, dim)
    dtype = call.dtype("input")
    answer: dict[str, Any] = {"out": Allocated(Expected(found), dtype)}
    if call.has("indices"):
        answer["indices"] = _selects(slices, None if dim is None or x.ndim == 0 else dim)
    if call["return_counts"]:
        counts = np.array([len(group) for group in groups], dtype=np.int64)
        answer["counts"] = Allocated(Expected(counts), "int64")
    return answer


def _selects(slices: Array, dim: int | None) -> Property:
    """What indices must obey: each leads to the entry of `out` that its element, or slice, went to, in whatever order
    the entries are. Which NaN is which cannot be told from the values."""

    def check(found: Array, out: Array) -> str | None:
        entries = widest(out).reshape(-1) if dim is None else np.moveaxis(widest(out), dim, 0)
        entries = entries.reshape(entries.shape[0], -1)
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
