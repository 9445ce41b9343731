"""Negative log likelihood with indices of classes, as parts that fused kernels have: cross entropy becomes rows.

The log probability of a row's class is the sum over the row of what is left of it where the column is the class. A
class that does not exist gives NaN: the function, which is called in eager mode, reports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_NONE, _MEAN = 0, 1
"""Reductions of ATen; 2 is the sum."""
MOST_CLASSES = 1 << 17
"""Of more the numbers of the columns are no constant of a plan."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """For each overload what it consists of. Calls with weights of classes, in half precision or with very many classes
    stay as they are."""
    aten = torch.ops.aten
    return {aten.nll_loss_forward.default: _forward, aten.nll_loss_backward.default: _backward}


def _is_composed(scores: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None) -> bool:
    return (
        weight is None
        and scores.dtype in (torch.float32, torch.float64)
        and target.dtype == torch.int64
        and (scores.dim(), target.dim()) == (2, 1)
        and isinstance(scores.shape[1], int)
        and 1 < scores.shape[1] <= MOST_CLASSES
    )


def _forward(
    scores: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> Any:
    if not _is_composed(scores, target, weight):
        return NotImplemented
    classes = torch.arange(scores.shape[1], device=scores.device, dtype=torch.int32)
    target = target.unsqueeze(1)
    counts = target != ignore_index
    exists = (target >= 0) & (target < scores.shape[1])
    losses = -torch.where(classes == target, scores, 0).sum(1, keepdim=True)
    losses = torch.where(counts, torch.where(exists, losses, torch.nan), 0)
    if reduction == _NONE:
        return losses.squeeze(1), scores.new_zeros(())
    total = counts.sum((0, 1)).to(scores.dtype)
    loss = losses.sum((0, 1))
    return (loss / total if reduction == _MEAN else loss), total


def _backward(
    grad_output: torch.Tensor, scores: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int,
    ignore_index: int, total_weight: torch.Tensor,
) -> Any:  # fmt: skip
    if not _is_composed(scores, target, weight):
        return NotImplemented
    # Of another dtype than in the forward graph, which would otherwise save its own for this one.
    classes = torch.arange(scores.shape[1], device=scores.device, dtype=torch.int64)
    target = target.unsqueeze(1)
    gradient = torch.where(target != ignore_index, grad_output if reduction else grad_output.unsqueeze(1), 0)
    gradient = -(gradient / total_weight if reduction == _MEAN else gradient)
    return torch.where(classes == target, gradient, 0)
