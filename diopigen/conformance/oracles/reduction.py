"""Reductions over dimensions, running sums, extremes with their positions, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert, rounded
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.contract.dtypes import accumulate, kind, real_of

Dims = tuple[int, ...]


def dims_of(value: Any, rank: int) -> Dims:
    """The dimensions that a parameter names: null or an empty list means all."""
    if value is None or value == ():
        return tuple(range(rank))
    named = (value,) if isinstance(value, int) else value
    return tuple(dim % max(rank, 1) for dim in named) if rank else ()


def _reduced(call: Call, name: str = "input") -> tuple[Array, Dims, int]:
    """The tensor, the dimensions that vanish, and how many elements go into one result."""
    x = call.wide(name)
    dims = dims_of(call.values.get("dim"), x.ndim)
    return x, dims, int(np.prod([x.shape[dim] for dim in dims], dtype=np.int64))


@oracle("Sum")
def _sum(call: Call) -> Answer:
    x, dims, terms = _reduced(call)
    total = convert(x, accumulate(call.dtype("input"))).sum(axis=dims)
    if kind(call.dtype("input")) in ("int", "bool"):
        return {"out": Expected(np.asarray(total).reshape(call.shapes["out"]))}
    scale = np.abs(x).sum(axis=dims)
    return {"out": Expected(_as(total, call), _as(scale, call), terms)}


def _as(values: Any, call: Call, name: str = "out") -> Array:
    """Results in the shape of the output, which may keep the reduced dimensions."""
    return np.asarray(np.reshape(values, call.shapes[name]))


@oracle("Mean")
def _mean(call: Call) -> Answer:
    x, dims, terms = _reduced(call)
    count = max(terms, 1)
    found: Any = np.where(terms == 0, np.nan, x.sum(axis=dims) / count)
    return {"out": Expected(_as(found, call), _as(np.abs(x).sum(axis=dims) / count, call), terms)}


@oracle("Std")
def _std(call: Call) -> Answer:
    x, dims, terms = _reduced(call)
    correction = 1.0 if call["correction"] is None else float(call["correction"])
    mean = x.sum(axis=dims, keepdims=True) / max(terms, 1)
    squares = (np.abs(x - mean) ** 2).sum(axis=dims)
    found = np.sqrt(squares / np.float64(max(terms - correction, 0)))
    # The distance of nearly equal numbers from their mean has the rounding errors of the numbers themselves.
    scale = np.where(np.isfinite(found), found + np.abs(x).max(axis=dims, initial=0) * 0.25, 0)
    return {"out": Expected(_as(found, call), _as(scale, call), terms)}


@oracle("Prod")
def _prod(call: Call) -> Answer:
    x, dims, terms = _reduced(call)
    dtype = call.dtype("out")
    found = convert(convert(x, dtype), accumulate(dtype)).prod(axis=dims)
    found = convert(found, dtype) if kind(dtype) in ("int", "bool") else found
    return {"out": Expected(_as(found, call), None, terms * terms)}


@oracle("Any", "All")
def _any_all(call: Call) -> Answer:
    x, dims, _ = _reduced(call)
    found = (x != 0).any(axis=dims) if call.function.operator == "Any" else (x != 0).all(axis=dims)
    return {"out": Expected(_as(found, call).astype(np.int64))}


@oracle("Amax")
def _amax(call: Call) -> Answer:
    x, dims, _ = _reduced(call, "self")
    return {"out": Expected(_as(x.max(axis=dims), call), signed_zero=False)}


@oracle("MaxAll", "MinAll")
def _extreme_of_all(call: Call) -> Answer:
    name = "max" if call.function.operator == "MaxAll" else "min"
    x = call.wide("input")
    return {name: Expected(np.asarray(x.max() if name == "max" else x.min()), signed_zero=False)}


def _first(x: Array, dim: int, largest: bool) -> Array:
    """Index of the extreme element along a dimension: the first of equal ones, the first NaN before all."""
    return np.asarray(x.argmax(axis=dim) if largest else x.argmin(axis=dim)).astype(np.int64)


@oracle("Max", "Min")
def _extreme(call: Call) -> Answer:
    name = "max" if call.function.operator == "Max" else "min"
    x = np.atleast_1d(call.wide("input"))
    dim = call["dim"] % x.ndim
    positions = _first(x, dim, name == "max")
    values = np.take_along_axis(x, np.expand_dims(positions, dim), dim)
    return {
        name: Expected(_as(values, call, name), signed_zero=False),
        f"{name}_indices": Expected(_as(positions, call, f"{name}_indices")),
    }


@oracle("Argmax", "Argmin")
def _arg_extreme(call: Call) -> Answer:
    x, dim = call.wide("input"), call["dim"]
    rows = x.reshape(-1) if dim is None else np.atleast_1d(x)
    found = _first(rows, 0 if dim is None else dim % rows.ndim, call.function.operator == "Argmax")
    return {"out": Expected(_as(found, call))}


@oracle("Cumsum")
def _cumsum(call: Call) -> Answer:
    x = np.atleast_1d(convert(call.wide("input"), accumulate(call.dtype("input"))))
    dim = call["dim"] % x.ndim
    if kind(call.dtype("input")) in ("int", "bool"):
        return {"out": Expected(_as(np.cumsum(x, axis=dim), call))}
    scale = np.cumsum(np.abs(x), axis=dim)
    return {"out": Expected(_as(np.cumsum(x, axis=dim), call), _as(scale, call), x.shape[dim])}


@oracle("CumsumBackward")
def _cumsum_backward(call: Call) -> Answer:
    x = np.atleast_1d(call.wide("grad_output"))
    dim = call["dim"] % x.ndim
    found = np.flip(np.cumsum(np.flip(x, dim), axis=dim), dim)
    scale = np.flip(np.cumsum(np.flip(np.abs(x), dim), axis=dim), dim)
    return {"grad_input": Expected(_as(found, call, "grad_input"), _as(scale, call, "grad_input"), x.shape[dim])}


def vector_norm(x: Array, order: float, dims: Dims) -> Array:
    """The norm of vectors: sum of |x| ** p to the power 1 / p, with the limits for 0 and infinities."""
    size = np.abs(x)
    if order == np.inf:
        return np.asarray(size.max(axis=dims, initial=0))
    if order == -np.inf:
        return np.asarray(size.min(axis=dims, initial=np.inf))
    if order == 0:
        return np.asarray((size != 0).sum(axis=dims).astype(np.float64))
    return np.asarray((size**order).sum(axis=dims) ** (1 / order))


@oracle("Norm", "LinalgVecNorm")
def _norm(call: Call) -> Answer:
    x, dims, terms = _reduced(call)
    name = "p" if call.function.operator == "Norm" else "ord"
    order = float(call[name]) if call.has(name) else 2.0
    found = vector_norm(x, order, dims)
    return {"out": Expected(_as(found, call), None, terms)}


@oracle("NormBackward")
def _norm_backward(call: Call) -> Answer:
    """The sign of each element times its share of the norm: (|x| / norm) ** (p - 1), or a fair one of an extreme."""
    x, order = call.wide("self"), float(call["p"])
    dims = dims_of(call["dim"], x.ndim)
    retained = [1 if dim in dims else size for dim, size in enumerate(x.shape)]
    norm, gradient = call.wide("norm").reshape(retained), call.wide("grad_output").reshape(retained)
    size = np.abs(x)
    direction = np.where(size == 0, 1, x / size)
    if np.isinf(order):
        attains = _same(rounded(size, real_of(call.dtype("self"))), norm)
        share = np.where(attains & (size > 0), 1 / attains.sum(axis=dims, keepdims=True), 0)
    else:
        share = np.where(size == 0, 0 * norm ** (1 - order), (size / norm) ** (order - 1))
        share = np.where((norm == 0) | (order == 0), 0, share)
    return {"grad_input": Expected(np.asarray(direction * share * gradient))}


def _order(x: Array, dim: int, descending: bool) -> Array:
    """Positions in sorted order, equal elements in their own order; NaN counts as the largest."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    reversed_positions = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return np.asarray(np.flip(x.shape[dim] - 1 - reversed_positions, dim))


