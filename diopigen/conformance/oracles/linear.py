"""Products of matrices, as sums written out."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import SMALLEST_NORMAL, Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


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
    return np.asarray(np.matmul(tiny, at_second) + np.matmul(at_first, tiny_too) > 0)


def _product(first: Array, second: Array, dtype: str) -> Expected:
    """A product of matrices in exact integers (which wrap) or float64."""
    found = np.asarray(np.matmul(first, second))
    if first.dtype.kind in "iub":
        return Expected(found)
    scale = np.asarray(np.matmul(np.abs(first), np.abs(second)))
    return Expected(found, scale, first.shape[-1], or_nan=meets_infinity(first, second, dtype))


@oracle("Mm", "Bmm")
def _mm(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("mat2"), call.dtype("input"))}


@oracle("Matmul")
def _matmul(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("other"), call.dtype("input"))}


@oracle("Linear")
def _linear(call: Call) -> Answer:
    product = _product(call.wide("input"), np.swapaxes(call.wide("weight"), 0, 1), call.dtype("input"))
    if not call.given("bias"):
        return {"out": product}
    bias = call.wide("bias")
    scale = None if product.scale is None else product.scale + np.abs(bias)
    return {"out": Expected(product.values + bias, scale, product.terms, or_nan=product.or_nan)}


def _added(call: Call, first: str, second: str) -> Answer:
    """beta * input + alpha * (first @ second); with beta 0 the input does not matter, not even NaN."""
    product = _product(call.wide(first), call.wide(second), call.dtype(first))
    name, x = call.target, call.wide("input")
    if product.scale is None:
        alpha, beta = int(call["alpha"]), int(call["beta"])
        found = product.values * product.values.dtype.type(alpha)
        return {name: Expected(found + x * x.dtype.type(beta) if beta else found)}
    alpha, beta = call["alpha"], call["beta"]
    shape = product.values.shape
    summand = np.broadcast_to(beta * x if beta else np.zeros_like(x), shape)
    scale = abs(alpha) * product.scale + np.abs(summand)
    return {name: Expected(alpha * product.values + summand, scale, product.terms, or_nan=product.or_nan)}


@oracle("Addmm")
def _addmm(call: Call) -> Answer:
    return _added(call, "mat1", "mat2")


@oracle("Baddbmm")
def _baddbmm(call: Call) -> Answer:
    return _added(call, "batch1", "batch2")
