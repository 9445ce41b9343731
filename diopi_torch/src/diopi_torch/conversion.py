"""Moves the parameters of modules between the device and others in place, as `module.to("cuda")` does.

PyTorch replaces a parameter by a new one where its list of devices that share the form of tensors lacks the new device,
and the list is fixed. Tied weights then come apart, and optimizers, hooks and others who hold a parameter keep the old
one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

_Function = Callable[[torch.Tensor], torch.Tensor]


class _InPlace:
    """A function from tensor to tensor that `Module._apply` calls: it also puts a parameter's result, and that of the
    parameter's gradient, which comes right after it, into the tensor itself."""

    def __init__(self, function: _Function, device_type: str) -> None:
        self.function = function
        self.device_type = device_type
        self.last: torch.nn.Parameter | None = None

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        result = self.function(tensor)
        if isinstance(tensor, torch.nn.Parameter):
            self.last = tensor
        elif self.last is None or tensor is not self.last.grad:
            return result  # buffers are replaced on every device
        if self._between_devices(tensor, result):
            with torch._C.DisableTorchFunctionSubclass():  # parameters without a shape yet move, too
                torch.ops.diopi.set_data(tensor, result)
        return result

    def _between_devices(self, tensor: torch.Tensor, result: torch.Tensor) -> bool:
        types = {tensor.device.type, result.device.type}
        return (
            len(types) == 2
            and self.device_type in types
            and "meta" not in types
            and tensor.layout == result.layout == torch.strided
            and type(result) in (torch.Tensor, torch.nn.Parameter)
        )


def install(device_type: str) -> None:
    """Lets `Module._apply`, which `to`, `cpu`, `to_empty` and the like call, move parameters in place."""
    apply = torch.nn.Module._apply

    @functools.wraps(apply)
    def _apply(self: torch.nn.Module, fn: Any, recurse: bool = True) -> Any:
        future = torch.__future__
        if (
            not isinstance(fn, _InPlace)
            and not future.get_overwrite_module_params_on_conversion()
            and not future.get_swap_module_params_on_conversion()
        ):
            fn = _InPlace(fn, device_type)
        return apply(self, fn, recurse)

    torch.nn.Module._apply = _apply  # the one place where all conversions pass
