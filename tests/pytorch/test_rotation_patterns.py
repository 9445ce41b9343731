"""Plain code that becomes rotary embeddings in compiled graphs, and what stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("fresh_compiler", "all_patterns")


def test_forms_of_a_rotation(outcome: Callable[..., Any], droplet: Any) -> None:
    import torch
    from plain_llama import angles, rotate_half

    def first(x: Any) -> Any:  # (batch, heads, positions, size)
        cos, sin = angles(x.shape[2], x.shape[3], x)
        return (x * cos[None, None]) + (rotate_half(x) * sin[None, None])

    def unsqueezed(x: Any) -> Any:
        cos, sin = (one.unsqueeze(0).unsqueeze(1) for one in angles(x.shape[2], x.shape[3], x))
        return rotate_half(x) * sin + cos * x

    def second(x: Any) -> Any:  # (batch, positions, heads, size)
        cos, sin = (one.unsqueeze(1) for one in angles(x.shape[1], x.shape[3], x))
        return x * cos + rotate_half(x) * sin

    def halves(x: Any) -> Any:
        turned = torch.outer(torch.arange(x.shape[2], device=x.device).to(x.dtype), torch.rand_like(x[0, 0, 0, ::2]))
        cos, sin = turned.cos(), turned.sin()
        left, right = x.chunk(2, -1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)

    for function, kind in (
        (unsqueezed, torch.float32), (second, torch.float32), (halves, torch.float32), (unsqueezed, torch.bfloat16),
    ):  # fmt: skip
        torch._dynamo.reset()
        x = torch.randn(2, 3, 4, 8).to(kind).to(droplet)
        torch.manual_seed(3)
        result, notes = outcome(function, x)
        assert [note.why for note in notes] == [""], function
        torch.manual_seed(3)
        expected = function(x)
        assert result.stride() == expected.stride()
        torch.testing.assert_close(result.cpu(), expected.cpu(), rtol=0, atol=4 * torch.finfo(kind).eps)


def test_rotations_that_stay(outcome: Callable[..., Any], droplet: Any) -> None:
    import torch
    from plain_llama import rotate_half

    def given(x: Any, cos: Any, sin: Any) -> Any:
        return x * cos + rotate_half(x) * sin

    def by_sample(x: Any, cos: Any, sin: Any) -> Any:
        left, right = x.chunk(2, -1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)

    x = torch.randn(2, 3, 4, 8).to(droplet)
    whole, half = torch.rand(4, 8).to(droplet), torch.rand(2, 1, 4, 4).to(droplet)
    for function, angle, why in (
        (given, whole, "cos is not known to repeat its first half: it is no cat((a, a), -1) in this graph"),
        (by_sample, half, "the angles differ between samples"),
        (by_sample, half[0, 0].double(), "angles of torch.float64 for torch.float32"),
    ):
        torch._dynamo.reset()
        result, notes = outcome(function, x, angle, angle)
        assert [note.why for note in notes] == [why]
        torch.testing.assert_close(result, function(x, angle, angle))


def test_gradients_of_a_rotation(torch_droplet: ModuleType, droplet: Any) -> None:
    """Of the operator itself, in eager mode: those of heads and of angles."""
    import torch

    x = torch.randn(2, 3, 2, 4, dtype=torch.float64).to(droplet).requires_grad_()
    cos, sin = (torch.rand(3, 1, 2, dtype=torch.float64).to(droplet).requires_grad_() for _ in range(2))
    for conj in (False, True):
        for interleaved in (False, True):
            result = torch.ops.diopi.rotary_embedding(x, cos, sin, conj, interleaved)
            first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
            turned = -sin if conj else sin
            left, right = first * cos - second * turned, second * cos + first * turned
            expected = torch.stack((left, right), -1).flatten(-2) if interleaved else torch.cat((left, right), -1)
            weights = torch.randn_like(result)
            actual = torch.autograd.grad((result * weights).sum(), (x, cos, sin))
            for one, other in zip(actual, torch.autograd.grad((expected * weights).sum(), (x, cos, sin)), strict=True):
                torch.testing.assert_close(one.cpu(), other.cpu())
