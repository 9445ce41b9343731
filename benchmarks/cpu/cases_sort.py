"""Sort, Argsort, Topk and Unique along the last dimension: one long row, and many short ones."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("sort",)
SHAPES = {"1 x 1M": (1, 1 << 20), "1024 x 1024": (1024, 1024)}


def _orders(device: Device, size: str, a: torch.Tensor) -> Iterator[Case]:
    values, indices = torch.empty_like(a), torch.empty(a.shape, dtype=torch.int64)
    expected = (values.clone(), indices.clone())
    for descending in (False, True):
        label = f"{size} {'falling' if descending else 'rising'}"
        ours = device.call("diopiSort", values, indices, a, -1, descending, device.truth(True))

        def theirs(descending: bool = descending) -> object:
            return torch.sort(a, dim=-1, descending=descending, stable=True, out=expected)

        yield Case("sort", "diopiSort", label, ours, theirs)
    ours = device.call("diopiArgsort", indices, a, True, device.int64(-1), False)
    yield Case("sort", "diopiArgsort", size, ours, lambda: torch.argsort(a, dim=-1, stable=True))


def _picks(device: Device, size: str, a: torch.Tensor) -> Iterator[Case]:
    for k in (1, 10, 100, 1000):
        shape = (a.shape[0], k)
        values, indices = torch.empty(shape, dtype=a.dtype), torch.empty(shape, dtype=torch.int64)
        expected = (values.clone(), indices.clone())
        ours = device.call("diopiTopk", values, indices, a, k, -1, True, True)
        yield Case("sort", f"diopiTopk k={k}", size, ours,
                   lambda k=k, expected=expected: torch.topk(a, k, out=expected))  # fmt: skip


def _distinct(device: Device, size: str, a: torch.Tensor) -> Iterator[Case]:
    indices = torch.empty(a.shape, dtype=torch.int64)
    ours = device.allocating("diopiUnique", a, None, True, False, None, None)
    yield Case("sort", "diopiUnique", size, ours, lambda: torch.unique(a))
    ours = device.allocating("diopiUnique", a, None, True, False, indices, None)
    yield Case("sort", "diopiUnique inverse", size, ours, lambda: torch.unique(a, return_inverse=True))


def cases(device: Device) -> Iterator[Case]:
    """Every operator over float32 and int64."""
    for size, shape in SHAPES.items():
        for name, a in {
            "float32": torch.randn(shape),
            "int64": torch.randint(-(2**62), 2**62, shape),
            "int64 small": torch.randint(0, 1000, shape),
        }.items():
            label = f"{size} {name}"
            yield from _orders(device, label, a)
            if shape[0] > 1:
                yield from _picks(device, label, a)
        if shape[0] == 1:
            yield from _picks(device, f"{size} float32", torch.randn(shape))
            yield from _distinct(device, f"{size} float32", torch.randn(shape))
            yield from _distinct(device, f"{size} int64 small", torch.randint(0, 1000, shape))
