"""Errors that PyTorch's databases of tests found, one test each: dtypes outside of the interface, nothing to reduce,
and the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch_build
from run_kind import WHOLE

ENDING = """
import torch, torch_droplet
weights = torch.ones(2, device="droplet", requires_grad=True)
torch.autograd.grad((torch.ones(5, 2, device="droplet") * weights).sum(), [weights])
"""
RUNS = 12 if WHOLE else 2


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.complex32], ids=str)
@pytest.mark.filterwarnings("ignore")  # that the numbers are real
def test_dtypes_outside_of_the_interface_are_copied(dtype: torch.dtype, droplet: Any) -> None:
    whole = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    there = whole.to(droplet).t().to(dtype)
    assert torch.equal(there.cpu().to(torch.float32), whole.t())
    gapped = torch.zeros(4, 6, dtype=dtype, device=droplet)[:, ::2]
    gapped.copy_(there)
    assert torch.equal(gapped.cpu().to(torch.float32), whole.t())


def test_copies_into_shared_elements_are_refused(droplet: Any) -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, device=droplet).expand(3).copy_(torch.ones(3, device=droplet))


def test_convolutions_of_integers_run_on_the_cpu(droplet: Any, fallbacks: Any) -> None:
    image, kernel = torch.arange(16).reshape(1, 1, 4, 4), torch.arange(4).reshape(1, 1, 2, 2)
    own = torch.nn.functional.conv2d(image.to(droplet), kernel.to(droplet))
    assert torch.equal(own.cpu(), torch.nn.functional.conv2d(image, kernel))
    assert fallbacks() == {"convolution_overrideable": 1}


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0,)], ids=str)
@pytest.mark.parametrize("reduce", [torch.sum, torch.mean])
def test_nothing_to_reduce(reduce: Any, shape: tuple[int, ...], droplet: Any) -> None:
    for dim in range(len(shape)):
        own = reduce(torch.zeros(shape, device=droplet), dim)
        torch.testing.assert_close(own.cpu(), reduce(torch.zeros(shape), dim), equal_nan=True)


@pytest.mark.parametrize("operator", [torch.linalg.det, torch.linalg.slogdet, torch.logdet, torch.linalg.inv])
@pytest.mark.parametrize("form", ["whole", "transposed", "gapped", "batch with gaps"])
def test_gradients_of_factored_matrices(operator: Any, form: str, droplet: Any) -> None:
    """Forward and backward must agree on whether the matrix or its transpose was factored."""
    torch.manual_seed(0)
    values = torch.randn(2, 4, 8) + 3 * torch.eye(8)[:4]
    results = []
    for device in ("cpu", droplet):
        leaf = values.to(device).requires_grad_()
        matrix = {
            "whole": lambda leaf: leaf[0, :, :4].contiguous(),
            "transposed": lambda leaf: leaf[0, :, :4].contiguous().T,
            "gapped": lambda leaf: leaf[0, :, :4],
            "batch with gaps": lambda leaf: leaf[:, :, :4],
        }[form](leaf)
        found = operator(matrix)
        found = found[1] if isinstance(found, tuple) else found
        results.append(torch.autograd.grad(found.sum(), leaf)[0].cpu())
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("form", ["whole", "gapped"])
def test_gradients_of_solved_systems(form: str, droplet: Any) -> None:
    torch.manual_seed(0)
    values, right = torch.randn(4, 8) + 3 * torch.eye(8)[:4], torch.randn(4, 2)
    results = []
    for device in ("cpu", droplet):
        leaf = values.to(device).requires_grad_()
        matrix = leaf[:, :4].contiguous() if form == "whole" else leaf[:, :4]
        solved = torch.linalg.solve(matrix, right.to(device))
        results.append(torch.autograd.grad((solved * right.to(device)).sum(), leaf)[0].cpu())
    torch.testing.assert_close(results[1], results[0])


def test_factors_of_integers_are_cut_off(droplet: Any) -> None:
    given = torch.arange(4).reshape(1, 2, 2)
    for beta, alpha in ((2, 3), (0.5, 1.5)):
        expected = torch.baddbmm(given, given, given, beta=beta, alpha=alpha)
        own = torch.baddbmm(*[given.to(droplet)] * 3, beta=beta, alpha=alpha)
        assert torch.equal(own.cpu(), expected)


def test_a_process_may_end_behind_a_backward_pass(backend: Any) -> None:
    """The threads of the backward pass may hold tensors of Python for a moment longer than it takes."""
    environment = {**os.environ, **backend.environment(), "PYTHONPATH": torch_build.PYTHONPATH}
    for _ in range(RUNS):
        done = subprocess.run([sys.executable, "-c", ENDING], env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("target", [torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("source", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_operators_with_a_dtype_convert_first(
    source: torch.dtype, target: torch.dtype, droplet: Any, fallbacks: Any
) -> None:
    """PyTorch's norm accepts no smaller dtype; autocast calls its overloads with a dtype."""
    aten = torch.ops.aten
    values = torch.linspace(-2, 3, 24).reshape(4, 6).to(source)
    calls: dict[str, Any] = {
        "sum": lambda x: x.sum(1, dtype=target),
        "mean": lambda x: x.mean(dtype=target),
        "prod": lambda x: x.prod(1, dtype=target),
        "cumsum": lambda x: x.cumsum(0, dtype=target),
        "softmax": lambda x: x.softmax(1, dtype=target),
        "log_softmax": lambda x: x.log_softmax(1, dtype=target),
    }
    if torch.promote_types(source, target) == target:
        calls |= {
            "vector_norm": lambda x: torch.linalg.vector_norm(x, dim=1, dtype=target),
            "norm": lambda x: x.norm(dtype=target),
        }
        for p in (None, 0, 1, 2, 3.5, float("inf")):
            calls |= {
                f"norm {p}": lambda x, p=p: aten.norm.ScalarOpt_dtype(x, p, dtype=target),
                f"norm {p} of rows": lambda x, p=p: aten.norm.ScalarOpt_dim_dtype(x, p, [1], True, dtype=target),
                f"norm {p} into": lambda x, p=p: aten.norm.dtype_out(
                    x, p, [0], False, dtype=target, out=torch.empty(0, dtype=target, device=x.device)
                ),
            }
    for name, call in calls.items():
        own, expected = call(values.to(droplet)).cpu(), call(values)
        exact = call(values.double().to(target))
        assert own.dtype == expected.dtype == target, name
        digits = torch.finfo(torch.promote_types(target, torch.float16)).eps * 8
        torch.testing.assert_close(own, exact, rtol=digits, atol=digits, msg=lambda text, name=name: f"{name}: {text}")
    assert fallbacks() == {}
