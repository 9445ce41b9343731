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
    for place in sorted(range(len(rows)), key=lambda place: [_rank(number) for number in rows[place]]):
        if groups and rows[groups[-1][0]] == rows[place] and all(number == number for number in rows[place]):
            groups[-1].append(place)
        else:
            groups.append([place])
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
    if dim is None and not call["sorted"]:
        return {"out": Allocated(_in_any_order(found), dtype)}
    group_of = np.zeros(len(slices), dtype=np.int64)
    for number, group in enumerate(groups):
        group_of[group] = number
    answer: dict[str, Any] = {"out": Allocated(Expected(found, signed_zero=False), dtype)}
    if call.given("indices"):
        # Which NaN is which cannot be told from the values.
        shape = call.shapes["indices"]
        free = np.array([bool(np.any(row != row)) for row in slices], dtype=np.bool_)
        answer["indices"] = Expected(group_of.reshape(shape), free=free.reshape(shape))
    if call["return_counts"]:
        counts = np.array([len(group) for group in groups], dtype=np.int64)
        answer["counts"] = Allocated(Expected(counts), "int64")
    return answer


def _in_any_order(wanted: Array) -> Property:
    """The elements of a vector, in whichever order."""

    def check(found: Array) -> str | None:
        if np.array_equal(np.sort(widest(found)), np.sort(wanted), equal_nan=found.dtype.kind == "f"):
            return None
        return f"{np.sort(found)[:8].tolist()} in rising order, not {np.sort(wanted)[:8].tolist()}"

    return Property(check)
