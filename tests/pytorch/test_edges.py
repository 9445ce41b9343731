"""What PyTorch's databases of tests found once, each alone: dtypes outside of the interface, nothing to reduce, and the
end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from run_kind import ROOT, WHOLE

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
    environment = {**os.environ, **backend.environment(), "PYTHONPATH": str(ROOT / "examples/droplet")}
    for _ in range(RUNS):
        done = subprocess.run([sys.executable, "-c", ENDING], env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-500:]
