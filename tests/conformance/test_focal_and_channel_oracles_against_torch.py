"""Oracles of focal losses, of bias with leaky ReLU, of synchronized batch normalization and of shifts along time
against compositions of plain torch operators, gradients by autograd. Needs the `torch` extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch_compositions import Arguments, Found, assert_agreement, gradients, torch

from diopigen.conformance.oracles import Call, Expected, answer_of
from diopigen.ir.model import Interface

_LEAST = 2.0**-126


def _factor(a: Arguments, target: Any) -> Any:
    return a.weight[target] if a.weight.numel() else torch.ones(len(target), dtype=torch.float64)


def _sigmoid_focal(a: Arguments, x: Any) -> Any:
    """By the cross entropy with each class, and the probability that is wrong."""
    label = torch.nn.functional.one_hot(a.target, x.shape[1] + 1)[:, :-1].double()
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(x, label, reduction="none")
    entropy = entropy.clamp(max=-torch.log(torch.tensor(_LEAST, dtype=torch.float64)))
    wrong = torch.where(label == 1, torch.sigmoid(-x), torch.sigmoid(x))
    share = torch.where(label == 1, a.alpha, 1 - a.alpha)
    return share * entropy * wrong**a.gamma * _factor(a, a.target)[:, None]


def _sigmoid_focal_backward(a: Arguments) -> Found:
    (grad,) = gradients(lambda x: _sigmoid_focal(a, x), [a.input], torch.ones_like(a.input))
    # The slope is that of the logarithm also where its value is bounded.
    x = a.input
    label = torch.nn.functional.one_hot(a.target, x.shape[1] + 1)[:, :-1] == 1
    right, wrong = torch.sigmoid(torch.where(label, x, -x)), torch.sigmoid(torch.where(label, -x, x))
    weight = torch.where(label, -a.alpha, 1 - a.alpha) * _factor(a, a.target)[:, None]
    return {"grad_input": torch.where(right < _LEAST, grad + weight * wrong ** (a.gamma + 1), grad)}


def _softmax_focal(a: Arguments, probabilities: Any) -> Any:
    label = a.target.clamp(min=0)
    p = probabilities.gather(1, label[:, None])[:, 0]
    losses = -a.alpha * (1 - p) ** a.gamma * torch.log(p.clamp(min=_LEAST)) * _factor(a, label)
    return torch.where(a.target >= 0, losses, torch.zeros_like(losses))


def _softmax_focal_backward(a: Arguments) -> Found:
    """Through the probabilities, and by the derivative of softmax: p_t's by score c is p_t ([c = t] - p_c)."""
    (slope,) = gradients(lambda p: _softmax_focal(a, p), [a.softmax], torch.ones(len(a.target), dtype=torch.float64))
    label = a.target.clamp(min=0)
    own = torch.nn.functional.one_hot(label, a.softmax.shape[1]).double()
    p = a.softmax.gather(1, label[:, None])
    of_label = slope.gather(1, label[:, None]).nan_to_num(0.0) * p
    # The slope is that of the logarithm also where its value is bounded.
    counts = (a.target >= 0)[:, None]
    of_label = torch.where((p < _LEAST) & counts, of_label - a.alpha * _factor(a, label)[:, None], of_label)
    return {"grad_input": of_label * (own - a.softmax)}


def _bias_leaky_relu(a: Arguments) -> Found:
    x = a.input
    if a.bias.numel():
        x = x + a.bias.reshape(1, -1, *[1] * (x.dim() - 2))
    if a.grad == 2:
        return {"out": torch.zeros_like(x)}
    if a.act == 3 and a.grad == 0:
        x = torch.nn.functional.leaky_relu(x, a.alpha)
    elif a.act == 3:
        refer = a.refer if a.refer.numel() else torch.zeros_like(x)
        (x,) = gradients(lambda z: torch.nn.functional.leaky_relu(z, a.alpha), [refer], x)
    return {"out": x * a.scale}


def _mean(x: Any) -> Any:
    return x.transpose(0, 1).flatten(1).mean(1)


def _sync_bn(a: Arguments) -> Found:
    column = (None, slice(None), None)
    norm = torch.nn.functional.batch_norm(a.input, a.mean, a.var, eps=a.eps)
    output = norm if a.weight is None else norm * a.weight[column] + a.bias[column]
    found = {"norm": norm, "std": torch.sqrt(a.var + a.eps), "output": output}
    if a.running_mean is not None:
        count = a.input.shape[0] * a.input.shape[2] * a.group_size
        unbiased = a.var * (count / (count - 1) if count > 1 else 1)
        found["running_mean"] = torch.lerp(a.running_mean, a.mean, a.momentum)
        found["running_var"] = torch.lerp(a.running_var, unbiased, a.momentum)
    return found


