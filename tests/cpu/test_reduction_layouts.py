"""Reductions against NumPy over layouts of many kinds: rows and columns, long and short, permuted, with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import CpuLibrary

Array = np.ndarray[Any, Any]


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    """Few different values, so that the largest is there many times."""
    return np.random.default_rng(sum(shape)).integers(-20, 20, size=shape).astype(dtype)


LAYOUTS = {
    "long row": numbers(150_001),
    "few long rows": numbers(3, 70_000),
    "many rows": numbers(300, 701),
    "short rows": numbers(5000, 7),
    "long columns": numbers(40_000, 5),
    "wide columns": numbers(70, 3001),
    "three": numbers(6, 50, 130),
    "four": numbers(5, 40, 3, 90),
    "permuted": numbers(30, 41, 70).transpose(2, 0, 1),
    "gaps": numbers(60, 90, 80)[:, ::2, 10:],
    "no step of 1": numbers(50, 60, 40)[:, :, ::2],
    "expanded": np.broadcast_to(numbers(70, 1, 90), (70, 50, 90)),
    "sizes of 1": numbers(1, 200, 1, 300, 1),
}
ALL = [
    (name, x, dims)
    for name, x in LAYOUTS.items()
    for dims in [[], [0], [-1], [1], [0, -1], [1, 2], [0, 2]]
    if not dims or (max(dims) < x.ndim and len({d % x.ndim for d in dims}) == len(dims))
]
CASES = [pytest.param(x, dims, id=f"{name}-{dims}") for name, x, dims in ALL]
AT_MOST_ONE = [pytest.param(x, dims, id=f"{name}-{dims}") for name, x, dims in ALL if len(dims) <= 1]
ONE = [pytest.param(x, dims, id=f"{name}-{dims}") for name, x, dims in ALL if len(dims) == 1]


@pytest.mark.parametrize(("x", "dims"), CASES)
def test_values(cpu: CpuLibrary, x: Array, dims: list[int]) -> None:
    axis = tuple(dims) or None
    shape = x.max(axis=axis).shape
    exact = x.astype(np.float64)
    out = np.zeros(shape, np.float32)
    cpu.call("diopiSum", out, x, dims)
    np.testing.assert_allclose(out, exact.sum(axis=axis), rtol=1e-6)
    cpu.call("diopiNorm", out, x, 1, dims)
    np.testing.assert_allclose(out, abs(exact).sum(axis=axis), rtol=1e-6)
    cpu.call("diopiStd", out, x, dims, 0)
    np.testing.assert_allclose(out, exact.std(axis=axis), rtol=1e-6)
    cpu.call("diopiAmax", out, x, dims, False)
    np.testing.assert_array_equal(out, x.max(axis=axis))
    x = x.copy(order="K")
    x[tuple(size // 2 for size in x.shape)] = np.nan
    cpu.call("diopiAmax", out, x, dims, False)
    np.testing.assert_array_equal(out, x.max(axis=axis))


@pytest.mark.parametrize(("x", "dims"), AT_MOST_ONE)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
def test_positions(cpu: CpuLibrary, x: Array, dims: list[int], dtype: Any) -> None:
    x = x.astype(dtype)  # in the order of memory
    dim = dims[0] if dims else None
    shape = x.max(axis=dim).shape
    indices = np.zeros(shape, np.int64)
    for with_nan in (False, True):
        if with_nan and np.dtype(dtype).kind == "f":
            x[..., x.shape[-1] // 2 :] = np.nan
        cpu.call("diopiArgmax", indices, x, dim, False)
        np.testing.assert_array_equal(indices, x.argmax(axis=dim))
        cpu.call("diopiArgmin", indices, x, dim, False)
        np.testing.assert_array_equal(indices, x.argmin(axis=dim))
        if dim is not None:
            values = np.zeros(shape, dtype)
            cpu.call("diopiMax", values, indices, x, dim)
            np.testing.assert_array_equal(values, x.max(axis=dim))
            np.testing.assert_array_equal(indices, x.argmax(axis=dim))


@pytest.mark.parametrize(("x", "dims"), AT_MOST_ONE)
def test_any_and_all(cpu: CpuLibrary, x: Array, dims: list[int]) -> None:
    dim = dims[0] if dims else None
    out = np.zeros(x.max(axis=dim).shape, np.bool_)
    for bools in (x == 19, x != 19, np.zeros(x.shape, np.bool_), np.ones(x.shape, np.bool_)):
        cpu.call("diopiAny", out, bools, dim)
        np.testing.assert_array_equal(out, bools.any(axis=dim))
        cpu.call("diopiAll", out, bools, dim)
        np.testing.assert_array_equal(out, bools.all(axis=dim))


@pytest.mark.parametrize(("x", "dims"), ONE)
def test_running_sums(cpu: CpuLibrary, x: Array, dims: list[int]) -> None:
    out = np.zeros(x.shape, np.float32)
    cpu.call("diopiCumsum", out, x, dims[0])
    np.testing.assert_array_equal(out, x.astype(np.float64).cumsum(axis=dims[0]).astype(np.float32))
    cpu.call("diopiCumsumBackward", out, x, dims[0])
    backwards = np.flip(np.flip(x.astype(np.float64), dims[0]).cumsum(axis=dims[0]), dims[0])
    np.testing.assert_array_equal(out, backwards.astype(np.float32))


def test_moments_far_from_zero_lose_nothing(cpu: CpuLibrary) -> None:
    """The distances from the mean are taken, not the difference of two large sums."""
    x = 1e8 + np.random.default_rng(3).normal(size=(3000, 400))
    out = np.zeros(3000)
    cpu.call("diopiStd", out, x, [1], None)
    np.testing.assert_allclose(out, x.std(axis=1, ddof=1), rtol=1e-10)
    out = np.zeros(400)
    cpu.call("diopiStd", out, x, [0], None)
    np.testing.assert_allclose(out, x.std(axis=0, ddof=1), rtol=1e-10)
