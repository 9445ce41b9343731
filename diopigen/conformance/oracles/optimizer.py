"""One step of an optimizer: the new weights and the new state, each with the size of what went into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


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


@oracle("Adam", "AdamW")
def _adam(call: Call) -> Answer:
    param, rate, decay = call.wide("param"), float(call["lr"]), float(call["weight_decay"])
    if call.function.operator == "AdamW":  # the weights shrink apart from the gradient
        gradient, size = call.wide("grad"), np.abs(call.wide("grad"))
        param = param * (1 - rate * decay)
    else:
        gradient, size = _gradient(call)
    one, two, count = float(call["beta1"]), float(call["beta2"]), int(call["step"])
    first = one * call.wide("exp_avg") + (1 - one) * gradient
    first_size = one * np.abs(call.wide("exp_avg")) + (1 - one) * size
    second = two * call.wide("exp_avg_sq") + (1 - two) * gradient * gradient
    second_size = two * np.abs(call.wide("exp_avg_sq")) + (1 - two) * size * size
    answer: dict[str, Any] = {"exp_avg": Expected(first, first_size), "exp_avg_sq": Expected(second, second_size)}
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
