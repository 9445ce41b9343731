"""Fused kernels of integers and float64: what they give is what eager mode gives, bit for bit."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import pytest
from fusion_checks import check

pytestmark = pytest.mark.usefixtures("fresh_compiler")


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_integers_wrap_and_are_compared(graphs: ModuleType, droplet: Any, dtype: str) -> None:
    import torch

    own = getattr(torch, dtype)
    limits = torch.iinfo(own)
    edges = torch.tensor([limits.min, limits.max, 0, 1, 7, limits.max - 3], dtype=own)
    a, b = edges.repeat(6).to(droplet), edges.repeat_interleave(6).to(droplet)

    def function(a: Any, b: Any) -> Any:
        sums = a + b * 3, a - b, a * b + 1, torch.maximum(a, b) * 2, torch.clamp(a + 1, 2, 5)
        chosen = torch.where(a > b, a, b * 2), a == b, (a <= 100) & (b != 0), -a + 1, torch.add(a, b, alpha=5)
        return *sums, *chosen

    found = check(graphs, function, a, b, exact=True)
    assert sum(len(nodes) for nodes in found) == 16


@pytest.mark.parametrize("dtype", ["int64", "int16", "uint8"])
def test_divisors_that_are_numbers(graphs: ModuleType, droplet: Any, dtype: str) -> None:
    """Quotients are rounded down or to zero, remainders have the sign of the divisor."""
    import torch

    own = getattr(torch, dtype)
    limits = torch.iinfo(own)
    x = torch.tensor([limits.min, limits.max, 0, 1, 7, limits.min + 5, 100], dtype=own).to(droplet)
    signs = (1,) if limits.min == 0 else (1, -1)

    def function(x: Any) -> Any:
        quotients = [torch.div(x, 7 * k, rounding_mode=mode) + 1 for k in signs for mode in ("floor", "trunc")]
        return *quotients, *(torch.remainder(x, 5 * k) * 2 for k in signs)

    found = check(graphs, function, x, exact=True)
    assert sum(len(nodes) for nodes in found) == 6 * len(signs)


def test_a_divisor_that_may_be_zero_is_left_to_the_function(graphs: ModuleType, droplet: Any) -> None:
    import torch

    x = torch.arange(12).to(droplet)
    found = check(graphs, lambda x: torch.remainder(x + 1, x * 2 + 3) * 2, x, exact=True)
    assert all("remainder" not in nodes for nodes in found)


def test_bits(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(a: Any, b: Any) -> Any:
        return (a & b) | 12, ~(a | b) & 255, ~((a > b) & (a > 3)) | (b == 0)

    a, b = torch.randint(-(2**31), 2**31, (2, 130), dtype=torch.int32).to(droplet)
    assert sum(len(nodes) for nodes in check(graphs, function, a, b, exact=True)) == 11


def test_numbers_that_a_dtype_has_not(graphs: ModuleType, droplet: Any) -> None:
    """They are left to the function; a number with a fraction makes integers floats."""
    import torch

    def function(x: Any, n: Any) -> Any:
        return x + 300 + 1, (n + 1) * 2.5, n > 0.5, (n * 2) / 3, (n + 1).sqrt()

    x, n = torch.arange(9, dtype=torch.uint8).to(droplet), torch.arange(9).to(droplet)
    assert check(graphs, function, x, n)


def test_conversions_between_all_dtypes(graphs: ModuleType, droplet: Any) -> None:
    import torch

    dtypes = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.bool, torch.uint8, torch.int8,
              torch.int16, torch.int32, torch.int64]  # fmt: skip

    def function(*inputs: Any) -> Any:
        return tuple((one * 2 + 1).to(dtype) for one in inputs for dtype in dtypes)

    values = torch.tensor([-3.0, -1.0, 0.0, 1.0, 5.0, 60.0])
    inputs = [values.abs().to(one) if one == torch.uint8 else values.to(one) for one in dtypes]
    assert check(graphs, function, *(one.to(droplet) for one in inputs), exact=True)


def test_large_integers_stay_exact(graphs: ModuleType, droplet: Any) -> None:
    import torch

    big = 2**53 + 1
    x = torch.tensor([big, -big, 2**62 + 1, 3], dtype=torch.int64).to(droplet)

    def function(x: Any) -> Any:
        y = x * 3 - big
        return y, y > big - 1, y.double() * 0.5, y == x

    (nodes,) = check(graphs, function, x, exact=True)
    assert len(nodes) == 6


def test_float64_is_computed_in_float64(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(x: Any, f: Any) -> Any:
        a = x * 0.1 + f
        return a, a * a - x / 3, torch.where(a > 1 / 3, a, x), a.float() + f, torch.tanh(a).exp() - 1

    x = torch.cat([torch.randn(65, dtype=torch.float64), torch.tensor([math.nan, math.inf, -math.inf, 1e300, 5e-324])])
    f = torch.randn(70).to(droplet)
    (nodes,) = check(graphs, function, x.to(droplet), f)
    assert len(nodes) >= 10
