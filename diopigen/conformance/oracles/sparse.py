"""Products with sparse matrices. The oracle sees the sparse operand as a dense one with zeros."""

from __future__ import annotations

from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.products import product, size_of_product


@oracle("SpMM")
def _spmm(call: Call) -> Answer:
    left, right = call.wide("input"), call.wide("mat2")
    return {"out": Expected(product(left, right), size_of_product(left, right), left.shape[-1])}
