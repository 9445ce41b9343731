"""Losses on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from kernel_agreement import both, uniform
from torch.nn import functional as F

FLOATING = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
REDUCTIONS = ["none", "mean", "sum"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("function", [F.mse_loss, F.smooth_l1_loss, F.huber_loss])
def test_distances_and_their_gradients(
    droplet: torch.device, function: Callable[..., Any], dtype: torch.dtype, reduction: str
) -> None:
    target = uniform(3, 4, dtype=dtype, seed=1, gradient=False) * 3
    both(droplet, lambda x, y: function(x, y, reduction=reduction), uniform(3, 4, dtype=dtype), target)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_cross_entropy_and_its_gradient(droplet: torch.device, reduction: str) -> None:
    def run(x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy(x.sigmoid(), target, weight, reduction=reduction)

    both(droplet, run, uniform(3, 4), uniform(3, 4, seed=1, gradient=False).abs(), uniform(4, seed=2, gradient=False))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(6,), (2, 3, 3)])
def test_cross_entropy_and_its_gradient(droplet: torch.device, reduction: str, shape: tuple[int, ...]) -> None:
    target = torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(0))
    target[0] = -100
    weight = uniform(5, gradient=False).abs()

    def run(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(x, y, w, reduction=reduction)

    both(droplet, run, uniform(shape[0], 5, *shape[1:]), target, weight)


@pytest.mark.parametrize("zero_infinity", [True, False])
def test_ctc_loss_and_its_gradient(droplet: torch.device, zero_infinity: bool) -> None:
    targets = torch.tensor([[1, 2, 2], [3, 1, 0]])

    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.ctc_loss(x.log_softmax(2), y, (6, 5), (3, 2), zero_infinity=zero_infinity)

    both(droplet, run, uniform(6, 2, 4), targets)


def test_ctc_loss_of_targets_that_contain_the_blank(droplet: torch.device) -> None:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.ctc_loss(x.log_softmax(2), y, (6, 5), (3, 2))

    both(droplet, run, uniform(6, 2, 4), torch.tensor([[1, 0, 2], [0, 1, 3]]), native=False)


def test_targets_broadcast(droplet: torch.device) -> None:
    both(droplet, lambda x, y: torch.ops.aten.mse_loss(x, y), uniform(3, 4), uniform(4, seed=1, gradient=False))


def test_bad_input_is_refused(droplet: torch.device) -> None:
    with pytest.raises(RuntimeError, match="size mismatch"):
        F.nll_loss(torch.zeros(2, 3, 4, 4, device=droplet), torch.zeros(2, 4, 5, dtype=torch.int64, device=droplet))
    with pytest.raises(RuntimeError, match="log_probs tensor must not be empty"):
        F.ctc_loss(
            torch.zeros(0, 1, 4, device=droplet), torch.ones(1, 1, dtype=torch.int64, device=droplet), (0,), (1,)
        )
    with pytest.raises(RuntimeError, match="delta"):
        F.huber_loss(torch.zeros(2, device=droplet), torch.zeros(2, device=droplet), delta=0.0)
