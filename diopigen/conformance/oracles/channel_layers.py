"""Layers of detectors and generators over channels: bias with leaky ReLU, the steps of synchronized batch
normalization, shifts along time."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle


@oracle("FusedBiasLeakyreluMmcv")
def _bias_leaky_relu(call: Call) -> Answer:
    x, size = call.wide("input"), np.abs(call.wide("input"))
    alpha, scale = (float(np.float32(call[name])) for name in ("alpha", "scale"))
    bias, refer = call.wide("bias"), call.wide("refer")
    if bias.size:
        column = bias.reshape(-1, *[1] * (x.ndim - 2))
        x, size = x + column, size + np.abs(column)
    if call["grad"] == 2:
        x, size = np.zeros_like(x), np.zeros_like(x)
    elif call["act"] == 3:
        sign = x if call["grad"] == 0 else refer if refer.size else np.zeros_like(x)
        slope = np.where(sign > 0, 1, alpha)
        # The sum may be rounded across 0, where the slope changes.
        x, size = x * slope, size * (np.abs(slope) if call["grad"] == 1 else np.maximum(np.abs(slope), 1))
    return {"out": Allocated(Expected(x * scale, size * abs(scale)), call.dtype("input"))}


# ---- synchronized batch normalization: [samples, channels, inner] ---------------------------------------------------


def _by_channel(call: Call, name: str) -> Array:
    """The elements of each channel, [channels, samples * inner]."""
    x = call.wide(name)
    return np.asarray(x.swapaxes(0, 1).reshape(x.shape[1], x.shape[0] * x.shape[2]))


def _column(values: Array) -> Array:
    return values[None, :, None]


@oracle("SyncBnMeanMmcv")
def _mean(call: Call) -> Answer:
    x = _by_channel(call, "input")
    count = x.shape[1]
    return {"mean": Expected(x.sum(axis=1) / count, np.abs(x).sum(axis=1) / count, count)}


@oracle("SyncBnVarMmcv")
def _variance(call: Call) -> Answer:
    x, mean = _by_channel(call, "input"), call.wide("mean")[:, None]
    count = x.shape[1]
    # The distance is rounded once, and squared.
    return {"var": Expected(((x - mean) ** 2).sum(axis=1) / count, terms=count)}


@oracle("SyncBnOutputMmcv")
def _normalize(call: Call) -> Answer:
    x, mean, var = (call.wide(name) for name in ("input", "mean", "var"))
    eps, momentum = (float(np.float32(call[name])) for name in ("eps", "momentum"))
    std = np.sqrt(var + eps)
    norm = (x - _column(mean)) / _column(std)
    # A difference, a root of a sum, a quotient: two roundings and a half of the size of what they compute.
    size = (np.abs(x) + _column(np.abs(mean))) / _column(std) + np.abs(norm)
    values, sizes = norm, size
    if call.has("weight"):
        weight, bias = _column(call.wide("weight")), _column(call.wide("bias"))
        values, sizes = norm * weight + bias, 2 * size * np.abs(weight) + np.abs(bias)
    answer = {"norm": Expected(norm, size), "std": Expected(std), "output": Expected(values, sizes)}
    count = x.shape[0] * x.shape[2] * int(call["group_size"])
    unbiased = var * count / (count - 1) if count > 1 else var
    for name, new in (("running_mean", mean), ("running_var", unbiased)):
        if call.has(name):
            parts = momentum * new, (1 - momentum) * call.wide(name)
            answer[name] = Expected(parts[0] + parts[1], 2 * (np.abs(parts[0]) + np.abs(parts[1])))
    return {name: expected for name, expected in answer.items() if name in call.outputs}


@oracle("SyncBnBackwardParamMmcv")
def _parameter_gradients(call: Call) -> Answer:
    grad_out, norm = _by_channel(call, "grad_output"), _by_channel(call, "norm")
    products, count = grad_out * norm, grad_out.shape[1]
    return {
        "grad_weight": Expected(products.sum(axis=1), np.abs(products).sum(axis=1), count),
        "grad_bias": Expected(grad_out.sum(axis=1), np.abs(grad_out).sum(axis=1), count),
    }


@oracle("SyncBnBackwardDataMmcv")
def _data_gradients(call: Call) -> Answer:
    grad_out, norm = call.wide("grad_output"), call.wide("norm")
    weight, of_weight, of_bias, std = (
        _column(call.wide(name)) for name in ("weight", "grad_weight", "grad_bias", "std")
    )
    count = max(grad_out.shape[0] * grad_out.shape[2], 1)
    factor = weight / std
    values = factor * (grad_out - (of_weight * norm + of_bias) / count)
    sizes = np.abs(factor) * (np.abs(grad_out) + (np.abs(of_weight * norm) + np.abs(of_bias)) / count)
    # Six operations in a row, one of them on half of the terms.
    return {"grad_input": Expected(values, 3 * sizes)}


# ---- shifts along time: [videos, steps, channels, pixels] -----------------------------------------------------------


@oracle("TinShiftMmcv", "TinShiftBackwardMmcv")
def _shift(call: Call) -> Answer:
    moved = call["input" if "input" in call.values else "grad_output"]
    shift = call["shift"].astype(np.int64)
    found = np.array(call[call.target])
    _, steps, channels, _ = moved.shape
    by = np.repeat(shift, channels // shift.shape[1], axis=1)  # [videos, channels]
    step = np.arange(steps)[None, :, None] + by[:, None, :]  # where each goes: [videos, steps, channels]
    video, start, channel = np.nonzero((step >= 0) & (step < steps))
    found[video, step[video, start, channel], channel] = moved[video, start, channel]
    return {call.target: Expected(found)}
