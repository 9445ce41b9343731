"""Products of matrices, as sums written out."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


def _product(first: Array, second: Array) -> Expected:
    """A product of matrices in exact integers (which wrap) or float64."""
    found = np.asarray(np.matmul(first, second))
    if first.dtype.kind in "iub":
        return Expected(found)
    return Expected(found, np.asarray(np.matmul(np.abs(first), np.abs(second))), first.shape[-1])


@oracle("Mm", "Bmm")
def _mm(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("mat2"))}


@oracle("Matmul")
def _matmul(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("other"))}


@oracle("Linear")
def _linear(call: Call) -> Answer:
    product = _product(call.wide("input"), np.swapaxes(call.wide("weight"), 0, 1))
    if not call.given("bias"):
        return {"out": product}
    bias = call.wide("bias")
    scale = None if product.scale is None else product.scale + np.abs(bias)
    return {"out": Expected(product.values + bias, scale, product.terms)}


def _added(call: Call, first: str, second: str) -> Answer:
    """beta * input + alpha * (first @ second); with beta 0 the input does not matter, not even NaN."""
    product = _product(call.wide(first), call.wide(second))
    name, x = call.target, call.wide("input")
    if product.scale is None:
        alpha, beta = int(call["alpha"]), int(call["beta"])
        found = product.values * product.values.dtype.type(alpha)
        return {name: Expected(found + x * x.dtype.type(beta) if beta else found)}
    alpha, beta = call["alpha"], call["beta"]
    shape = product.values.shape
    summand = np.broadcast_to(beta * x if beta else np.zeros_like(x), shape)
    return {
        name: Expected(alpha * product.values + summand, abs(alpha) * product.scale + np.abs(summand), product.terms)
    }


@oracle("Addmm")
def _addmm(call: Call) -> Answer:
    return _added(call, "mat1", "mat2")


@oracle("Baddbmm")
def _baddbmm(call: Call) -> Answer:
    return _added(call, "batch1", "batch2")
