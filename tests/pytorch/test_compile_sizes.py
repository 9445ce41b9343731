"""Graphs whose sizes change: one plan for all sizes for which the planner decides alike, evaluated by the library."""

from __future__ import annotations

import gc
import logging
import threading
from types import ModuleType
from typing import Any

import pytest
from compiled import Compiled, assert_same
from plain_llama import Block

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def plans(compiled: Compiled) -> list[int]:
    """Of each graph how often Python planned it."""
    return [graph.plans for graph in compiled.graphs]


def test_training_with_changing_lengths(graphs: ModuleType, droplet: Any) -> None:
    """Results and gradients are those of eager mode; forward and backward are planned once."""
    import torch

    model = Block(16, 2).to(droplet)

    def loss(x: Any) -> Any:
        hidden = model(x)
        return (hidden * hidden.shape[1]).square().mean() + hidden[:, 1:].sum() + hidden[:, 0].mean()

    compiled = Compiled(graphs, loss, dynamic=True)
    for length in (6, 3, 11, 6, 17):
        x = torch.randn(2, length, 16).to(droplet)
        found = []
        for call in (compiled, loss):
            model.zero_grad()
            own = x.clone().requires_grad_()
            value = call(own)
            value.backward()
            found.append([value.detach(), own.grad, *(p.grad for p in model.parameters())])
        assert_same(*found)
    assert plans(compiled) == [1, 1]
    assert [each["sized"] for each in compiled.statistics] == [4, 4]


def test_numbers_that_a_graph_returns(graphs: ModuleType, droplet: Any) -> None:
    """Integers and real numbers next to tensors."""
    import torch

    def function(x: Any, y: Any) -> Any:
        rows, columns = x.shape
        return x @ y, rows * columns + 1, columns // 2, torch.full((rows // 2 + 1,), 3.0, device=x.device), x[1:, ::2]

    compiled = Compiled(graphs, function, dynamic=True)
    for rows, columns in ((4, 6), (9, 5), (3, 31)):
        arguments = torch.randn(rows, columns).to(droplet), torch.randn(columns, 2).to(droplet)
        assert_same(compiled(*arguments), function(*arguments))
    assert plans(compiled) == [1]


def test_what_the_planner_decides_by_a_size(graphs: ModuleType, droplet: Any) -> None:
    """Few long rows stay with the function, so that these sizes have a plan of their own."""
    import torch

    def function(x: Any) -> Any:
        return (x * 2 + 1).sum(-1, keepdim=True) * x

    compiled = Compiled(graphs, function, dynamic=True)
    for rows, columns in ((8, 9), (3, 20000), (5, 7), (2, 30000), (30, 12)):
        x = torch.randn(rows, columns).to(droplet)
        torch.testing.assert_close(compiled(x).cpu(), function(x.cpu()), rtol=1e-4, atol=1e-2)
    assert plans(compiled) == [2]
    assert [each["fused"] for each in compiled.statistics] == [1]


def test_sizes_of_one_element_and_of_none(graphs: ModuleType, droplet: Any) -> None:
    """PyTorch compiles these again, or guards them; they are right in either case."""
    import torch

    def function(x: Any, y: Any) -> Any:
        return (x + y[: x.shape[0] - 2].sum()).exp() * y[1:].sum()

    compiled = Compiled(graphs, function, dynamic=True)
    for one, other in ((5, 7), (2, 4), (1, 3), (0, 2), (3, 2), (9, 9)):
        x, y = torch.randn(one).to(droplet), torch.randn(other).to(droplet)
        torch.testing.assert_close(compiled(x, y).cpu(), function(x.cpu(), y.cpu()))


