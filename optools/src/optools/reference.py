"""Calls again: on the CPU in the same dtype and in float64, with rounded inputs, or on a device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from optools.tensors import Frozen, Tensor, host, tensors_of

WIDER = {
    torch.float32: torch.float64,
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.complex64: torch.complex128,
    torch.complex32: torch.complex128,
}


@dataclass(frozen=True)
class Results:
    """Results of a call: its tensors by name (`0`, `1` of a tuple), the written arguments by name, and outputs that
    share memory with an argument. Numbers that are returned count as tensors."""

    outputs: dict[str, Tensor]
    written: dict[str, Tensor]
    aliases: dict[str, bool]


class Impossible(Exception):
    """The call cannot be made; the text is what was raised."""


def widened(dtype: Any) -> Any:
    """The dtype of exact results."""
    return WIDER.get(dtype, dtype)


def named_outputs(out: Any) -> dict[str, Any]:
    """The tensors and numbers that a call returned, by index, with the index in a list."""
    found: dict[str, Any] = {}

    def visit(name: str, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                visit(f"{name}[{index}]" if name else str(index), item)
        elif isinstance(value, (torch.Tensor, bool, int, float, complex)):
            found[name or "0"] = value

    visit("", out)
    return found


def as_tensor(value: Any) -> Tensor:
    """A tensor or a number as a tensor of the CPU."""
    return host(value) if isinstance(value, torch.Tensor) else torch.tensor(value, device="cpu")


def sharing(outputs: dict[str, Any], args: Any, kwargs: Any) -> dict[str, bool]:
    """By output: whether its memory is that of an argument."""
    storages = {tensor.untyped_storage()._cdata for tensor in tensors_of([args, kwargs]) if tensor.numel()}
    return {
        name: value.untyped_storage()._cdata in storages
        for name, value in outputs.items()
        if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.numel()
    }


def collected(facts: Any, out: Any, args: Any, kwargs: Any) -> Results:
    """The results of a call that was made with these arguments. Outputs that are written arguments count as these."""
    outputs = named_outputs(out)
    written: dict[str, Any] = {}
    for name in facts.written:
        index = facts.arguments.index(name) if name in facts.arguments else len(args)
        value = kwargs.get(name, args[index] if index < len(args) else None)
        for number, tensor in enumerate(tensors_of(value)):
            written[name if isinstance(value, torch.Tensor) else f"{name}[{number}]"] = tensor
    own = {id(tensor) for tensor in written.values()}
    aliases = sharing(outputs, args, kwargs)
    retained = {
        name: as_tensor(value)
        for name, value in outputs.items()
        if id(value) not in own and not (isinstance(value, torch.Tensor) and value.layout != torch.strided)
    }
    return Results(retained, {name: host(value) for name, value in written.items()}, aliases)


def run(
    func: Any,
    facts: Any,
    frozen: Frozen,
    device: str | None = "cpu",
    convert: Callable[[Any], Any] | None = None,
    change: Callable[[Tensor], Tensor] | None = None,
) -> Results:
    """Calls again with copies of the operands. Raises `Impossible`."""
    try:
        args, kwargs = frozen.thaw(device, convert, change)
        with fewer_warnings():
            out = func(*args, **kwargs)
    except Exception as reason:
        text = str(reason).strip().splitlines() or [type(reason).__name__]
        raise Impossible(text[0]) from None
    return collected(facts, out, args, kwargs)


@contextlib.contextmanager
def fewer_warnings() -> Any:
    """Without the warnings of what a tool calls itself."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rounded_once_more() -> Callable[[Tensor], Tensor]:
    """Changes flat inputs by half a unit in the last place, up and down in a fixed irregular order."""

    def change(flat: Tensor) -> Tensor:
        if not (flat.dtype.is_floating_point or flat.dtype.is_complex):
            return flat
        eps = torch.finfo(flat.dtype).eps
        order = torch.arange(flat.numel(), device="cpu")
        signs = ((order * 2654435761) >> 7) % 2 * 2 - 1
        return flat.to(widened(flat.dtype)) * (1 + 0.5 * eps * signs)

    return change
