"""Selecting, gathering and looking up elements. Nothing is computed, so everything is exact."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import widest
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle


@oracle("IndexSelect")
def _index_select(call: Call) -> Answer:
    x = np.atleast_1d(call.wide("input"))
    return {"out": Expected(np.take(x, call["index"], axis=call["dim"]).reshape(call.shapes["out"]))}


@oracle("Gather")
def _gather(call: Call) -> Answer:
    """Along `dim` the index says the place; in all other dimensions it is the place in the output."""
    x, index = np.atleast_1d(call.wide("input")), np.atleast_1d(call["index"])
    dim = call["dim"] % x.ndim
    positions = [
        np.arange(size).reshape([-1 if d == k else 1 for k in range(x.ndim)]) for d, size in enumerate(index.shape)
    ]
    if index.size == 0:
        return {"out": Expected(np.zeros(call.shapes["out"], dtype=x.dtype))}
    positions[dim] = index.astype(np.int64)
    return {"out": Expected(x[tuple(positions)].reshape(call.shapes["out"]))}


@oracle("Embedding")
def _embedding(call: Call) -> Answer:
    return {"out": Expected(widest(call["weight"][call["indices"].astype(np.int64)]))}


@oracle("Nonzero")
def _nonzero(call: Call) -> Answer:
    x = call["input"]
    # A 0-d tensor has one place, which takes no coordinates to say.
    positions = np.argwhere(x != 0) if x.ndim else np.zeros((int(x != 0), 0))
    return {"out": Allocated(Expected(positions.astype(np.int64)), "int64")}


@oracle("MaskedSelect")
def _masked_select(call: Call) -> Answer:
    x, mask = np.broadcast_arrays(call.wide("input"), call["mask"])
    return {"out": Allocated(Expected(x[mask]), call.dtype("input"))}
