"""Products of matrices, as sums written out."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.products import product, size_of_product
from diopigen.contract.dtypes import SMALLEST_NORMAL


def meets_infinity(first: Array, second: Array, dtype: str) -> Array | None:
    """The elements of a product in which a denormal number of bfloat16 meets an infinity. Instructions for bfloat16
    may read such numbers as zero, and 0 times infinity is NaN: so NaN is as good there as what the numbers say, and
    nothing else is. None in other dtypes."""
    if dtype != "bfloat16":
        return None
    tiny, tiny_too = (((np.abs(x) < SMALLEST_NORMAL[dtype]) & (x != 0)).astype(np.float32) for x in (first, second))
    at_first, at_second = (np.isinf(x).astype(np.float32) for x in (first, second))
    if not (at_first.any() or at_second.any()):
        return None  # as in all large products
    return np.asarray(product(tiny, at_second) + product(at_first, tiny_too) > 0)


def _product(first: Array, second: Array, dtype: str) -> Expected:
    """A product of matrices in exact integers (which wrap) or float64."""
    found = product(first, second)
    if first.dtype.kind in "iub":
        return Expected(found)
    or_nan = meets_infinity(first, second, dtype)
    return Expected(found, size_of_product(first, second), first.shape[-1], or_nan=or_nan)


@oracle("Mm", "Bmm")
def _mm(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("mat2"), call.dtype("input"))}


@oracle("Matmul")
def _matmul(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("other"), call.dtype("input"))}


@oracle("Linear")
def _linear(call: Call) -> Answer:
    x, weight = np.atleast_1d(call.wide("input")), np.atleast_1d(call.wide("weight"))
    found = _product(x, weight.T, call.dtype("input"))
    if call.has("bias"):
        bias = call.wide("bias")
        scale = None if found.scale is None else found.scale + np.abs(bias)
        found = Expected(found.values + bias, scale, found.terms, or_nan=found.or_nan)
    if found.values.size != 1:
        return {"out": found}

    def one(array: Array | None) -> Array | None:
        return None if array is None else np.reshape(array, call.shapes["out"])

    # One element may be 0-d or [1], as the caller has it.
    values = np.reshape(found.values, call.shapes["out"])
    return {"out": Expected(values, one(found.scale), found.terms, or_nan=one(found.or_nan))}


def _added(call: Call, first: str, second: str) -> Answer:
    """beta * input + alpha * (first @ second); with beta 0 the input does not matter, not even NaN."""
    found = _product(call.wide(first), call.wide(second), call.dtype(first))
    name, x = call.target, call.wide("input")
    if found.scale is None:
        alpha, beta = int(call["alpha"]), int(call["beta"])
        values = found.values * found.values.dtype.type(alpha)
        return {name: Expected(values + x * x.dtype.type(beta) if beta else values)}
    alpha, beta = call["alpha"], call["beta"]
    shape = found.values.shape
    summand = np.broadcast_to(beta * x if beta else np.zeros_like(x), shape)
    scale = abs(alpha) * found.scale + np.abs(summand)
    return {name: Expected(alpha * found.values + summand, scale, found.terms, or_nan=found.or_nan)}


@oracle("Addmm")
def _addmm(call: Call) -> Answer:
    return _added(call, "mat1", "mat2")


@oracle("Baddbmm")
def _baddbmm(call: Call) -> Answer:
    return _added(call, "batch1", "batch2")
