"""Convolutions over all layer shapes of ResNet-50: forward, and the gradients of data and weight together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("convolution",)
LAYERS = (
    (3, 64, 7, 2, 224),
    *((64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 64, 1, 1, 56), (256, 128, 1, 1, 56)),
    *((128, 128, 3, 2, 56), (256, 512, 1, 2, 56), (128, 512, 1, 1, 28), (512, 128, 1, 1, 28), (128, 128, 3, 1, 28)),
    *((512, 256, 1, 1, 28), (256, 256, 3, 2, 28), (512, 1024, 1, 2, 28), (256, 1024, 1, 1, 14), (1024, 256, 1, 1, 14)),
    *((256, 256, 3, 1, 14), (1024, 512, 1, 1, 14), (512, 512, 3, 2, 14), (1024, 2048, 1, 2, 14)),
    *((512, 2048, 1, 1, 7), (2048, 512, 1, 1, 7), (512, 512, 3, 1, 7)),
)
"""Channels, filters, side of the kernel, stride, side of the image."""


def cases(device: Device) -> Iterator[Case]:
    """Batches of one and eight in float32; three layers in bfloat16, and one depthwise."""
    for batch in (1, 8):
        for layer in LAYERS:
            yield from both(device, batch, layer, torch.float32, "f32")
    for layer in (LAYERS[1], LAYERS[2], LAYERS[15]):
        yield from both(device, 8, layer, torch.bfloat16, "bf16")
    yield from both(device, 8, (128, 128, 3, 1, 28), torch.float32, "f32", groups=128)


def both(
    device: Device, batch: int, layer: tuple[int, ...], dtype: torch.dtype, label: str, groups: int = 1
) -> Iterator[Case]:
    """The forward and the backward case of one layer."""
    channels, filters, side, stride, size = layer
    pad = side // 2
    x = torch.randn(batch, channels, size, size).to(dtype)
    weight = torch.randn(filters, channels // groups, side, side).to(dtype)
    theirs: Callable[[], torch.Tensor] = partial(torch.conv2d, x, weight, None, stride, pad, 1, groups)
    out = torch.empty_like(theirs())
    name = f"{label} {batch}x{channels}x{size} to {filters} by {side}/{stride}" + (
        f" in {groups}" if groups > 1 else ""
    )
    window = ((stride, stride), (pad, pad), (1, 1))
    ours = device.call("diopiConvolution2d", out, x, weight, None, *window, groups)
    moved = sum(one.numel() * one.element_size() for one in (x, weight, out))
    work = 2 * out.numel() * weight[0].numel()
    yield Case("convolution", "diopiConvolution2d", name, ours, theirs, moved, work, dtype)
    grad = torch.randn_like(out)
    is_first = channels == 3  # nothing asks for the gradient of the image
    grads = None if is_first else torch.empty_like(x), torch.empty_like(weight)
    ours = device.call("diopiConvolution2dBackward", *grads, None, grad, x, weight, None, *window, groups)
    requested = [not is_first, True, False]
    arguments = (grad, x, weight, [0], [stride, stride], [pad, pad], [1, 1], False, [0, 0], groups, requested)
    theirs = partial(torch.ops.aten.convolution_backward, *arguments)
    both_gradients = 1 if is_first else 2
    yield Case(
        "convolution", "diopiConvolution2dBackward", name, ours, theirs, both_gradients * moved, both_gradients * work,
        dtype,
    )  # fmt: skip
