"""Losses and attention against NumPy: values over dtypes and strides, and what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import CpuLibrary
from reference_values import Array, assert_close, normal, softmax, wide


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_losses(cpu: CpuLibrary, reduction: int, dtype: Any) -> None:
    x = normal(3, 5, 4, dtype=dtype)
    target = np.random.default_rng(1).integers(0, 5, (3, 4))
    target[1, 2] = -100
    weight = np.abs(normal(5, dtype=dtype, seed=2)) + np.asarray(0.1, dtype)
    picked = np.where(target < 0, 0, target)
    fraction = np.where(target < 0, 0, wide(weight)[picked])
    nll = -np.take_along_axis(wide(x), picked[:, None], 1)[:, 0] * fraction

    def reduced(each: Array, divisor: float) -> Any:
        return (each, each.sum() / divisor, each.sum())[reduction]

    out = np.zeros((3, 4) if reduction == 0 else (), dtype)
    cpu.call("diopiNLLLoss", out, x, target, weight, reduction, -100)
    assert_close(out, reduced(nll, fraction.sum()), 4)
    log_y = np.log(softmax(wide(x), 1))
    hard = -np.take_along_axis(log_y, picked[:, None], 1)[:, 0] * fraction
    smooth = -(log_y * wide(weight)[:, None]).sum(1) * (target >= 0) / 5
    cpu.call("diopiCrossEntropyLoss", out, x, target, weight, reduction, -100, 0.2)
    assert_close(out, reduced(0.8 * hard + 0.2 * smooth, fraction.sum()), 4)
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
