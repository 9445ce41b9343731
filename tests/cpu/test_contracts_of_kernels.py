"""Calls that contracts admit and kernels must accept or reject: numbers in place of vectors, and free dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import DTYPE_NOT_SUPPORTED, ERROR_OCCURRED, CpuLibrary


def zeros(*shape: int, dtype: str = "float32") -> Any:
    return np.zeros(shape, dtype)


def test_a_0d_tensor_has_one_element_where_a_vector_is_due(cpu: CpuLibrary) -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 1, 2)
    mean, invstd = zeros(), zeros()
    cpu.call("diopiBatchNormStats", mean, invstd, x, 0.0)
    assert mean == pytest.approx(3.5)
    assert cpu.status("diopiBatchNormStats", mean, invstd, np.concatenate([x, x], axis=1), 0.0) == (
        ERROR_OCCURRED,
        "diopiBatchNormStats: 'mean' is float32[] and must have 2 in dimension 0",
    )


def test_a_0d_result_of_a_vector_of_one_element(cpu: CpuLibrary) -> None:
    out = zeros()
    cpu.call("diopiNormalize", out, np.array([-4], np.float32), 2.0, 0, 1e-12)
    assert out == -1


def test_dtypes_that_the_contract_leaves_open(cpu: CpuLibrary) -> None:
    x = np.ones((4, 3), np.float32)
    status, text = cpu.status("diopiBatchNormStats", zeros(3, dtype="int32"), zeros(3), x, 0.0)
    assert (status, text) == (
        DTYPE_NOT_SUPPORTED,
        "diopiBatchNormStats: 'mean' has the dtype int32, which the library does not support here",
    )
    status, text = cpu.status("diopiMSELoss", zeros(), x, x.astype(np.complex64), 1)
    assert (status, text) == (
        DTYPE_NOT_SUPPORTED,
        "diopiMSELoss: 'target' has the dtype complex64, which the library does not support here",
    )


def test_statistics_in_evaluation_and_in_training(cpu: CpuLibrary) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    mean, var = x.mean(0), x.var(0)
    out = zeros(4, 3)
    for absent in (None, zeros(0)):
        cpu.call("diopiBatchNorm", out, absent, absent, x, None, None, mean, var, False, 0.1, 0.0)
        np.testing.assert_allclose(out, (x - mean) / np.sqrt(var), rtol=1e-6)
        status, _ = cpu.status("diopiBatchNorm", out, absent, absent, x, None, None, None, None, True, 0.1, 0.0)
        assert status == ERROR_OCCURRED
