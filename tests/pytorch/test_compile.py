"""`torch.compile` with the backend `diopi`: graphs that run without Python give what eager gives."""

from __future__ import annotations

import gc
import importlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch_build
from compiled import Compiled, assert_same

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/droplet"


pytestmark = pytest.mark.usefixtures("fresh_compiler")


def test_a_graph_runs_as_steps_over_one_arena(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(x: Any, y: Any) -> Any:
        a = (x * 2 + y).relu()
        b = torch.softmax(a @ y.t(), -1)
        return (b / (b.sum(-1, keepdim=True) + 1)).mean(), a.view(-1)[3:], a > 0.5, b.to(torch.float16)

    x, y = torch.randn(8, 16).to(droplet), torch.randn(8, 16).to(droplet)
    compiled = Compiled(graphs, function)
    for _ in range(2):
        assert_same(compiled(x, y), function(x, y))
    (statistics,) = compiled.statistics
    assert statistics["dispatched"] == 1, torch.ops.diopi.compiled_calls()  # the conversion that the model asks for
    assert statistics["arena_bytes"] > 0 and statistics["instances"] == 1


def test_forward_and_backward_of_a_net(graphs: ModuleType, droplet: Any) -> None:
    import torch

    layers = [torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)]
    model = torch.nn.Sequential(*layers).to(droplet)
    x = torch.randn(8, 16).to(droplet)

    def gradients(call: Callable[..., Any]) -> list[Any]:
        model.zero_grad()
        loss = call(x).square().mean()
        loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters())]

    compiled = Compiled(graphs, model)
    for _ in range(2):
        assert_same(gradients(compiled), gradients(model))
    assert len(compiled.graphs) == 2  # forward and backward


def test_outputs_are_not_in_the_arena(graphs: ModuleType, droplet: Any) -> None:
    """Trap 3: what a run returned is not what the next one writes; nor is a view of it."""
    import torch

    compiled = Compiled(graphs, lambda x: ((x * 2).view(-1)[2:], x.sin().t(), x))
    x = torch.randn(3, 4).to(droplet)
    first = compiled(x)
    before = [one.cpu() for one in first]
    compiled(x + 1)
    assert all(torch.equal(one.cpu(), other) for one, other in zip(first, before, strict=True))
    assert first[2] is x


def test_layouts_of_results_are_those_of_the_graph(graphs: ModuleType, droplet: Any) -> None:
    """Trap 2: strides of clone, softmax and mean follow their operands."""
    import torch

    def function(x: Any) -> Any:
        y = x.permute(2, 0, 1)
        return y.clone(), torch.softmax(y, -1), y.mean(1, keepdim=True), y.exp(), y.contiguous() * 2

    x = torch.randn(2, 3, 4).to(droplet)
    assert_same(Compiled(graphs, function)(x), function(x))


def test_streams_and_threads_have_arenas_of_their_own(graphs: ModuleType, droplet: Any) -> None:
    """Trap 4: two threads that run one graph on two streams at once."""
    import torch

    def function(x: Any) -> Any:
        for _ in range(6):
            x = torch.tanh(x @ x) * 0.5
        return x

    module = torch.get_device_module(droplet)
    compiled = Compiled(graphs, function)
    inputs = [torch.randn(16, 16).to(droplet) for _ in range(2)]
    expected = [function(x).cpu() for x in inputs]
    with torch.no_grad():
        compiled(inputs[0])
    graph = compiled.graphs[0]
    wrong: list[int] = []

    def run(k: int) -> None:
        with module.stream(module.Stream()):
            for _ in range(20):
                (result,) = graph([inputs[k]])
                if not torch.allclose(result.cpu(), expected[k], atol=1e-6):
                    wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert graph.program(()).statistics()["instances"] >= 2


def test_a_failing_function_is_named_with_the_line_of_the_model(graphs: ModuleType, droplet: Any) -> None:
    """Trap 5: the result of the product is made too small in the plan."""
    import torch
    from diopi_torch.planner import plan

    compiled = Compiled(graphs, lambda x, y: torch.mm(x, y.t()))
    x, y = torch.randn(3, 4).to(droplet), torch.randn(5, 4).to(droplet)
    with torch.no_grad():
        compiled(x, y)
    planned = plan(compiled.graphs[0].module, {})
    (step,) = [one for one in planned.document["steps"] if one.get("function") == "diopiMm"]
    slot = planned.document["slots"][step["operands"][0]]
    slot["sizes"], slot["strides"] = [2, 5], [5, 1]
    program = graphs.Program(planned)
    torch.ops.diopi.stage([x, y])
    with pytest.raises(RuntimeError) as caught:
        torch.ops.diopi.run_program(program.number)
    text = str(caught.value)
    assert "mm: diopiMm returns" in text and "in node 'mm' of a compiled graph" in text
    assert "test_compile.py" in text and "torch.mm(x, y.t())" in text