def _same(first: Array, second: Array) -> Array:
    """Mask of equal elements of two arrays, NaN being equal to NaN."""
    found = first == second
    return np.asarray(found | ((first != first) & (second != second)))


@oracle("Sort", "Argsort")
def _sort(call: Call) -> Answer:
    x = np.atleast_1d(call.wide("input"))
    dim = (-1 if call["dim"] is None else call["dim"]) % x.ndim
    positions = _order(x, dim, call["descending"])
    if call.function.operator == "Argsort":
        return {"out": Expected(_as(positions, call, "out"))}
    values = np.take_along_axis(x, positions, dim)
    return {"values": Expected(_as(values, call, "values")), "indices": Expected(_as(positions, call, "indices"))}


@oracle("Topk")
def _topk(call: Call) -> Answer:
    x = np.atleast_1d(call.wide("input"))
    dim = call["dim"] % x.ndim
    positions = np.take(_order(x, dim, call["largest"]), np.arange(call["k"]), axis=dim)
    values = np.take_along_axis(x, positions, dim)
    return {"values": Expected(_as(values, call, "values")), "indices": Expected(_as(positions, call, "indices"))}


@oracle("Equal")
def _equal(call: Call) -> Answer:
    same_shape = call["input"].shape == call["other"].shape
    return {"out": bool(same_shape and np.all(call["input"] == call["other"]))}
