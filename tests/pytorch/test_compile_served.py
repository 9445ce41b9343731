"""Calls of compiled graphs without the dispatcher: overloads with a rule of their own, numbers, and constants."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch_build

pytestmark = pytest.mark.usefixtures("fresh_compiler")


def train(module: Any, call: Callable[..., Any], x: Any) -> list[Any]:
    """Results, gradients and buffers of two steps."""
    found = []
    for _ in range(2):
        module.zero_grad()
        result = call(x)
        result.float().square().mean().backward()
        found += [result, *(p.grad for p in module.parameters()), *module.buffers()]
    return [one.detach().cpu() for one in found if one is not None]


def check(graphs: ModuleType, torch_droplet: ModuleType, make: Callable[[], Any], x: Any) -> dict[str, int]:
    """Compares two steps with eager; returns what went through the dispatcher."""
    import torch

    module, twin = make(), make()
    twin.load_state_dict(module.state_dict())
    module.to(x.device), twin.to(x.device)
    expected = train(twin, twin, x)
    torch_droplet.reset_fallback_report()
    for one, other in zip(train(module, torch.compile(module, backend=graphs.backend), x), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
    report: dict[str, int] = torch_droplet.fallback_report(compiled=True)
    return report


def layers(*names: str) -> Callable[[], Any]:
    """A small net of these."""
    import torch

    nn = torch.nn
    known: dict[str, Callable[[], Any]] = {
        "conv": lambda: nn.Conv2d(4, 4, 3, padding=1, groups=2),
        "conv3d": lambda: nn.Conv3d(4, 4, 3, padding=1, bias=False),
        "transposed": lambda: nn.ConvTranspose2d(4, 4, 2, stride=2),
        "batch": lambda: nn.BatchNorm2d(4),
        "group": lambda: nn.GroupNorm(2, 4),
        "layer": lambda: nn.LayerNorm(6),
        "rms": lambda: nn.RMSNorm(6),
        "select": lambda: _Part(),
    }
    return lambda: nn.Sequential(*(known[name]() for name in names))


def _Part() -> Any:
    import torch

    class Part(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x.select(1, -2) * 2 + x[:, 1:3].sum(1)

    return Part()


@pytest.mark.parametrize(
    "names",
    [
        ("conv", "batch", "group", "layer", "rms", "select"),
        ("transposed", "batch"),
        ("conv3d",),
    ],
    ids="-".join,
)
def test_layers_are_calls_of_functions(
    graphs: ModuleType, torch_droplet: ModuleType, droplet: Any, names: tuple[str, ...]
) -> None:
    import torch

    x = torch.randn(2, 4, 3, 6, 6) if "conv3d" in names else torch.randn(2, 4, 6, 6)
    assert check(graphs, torch_droplet, layers(*names), x.to(droplet)) == {}


def test_statistics_in_evaluation(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4)).to(droplet)
    module(torch.randn(2, 3, 5, 5).to(droplet))
    module.eval()
    x = torch.randn(2, 3, 5, 5).to(droplet)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(module, backend=graphs.backend)(x).cpu(), module(x).cpu())
    assert torch_droplet.fallback_report(compiled=True) == {}


@pytest.mark.parametrize("length", [1, 5])
def test_attention_in_half_precision(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any, length: int) -> None:
    """Forward and backward are one call each, as in eager."""
    import torch

    attention = torch.nn.functional.scaled_dot_product_attention
    given = [torch.randn(2, length, 3, 8).to(torch.bfloat16).to(droplet).transpose(1, 2) for _ in range(3)]

    def gradients(call: Callable[..., Any]) -> list[Any]:
        own = [one.detach().clone().requires_grad_() for one in given]
        result = call(*own)
        result.float().square().sum().backward()
        return [result.detach().cpu(), *(one.grad.cpu() for one in own)]

    compiled = torch.compile(lambda q, k, v: attention(q, k, v, is_causal=length > 1), backend=graphs.backend)
    expected = gradients(lambda q, k, v: attention(q, k, v, is_causal=length > 1))
    for one, other in zip(gradients(compiled), expected, strict=True):
        assert torch.equal(one, other)
    assert torch_droplet.fallback_report(compiled=True) == {}


def test_a_masked_attention_and_embeddings(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(9, 8, padding_idx=0)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens)[:, None]
            mask = (tokens != 0)[:, None, None]
            rows = torch.arange(tokens.shape[1], device=tokens.device) * 0.5
            mixed = torch.nn.functional.scaled_dot_product_attention(x, x, x, mask)
            return torch.stack([mixed[:, 0] + rows[:, None], mixed[:, 0] - 1.5])

    tokens = torch.tensor([[1, 2, 0], [3, 0, 0]]).to(droplet)
    assert check(graphs, torch_droplet, Net, tokens) == {}


def test_a_recurrent_net_where_dynamo_is_allowed_to_trace_it(
    graphs: ModuleType, torch_droplet: ModuleType, droplet: Any
) -> None:
    """By default dynamo leaves LSTM, GRU and RNN to eager mode, and there is no graph."""
    import torch

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(4, 5, num_layers=2, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    x = torch.randn(2, 3, 4).to(droplet)
    with torch._dynamo.config.patch(allow_rnn=True):
        assert check(graphs, torch_droplet, Net, x) == {}


def test_the_backward_pass_is_outside_autocast_as_in_eager(graphs: ModuleType, droplet: Any) -> None:
    """PyTorch's default compiles it inside, where products of float32 would be rounded to bfloat16."""
    import torch

    x, w = torch.randn(4, 4).to(droplet), torch.randn(4, 4).to(droplet)

    def gradient(call: Callable[..., Any]) -> Any:
        own = w.clone().requires_grad_()
        with torch.autocast("droplet", dtype=torch.bfloat16):
            result = call(x, own)
        result.sum().backward()
        return own.grad

    def function(x: Any, w: Any) -> Any:
        with torch.autocast("droplet", enabled=False):
            square = w @ w
        return x @ square

    assert torch.equal(gradient(torch.compile(function, backend=graphs.backend)).cpu(), gradient(function).cpu())


