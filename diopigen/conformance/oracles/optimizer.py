"""One step of an optimizer: the new weights and the new state, each with the size of what went into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert, widest
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.reduction import vector_norm
from diopigen.contract.dtypes import MANTISSA


def _gradient(call: Call) -> tuple[Array, Array]:
    """The gradient with the decayed weights in it, and the size of both."""
    gradient, param, decay = call.wide("grad"), call.wide("param"), float(call["weight_decay"])
    if decay == 0:
        return gradient, np.abs(gradient)
    return gradient + decay * param, np.abs(gradient) + abs(decay) * np.abs(param)


@oracle("Sgd")
def _sgd(call: Call) -> Answer:
    param, (gradient, size) = call.wide("param"), _gradient(call)
    rate, momentum = float(call["lr"]), float(call["momentum"])
    answer: dict[str, Any] = {}
    step, step_size = gradient, size
    if momentum != 0:
        velocity, velocity_size = gradient, size
        if call.given("buf"):
            share = 1 - float(call["dampening"])
            velocity = momentum * call.wide("buf") + share * gradient
            velocity_size = np.abs(momentum * call.wide("buf")) + abs(share) * size
            answer["buf"] = Expected(velocity, velocity_size)
        step, step_size = velocity, velocity_size
        if call["nesterov"]:
            step, step_size = gradient + momentum * velocity, size + abs(momentum) * velocity_size
    elif call.given("buf"):
        answer["buf"] = Expected(call.wide("buf"))
    answer["param"] = Expected(param - rate * step, np.abs(param) + abs(rate) * step_size)
    return answer


@oracle("Adam")
def _adam(call: Call) -> dict[str, Any]:
    return _adaptive(call, call.wide("param"), *_gradient(call))


@oracle("AdamW")
def _adamw(call: Call) -> dict[str, Any]:
    """As Adam, but the weights shrink apart from the gradient."""
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
    if call.given("max_exp_avg_sq"):
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
    for place, step in enumerate(call["state_steps"]):
        own = {one: call[many][place] for many, one in lists.items() if call.given(many)}
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
    norm = vector_norm(joint, float(call["norm_type"]), (0,))
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


@oracle("Adadelta")
def _adadelta(call: Call) -> Answer:
    param, (gradient, size) = call.wide("param"), _gradient(call)
    rho, eps, rate = float(call["rho"]), float(call["eps"]), float(call["lr"])
    mean = rho * call.wide("square_avg") + (1 - rho) * gradient * gradient
    delta = np.sqrt(call.wide("acc_delta") + eps) / np.sqrt(mean + eps) * gradient
    delta_size = np.sqrt(call.wide("acc_delta") + eps) / np.sqrt(mean + eps) * size
    return {
        "param": Expected(param - rate * delta, np.abs(param) + 2 * abs(rate) * delta_size),
        "square_avg": Expected(mean, rho * np.abs(call.wide("square_avg")) + (1 - rho) * size * size),
        "acc_delta": Expected(
            rho * call.wide("acc_delta") + (1 - rho) * delta * delta,
            rho * np.abs(call.wide("acc_delta")) + 2 * (1 - rho) * delta_size * delta_size,
        ),
    }


@oracle("Rmsprop")
def _rmsprop(call: Call) -> Answer:
    param, (gradient, size) = call.wide("param"), _gradient(call)
    alpha, eps, rate, momentum = (float(call[name]) for name in ("alpha", "eps", "lr", "momentum"))
    mean_square = alpha * call.wide("square_avg") + (1 - alpha) * gradient * gradient
    square_size = alpha * np.abs(call.wide("square_avg")) + (1 - alpha) * size * size
    answer: dict[str, Any] = {"square_avg": Expected(mean_square, square_size)}
    under_root = mean_square
    if call.given("grad_avg"):
        old = call.wide("grad_avg")
        mean = alpha * old + (1 - alpha) * gradient if call["centered"] else old
        answer["grad_avg"] = Expected(mean, alpha * np.abs(old) + (1 - alpha) * size)
        under_root = mean_square - mean * mean if call["centered"] else mean_square
    denominator = np.sqrt(under_root) + eps
    # Where the mean takes most of the mean square away, the root has the rounding errors of both.
    loss = np.where(under_root > 0, square_size / np.where(under_root > 0, under_root, 1), 1)
    step, step_size = gradient / denominator, size / denominator * (1 + loss)
    if call.given("momentum_buf"):
        old = call.wide("momentum_buf")
        if momentum > 0:
            step, step_size = momentum * old + step, momentum * np.abs(old) + step_size
        answer["momentum_buf"] = Expected(step if momentum > 0 else old, step_size if momentum > 0 else None)
    answer["param"] = Expected(param - rate * step, np.abs(param) + abs(rate) * step_size)
    return answer
