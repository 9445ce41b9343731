"""Normalisation and softmax on the device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from kernel_agreement import agree, both, uniform
from torch.nn import functional as F

FLOATING = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_and_its_gradients(droplet: torch.device, dtype: torch.dtype, training: bool) -> None:
    def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> list[torch.Tensor]:
        mean, variance = torch.zeros_like(weight).detach(), torch.ones_like(weight).detach()
        return [F.batch_norm(x, mean, variance, weight, bias, training, 0.25, 1e-3), mean, variance]

    wide = torch.float64 if dtype == torch.float64 else torch.float32
    both(droplet, run, uniform(4, 3, 5, dtype=dtype), uniform(3, dtype=wide, seed=1), uniform(3, dtype=wide, seed=2))


def test_batch_norm_keeps_channels_last(droplet: torch.device) -> None:
    def run(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        out = F.batch_norm(x.to(memory_format=torch.channels_last), None, None, weight, None, True)
        assert out.is_contiguous(memory_format=torch.channels_last)
        return out

    both(droplet, run, uniform(2, 3, 4, 4), uniform(3, seed=1))


def test_evaluation_returns_no_statistics_of_the_batch(droplet: torch.device) -> None:
    def run(x: torch.Tensor) -> list[torch.Tensor]:
        weight, bias, mean, variance = (torch.full((3,), 0.5 + i, device=x.device) for i in range(4))
        return list(torch.native_batch_norm(x, weight, bias, mean, variance, False, 0.1, 1e-5))

    both(droplet, run, uniform(2, 3, 4, gradient=False))


def test_batch_norm_over_parts_is_batch_norm_over_the_whole(droplet: torch.device) -> None:
    """Computation of torch.nn.SyncBatchNorm, with two devices in one process: torch has no CPU kernels for it."""
    x, weight, bias = uniform(6, 3, 4), uniform(3, seed=1), uniform(3, seed=2)
    gradient = uniform(6, 3, 4, seed=3, gradient=False)
    expected = F.batch_norm(x, None, None, weight, bias, True, 0.1, 1e-5)
    expected_gradients = torch.autograd.grad(expected, (x, weight, bias), gradient)
    parts = [x.detach().to(droplet)[:4], x.detach().to(droplet)[4:]]
    there = [weight.detach().to(droplet), bias.detach().to(droplet)]
    means, deviations = zip(*(torch.batch_norm_stats(part, 1e-5) for part in parts), strict=True)
    counts = torch.tensor([16.0, 8.0]).to(droplet)
    running = [torch.zeros(3).to(droplet), torch.ones(3).to(droplet)]
    mean, deviation = torch.batch_norm_gather_stats_with_counts(
        parts[0], torch.stack(means), torch.stack(deviations), running[0], running[1], 0.1, 1e-5, counts
    )
    out = torch.cat([torch.batch_norm_elemt(part, *there, mean, deviation, 1e-5) for part in parts])
    agree(out, expected.detach())
    agree(running[0], 0.1 * x.detach().mean((0, 2)))
    grad_output = [gradient.to(droplet)[:4], gradient.to(droplet)[4:]]
    sums = [
        torch.batch_norm_backward_reduce(g, part, mean, deviation, there[0], True, True, True)
        for g, part in zip(grad_output, parts, strict=True)
    ]
    dy, product, scale, shift = (sums[0][i] + sums[1][i] for i in range(4))
    count = torch.tensor([16, 8], dtype=torch.int32).to(droplet)
    back = [
        torch.batch_norm_backward_elemt(g, part, mean, deviation, there[0], dy, product, count)
        for g, part in zip(grad_output, parts, strict=True)
    ]
    for found, wanted in zip((torch.cat(back), scale, shift), expected_gradients, strict=True):
        agree(found, wanted)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_layer_norm_and_its_gradients(droplet: torch.device, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, shape, weight, bias)

    both(droplet, run, uniform(2, 3, 5, dtype=dtype), uniform(*shape, dtype=dtype), uniform(*shape, dtype=dtype))


def test_layer_norm_of_expanded_gradients(droplet: torch.device) -> None:
    both(droplet, lambda x: F.layer_norm(x, (5,)).sum(), uniform(2, 3, 5))


@pytest.mark.parametrize("dtype", FLOATING)
def test_group_norm_and_its_gradients(droplet: torch.device, dtype: torch.dtype) -> None:
    def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.group_norm(x, 2, weight, bias)

    both(droplet, run, uniform(2, 4, 3, 3, dtype=dtype), uniform(4, dtype=dtype), uniform(4, dtype=dtype, seed=1))


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("eps", [None, 1e-3])
def test_rms_norm_and_its_gradients(droplet: torch.device, dtype: torch.dtype, eps: float | None) -> None:
    both(droplet, lambda x, w: F.rms_norm(x, (8,), w, eps), uniform(3, 8, dtype=dtype), uniform(8, dtype=dtype, seed=1))


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
def test_softmax_and_its_gradient(
    droplet: torch.device, dtype: torch.dtype, function: Callable[..., torch.Tensor]
) -> None:
    for dim in (0, 1, -1):
        both(droplet, partial(function, dim=dim), uniform(3, 4, 5, dtype=dtype))


def test_softmax_into_float32(droplet: torch.device) -> None:
    both(droplet, lambda x: F.softmax(x, 1, dtype=torch.float32), uniform(3, 4, dtype=torch.float16))


def test_bad_input_is_refused(droplet: torch.device) -> None:
    with pytest.raises(RuntimeError, match="normalized_shape"):
        F.layer_norm(torch.zeros(2, 3, device=droplet), (4,))
    with pytest.raises(RuntimeError, match="running_mean and running_var"):
        torch.native_batch_norm(torch.zeros(2, 3, device=droplet), None, None, None, None, False, 0.1, 1e-5)
    with pytest.raises(RuntimeError, match="Expected weight to have type Double but got Float"):
        F.batch_norm(
            torch.zeros(2, 3, dtype=torch.float64, device=droplet),
            None,
            None,
            torch.ones(3, device=droplet),
            None,
            True,
        )
