"""A function on the device against the same function on the CPU: values, dtypes, shapes and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10, torch.float16: 4e-3, torch.bfloat16: 3e-2}

# What autograd and compositions call besides; whether those are native is for the tests of their families.
OF_OTHER_FAMILIES = {"abs.out", "fill_.Scalar", "isneginf.out", "where.self", "where.self_out", "zero_"}


def moved(value: Any, device: torch.device) -> Any:
    """A copy on the device, of tensors, and of tensors in lists; it requires a gradient where the original does."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, device) for item in value)
    return value


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors among results."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in tensors(item)] if isinstance(value, (list, tuple)) else []


def agree(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Raises where dtype, shape or values differ; half precision has the tolerance of its last bits."""
    tolerance = _TOLERANCES.get(expected.dtype, 0.0)
    torch.testing.assert_close(found.cpu(), expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def both(device: torch.device, function: Callable[..., Any], *arguments: Any, native: bool = True) -> None:
    """Runs the function on both, forward and, where an argument requires a gradient, backward.

    With `native`, nothing may run on the CPU on behalf of the device.
    """
    from torch_droplet import fallback_report, reset_fallback_report

    here, there = moved(list(arguments), torch.device("cpu")), moved(list(arguments), device)
    reset_fallback_report()
    expected, found = tensors(function(*here)), tensors(function(*there))
    assert len(expected) == len(found) > 0
    for one, other in zip(found, expected, strict=True):
        assert one.device.type == device.type
        agree(one.detach(), other.detach())
    leaves = [tensor for tensor in tensors(here) if tensor.requires_grad]
    roots = [index for index, tensor in enumerate(expected) if tensor.requires_grad]
    if leaves and roots:
        given = [torch.linspace(-1, 1, expected[i].numel()).reshape(expected[i].shape) for i in roots]
        gradients = [
            torch.autograd.grad(
                [results[i] for i in roots],
                [tensor for tensor in tensors(inputs) if tensor.requires_grad],
                [value.to(results[i].device, results[i].dtype) for i, value in zip(roots, given, strict=True)],
            )
            for results, inputs in ((expected, here), (found, there))
        ]
        for one, other in zip(gradients[1], gradients[0], strict=True):
            agree(one, other)
    assert not native or not set(fallback_report()) - OF_OTHER_FAMILIES


def uniform(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0, gradient: bool = True) -> torch.Tensor:
    """Values between -1 and 1."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator) * 2 - 1).to(dtype).requires_grad_(gradient)
