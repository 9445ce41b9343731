"""Faults of whole functions that the suite accepted once: with a fault in place its cases must fail, without it pass.

The libraries here are formulas in PyTorch or NumPy. `impl/cpu/faults/named.yaml` has the same faults for the kernels of
the CPU library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from calls import call_of
from references import disagreements

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.dtypes import Array, rounded
from diopigen.conformance.model import SUCCESS, Case
from diopigen.conformance.oracles import Call, Property, answer_of
from diopigen.contract.dtypes import LARGEST
from diopigen.ir.model import Interface


@dataclass(frozen=True)
class Formula:
    """A function as a library may compute it; `fault` is what is wrong with it, or an empty text."""

    operator: str
    reference: Callable[[Call, bool], dict[str, Any]]


def extreme(call: Call, faulty: bool, *, sign: int, outputs: tuple[str, ...]) -> dict[str, Any]:
    """Along a dimension the first NaN, else the first largest (smallest: sign -1); faulty: the last NaN."""
    x = call.wide("input") if call["input"].dtype.kind == "f" else np.asarray(call["input"])
    dim = call["dim"]
    if dim is None:
        x, dim = x.reshape(-1), 0
    rows = np.moveaxis(np.atleast_1d(x), dim, -1)
    positions = np.zeros(rows.shape[:-1], dtype=np.int64)
    for position in np.ndindex(*positions.shape):
        best = 0
        for i, value in enumerate(rows[position].tolist()):
            current = rows[position][best].item()
            is_nan = value != value and ((faulty and i > 0) or current == current)
            if is_nan or (sign * value > sign * current and current == current):
                best = i
        positions[position] = best
    values = np.take_along_axis(rows, positions[..., None], -1)[..., 0]
    found = {"out": positions, "max": values, "min": values, "max_indices": positions, "min_indices": positions}
    return {name: found[name].reshape(call.shapes[name]) for name in outputs}


def temperature(call: Call, faulty: bool) -> dict[str, Any]:
    """The padding is the lowest finite value; faulty: -inf."""
    logits, count = call.wide("logits"), int(call["vocab_size"])
    bias = call.wide("bias") if call.has("bias") else np.zeros(count)
    found = np.full(logits.shape, -np.inf if faulty else -LARGEST[call.dtype("logits")], dtype=logits.dtype)
    found[:, :count] = (logits[:, :count] + bias[:count]) / (call.wide("temperatures")[:, None] + 1e-6)
    return {"logits": found}


def cross_entropy(call: Call, faulty: bool) -> dict[str, Any]:
    """With probabilities as the target; faulty: a class of probability 0 times its logit of -inf."""
    x = call.wide("input")
    dim = min(1, x.ndim - 1)
    below = x - x.max(axis=dim, keepdims=True)
    logs = below - np.log(np.exp(below).sum(axis=dim, keepdims=True))
    smoothing, classes = float(call["label_smoothing"]), x.shape[dim]
    weights = np.ones(classes) if call["weight"] is None else call.wide("weight")
    along = weights.reshape(classes, *(1,) * (x.ndim - 1 - dim))
    target = call["target"]
    if target.dtype.kind == "i":
        shape = tuple(size for k, size in enumerate(x.shape) if k != dim)
        target = target.reshape(shape)
        counts = target != call["ignore_index"]
        own = np.expand_dims(np.where(counts, target, -1), dim)
        chances = (np.arange(classes).reshape(classes, *(1,) * (x.ndim - 1 - dim)) == own) * 1.0
        divisor = np.where(counts, weights[np.where(counts, target, 0)], 0).sum()
    else:
        chances, counts, divisor = call.wide("target"), True, max(1, x.size // classes)
    factors = (chances * (1 - smoothing) + smoothing / classes) * along
    terms = -logs * factors
    losses = (terms if faulty else np.where(factors == 0, 0, terms)).sum(axis=dim)
    losses = np.where(counts, losses, 0)
    reduction = call["reduction"]
    if reduction == "ReductionMean":
        losses = losses.sum() / divisor
    elif reduction == "ReductionSum":
        losses = losses.sum()
    return {"out": np.asarray(losses).reshape(call.shapes["out"])}


def cdist_gradient(call: Call, faulty: bool) -> dict[str, Any]:
    """The sign times a power of the share; faulty: also where a component is equal, which makes 0 * inf."""
    difference = call.wide("input1")[..., :, None, :] - call.wide("input2")[..., None, :, :]
    distance, order = call.wide("cdist")[..., None], float(call["p"])
    size = np.abs(difference)
    if math.isinf(order):
        slope = np.sign(difference) * (rounded(size, call.dtype("input1")) == distance)
    else:
        share = np.where(distance == 0, 0, (size / np.where(distance == 0, 1, distance)) ** (order - 1))
        slope = np.sign(difference) * share * (distance != 0)
        slope = slope if faulty and order != 0 else np.where((size == 0) | (order == 0), 0, slope)
    return {"grad_input": (slope * call.wide("grad_output")[..., None]).sum(axis=-2)}


def batch_norm(call: Call, faulty: bool) -> dict[str, Any]:
    """Statistics of the batch or the running ones; faulty: one value has an unbiased variance of 0."""
    x = call.wide("input")
    dims = tuple(k for k in range(x.ndim) if k != 1)
    inner = (1, x.shape[1]) + (1,) * (x.ndim - 2)

    def along(name: str, usual: float) -> Array:
        return np.asarray(call.wide(name) if call.has(name) else np.full(x.shape[1], usual)).reshape(inner)

    if call["training"]:
        mean, variance = x.mean(axis=dims, keepdims=True), x.var(axis=dims, keepdims=True)
    else:
        mean, variance = along("running_mean", 0), along("running_var", 1)
    inverse = 1 / np.sqrt(variance + call["eps"])
    found = {"out": (x - mean) * inverse * along("weight", 1) + along("bias", 0)}
    if call["training"]:
        count, share = x.size // x.shape[1], float(call["momentum"])
        unbiased = variance * count / (max(count - 1, 1) if faulty else np.float64(count - 1))
        for name, value in (("running_mean", mean), ("running_var", unbiased)):
            if call.has(name):
                found[name] = (1 - share) * call.wide(name) + share * value.ravel()
        found["save_mean"], found["save_invstd"] = mean.ravel(), inverse.ravel()
    return found


def nearest(call: Call, faulty: bool) -> dict[str, Any]:
    """floor(i * (in / out)), the ratio in float32, of doubles in float64; faulty: i / (out / in)."""
    x = np.asarray(call["input"])
    ratio_type = np.float64 if call.dtype("input") == "float64" else np.float32
    for dim, size in enumerate(call["size"], 2):
        steps, before = np.arange(size).astype(ratio_type), ratio_type(x.shape[dim])
        positions = steps / (ratio_type(size) / before) if faulty else steps * (before / ratio_type(size))
        indices = np.minimum(np.floor(positions.astype(np.float32)).astype(np.int64), x.shape[dim] - 1)
        x = np.take(x, indices, axis=dim)
    return {"out": x}


FORMULAS = [
    Formula("Max", partial(extreme, sign=1, outputs=("max", "max_indices"))),
    Formula("Min", partial(extreme, sign=-1, outputs=("min", "min_indices"))),
    Formula("Argmax", partial(extreme, sign=1, outputs=("out",))),
    Formula("Argmin", partial(extreme, sign=-1, outputs=("out",))),
    Formula("BatchApplyTemperaturePenaltyInp", temperature),
    Formula("CrossEntropyLoss", cross_entropy),
    Formula("CdistBackward", cdist_gradient),
    Formula("BatchNorm", batch_norm),
    Formula("UpsampleNearest", nearest),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.operator)
def test_a_fault_that_survived_is_found_and_the_right_formula_passes(interface: Interface, formula: Formula) -> None:
    compared, wrong = disagreements(interface, formula.operator, lambda call: formula.reference(call, False), 3000)
    assert wrong == []
    assert compared > 0
    assert disagreements(interface, formula.operator, lambda call: formula.reference(call, True), 3000)[1] != []


# ---- what is right and failed ---------------------------------------------------------------------------------------


def rms_norm(call: Call, operand: str, scale: str, bias: Array | float, dims: tuple[int, ...]) -> Array:
    """As LLaMA computes it: the normalised value rounded to the operands' dtype before it is scaled."""
    dtype = call.dtype(operand)
    x = np.asarray(call[operand], dtype=np.float64)
    normalised = rounded(x / np.sqrt((x * x).mean(axis=dims, keepdims=True) + float(call["eps"])), dtype)
    weight = np.asarray(call[scale], dtype=np.float64) if call.has(scale) else 1.0
    return np.asarray(normalised * weight + bias)


