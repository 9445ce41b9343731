"""Reductions and softmax against NumPy: values over dtypes and strides, and what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import DTYPE_NOT_SUPPORTED, ERROR_OCCURRED, CpuLibrary
from reference_values import FLOATS, assert_close, normal, softmax, wide


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dims", [[], [0], [1, -1], [-2], [0, 1, 2]])
def test_sum_mean_amax(cpu: CpuLibrary, dtype: Any, dims: list[int]) -> None:
    x = normal(3, 4, 5, dtype=dtype).transpose(2, 0, 1)
    axis = tuple(dims) or None
    for keepdims in (False, True):
        expected = np.asarray(wide(x).sum(axis=axis, keepdims=keepdims))
        out = np.zeros(expected.shape, dtype)
        cpu.call("diopiSum", out, x, dims)
        assert_close(out, expected, 4)
        cpu.call("diopiMean", out, x, dims)
        assert_close(out, wide(x).mean(axis=axis, keepdims=keepdims))
        cpu.call("diopiAmax", out, x, dims, keepdims)
        np.testing.assert_array_equal(out, x.max(axis=axis, keepdims=keepdims))


def test_sum_of_integers_and_long_rows(cpu: CpuLibrary) -> None:
    out = np.zeros((), np.int64)
    cpu.call("diopiSum", out, np.full(1000, 200, np.uint8), [])
    assert out == 200_000
    cpu.call("diopiSum", out, np.array([2**63 - 1, 1], np.int64), [])
    assert out == -(2**63)
    long = np.full(3_000_000, 0.1, np.float32)
    total = np.zeros((), np.float32)
    cpu.call("diopiSum", total, long, [])
    assert abs(float(total) - 3_000_000 * float(np.float32(0.1))) < 0.1
    cpu.call("diopiSum", total, np.zeros((0,), np.float32), [])
    assert total == 0
    product = np.zeros((2,), np.int64)
    cpu.call("diopiProd", product, np.array([[2, 3], [-4, 5]], np.int32), -1)
    assert product.tolist() == [6, -20]


def test_argmax_any_all(cpu: CpuLibrary) -> None:
    x = np.array([[1, 3, 3], [np.nan, 7, np.nan], [-np.inf, -np.inf, -np.inf]], np.float32)
    out = np.zeros(3, np.int64)
    cpu.call("diopiArgmax", out, x, 1, False)
    assert out.tolist() == [1, 0, 0]
    integral = np.zeros((), np.int64)
    cpu.call("diopiArgmax", integral, x, None, False)
    assert integral == 3
    bools = np.array([[0, 2, 0], [0, 0, 0], [1, 1, 1]], np.int32)
    answers = np.zeros(3, bool)
    cpu.call("diopiAny", answers, bools, 1)
    assert answers.tolist() == [True, False, True]
    cpu.call("diopiAll", answers, bools, -1)
    assert answers.tolist() == [False, False, True]
    status, text = cpu.status("diopiAny", answers, bools, 2)
    rule = "dim, where given, is in [-rank(input), rank(input) - 1], a 0-d input counting as 1-d"
    assert (status, text) == (ERROR_OCCURRED, f"diopiAny: dim.dim_of: {rule} (input=int32[3, 3], dim=2)")
    status, text = cpu.status("diopiSum", np.zeros(3, np.float32), x, [1, -1])
    rule = "C2: dim names no dimension twice"
    assert (status, text) == (ERROR_OCCURRED, f"diopiSum: {rule} (input=float32[3, 3], dim=(1, -1))")
    status, _ = cpu.status("diopiSum", np.zeros(3, np.int32), x, [1])
    assert status == DTYPE_NOT_SUPPORTED


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_and_gradients(cpu: CpuLibrary, dtype: Any, dim: int) -> None:
    x = (normal(4, 5, 6, dtype=np.float64) * 3).astype(dtype).swapaxes(0, 1)
    grad = normal(5, 4, 6, dtype=dtype, seed=1)
    out = np.zeros(x.shape, dtype)
    y = softmax(wide(x), dim)
    cpu.call("diopiSoftmax", out, x, dim)
    assert_close(out, y)
    back = np.zeros(x.shape, dtype)
    cpu.call("diopiSoftmaxBackward", back, grad, out, dim)
    g, o = wide(grad), wide(out)
    assert_close(back, (g - (g * o).sum(dim, keepdims=True)) * o, 2)
    cpu.call("diopiLogSoftmax", out, x, dim)
    assert_close(out, np.log(y), 4)
    o = wide(out)
    cpu.call("diopiLogSoftmaxBackward", back, grad, out, dim)
    assert_close(back, g - np.exp(o) * g.sum(dim, keepdims=True), 4)


def test_softmax_does_not_overflow(cpu: CpuLibrary) -> None:
    out = np.zeros(3, np.float32)
    cpu.call("diopiSoftmax", out, np.array([1e4, 1e4, -1e4], np.float32), 0)
    assert out.tolist() == [0.5, 0.5, 0.0]
    single = np.zeros((), np.float32)
    cpu.call("diopiSoftmax", single, np.array(3, np.float32), -1)
    assert single == 1
