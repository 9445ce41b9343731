"""Inputs, and comparisons with results that NumPy computes, for tests of handwritten operators."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from cpu_library import BFLOAT16

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
