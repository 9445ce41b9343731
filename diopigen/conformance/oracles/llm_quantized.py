"""The oracles of linear layers of quantized weights, and of the quantization of activations."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.products import product, size_of_product


def unpacked(words: Array, bits: int) -> Array:
    """The unsigned integers that words of the last dimension hold, the first in the lowest bits."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    fields = (words.astype(np.uint32)[..., None] >> shifts) & np.uint32((1 << bits) - 1)
    return np.asarray(fields.reshape(*words.shape[:-1], words.shape[-1] * len(shifts)).astype(np.int64))


@oracle("PackedLinear")
def _packed_linear(call: Call) -> Answer:
    x, scale, bits = call.wide("input"), call.wide("scale"), int(call["bits"])
    levels = unpacked(np.asarray(call["weight"]), bits)
    length = levels.shape[1] // max(scale.shape[1], 1)
    zero = np.full(scale.shape, 1 << (bits - 1))
    if call.has("zero_point"):
        zero = unpacked(np.asarray(call["zero_point"]).T, bits).T
    weight = (levels - np.repeat(zero, length, axis=1)) * np.repeat(scale, length, axis=1)
    bias = call.wide("bias") if call.has("bias") else np.zeros(len(weight))
    size = size_of_product(x, weight.T)
    # The weight, and the product before the bias, may be rounded.
    return {"out": Expected(product(x, weight.T) + bias, size + np.abs(bias), x.shape[-1] + 1, narrowed=2 * size)}


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
