"""Calls whose speed hangs on how memory is walked: reductions of every direction, transposes, casts, rows by number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from benchmarks.cpu.device import Device
from benchmarks.cuda.case import Case


def layouts(device: Device, torch_device: str, count: int, dtype: torch.dtype) -> Iterator[Case]:
    """Square matrices of about `count` elements; bytes are what has to be read and written at least."""
    side = int(count**0.5) // 64 * 64
    a, b = (torch.randn(side, side, device=torch_device).to(dtype) for _ in range(2))
    out, line = torch.empty_like(a), torch.empty(side, device=torch_device, dtype=dtype)
    size, label = a.element_size(), str(dtype).removeprefix("torch.")
    matrix = a.numel() * size

    def case(
        group: str, name: str, function: str, result: torch.Tensor, theirs: Callable[[], torch.Tensor], moved: int,
        *provided: object,
    ) -> Case:  # fmt: skip
        return Case(group, f"{name} {label}", device.call(function, result, *provided), theirs, result, moved)

    full = torch.empty((), device=torch_device, dtype=dtype)
    yield case("reduction", "Sum of all", "diopiSum", full, partial(torch.sum, a), matrix, a, (0, 1))
    yield case("reduction", "Sum over rows", "diopiSum", line, partial(torch.sum, a, 0), matrix, a, (0,))
    yield case("reduction", "Std", "diopiStd", line, partial(torch.std, a, 1), matrix, a, (1,), 1)
    indices = torch.empty(side, device=torch_device, dtype=torch.int64)
    largest = device.call("diopiMax", line, indices, a, 1)
    yield Case("reduction", f"Max {label}", largest, lambda: torch.max(a, 1).values, line, matrix)
    column = b[:, :1].contiguous()
    theirs = partial(torch.mul, a, column)
    yield case("elementwise", "Mul by a column", "diopiMul", out, theirs, 2 * matrix, a, column)
    theirs = partial(torch.add, a, b.t())
    yield case("elementwise", "Add transposed", "diopiAdd", out, theirs, 3 * matrix, a, b.t(), 1)
    theirs = partial(torch.clone, a.t(), memory_format=torch.contiguous_format)
    yield case("copy", "Transpose", "diopiTranspose", out, theirs, 2 * matrix, a, 0, 1)
    other = torch.float32 if dtype != torch.float32 else torch.float16
    cast = torch.empty(a.shape, device=torch_device, dtype=other)
    moved = matrix + cast.numel() * cast.element_size()
    yield case("copy", f"Cast to {str(other).removeprefix('torch.')}", "diopiCastDtype", cast, partial(a.to, other),
               moved, a)  # fmt: skip
    order = torch.randperm(side, device=torch_device)
    theirs = partial(torch.index_select, a, 0, order)
    yield case("copy", "IndexSelect", "diopiIndexSelect", out, theirs, 2 * matrix, a, 0, order)
