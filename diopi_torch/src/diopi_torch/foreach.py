"""Operators over lists, such as `_foreach_add`, as operators of their tensors: fusion makes one launch of these."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

_NAMES = ("add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "maximum", "minimum", "clamp_min", "clamp_max",
          "pow", "sqrt", "rsqrt", "reciprocal", "neg", "exp", "log", "sign")  # fmt: skip
_BY_KEYWORD = {"addcmul": {"value": "value", "scalars": "value"}, "addcdiv": {"value": "value", "scalars": "value"}}
_SCALAR = {"maximum": "clamp_min", "minimum": "clamp_max"}
_LISTS = ("List[Tensor]", "List[number]")


def decompositions() -> dict[Any, Callable[..., Any]]:
    """For each overload that returns new tensors what it consists of."""
    found: dict[Any, Callable[..., Any]] = {}
    for name in _NAMES:
        packet = getattr(torch.ops.aten, f"_foreach_{name}", None)
        for word in packet.overloads() if packet is not None else ():
            overload = getattr(packet, word)
            types = [str(argument.type) for argument in overload._schema.arguments]
            if not overload._schema.is_mutable and not (name in _BY_KEYWORD and word == "Tensor") and types:
                found[overload] = functools.partial(_each, name, overload._schema)
    return found


def _each(name: str, schema: Any, *args: Any, **kwargs: Any) -> list[torch.Tensor]:
    """The operator for each of the tensors."""
    with_number = "Scalar" in schema.overload_name
    call = getattr(torch, _SCALAR.get(name, name) if with_number else name)
    words = _BY_KEYWORD.get(name, {})
    results = []
    for k in range(len(next(one for one in args if isinstance(one, (list, tuple))))):
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for position, argument in enumerate(schema.arguments):
            if position >= len(args) and argument.name not in kwargs:
                continue
            value = args[position] if position < len(args) else kwargs[argument.name]
            own = value[k] if str(argument.type) in _LISTS else value
            if argument.kwarg_only or argument.name in words:
                named[words.get(argument.name, argument.name)] = own
            else:
                positional.append(own)
        results.append(call(*positional, **named))
    return results
