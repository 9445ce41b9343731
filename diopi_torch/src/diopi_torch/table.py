"""Functions of the interface by the overloads of ATen that they serve, from the generated library."""

from __future__ import annotations

import ctypes
import functools
import json
import os
from dataclasses import dataclass
from typing import Any

import torch

from ._backend import library_folder


@dataclass(frozen=True)
class Binding:
    """A function that serves an overload. `number` is the argument that must be a number for it; the operands of an
    iterator are converted to the dtype that they promote to."""

    function: str
    number: str
    is_iterator: bool
    parameters: tuple[Any, ...]


@functools.cache
def bindings() -> dict[str, list[Binding]]:
    """The bindings by overload, in the order in which they are tried."""
    found: dict[str, list[Binding]] = {}
    for line in torch.ops.diopi.compiled_bindings().split("\n"):
        if line:
            overload, function, number, kind, parameters = json.loads(line)
            found.setdefault(overload, []).append(Binding(function, number, kind == "iterator", tuple(parameters)))
    return found


@functools.cache
def has_function(name: str) -> bool:
    """Returns whether the vendor's library has a function, or one behind it."""
    return bool(torch.ops.diopi.has_function(name))


@functools.cache
def _vendor() -> ctypes.CDLL | None:
    """The vendor's library, in the place where the dispatch library looks for it."""
    path = os.environ.get("DIOPI_VENDOR_LIBRARY") or str(library_folder() / "libdiopi_impl.so")
    try:
        return ctypes.CDLL(path)
    except OSError:
        return None


@functools.cache
def has_own_function(name: str) -> bool:
    """Returns whether the vendor's library has a function itself: one behind it computes through host memory."""
    vendor = _vendor()
    return has_function(name) and (vendor is None or hasattr(vendor, name))


@functools.cache
def layouts() -> dict[str, dict[tuple[str | int, int], str]]:
    """The layouts that the vendor's functions demand, `channels_last` or `row_major`: of each function by parameter,
    which goes by its name and by its position, and number of dimensions. Shims convert what comes otherwise."""
    text = getattr(_vendor(), "diopigenShimLayouts", None)
    if text is None:
        return {}
    text.restype = ctypes.c_char_p
    found: dict[str, dict[tuple[str | int, int], str]] = {}
    for line in filter(None, text().decode().splitlines()):
        function, layout, ranks, *tensors = line.split()
        own = found.setdefault(function, {})
        for rank in map(int, ranks.split(",")):
            for position, _, name in (tensor.partition(":") for tensor in tensors):
                own[name, rank] = own[int(position), rank] = layout
    return found


def dtype_name(dtype: torch.dtype) -> str:
    """`float32`."""
    return str(dtype).removeprefix("torch.")
