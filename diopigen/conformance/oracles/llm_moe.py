"""The oracles of mixtures of experts: token by token, expert by expert."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.llm_norm import ACTIVATIONS
from diopigen.conformance.oracles.llm_quantized import packed_weight, spread
from diopigen.conformance.products import product, size_of_product
from diopigen.contract.dtypes import SMALLEST_NORMAL


def _best(values: Array, count: int) -> Array:
    """Indices of the largest values, of equal ones the lower first."""
    return np.argsort(-values, kind="stable")[:count]


@oracle("TopkGating")
def _topk_gating(call: Call) -> Answer:
    gating, count, groups = call.wide("gating"), int(call["top_k"]), int(call["num_groups"])
    if call["scoring"] == "sigmoid":
        scores = 1 / (1 + np.exp(-gating))
    else:
        weights = np.exp(gating - gating.max(axis=1, keepdims=True, initial=-np.inf))
        scores = weights / weights.sum(axis=1, keepdims=True)
    choice = scores + (call.wide("bias") if call.has("bias") else 0)
    experts = np.zeros((len(gating), count), dtype=np.int64)
    for token, row in enumerate(choice):
        members = row.reshape(groups, -1)
        leading = np.sort(members, axis=1)[:, ::-1][:, : 2 if call.has("bias") else 1]
        hidden = np.full(members.shape, -np.inf)
        selected = _best(leading.sum(axis=1), int(call["top_groups"]))
        hidden[selected] = members[selected]
        experts[token] = _best(hidden.ravel(), count)
    values = np.take_along_axis(scores, experts, axis=1)
    if call["renormalize"]:
        values = values / values.sum(axis=1, keepdims=True)
    values = values * float(call["scaling"])
    # The logarithm of a score has an error relative to the router's result.
    size = np.abs(values) * (1 + 2 * np.abs(gating).max(axis=1, keepdims=True, initial=0))
    return {"weights": Expected(values, size, gating.shape[1]), "experts": Expected(experts)}


def _scaled(call: Call, name: str) -> Array:
    """The weights of a projection times their scales."""
    weight, scale, block = call.wide(f"{name}_weight"), f"{name}_scale", int(call["block"])
    return weight * spread(call.wide(scale), weight.shape, block, block) if call.has(scale) else weight


@oracle("FusedExperts")
def _fused_experts(call: Call) -> Answer:
    scaled = call.has("gate_up_scale") or call.has("down_scale")
    return _experts(call, _scaled(call, "gate_up"), _scaled(call, "down"), scaled)


@oracle("PackedExperts")
def _packed_experts(call: Call) -> Answer:
    return _experts(call, packed_weight(call, "gate_up_"), packed_weight(call, "down_"), True)


def _experts(call: Call, first: Array, second: Array, is_dequantized: bool) -> Answer:
    """The layers of experts by their weights; dequantized ones may be rounded to the dtype of activations."""
    x = call.wide("input")
    weights, experts = call.wide("weights"), np.asarray(call["experts"])
    local = np.asarray(call["expert_map"]) if call.has("expert_map") else np.arange(len(first))
    first_bias = call.wide("gate_up_bias") if call.has("gate_up_bias") else np.zeros(first.shape[:2])
    second_bias = call.wide("down_bias") if call.has("down_bias") else np.zeros(second.shape[:2])
    values, size, narrowed = (np.zeros(x.shape) for _ in range(3))
    tiny = SMALLEST_NORMAL[call.dtype("input")]
    for token, position in np.ndindex(*experts.shape):
        expert = experts[token, position]
        expert = local[expert] if expert >= 0 else -1
        if expert < 0:
            continue
        row = x[token : token + 1]
        projected = (product(row, first[expert].T) + first_bias[expert])[0]
        projected_size = (size_of_product(row, first[expert].T) + np.abs(first_bias[expert]))[0]
        (gate, up), (gate_size, up_size) = np.split(projected, 2), np.split(projected_size, 2)
        activated, activated_size = ACTIVATIONS[call["activation"]](gate)
        hidden = activated * up
        # An activation of x + d is off by at most 1.2 d.
        unsure = (1.2 * gate_size + activated_size) * np.abs(up) + np.abs(activated) * up_size
        rounded = 1.2 * np.abs(gate * up) + 3 * np.abs(hidden) + tiny
        back = second[expert].T
        result = product(hidden[None], back)[0]
        weight = abs(weights[token, position])
        values[token] += weights[token, position] * (result + second_bias[expert])
        terms_size = product(unsure[None], np.abs(back))[0]
        size[token] += weight * (terms_size + np.abs(second_bias[expert]))
        # The result of an expert, and its weight, may be rounded as well.
        own = product(rounded[None], np.abs(back))[0] + 3 * np.abs(result) + np.abs(second_bias[expert])
        if is_dequantized:
            own = own + terms_size + product(np.abs(hidden)[None], np.abs(back))[0]
        narrowed[token] += weight * own
    terms = x.shape[1] + second.shape[2] + experts.shape[1]
    return {"out": Expected(values, size, terms, narrowed=narrowed)}


@oracle("GroupedGemm")
def _grouped_gemm(call: Call) -> Answer:
    x, weight = call.wide("input"), call.wide("weight")
    values = call.wide("out").copy()
    size = np.abs(values)
    start = 0
    for group, end in enumerate(np.asarray(call["group_ends"]).tolist()):
        bias = call.wide("bias")[group] if call.has("bias") else np.zeros(weight.shape[1])
        rows = x[start:end]
        values[start:end] = product(rows, weight[group].T) + bias
        size[start:end] = size_of_product(rows, weight[group].T) + np.abs(bias)
        start = end
    return {"out": Expected(values, size, x.shape[1] + 1)}