def test_writes_to_inputs_count_as_versions(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any) -> None:
    """Trap 8: `copy_` at the end of a graph."""
    import torch

    x, y = torch.zeros(3).to(droplet), torch.ones(3).to(droplet)
    compiled = torch.compile(lambda x, y: x.add_(y).mul_(2), backend=graphs.backend)
    for step in (1, 2):
        before = x._version
        with torch.no_grad():
            compiled(x, y)
        assert x._version > before and x.cpu().tolist() == [2.0, 6.0][step - 1 : step] * 3
    assert torch_droplet.fallback_report(compiled=True) == {}


def test_numbers_and_positions_are_constants_of_the_plan(graphs: ModuleType, droplet: Any) -> None:
    """Trap 1: they are real tensors, although PyTorch compiles with fake ones. What a graph returns is made in each
    run."""
    import torch
    from diopi_torch.planner import plan
    from torch._dynamo.backends.common import aot_autograd

    documents = []

    def compiler(module: Any, inputs: Any) -> Any:
        documents.append(plan(module, {}).document)
        return graphs.compile_graph(module, inputs)

    def function(x: Any) -> tuple[Any, Any]:
        rows = torch.arange(4, device=x.device, dtype=torch.float32)
        return x + rows.outer(rows).cos(), torch.zeros(2, device=x.device)

    x = torch.randn(4, 4).to(droplet)
    compiled = torch.compile(function, backend=aot_autograd(fw_compiler=compiler))
    with torch.no_grad():
        (first, zeros), expected = compiled(x), function(x)[0]
        torch.testing.assert_close(first.cpu(), expected.cpu())
        zeros.add_(1)
        assert compiled(x)[1].cpu().tolist() == [0.0, 0.0]
    assert sorted(step["overload"] for step in documents[0]["steps"]) == ["add.Tensor", "zeros"]


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_optimizer_steps(graphs: ModuleType, torch_droplet: ModuleType, droplet: Any, kind: str) -> None:
    import torch

    start = [torch.randn(5, 3), torch.randn(7)]
    gradients = [torch.randn(5, 3), torch.randn(7)]

    def run(compiles: bool) -> list[Any]:
        own = [one.clone().to(droplet).requires_grad_() for one in start]
        extra = {"momentum": 0.9} if kind == "SGD" else {}
        optimizer = getattr(torch.optim, kind)(own, lr=0.1, weight_decay=0.01, **extra)
        step = torch.compile(optimizer.step, backend=graphs.backend) if compiles else optimizer.step
        for _ in range(3):
            for parameter, gradient in zip(own, gradients, strict=True):
                parameter.grad = gradient.to(droplet)
            step()
        return [one.detach().cpu() for one in own]

    for one, other in zip(run(True), run(False), strict=True):
        torch.testing.assert_close(one, other)


