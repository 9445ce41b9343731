"""Random operators of the device draw what their names say, and the same again from the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

COUNT = 40000
# Mean and standard deviation that each draw must have.
DRAWS: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "uniform_": (lambda x: x.uniform_(-1, 3), 1.0, 4 / 12**0.5),
    "normal_": (lambda x: x.normal_(2, 3), 2.0, 3.0),
    "log_normal_": (lambda x: x.log_normal_(0, 0.25), 1.0317, 0.2620),
    "exponential_": (lambda x: x.exponential_(0.5), 2.0, 2.0),
    "geometric_": (lambda x: x.geometric_(0.25), 4.0, 12**0.5),
    "bernoulli_": (lambda x: x.bernoulli_(0.3), 0.3, 0.21**0.5),
    "bernoulli_ with a tensor": (lambda x: x.bernoulli_(torch.full_like(x, 0.3)), 0.3, 0.21**0.5),
    "random_": (lambda x: x.random_(10, 20), 14.5, (99 / 12) ** 0.5),
    "normal with tensors": (lambda x: torch.normal(torch.full_like(x, 2), torch.full_like(x, 3)), 2.0, 3.0),
    "normal of a mean": (lambda x: torch.normal(torch.full_like(x, 2), 3.0), 2.0, 3.0),
    "normal of a deviation": (lambda x: torch.normal(2.0, torch.full_like(x, 3)), 2.0, 3.0),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DRAWS)
def test_moments(droplet: Any, name: str, dtype: Any) -> None:
    import torch_droplet

    draw, mean, deviation = DRAWS[name]
    torch.manual_seed(7)
    torch_droplet.reset_fallback_report()
    values = draw(torch.empty(COUNT, dtype=dtype, device=droplet))
    assert torch_droplet.fallback_report() == {}
    values = values.cpu().double()
    # Five standard errors of the mean; the deviation within five percent.
    assert abs(float(values.mean()) - mean) < 5 * deviation / COUNT**0.5
    assert abs(float(values.std()) - deviation) < 0.05 * deviation


def test_cauchy_has_its_quartiles(droplet: Any) -> None:
    values = torch.empty(COUNT, device=droplet).cauchy_(1.0, 2.0).cpu()
    quartiles = values.quantile(torch.tensor([0.25, 0.5, 0.75]))
    torch.testing.assert_close(quartiles, torch.tensor([-1.0, 1.0, 3.0]), rtol=0, atol=0.15)


def test_exponential_is_never_zero(droplet: Any) -> None:
    assert float(torch.empty(COUNT, device=droplet).exponential_().min()) > 0


def test_a_permutation_holds_every_number(droplet: Any) -> None:
    order = torch.randperm(1000, device=droplet).cpu()
    assert torch.equal(order.sort().values, torch.arange(1000))
    assert not torch.equal(order, torch.arange(1000))


def test_categories_come_by_their_weights(droplet: Any) -> None:
    weights = torch.tensor([0.0, 1.0, 3.0], device=droplet)
    drawn = torch.multinomial(weights, 20000, replacement=True).cpu()
    share = torch.bincount(drawn, minlength=3) / 20000
    assert share[0] == 0
    assert abs(float(share[2]) - 0.75) < 0.02
    assert sorted(torch.multinomial(weights, 2).cpu().tolist()) == [1, 2]


def test_the_seed_says_what_is_drawn(droplet: Any) -> None:
    torch.manual_seed(3)
    first = torch.randn(100, device=droplet)
    second = torch.randn(100, device=droplet)
    torch.manual_seed(3)
    assert torch.equal(torch.randn(100, device=droplet), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x.uniform_(2, 1),
        lambda x: x.normal_(0, -1),
        lambda x: x.exponential_(-1),
        lambda x: x.bernoulli_(2.0),
        lambda x: x.random_(3, 3),
        lambda x: torch.multinomial(x, 0),
    ],
)
def test_what_pytorch_refuses(droplet: Any, draw: Any) -> None:
    with pytest.raises(RuntimeError):
        draw(torch.ones(4))
    with pytest.raises(RuntimeError):
        draw(torch.ones(4, device=droplet))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_uniform_numbers_are_below_the_upper_end(droplet: Any, dtype: torch.dtype) -> None:
    """Also where rounding to the dtype would reach it: one of 4,096 in float16, one of 512 in bfloat16."""
    torch.manual_seed(0)
    numbers = torch.rand(200_000, dtype=dtype, device=droplet).cpu()
    assert numbers.min() >= 0 and numbers.max() < 1
    step = 2.0 ** -{torch.float16: 11, torch.bfloat16: 8}.get(dtype, 17)
    assert numbers.max() >= 1 - 2 * step
    for low, high in ((-1.0, 0.0), (1.0, 1.25), (-3.0, 0.1), (0.1, 0.3)):
        numbers = torch.empty(50_000, dtype=dtype, device=droplet).uniform_(low, high).cpu().double()
        assert numbers.min() >= torch.tensor(low, dtype=dtype).double() and numbers.max() < high
    assert torch.empty(9, dtype=dtype, device=droplet).uniform_(0.5, 0.5).cpu().tolist() == [0.5] * 9


def test_draws_at_the_ends(droplet: Any) -> None:
    """Chances of 0 and 1 are certain, logarithms of uniform numbers finite, integers below the upper end."""
    torch.manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        empty = torch.empty(100_000, dtype=dtype, device=droplet)
        assert empty.bernoulli_(0.0).sum().item() == 0 and bool((empty.bernoulli_(1.0) == 1).all())
        chances = torch.tensor([0.0, 1.0], dtype=dtype, device=droplet).repeat(1000)
        assert torch.equal(torch.bernoulli(chances), chances)
        ones = torch.ones_like(empty)
        assert torch.nn.functional.dropout(ones, 1.0).sum().item() == 0
        assert torch.equal(torch.nn.functional.dropout(ones, 0.0), ones)
        for draw in (empty.exponential_, lambda e=empty: e.geometric_(0.5)):
            assert bool(draw().isfinite().all())
    numbers = torch.empty(100_000, dtype=torch.float16, device=droplet)
    assert numbers.random_(1000, 2052).max().item() < 2052
    assert torch.empty(100_000, dtype=torch.int8, device=droplet).random_().min().item() >= 0
    assert numbers.random_(-2051, -1000).min().item() >= -2051  # which no float16 is


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_the_mean_of_complex_numbers_is_real(droplet: Any, dtype: torch.dtype) -> None:
    """PyTorch's CPU adds it to the imaginary part as well."""
    torch.manual_seed(0)
    values = torch.empty(COUNT, dtype=dtype, device=droplet).normal_(5.0, 2.0).cpu()
    for part, mean in ((values.real, 5.0), (values.imag, 0.0)):
        assert abs(float(part.mean()) - mean) < 5 * 2**0.5 / COUNT**0.5
        assert abs(float(part.std()) - 2**0.5) < 0.05
