"""The oracles of linear layers of quantized weights, and of the quantization of activations."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.products import product, size_of_product
from diopigen.contract.dtypes import LARGEST


def unpacked(words: Array, bits: int) -> Array:
    """The unsigned integers that words of the last dimension hold, the first in the lowest bits."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    fields = (words.astype(np.uint32)[..., None] >> shifts) & np.uint32((1 << bits) - 1)
    return np.asarray(fields.reshape(*words.shape[:-1], words.shape[-1] * len(shifts)).astype(np.int64))


def packed_weight(call: Call, prefix: str = "") -> Array:
    """The dequantized rows of packed integers, from the weight, scale and zeros of a call."""
    scale, bits = call.wide(f"{prefix}scale"), int(call["bits"])
    zeros = f"{prefix}zero" if prefix else "zero_point"
    levels = unpacked(np.asarray(call[f"{prefix}weight"]), bits)
    length = levels.shape[-1] // max(scale.shape[-1], 1)
    zero = np.full(scale.shape, 1 << (bits - 1))
    if call.has(zeros):
        zero = unpacked(np.asarray(call[zeros]).swapaxes(-1, -2), bits).swapaxes(-1, -2)
    return np.asarray((levels - np.repeat(zero, length, axis=-1)) * np.repeat(scale, length, axis=-1))


@oracle("PackedLinear")
def _packed_linear(call: Call) -> Answer:
    return _linear(call, packed_weight(call))


def _linear(call: Call, weight: Array) -> Answer:
    """The layer of a dequantized weight [out_features, in_features], which may be rounded, as may the product before
    the bias."""
    x = call.wide("input")
    bias = call.wide("bias") if call.has("bias") else np.zeros(len(weight))
    size = size_of_product(x, weight.T)
    return {"out": Expected(product(x, weight.T) + bias, size + np.abs(bias), x.shape[-1] + 1, narrowed=2 * size)}


@oracle("GptqLinear")
def _gptq_linear(call: Call) -> Answer:
    scale, bits = call.wide("scale"), int(call["bits"])
    levels = unpacked(np.asarray(call["weight"]).T, bits).T
    depth, groups = len(levels), len(scale)
    group = np.asarray(call["group_index"]) if call.has("group_index") else np.arange(depth) * groups // max(depth, 1)
    zero = np.full(scale.shape, 1 << (bits - 1))
    if call.has("zero_point"):
        zero = unpacked(np.asarray(call["zero_point"]), bits) + int(call["zero_offset"])
    return _linear(call, ((levels - zero[group]) * scale[group]).T)


@oracle("AwqLinear")
def _awq_linear(call: Call) -> Answer:
    scale = call.wide("scale")
    levels, zero = (
        unpacked(np.asarray(call[name]), 4).reshape(-1, scale.shape[1] // 8, 8)[..., [0, 4, 1, 5, 2, 6, 3, 7]]
        for name in ("weight", "zero_point")
    )
    length = len(levels) // max(len(scale), 1)
    weight = (levels - np.repeat(zero, length, axis=0)).reshape(-1, scale.shape[1])
    return _linear(call, (weight * np.repeat(scale, length, axis=0)).T)


@oracle("QuantizeByToken")
def _quantize_by_token(call: Call) -> Answer:
    x = call.wide("input")
    scale = np.abs(x).max(axis=-1, keepdims=True, initial=0) / 127
    levels = x / np.where(scale == 0, 1, scale)
    # The scale has an error of some roundings: a level that is half a step away may go either way.
    free = np.abs(np.abs(levels - np.floor(levels)) - 0.5) < 127 * 4 * np.finfo(np.float32).eps
    return {
        "out": Expected(np.clip(np.rint(levels), -127, 127).astype(np.int64), free=free),
        "scale": Expected(scale),
    }


@oracle("ScaledInt8Linear")
def _scaled_int8_linear(call: Call) -> Answer:
    x, weight = (call.wide(name).astype(np.float64) for name in ("input", "weight"))
    scale = call.wide("input_scale") * call.wide("weight_scale").ravel()
    bias = call.wide("bias") if call.has("bias") else np.zeros(len(weight))
    values, size = product(x, weight.T) * scale, size_of_product(x, weight.T) * np.abs(scale)
    return {"out": Expected(values + bias, size + np.abs(bias), x.shape[-1] + 1)}


@oracle("QuantizeFloat8ByToken")
def _quantize_float8_by_token(call: Call) -> Answer:
    x, dtype = call.wide("input"), call.dtype("out")
    size = int(call["group_size"]) or x.shape[-1]
    starts = np.arange(0, x.shape[-1], size) if int(call["group_size"]) else [0]
    groups = [x[..., start : start + size] for start in starts]
    scale = np.stack([np.abs(one).max(axis=-1, initial=0) for one in groups], axis=-1) / LARGEST[dtype]
    spread = np.repeat(scale, size, axis=-1)[..., : x.shape[-1]]
    return {"out": Expected(x / np.where(spread == 0, 1, spread)), "scale": Expected(scale)}


@oracle("QuantizeFloat8")
def _quantize_float8(call: Call) -> Answer:
    largest = LARGEST[call.dtype("out")]
    return {"out": Expected(np.clip(call.wide("input") / call.wide("scale"), -largest, largest))}


@oracle("ScaledFloat8Linear")
def _scaled_float8_linear(call: Call) -> Answer:
    x, weight, block = call.wide("input"), call.wide("weight"), int(call["block"])
    x = x * spread(call.wide("input_scale"), x.shape, 1, block)
    weight = weight * spread(call.wide("weight_scale"), weight.shape, block, block)
    bias = call.wide("bias") if call.has("bias") else np.zeros(len(weight))
    size = size_of_product(x, weight.T)
    return {"out": Expected(product(x, weight.T) + bias, size + np.abs(bias), x.shape[-1] + 1)}


def spread(scale: Array, shape: tuple[int, ...], rows: int, columns: int) -> Array:
    """The scale of each element of the last two dimensions of a shape: of all, of rows, or of blocks."""
    if scale.size == 1:
        return np.broadcast_to(scale.reshape(()), shape)
    if len(shape) > 1 and scale.shape[-2] not in (1, shape[-2]):
        scale = np.repeat(scale, rows, axis=-2)[..., : shape[-2], :]
    if scale.shape[-1] > 1:
        scale = np.repeat(scale, columns, axis=-1)[..., : shape[-1]]
    return np.broadcast_to(scale, shape)
