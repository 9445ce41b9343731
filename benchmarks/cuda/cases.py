"""The calls that are measured: ours and PyTorch's on the same tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.cpu.device import Device
from benchmarks.cuda.attention import attention
from benchmarks.cuda.case import MEMORY_FLOOR, Case
from benchmarks.cuda.layouts import layouts
from benchmarks.cuda.normalised import normalised_cases

PRODUCT_FLOOR = 0.95


def cases(device: Device, torch_device: str, count: int) -> Iterator[Case]:
    """All cases with about `count` elements each, on a device of PyTorch."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        yield from elementwise(device, torch_device, count, dtype)
        yield from rows(device, torch_device, count, dtype)
        for group, name, out, provided, theirs, moved in normalised_cases(torch_device, count, dtype):
            yield _case(device, group, name, dtype, out, provided, theirs, moved)
        yield from layouts(device, torch_device, count, dtype)
        yield from products(device, torch_device, count, dtype)
    yield from attention(device, torch_device, count)


def _case(
    device: Device, group: str, name: str, dtype: torch.dtype, out: torch.Tensor, provided: tuple[Any, ...],
    theirs: Callable[[], torch.Tensor], moved: int = 0, floor: float = MEMORY_FLOOR,
) -> Case:  # fmt: skip
    label = f"{name} {str(dtype).removeprefix('torch.')}"
    return Case(group, label, device.call(name, *provided), theirs, out, moved * out.element_size(), floor)


def elementwise(device: Device, torch_device: str, count: int, dtype: torch.dtype) -> Iterator[Case]:
    """Functions of one and of two operands, contiguous and with a bias that is broadcast."""
    a, b = (torch.rand(count, device=torch_device).add(0.1).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    for name, function in (
        ("diopiRelu", torch.relu), ("diopiSigmoid", torch.sigmoid), ("diopiTanh", torch.tanh), ("diopiExp", torch.exp),
        ("diopiLog", torch.log), ("diopiSqrt", torch.sqrt), ("diopiSilu", torch.nn.functional.silu),
        ("diopiNeg", torch.neg),
    ):  # fmt: skip
        yield _case(device, "elementwise", name, dtype, out, (out, a), partial(function, a), 2 * count)
    yield _case(device, "elementwise", "diopiAdd", dtype, out, (out, a, b, 1), partial(torch.add, a, b), 3 * count)
    yield _case(device, "elementwise", "diopiMul", dtype, out, (out, a, b), partial(torch.mul, a, b), 3 * count)
    matrix, bias = a.view(-1, 1024), b[:1024]
    sums = torch.empty_like(matrix)
    theirs = partial(torch.add, matrix, bias)
    yield _case(device, "elementwise", "diopiAdd", dtype, sums, (sums, matrix, bias, 1), theirs, 2 * count)


def rows(device: Device, torch_device: str, count: int, dtype: torch.dtype) -> Iterator[Case]:
    """Reductions, softmax and norms over rows of 1024."""
    a = torch.randn(count // 1024, 1024, device=torch_device).to(dtype)
    weight, bias = torch.rand(1024, device=torch_device).to(dtype), torch.rand(1024, device=torch_device).to(dtype)
    narrow = torch.empty(a.shape[0], device=torch_device, dtype=dtype)
    for name, function in (("diopiSum", torch.sum), ("diopiMean", torch.mean)):
        yield _case(device, "reduction", name, dtype, narrow, (narrow, a, (1,)), partial(function, a, 1), count)
    out = torch.empty_like(a)
    theirs = partial(torch.softmax, a, 1)
    yield _case(device, "softmax", "diopiSoftmax", dtype, out, (out, a, 1), theirs, 2 * count)
    mean, deviation = (torch.empty(a.shape[0], 1, device=torch_device) for _ in range(2))
    normed = torch.empty_like(a)
    provided = (normed, mean, deviation, a, weight, bias, (1024,), 1e-5)
    layer_norm = partial(torch.nn.functional.layer_norm, a, (1024,), weight, bias, 1e-5)
    yield _case(device, "norm", "diopiLayerNorm", dtype, normed, provided, layer_norm, 2 * count)


def products(device: Device, torch_device: str, count: int, dtype: torch.dtype) -> Iterator[Case]:
    """A product of square matrices and a convolution of ResNet-50."""
    side = max(32, int(count**0.5) // 32 * 32)
    a, b = (torch.randn(side, side, device=torch_device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    floor = PRODUCT_FLOOR
    yield _case(device, "product", "diopiMm", dtype, out, (out, a, b), partial(torch.mm, a, b), floor=floor)
    batch = max(1, count // (64 * 56 * 56))
    x, weight = (
        torch.randn(batch, 64, 56, 56, device=torch_device).to(dtype),
        torch.randn(64, 64, 3, 3, device=torch_device).to(dtype),
    )
    image = torch.empty_like(x)
    provided = (image, x, weight, None, (1, 1), (1, 1), (1, 1), 1)
    theirs = partial(torch.nn.functional.conv2d, x, weight, None, 1, 1)
    yield _case(device, "product", "diopiConvolution2d", dtype, image, provided, theirs, floor=floor)