def test_a_normalised_value_may_be_rounded_before_it_is_scaled(interface: Interface) -> None:
    def plain(call: Call) -> dict[str, Any]:
        x = np.asarray(call["input"], dtype=np.float64)
        dims = tuple(range(x.ndim - len(call["normalized_shape"]), x.ndim))
        bias = np.asarray(call["bias"], dtype=np.float64) if call.has("bias") else 0.0
        inverse = 1 / np.sqrt((x * x).mean(axis=dims, keepdims=True) + float(call["eps"]))
        return {
            "out": rms_norm(call, "input", "weight", bias, dims),
            "inv_rms": inverse.reshape(call.shapes["inv_rms"]),
        }

    def in_place(call: Call) -> dict[str, Any]:
        return {"inoutput": rms_norm(call, "inoutput", "scale", 0.0, (-1,))}

    for operator, reference in (("RMSNorm", plain), ("RootMeanSquareNormInp", in_place)):
        compared, wrong = disagreements(interface, operator, reference)
        assert wrong == []
        assert compared > 10


# ---- dropout of attention -------------------------------------------------------------------------------------------


def sequences(call: Call) -> list[tuple[Any, Any]]:
    """Ranges of the queries and the keys of each sequence, padded or packed."""
    if "cum_seq_q" not in call.values:
        return [((b,), (b,)) for b in range(len(call["q"]))]
    ends = [
        [int(end) for end in call[name]]
        for name in ("cum_seq_q", "cum_seq_kv" if "cum_seq_kv" in call.values else "cum_seq_k")
    ]
    pairs = [list(zip([0, *one][:-1] if one[0] else one[:-1], one if one[0] else one[1:], strict=True)) for one in ends]
    return [(slice(*q), slice(*k)) for q, k in zip(*pairs, strict=True)]


