"""Writing to places that indices or masks name, and the gradients of reading from them: zeros to which grad_output
is added. Where places repeat and one value must win, it is open which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle
from diopigen.conformance.oracles.kernel_functions import magnitude
from diopigen.conformance.oracles.reduction import vector_norm


def _sum_at(start: Array, locations: Any, values: Array) -> Expected:
    """`start` with the values added at places, which may repeat. Integers wrap; bools are joined by or."""
    found, scale = start.copy(), magnitude(start)
    times = np.ones(start.shape)
    np.add.at(found, locations, values)
    np.add.at(scale, locations, magnitude(values))
    np.add.at(times, locations, 1)
    return Expected(found, scale, int(times.max(initial=1)))


def _product_at(start: Array, locations: Any, values: Array) -> Expected:
    found, times = start.copy(), np.ones(start.shape)
    np.multiply.at(found, locations, values)
    np.add.at(times, locations, 1)
    return Expected(found, np.abs(found) * times, int(times.max(initial=1)))


def _written_at(start: Array, locations: Any, values: Array) -> Expected:
    found, times = start.copy(), np.zeros(start.shape)
    found[locations] = values
    np.add.at(times, locations, 1)
    return Expected(found, free=times > 1 if np.ndim(values) else None)


# ---- slices and single positions ------------------------------------------------------------------------------------


def _slice_positions(call: Call, rank: int) -> Any:
    locations: list[Any] = [slice(None)] * rank
    is_slice = call.function.operator.startswith("Slice")
    position = slice(call["start"], call["end"], call["step"]) if is_slice else call["index"]
    locations[call["dim"] % rank] = position
    return tuple(locations)


@oracle("SelectScatter", "SliceScatter")
def _replaced(call: Call) -> Answer:
    found = call.wide("input").copy()
    found[_slice_positions(call, found.ndim)] = call.wide("src")
    return {"out": Expected(found)}


@oracle("SelectBackward", "SliceBackward")
def _put_back(call: Call) -> Answer:
    gradient = call.wide("grad_output")
    found = np.zeros(call.shapes["grad_input"], dtype=gradient.dtype)
    found[_slice_positions(call, found.ndim)] = gradient
    return {"grad_input": Expected(found)}


def _along(call: Call, x: Array) -> Any:
    """All of `x`, with the dimension `dim` indexed by a vector."""
    return (slice(None),) * (call["dim"] % x.ndim) + (call["index"].astype(np.int64),)


@oracle("IndexFill", "IndexFillScalar")
def _index_fill(call: Call) -> Answer:
    x = call.wide("input")
    rows = np.atleast_1d(x.copy())
    rows[_along(call, rows)] = convert(np.asarray(call["value"]), call.dtype("input"))
    return {call.target: Expected(rows.reshape(x.shape))}


@oracle("IndexSelectBackward")
def _index_select_backward(call: Call) -> Answer:
    gradient = np.atleast_1d(call.wide("grad"))
    start = np.zeros(call.shapes["grad_input"] or (1,), dtype=gradient.dtype)
    return {"grad_input": _reshaped(_sum_at(start, _along(call, start), gradient), call.shapes["grad_input"])}


def _reshaped(expected: Expected, shape: tuple[int, ...]) -> Expected:
    scale = None if expected.scale is None else expected.scale.reshape(shape)
    free = None if expected.free is None else expected.free.reshape(shape)
    return Expected(expected.values.reshape(shape), scale, expected.terms, free=free)


# ---- one index per element ------------------------------------------------------------------------------------------


def _element_positions(call: Call) -> Any:
    """Along `dim` the index says the place; in all other dimensions it is the place in the index."""
    index = np.atleast_1d(call["index"]).astype(np.int64)
    locations: list[Any] = list(np.indices(index.shape, sparse=True))
    locations[call["dim"] % index.ndim] = index
    return tuple(locations)


@oracle("GatherBackward")
def _gather_backward(call: Call) -> Answer:
    gradient, shape = call.wide("grad_output"), call.shapes["grad_input"]
    start = np.zeros(shape or (1,), dtype=gradient.dtype)
    if gradient.size == 0:  # of any rank
        return {"grad_input": Expected(start.reshape(shape))}
    return {"grad_input": _reshaped(_sum_at(start, _element_positions(call), np.atleast_1d(gradient)), shape)}


@oracle("Scatter", "ScatterScalar")
def _scatter(call: Call) -> Answer:
    """Elements of `src` beyond the shape of the index are left."""
    x, index = np.atleast_1d(call.wide("input")), np.atleast_1d(call["index"])
    if index.size == 0:  # of any rank
        return {call.target: Expected(call.wide("input"))}
    if call.has("src"):
        values = np.atleast_1d(call.wide("src"))[tuple(slice(size) for size in index.shape)]
    else:
        values = convert(np.asarray(call["value"]), call.dtype("input"))
    ways = {"": _written_at, "add": _sum_at, "multiply": _product_at}
    found = ways[call["reduce"]](x, _element_positions(call), values)
    return {call.target: _reshaped(found, call.shapes[call.target])}


# ---- lists of indices and masks -------------------------------------------------------------------------------------


def _advanced(indices: Sequence[Array | None]) -> Any:
    """The list as NumPy reads it: slices, masks and positions."""

    def one(index: Array | None, is_mask: bool) -> Any:
        if index is None:
            return slice(None)
        return index != 0 if is_mask else index.astype(np.int64)

    return tuple(one(index, index is not None and index.dtype in (np.bool_, np.uint8)) for index in indices)


@oracle("Index")
def _index(call: Call) -> Answer:
    return {"out": Allocated(Expected(call.wide("input")[_advanced(call["indices"])]), call.dtype("input"))}


@oracle("IndexPut")
def _index_put(call: Call) -> Answer:
    x, locations, values = call.wide("input"), _advanced(call["indices"]), call.wide("values")
    return {call.target: (_sum_at if call["accumulate"] else _written_at)(x, locations, values)}


@oracle("IndexBackward")
def _index_backward(call: Call) -> Answer:
    start, gradient = call.wide("zeros_like_input"), call.wide("grad_output")
    return {"grad_input": _sum_at(start, _advanced(call["indices"]), gradient)}


@oracle("MaskedScatter")
def _masked_scatter(call: Call) -> Answer:
    x, mask = np.broadcast_arrays(call.wide("input"), call["mask"])
    found = x.copy()
    found[mask] = call.wide("source").ravel()[: np.count_nonzero(mask)]
    return {"out": Expected(found)}


@oracle("MaskedSelectBackward")
def _masked_select_backward(call: Call) -> Answer:
    gradient = call.wide("grad_output")
    found = np.zeros(call.shapes["grad_input"], dtype=gradient.dtype)
    if found.size == 0:  # of the shape of input, where mask has more dimensions
        return {"grad_input": Expected(found)}
    found[np.broadcast_to(call["mask"], found.shape)] = gradient
    return {"grad_input": Expected(found)}


# ---- tables of rows -------------------------------------------------------------------------------------------------


@oracle("EmbeddingBackward")
def _embedding_backward(call: Call) -> Answer:
    """The row of `padding_idx` stays zero; on demand each row is divided by how often it was looked up."""
    rows, gradient = call["indices"].astype(np.int64).ravel(), call.wide("grad")
    gradient = gradient.reshape(rows.size, gradient.shape[-1]) * (rows != call["padding_idx"])[:, None]
    found = _sum_at(np.zeros(call.shapes["out"], gradient.dtype), rows, gradient)
    times = np.ones((call["num_weights"], 1))
    if call["scale_grad_byfreq"]:
        times = np.maximum(np.bincount(rows, minlength=call["num_weights"]), 1)[:, None]
    assert found.scale is not None
    return {"out": Expected(found.values / times, found.scale / times, found.terms)}


@oracle("EmbeddingRenorm_")
def _embedding_renorm(call: Call) -> Answer:
    found = call.wide("inout").copy()
    for row in sorted(set(call["indices"].ravel().tolist())):
        norm = vector_norm(found[row], float(call["norm_type"]), (0,))
        if norm > call["max_norm"]:
            found[row] *= call["max_norm"] / (norm + 1e-7)
    return {"inout": Expected(found, terms=found.shape[-1])}


# ---- windows --------------------------------------------------------------------------------------------------------


@oracle("UnfoldBackward")
def _unfold_backward(call: Call) -> Answer:
    """Each window's gradient goes to the positions that the window holds."""
    gradient, shape = call.wide("grad_output"), call.shapes["grad_input"]
    found = np.zeros(shape or (1,), dtype=gradient.dtype)
    dim = call["dim"] % found.ndim
    windows = gradient if shape else gradient[None]
    positions = np.lib.stride_tricks.sliding_window_view(np.arange(found.shape[dim]), call["size"])[:: call["step"]]
    last = np.moveaxis(found, dim, -1)
    summed = _sum_at(last, (..., positions), np.moveaxis(windows, dim, -2))
    assert summed.scale is not None
    values, scale = np.moveaxis(summed.values, -1, dim), np.moveaxis(summed.scale, -1, dim)
    return {"grad_input": Expected(values.reshape(shape), scale.reshape(shape), summed.terms)}


# ---- picks along a dimension ----------------------------------------------------------------------------------------


@oracle("SortBackward")
def _sort_backward(call: Call) -> Answer:
    gradient, shape = call.wide("grad_output"), call.shapes["grad_input"]
    found = np.zeros(shape or (1,), dtype=gradient.dtype)
    dim = call["dim"] % found.ndim
    index = call["indices"].astype(np.int64)
    if shape and not call["keepdim"]:
        gradient, index = np.expand_dims(gradient, dim), np.expand_dims(index, dim)
    np.put_along_axis(found, np.atleast_1d(index), np.atleast_1d(gradient), dim)
    return {"grad_input": Expected(found.reshape(shape))}
