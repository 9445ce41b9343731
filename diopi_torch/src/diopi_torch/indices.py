"""Names and indices of devices, as all parts of the module read them."""

from __future__ import annotations

from typing import Any

import torch


def device_name() -> str:
    """The device's name in PyTorch."""
    return str(torch._C._get_privateuse1_backend_name())


def device_index(device: Any) -> int:
    """The index of a device that is named, numbered or None, which is the current one. Raises `ValueError` for a device
    of another kind."""
    current = int(torch.accelerator.current_device_index())
    if device is None:
        return current
    if isinstance(device, int):
        return current if device < 0 else device
    parsed = torch.device(device)
    if parsed.type != device_name():
        raise ValueError(f"Expected a {device_name()} device, but got: {parsed}")
    return current if parsed.index is None else int(parsed.index)
