"""Expected results of collectives, in NumPy, and their error bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array, decode, encode
from diopigen.contract.dtypes import kind
from diopigen.contract.tolerance import epsilon


@dataclass(frozen=True, slots=True)
class Expected:
    """The elements that a rank receives, as numbers, and the permitted error of each; 0 is exact."""

    values: Array
    error: Array


def can_reduce(dtype: str, op: str) -> bool:
    """Returns whether the operation has a meaning for the dtype: complex numbers have no order, bool no mean, and
    numbers of one byte are stored, not added."""
    if dtype.startswith("float8"):
        return False
    if kind(dtype) == "complex":
        return op not in ("ReduceOpMin", "ReduceOpMax")
    return dtype != "bool" or op != "ReduceOpAvg"


def contribution(source: np.random.Generator, count: int, dtype: str) -> Array:
    """Elements in memory that a rank sends: small numbers, of which products and sums of a few ranks are in range."""
    if dtype == "bool":
        return encode(source.random(count) < 0.7, dtype)
    if kind(dtype) == "complex":
        return encode(source.normal(size=count) + 1j * source.normal(size=count), dtype)
    if kind(dtype) == "float":
        return encode(source.normal(size=count), dtype)
    low = 0 if STORAGE[dtype].kind == "u" else -9
    return encode(source.integers(low, 10, size=count), dtype)


def exactly(stored: Array, dtype: str) -> Expected:
    """Elements that are moved."""
    values = decode(stored, dtype)
    return Expected(values, np.zeros(values.shape))


def reduced(parts: Sequence[Array], dtype: str, op: str) -> Expected:
    """The reduction of what all ranks sent. A sum of n floats has n - 1 roundings, each of at most half a unit of a
    partial sum, which the sum of the magnitudes bounds; a product has as many relative ones; a mean one more."""
    if kind(dtype) in ("bool", "int"):
        return _integers(parts, dtype, op)
    numbers = [np.asarray(decode(part, dtype)) for part in parts]
    wide = np.stack([part.astype(np.clongdouble if part.dtype.kind == "c" else np.longdouble) for part in numbers])
    n, unit = len(parts), epsilon(dtype)
    if op in ("ReduceOpMin", "ReduceOpMax"):
        values = wide.min(axis=0) if op == "ReduceOpMin" else wide.max(axis=0)
        return Expected(values, np.zeros(values.shape))
    if op == "ReduceOpProd":
        values = wide.prod(axis=0)
        # A complex product has several roundings; what is below the smallest number of the dtype is lost.
        factor = 4 if wide.dtype.kind == "c" else 1
        return Expected(values, factor * n * unit * np.abs(wide).prod(axis=0) + _smallest(dtype))
    divisor = n if op == "ReduceOpAvg" else 1
    values = wide.sum(axis=0) / divisor
    return Expected(values, (n + 1) * unit * np.abs(wide).sum(axis=0) / divisor + _smallest(dtype))


def _smallest(dtype: str) -> float:
    return 2.0**-24 if dtype == "float16" else 2.0**-126


def _integers(parts: Sequence[Array], dtype: str, op: str) -> Expected:
    """Integers exactly: they wrap; a mean has no fraction. The sum of bools is `or`, their product `and`."""
    stack = np.stack(parts)
    if dtype == "bool":
        truth = stack != 0
        values = truth.any(axis=0) if op in ("ReduceOpSum", "ReduceOpMax") else truth.all(axis=0)
        return Expected(values, np.zeros(values.shape))
    if op in ("ReduceOpMin", "ReduceOpMax"):
        values = stack.min(axis=0) if op == "ReduceOpMin" else stack.max(axis=0)
    elif op == "ReduceOpProd":
        values = np.multiply.reduce(stack, axis=0, dtype=STORAGE[dtype])
    else:
        values = np.add.reduce(stack, axis=0, dtype=STORAGE[dtype])
        if op == "ReduceOpAvg":
            values = np.trunc(values / np.longdouble(len(parts))).astype(STORAGE[dtype])
    return Expected(values, np.zeros(values.shape))


@dataclass(frozen=True, slots=True)
class Step:
    """A call as the oracle sees it: what each rank of the group sends, by rank."""

    sent: Sequence[Array]
    dtype: str
    op: str
    root: int
    rank: int
    splits: Sequence[Sequence[int]] = ()
    """Of AllToAllUnequalSplit: how much each rank sends to each."""

    @property
    def nranks(self) -> int:
        return len(self.sent)


Oracle = Callable[[Step], "Expected | None"]
"""Data that a rank receives; None if it receives nothing."""


def _blocks(step: Step, rank: int) -> Sequence[Array]:
    return np.split(step.sent[rank], step.nranks)


def _all_reduce(step: Step) -> Expected:
    return reduced(step.sent, step.dtype, step.op)


def _broadcast(step: Step) -> Expected:
    return exactly(step.sent[step.root], step.dtype)


def _all_gather(step: Step) -> Expected:
    return exactly(np.concatenate(step.sent), step.dtype)


def _reduce(step: Step) -> Expected | None:
    return _all_reduce(step) if step.rank == step.root else None


def _reduce_scatter(step: Step) -> Expected:
    return reduced([_blocks(step, rank)[step.rank] for rank in range(step.nranks)], step.dtype, step.op)


def _all_to_all(step: Step) -> Expected:
    return exactly(np.concatenate([_blocks(step, rank)[step.rank] for rank in range(step.nranks)]), step.dtype)


def _unequal(step: Step) -> Expected:
    parts = []
    for rank in range(step.nranks):
        start = sum(step.splits[rank][: step.rank])
        parts.append(step.sent[rank][start : start + step.splits[rank][step.rank]])
    return exactly(np.concatenate(parts), step.dtype)


def _ring(step: Step) -> Expected:
    return exactly(step.sent[step.rank - 1], step.dtype)


ORACLES: Mapping[str, Oracle] = {
    "diopiAllReduce": _all_reduce,
    "diopiBroadcast": _broadcast,
    "diopiAllGather": _all_gather,
    "diopiReduce": _reduce,
    "diopiReduceScatter": _reduce_scatter,
    "diopiAllToAllEqualSplit": _all_to_all,
    "diopiAllToAllUnequalSplit": _unequal,
    "diopiSend": _ring,
}
"""By function. Each rank sends to the next one, and receives of the one before, in the cases of Send."""
