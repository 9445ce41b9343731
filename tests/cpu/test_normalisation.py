"""Normalisation against NumPy: values over dtypes and strides, and what is rejected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cpu_library import ERROR_OCCURRED, CpuLibrary
from reference_values import FLOATS, assert_close, normal, wide


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


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 16, 128), 2), ((2, 4, 4), 2), ((3, 5, 3, 5), 2), ((2, 4, 5, 3), 3), ((3, 4, 5), 1)]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_instance_norm_counts_all_dimensions_before_axis_as_channels(
    cpu: CpuLibrary, dtype: Any, shape: tuple[int, ...], axis: int
) -> None:
    channels = math.prod(shape[1:axis])
    x, grad_out = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype, seed=1)
    weight, bias = normal(channels, dtype=dtype, seed=2), normal(channels, dtype=dtype, seed=3)
    rows, grads = (wide(array).reshape(shape[0], channels, -1) for array in (x, grad_out))
    column = wide(weight)[:, None]
    scale = 1 / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    normalised = (rows - rows.mean(2, keepdims=True)) * scale
    out = np.zeros(shape, dtype)
    cpu.call("diopiInstanceNorm", out, x, axis, weight, bias, 1e-5)
    assert_close(out, (normalised * column + wide(bias)[:, None]).reshape(shape), 3)
    grad_x, grad_weight, grad_bias = np.zeros(shape, dtype), np.zeros(channels, dtype), np.zeros(channels, dtype)
    cpu.call("diopiInstanceNormBackward", grad_x, grad_weight, grad_bias, grad_out, x, weight, bias, axis, 1e-5)
    assert_close(grad_bias, grads.sum((0, 2)), 16)
    assert_close(grad_weight, (grads * normalised).sum((0, 2)), 16)
    scaled = grads * column
    through = (scaled * normalised).mean(2, keepdims=True) * normalised
    assert_close(grad_x, ((scaled - scaled.mean(2, keepdims=True) - through) * scale).reshape(shape), 8)


def test_instance_norm_by_hand(cpu: CpuLibrary) -> None:
    x = np.array([[[-1, 1], [3, 5]], [[0, 4], [6, 2]]], np.float32)
    out, weight, bias = np.zeros_like(x), np.array([1, 2], np.float32), np.array([0, 10], np.float32)
    cpu.call("diopiInstanceNorm", out, x, 2, weight, bias, 0.0)
    np.testing.assert_allclose(out, [[[-1, 1], [8, 12]], [[-1, 1], [12, 8]]], rtol=1e-6)
    for axis in (-1, 0, 3):
        status, text = cpu.status("diopiInstanceNorm", out, x, axis, weight, bias, 0.0)
        assert status == ERROR_OCCURRED and "axis" in text
