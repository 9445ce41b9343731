"""Optimizers that are no kernel of one element: each new value with the size of what went into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert, widest
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.reduction import vector_norm
from diopigen.contract.dtypes import MANTISSA


def _adamw(call: Call) -> dict[str, Any]:
    """AdamW on one parameter: as Adam, but the weights shrink apart from the gradient."""
    gradient = call.wide("grad")
    shrunk = call.wide("param") * (1 - float(call["lr"]) * float(call["weight_decay"]))
    return _adaptive(call, shrunk, gradient, np.abs(gradient))


def _adaptive(call: Call, param: Array, gradient: Array, size: Array) -> dict[str, Any]:
    rate = float(call["lr"])
    one, two, count = float(call["beta1"]), float(call["beta2"]), int(call["step"])
    first = one * call.wide("exp_avg") + (1 - one) * gradient
    first_size = one * np.abs(call.wide("exp_avg")) + (1 - one) * size
    second = two * call.wide("exp_avg_sq") + (1 - two) * gradient * gradient
    second_size = two * np.abs(call.wide("exp_avg_sq")) + (1 - two) * size * size
    answer: dict[str, Any] = {
        "exp_avg": Expected(first, first_size),
        "exp_avg_sq": Expected(second, second_size),
    }
    largest = second
    if call.has("max_exp_avg_sq"):
        old = call.wide("max_exp_avg_sq")
        largest = np.maximum(old, second) if call["amsgrad"] else second
        answer["max_exp_avg_sq"] = Expected(np.maximum(old, second) if call["amsgrad"] else old)
    denominator = np.sqrt(largest) / np.sqrt(1 - two**count) + float(call["eps"])
    factor = rate / (1 - one**count)
    moved = 2 * np.abs(factor) * first_size / denominator
    answer["param"] = Expected(param - factor * first / denominator, np.abs(param) + moved)
    return answer


@oracle("FusedAdamW")
def _fused_adamw(call: Call) -> Answer:
    """AdamW on each parameter of the lists, with a step number of its own."""
    lists = {"params": "param", "grads": "grad", "exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq"}
    lists["max_exp_avg_sqs"] = "max_exp_avg_sq"
    numbers = {name: call[name] for name in ("lr", "beta1", "beta2", "eps", "weight_decay", "amsgrad")}
    answer: dict[str, Any] = {name: [] for name in lists if name in call.outputs}
    for position, step in enumerate(call["state_steps"]):
        own = {one: call[many][position] for many, one in lists.items() if call.has(many)}
        if call["maximize"]:
            own["grad"] = -own["grad"]
        found = _adamw(Call(call.function, {**numbers, **own, "step": float(np.asarray(step).item())}, {}, {}))
        for name in answer:
            answer[name].append(found[lists[name]])
    return answer


@oracle("ClipGradNorm")
def _clip_grad_norm(call: Call) -> Answer:
    """All gradients are one long vector; what its norm is above the limit, they are scaled down by."""
    gradients = [widest(gradient) for gradient in call["grads"]]
    joint = np.concatenate([np.zeros(0), *(gradient.ravel() for gradient in gradients)])
    order = float(call["norm_type"])
    # PyTorch takes the norm of the norms: of order 0 that is the number of gradients that are not all zero.
    norm = np.asarray(sum(map(np.any, gradients)), float) if order == 0 else vector_norm(joint, order, (0,))
    factor = np.minimum(1.0, float(call["max_norm"]) / (norm + 1e-6))
    precision = min(call.dtypes["grads"], key=lambda dtype: MANTISSA[dtype], default="float64")
    scaled = [Expected(factor * gradient, None, joint.size, precision=precision) for gradient in gradients]
    return {"out": Expected(norm, None, joint.size, precision=precision), "grads": scaled}


@oracle("AmpUpdateScaleInp")
def _amp_update_scale(call: Call) -> Answer:
    scale, steps = call.wide("current_scale"), call["growth_tracker"].astype(np.int64) + 1
    if np.any(call["found_inf"]):
        return {
            "current_scale": Expected(scale * call["scale_backoff_factor"]),
            "growth_tracker": Expected(np.zeros_like(steps)),
        }
    grows = steps == call["growth_interval"]
    grown = convert(scale * call["scale_growth_factor"], "float32")
    return {
        "current_scale": Expected(np.where(grows & np.isfinite(grown), grown, scale)),
        "growth_tracker": Expected(np.where(grows, 0, steps)),
    }
