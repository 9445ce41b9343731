"""Sort, Argsort, Topk and Unique against NumPy: long and many rows, ties, NaN, zeros of both signs, whole ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import CpuLibrary, NewTensor

Array = np.ndarray[Any, Any]


def values(dtype: Any, *shape: int) -> Array:
    """Numbers with many ties and with the ends of the dtype."""
    rng = np.random.default_rng(sum(shape))
    kind = np.dtype(dtype).kind
    if kind == "f":
        x = rng.normal(size=shape).round(1).astype(dtype)
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    else:
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)
        x = np.where(rng.random(shape) < 0.5, x % 5, x).astype(dtype)
        special = np.array([info.min, info.max], dtype)
    indices = rng.integers(0, x.size, size=x.size // 10)
    x.reshape(-1)[indices] = special[np.arange(indices.size) % special.size]
    return np.asarray(x)


def order_of(x: Array, descending: bool) -> Array:
    """The stable order along the last dimension, NaN above all numbers."""
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    # Backwards, turned around twice, equals keep their order.
    backwards = np.argsort(x[..., ::-1], axis=-1, kind="stable")
    return np.asarray(x.shape[-1] - 1 - backwards[..., ::-1])


def same_bytes(actual: Array, expected: Array) -> None:
    assert actual.tobytes() == expected.tobytes()


DTYPES = [np.float32, np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8]
SHAPES = [(300_001,), (3, 70_000), (200, 257), (5000, 3)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort(cpu: CpuLibrary, dtype: Any, shape: tuple[int, ...], descending: bool) -> None:
    x = values(dtype, *shape)
    expected = order_of(x, descending)
    out, indices = np.zeros(shape, dtype), np.zeros(shape, np.int64)
    cpu.call("diopiSort", out, indices, x, -1, descending, None)
    np.testing.assert_array_equal(indices, expected)
    same_bytes(out, np.take_along_axis(x, expected, axis=-1))
    indices[...] = -1
    cpu.call("diopiArgsort", indices, x, True, -1, descending)
    np.testing.assert_array_equal(indices, expected)


PATTERNS = {
    "rising": lambda i: i, "falling": lambda i: -i, "one": lambda i: i * 0 + 7, "two": lambda i: i % 2,
    "low digit": lambda i: i * 37 % 256, "high digit": lambda i: (i * 37 % 64) << 24,
    "two digits": lambda i: (i * 37 % 64) << 24 | i * 11 % 200, "far": lambda i: (i * 37 % 1001 - 500) << 50,
}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("count", [47, 48, 49, 1000, 32_768, 32_769, 70_000])
def test_sort_by_digits(cpu: CpuLibrary, pattern: str, count: int) -> None:
    """Lengths at which the way of sorting changes, and keys that differ in some digits only."""
    x = PATTERNS[pattern](np.arange(count, dtype=np.int64))
    for descending in (False, True):
        expected = order_of(x, descending)
        out, indices = np.zeros(count, np.int64), np.zeros(count, np.int64)
        cpu.call("diopiSort", out, indices, x, -1, descending, None)
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(out, x[expected])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 3, 100, 257])
@pytest.mark.parametrize("largest", [False, True])
def test_topk(cpu: CpuLibrary, dtype: Any, shape: tuple[int, ...], k: int, largest: bool) -> None:
    k = min(k, shape[-1])
    x = values(dtype, *shape)
    expected = order_of(x, largest)[..., :k]
    out, indices = np.zeros(expected.shape, dtype), np.zeros(expected.shape, np.int64)
    cpu.call("diopiTopk", out, indices, x, k, -1, largest, True)
    np.testing.assert_array_equal(indices, expected)
    same_bytes(out, np.take_along_axis(x, expected, axis=-1))


@pytest.mark.parametrize("order", ["rising", "falling"])
def test_topk_of_ordered_rows(cpu: CpuLibrary, order: str) -> None:
    """Rows in which every element, or none, takes the place of one that was kept."""
    x = np.arange(200_000, dtype=np.float32)[:: 1 if order == "rising" else -1]
    out, indices = np.zeros(50, np.float32), np.zeros(50, np.int64)
    cpu.call("diopiTopk", out, indices, np.ascontiguousarray(x), 50, 0, True, True)
    np.testing.assert_array_equal(out, np.arange(199_999, 199_949, -1))
    np.testing.assert_array_equal(x[indices], out)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
@pytest.mark.parametrize("count", [1, 1000, 300_001])
def test_unique(cpu: CpuLibrary, dtype: Any, count: int) -> None:
    x = values(dtype, count)
    expected, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, equal_nan=False)
    out, sizes, groups = NewTensor(), NewTensor(), np.zeros(count, np.int64)
    cpu.call("diopiUnique", out, x, None, True, True, groups, sizes)
    np.testing.assert_array_equal(out.array, expected)
    np.testing.assert_array_equal(sizes.array, counts)
    if np.dtype(dtype).kind == "i":
        np.testing.assert_array_equal(groups, inverse)
    np.testing.assert_array_equal(out.array[groups], x)


@pytest.mark.parametrize("spread", [2**32 - 1, 2**32])
def test_int64_around_the_ends_of_short_keys(cpu: CpuLibrary, spread: int) -> None:
    """Values less than 2^32 apart are sorted by shorter keys."""
    for least in (-(2**63), -5, 2**63 - 1 - spread):
        x = np.array([least + spread, least, least + 1, least + spread, least], np.int64)
        for descending in (False, True):
            out, indices = np.zeros(5, np.int64), np.zeros(5, np.int64)
            cpu.call("diopiSort", out, indices, x, 0, descending, None)
            np.testing.assert_array_equal(indices, order_of(x, descending))
            np.testing.assert_array_equal(out, x[indices])
