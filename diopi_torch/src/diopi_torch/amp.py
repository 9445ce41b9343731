"""Mixed precision, as `torch.cuda.amp`, whose names `torch.amp` has for every device."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .indices import device_name

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(torch.amp.autocast):
    """`torch.autocast` of this device."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True) -> None:
        super().__init__(device_name(), enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler` of this device."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(device_name(), *arguments, **options)


def custom_fwd(fwd: Any = None, **options: Any) -> Any:
    """`torch.amp.custom_fwd` of this device."""
    options["device_type"] = device_name()
    return functools.partial(torch.amp.custom_fwd, **options) if fwd is None else torch.amp.custom_fwd(fwd, **options)


def custom_bwd(bwd: Any = None) -> Any:
    """`torch.amp.custom_bwd` of this device."""
    if bwd is None:
        return functools.partial(torch.amp.custom_bwd, device_type=device_name())
    return torch.amp.custom_bwd(bwd, device_type=device_name())