def test_what_follows_from_sizes_alone_is_computed_once(
    graphs: ModuleType, torch_droplet: ModuleType, droplet: Any
) -> None:
    """Positions and masks; a view of a constant costs nothing."""
    import torch
    from diopi_torch.planner import plan

    table = torch.arange(64, dtype=torch.float32).to(droplet)

    def function(x: Any) -> Any:
        length = x.shape[-1]
        places = torch.arange(length, device=x.device).float()
        mask = torch.full((length, length), float("-inf"), device=x.device).triu(1)
        return (x + mask).softmax(-1) * torch.cos(places) + places.unsqueeze(0)[:, : length // 2].sum(), table[:length]

    compiled = Compiled(graphs, function, dynamic=True)
    inputs = {length: torch.randn(2, length, length).to(droplet) for length in (5, 8, 13)}
    for _ in range(2):
        for x in inputs.values():
            assert_same(compiled(x), function(x))
    (graph,) = compiled.graphs
    values = {source.symbol: 8 for source in graph._sources}
    document = plan(graph.module, values).document
    assert any("arange" in step.get("overload", "") for step in document["first"]["steps"])
    assert not any("arange" in step.get("overload", "") for step in document["steps"])
    assert plans(compiled) == [1]
    torch_droplet.reset_fallback_report()
    for x in inputs.values():
        compiled(x)
    assert torch_droplet.fallback_report(compiled=True) == {}


def test_an_expression_that_plans_do_not_have(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each tuple of sizes has a plan then, and the log says why."""
    import torch

    from diopi_torch import symbols

    monkeypatch.delitem(symbols._TRANSLATED, "FloorDiv")
    compiled = Compiled(graphs, lambda x: x[: x.shape[0] // 2] * 2 + x.shape[0] // 2, dynamic=True)
    with caplog.at_level(logging.INFO, logger=graphs.__name__):
        for length in (4, 7, 4, 9):
            x = torch.randn(length).to(droplet)
            assert_same(compiled(x), x[: length // 2] * 2 + length // 2)
    assert plans(compiled) == [3]
    assert "has a plan for each tuple of sizes: the expression FloorDiv" in caplog.text


def test_an_input_that_is_a_real_number(graphs: ModuleType, droplet: Any) -> None:
    import torch

    x = torch.randn(3).to(droplet)
    with torch._dynamo.config.patch(specialize_float=False):
        compiled = Compiled(graphs, lambda x, factor: x * factor + 1, dynamic=True)
        for factor in (0.5, 1.5, 2.5, 0.5):
            assert_same(compiled(x, factor), x * factor + 1)


def test_switches_see_calls_of_any_size(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    compiled = Compiled(graphs, lambda x: x.exp().sin() + torch.arange(x.shape[0], device=x.device), dynamic=True)
    expected = {}
    for length in (3, 4, 5):
        expected[length] = torch.linspace(0, 1, length).to(droplet)
        compiled(expected[length])
    with torch_droplet.force_fallback("exp"):
        torch_droplet.reset_fallback_report()
        for length, x in expected.items():
            torch.testing.assert_close(compiled(x).cpu(), x.cpu().exp().sin() + torch.arange(length))
        assert torch_droplet.fallback_report()["exp"] == 3


def test_threads_with_sizes_of_their_own(graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """More sizes than are cached, at once, on streams of their own."""
    import torch

    monkeypatch.setattr(graphs, "PLANS", 2)
    module = torch.get_device_module(droplet)

    def function(x: Any) -> Any:
        return torch.softmax(x @ x.t(), -1) @ x + torch.arange(x.shape[1], device=x.device)

    compiled = Compiled(graphs, function, dynamic=True)
    inputs = [torch.randn(length, 4).to(droplet) for length in range(3, 9)]
    expected = [function(x).cpu() for x in inputs]
    compiled(inputs[0])
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            with module.stream(module.Stream(droplet)):
                for k in range(24):
                    index = (first + k) % len(inputs)
                    torch.testing.assert_close(compiled(inputs[index]).cpu(), expected[index])
        except BaseException as failure:
            failures.append(failure)

    module.synchronize()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert compiled.statistics[0]["cached"] == 2


def test_sizes_that_are_forgotten_free_their_memory(
    graphs: ModuleType, droplet: Any, nothing_left: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    module = torch.get_device_module(droplet)
    monkeypatch.setattr(graphs, "PLANS", 1)

    def function(x: Any) -> Any:
        return (x.exp() @ x.t()).sin() @ x + torch.arange(x.shape[0], device=x.device).float().cos().unsqueeze(1)

    compiled = Compiled(graphs, function, dynamic=True)
    used = []
    for length in (40, 60, 40):
        compiled(torch.randn(length, 32).to(droplet))
        gc.collect()
        used.append(module.memory_allocated())
    assert used[0] == used[2] < used[1]
    assert compiled.statistics[0] | {"cached": 1, "sized": 3} == compiled.statistics[0]
    del compiled
    torch._dynamo.reset()
    gc.collect()


def test_an_arena_fits_each_size(graphs: ModuleType, droplet: Any) -> None:
    """At most 1.1 times the bytes that live at one step, whatever the length."""
    import json

    import torch
    from diopi_torch.planner import plan

    layer = torch.nn.TransformerEncoderLayer(16, 4, 64, batch_first=True, dropout=0.0).to(droplet)
    compiled = Compiled(graphs, layer, dynamic=True)
    compiled(torch.randn(2, 8, 16).to(droplet)).sum().backward()
    for graph in compiled.graphs:
        values = {source.symbol: 8 for source in graph._sources}
        planned = plan(graph.module, values)
        steps = range(len(planned.document["steps"]))
        for length in (2, 5, 33, 400):
            symbols = [length for _ in planned.hints]
            resolved = json.loads(torch.ops.diopi.resolve_graph(planned.text(), symbols))
            integers, _ = torch.ops.diopi.evaluate(json.dumps(planned.document["expressions"]), symbols)
            storages = [
                (integers[one["bytes"]["expression"]] if isinstance(one["bytes"], dict) else one["bytes"], one)
                for one in planned.document["storages"]
            ]
            padded = [(max(64, -(-size // 64) * 64), one["first"], one["last"]) for size, one in storages]
            peak = max((sum(n for n, first, last in padded if first <= k <= last) for k in steps), default=0)
            assert peak <= resolved["arena"] <= 1.1 * peak