def attention_sample(call: Call, factor: float, draw: np.random.Generator) -> dict[str, Array]:
    """Outputs, or gradients, of attention under dropout whose survivors grow by `factor`."""
    chance = float(call["p_dropout"] if "p_dropout" in call.values else call["dropout_p"])
    scale = float(call["softmax_scale"] if "softmax_scale" in call.values else call["scale"])
    q, k, v = (call.wide(name) for name in "qkv")
    backward = "softmax_lse" in call.values and call.function.param("grad_q") is not None
    found = {name: np.zeros(call[name].shape) for name in "qkv"}
    group = q.shape[-2] // k.shape[-2]
    for own, other in sequences(call):
        keys, values = (np.repeat(one[other], group, axis=1) for one in (k, v))
        scores = scale * np.einsum("qhd,khd->hqk", q[own], keys)
        retained = (draw.random(scores.shape) >= chance) * factor
        if not backward:
            p = np.exp(scores - scores.max(axis=2, keepdims=True))
            p /= p.sum(axis=2, keepdims=True)
            found["q"][own] = np.einsum("hqk,khd->qhd", p * retained, values)
            continue
        number = own[0] if isinstance(own, tuple) else [one for one, _ in sequences(call)].index(own)
        p = np.exp(scores - call.wide("softmax_lse")[number][:, : scores.shape[1], None])
        names = ("grad_output", "attention_out") if "grad_output" in call.values else ("grad_out", "out")
        grad, out = (call.wide(name)[own] for name in names)
        to_p = np.einsum("qhd,khd->hqk", grad, values) * retained
        to_score = scale * p * (to_p - np.einsum("qhd,qhd->hq", grad, out)[:, :, None])
        found["q"][own] = np.einsum("hqk,khd->qhd", to_score, keys)
        for name, array in (
            ("k", np.einsum("hqk,qhd->khd", to_score, q[own])),
            ("v", np.einsum("hqk,qhd->khd", p * retained, grad)),
        ):
            found[name][other] = array.reshape(len(array), -1, group, array.shape[2]).sum(axis=2)
    if backward:
        return {f"grad_{name}": array for name, array in found.items()}
    return {"attention_out" if "attention_out" in call.dtypes else "out": found["q"]}


ATTENTION = [
    *(f"{name}{way}" for name in ("FlashAttention", "MultiHeadAttention") for way in ("", "Backward")),
    *(f"{name}VarLen{way}" for name in ("FlashAttention", "MultiHeadAttention") for way in ("", "Backward")),
    "CustomizedFlashAttention",
    "CustomizedFlashAttentionVarLen",
]


@pytest.mark.parametrize("operator", ATTENTION)
def test_dropout_that_does_not_scale_what_it_keeps_is_found(interface: Interface, operator: str) -> None:
    function = interface.function(f"diopi{operator}")
    assert function is not None
    complaints: dict[str, list[str | None]] = {"right": [], "unscaled": []}
    for case in cases_of(interface, function):
        if not (case.expect == SUCCESS and case.axis == "recipe" and has_dropout(case)):
            continue
        call = call_of(interface, case)
        chance = float(call["p_dropout"] if "p_dropout" in call.values else call["dropout_p"])
        for word, factor in (("right", 1 / (1 - chance)), ("unscaled", 1.0)):
            sample = attention_sample(call, factor, np.random.Generator(np.random.PCG64(len(complaints[word]))))
            answer = answer_of(call)
            found = [
                answer[name].check(rounded(array, call.dtype("q")).astype(np.float64))  # type: ignore[union-attr]
                for name, array in sample.items()
                if isinstance(answer[name], Property)
            ]
            complaints[word].append(next((one for one in found if one), None))
    assert complaints["right"] == [None] * len(complaints["right"])
    # In each dtype at least.
    dtypes = 3 if operator.startswith("Multi") else 2
    assert sum(one is not None for one in complaints["unscaled"]) >= dtypes


def has_dropout(case: Case) -> bool:
    """Returns whether the probability of dropout is above 0."""
    value = case.arguments.get("p_dropout", case.arguments.get("dropout_p"))
    return isinstance(value, float) and value > 0
