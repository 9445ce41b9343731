"""Fused kernels with reductions over the last dimensions: softmax, norms and losses as one kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from fusion_checks import check, check_precise, kernels, planned

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def scaled_softmax(x: Any, y: Any) -> Any:
    """With a scale and a mask that is added."""
    import torch

    return torch.softmax(x * 0.25 + y, -1)


def log_softmax(x: Any, y: Any) -> Any:
    """After an addition."""
    import torch

    return torch.log_softmax(x + y, -1)


def safe_softmax(x: Any, y: Any) -> Any:
    """As attention has it: rows that are masked as a whole are 0."""
    import torch

    return torch.ops.aten._safe_softmax(torch.where(x > y, x, -math.inf), -1)


def spelt_softmax(x: Any, y: Any) -> Any:
    """By its extremes and sums."""
    power = (x - x.amax(-1, keepdim=True)).exp()
    return power / power.sum(-1, keepdim=True) * y


def layer_norm(x: Any, y: Any) -> Any:
    """In plain operators, with its statistics."""
    import torch

    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) * (x - mean)).mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + 1e-5) * y, mean, variance


def variance_norm(x: Any, y: Any) -> Any:
    """With the deviations that PyTorch computes."""
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-3), x.var(-1, correction=0) * 2 + 1


def rms_norm(x: Any, y: Any) -> Any:
    """In plain operators, in float32 as Llama has it."""
    import torch

    wide = x if x.dtype == torch.float64 else x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * y


FUNCTIONS = [scaled_softmax, log_softmax, safe_softmax, spelt_softmax, layer_norm, variance_norm, rms_norm]


DTYPES = {
    "float32": FUNCTIONS,
    "bfloat16": [scaled_softmax, layer_norm, rms_norm],
    "float16": [log_softmax],
    "float64": [layer_norm],
}


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(function, dtype) for dtype, functions in DTYPES.items() for function in functions],
    ids=lambda one: one if isinstance(one, str) else str(one.__name__),
)
def test_a_reduction_is_a_phase_of_one_kernel(
    graphs: ModuleType, droplet: Any, function: Callable[..., Any], dtype: str
) -> None:
    import torch

    x, y = (torch.randn(shape).to(getattr(torch, dtype)).to(droplet) for shape in ((3, 7, 67), (67,)))
    found = check_precise(graphs, function, x, y)
    assert len(found) == 1, found


def test_a_loss_of_all_elements_is_one_kernel(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def losses(x: Any, y: Any) -> Any:
        difference = x - y
        return difference.pow(2).mean(), difference.relu().sum() / 3, (difference * 2).amax() + 1, difference.min()

    x, y = torch.randn(2, 5, 101, 3).to(droplet)
    assert len(check_precise(graphs, losses, x, y)) == 1
    assert check_precise(graphs, torch.nn.functional.mse_loss, x, y) == [["sub", "pow_1", "mean"]]


@pytest.mark.parametrize("columns", [2, 17, 1025, 5001, 20001])
def test_rows_of_any_length(graphs: ModuleType, droplet: Any, columns: int) -> None:
    """Blocks and lanes that are not full; costly values are kept up to some length, and computed again beyond."""
    import torch

    x, y = torch.randn(5, columns).to(droplet), torch.randn(columns).to(droplet)
    assert len(check_precise(graphs, spelt_softmax, x, y)) == 1


def test_layouts_of_rows(graphs: ModuleType, droplet: Any) -> None:
    """Permuted and strided operands, and several dimensions at once."""
    import torch

    def function(x: Any, column: Any) -> Any:
        p = x.permute(2, 0, 1)
        scaled = (x * column).sum((1, 2)) * 2, torch.softmax(p[:, :, 1:4] * 2, -1), (x[:, ::2] + 1).mean(-1) * 3
        return *scaled, (p * 2).amax(-1, keepdim=True) + p

    x, column = torch.randn(4, 6, 5).to(droplet), torch.randn(4, 1, 1).to(droplet)
    assert len(check(graphs, function, x, column)) == 4


def test_what_is_no_number_stays_so(graphs: ModuleType, droplet: Any) -> None:
    import torch

    inf, nan = math.inf, math.nan
    x = torch.tensor([[1.0, nan, 2.0], [-inf, -inf, -inf], [inf, 0.0, -inf], [1e38, 1e38, 1e38], [-0.0, 0.0, 1e-45]])

    def function(x: Any) -> Any:
        y = x + 0.0
        return y.amax(-1) + 0.0, y.amin(-1), y.sum(-1), y.mean(-1), torch.softmax(y, -1), (y > 0).any(-1), y.var(-1)

    assert len(check(graphs, function, x.to(droplet))) == 1


def test_masks_and_integers_are_reduced(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(x: Any, n: Any) -> Any:
        mask = x > 0.5
        low = n * 3 - 1
        return (
            mask.any(-1),
            mask.all(-1, keepdim=True),
            mask.sum(-1),
            low.sum(-1),
            low.amax(-1),
            low.any(-1),
            low.amin(),
        )

    x = torch.rand(9, 33).to(droplet)
    n = torch.randint(-(2**62), 2**62, (9, 33)).to(droplet)
    assert len(check(graphs, function, x, n, exact=True)) == 2


def test_values_of_rows_are_read_where_they_lie(graphs: ModuleType, droplet: Any) -> None:
    """A sum without the dimension, of a square, is added along the columns: it is no value of a row there."""
    import torch

    def function(x: Any) -> Any:
        total = (x * 2).sum(-1)
        return x + total, x + total.unsqueeze(-1), total + 1

    x = torch.randn(13, 13).to(droplet)
    assert check(graphs, function, x)


def test_gradients_of_norms_and_losses(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def loss(x: Any, weight: Any) -> Any:
        normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight
        return torch.nn.functional.mse_loss(torch.log_softmax(normed * 2, -1), x) + torch.softmax(x * 3, -1).amax()

    def gradients(call: Callable[..., Any], device: Any, dtype: Any = None) -> list[Any]:
        x, weight = (one.to(device, dtype).requires_grad_() for one in given)
        call(x, weight).backward()
        return [x.grad.cpu(), weight.grad.cpu()]

    given = torch.randn(6, 45), torch.randn(45)
    found = gradients(torch.compile(loss, backend=graphs.backend), droplet)
    for one, other in zip(found, gradients(loss, "cpu", torch.float64), strict=True):
        torch.testing.assert_close(one, other.float())


def test_threads_do_not_change_sums(graphs: ModuleType, droplet: Any) -> None:
    """Rows are never divided: what a row gives does not depend on how many there are."""
    import torch

    function = torch.compile(lambda x: (x * 1.5).sum(-1) + 1, backend=graphs.backend, dynamic=True)
    x = torch.randn(200, 501).to(droplet)
    whole = function(x).cpu()
    assert all(torch.equal(function(x[k : k + 3]).cpu(), whole[k : k + 3]) for k in (0, 77, 197))


@pytest.mark.parametrize(
    ("rows", "columns", "is_fused"), [(3, 10922, True), (2, 16384, True), (3, 10923, False), (4, 10923, True)]
)
def test_few_long_rows_stay_with_the_function(
    graphs: ModuleType, droplet: Any, rows: int, columns: int, is_fused: bool
) -> None:
    """More than 32,768 elements in fewer than 4 rows: no thread could share the work of a row."""
    import torch

    found = check(graphs, lambda x: (x * 2).relu().sum(-1), torch.randn(rows, columns).to(droplet))
    assert ["sum_1"] not in found and [len(one) for one in found] == [3 if is_fused else 2]


LARGEST = 3.38e38
"""Near the largest number of float32 and of bfloat16."""
LARGE = {
    "sums that cross": [LARGEST] * 40 + [-LARGEST] * 39,
    "of one sign": [LARGEST / 4096] * 4000,
    "too large as a sum": [LARGEST] * 3,
    "an infinity": [math.inf, LARGEST, LARGEST],
    "no number": [math.inf, -math.inf, LARGEST],
    "squares beyond": [1e19, -3e19, 2e19] * 11,
    "of both ends": [LARGEST, -LARGEST] * 7,
}


def sums(x: Any) -> Any:
    """Operators that add up a row."""
    y = x * 1.0
    return y.sum(-1), y.mean(-1), y.var(-1), y.std(-1), y.var(-1, correction=0), (y - y.mean(-1, keepdim=True)).sum(-1)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_sums_are_finite_where_those_of_eager_mode_are(graphs: ModuleType, droplet: Any, name: str, dtype: str) -> None:
    """Values near the largest float; also in rows of other lengths, so that all lanes have some."""
    import torch

    row = torch.tensor(LARGE[name])
    x = torch.stack([row, row.flip(0), row.roll(1)]).to(getattr(torch, dtype)).to(droplet)
    assert len(check(graphs, sums, x)) == 1


@pytest.mark.parametrize("is_log", [False, True])
def test_large_gradients_of_softmax(graphs: ModuleType, droplet: Any, is_log: bool) -> None:
    """Products, sums and differences inside are beyond float32, and most gradients are not. These are differences
    of large numbers, which the distance is measured by."""
    import torch

    backward = torch.ops.aten._log_softmax_backward_data if is_log else torch.ops.aten._softmax_backward_data
    forward = torch.log_softmax if is_log else torch.softmax

    def function(gradient: Any, output: Any) -> Any:
        return backward(gradient * 1.0, output, -1, torch.float32)

    output = forward(torch.randn(3, 50).to(droplet), -1)
    gradient = torch.full((3, 50), 2e38).to(droplet)
    gradient[1, ::2] = -3e38
    gradient[2] = LARGEST
    (found,), documents = planned(graphs, function, gradient, output)
    expected = function(gradient, output).cpu()
    assert len(kernels(documents)) == 1 and torch.isfinite(expected).sum() > 100
    torch.testing.assert_close(found.cpu() / LARGEST, expected / LARGEST, rtol=0, atol=1e-6)


def test_what_is_reduced_otherwise_has_a_reason(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import torch

    def function(x: Any, y: Any) -> Any:
        return (x * 2).sum(0) + 1, (x * y).sum() * 2, (x[:1] * 2).mean(-1)

    monkeypatch.setenv("DIOPI_COMPILE_LOG", "fusion")
    check(graphs, function, *torch.randn(2, 4, 40000).to(droplet))
    text = capfd.readouterr().err
    assert "it does not reduce the last dimensions" in text and "it has too few rows for several threads" in text
