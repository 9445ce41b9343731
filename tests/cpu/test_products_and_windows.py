"""Matrix products, convolutions and pooling against NumPy: values over dtypes and strides, and what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import ERROR_OCCURRED, CpuLibrary
from reference_values import FLOATS, Array, assert_close, normal, wide


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.complex64])
def test_matrix_products(cpu: CpuLibrary, dtype: Any) -> None:
    integral = np.dtype(dtype).kind in "ic"
    integers = np.random.default_rng(0).integers(-5, 6, (4, 7, 3))
    a = np.asarray(integers[0] if integral else normal(7, 3), dtype)
    b = np.asarray(integers[1].T[:, :6] if integral else normal(6, 3, seed=1).T, dtype)
    exact = np.result_type(dtype, np.float64) if integral and np.dtype(dtype).kind == "c" else np.float64
    product = a.astype(exact) @ b.astype(exact)

    def compare(actual: Array, expected: Array) -> None:
        if integral:
            np.testing.assert_array_equal(actual, expected)
        else:
            assert_close(actual, expected, 4)

    out = np.zeros((7, 6), dtype)
    cpu.call("diopiMm", out, a, b)
    compare(out, product)
    row = np.asarray(np.arange(6), dtype)
    cpu.call("diopiAddmm", out, row, a, b, 2, 3)
    compare(out, 2 * row.astype(exact) + 3 * product)
    cpu.call("diopiLinear", out, a, np.ascontiguousarray(b.T), row)
    compare(out, product + row.astype(exact))
    stacked = np.zeros((2, 7, 6), dtype)
    cpu.call("diopiBmm", stacked, np.stack([a, -a]), np.broadcast_to(b, (2, 3, 6)))
    compare(stacked, np.stack([product, -product]))
    cpu.call("diopiMatmul", stacked, np.stack([a, -a]), b)
    compare(stacked, np.stack([product, -product]))
    vector = np.zeros(6, dtype)
    cpu.call("diopiMatmul", vector, a[0], b)
    compare(vector, product[0])
    dot = np.zeros((), dtype)
    cpu.call("diopiMatmul", dot, a[0], np.ascontiguousarray(b[:, 0]))
    compare(dot, product[0, 0])


def test_addmm_does_not_read_input_with_beta_zero(cpu: CpuLibrary) -> None:
    out = np.zeros((1, 1), np.float32)
    ones = np.ones((1, 1), np.float32)
    cpu.call("diopiAddmm", out, np.full((1, 1), np.nan, np.float32), ones, ones, 0, 1)
    assert out[0, 0] == 1
    status, text = cpu.status("diopiMm", out, ones, np.ones((2, 1), np.float32))
    assert (status, text) == (ERROR_OCCURRED, "diopiMm: 'mat2' is float32[2, 1] and must have 1 in dimension 0")


def convolved(x: Array, w: Array, stride: int, padding: int, dilation: int, groups: int) -> Array:
    x = np.pad(wide(x), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    batch, _, height, width = x.shape
    filters, depth, kh, kw = w.shape
    rows = (height - dilation * (kh - 1) - 1) // stride + 1
    columns = (width - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((batch, filters, rows, columns))
    for f in range(filters):
        first = f // (filters // groups) * depth
        for i in range(rows):
            for j in range(columns):
                top, left = i * stride, j * stride
                patch = x[:, first : first + depth, top : top + dilation * kh : dilation, left:][
                    ..., : dilation * kw : dilation
                ]
                out[:, f, i, j] = (patch[:, :, :kh, :kw] * wide(w[f])).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 2), (1, 3, 2, 4), (3, 2, 1, 1)]
)
def test_convolution(cpu: CpuLibrary, dtype: Any, stride: int, padding: int, dilation: int, groups: int) -> None:
    x = np.moveaxis(normal(2, 7, 9, 4, dtype=dtype), 3, 1)
    w = normal(8, 4 // groups, 3, 2, dtype=dtype, seed=1)
    bias = normal(8, dtype=dtype, seed=2)
    expected = convolved(x, w, stride, padding, dilation, groups)
    out = np.zeros(expected.shape, dtype)
    cpu.call("diopiConvolution2d", out, x, w, None, [stride] * 2, [padding] * 2, [dilation] * 2, groups)
    assert_close(out, expected, 4)
    cpu.call("diopiConvolution2d", out, x, w, bias, [stride] * 2, [padding] * 2, [dilation] * 2, groups)
    assert_close(out, expected + wide(bias)[:, None, None], 4)


def test_pooling(cpu: CpuLibrary) -> None:
    x = normal(2, 3, 7, 6)
    out = np.zeros((2, 3, 3, 3), np.float32)
    cpu.call("diopiMaxPool2d", out, x, [3, 2], [2, 2], [0, 0], [1, 1], False)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))[:, :, ::2, ::2]
    np.testing.assert_array_equal(out, windows.max((4, 5)))
    cpu.call("diopiAvgPool2d", out, x, [3, 2], [2, 2], [0, 0], False, True, None)
    assert_close(out, wide(windows).mean((4, 5)))
    cpu.call("diopiAvgPool2d", out, x, [3, 2], [2, 2], [0, 0], False, True, 5)
    assert_close(out, wide(windows).sum((4, 5)) / 5)
    # Padding, and a last window that sticks out: 7 rows in windows of 3, step 2, padding 1 give 4; 6 columns give 4.
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 2)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    out = np.zeros((2, 3, 4, 4), np.float32)
    cpu.call("diopiMaxPool2d", out, x, [3, 3], [2, 2], [1, 1], [1, 1], True)
    np.testing.assert_array_equal(out, windows.max((4, 5)))
    counts = np.isfinite(windows).sum((4, 5))
    sums = np.where(np.isfinite(windows), windows, 0).astype(np.float64).sum((4, 5))
    cpu.call("diopiAvgPool2d", out, x, [3, 3], [2, 2], [1, 1], True, False, None)
    assert_close(out, sums / counts)
    out = np.zeros((2, 3, 3, 4), np.float32)
    cpu.call("diopiAdaptiveAvgPool2d", out, x, [3, 4])
    rows, columns = [(0, 3), (2, 5), (4, 7)], [(0, 2), (1, 3), (3, 5), (4, 6)]
    expected = [[wide(x[:, :, a:b, c:d]).mean((2, 3)) for c, d in columns] for a, b in rows]
    assert_close(out, np.moveaxis(np.array(expected), (0, 1), (2, 3)))
