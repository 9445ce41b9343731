"""Calls of functions that ATen has no operator for, in networks that run on the meta device: each is noted by the
function of the interface, with the values that matter to it, and gives a tensor of the shape that it has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from diopigen.conformance.cases.aten_calls import Seen
from diopigen.ir.recipe import Drawn, Literal, drawn_of
from diopigen.spec.expression import parse
from tracing import recorder

FEW = 16
"""Regions of a call that stay, of the model's hundreds; channels and map are cut as well."""
PAIRS = "the oracle cuts polygons pair by pair"


def of_many(regions: int, height: int, width: int) -> str:
    """Why a call has few regions, channels and places."""
    model = f"{regions} regions on 256 maps of {height}x{width} in the model"
    return f"{model}; the oracle has a weight of every place for every sample"


def note(function: str, /, why: str = "", **arguments: Any) -> None:
    """Notes a call. Functions of mmcv go by the name that its Python has for them."""
    if recorder.current is None:
        return
    short = function.removesuffix("Mmcv").removesuffix("Inp")
    name = "_".join(part.lower() for part in re.findall(r"[A-Z][a-z0-9]*", short))
    recorder.current.call(
        function, f"{'mmcv' if function.endswith('Mmcv') else 'lmdeploy'}::{name}", arguments, (), why
    )


def filled(shape: tuple[int, ...] | list[int] | torch.Size, values: str | Literal, dtype: str = "float32") -> Seen:
    """A tensor whose values matter: drawn as in the recipes of the spec, or literal."""
    if not isinstance(values, str):
        return Seen(tuple(shape), dtype, values)
    drawn = drawn_of(parse(values))
    assert isinstance(drawn, Drawn), values
    return Seen(tuple(shape), dtype, drawn)


def zeros(x: Tensor | Seen) -> Seen:
    """Gradient that a caller passes to a call that adds to a sum."""
    return filled(x.shape, "zeros")


class _Noted(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forward: Any, backward: Any, *inputs: Tensor) -> Tensor:  # type: ignore[override]  # torch declares *args
        ctx.backward = backward
        ctx.save_for_backward(*inputs)
        found: Tensor = forward(*inputs)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]  # torch declares *args
        return (None, None, *ctx.backward(grad, *ctx.saved_tensors))


def differentiable(
    forward: Callable[..., Tensor], backward: Callable[..., tuple[Tensor | None, ...]], *inputs: Tensor
) -> Tensor:
    """The result of `forward(*inputs)`, whose gradients `backward(grad, *inputs)` gives; both note their calls."""
    found: Tensor = _Noted.apply(forward, backward, *inputs)
    return found