def test_random_operators_advance_the_generator_as_eager_does(graphs: ModuleType, droplet: Any) -> None:
    """Trap 6."""
    import torch

    def function(x: Any) -> Any:
        return torch.nn.functional.dropout(x, 0.5) + torch.rand_like(x)

    x = torch.ones(64).to(droplet)
    compiled = Compiled(graphs, function)
    states = []
    results = []
    for call in (function, compiled):
        torch.manual_seed(7)
        results.append([call(x).cpu() for _ in range(2)])
        states.append(torch.get_device_module(droplet).get_rng_state())
    assert torch.equal(states[0], states[1])
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))
    assert not torch.equal(*results[0])


def test_what_the_table_lacks_goes_through_the_dispatcher_and_is_named(
    graphs: ModuleType, torch_droplet: ModuleType, droplet: Any
) -> None:
    """Trap 7: in the middle of the graph, on the CPU where the device has no kernel either."""
    import torch

    def function(x: Any) -> Any:
        return torch.special.bessel_j0(x * 2) + 1

    x = torch.rand(5).to(droplet)
    expected = function(x)
    torch_droplet.reset_fallback_report()
    compiled = Compiled(graphs, function)
    assert_same(compiled(x), expected)
    assert torch_droplet.fallback_report(compiled=True) == {"special_bessel_j0": 1}
    assert sum(torch_droplet.fallback_report().values()) == 1  # below it, as in eager
    assert compiled.statistics[0]["steps"] == 3


def test_inputs_may_be_written_and_buffers_are_updated(graphs: ModuleType, droplet: Any) -> None:
    """Trap 8."""
    import torch

    def function(x: Any, y: Any) -> Any:
        x.add_(y)
        x[0] = 7
        return x * 2

    inputs = [torch.randn(3, 2).to(droplet) for _ in range(2)]
    own, other = inputs[0].clone(), inputs[0].clone()
    version = own._version
    with torch.no_grad():
        result, expected = Compiled(graphs, function)(own, inputs[1]), function(other, inputs[1])
    assert_same([own, result], [other, expected])
    assert own._version > version
    norm = torch.nn.BatchNorm1d(2).to(droplet)
    twin = torch.nn.BatchNorm1d(2).to(droplet)
    assert_same(Compiled(graphs, norm)(inputs[1]), twin(inputs[1]))
    assert_same([norm.running_mean, norm.running_var], [twin.running_mean, twin.running_var])
    assert norm.num_batches_tracked.item() == 1


def test_inputs_without_gradients_and_numbers_first(graphs: ModuleType, droplet: Any) -> None:
    """Trap 9: backward graphs return None where no gradient is asked for, and subtract from numbers."""
    import torch

    def function(x: Any, y: Any) -> Any:
        return ((1 - torch.tanh(x)) * y).sum() + (2 / (x * x + 1)).sum()

    x = torch.randn(4).to(droplet).requires_grad_()
    y = torch.randn(4).to(droplet)
    compiled = Compiled(graphs, function)
    compiled(x, y).backward()
    actual, x.grad = x.grad, None
    function(x, y).backward()
    assert_same(actual, x.grad)
    assert y.grad is None


def test_operators_with_several_results(graphs: ModuleType, droplet: Any) -> None:
    """Trap 10: each result has a storage of its own; results that nothing reads are dropped."""
    import torch

    def function(x: Any) -> Any:
        values, indices = torch.topk(x, 2)
        ordered, order = torch.sort(x, dim=0)
        parts = torch.split(x, 2, dim=1)
        return values * 2, indices, ordered + parts[0].sum(), order, x.max(1).values, torch.var_mean(x)

    x = torch.randn(5, 6).to(droplet)
    assert_same(Compiled(graphs, function)(x), function(x))


def test_saved_activations_may_be_overwritten_once(graphs: ModuleType, droplet: Any) -> None:
    """Donated buffers: the backward graph frees them, and a second backward pass is rejected by PyTorch."""
    import torch

    x = torch.randn(6, 6).to(droplet).requires_grad_()
    compiled = Compiled(graphs, lambda x: (x.sin() @ x.cos()).exp().sum())
    compiled(x).backward()
    with pytest.raises(RuntimeError, match=r"donated buffer|second time"):
        loss = compiled(x)
        loss.backward(retain_graph=True)


