"""Joins, rearrangements, selections and sorting against NumPy: over dtypes and strides, and what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import ERROR_OCCURRED, CpuLibrary, NewTensor


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


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("shape", [(64, 16), (48, 32), (208, 272), (3, 64, 80), (16, 5, 48), (2, 256, 1, 64), (63, 17)])
def test_transposed_operands(cpu: CpuLibrary, dtype: Any, shape: tuple[int, ...]) -> None:
    """Sizes of which tiles of 16 columns and of 16 or 64 rows are parts, and some of which they are not."""
    count = int(np.prod(shape))
    x = np.arange(count).astype(dtype).reshape(shape[::-1]).T
    out = np.zeros(shape, dtype)
    cpu.call("diopiCopyInp", x, out)
    np.testing.assert_array_equal(out, x)
    mask = np.arange(count) % 3 == 0
    mask = np.broadcast_to(mask[: shape[-1]], shape)
    other = np.zeros(shape, dtype)
    cpu.call("diopiWhere", out, mask, x, other)
    np.testing.assert_array_equal(out, np.where(mask, x, other))


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float16, np.complex128])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_picking(cpu: CpuLibrary, dtype: Any, index_dtype: Any) -> None:
    x = (np.arange(60) % 7).reshape(5, 4, 3).astype(dtype).swapaxes(0, 2)
    index = np.array([3, 0, 3], index_dtype)
    out = np.zeros((3, 3, 5), dtype)
    cpu.call("diopiIndexSelect", out, x, 1, index)
    np.testing.assert_array_equal(out, x[:, index])
    indices = np.random.default_rng(0).integers(0, 4, (2, 6, 5)).astype(index_dtype)
    out = np.zeros(indices.shape, dtype)
    cpu.call("diopiGather", out, x, -2, indices)
    np.testing.assert_array_equal(out, np.take_along_axis(x[:2], indices, 1))
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
