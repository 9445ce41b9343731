"""Normalisations and their gradients at 1 and 16 million elements. PyTorch's functions allocate what they return, which
shows at 16 million; the ratios at 1 million come from loops alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("norm",)

SIZES = {"1M": 1, "16M": 16}
EPS = 1e-5


def cases(device: Device) -> Iterator[Case]:
    """Images for the norms over channels, tokens for those over trailing dimensions."""
    for size, factor in SIZES.items():
        yield from batch(device, size, factor)
        yield from group(device, size, factor)
        yield from layer(device, size, factor)
        yield from rms(device, size, factor)


def batch(device: Device, size: str, factor: int) -> Iterator[Case]:
    """BatchNorm in training and in evaluation, and its gradient."""
    x = torch.randn(4 * factor, 64, 64, 64)
    weight, bias, mean, var = torch.rand(64), torch.randn(64), torch.randn(64), torch.rand(64)
    out, grad, grad_x = torch.empty_like(x), torch.randn_like(x), torch.empty_like(x)
    saved = torch.empty(64), torch.empty(64)
    aten = torch.ops.aten
    for training in (True, False):
        theirs = partial(aten.native_batch_norm, x, weight, bias, mean.clone(), var.clone(), training, 0.1, EPS)
        ours = device.call(
            "diopiBatchNorm", out, *saved, x, weight, bias, mean.clone(), var.clone(), training, 0.1, EPS
        )
        name = "diopiBatchNorm" + ("" if training else " (evaluation)")
        yield Case("norm", name, size, ours, theirs, bytes=8 * x.numel())
    device.call("diopiBatchNorm", out, *saved, x, weight, bias, mean.clone(), var.clone(), True, 0.1, EPS)
    grads = torch.empty(64), torch.empty(64)
    provided = grad, x, weight, mean, var, *saved, True, EPS
    ours = device.call("diopiBatchNormBackward", grad_x, *grads, *provided)
    theirs = partial(aten.native_batch_norm_backward, *provided, [True, True, True])
    yield Case("norm", "diopiBatchNormBackward", size, ours, theirs, bytes=12 * x.numel())


def group(device: Device, size: str, factor: int) -> Iterator[Case]:
    """GroupNorm with 32 groups."""
    samples, channels, spatial, groups = 4 * factor, 64, 4096, 32
    x = torch.randn(samples, channels, 64, 64)
    weight, bias = torch.rand(channels), torch.randn(channels)
    out, grad, grad_x = torch.empty_like(x), torch.randn_like(x), torch.empty_like(x)
    saved = torch.empty(samples, groups), torch.empty(samples, groups)
    counts = samples, channels, spatial, groups
    ours = device.call("diopiGroupNorm", out, *saved, x, weight, bias, groups, EPS)
    theirs = partial(torch.ops.aten.native_group_norm, x, weight, bias, *counts, EPS)
    yield Case("norm", "diopiGroupNorm", size, ours, theirs, bytes=8 * x.numel())
    grads = torch.empty(channels), torch.empty(channels)
    ours = device.call("diopiGroupNormBackward", grad_x, *grads, grad, x, weight, *saved, groups)
    arguments = grad, x, *saved, weight, *counts, [True, True, True]
    theirs = partial(torch.ops.aten.native_group_norm_backward, *arguments)
    yield Case("norm", "diopiGroupNormBackward", size, ours, theirs, bytes=12 * x.numel())


def layer(device: Device, size: str, factor: int) -> Iterator[Case]:
    """LayerNorm over 4096 elements."""
    x = torch.randn(256 * factor, 4096)
    weight, bias = torch.rand(4096), torch.randn(4096)
    out, grad, grad_x = torch.empty_like(x), torch.randn_like(x), torch.empty_like(x)
    saved = torch.empty(256 * factor, 1), torch.empty(256 * factor, 1)
    ours = device.call("diopiLayerNorm", out, *saved, x, weight, bias, (4096,), EPS)
    theirs = partial(torch.ops.aten.native_layer_norm, x, [4096], weight, bias, EPS)
    yield Case("norm", "diopiLayerNorm", size, ours, theirs, bytes=8 * x.numel())
    grads = torch.empty(4096), torch.empty(4096)
    ours = device.call("diopiLayerNormBackward", grad_x, *grads, grad, x, weight, bias, *saved, (4096,))
    arguments = grad, x, [4096], *saved, weight, bias, [True, True, True]
    theirs = partial(torch.ops.aten.native_layer_norm_backward, *arguments)
    yield Case("norm", "diopiLayerNormBackward", size, ours, theirs, bytes=12 * x.numel())


def rms(device: Device, size: str, factor: int) -> Iterator[Case]:
    """RMSNorm over 4096 elements, as in Llama."""
    x = torch.randn(256 * factor, 4096)
    weight = torch.rand(4096)
    out, inverse = torch.empty_like(x), torch.empty(256 * factor, 1)
    ours = device.call("diopiRMSNorm", out, inverse, x, (4096,), weight, None, EPS)
    theirs = partial(torch.rms_norm, x, [4096], weight, EPS)
    yield Case("norm", "diopiRMSNorm", size, ours, theirs, bytes=8 * x.numel())
    grad, grad_x, grad_weight = torch.randn_like(x), torch.empty_like(x), torch.empty(4096)
    ours = device.call("diopiRMSNormBackward", grad_x, grad_weight, None, grad, x, weight, None, inverse, (4096,), EPS)
    leaves = x.clone().requires_grad_(), weight.clone().requires_grad_()
    result = torch.rms_norm(leaves[0], [4096], leaves[1], EPS)
    theirs = partial(torch.autograd.grad, result, leaves, grad, retain_graph=True)
    yield Case("norm", "diopiRMSNormBackward", size, ours, theirs, bytes=12 * x.numel())