def test_switches_work_below_a_compiled_graph(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    compiled = Compiled(graphs, lambda x: torch.relu(x) * 3)
    x = torch.randn(9).to(droplet)
    expected = compiled(x).cpu()
    torch_droplet.reset_fallback_report()
    with torch_droplet.force_fallback("relu"):
        assert torch.equal(compiled(x).cpu(), expected)
    assert torch_droplet.fallback_report() == {"relu": 1}


def test_dtypes_of_a_graph_are_promoted_as_eager_does(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(i: Any, h: Any, f: Any) -> Any:
        return (
            i + 1.5,
            i / 2,
            h * 2 + f,
            i > h,
            h.sum(),
            i.sum(),
            (i * 3).to(torch.float16) + h,
            torch.where(i > 1, f, 0.0),
        )

    i = torch.arange(-3, 3).to(torch.int32).to(droplet)
    h, f = torch.randn(6).to(torch.float16).to(droplet), torch.randn(2, 6).to(droplet)
    assert_same(Compiled(graphs, function)(i, h, f), function(i, h, f))


def test_sizes_that_depend_on_data(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(x: Any) -> Any:
        return torch.nonzero(x * 2).float() + 1

    x = torch.tensor([0.0, 1.0, 0.0, 2.0]).to(droplet)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = Compiled(graphs, function)
        assert_same(compiled(x), function(x))
        assert_same(compiled(x + 1), function(x + 1))


def test_memory_of_temporaries_is_planned(graphs: ModuleType, droplet: Any) -> None:
    """The arena has at most 1.1 times the bytes that are live at one step."""
    import torch
    from diopi_torch.planner import plan

    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0).to(droplet)
    compiled = Compiled(graphs, layer)
    compiled(torch.randn(2, 8, 32).to(droplet)).sum().backward()
    for graph in compiled.graphs:
        planned = plan(graph.module, {})
        storages = [(-(-one["bytes"] // 64) * 64, one["first"], one["last"]) for one in planned.document["storages"]]
        steps = range(len(planned.document["steps"]))
        peak = max(sum(size for size, first, last in storages if first <= step <= last) for step in steps)
        assert peak <= planned.resolved()["arena"] <= 1.1 * peak
        assert planned.resolved()["arena"] <= sum(size for size, _, _ in storages)


def test_a_graph_frees_its_memory(graphs: ModuleType, droplet: Any, nothing_left: None) -> None:
    import torch

    compiled = Compiled(graphs, lambda x: (x.exp() @ x).sin() + 1)
    compiled(torch.randn(32, 32).to(droplet))
    del compiled
    torch._dynamo.reset()
    gc.collect()


def test_twenty_lengths_are_two_compilations(graphs: ModuleType, droplet: Any) -> None:
    import torch

    def function(x: Any, y: Any) -> Any:
        return torch.softmax(x @ y, -1).reshape(-1) * x.shape[0]

    y = torch.randn(4, 5).to(droplet)
    compiled = Compiled(graphs, function)
    for length in range(2, 22):
        x = torch.randn(length, 4).to(droplet)
        assert_same(compiled(x, y), function(x, y))
    assert len(compiled.graphs) <= 2
    assert [graph.plans for graph in compiled.graphs] == [1] * len(compiled.graphs)
    assert compiled.statistics[-1]["sized"] == 19


def test_plans_for_sizes_are_kept_up_to_a_number(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(graphs, "PLANS", 3)
    compiled = Compiled(graphs, lambda x: x.exp() + x.shape[0], dynamic=True)
    for length in (2, 3, 4, 5, 2, 5):
        compiled(torch.randn(length).to(droplet))
    (graph,), (statistics,) = compiled.graphs, compiled.statistics
    assert graph.plans == 1 and statistics["sized"] == 5 and statistics["cached"] == 3


def test_the_page_about_it_runs(graphs: ModuleType, torch_droplet: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    patterns = importlib.import_module("diopi_torch.patterns")
    monkeypatch.setattr(patterns, "_PATTERNS", dict(patterns.registered()))  # the page adds one
    torch._dynamo.register_backend(graphs.backend, name="diopi")
    text = (ROOT / "docs/compile.md").read_text()
    variables: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(block, variables)
    assert variables["loss"].grad_fn is not None
    assert torch_droplet.fallback_report(compiled=True) == {}


@pytest.mark.slow
def test_pytorch_finds_the_backend_by_its_entry_point(graphs: ModuleType, tmp_path: Path) -> None:
    """In a process of its own, with the metadata of the package as its wheel has them."""
    folder = tmp_path / "diopi_torch-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: diopi-torch\nVersion: 0.1.0\n")
    project = (ROOT / "diopi_torch/pyproject.toml").read_text()
    (entry,) = re.findall(r'^\[project.entry-points."torch_dynamo_backends"\]\n(\w+) = "(.*)"$', project, re.M)
    (folder / "entry_points.txt").write_text(f"[torch_dynamo_backends]\n{entry[0]} = {entry[1]}\n")
    code = (
        "import torch, torch_droplet\n"
        "call = torch.compile(lambda x: x * 2 + 1, backend='diopi')\n"
        "print(call(torch.ones(2, device='droplet')).cpu().tolist())\n"
        "print(torch.ops.diopi.program_statistics(0)['steps'])\n"
    )
    path = os.pathsep.join([str(tmp_path), *torch_build.PATHS])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[3.0,", "3.0]", "1"]
