"""Losses with indices of classes: parts of fused kernels over rows."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from fusion_checks import kernels

pytestmark = pytest.mark.usefixtures("fresh_compiler")

ROWS, CLASSES = 30, 37


def data(droplet: Any, dtype: Any = None) -> tuple[Any, Any]:
    """Scores and classes, of which some are ignored, -100 and 5."""
    import torch

    target = torch.randint(CLASSES, (ROWS,))
    target[::7] = -100
    target[1::7] = 5
    return torch.randn(ROWS, CLASSES, dtype=dtype).to(droplet), target.to(droplet)


def trained(call: Callable[..., Any], scores: Any, *arguments: Any) -> list[Any]:
    """The loss and the gradient."""
    scores = scores.detach().requires_grad_()
    loss = call(scores, *arguments)
    (loss * loss.detach().cos()).sum().backward()
    return [loss.detach(), scores.grad]


def planned(graphs: ModuleType, function: Callable[..., Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The function, compiled, and the documents of its plans."""
    import torch
    from diopi_torch.planner import plan
    from torch._dynamo.backends.common import aot_autograd

    documents: list[Any] = []

    def compiler(module: Any, inputs: Any) -> Any:
        documents.append(plan(module, {}).document)
        return graphs.compile_graph(module, inputs)

    decompositions = graphs.decompositions()
    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler, decompositions=decompositions)
    return torch.compile(function, backend=backend), documents


@pytest.mark.parametrize("ignored", [-100, 5])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropy_is_part_of_its_softmax(
    graphs: ModuleType, droplet: Any, reduction: str, ignored: int, dtype: str
) -> None:
    """One kernel forwards, and a step that adds its rows; one kernel backwards."""
    import torch

    def function(scores: Any, target: Any) -> Any:
        return torch.nn.functional.cross_entropy(scores * 1.5, target, reduction=reduction, ignore_index=ignored)

    scores, target = data(droplet, getattr(torch, dtype))
    target = torch.where(target < 0, ignored, target)
    call, documents = planned(graphs, function)
    for one, other in zip(trained(call, scores, target), trained(function, scores, target), strict=True):
        assert (one.stride(), one.dtype) == (other.stride(), other.dtype)
        torch.testing.assert_close(one.cpu(), other.cpu())
    first, *rest = (one["nodes"] if "kernel" in one else [one["function"]] for one in documents[0]["steps"])
    assert {"mul", "_log_softmax", "sum_1"} <= set(first) and len(rest) == (0 if reduction == "none" else 1)
    (backward,) = documents[1]["steps"]
    assert "_log_softmax_backward_data" in backward["nodes"]


def test_what_no_row_counts_for(graphs: ModuleType, droplet: Any) -> None:
    """The mean of nothing is no number, and its gradients are those of eager mode."""
    import torch

    for reduction in ("mean", "sum"):

        def function(scores: Any, target: Any, reduction: str = reduction) -> Any:
            return torch.nn.functional.nll_loss(scores, target, reduction=reduction)

        torch._dynamo.reset()
        scores, _ = data(droplet)
        target = torch.full((ROWS,), -100).to(droplet)
        compiled = torch.compile(function, backend=graphs.backend)
        for one, other in zip(trained(compiled, scores, target), trained(function, scores, target), strict=True):
            torch.testing.assert_close(one.cpu(), other.cpu(), equal_nan=True)


def test_scores_of_infinity_elsewhere_do_not_matter(graphs: ModuleType, droplet: Any) -> None:
    """Only the class of a row contributes to its sum."""
    import math

    import torch

    scores, target = data(droplet)
    scores[:, 5] = -math.inf
    scores[3] = math.nan
    target = target.clamp(min=6)

    def function(scores: Any, target: Any) -> Any:
        return torch.nn.functional.nll_loss(scores, target, reduction="none")

    with torch.no_grad():
        found = torch.compile(function, backend=graphs.backend)(scores, target)
        torch.testing.assert_close(found.cpu(), function(scores, target).cpu(), equal_nan=True)


def test_a_class_that_does_not_exist_gives_no_number(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(scores: Any, target: Any) -> Any:
        return torch.nn.functional.cross_entropy(scores, target, reduction="none")

    scores, _ = data(droplet)
    target = torch.arange(ROWS).to(droplet)
    target[3], target[4], target[5] = CLASSES, -1, -100
    with torch.no_grad():
        found = torch.compile(function, backend=graphs.backend)(scores, target).cpu()
    assert found.isnan().nonzero().flatten().tolist() == [3, 4] and found[5] == 0


def test_other_losses_stay_with_the_function(graphs: ModuleType, droplet: Any) -> None:
    """With weights of classes, in half precision, and of images."""
    import torch

    weight = torch.rand(CLASSES).to(droplet)

    def weighted(scores: Any, target: Any) -> Any:
        return torch.nn.functional.cross_entropy(scores, target, weight=weight)

    def half(scores: Any, target: Any) -> Any:
        return torch.nn.functional.nll_loss(scores.to(torch.bfloat16), target)

    def image(scores: Any, target: Any) -> Any:
        return torch.nn.functional.nll_loss(scores.view(2, ROWS // 2, CLASSES).transpose(1, 2), target.view(2, -1))

    scores, target = data(droplet)
    for function in (weighted, half, image):
        torch._dynamo.reset()
        call, documents = planned(graphs, function)
        for one, other in zip(trained(call, scores, target), trained(function, scores, target), strict=True):
            torch.testing.assert_close(one.cpu(), other.cpu())
        names = [step["overload"] for one in documents for step in one["steps"] if "overload" in step]
        assert any(name.startswith("nll_loss") for name in names), function.__name__


def test_classes_are_no_part_of_what_a_forward_graph_saves(graphs: ModuleType, droplet: Any) -> None:
    """Their numbers are constants of both plans: nothing goes through the dispatcher."""
    import torch

    call, documents = planned(graphs, lambda x, t: torch.nn.functional.cross_entropy(x, t))
    trained(call, *data(droplet))
    assert len(kernels(documents)) == 3
    assert not [step for one in documents for step in one["steps"] if "reason" in step]
