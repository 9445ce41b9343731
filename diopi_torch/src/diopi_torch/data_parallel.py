"""Functions that `torch.nn.DataParallel` calls, which PyTorch has in C++ in its builds for CUDA only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .indices import device_name


def _to(tensor: torch.Tensor, index: int) -> torch.Tensor:
    return tensor.to("cpu" if index < 0 else torch.device(device_name(), index), non_blocking=True)


def _scatter(tensor: torch.Tensor, devices: Any, chunk_sizes: Any, dim: int, _: Any = None) -> tuple[torch.Tensor, ...]:
    chunks = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(_to(chunk, index) for chunk, index in zip(chunks, devices, strict=False))


def _gather(tensors: Any, dim: int, index: int | None) -> torch.Tensor:
    return torch.cat([_to(tensor, tensors[0].device.index if index is None else index) for tensor in tensors], dim)


def _broadcast(tensor: torch.Tensor, devices: Any) -> tuple[torch.Tensor, ...]:
    return tuple(_to(tensor, index) for index in devices)


def _broadcast_coalesced(tensors: Any, devices: Any, _: int) -> list[list[torch.Tensor]]:
    return [[_to(one, index) for one in tensors] for index in devices]


def _selected(own: Callable[..., Any], cuda: Callable[..., Any] | None) -> Callable[..., Any]:
    """PyTorch's own function where there are devices of CUDA, but for tensors of this device."""
    if cuda is None:
        return own

    @functools.wraps(cuda)
    def call(tensors: Any, *arguments: Any) -> Any:
        first = tensors if isinstance(tensors, torch.Tensor) else tensors[0]
        is_cuda = first.device.type != device_name() and torch._C._cuda_getDeviceCount() > 0
        return (cuda if is_cuda else own)(tensors, *arguments)

    return call


def install() -> None:
    """Puts the functions where PyTorch looks for them."""
    for function in (_scatter, _gather, _broadcast, _broadcast_coalesced):
        name = function.__name__
        setattr(torch._C, name, _selected(function, getattr(torch._C, name, None)))
