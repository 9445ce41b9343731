"""Handwritten operators against NumPy: values over dtypes and strides, and what they refuse."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cpu_library import BFLOAT16, DTYPE_NOT_SUPPORTED, ERROR_OCCURRED, CpuLibrary, NewTensor

Array = np.ndarray[Any, Any]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
TOLERANCE = {np.dtype("float16"): 2e-3, BFLOAT16: 1.6e-2, np.dtype("float32"): 2e-6, np.dtype("float64"): 1e-14}


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng(seed).normal(size=shape)).astype(dtype)


def wide(array: Array) -> Array:
    return array.astype(np.float64)


def assert_close(actual: Array, expected: Any, slack: float = 1) -> None:
    tolerance = TOLERANCE[actual.dtype] * slack
    np.testing.assert_allclose(wide(actual), expected, rtol=tolerance, atol=tolerance)


def softmax(x: Array, dim: int) -> Array:
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    return np.asarray(e / e.sum(axis=dim, keepdims=True))


# ---- Reductions ----


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
    whole = np.zeros((), np.int64)
    cpu.call("diopiArgmax", whole, x, None, False)
    assert whole == 3
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


# ---- Softmax ----


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


# ---- Normalisation ----


@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_and_rms_norm(cpu: CpuLibrary, dtype: Any) -> None:
    x, weight, bias = normal(4, 3, 6, dtype=dtype), normal(3, 6, dtype=dtype, seed=1), normal(3, 6, dtype=dtype, seed=2)
    out, mean, invstd = np.zeros(x.shape, dtype), np.zeros((4, 1, 1), np.float32), np.zeros((4, 1, 1), np.float32)
    cpu.call("diopiLayerNorm", out, mean, invstd, x, weight, bias, [3, 6], 1e-5)
    center = wide(x).mean((1, 2), keepdims=True)
    scale = 1 / np.sqrt(wide(x).var((1, 2), keepdims=True) + 1e-5)
    assert_close(out, (wide(x) - center) * scale * wide(weight) + wide(bias), 3)
    assert_close(mean, center)
    assert_close(invstd, scale)
    cpu.call("diopiRMSNorm", out, invstd, x, [3, 6], weight, None, 1e-6)
    scale = 1 / np.sqrt((wide(x) ** 2).mean((1, 2), keepdims=True) + 1e-6)
    assert_close(out, wide(x) * scale * wide(weight), 3)
    assert_close(invstd, scale)


@pytest.mark.parametrize("dtype", FLOATS)
def test_batch_and_group_norm(cpu: CpuLibrary, dtype: Any) -> None:
    x = np.moveaxis(normal(3, 4, 5, 6, dtype=dtype), 3, 1)
    weight, bias = normal(6, dtype=np.float32, seed=1), normal(6, dtype=np.float32, seed=2)
    running_mean, running_var = normal(6, seed=3), np.abs(normal(6, seed=4)) + 1
    old_mean, old_var = running_mean.copy(), running_var.copy()
    out, mean, invstd = np.zeros(x.shape, dtype), np.zeros(6, np.float32), np.zeros(6, np.float32)
    cpu.call("diopiBatchNorm", out, mean, invstd, x, weight, bias, running_mean, running_var, True, 0.3, 1e-5)
    axes = (0, 2, 3)
    center, variance = wide(x).mean(axes), wide(x).var(axes)
    column = (slice(None), None, None)
    normalised = (wide(x) - center[column]) / np.sqrt(variance + 1e-5)[column]
    assert_close(out, normalised * weight[column] + bias[column], 3)
    assert_close(mean, center)
    assert_close(running_mean, 0.7 * wide(old_mean) + 0.3 * center)
    assert_close(running_var, 0.7 * wide(old_var) + 0.3 * wide(x).var(axes, ddof=1))
    cpu.call("diopiBatchNorm", out, mean, invstd, x, None, None, old_mean, old_var, False, 0.3, 1e-5)
    assert_close(out, (wide(x) - wide(old_mean)[column]) / np.sqrt(wide(old_var) + 1e-5)[column], 3)
    status, text = cpu.status("diopiBatchNorm", out, mean, invstd, x, None, None, None, None, False, 0.3, 1e-5)
    assert status == ERROR_OCCURRED and "C1: running_mean and running_var are given in evaluation" in text
    scale, shift = weight.astype(dtype), bias.astype(dtype)
    mean, invstd = np.zeros((3, 2), np.float32), np.zeros((3, 2), np.float32)
    cpu.call("diopiGroupNorm", out, mean, invstd, x, scale, shift, 2, 1e-5)
    grouped = wide(x).reshape(3, 2, -1)
    normalised = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    assert_close(out, normalised.reshape(x.shape) * wide(scale)[column] + wide(shift)[column], 3)
    assert_close(mean, grouped.mean(2))


# ---- Matrix products ----


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.complex64])
def test_matrix_products(cpu: CpuLibrary, dtype: Any) -> None:
    whole = np.dtype(dtype).kind in "ic"
    integers = np.random.default_rng(0).integers(-5, 6, (4, 7, 3))
    a = np.asarray(integers[0] if whole else normal(7, 3), dtype)
    b = np.asarray(integers[1].T[:, :6] if whole else normal(6, 3, seed=1).T, dtype)
    exact = np.result_type(dtype, np.float64) if whole and np.dtype(dtype).kind == "c" else np.float64
    product = a.astype(exact) @ b.astype(exact)

    def compare(actual: Array, expected: Array) -> None:
        if whole:
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


# ---- Windows ----


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


# ---- Shapes and positions ----


def test_join_and_rearrange(cpu: CpuLibrary) -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(4, dtype=np.int32).reshape(2, 2)
    out = np.zeros((2, 5), np.float64)
    cpu.call("diopiCat", out, [a, b, np.zeros((0,), np.float32)], 3, -1)
    np.testing.assert_array_equal(out, np.concatenate([a, b], 1))
    out = np.zeros((2, 3, 2), np.float32)
    cpu.call("diopiStack", out, [a, -a], 2, 2)
    np.testing.assert_array_equal(out, np.stack([a, -a], 2))
    x = np.arange(24, dtype=np.complex64).reshape(2, 3, 4)
    out = np.zeros((4, 2, 3), np.complex64)
    cpu.call("diopiPermute", out, x, [-1, 0, 1])
    np.testing.assert_array_equal(out, x.transpose(2, 0, 1))
    out = np.zeros((4, 3, 2), np.complex64)
    cpu.call("diopiTranspose", out, x, 0, 2)
    np.testing.assert_array_equal(out, x.swapaxes(0, 2))
    out = np.zeros((2, 3, 4), np.complex64)
    cpu.call("diopiFlip", out, x, [0, -1])
    np.testing.assert_array_equal(out, np.flip(x, (0, 2)))
    out = np.zeros((3, 2, 6, 4), np.complex64)
    cpu.call("diopiRepeat", out, x, [3, 1, 2, 1])
    np.testing.assert_array_equal(out, np.tile(x, (3, 1, 2, 1)))
    status, text = cpu.status("diopiPermute", np.zeros((2, 2, 3), np.complex64), x, [0, 0, 1])
    rule = "C2: dims names every dimension of input once"
    assert (status, text) == (ERROR_OCCURRED, f"diopiPermute: {rule} (dims=(0, 0, 1), input=complex64[2, 3, 4])")


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float16, np.complex128])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_picking(cpu: CpuLibrary, dtype: Any, index_dtype: Any) -> None:
    x = (np.arange(60) % 7).reshape(5, 4, 3).astype(dtype).swapaxes(0, 2)
    index = np.array([3, 0, 3], index_dtype)
    out = np.zeros((3, 3, 5), dtype)
    cpu.call("diopiIndexSelect", out, x, 1, index)
    np.testing.assert_array_equal(out, x[:, index])
    places = np.random.default_rng(0).integers(0, 4, (2, 6, 5)).astype(index_dtype)
    out = np.zeros(places.shape, dtype)
    cpu.call("diopiGather", out, x, -2, places)
    np.testing.assert_array_equal(out, np.take_along_axis(x[:2], places, 1))
    out = np.zeros((2, 2, 4), dtype)
    cpu.call("diopiEmbedding", out, x[:, :, 0], np.array([[2, 0], [1, 1]], index_dtype), -1, False, False)
    np.testing.assert_array_equal(out, x[:, :, 0][[[2, 0], [1, 1]]])
    before = out.copy()
    status, text = cpu.status(
        "diopiEmbedding", out, x[:, :, 0], np.array([[2, 0], [1, 3]], index_dtype), -1, False, False
    )
    assert (status, text) == (ERROR_OCCURRED, "diopiEmbedding: C1: every value of indices is in [0, V - 1]")
    np.testing.assert_array_equal(out, before)
    found = NewTensor()
    cpu.call("diopiNonzero", found, x)
    np.testing.assert_array_equal(found.array, np.argwhere(x))
    cpu.call("diopiMaskedSelect", found, x, x[0] != 0)
    np.testing.assert_array_equal(found.array, x[np.broadcast_to(x[0] != 0, x.shape)])


@pytest.mark.parametrize("descending", [False, True])
def test_sort_and_topk(cpu: CpuLibrary, descending: bool) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (6, 40)).astype(np.float32)
    x[:, 5] = x[:, 17] = np.nan
    x = x.T
    key = np.where(np.isnan(x), np.inf, x)
    order = np.argsort(-key if descending else key, axis=0, kind="stable")
    values, indices = np.zeros(x.shape, np.float32), np.zeros(x.shape, np.int64)
    cpu.call("diopiSort", values, indices, x, 0, descending, None)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 0))
    values, indices = np.zeros((3, 6), np.float32), np.zeros((3, 6), np.int32)
    cpu.call("diopiTopk", values, indices, x, 3, -2, descending, True)
    np.testing.assert_array_equal(indices, order[:3])


# ---- Random numbers ----


def philox_by_hand(seed: int, counter: tuple[int, int, int, int]) -> list[int]:
    c, key = list(counter), [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ key[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_random_numbers(cpu: CpuLibrary) -> None:
    # The published known answers of Philox4x32-10.
    assert philox_by_hand(0, (0, 0, 0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 0xFFFFFFFF
    assert philox_by_hand(ones << 32 | ones, (ones,) * 4) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    generator = cpu.generator(2**40 + 17, 8)
    uniform = np.zeros(5000)
    cpu.call("diopiUniformInp", uniform, 0, 1, generator)
    for i in (0, 1, 4999):
        words = philox_by_hand(2**40 + 17, (i, 0, 8, 0))
        assert uniform[i] == ((words[1] << 32 | words[0]) >> 11) * 2.0**-53
    assert abs(uniform.mean() - 0.5) < 0.02 and uniform.min() >= 0 and uniform.max() < 1
    again = np.zeros(5000)
    cpu.call("diopiUniformInp", again, 0, 1, generator)
    assert not np.array_equal(again, uniform), "the offset has moved on"
    cpu.call("diopiUniformInp", again, 0, 1, cpu.generator(2**40 + 17, 8))
    np.testing.assert_array_equal(again, uniform)
    whole = np.zeros(6000, np.int8)
    cpu.call("diopiRandomInp", whole, -2, 4, generator)
    assert np.unique(whole).tolist() == [-2, -1, 0, 1, 2, 3]
    assert (np.abs(np.bincount(whole + 2) - 1000) < 150).all()
    gauss = np.zeros(20000, np.float32)
    cpu.call("diopiNormalInp", gauss, 3, 2, generator)
    assert abs(gauss.mean() - 3) < 0.06 and abs(gauss.std() - 2) < 0.06
    status, text = cpu.status("diopiRandomInp", whole, 0, 400, generator)
    assert (status, text) == (
        ERROR_OCCURRED,
        "diopiRandomInp: C2: the dtype can hold from and to - 1 (inout=int8[6000], from=0, to=400)",
    )


# ---- Losses and attention ----


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_losses(cpu: CpuLibrary, reduction: int, dtype: Any) -> None:
    x = normal(3, 5, 4, dtype=dtype)
    target = np.random.default_rng(1).integers(0, 5, (3, 4))
    target[1, 2] = -100
    weight = np.abs(normal(5, dtype=dtype, seed=2)) + np.asarray(0.1, dtype)
    picked = np.where(target < 0, 0, target)
    share = np.where(target < 0, 0, wide(weight)[picked])
    nll = -np.take_along_axis(wide(x), picked[:, None], 1)[:, 0] * share

    def reduced(each: Array, divisor: float) -> Any:
        return (each, each.sum() / divisor, each.sum())[reduction]

    out = np.zeros((3, 4) if reduction == 0 else (), dtype)
    cpu.call("diopiNLLLoss", out, x, target, weight, reduction, -100)
    assert_close(out, reduced(nll, share.sum()), 4)
    log_y = np.log(softmax(wide(x), 1))
    hard = -np.take_along_axis(log_y, picked[:, None], 1)[:, 0] * share
    smooth = -(log_y * wide(weight)[:, None]).sum(1) * (target >= 0) / 5
    cpu.call("diopiCrossEntropyLoss", out, x, target, weight, reduction, -100, 0.2)
    assert_close(out, reduced(0.8 * hard + 0.2 * smooth, share.sum()), 4)
    probabilities = softmax(normal(3, 5, 4, dtype=np.float64, seed=3), 1).astype(dtype)
    cpu.call("diopiCrossEntropyLoss", out, x, probabilities, None, reduction, -100, 0.0)
    assert_close(out, reduced(-(log_y * wide(probabilities)).sum(1), 12), 4)
    other = normal(3, 5, 4, dtype=dtype, seed=4)
    squared = wide(x - other) ** 2
    out = np.zeros((3, 5, 4) if reduction == 0 else (), dtype)
    cpu.call("diopiMSELoss", out, x, other, reduction)
    assert_close(out, reduced(squared, squared.size), 4)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("conj", [False, True])
def test_rotary_embedding(cpu: CpuLibrary, interleaved: bool, conj: bool) -> None:
    x = normal(2, 5, 3, 8)
    angles = normal(5, 1, 4, dtype=np.float64, seed=1)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :4], x[..., 4:])
    rotated = (first + 1j * second) * (cos + (-1j if conj else 1j) * sin)
    expected = np.zeros(x.shape)
    if interleaved:
        expected[..., ::2], expected[..., 1::2] = rotated.real, rotated.imag
    else:
        expected[..., :4], expected[..., 4:] = rotated.real, rotated.imag
    out = np.zeros(x.shape, np.float32)
    cpu.call("diopiRotaryEmbedding", out, x, cos, sin, conj, interleaved)
    assert_close(out, expected)
