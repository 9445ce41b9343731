"""Which functions of the interface serve which overloads of ATen, as the library was generated."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import torch


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
    """Whether the vendor's library has a function, or one behind it."""
    return bool(torch.ops.diopi.has_function(name))


def dtype_name(dtype: torch.dtype) -> str:
    """`float32`."""
    return str(dtype).removeprefix("torch.")
