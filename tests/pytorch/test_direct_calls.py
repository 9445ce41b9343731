"""Graphs that are called without PyTorch's dispatcher, and without its wrappers where these have nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def compiled(graphs: ModuleType, function: Any, *arguments: Any) -> tuple[Any, bool]:
    """The compiled function after its first call, and whether its graph is called directly."""
    import torch

    found: list[Any] = []

    def backend(module: Any, inputs: Any) -> Any:
        found.append(graphs.backend(module, inputs))
        return found[-1]

    call = torch.compile(function, backend=backend)
    call(*arguments)
    (called,) = found
    return call, called.__qualname__.startswith("call_of")


def graph_of(graphs: ModuleType, function: Any, *arguments: Any) -> Any:
    """The graph of an inference, with which its program goes."""
    import torch

    from diopi_torch import direct

    with torch.no_grad(), direct.collected() as collected:
        torch.compile(function, backend=graphs.backend)(*arguments)
    (graph,) = collected
    return graph


def changes(x: Any, y: Any) -> Any:
    x.add_(1)
    return x + y


def view_of_input(x: Any, y: Any) -> Any:
    return x.view(-1), x * y


def view_of_result(x: Any, y: Any) -> Any:
    z = x * y
    return z, z[0]


def same_result_twice(x: Any, y: Any) -> Any:
    z = x * y
    return z, z


def no_tensor(x: Any, y: Any) -> Any:
    return x * y, 3


@pytest.mark.parametrize(
    ("function", "is_direct"),
    [
        (lambda x, y: (x + y, x * y), True),
        (no_tensor, True),
        (same_result_twice, True),
        (view_of_input, False),
        (view_of_result, True),
    ],
)
@pytest.mark.parametrize("has_gradients", [False, True])
def test_what_is_called_directly(
    graphs: ModuleType, droplet: Any, function: Callable[..., Any], is_direct: bool, has_gradients: bool
) -> None:
    """Returns whether gradients are enabled makes no difference: nothing asks for them."""
    import torch

    x, y = torch.randn(3, 4).to(droplet), torch.randn(3, 4).to(droplet)
    with torch.set_grad_enabled(has_gradients):
        call, found = compiled(graphs, function, x, y)
        assert found == is_direct
        for _ in range(3):
            x, y = torch.randn(3, 4).to(droplet), torch.randn(3, 4).to(droplet)
            for one, other in zip(call(x, y), function(x.cpu(), y.cpu()), strict=True):
                if isinstance(one, torch.Tensor):
                    torch.testing.assert_close(one.cpu(), other)
                    assert not one.requires_grad
                else:
                    assert one == other


def test_results_share_memory_as_in_eager(graphs: ModuleType, droplet: Any) -> None:
    import torch

    x, y = torch.randn(3, 4).to(droplet), torch.randn(3, 4).to(droplet)
    with torch.no_grad():
        call, _ = compiled(graphs, view_of_result, x, y)
        whole, row = call(x, y)
        row.zero_()
    assert whole[0].abs().sum() == 0 and whole[1].abs().sum() > 0


def test_a_changed_input(graphs: ModuleType, droplet: Any) -> None:
    import torch

    x, y = torch.randn(3, 4).to(droplet), torch.randn(3, 4).to(droplet)
    call, is_direct = compiled(graphs, changes, x, y)
    assert not is_direct
    version, expected = x._version, x.cpu()
    result = call(x, y)
    assert x._version > version
    torch.testing.assert_close(x.cpu(), expected + 1)
    torch.testing.assert_close(result.cpu(), expected + 1 + y.cpu())


def test_a_graph_with_gradients_is_wrapped(graphs: ModuleType, droplet: Any) -> None:
    import torch

    x = torch.randn(3, 4).to(droplet).requires_grad_()
    call, is_direct = compiled(graphs, lambda x: (x * 2).sin(), x)
    assert not is_direct
    call(x).sum().backward()
    torch.testing.assert_close(x.grad.cpu(), 2 * (x.detach().cpu() * 2).cos())


def test_autocast_is_wrapped(graphs: ModuleType, droplet: Any) -> None:
    import torch

    x = torch.randn(4, 4).to(droplet)
    with torch.no_grad(), torch.autocast(droplet.type, dtype=torch.bfloat16):
        call, is_direct = compiled(graphs, lambda x: torch.cummax(x @ x, 0).values @ x, x)
        assert not is_direct
        assert call(x).dtype == torch.bfloat16


def test_a_graph_from_the_cache_is_called_directly(graphs: ModuleType, droplet: Any) -> None:
    import torch
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache

    x = torch.randn(5, 7).to(droplet)

    def function(x: Any) -> Any:
        return (x * 1.25).exp() + x

    AOTAutogradCache.clear()
    with torch.no_grad():
        for _ in range(2):
            torch._dynamo.reset()
            call, is_direct = compiled(graphs, function, x)
            assert is_direct
            torch.testing.assert_close(call(x).cpu(), function(x.cpu()))


def test_inputs_are_let_go_of(graphs: ModuleType, droplet: Any) -> None:
    """The list is empty after a call, whichever way the library is called."""
    import torch

    from diopi_torch import runners

    x = torch.randn(3, 4).to(droplet)
    graph, expected = graph_of(graphs, lambda x: x * 2, x), x.cpu() * 2
    assert runners._module() is not None
    package: Any = runners
    module = package._module
    try:
        for replaced in (module, lambda: None):
            package._module = replaced
            inputs = [x]
            (result,) = runners.program_runner(graph._only.number)(inputs)
            assert inputs == []
            torch.testing.assert_close(result.cpu(), expected)
    finally:
        package._module = module


def test_wrong_calls(graphs: ModuleType, droplet: Any) -> None:
    import torch

    from diopi_torch import runners

    x = torch.randn(3, 4).to(droplet)
    graph = graph_of(graphs, lambda x: x * 2, x)
    run: Any = runners.program_runner(graph._only.number)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: run((x,)), "a graph is called with a list of tensors"),
        (lambda: run(), "a graph is called with one list"),
        (lambda: run([x], 1), "a graph is called with one list"),
        (lambda: run([1]), "input 0 of a graph is a int, not a tensor"),
    ]
    for wrong, message in calls:
        with pytest.raises(TypeError, match=message):
            wrong()
    with pytest.raises(RuntimeError, match="has 1 inputs, not 2"):
        run([x, x])
    kind: Any = type(run)
    with pytest.raises(TypeError):
        kind()
    with pytest.raises(RuntimeError, match="there is no compiled graph 1000000"):
        runners.program_runner(1000000)