def _sync_bn_parameters(a: Arguments) -> Found:
    channels = a.norm.shape[1]
    ones, zeros = torch.ones(channels, dtype=torch.float64), torch.zeros(channels, dtype=torch.float64)
    weight, bias = gradients(lambda w, b: a.norm * w[:, None] + b[:, None], [ones, zeros], a.grad_output)
    return {"grad_weight": weight, "grad_bias": bias}


def _sync_bn_data(a: Arguments) -> Found:
    column = (None, slice(None), None)
    count = max(a.norm.shape[0] * a.norm.shape[2], 1)
    through = torch.addcmul(a.grad_bias[column], a.grad_weight[column], a.norm) / count
    return {"grad_input": (a.grad_output - through) * (a.weight / a.std)[column]}


def _shift(output: Any, moved: Any, shift: Any) -> Any:
    """Group by group of each video."""
    found = output.clone()
    steps = moved.shape[1]
    size = moved.shape[2] // shift.shape[1]
    for video in range(len(moved)):
        for group in range(shift.shape[1]):
            by, channels = int(shift[video, group]), slice(group * size, (group + 1) * size)
            for step in range(max(0, by), min(steps, steps + by)):
                found[video, step, channels] = moved[video, step - by, channels]
    return found


TORCH: dict[str, Callable[[Arguments], Found]] = {
    "SigmoidFocalLossMmcv": lambda a: {"output": _sigmoid_focal(a, a.input)},
    "SigmoidFocalLossBackwardMmcv": _sigmoid_focal_backward,
    "SoftmaxFocalLossMmcv": lambda a: {"output": _softmax_focal(a, a.softmax)},
    "SoftmaxFocalLossBackwardMmcv": _softmax_focal_backward,
    "FusedBiasLeakyreluMmcv": _bias_leaky_relu,
    "SyncBnMeanMmcv": lambda a: {"mean": _mean(a.input)},
    "SyncBnVarMmcv": lambda a: {"var": _mean((a.input - a.mean[:, None]) ** 2)},
    "SyncBnOutputMmcv": _sync_bn,
    "SyncBnBackwardParamMmcv": _sync_bn_parameters,
    "SyncBnBackwardDataMmcv": _sync_bn_data,
    "TinShiftMmcv": lambda a: {"output": _shift(a.output, a.input, a.shift)},
    "TinShiftBackwardMmcv": lambda a: {"grad_input": _shift(a.grad_input, a.grad_output, a.shift)},
}


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    assert_agreement(interface, operator, TORCH[operator])


def test_the_steps_of_synchronized_batch_normalization_are_its_gradient(interface: Interface) -> None:
    """Both backward steps, one after the other with the statistics of one worker, against autograd through batch_norm
    as a whole."""
    random = np.random.default_rng(3)
    x, grad_out = random.standard_normal((3, 4, 7)), random.standard_normal((3, 4, 7))
    weight, bias = random.standard_normal(4), random.standard_normal(4)

    def answer(name: str, **values: Any) -> dict[str, Any]:
        function = interface.function(f"diopi{name}")
        assert function is not None
        dtypes = {param.name: "float32" for param in function.params if param.type == "tensor"}
        found = answer_of(Call(function, values, dtypes, {}))
        return {output: one.values for output, one in found.items() if isinstance(one, Expected)}

    mean = answer("SyncBnMeanMmcv", input=x)["mean"]
    var = answer("SyncBnVarMmcv", input=x, mean=mean)["var"]
    eps = float(np.float32(1e-5))
    forward = answer("SyncBnOutputMmcv", input=x, mean=mean, var=var, weight=weight, bias=bias, eps=1e-5, momentum=0.1,
                     group_size=1)  # fmt: skip
    of_parameters = answer("SyncBnBackwardParamMmcv", grad_output=grad_out, norm=forward["norm"])
    of_data = answer("SyncBnBackwardDataMmcv", grad_output=grad_out, weight=weight, norm=forward["norm"],
                     std=forward["std"], **of_parameters)  # fmt: skip

    def whole(*variables: Any) -> Any:
        return torch.nn.functional.batch_norm(variables[0], None, None, *variables[1:], training=True, eps=eps)

    leaves = [torch.from_numpy(np.array(one)) for one in (x, weight, bias)]
    expected = gradients(whole, leaves, torch.from_numpy(grad_out))
    found = (of_data["grad_input"], of_parameters["grad_weight"], of_parameters["grad_bias"])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.astype(float), other.numpy(), rtol=1e-10, atol=1e-12)
