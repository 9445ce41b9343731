"""Handwritten elementwise kernels agree with the CPU, without a fallback."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from cpu_agreement import assert_agrees, assert_refused, numbers

functional = torch.nn.functional


FLOATS = (torch.float32, torch.float16, torch.bfloat16)
ENDS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 7.25, -7.75]

ONE = {
    "abs": torch.abs,
    "hardtanh": lambda x: functional.hardtanh(x, -1.5, 2.0),
    "relu6": functional.relu6,
    "hardswish": functional.hardswish,
    "hardsigmoid": functional.hardsigmoid,
    "hardshrink": functional.hardshrink,
    "softshrink": functional.softshrink,
    "softplus": lambda x: functional.softplus(x, 2.0, 3.0),
    "elu": lambda x: functional.elu(x, 0.5),
    "selu": functional.selu,
    "celu": functional.celu,
    "mish": functional.mish,
    "logsigmoid": functional.logsigmoid,
    "isnan": torch.isnan,
    "isposinf": torch.isposinf,
    "isneginf": torch.isneginf,
    "signbit": lambda x: torch.signbit(x[x == x]),
    "trunc": torch.trunc,
    "frac": lambda x: torch.frac(x.clamp(-100, 100)),
    "round": torch.round,
    "round two places": lambda x: torch.round(x, decimals=2),
    "round tens": lambda x: torch.round(x, decimals=-1),
    "exp2": torch.exp2,
    "sinc": lambda x: torch.sinc(x.clamp(-8, 8)),
    "angle": torch.angle,
    "logit": lambda x: torch.logit(x, 0.1),
    "logical_not": torch.logical_not,
    "fill": lambda x: torch.full_like(x, 2.5),
    "zero": torch.zeros_like,
    "remainder of a number": lambda x: torch.remainder(7, x),
    "entr": torch.special.entr,
}
TWO = {
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, 4),
    "masked_fill with a tensor": lambda x, y: x.masked_fill(y > 0, y.max()),
    "floor_divide": torch.floor_divide,
    "rsub": lambda x, y: torch.rsub(x, y, alpha=2),
    "fmod": torch.fmod,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "hypot": torch.hypot,
    "heaviside": torch.heaviside,
    "copysign": torch.copysign,
    "atan2": torch.atan2,
    "xlogy": torch.xlogy,
    "xlog1py": torch.special.xlog1py,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "prelu": lambda x, y: functional.prelu(x, y[0, :1]),
    "huber_loss": functional.huber_loss,
}
INTEGERS = {
    "bitwise_xor": torch.bitwise_xor,
    "left shift": torch.bitwise_left_shift,
    "right shift": torch.bitwise_right_shift,
    "operator <<": lambda x, y: x << y,
    "operator >>": lambda x, y: x >> y,
    "fmod": lambda x, y: torch.fmod(x, y.abs() + 1),
    "floor_divide": lambda x, y: x // (y.abs() + 1),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ONE)
def test_of_one_tensor(droplet: Any, name: str, dtype: Any) -> None:
    assert_agrees(droplet, ONE[name], numbers(5, 7, dtype=dtype))
    assert_agrees(droplet, ONE[name], torch.tensor(ENDS, dtype=dtype))
    assert_agrees(droplet, ONE[name], numbers(6, 4, dtype=dtype).t()[::2])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TWO)
def test_of_two_tensors(droplet: Any, name: str, dtype: Any) -> None:
    assert_agrees(droplet, TWO[name], numbers(5, 7, dtype=dtype), numbers(5, 7, dtype=dtype, low=-2.0, high=4.0))


@pytest.mark.parametrize("name", ["atan2", "hypot", "fmax", "fmin", "copysign", "heaviside", "logaddexp"])
def test_of_two_numbers_at_the_ends(droplet: Any, name: str) -> None:
    ends = torch.tensor([value for value in ENDS if value == value])
    assert_agrees(droplet, TWO[name], ends.unsqueeze(1), ends)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint8])
@pytest.mark.parametrize("name", INTEGERS)
def test_of_integers(droplet: Any, name: str, dtype: Any) -> None:
    first = torch.arange(-40, 40).to(dtype)
    second = (torch.arange(80) % 11).to(dtype)
    assert_agrees(droplet, INTEGERS[name], first, second)


@pytest.mark.parametrize(
    "name",
    ["elu", "softplus", "hardswish", "hardsigmoid", "mish", "logsigmoid", "hardshrink", "softshrink", "hardtanh"],
)
def test_gradients(droplet: Any, name: str) -> None:
    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(ONE[name](x).mul(x.detach()).sum(), x)
        return slope

    assert_agrees(droplet, gradient, numbers(9, 11))


def test_gated_units_and_their_gradient(droplet: Any) -> None:
    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = functional.glu(x, 1)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), x)]

    assert_agrees(droplet, gradient, numbers(3, 8, 2))


def test_complex_numbers_from_parts(droplet: Any) -> None:
    assert_agrees(droplet, torch.complex, numbers(3, 4), numbers(4))
    assert_agrees(droplet, torch.polar, numbers(3, 4, low=0.0), numbers(3, 4))
    assert_agrees(droplet, lambda x, y: torch.complex(x, y).conj().resolve_conj(), numbers(3, 4), numbers(3, 4))


def test_dropout_keeps_a_share_and_scales_it(droplet: Any) -> None:
    ones = torch.ones(20000, device=droplet)
    kept, mask = torch.native_dropout(ones, 0.25, True)
    assert torch.equal(kept != 0, mask)
    torch.testing.assert_close(kept[mask].cpu(), torch.full((int(mask.sum()),), 1 / 0.75))
    assert abs(float(mask.float().mean()) - 0.75) < 0.02


def test_what_pytorch_refuses(droplet: Any) -> None:
    assert_refused(droplet, lambda x: x.masked_fill_(torch.ones(3, device=x.device), 1), torch.zeros(3))
    assert_refused(droplet, lambda x: x.fill_(1000), torch.zeros(3, dtype=torch.uint8))
    assert_refused(droplet, lambda x: functional.huber_loss(x, x, delta=-1.0), torch.zeros(3))
    assert_refused(droplet, lambda x: x.expand(4, 3).uniform_(), torch.zeros(3))
