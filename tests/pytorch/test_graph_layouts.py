"""Layouts of images in compiled graphs: channels last between the functions that demand it, and nowhere else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from saved_files import document_of

pytestmark = pytest.mark.usefixtures("fresh_compiler")


class Choices:
    """Layouts selected for each graph."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    @property
    def counts(self) -> list[tuple[int, int]]:
        """Of each graph, the tensors that shims would convert, and the conversions that remain."""
        return [(one.before, one.after) for one in self.all]


@pytest.fixture
def choices(graphs: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Choices:
    """Records."""
    found = Choices()
    choose = graphs.layouts.chosen

    def record(*arguments: Any) -> Any:
        found.all.append(choose(*arguments))
        return found.all[-1]

    monkeypatch.setattr(graphs.layouts, "chosen", record)
    return found


def block(droplet: Any) -> Any:
    """A residual block with a pool in front and a head behind."""
    import torch

    class Block(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
            self.second = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
            self.norm = torch.nn.BatchNorm2d(8)
            self.head = torch.nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            x = torch.nn.functional.max_pool2d(self.first(x).relu(), 2)
            x = torch.nn.functional.relu(self.norm(self.second(x)) + x)
            return self.head(x.mean((2, 3))), x

    return Block().to(droplet)


def trained(model: Any, call: Callable[..., Any], x: Any) -> list[Any]:
    """Results and gradients."""
    model.zero_grad()
    x = x.detach().requires_grad_()
    score, image = call(x)
    (score.square().mean() + image.sin().sum()).backward()
    return [score.detach(), image.detach(), x.grad, *(p.grad for p in model.parameters()), *model.buffers()]


def assert_same(found: list[Any], expected: list[Any]) -> None:
    """Values within the tolerance of the dtype, and strides."""
    import torch

    for one, other in zip(found, expected, strict=True):
        assert one.stride() == other.stride()
        torch.testing.assert_close(one.cpu(), other.cpu())


def test_training_is_as_in_eager_with_fewer_conversions(graphs: ModuleType, droplet: Any, choices: Choices) -> None:
    """Left are, forwards, the image and two weights, since a kernel writes the result as it has to be; backwards two
    weights, their gradients, the image, and its gradient."""
    import torch

    model = block(droplet)
    twin = copy.deepcopy(model)
    call = torch.compile(model, backend=graphs.backend)
    x = torch.randn(2, 3, 8, 8).to(droplet)
    for _ in range(2):
        assert_same(trained(model, call, x), trained(twin, twin, x))
    (forward, backward) = choices.counts
    assert forward == (6, 3) and backward == (10, 6)


def test_an_inference_and_the_strides_of_its_results(graphs: ModuleType, droplet: Any, choices: Choices) -> None:
    """Results, their views and what a function without a choice reads have the strides of eager mode."""
    import torch

    model = block(droplet).eval()

    def function(x: Any) -> Any:
        y = model.first(x)
        return y, y.flatten(1), model.second(y), y[:, 1:3], torch.cumsum(y, 1), (y * 2).transpose(1, 3), y.sum(1)

    x = torch.randn(2, 3, 8, 8).to(droplet)
    with torch.no_grad():
        assert_same(list(torch.compile(function, backend=graphs.backend)(x)), list(function(x)))
    assert choices.counts == [(6, 5)]


def test_inputs_that_have_their_channels_last_stay_as_they_are(
    graphs: ModuleType, droplet: Any, choices: Choices
) -> None:
    import torch

    model = block(droplet).eval().to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last).to(droplet)
    with torch.no_grad():
        found, expected = torch.compile(model, backend=graphs.backend)(x), model(x)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other.cpu())
    (choice,) = choices.all
    (converted,) = [node for node in choice.conversions if node.meta["diopi_layout"] == "channels_last"] or [None]
    assert converted is None and choice.after <= choice.before


