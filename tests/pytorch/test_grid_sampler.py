"""Interpolation at positions of a grid, systems by LU factors, products of reflections, numbers instead of NaN and
whole ranges against the CPU; none of them runs there."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from kernel_agreement import both, uniform
from torch.nn import functional as F

BORDERS = ["zeros", "border", "reflection"]


def _grid(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Positions in the image and around it, up to twice its size."""
    return (uniform(*shape, seed=3, gradient=False, dtype=torch.float64) * 2).to(dtype).requires_grad_()


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding_mode", BORDERS)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images(droplet: torch.device, mode: str, padding_mode: str, align_corners: bool) -> None:
    def sample(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)

    for dtype in (torch.float32, torch.float64):
        both(droplet, sample, uniform(2, 3, 5, 6, dtype=dtype), _grid(2, 4, 7, 2, dtype=dtype))
    both(droplet, sample, uniform(2, 3, 1, 4), _grid(2, 3, 3, 2))
    both(droplet, sample, uniform(0, 3, 5, 6), _grid(0, 4, 7, 2))
    both(droplet, sample, uniform(2, 3, 5, 6), _grid(2, 0, 7, 2))


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding_mode", BORDERS)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_volumes(droplet: torch.device, mode: str, padding_mode: str, align_corners: bool) -> None:
    def sample(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)

    both(droplet, sample, uniform(2, 3, 4, 5, 6, dtype=torch.float64), _grid(2, 3, 2, 4, 3, dtype=torch.float64))


def test_interleaved_images(droplet: torch.device) -> None:
    x = uniform(2, 3, 5, 6).detach().to(memory_format=torch.channels_last).requires_grad_()
    both(droplet, lambda x, grid: F.grid_sample(x, grid.transpose(1, 2), align_corners=True), x, _grid(2, 4, 7, 2))


def test_elements_outside_count_nothing(droplet: torch.device) -> None:
    """Not even where the first and the last one are not finite."""
    x = torch.full((1, 1, 3, 3), math.inf)
    x[0, 0, 1, 1] = 1.0
    grid = torch.tensor([[[[9.0, 9.0], [-9.0, -9.0]]]])
    for mode in ("bilinear", "nearest"):
        found = F.grid_sample(x.to(droplet), grid.to(droplet), mode=mode, align_corners=True)
        assert found.cpu().tolist() == [[[[0.0, 0.0]]]]


def test_half_precision(droplet: torch.device) -> None:
    """Computed in float32 and rounded once: as near as the dtype."""
    x, grid = uniform(2, 3, 5, 6, gradient=False), _grid(2, 4, 7, 2).detach()
    for dtype in (torch.float16, torch.bfloat16):
        narrow = F.grid_sample(x.to(droplet, dtype), grid.to(droplet, dtype), padding_mode="border", align_corners=True)
        expected = F.grid_sample(x.to(dtype).float(), grid.to(dtype).float(), padding_mode="border", align_corners=True)
        torch.testing.assert_close(narrow.cpu(), expected.to(dtype))


def test_wrong_arguments_raise_as_on_the_cpu(droplet: torch.device) -> None:
    for shape, grid in (((2, 3, 4, 4), (1, 2, 2, 2)), ((1, 3, 4, 4), (1, 2, 2, 3)), ((1, 3, 0, 4), (1, 2, 2, 2))):
        messages = []
        for device in (torch.device("cpu"), droplet):
            with pytest.raises(RuntimeError) as error:
                F.grid_sample(torch.ones(shape, device=device), torch.ones(grid, device=device), align_corners=True)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("adjoint", [True, False])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_systems_by_lu_factors(droplet: torch.device, batch: tuple[int, ...], left: bool, adjoint: bool) -> None:
    """Rows in an order of their own in each matrix of a batch, and a right side that all of them share."""
    matrices = uniform(*batch, 5, 5, dtype=torch.float64, gradient=False)
    factors, pivots = torch.linalg.lu_factor(matrices)
    assert (pivots != torch.arange(1, 6)).any(-1).all()
    right = uniform(*((5, 2) if left else (2, 5)), dtype=torch.float64, gradient=False)
    both(
        droplet, lambda *operands: torch.linalg.lu_solve(*operands, left=left, adjoint=adjoint), factors, pivots, right
    )


@pytest.mark.parametrize("shape", [(5, 5, 5), (5, 3, 3), (5, 4, 2), (4, 4, 0)])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_products_of_reflections(droplet: torch.device, batch: tuple[int, ...], shape: tuple[int, int, int]) -> None:
    rows, columns, count = shape
    vectors = uniform(*batch, rows, columns, dtype=torch.float64, gradient=False)
    factors = uniform(*batch, count, seed=4, dtype=torch.float64, gradient=False)
    factors[..., :1] = 0  # a reflection that changes nothing
    both(droplet, torch.linalg.householder_product, vectors, factors)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.bool]
)
def test_numbers_instead_of_nan(droplet: torch.device, dtype: torch.dtype) -> None:
    numbers = torch.tensor([math.nan, math.inf, -math.inf, 2.0, 0.0] if dtype.is_floating_point else [1, 0]).to(dtype)
    both(droplet, torch.nan_to_num, numbers)
    both(droplet, lambda x: torch.nan_to_num(x, 1.5, 2.5, -1e30), numbers)
    both(droplet, lambda x: x.nan_to_num_(nan=math.inf, posinf=math.nan), numbers)
    if dtype.is_floating_point:
        both(droplet, torch.nan_to_num, numbers.requires_grad_())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize("numbers", [(0.5, 5.0, 1.0), (1, 7.9, 2.6), (3.7, 3.7, 1), (0, 4, 1.0)])
def test_whole_ranges_of_other_numbers(droplet: torch.device, dtype: torch.dtype, numbers: Any) -> None:
    both(droplet, lambda x: torch.arange(*numbers, dtype=dtype, device=x.device), torch.zeros(1))


def test_ranges_from_large_numbers(droplet: torch.device) -> None:
    both(droplet, lambda x: torch.arange(2**62 + 1, 2**62 + 6, 2, device=x.device), torch.zeros(1))
