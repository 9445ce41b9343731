"""Graphs that droplet runs as a whole: the same results as step by step, by one submission to its queue."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("fresh_compiler")


@pytest.fixture
def submissions(backend: Any, droplet: Any) -> Callable[[Callable[[], Any]], int]:
    """Number of times that a call submits work to the device."""
    import torch

    counted = ctypes.CDLL(str(backend.vendor)).diopigenSimSubmissions
    counted.restype = ctypes.c_uint64

    def run(call: Callable[[], Any]) -> int:
        torch.get_device_module(droplet).synchronize()
        before = int(counted())
        call()
        torch.get_device_module(droplet).synchronize()
        return int(counted()) - before

    return run


def chain(x: Any, y: Any) -> Any:
    """Products, a softmax and elementwise operators, which droplet has."""
    import torch

    scores = torch.softmax(x @ y.t() * 0.5, -1)
    return (scores @ y).relu() + x, scores.transpose(0, 1)


def compiled(graphs: ModuleType, function: Any, *arguments: Any) -> tuple[Any, Any]:
    """The graph of an inference and the list of its inputs."""
    import torch
    from torch._dynamo.backends.common import aot_autograd

    found = []

    def record(module: Any, inputs: Any) -> Any:
        found.append(graphs.compile_graph(module, inputs))
        return found[-1]

    with torch.no_grad():
        result = torch.compile(function, backend=aot_autograd(fw_compiler=record))(*arguments)
    (graph,) = found
    return graph, result


@pytest.mark.parametrize("size", [8, 96])
def test_a_run_is_one_submission(
    graphs: ModuleType,
    droplet: Any,
    submissions: Callable[..., int],
    size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    x, y = torch.randn(size, size).to(droplet), torch.randn(size, size).to(droplet)
    graph, result = compiled(graphs, chain, x, y)
    assert graph.program(()).statistics()["whole"] == 1
    for _ in range(2):
        assert submissions(lambda: graph([x, y])) == 1
    monkeypatch.setenv("DIOPI_COMPILE_GRAPH", "0")
    torch._dynamo.reset()
    single, expected = compiled(graphs, chain, x, y)
    assert single.program(()).statistics()["whole"] == 0
    assert submissions(lambda: single([x, y])) >= 4
    for one, other in zip(result, expected, strict=True):
        assert torch.equal(one.cpu(), other.cpu()) and one.stride() == other.stride()


def test_training_and_changing_inputs(graphs: ModuleType, droplet: Any) -> None:
    """Inputs of later runs, gradients, and memory that is used again by the next graph."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.GELU(), torch.nn.Linear(24, 3)).to(droplet)
    call = torch.compile(model, backend=graphs.backend)
    for _ in range(4):
        x = torch.randn(7, 12).to(droplet)
        found = []
        for each in (call, model):
            model.zero_grad()
            value = each(x).square().mean()
            value.backward()
            found.append([value.detach().cpu(), *(p.grad.cpu() for p in model.parameters())])
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other)


def test_a_function_that_leaves_its_call_to_others(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any) -> None:
    """Operators that run on the CPU within a graph see the results of work queued before."""
    import torch

    def function(x: Any) -> Any:
        return torch.cummax(x * 2 + 1, 0).values * 3

    x = torch.randn(40, 30).to(droplet)
    graph, result = compiled(graphs, function, x)
    for _ in range(3):
        (again,) = graph([x])
        assert torch.equal(again.cpu(), result.cpu())
    torch.testing.assert_close(result.cpu(), function(x.cpu()))


def test_a_step_that_fails_is_named(graphs: ModuleType, droplet: Any) -> None:
    """As step by step; the graph can be run again."""
    import torch
    from diopi_torch.planner import plan

    x, y = torch.randn(3, 4).to(droplet), torch.randn(5, 4).to(droplet)
    graph, _ = compiled(graphs, lambda x, y: torch.mm(x * 2, y.t()), x, y)
    planned = plan(graph.module, {})
    (step,) = [one for one in planned.document["steps"] if one.get("function") == "diopiMm"]
    slot = planned.document["slots"][step["operands"][0]]
    slot["sizes"], slot["strides"] = [2, 5], [5, 1]
    program = graphs.Program(planned)
    assert program.statistics()["whole"] == 1
    for _ in range(2):
        torch.ops.diopi.stage([x, y])
        with pytest.raises(RuntimeError, match=r"mm: diopiMm returns(.|\n)*in node 'mm' of a compiled graph"):
            torch.ops.diopi.run_program(program.number)


def test_faults_in_the_document(graphs: ModuleType, droplet: Any) -> None:
    """Droplet says what is wrong with a document, and where."""
    import torch
    from diopi_torch.planner import plan

    x, y = torch.randn(8, 8).to(droplet), torch.randn(8, 8).to(droplet)
    graph, _ = compiled(graphs, chain, x, y)
    good = plan(graph.module, {}).resolved()
    check = torch.ops.diopi.check_graph
    assert check(json.dumps(good)) == ""
    inside = next(k for k, slot in enumerate(good["slots"]) if slot["kind"] == "arena")
    fused = next((k for k, step in enumerate(good["steps"]) if "kernel" in step), None)

    def damaged(change: Callable[[Any], None]) -> str:
        document = json.loads(json.dumps(good))
        change(document)
        return str(check(json.dumps(document)))

    start = "the device fails to take a graph (code"
    assert check("{").startswith(start) and "JSON: expected a text at character 1" in check("{")
    assert "expected the version 1, not 2" in damaged(lambda d: d.update(version=2))
    assert f"slot {inside}: expected memory inside the arena" in damaged(lambda d: d.update(arena=1))
    assert "slot 0: expected a kind of slot that the device knows, not 'other'" in damaged(
        lambda d: d["slots"][0].update(kind="other")
    )
    assert "step 0 (" in damaged(lambda d: d["steps"].__setitem__(0, {"node": "n"}))
    assert "expected a function or a kernel" in damaged(lambda d: d["steps"].__setitem__(0, {"node": "n"}))
    assert "JSON: expected a list" in damaged(lambda d: d.update(steps=None))
    if fused is not None:
        assert f"step {fused} (" in damaged(lambda d: d["steps"][fused]["kernel"]["buffers"][0].update(slot=999))