def test_graphs_without_demands_are_left_alone(
    graphs: ModuleType, droplet: Any, choices: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose operators have none, and any on a chip that has none."""
    import torch

    from diopi_torch import layout_roles

    call = torch.compile(lambda x: torch.softmax(x @ x.t(), -1).relu() + 1, backend=graphs.backend)
    with torch.no_grad():
        call(torch.randn(8, 8).to(droplet))
    assert choices.counts == [(0, 0)] and not choices.all[0].changed
    before = list(choices.all[0].module.graph.nodes)
    assert choices.all[0].module is graphs.layouts.chosen(choices.all[0].module).module
    assert before == list(choices.all[0].module.graph.nodes)
    for module in (graphs.layouts, layout_roles):
        monkeypatch.setattr(module, "layouts", dict)
    model = block(droplet).eval()
    x = torch.randn(2, 3, 8, 8).to(droplet)
    with torch.no_grad():
        assert_same(list(torch.compile(model, backend=graphs.backend)(x)), list(model(x)))
    assert not choices.all[-1].changed and not choices.all[-1].conversions
    targets = {node.target for node in choices.all[-1].module.graph.nodes}
    assert torch.ops.aten.clone.default not in targets


def test_sizes_that_change(graphs: ModuleType, droplet: Any, choices: Choices) -> None:
    """Strides are expressions of the symbols; a forward graph keeps the strides of what it saves."""
    import torch

    model = block(droplet)
    twin = copy.deepcopy(model)
    call = torch.compile(model, backend=graphs.backend, dynamic=True)
    for batch, size in ((2, 8), (3, 12), (5, 6)):
        x = torch.randn(batch, 3, size, size).to(droplet)
        assert_same(trained(model, call, x), trained(twin, twin, x))
    (forward, backward) = choices.counts
    assert forward[1] <= forward[0] and backward[1] < backward[0] and len(choices.all[1].changed) > 2


def test_weights_of_a_saved_graph_are_converted_once(droplet: Any, tmp_path: Path) -> None:
    """The file has each weight once, in its layout; what runs converts the image and the result."""
    import torch

    from diopi_torch import export

    model = block(droplet).eval()
    x = torch.randn(2, 3, 8, 8).to(droplet)
    export.save(model, (x,), tmp_path / "block.diopi")
    content = document_of(tmp_path / "block.diopi")
    plan = content["plans"][0]["plan"]
    converted = [layout for step in plan["steps"] for layout in step.get("converts", {}).values()]
    assert sorted(converted) == ["channels_last"]
    assert sum(len(one["sizes"]) == 4 for one in content["constants"]) == 2
    with torch.no_grad():
        assert_same(export.load(tmp_path / "block.diopi")(x), list(model(x)))


def test_the_plan_the_log_and_the_report_name_layouts(
    graphs: ModuleType,
    droplet: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    import torch
    from diopi_torch.planner import plan

    monkeypatch.setenv("DIOPI_COMPILE_LOG", "layout")
    monkeypatch.setenv("DIOPI_COMPILE_REPORT", str(tmp_path / "graphs.json"))
    found = []

    def backend(module: Any, inputs: Any) -> Any:
        from torch._dynamo.backends.common import aot_autograd

        def compiler(inner: Any, values: Any) -> Any:
            found.append(graphs.compile_graph(inner, values))
            return found[-1]

        return aot_autograd(fw_compiler=compiler)(module, inputs)

    layer = torch.nn.Conv2d(3, 8, 3).to(droplet)
    with torch.no_grad():
        torch.compile(lambda x: layer(x).relu() + 1, backend=backend)(torch.randn(2, 3, 8, 8).to(droplet))
    (step,) = [one for one in plan(found[0].module, {}).document["steps"] if "layouts" in one]
    expected = dict.fromkeys(("input", "weight", "result 0"), "channels_last")
    assert step["function"] == "diopiConvolution2d" and step["layouts"] == expected
    text = capfd.readouterr().err
    assert "convolution (convolution): input channels_last, weight channels_last, result 0 channels_last" in text
    assert "3 conversions of shims became 2, 1 values changed" in text
    (graph,) = [json.loads(line) for line in (tmp_path / "graphs.json").read_text().splitlines()]
    assert graph["layouts"][0]["layouts"] == expected
    assert [one["to"] for one in graph["conversions"]] == ["channels_last"] * 2


def test_a_switch_between_forward_and_backward(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any) -> None:
    """While calls are watched they go through the dispatcher, and give the strides that the other graph expects."""
    import torch

    model = block(droplet)
    twin = copy.deepcopy(model)
    call = torch.compile(model, backend=graphs.backend)
    x = torch.randn(2, 3, 8, 8).to(droplet)
    for forward, backward in ((False, True), (True, False), (True, True)):
        for module, run in ((model, call), (twin, twin)):
            module.zero_grad()
            with torch_droplet.force_fallback("cos" if forward else ""):
                score, image = run(x)
            with torch_droplet.force_fallback("cos" if backward else ""):
                (score.sum() + image.sum()).backward()
        assert_same([p.grad for p in model.parameters()], [p.grad for p in twin.parameters()])


def test_a_graph_without_a_plan_has_the_strides_of_eager_mode(
    graphs: ModuleType, droplet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch runs the forward graph; what it saves is what the backward graph was planned for."""
    import torch
    from diopi_torch.graph_nodes import Unplanned

    make, calls = graphs.plan, []

    def plan(*arguments: Any, **options: Any) -> Any:
        calls.append("plan")
        if len(calls) == 1:
            raise Unplanned("no plan today")
        return make(*arguments, **options)

    monkeypatch.setattr(graphs, "plan", plan)
    model = block(droplet)
    twin = copy.deepcopy(model)
    x = torch.randn(2, 3, 8, 8).to(droplet)
    assert_same(trained(model, torch.compile(model, backend=graphs.backend), x), trained(twin, twin, x))
    assert len(calls) > 1
