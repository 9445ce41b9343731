"""Softmax, normalisations and losses, forward and backward.

Elements count as moved once for each pass that statistics over more than a row need: two for a softmax over a
vocabulary and for BatchNorm, and one more for gradients that are summed over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

NormalisedCase = tuple[str, str, torch.Tensor, tuple[Any, ...], Callable[[], torch.Tensor], int]
"""Group, function, what it writes, its arguments, PyTorch's call, and elements that are moved."""

_ATEN = torch.ops.aten


def normalised_cases(torch_device: str, count: int, dtype: torch.dtype) -> Iterator[NormalisedCase]:
    """All calls with about `count` elements each."""
    yield from softmax(torch_device, count, dtype)
    yield from rows(torch_device, count, dtype)
    yield from channels(torch_device, count, dtype)
    yield from losses(torch_device, count, dtype)


def softmax(torch_device: str, count: int, dtype: torch.dtype) -> Iterator[NormalisedCase]:
    """Gradients, a vocabulary, and a dimension that others follow."""
    x = torch.randn(count // 1024, 1024, device=torch_device).to(dtype)
    y, grad, out = torch.softmax(x, 1), torch.randn_like(x), torch.empty_like(x)
    arguments = (grad, y, 1, dtype)
    yield ("softmax", "diopiSoftmaxBackward", out, (out, grad, y, 1),
           lambda: _ATEN._softmax_backward_data(*arguments), 3 * count)  # fmt: skip
    wide = torch.randn(max(1, count // 32000), 32000, device=torch_device).to(dtype)
    log = torch.empty_like(wide)
    yield "softmax", "diopiLogSoftmax", log, (log, wide, 1), lambda: torch.log_softmax(wide, 1), 3 * wide.numel()
    image = x.view(-1, 32, 256)
    mapped = torch.empty_like(image)
    yield "softmax", "diopiSoftmax", mapped, (mapped, image, 1), lambda: torch.softmax(image, 1), 2 * count


def rows(torch_device: str, count: int, dtype: torch.dtype) -> Iterator[NormalisedCase]:
    """RMSNorm, and the gradients of LayerNorm."""
    x = torch.randn(count // 1024, 1024, device=torch_device).to(dtype)
    weight, bias = torch.rand(1024, device=torch_device).to(dtype), torch.rand(1024, device=torch_device).to(dtype)
    out, grad, inverse = torch.empty_like(x), torch.randn_like(x), torch.empty(x.shape[0], 1, device=torch_device)
    yield ("norm", "diopiRMSNorm", out, (out, inverse, x, (1024,), weight, None, 1e-5),
           lambda: torch.nn.functional.rms_norm(x, (1024,), weight, 1e-5), 2 * count)  # fmt: skip
    grad_x, grad_weight, grad_bias = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)
    mean = x.float().mean(1, keepdim=True)
    invstd = (x.float().var(1, correction=0, keepdim=True) + 1e-5).rsqrt()
    provided = (grad_x, grad_weight, grad_bias, grad, x, weight, bias, mean, invstd, (1024,))
    # PyTorch for the CPU wants the statistics of halves as halves.
    retained = [s if torch_device == "cuda" else s.to(dtype) for s in (mean, invstd)]
    arguments = (grad, x, [1024], *retained, weight, bias, [True, True, True])
    yield ("norm", "diopiLayerNormBackward", grad_x, provided,
           lambda: _ATEN.native_layer_norm_backward(*arguments)[0], 5 * count)  # fmt: skip


def channels(torch_device: str, count: int, dtype: torch.dtype) -> Iterator[NormalisedCase]:
    """BatchNorm in training with its gradient, and GroupNorm, on images of 28 by 28."""
    x = torch.randn(max(1, count // (64 * 784)), 64, 28, 28, device=torch_device).to(dtype)
    moved = x.numel()
    weight, bias = (torch.rand(64, device=torch_device) + 0.5 for _ in range(2))
    out, grad, grad_x = torch.empty_like(x), torch.randn_like(x), torch.empty_like(x)
    mean, invstd = torch.empty(64, device=torch_device), torch.empty(64, device=torch_device)
    used = (weight, bias, torch.zeros(64, device=torch_device), torch.ones(64, device=torch_device))
    yield ("norm", "diopiBatchNorm", out, (out, mean, invstd, x, *used, True, 0.1, 1e-5),
           lambda: _ATEN.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)[0], 3 * moved)  # fmt: skip
    sums = x.transpose(0, 1).reshape(64, -1).float()
    known = (sums.mean(1), (sums.var(1, correction=0) + 1e-5).rsqrt())
    provided = (
        grad_x,
        torch.empty_like(weight),
        torch.empty_like(bias),
        grad,
        x,
        weight,
        *used[2:],
        *known,
        True,
        1e-5,
    )
    arguments = (grad, x, weight, None, None, *known, True, 1e-5, [True, True, True])
    yield ("norm", "diopiBatchNormBackward", grad_x, provided,
           lambda: _ATEN.native_batch_norm_backward(*arguments)[0], 5 * moved)  # fmt: skip
    halves = weight.to(dtype), bias.to(dtype)
    grouped = torch.empty_like(x)
    group = (torch.empty(x.shape[0], 8, device=torch_device), torch.empty(x.shape[0], 8, device=torch_device))
    yield ("norm", "diopiGroupNorm", grouped, (grouped, *group, x, *halves, 8, 1e-5),
           lambda: torch.nn.functional.group_norm(x, 8, *halves, 1e-5), 2 * moved)  # fmt: skip


def losses(torch_device: str, count: int, dtype: torch.dtype) -> Iterator[NormalisedCase]:
    """Cross entropy over 1000 classes with its gradient, and two losses of elements."""
    x = torch.randn(max(1, count // 1000), 1000, device=torch_device).to(dtype)
    target = torch.randint(1000, (x.shape[0],), device=torch_device)
    loss, grad = torch.empty((), device=torch_device, dtype=dtype), torch.ones((), device=torch_device, dtype=dtype)
    grad_x = torch.empty_like(x)
    settings = ("ReductionMean", -100, 0.0)
    yield ("loss", "diopiCrossEntropyLoss", loss, (loss, x, target, None, *settings),
           lambda: torch.nn.functional.cross_entropy(x, target), x.numel())  # fmt: skip
    leaf = x.clone().requires_grad_()

    def backward() -> torch.Tensor:
        return torch.autograd.grad(torch.nn.functional.cross_entropy(leaf, target), leaf)[0]

    # PyTorch's side makes the loss as well: it keeps the logarithms that the gradient needs.
    yield ("loss", "diopiCrossEntropyLossBackward", grad_x, (grad_x, grad, x, target, None, *settings), backward,
           2 * x.numel())  # fmt: skip
    a, b = (torch.rand(count, device=torch_device).to(dtype) for _ in range(2))
    for name, function in (
        ("diopiMSELoss", torch.nn.functional.mse_loss),
        ("diopiBCEWithLogits", torch.nn.functional.binary_cross_entropy_with_logits),
    ):
        out = torch.empty((), device=torch_device, dtype=dtype)
        extra = (None, None) if name == "diopiBCEWithLogits" else ()
        yield ("loss", name, out, (out, a, b, *extra, "ReductionMean"),
               partial(function, a, b), 2 * count)  # fmt: skip
