"""Elementwise operators over contiguous tensors."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

SIZES = {"1M": 1 << 20, "16M": 1 << 24}
UNARY = {
    "diopiExp": torch.exp,
    "diopiSqrt": torch.sqrt,
    "diopiNeg": torch.neg,
}


def cases(device: Device) -> Iterator[Case]:
    """Every operator at every size."""
    for size, count in SIZES.items():
        a = torch.rand(count) + 0.5
        out, expected = torch.empty(count), torch.empty(count)
        for name, function in UNARY.items():
            ours = device.call(name, out, a)

            def theirs(function=function, a=a, expected=expected) -> object:  # type: ignore[no-untyped-def]
                return function(a, out=expected)

            yield Case("elementwise", name, size, ours, theirs, bytes=8 * count)
