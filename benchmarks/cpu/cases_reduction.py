"""Reductions of float32 (of bool for Any and All): of all elements, and along the last, first and middle dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("reduction",)
SIZES = {
    "1M": ((1024, 1024), (64, 256, 64)),
    "16M": ((4096, 4096), (64, 4096, 64)),
}
Pair = tuple[Callable[[], object], Callable[[], object]]


def _full(device: Device, a: torch.Tensor) -> Iterator[tuple[str, Pair]]:
    scalar, position, flag = torch.empty(()), torch.empty((), dtype=torch.int64), torch.empty((), dtype=torch.bool)
    zeros, ones = torch.zeros(a.shape, dtype=torch.bool), torch.ones(a.shape, dtype=torch.bool)
    yield "diopiSum", (device.call("diopiSum", scalar, a, ()), lambda: torch.sum(a))
    yield "diopiMean", (device.call("diopiMean", scalar, a, ()), lambda: torch.mean(a))
    yield "diopiProd", (device.call("diopiProd", scalar, a, None), lambda: torch.prod(a))
    yield "diopiAmax", (device.call("diopiAmax", scalar, a, (), False), lambda: torch.amax(a))
    yield "diopiMaxAll", (device.call("diopiMaxAll", scalar, a), lambda: torch.max(a))
    yield "diopiMinAll", (device.call("diopiMinAll", scalar, a), lambda: torch.min(a))
    yield "diopiArgmax", (device.call("diopiArgmax", position, a, None, False), lambda: torch.argmax(a))
    yield "diopiArgmin", (device.call("diopiArgmin", position, a, None, False), lambda: torch.argmin(a))
    yield "diopiNorm 2", (device.call("diopiNorm", scalar, a, 2, ()), lambda: torch.linalg.vector_norm(a))
    yield "diopiNorm 1", (device.call("diopiNorm", scalar, a, 1, ()), lambda: torch.linalg.vector_norm(a, 1))
    yield "diopiStd", (device.call("diopiStd", scalar, a, (), None), lambda: torch.std(a))
    yield "diopiAny", (device.call("diopiAny", flag, zeros, None), lambda: torch.any(zeros))
    yield "diopiAll", (device.call("diopiAll", flag, ones, None), lambda: torch.all(ones))


def _along(device: Device, a: torch.Tensor, dim: int) -> Iterator[tuple[str, Pair]]:
    shape = [size for k, size in enumerate(a.shape) if k != dim]
    values, indices = torch.empty(shape), torch.empty(shape, dtype=torch.int64)
    flags, same = torch.empty(shape, dtype=torch.bool), torch.empty(a.shape)
    expected, expected_indices, expected_same = values.clone(), indices.clone(), same.clone()
    zeros, ones = torch.zeros(a.shape, dtype=torch.bool), torch.ones(a.shape, dtype=torch.bool)
    one = device.int64(dim)
    norm = torch.linalg.vector_norm
    both = (expected, expected_indices)
    yield "diopiSum", (device.call("diopiSum", values, a, (dim,)), lambda: torch.sum(a, dim, out=expected))
    yield "diopiMean", (device.call("diopiMean", values, a, (dim,)), lambda: torch.mean(a, dim, out=expected))
    yield "diopiProd", (device.call("diopiProd", values, a, one), lambda: torch.prod(a, dim, out=expected))
    yield "diopiAmax", (device.call("diopiAmax", values, a, (dim,), False), lambda: torch.amax(a, dim, out=expected))
    yield "diopiMax", (device.call("diopiMax", values, indices, a, dim), lambda: torch.max(a, dim, out=both))
    yield "diopiMin", (device.call("diopiMin", values, indices, a, dim), lambda: torch.min(a, dim, out=both))
    argmax, argmin = (device.call(name, indices, a, one, False) for name in ("diopiArgmax", "diopiArgmin"))
    yield "diopiArgmax", (argmax, lambda: torch.argmax(a, dim, out=expected_indices))
    yield "diopiArgmin", (argmin, lambda: torch.argmin(a, dim, out=expected_indices))
    yield "diopiNorm 2", (device.call("diopiNorm", values, a, 2, (dim,)), lambda: norm(a, 2, dim, out=expected))
    yield "diopiNorm 1", (device.call("diopiNorm", values, a, 1, (dim,)), lambda: norm(a, 1, dim, out=expected))
    yield "diopiStd", (device.call("diopiStd", values, a, (dim,), None), lambda: torch.std(a, dim, out=expected))
    yield "diopiAny", (device.call("diopiAny", flags, zeros, one), lambda: torch.any(zeros, dim))
    yield "diopiAll", (device.call("diopiAll", flags, ones, one), lambda: torch.all(ones, dim))
    yield "diopiCumsum", (device.call("diopiCumsum", same, a, dim), lambda: torch.cumsum(a, dim, out=expected_same))


def cases(device: Device) -> Iterator[Case]:
    """Every operator over the whole tensor and along a dimension."""
    for size, (flat, deep) in SIZES.items():
        a, b = torch.rand(flat) + 0.5, torch.rand(deep) + 0.5
        layouts = {
            "whole": _full(device, a),
            "last": _along(device, a, 1),
            "first": _along(device, a, 0),
            "middle": _along(device, b, 1),
        }
        for layout, pairs in layouts.items():
            for name, (ours, theirs) in pairs:
                width = 1 if name in ("diopiAny", "diopiAll") else 8 if name == "diopiCumsum" else 4
                yield Case("reduction", name, f"{size} {layout}", ours, theirs, bytes=width * a.numel())
