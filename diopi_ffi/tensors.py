"""Common interface of arrays of several libraries: shape, dtype by name, and new arrays of the same kind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Allocate = Callable[[Sequence[int], str], Any]


def is_tensor(value: Any) -> bool:
    """Returns whether it is an array of any library that speaks DLPack."""
    return hasattr(value, "__dlpack__") and hasattr(value, "shape")


def described(tensor: Any) -> tuple[tuple[int, ...], str]:
    """Shape and dtype of a tensor."""
    if isinstance(tensor, np.ndarray):
        return tensor.shape, tensor.dtype.name
    return tuple(int(size) for size in tensor.shape), str(tensor.dtype).removeprefix("torch.")


def allocator(like: Any, empty: Allocate) -> Allocate:
    """Allocator of arrays of the kind of a tensor; `empty` for an unknown library."""
    if isinstance(like, np.ndarray):
        return lambda shape, dtype: np.empty(shape, dtype)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return lambda shape, dtype: torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=like.device)
    return empty


def as_kind(like: Any, result: Any) -> Any:
    """A result of tvm-ffi as an array of the kind of a tensor, over the same memory; numbers and None as they are."""
    if is_tensor(result):
        torch = sys.modules.get("torch")
        if isinstance(like, np.ndarray) and result.dtype != "bfloat16":
            return np.from_dlpack(result)
        return torch.from_dlpack(result) if torch is not None and isinstance(like, torch.Tensor) else result
    if hasattr(result, "__len__") and not isinstance(result, str):
        return [as_kind(like, one) for one in result]
    return result


def wait_for(tensor: Any) -> None:
    """Waits until the tensor's own library has computed it: an operator runs on a stream of its own."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor) and tensor.is_cuda:
        torch.cuda.current_stream(tensor.device).synchronize()
