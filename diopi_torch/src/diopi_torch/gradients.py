"""Gradients of operators of the namespace `diopi` that no function of the interface computes as such."""

from __future__ import annotations

from typing import Any

import torch

_Gradients = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None, None, None]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, cos, sin, ctx.conj, ctx.interleaved = inputs
    has_angles = ctx.needs_input_grad[1] or ctx.needs_input_grad[2]
    ctx.save_for_backward(x if has_angles else None, cos, sin)


def _rotate_back(ctx: Any, grad: torch.Tensor) -> _Gradients:
    """The gradient of a rotation is the rotation by the negative angle."""
    x, cos, sin = ctx.saved_tensors
    of_x = of_cos = of_sin = None
    if ctx.needs_input_grad[0]:
        of_x = torch.ops.diopi.rotary_embedding(grad, cos, sin, not ctx.conj, ctx.interleaved)
    if x is not None:
        first, second = _pairs(x, ctx.interleaved)
        along, across = _pairs(grad, ctx.interleaved)
        of_cos = (along * first + across * second).sum_to_size(cos.shape)
        of_sin = (across * first - along * second).sum_to_size(sin.shape)
        of_sin = -of_sin if ctx.conj else of_sin
    return of_x, of_cos, of_sin, None, None


def _pairs(heads: torch.Tensor, interleaved: bool) -> tuple[torch.Tensor, torch.Tensor]:
    if interleaved:
        return heads[..., 0::2], heads[..., 1::2]
    first, second = heads.chunk(2, -1)
    return first, second


def install() -> None:
    """Called once, when the library is loaded."""
    torch.library.register_autograd("diopi::rotary_embedding", _rotate_back, setup_context=_keep)
