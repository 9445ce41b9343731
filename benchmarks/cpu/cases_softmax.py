"""Softmax and LogSoftmax with their gradients, over rows of many lengths and along a middle dimension."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("softmax",)
SHAPES = {
    "16384 x 64": ((16384, 64), 1),
    "1024 x 1024": ((1024, 1024), 1),
    "4096 x 1000": ((4096, 1000), 1),
    "128 x 32768": ((128, 32768), 1),
    "4096 x 4096": ((4096, 4096), 1),
    "16 x 256 x 256 middle": ((16, 256, 256), 1),
}


def cases(device: Device) -> Iterator[Case]:
    """Forward and backward of both."""
    for size, (shape, dim) in SHAPES.items():
        a, gradient = torch.randn(shape), torch.randn(shape)
        out, expected = torch.empty(shape), torch.empty(shape)
        for name, forward, backward in (
            ("diopiSoftmax", torch._softmax, torch._softmax_backward_data),
            ("diopiLogSoftmax", torch._log_softmax, torch._log_softmax_backward_data),
        ):
            y = forward(a, dim, False)

            def run_forward(forward=forward, a=a, dim=dim, expected=expected) -> object:
                return forward(a, dim, False, out=expected)

            def run_backward(backward=backward, gradient=gradient, y=y, dim=dim) -> object:
                return backward(gradient, y, dim, torch.float32)

            moved = 4 * a.numel()
            yield Case("softmax", name, size, device.call(name, out, a, dim), run_forward, bytes=2 * moved)
            ours = device.call(f"{name}Backward", out, gradient, y, dim)
            yield Case("softmax", f"{name}Backward", size, ours, run_backward, bytes=3 * moved)
