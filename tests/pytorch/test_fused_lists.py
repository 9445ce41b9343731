"""One launch for the chains of many tensors: steps of optimizers, and operators over lists."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from fusion_checks import check

pytestmark = pytest.mark.usefixtures("fresh_compiler")

SHAPES = [(33, 65), (65,), (1,), (7, 3, 5), (), (2, 20000)]


def listed(droplet: Any, count: int = 1) -> list[list[Any]]:
    """Tensors of many sizes."""
    import torch

    return [[torch.randn(shape).to(droplet) for shape in SHAPES] for _ in range(count)]


def test_chains_of_many_sizes_are_one_launch(graphs: ModuleType, droplet: Any) -> None:
    (values,) = listed(droplet)

    def function(*inputs: Any) -> Any:
        return tuple((one * 2 + 1).relu() for one in inputs)

    (nodes,) = check(graphs, function, *values, exact=True)
    assert len(nodes) == 3 * len(SHAPES)


def test_operators_over_lists(graphs: ModuleType, droplet: Any) -> None:
    """They become one launch with their neighbours, and by themselves."""
    import torch

    values, others = listed(droplet, 2)
    count = len(values)

    def function(*inputs: Any) -> Any:
        left, right = list(inputs[:count]), list(inputs[count:])
        sums = torch._foreach_add(torch._foreach_mul(left, 0.9), right, alpha=2)
        scaled = torch._foreach_div(right, 3.0)
        return *sums, *torch._foreach_lerp(left, right, 0.25), *torch._foreach_addcdiv(sums, left, right, 0.5), *scaled

    found = check(graphs, function, *values, *others)
    assert sorted(map(len, found)) == [count, count, 3 * count]


def test_what_waits_for_another_is_no_part_of_its_launch(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(x: Any) -> Any:
        for _ in range(3):
            x = torch.sort((x * 2 + 1) @ x.t(), -1)[0][:, :5]
        return x

    x = torch.randn(5, 5).to(droplet)
    found = check(graphs, function, x)
    assert [len(nodes) for nodes in found] == [2, 2, 2]


def test_rows_of_many_tensors(graphs: ModuleType, droplet: Any) -> None:
    import torch

    values = [torch.randn(rows, 33).to(droplet) for rows in (2, 7, 600)]

    def function(*inputs: Any) -> Any:
        return tuple(torch.softmax(one * 2, -1) for one in inputs)

    (nodes,) = check(graphs, function, *values)
    assert len(nodes) == 6


def test_results_go_to_inputs_that_nothing_else_reads(graphs: ModuleType, droplet: Any) -> None:
    """Copies an input only after another operator has read it."""
    import torch

    def function(x: Any, y: Any, z: Any) -> Any:
        total = y.sum(0) + 1
        x.mul_(0.5).add_(z)
        y.mul_(2).add_(z)
        z.add_(1).mul_(3)
        return total, x * 2

    given = torch.randn(3, 4, 4)
    own, expected = ([one.clone().to(droplet) for one in given] for _ in range(2))
    versions = [one._version for one in own]
    compiled = torch.compile(function, backend=graphs.backend)
    results = compiled(*own), function(*expected)
    for one, other in zip((*results[0], *own), (*results[1], *expected), strict=True):
        assert torch.equal(one.cpu(), other.cpu())
    assert all(one._version > before for one, before in zip(own, versions, strict=True))


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_a_step_of_an_optimizer_is_one_launch(graphs: ModuleType, droplet: Any, kind: str) -> None:
    """Parameters and state are written where they are."""
    import torch

    values, gradients = listed(droplet, 2)
    steps: list[list[list[str]]] = []

    def run(wraps: Callable[[Any], Any]) -> list[Any]:
        own = [one.clone().requires_grad_() for one in values]
        extra = {"momentum": 0.9} if kind == "SGD" else {"capturable": True}
        optimizer = getattr(torch.optim, kind)(own, lr=0.1, weight_decay=0.01, foreach=True, **extra)
        step = wraps(optimizer.step)
        for _ in range(3):
            for parameter, gradient in zip(own, gradients, strict=True):
                parameter.grad = gradient.clone()
            step()
        return [one.detach().cpu() for one in own]

    def compiled(step: Callable[..., Any]) -> Any:
        from diopi_torch.planner import plan
        from torch._dynamo.backends.common import aot_autograd

        def compiler(module: Any, inputs: Any) -> Any:
            document = plan(module, {}).document
            steps.append([step.get("nodes", [step["node"]]) for step in document["steps"]])
            return graphs.compile_graph(module, inputs)

        backend = aot_autograd(
            fw_compiler=compiler, decompositions=graphs.decompositions(), keep_inference_input_mutations=True
        )
        return torch.compile(step, backend=backend)

    for one, other in zip(run(compiled), run(lambda step: step), strict=True):
        torch.testing.assert_close(one, other)
    assert len(steps[-1]) == (1 if kind == "SGD" else 4), steps[-1]
