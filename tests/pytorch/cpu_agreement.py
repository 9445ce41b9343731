"""Calls of operators on the device and on the CPU, which must agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (1.6e-2, 1e-2)}


def numbers(*shape: int, dtype: Any = None, low: float = -3.0, high: float = 3.0) -> Any:
    """Numbers that are spread evenly and do not depend on a seed."""
    count = 1
    for size in shape:
        count *= size
    values = low + (high - low) * ((torch.arange(count, dtype=torch.float64) * 0.6180339887) % 1.0)
    return values.reshape(shape).to(dtype or torch.float32)


def to_device(value: Any, device: Any) -> Any:
    """The same value with its tensors on the device; lists and tuples are entered."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, list | tuple):
        return type(value)(to_device(item, device) for item in value)
    return value


def _compare(expected: Any, actual: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert actual.device.type == "droplet"
        assert actual.dtype == expected.dtype
        relative, absolute = TOLERANCES.get(expected.dtype, (1.3e-5, 1e-5))
        torch.testing.assert_close(actual.cpu(), expected, rtol=relative, atol=absolute, equal_nan=True)
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected)
        for one, other in zip(expected, actual, strict=True):
            _compare(one, other)
    else:
        assert actual == expected


def assert_agrees(device: Any, function: Callable[..., Any], *arguments: Any) -> None:
    """The call gives the same on the device as on the CPU, and no operator of it falls back to the CPU."""
    import torch_droplet

    expected = function(*arguments)
    given = to_device(list(arguments), device)
    torch_droplet.reset_fallback_report()
    actual = function(*given)
    report = torch_droplet.fallback_report()
    _compare(expected, actual)
    assert report == {}


def assert_refused(device: Any, function: Callable[..., Any], *arguments: Any) -> None:
    """The call is an error on both."""
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        function(*arguments)
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        function(*to_device(list(arguments), device))
