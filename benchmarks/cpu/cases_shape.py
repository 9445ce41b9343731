"""Joining, cutting, turning and padding tensors of float32."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("shape",)


def _calls(device: Device, n: int) -> Iterator[tuple[str, object, object]]:
    a, b = torch.rand(n, n), torch.rand(n, n)
    out, wide, deep = torch.empty(n, n), torch.empty(n, 2 * n), torch.empty(2, n, n)
    halves = [torch.empty(n, n // 2) for _ in range(2)]
    cube, transposed = torch.rand(16, n // 16, 16, n // 16), torch.empty(16, 16, n // 16, n // 16)
    padded = torch.empty(n + 2, n + 2)
    call = device.call
    yield "diopiCat last", call("diopiCat", wide, [a, b], 2, 1), lambda: torch.cat([a, b], 1, out=wide)
    yield "diopiCat first", call("diopiCat", wide.view(2 * n, n), [a, b], 2, 0), lambda: torch.cat([a, b], 0)
    yield "diopiStack", call("diopiStack", deep, [a, b], 2, 0), lambda: torch.stack([a, b], out=deep)

    def parts() -> None:
        for half, part in zip(halves, a.split(n // 2, 1), strict=True):
            half.copy_(part)

    split = call("diopiSplitWithSizes", halves, 2, a, (n // 2, n // 2), 1)
    yield "diopiSplitWithSizes", split, parts
    yield "diopiTranspose", call("diopiTranspose", out, a, 0, 1), lambda: a.t().contiguous()
    permute = call("diopiPermute", transposed, cube, (0, 2, 1, 3))
    yield "diopiPermute", permute, lambda: cube.permute(0, 2, 1, 3).contiguous()
    yield "diopiFlip last", call("diopiFlip", out, a, (1,)), lambda: torch.flip(a, (1,))
    yield "diopiFlip first", call("diopiFlip", out, a, (0,)), lambda: torch.flip(a, (0,))
    yield "diopiRoll", call("diopiRoll", out, a, (3,), (1,)), lambda: torch.roll(a, 3, 1)
    pad = (1, 1, 1, 1)
    constant = call("diopiPad", padded, a, pad, "constant", device.real(0.0))
    yield "diopiPad constant", constant, lambda: functional.pad(a, pad)
    planes, framed = a.view(1, 1, n, n), padded.view(1, 1, n + 2, n + 2)
    reflect = call("diopiPad", framed, planes, pad, "reflect", None)
    yield "diopiPad reflect", reflect, lambda: functional.pad(planes, pad, mode="reflect")
    yield "diopiRepeat", call("diopiRepeat", wide, a, (1, 2)), lambda: a.repeat(1, 2)
    yield "diopiTril", call("diopiTril", out, a, 0), lambda: torch.tril(a)


def cases(device: Device) -> Iterator[Case]:
    """Every operator at 1M and 16M elements."""
    for size, n in {"1M": 1024, "16M": 4096}.items():
        for name, ours, theirs in _calls(device, n):
            yield Case("shape", name, size, ours, theirs)
