"""Random operators that a compiled checkpoint computes twice: PyTorch saves the state of the generator, and restores it
for the second time, on the devices that it names itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch._C import DispatchKey

from . import random
from .indices import device_name


def _saved(operator: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return random.get_rng_state(), operator(*args, **kwargs)


def _restored(state: Any, operator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    current = random.get_rng_state()
    random.set_rng_state(state)
    try:
        return operator(*args, **kwargs)
    finally:
        random.set_rng_state(current)


def add_device(rng_prims: Any) -> None:
    """Adds the device to both operators of `torch._prims.rng_prims`."""
    ways: list[tuple[Any, Callable[..., Any], int]] = [
        (rng_prims.run_and_save_rng_state, _saved, 1),
        (rng_prims.run_with_rng_state, _restored, 2),
    ]
    for operator, own, first in ways:
        key = DispatchKey.BackendSelect
        operator.py_kernels[key] = functools.partial(_selected, operator.py_kernels[key], own, first)
        operator._dispatch_cache.clear()


def _selected(others: Callable[..., Any], own: Callable[..., Any], first: int, *args: Any, **kwargs: Any) -> Any:
    from torch._prims.rng_prims import get_device

    return (own if get_device(args[first:], kwargs) == device_name() else others)(*args, **kwargs)
