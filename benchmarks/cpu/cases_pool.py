"""Pooling of images at 1 and 16 million elements, and ResNet-50's own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("pool",)

SHAPES = {"1M": (4, 64, 64, 64), "16M": (64, 64, 64, 64), "8x64x112x112": (8, 64, 112, 112)}


def cases(device: Device) -> Iterator[Case]:
    """Windows of 3 in steps of 2 for maxima, of 2 for means, and the mean of each plane."""
    for size, shape in SHAPES.items():
        x = torch.randn(shape)
        yield from maxima(device, size, x)
        yield from means(device, size, x)
        yield from adaptive(device, size, x)


def maxima(device: Device, size: str, x: torch.Tensor) -> Iterator[Case]:
    """MaxPool2d with indices, and its gradient."""
    window = ((3, 3), (2, 2), (1, 1), (1, 1))
    lists = [list(entries) for entries in window]
    theirs = partial(torch.ops.aten.max_pool2d_with_indices, x, *lists, False)
    expected, indices = theirs()
    out, positions = torch.empty_like(expected), torch.empty_like(indices)
    ours = device.call("diopiMaxPool2dWithIndices", out, positions, x, *window, False)
    yield Case("pool", "diopiMaxPool2dWithIndices", size, ours, theirs, bytes=4 * x.numel() + 12 * out.numel())
    grad, grad_x = torch.randn_like(out), torch.empty_like(x)
    ours = device.call("diopiMaxPool2dBackward", grad_x, grad, x, *window, False, indices)
    theirs = partial(torch.ops.aten.max_pool2d_with_indices_backward, grad, x, *lists, False, indices)
    yield Case("pool", "diopiMaxPool2dBackward", size, ours, theirs, bytes=4 * x.numel() + 12 * out.numel())


def means(device: Device, size: str, x: torch.Tensor) -> Iterator[Case]:
    """AvgPool2d and its gradient."""
    window = ((2, 2), (2, 2), (0, 0))
    lists = [list(entries) for entries in window]
    theirs = partial(torch.ops.aten.avg_pool2d, x, *lists, False, True, None)
    out = torch.empty_like(theirs())
    ours = device.call("diopiAvgPool2d", out, x, *window, False, True, None)
    yield Case("pool", "diopiAvgPool2d", size, ours, theirs, bytes=4 * x.numel() + 4 * out.numel())
    grad, grad_x = torch.randn_like(out), torch.empty_like(x)
    ours = device.call("diopiAvgPool2dBackward", grad_x, grad, x, *window, False, True, None)
    theirs = partial(torch.ops.aten.avg_pool2d_backward, grad, x, *lists, False, True, None)
    yield Case("pool", "diopiAvgPool2dBackward", size, ours, theirs, bytes=4 * x.numel() + 4 * out.numel())


def adaptive(device: Device, size: str, x: torch.Tensor) -> Iterator[Case]:
    """AdaptiveAvgPool2d to one element a plane, and its gradient."""
    theirs = partial(torch.ops.aten._adaptive_avg_pool2d, x, [1, 1])
    out = torch.empty_like(theirs())
    ours = device.call("diopiAdaptiveAvgPool2d", out, x, (1, 1))
    yield Case("pool", "diopiAdaptiveAvgPool2d", size, ours, theirs, bytes=4 * x.numel())
    grad, grad_x = torch.randn_like(out), torch.empty_like(x)
    ours = device.call("diopiAdaptiveAvgPool2dBackward", grad_x, grad, x)
    theirs = partial(torch.ops.aten._adaptive_avg_pool2d_backward, grad, x)
    yield Case("pool", "diopiAdaptiveAvgPool2dBackward", size, ours, theirs, bytes=4 * x.numel())
