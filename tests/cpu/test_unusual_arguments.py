"""Calls that satisfy their contract in a form that is seldom, and what the entry refuses on behalf of all kernels."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from cpu_library import DTYPE_NOT_SUPPORTED, DTYPES, ERROR_OCCURRED, CpuLibrary, size_of

Array = np.ndarray[Any, Any]


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize("shape", [(1, 4), (1, 1, 4), (4,), (4, 1)])
def test_results_of_reductions_may_have_any_sizes_of_one(cpu: CpuLibrary, shape: tuple[int, ...]) -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
    out = zeros(*shape)
    cpu.call("diopiSum", out, x, [1])
    np.testing.assert_array_equal(out.reshape(4), x.sum(axis=(0, 1)))


def test_a_number_stands_for_a_vector_of_one_element(cpu: CpuLibrary) -> None:
    one = np.array([3], np.float32)
    for function, arguments in {
        "diopiSum": (one.reshape(1, 1), [1]),
        "diopiSelectBackward": (np.array(3, np.float32), [1], 0, -1),
        "diopiSlice": (one, 0, 0, 5, 2),
        "diopiCat": ([one, np.zeros(0, np.float32)], 2, 0),
        "diopiStack": ([np.array(3, np.float32)], 1, -1),
        "diopiTranspose": (one, 0, -1),
        "diopiFlip": (one, [0]),
        "diopiCumsum": (one, 0),
        "diopiIndexSelect": (one, -1, np.array(0)),
    }.items():
        out = np.array(-1, np.float32)
        cpu.call(function, out, *arguments)
        assert out == 3, function
    values, indices = np.array(-1, np.float32), np.array(-1)
    cpu.call("diopiSort", values, indices, one, 0, False, None)
    assert values == 3 and indices == 0


def test_a_number_does_not_stand_for_a_longer_vector(cpu: CpuLibrary) -> None:
    bias = np.array(7, np.float32)
    status, text = cpu.status("diopiLinearBackward", None, None, bias, zeros(2, 5), zeros(2, 3), zeros(5, 3))
    assert (status, "'grad_bias'" in text) == (ERROR_OCCURRED, True)
    assert bias == 7


def test_the_library_refuses_dtypes_that_it_lacks(cpu: CpuLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DTYPES, np.dtype(np.uint16), 3)
    status, text = cpu.status("diopiCumsum", np.zeros(2, np.uint16), np.ones(2, np.int32), 0)
    assert (status, "'out' has a dtype" in text) == (DTYPE_NOT_SUPPORTED, True)


def test_sparse_tensors_are_for_operators_that_know_them(cpu: CpuLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    keep: list[Any] = []
    parts = [np.array([0, 1, 1]), np.array([1]), np.ones(1, np.float32)]
    handles = [cpu.wrap(part, keep) for part in parts]
    sparse = ctypes.c_void_p()
    size = size_of([2, 3], keep)
    assert cpu.runtime.diopiHostCreateSparseCsr(ctypes.byref(sparse), ctypes.byref(size), *handles) == 0
    wrap = cpu.wrap
    dense = zeros(2, 3)
    monkeypatch.setattr(
        cpu, "wrap", lambda array, keep, device=1: sparse if array is dense else wrap(array, keep, device)
    )
    status, text = cpu.status("diopiSum", zeros(3), dense, [0])
    assert (status, "'input' is sparse" in text) == (ERROR_OCCURRED, True)
    for handle in handles:
        assert cpu.runtime.diopiHostDestroyTensor(handle) == 0
