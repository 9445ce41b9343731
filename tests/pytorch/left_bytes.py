"""Bytes that tensors hold on devices, and those of them that PyTorch itself does not free."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable

import torch

left_by_pytorch: Counter[int] = Counter()
"""By device."""


def bytes_left() -> dict[int, int]:
    """Bytes that tensors hold, by device."""
    gc.collect()
    module = torch.get_device_module("droplet")
    return {index: module.memory_allocated(index) for index in range(module.device_count())}


def leaves_tensors(on_cpu: Callable[[], object], on_device: Callable[[], object]) -> None:
    """Makes both calls. What the second leaves on a device is PyTorch's doing if the first leaves tensors as well, as a
    backward pass does that stops where a saved tensor was written: its graph is not freed."""
    before = _tensors()
    on_cpu()
    leaves = _tensors() > before
    had = bytes_left()
    on_device()
    if leaves:
        left_by_pytorch.update({index: held - had[index] for index, held in bytes_left().items()})


def _tensors() -> int:
    gc.collect()
    return sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects())
