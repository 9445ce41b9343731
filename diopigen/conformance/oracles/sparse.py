"""Products with sparse matrices. The oracle sees the sparse operand as a dense one with zeros."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.oracles import Answer, Call, Expected, oracle


@oracle("SpMM")
def _spmm(call: Call) -> Answer:
    left, right = call.wide("input"), call.wide("mat2")
    return {"out": Expected(left @ right, np.abs(left) @ np.abs(right), left.shape[-1])}