def test_numbers_assigned_to_slices_of_one(graphs: ModuleType, droplet: Any) -> None:
    """They are constants that broadcast: a dimension of one element has any stride."""
    import torch

    def column(y: Any) -> Any:
        y[:, 2:3] = 5
        return y.sum()

    def last_row(y: Any) -> Any:
        y[-1:] = 0
        return y * 2

    def hidden(y: Any) -> Any:
        z = y * 2
        z[:, :1] = float("-inf")
        return z.softmax(1)

    def mask(y: Any) -> Any:
        shown = y > 3
        shown[:, :1] = True
        return torch.where(shown, y, 0)

    def scattered(y: Any) -> Any:
        return torch.slice_scatter(y, torch.full((), 5.0, device=y.device).expand(4, 1), 1, 2, 3)

    def expanded(y: Any) -> Any:
        return y + torch.full((), 2.0, device=y.device).expand(4, 1), torch.full((1,), 2.0, device=y.device).expand(
            4, 1
        )

    for function in (column, last_row, hidden, mask, scattered, expanded):
        for is_dynamic in (False, True):
            torch._dynamo.reset()
            own, other = (torch.arange(24.0).reshape(4, 6).to(droplet) for _ in range(2))
            compiled = torch.compile(function, backend=graphs.backend, dynamic=is_dynamic)
            torch.testing.assert_close((compiled(own), own), (function(other), other), rtol=1e-6, atol=0)


def test_a_checkpoint_with_dropout(graphs: ModuleType, droplet: Any) -> None:
    """Recomputed calls sample the same numbers."""
    import torch
    from torch.utils.checkpoint import checkpoint

    weight = torch.randn(8, 8).to(droplet)

    def dropped(x: Any) -> Any:
        return torch.nn.functional.dropout(torch.tanh(x @ weight), 0.4) @ weight

    def loss(x: Any) -> Any:
        return checkpoint(dropped, x, use_reentrant=False).square().sum()

    results = []
    for function in (loss, *(torch.compile(loss, backend=backend) for backend in (graphs.backend, "aot_eager"))):
        torch._dynamo.reset()
        torch.manual_seed(5)
        x = torch.ones(6, 8).to(droplet).requires_grad_()
        value = function(x)
        value.backward()
        results.append((value.detach(), x.grad, torch.rand(3, device=droplet)))
    for compiled in results[1:]:
        torch.testing.assert_close(compiled, results[0])


def test_modes_and_options(droplet: Any) -> None:
    """Modes that scripts for inductor have are accepted; what the backend does not know is rejected in a sentence."""
    import torch

    x = torch.ones(4).to(droplet)

    def compiled(**keywords: Any) -> Any:
        torch._dynamo.reset()
        return torch.compile(lambda x: x * 2 + 1, **keywords)(x).tolist()

    for mode in ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        assert compiled(backend="diopi", mode=mode) == [3] * 4
    rejected: dict[str, dict[str, Any]] = {
        r"has no mode 'fast': it has default, .*reduce-overhead": {"mode": "fast"},
        r"has no options, and got triton.cudagraphs: .*DIOPI_COMPILE_": {"options": {"triton.cudagraphs": True}},
    }
    for text, keywords in rejected.items():
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=text):
            compiled(backend="diopi", **keywords)


def test_the_backend_has_a_name_without_an_installed_package(backend: Any, torch_droplet: ModuleType) -> None:
    """Finds the package if it is only on PYTHONPATH, whether PyTorch has looked for backends before or not."""
    import os
    import subprocess
    import sys

    code = "import torch, torch_droplet; print(torch._dynamo.lookup_backend('diopi').__module__)"
    for first in ("", "import torch._dynamo; torch._dynamo.list_backends()\n"):
        environment = {**os.environ, **backend.environment(), "PYTHONPATH": torch_build.PYTHONPATH}
        done = subprocess.run([sys.executable, "-c", first + code], env=environment, capture_output=True, text=True)
        assert done.stdout.split() == ["diopi_torch.graphs"], done.stderr
